//! Second Life meshes: faces, and their skin.

use std::collections::BTreeMap;

use meshmap::slmesh::{Asset, Skin as Stored, joint_parents};
use meshmap::{Dequant, ErrorKind, Format, MeshFile, MeshView, Role, Segment};

use super::attributes::Geometry;
use super::document::{Coarser, Index, Node, NodeExtensions, Skin};
use super::file::{Gltf, OF_LIST_ITEM, OF_NODE, Use};
use super::scene::{IDENTITY, Rules, add_mesh, add_node, finish_scene, material, rest_joint};
use super::weights::Beyond;
use super::{attributes, weights};
use crate::error::{Error, Result};
use crate::matrix;
use crate::outcome::Outcome;
use crate::pose::Pose;
use crate::settings::Job;
use crate::source::assume;
use crate::source::select::{self, Meshes};

pub(super) fn write(
    file: &MeshFile,
    asset: &Asset,
    job: &Job<'_>,
    gltf: &mut Gltf,
    outcome: &mut Outcome,
) -> Result<()> {
    let rules = Rules::of(Format::SlMesh, job, outcome);
    let Meshes { views, pose } = select::meshes(file, job, outcome)?;
    let skin = match asset.skin() {
        Ok(Some(stored)) => joints(&stored, pose.as_ref(), job, gltf, outcome)?,
        Ok(None) => None,
        // The geometry is complete without it.
        Err(error) if matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Truncated) => {
            outcome.leave_out("the skin, which cannot be decoded");
            None
        }
        Err(error) => return Err(error.into()),
    };
    let count = skin.as_ref().map_or(0, |skin| skin.nodes.len());
    let (mut children, mut beside) = (Vec::new(), Vec::new());
    let mut skins = Skins::default();
    // By the number of the face, levels of detail of it: the finest is in the scene.
    let mut levels: BTreeMap<usize, Vec<Index>> = BTreeMap::new();
    for view in views {
        let _scope = job.budget.scope();
        let influences = match &skin {
            Some(_) => weights::of_view(&view, (count, Beyond::Last), &job.budget, outcome)?,
            None => None,
        };
        let posed = (&view, pose.as_ref());
        let geometry = attributes::primitive(gltf, posed, influences.as_ref(), &rules, job, outcome)?;
        let Some(Geometry { mut primitive, dequant }) = geometry else { continue };
        let number = number_of(&view);
        let material_name = format!("face_{number}");
        let finer = levels.entry(number).or_default();
        let name = match (view.role(), finer.is_empty()) {
            (Role::Lod(level), false) => format!("{material_name}_lod{level}"),
            _ => material_name.clone(),
        };
        primitive.material = Some(material(gltf, &material_name)?);
        let node = match skin.as_ref().zip(influences.as_ref()) {
            Some((skin, influences)) => {
                let rest = rest_joint(influences.have_rest, gltf)?;
                let index = skins.get(skin, dequant, rest, gltf)?;
                add_mesh(gltf, name, primitive, Some(index))?
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
        if finer.is_empty() {
            if influences.is_some() { &mut beside } else { &mut children }.push(node);
        }
        finer.push(node);
    }
    for nodes in levels.into_values() {
        if let [finest, coarser @ ..] = nodes.as_slice()
            && !coarser.is_empty()
            && let Some(node) = gltf.document.nodes.get_mut(*finest)
        {
            node.extensions = Some(NodeExtensions { lod: Coarser { ids: coarser.to_vec() } });
            gltf.document.extensions_used.insert("MSFT_lod");
        }
    }
    if let Some(skin) = skin.filter(|_| !skins.added.is_empty()) {
        children.extend(skin.roots);
    } else if count > 0 {
        outcome.leave_out("the skin, which no face has usable weights for");
    }
    let metres = assume::metres(file, job, outcome);
    finish_scene(gltf, &rules, metres, children, beside)
}

/// The number of a face in its level of detail.
fn number_of(view: &MeshView) -> usize {
    match view.address().segments() {
        [.., Segment::Index(number)] => usize::try_from(*number).unwrap_or_default(),
        _ => 0,
    }
}

/// The skins that were written: one, or one for each way that integers become positions, with and without the joint that rests.
#[derive(Default)]
struct Skins {
    added: Vec<(Option<Dequant>, Option<Index>, Index)>,
}

impl Skins {
    fn get(
        &mut self,
        joints: &Joints,
        dequant: Option<Dequant>,
        rest: Option<Index>,
        gltf: &mut Gltf,
    ) -> Result<Index> {
        let is_same = |(other, rests, _): &&(_, _, Index)| (*other, *rests) == (dequant, rest);
        if let Some((_, _, index)) = self.added.iter().find(is_same) {
            return Ok(*index);
        }
        let _scope = gltf.budget.scope();
        let identity = IDENTITY.map(f64::from);
        let shape = joints.shape.as_ref().unwrap_or(&identity);
        let mut matrices: Vec<[f32; 16]> =
            gltf.budget.vec(joints.inverse.len() + 1, "inverse bind matrices")?;
        let inverse = joints.inverse.iter().chain(rest.map(|_| &identity));
        matrices.extend(inverse.map(|inverse| inverse_bind_matrix(inverse, shape, dequant)));
        if matrices.as_flattened().iter().any(|number| !number.is_finite()) {
            let what = "an inverse bind matrix, together with the bind shape, is too large".to_owned();
            return Err(Error::NotHeld { target: "glTF", what });
        }
        let inverse_bind_matrices = gltf.floats(&matrices, Use::Other, false)?;
        gltf.charge(joints.nodes.len() + 1, OF_LIST_ITEM)?;
        let nodes = joints.nodes.iter().copied().chain(rest).collect();
        gltf.document.skins.push(Skin { inverse_bind_matrices, joints: nodes });
        let index = gltf.document.skins.len() - 1;
        self.added.push((dequant, rest, index));
        Ok(index)
    }
}

/// A matrix that takes positions in the bind shape into a joint or, with `dequant`, the integers of the file.
fn inverse_bind_matrix(inverse: &[f64; 16], shape: &[f64; 16], dequant: Option<Dequant>) -> [f32; 16] {
    let mut product = *inverse;
    if let Some(Dequant { scale, offset, .. }) = dequant {
        let mut place = [0.0; 16];
        for component in 0..3 {
            place[component * 5] = f64::from(scale[component]);
            place[12 + component] = f64::from(offset[component]);
        }
        place[15] = 1.0;
        product = matrix::multiply(&matrix::multiply(inverse, shape), &place);
    }
    let mut rounded = rounded(&product);
    for (at, number) in [(3, 0.0), (7, 0.0), (11, 0.0), (15, 1.0)] {
        rounded[at] = number;
    }
    rounded
}

#[expect(clippy::cast_possible_truncation, reason = "the nearest is what is written")]
fn rounded(matrix: &[f64; 16]) -> [f32; 16] {
    matrix.map(|number| number as f32)
}

struct Joints {
    nodes: Vec<Index>,
    /// The joints without a parent.
    roots: Vec<Index>,
    /// The matrices that transform a vertex in the bind shape into each joint.
    inverse: Vec<[f64; 16]>,
    /// The bind shape, which the integers of the file do not have yet.
    shape: Option<[f64; 16]>,
}

/// A node for each joint, where the mesh is bound to it; `None` without joints.
fn joints(
    stored: &Stored,
    pose: Option<&Pose>,
    job: &Job<'_>,
    gltf: &mut Gltf,
    outcome: &mut Outcome,
) -> Result<Option<Joints>> {
    let (Some(names), Some(inverse)) = (&stored.joint_names, &stored.inverse_bind_matrices) else {
        outcome.leave_out("the skin, which has no joints or no matrices");
        return Ok(None);
    };
    if stored.alt_inverse_bind_matrices.is_some() {
        outcome.leave_out("the places that joints are moved to (alt_inverse_bind_matrix)");
    }
    if stored.pelvis_offset.is_some_and(|offset| offset != 0.0) {
        outcome.leave_out("the offset of the pelvis");
    }
    if stored.lock_scale_if_joint_position {
        outcome.leave_out("that the scale of moved joints is locked");
    }
    // Names, matrices and their inverses.
    job.budget.keep((names.len() as u64).saturating_mul(OF_NODE), "joints")?;
    let names: Vec<String> = names.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    let shape = pose.and_then(Pose::bind_shape_columns);
    let (mut bound, mut inverse_bind) = (Vec::new(), Vec::new());
    for (index, (name, inverse)) in names.iter().zip(inverse.iter()).enumerate() {
        if let Some(value) = inverse.iter().find(|number| !number.is_finite()) {
            let what = format!("skin.inverse_bind_matrix[{index}] has the number {value}");
            return Err(Error::NotHeld { target: "glTF", what });
        }
        let inverse = inverse.map(f64::from);
        inverse_bind.push(inverse);
        let place = matrix::invert(&inverse).filter(matrix::is_orthogonal);
        if place.is_none() {
            outcome.note(format!(
                "the joint {name} has a matrix that is singular or sheared: it stands at the origin"
            ));
        }
        bound.push(place);
    }
    let bound_names = names.get(..bound.len()).unwrap_or_default();
    let parents = if job.nest { joint_parents(bound_names) } else { vec![None; bound.len()] };
    let first = gltf.document.nodes.len();
    let mut joints = Joints { nodes: Vec::new(), roots: Vec::new(), inverse: inverse_bind, shape };
    let mut parented = Vec::new();
    for (index, ((name, place), parent)) in names.into_iter().zip(&bound).zip(parents).enumerate() {
        let below = || {
            let parent = parent?;
            let from = matrix::invert(bound.get(parent)?.as_ref()?)?;
            let local = Some(matrix::multiply(&from, place.as_ref()?)).filter(matrix::is_orthogonal)?;
            Some((parent, local))
        };
        let local = match below() {
            Some((parent, local)) => {
                parented.push((parent, index));
                Some(local)
            }
            None => *place,
        };
        let local = local.as_ref().map(rounded).filter(|matrix| {
            !matrix.iter().enumerate().all(|(at, number)| *number == f32::from(u8::from(at % 5 == 0)))
        });
        let node = add_node(gltf, Node { name, matrix: local, ..Node::default() })?;
        joints.nodes.push(node);
    }
    let is_below = |joint: usize| parented.binary_search_by_key(&joint, |(_, index)| *index).is_ok();
    joints.roots =
        (0..joints.nodes.len()).filter(|joint| !is_below(*joint)).map(|joint| first + joint).collect();
    for (parent, index) in &parented {
        if let Some(node) = gltf.document.nodes.get_mut(first + parent) {
            node.children.push(first + index);
        }
    }
    Ok(Some(joints).filter(|joints| !joints.nodes.is_empty()))
}
