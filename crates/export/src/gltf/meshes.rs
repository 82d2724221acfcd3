//! Meshes in which one index serves all attributes of a vertex, with their skins and levels of detail.

use std::collections::BTreeMap;

use meshmap::Dequant;

use super::attributes::{self, Geometry};
use super::document::{Coarser, Index, NodeExtensions};
use super::file::Gltf;
use super::scene::{Rules, add_mesh, finish_scene, material};
use super::skins::{Joints, Skins};
use super::{animations, weights};
use crate::error::Result;
use crate::outcome::Outcome;
use crate::scene::{Scene, assume};
use crate::settings::Job;

pub(super) fn write(
    scene: &Scene,
    job: &Job<'_>,
    gltf: &mut Gltf,
    outcome: &mut Outcome,
) -> Result<()> {
    let rules = Rules::of(scene, job, outcome);
    let skeleton = match &scene.rig {
        Some(rig) => rig.skeleton(job, outcome)?,
        None => None,
    };
    let joints = skeleton
        .as_ref()
        .map(|skeleton| Joints::add(skeleton, gltf))
        .transpose()?;
    let (mut children, mut beside) = (Vec::new(), Vec::new());
    if let Some(joints) = joints
        .as_ref()
        .filter(|joints| joints.skeleton.stands_alone)
    {
        if !scene.bones.is_empty() {
            outcome.joints = joints.nodes.len() as u64;
        }
        children.extend(&joints.roots);
    }
    let mut skins = Skins::default();
    // By object, its levels of detail: the finest is in the scene.
    let mut levels: BTreeMap<usize, Vec<Index>> = BTreeMap::new();
    for mesh in scene.meshes(&job.budget, outcome)?.iter() {
        let _scope = job.budget.scope();
        let influences = match &joints {
            Some(joints) => weights::of_view(&mesh.view, joints.skeleton, &job.budget, outcome)?,
            None => None,
        };
        let posed = (&mesh.view, scene.pose.as_ref());
        let geometry =
            attributes::primitive(gltf, posed, influences.as_ref(), &rules, job, outcome)?;
        let Some(Geometry {
            mut primitive,
            dequant,
        }) = geometry
        else {
            continue;
        };
        let name = mesh.material.as_deref().unwrap_or_default();
        let image = scene
            .texture(name)
            .filter(|_| primitive.attributes.contains_key("TEXCOORD_0"));
        primitive.material = Some(material(gltf, name, image)?);
        let name = job.name_of(mesh.name()).to_owned();
        let node = match joints.as_ref().zip(influences.as_ref()) {
            Some((joints, influences)) => {
                let skin = skins.get(joints, influences.resting > 0, gltf)?;
                add_mesh(gltf, name, primitive, Some(skin))?
            }
            None => {
                let node = add_mesh(gltf, name, primitive, None)?;
                if let (Some(Dequant { scale, offset, .. }), Some(node)) =
                    (dequant, gltf.document.nodes.get_mut(node))
                {
                    let [[x, y, z, _], [a, b, c, _]] = [offset, scale];
                    (node.translation, node.scale) = (Some([x, y, z]), Some([a, b, c]));
                }
                node
            }
        };
        let finer = mesh.object.map(|object| levels.entry(object).or_default());
        if finer.as_ref().is_none_or(|finer| finer.is_empty()) {
            if influences.is_some() {
                &mut beside
            } else {
                &mut children
            }
            .push(node);
        }
        finer.into_iter().for_each(|finer| finer.push(node));
    }
    for nodes in levels.into_values() {
        if let [finest, coarser @ ..] = nodes.as_slice()
            && !coarser.is_empty()
            && let Some(node) = gltf.document.nodes.get_mut(*finest)
        {
            node.extensions = Some(NodeExtensions {
                lod: Coarser {
                    ids: coarser.to_vec(),
                },
            });
            gltf.document.extensions_used.insert("MSFT_lod");
        }
    }
    if let Some(joints) = joints
        .as_ref()
        .filter(|joints| !joints.skeleton.stands_alone)
    {
        if skins.is_empty() {
            outcome.leave_out("the skin, which no face has usable weights for");
        } else {
            children.extend(&joints.roots);
        }
    }
    if let Some(rig) = &scene.rig {
        animations::write(rig.as_ref(), joints.as_ref(), job, gltf, outcome)?;
    }
    let metres = assume::metres(scene, job, outcome);
    finish_scene(gltf, scene.root_name(job), &rules, metres, children, beside)
}
