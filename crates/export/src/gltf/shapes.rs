//! The shapes of a scene as meshes, with their skins, levels of detail and morph targets.

use std::collections::BTreeMap;

use meshmap::Scratch;
use meshmap_job::{Result, Why};
use meshmap_scene::{FactKind, Shape};

use super::document::{Coarser, Index, Node, NodeExtensions};
use super::file::Gltf;
use super::morphs::{ShapeWriter, check_key_count};
use super::scene::{Rules, add_node, finish_scene};
use super::skins::{Joints, Skins};
use super::{animations, timeline};
use crate::material_ids::MaterialIds;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::{assume, rig};

pub(super) fn write(plan: &Plan<'_>, gltf: &mut Gltf, outcome: &mut Outcome) -> Result<()> {
    let rules = Rules::of(plan, outcome);
    let shapes = plan.scene.shapes();
    let mut times = Vec::with_capacity(shapes.len());
    for shape in shapes {
        check_key_count(shape, outcome)?;
        times.push(timeline::times(shape, plan.job, outcome)?);
    }
    let joints = match rig::skeleton(plan, outcome)? {
        Some(skeleton) => Some(Joints::add(skeleton, gltf)?),
        None => None,
    };
    let mut tree = Tree::default();
    if let Some(joints) = &joints
        && joints.skeleton.stands_alone
    {
        if !plan.scene.bones().is_empty() {
            outcome.joints = joints.nodes.len() as u64;
        }
        tree.children.extend(&joints.roots);
    }
    let mut skins = Skins::default();
    if let Some(joints) = &joints
        && plan.scene.has_only_joints()
    {
        // No mesh uses it: programs make an armature of the joints of a skin, and empty objects of other nodes.
        skins.get(joints, false, gltf)?;
    }
    let mut ids = MaterialIds::default();
    let mut all_runs = Vec::with_capacity(shapes.len());
    for shape in shapes {
        let _scope = plan.job.budget.scope();
        let mut writer = ShapeWriter {
            shape,
            plan,
            joints: joints.as_ref(),
            skins: &mut skins,
            ids: &mut ids,
            gltf,
            outcome,
            scratch: Scratch::default(),
        };
        let runs = writer.write()?;
        for run in &runs {
            tree.add(shape, run.node, run.is_skinned);
        }
        all_runs.push(runs);
    }
    tree.link_levels(gltf)?;
    if let Some(joints) = &joints
        && !joints.skeleton.stands_alone
    {
        if skins.is_empty() {
            let count = joints.nodes.len() as u64;
            let kind = FactKind::SkinJoints;
            let why = Why::NoWeights;
            outcome.report.leave_out_many(kind, why, count);
        } else {
            tree.children.extend(&joints.roots);
        }
    }
    animations::write(joints.as_ref(), plan, gltf, outcome)?;
    let metres = assume::metres(plan.scene, outcome);
    for ((shape, runs), times) in shapes.iter().zip(&all_runs).zip(&times) {
        timeline::animate(gltf, runs, times, shape.key_count())?;
    }
    finish_scene(
        gltf,
        plan.root_name(),
        &rules,
        metres,
        tree.children,
        tree.beside,
    )
}

/// The nodes that are written, before they have parents.
#[derive(Default)]
struct Tree {
    /// The children of the root.
    children: Vec<Index>,
    /// Nodes with a skin, which are no children of a node that moves.
    beside: Vec<Index>,
    /// By object, its levels of detail.
    levels: BTreeMap<usize, Levels>,
}

/// The levels of detail of an object.
#[derive(Default)]
struct Levels {
    /// The node in the scene; `None` if the object has no finest level.
    finest: Option<Index>,
    coarser: Vec<Index>,
}

impl Tree {
    fn add(&mut self, shape: &Shape, node: Index, is_skinned: bool) {
        if let Some(object) = shape.object() {
            let levels = self.levels.entry(object).or_default();
            if shape.is_coarser() {
                levels.coarser.push(node);
                return;
            }
            levels.finest.get_or_insert(node);
        }
        if is_skinned {
            self.beside.push(node);
        } else {
            self.children.push(node);
        }
    }

    /// Makes the finest level of each object refer to the others; an empty node does so for an object without one.
    fn link_levels(&mut self, gltf: &mut Gltf) -> Result<()> {
        for levels in self.levels.values() {
            if levels.coarser.is_empty() {
                continue;
            }
            let finest = match levels.finest {
                Some(finest) => finest,
                None => {
                    let empty = add_node(gltf, Node::default())?;
                    self.children.push(empty);
                    empty
                }
            };
            if let Some(node) = gltf.document.nodes.get_mut(finest) {
                let ids = levels.coarser.clone();
                node.extensions = Some(NodeExtensions {
                    lod: Coarser { ids },
                });
                gltf.document.extensions_used.insert("MSFT_lod");
            }
        }
        Ok(())
    }
}
