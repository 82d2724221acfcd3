//! IQM: meshes, their skeleton as nodes, and animations.

use meshmap::iqm::{Anim, Model, Trs};
use meshmap::{Format, MeshFile};

use super::attributes::Geometry;
use super::document::{Animation, Channel, ChannelTarget, Index, Node, Sampler, Skin};
use super::file::{Gltf, OF_CHANNEL, OF_LIST_ITEM, OF_NODE, Use};
use super::scene::{Rules, add_mesh, add_node, finish_scene, material};
use super::{attributes, weights};
use crate::error::{Error, Result};
use crate::hierarchy::Hierarchy;
use crate::moment::USUAL_RATE;
use crate::outcome::Outcome;
use crate::settings::Job;
use crate::source::assume;
use crate::source::select;

pub(super) fn write(
    file: &MeshFile,
    model: &Model,
    job: &Job<'_>,
    gltf: &mut Gltf,
    outcome: &mut Outcome,
) -> Result<()> {
    let rules = Rules::of(Format::Iqm, job, outcome);
    let (joints, roots) = joints(model, gltf)?;
    let mut skin = None;
    let (mut children, mut beside) = (roots, Vec::new());
    for view in select::meshes(file, job, outcome)?.views {
        let _scope = job.budget.scope();
        let influences = match joints.len() {
            0 => None,
            count => weights::of_view(&view, count, &job.budget, outcome)?,
        };
        let geometry = attributes::primitive(gltf, (&view, None), influences.as_ref(), &rules, job, outcome)?;
        let Some(Geometry { mut primitive, .. }) = geometry else { continue };
        primitive.material = view.material().map(|name| material(gltf, name)).transpose()?;
        let name = job.name_of(view.name()).to_owned();
        if influences.is_none() {
            children.push(add_mesh(gltf, name, primitive, None)?);
            continue;
        }
        let skin = match skin {
            Some(skin) => skin,
            None => *skin.insert(add_skin(model, &joints, gltf)?),
        };
        beside.push(add_mesh(gltf, name, primitive, Some(skin))?);
    }
    animations(model, &joints, job, gltf, outcome)?;
    for (name, animation) in &job.animations {
        match model.attach(animation) {
            Ok(joined) => animations(&joined, &joints, job, gltf, outcome)?,
            Err(error) => outcome.leave_out(format!("the animations of {name}: {error}")),
        }
    }
    let metres = assume::metres(file, job, outcome);
    finish_scene(gltf, &rules, metres, children, beside)
}

/// A node for each joint; returns all, and those without a parent.
fn joints(model: &Model, gltf: &mut Gltf) -> Result<(Vec<Index>, Vec<Index>)> {
    let first = gltf.document.nodes.len();
    let mut roots = Vec::new();
    for (index, joint) in model.joints().enumerate() {
        let Trs { translate, rotate, scale, .. } = joint.trs.normalized();
        let numbers = || translate.iter().chain(&rotate).chain(&scale);
        if let Some(value) = numbers().find(|number| !number.is_finite()) {
            return Err(Error::NotHeld {
                target: "glTF",
                what: format!("joints[{index}] has the number {value}"),
            });
        }
        let name = joint.name.to_string_lossy().into_owned();
        let node = Node {
            name,
            translation: Some(translate),
            rotation: Some(rotate),
            scale: Some(scale),
            ..Node::default()
        };
        let node = add_node(gltf, node)?;
        // Parents come before their children.
        let parent = joint.parent.map(|parent| first + parent as usize);
        match parent.and_then(|parent| gltf.document.nodes.get_mut(parent)) {
            Some(parent) => parent.children.push(node),
            None => roots.push(node),
        }
    }
    Ok(((first..gltf.document.nodes.len()).collect(), roots))
}

fn add_skin(model: &Model, joints: &[Index], gltf: &mut Gltf) -> Result<Index> {
    let _scope = gltf.budget.scope();
    let skeleton = model.skeleton();
    let inverse = skeleton.as_ref().map_or(&[][..], |skeleton| skeleton.inverse_bind_matrices());
    let matrices = gltf.budget.collect(inverse.iter().map(columns), "inverse bind matrices")?;
    let inverse_bind_matrices = gltf.floats(&matrices, Use::Other, false)?;
    gltf.charge(joints.len(), OF_LIST_ITEM)?;
    gltf.document.skins.push(Skin { inverse_bind_matrices, joints: joints.to_vec() });
    Ok(gltf.document.skins.len() - 1)
}

/// Three rows, and 0 0 0 1, column by column.
fn columns(rows: &[[f32; 4]; 3]) -> [f32; 16] {
    let mut columns = [0.0; 16];
    for (index, number) in columns.iter_mut().enumerate() {
        let (column, row) = (index / 4, index % 4);
        *number = match rows.get(row) {
            Some(row) => row[column],
            None => f32::from(u8::from(column == 3)),
        };
    }
    columns
}

fn animations(
    model: &Model,
    joints: &[Index],
    job: &Job<'_>,
    gltf: &mut Gltf,
    outcome: &mut Outcome,
) -> Result<()> {
    let frames = model.frames();
    if model.anims().len() == 0 || frames.is_empty() {
        return Ok(());
    }
    if frames.pose_count() != joints.len() {
        outcome.leave_out(format!(
            "animations of {} joints, where the skeleton has {}",
            frames.pose_count(),
            joints.len()
        ));
        return Ok(());
    }
    let (budget, _outer) = (&job.budget, job.budget.scope());
    let hierarchy = Hierarchy::of(model);
    // Parents, and the places of joints in one frame.
    budget.charge_for::<([f64; 16], [Option<u32>; 2])>(joints.len(), "joints of a frame")?;
    let bind = budget.collect(model.joints().map(|joint| joint.trs.normalized()), "joints")?;
    for anim in model.anims() {
        let _scope = budget.scope();
        if !job.takes_anim(&anim.name.to_string_lossy()) {
            continue;
        }
        let range = anim.frames();
        if range.is_empty() || range.end > frames.len() {
            outcome.leave_out(format!("the animation {}, which has no frames", anim.name.to_string_lossy()));
            continue;
        }
        let count = range.len().saturating_mul(joints.len());
        let keys = (range.len() as u64).saturating_mul(size_of::<f32>() as u64);
        let poses = (count as u64).saturating_mul(size_of::<Trs>() as u64);
        budget.read(keys.saturating_add(poses), "keys and poses of all animations")?;
        let mut poses = budget.vec(count, "poses of an animation")?;
        poses.resize(count, Trs::default());
        frames.read_range_into(range.clone(), &mut poses)?;
        poses.iter_mut().for_each(|pose| *pose = pose.normalized());
        if let Some(hierarchy) = &hierarchy {
            let mut frames = poses.chunks_exact_mut(joints.len());
            if let Err(error) = frames.try_for_each(|frame| hierarchy.rebase(frame, "glTF")) {
                outcome.leave_out(format!("the animation {}: {error}", anim.name.to_string_lossy()));
                continue;
            }
            outcome.change("poses, now relative to the parents of the joints", poses.len() as u64);
        }
        // The times, and what one joint does.
        budget.charge_for::<([f32; 2], Trs, Trs)>(range.len(), "keys of an animation")?;
        let times = times(&anim, range.len(), job, outcome)?;
        let keys: Vec<[f32; 1]> = times.into_iter().map(|time| [time]).collect();
        let mut input = None;
        let (mut channels, mut samplers) = (Vec::new(), Vec::new());
        for (joint, (node, bind)) in joints.iter().zip(&bind).enumerate() {
            let poses: Vec<Trs> = poses.iter().skip(joint).step_by(joints.len()).copied().collect();
            if poses.iter().any(|pose| !is_finite(pose)) {
                let name = anim.name.to_string_lossy();
                let what = format!("joints[{joint}] in the animation {name} has a number that is not finite");
                return Err(Error::NotHeld { target: "glTF", what });
            }
            let rotations = continuous(poses.iter().map(|pose| pose.rotate));
            let translations: Vec<[f32; 3]> = poses.iter().map(|pose| pose.translate).collect();
            let scales: Vec<[f32; 3]> = poses.iter().map(|pose| pose.scale).collect();
            let mut outputs = Vec::new();
            // A joint that stays in the bind pose needs no keys.
            if translations.iter().any(|translate| *translate != bind.translate) {
                outputs.push(("translation", gltf.floats(&translations, Use::Other, false)?));
            }
            if rotations.iter().any(|rotate| *rotate != bind.rotate) {
                outputs.push(("rotation", gltf.floats(&rotations, Use::Other, false)?));
            }
            if scales.iter().any(|scale| *scale != bind.scale) {
                outputs.push(("scale", gltf.floats(&scales, Use::Other, false)?));
            }
            for (path, output) in outputs {
                let input = match input {
                    Some(input) => input,
                    None => *input.insert(gltf.floats(&keys, Use::Other, true)?),
                };
                gltf.charge(1, OF_CHANNEL)?;
                samplers.push(Sampler { input, output, interpolation: "LINEAR" });
                channels.push(Channel {
                    sampler: samplers.len() - 1,
                    target: ChannelTarget { node: *node, path },
                });
            }
        }
        let name = anim.name.to_string_lossy().into_owned();
        if channels.is_empty() {
            outcome.leave_out(format!("the animation {name}, in which nothing moves"));
            continue;
        }
        outcome.animations += 1;
        gltf.charge_named(OF_NODE, &name)?;
        gltf.document.animations.push(Animation { name, channels, samplers });
    }
    Ok(())
}

fn times(anim: &Anim, count: usize, job: &Job<'_>, outcome: &mut Outcome) -> Result<Vec<f32>> {
    let stored = f64::from(anim.framerate);
    let rate = match job.rate {
        Some(rate) => rate,
        None if stored > 0.0 && stored.is_finite() => stored,
        None => {
            let name = anim.name.to_string_lossy();
            outcome.note(format!("the animation {name} has no frame rate: assuming {USUAL_RATE} per second"));
            USUAL_RATE.into()
        }
    };
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "the nearest is written"
    )]
    let times: Vec<f32> = (0..count).map(|frame| (frame as f64 / rate) as f32).collect();
    if times.is_sorted_by(|a, b| a < b) && times.iter().all(|time| time.is_finite()) {
        return Ok(times);
    }
    let what = format!("{count} frames at {rate} a second, whose times do not ascend");
    Err(Error::NotHeld { target: "glTF", what })
}

fn is_finite(pose: &Trs) -> bool {
    pose.translate.iter().chain(&pose.rotate).chain(&pose.scale).all(|number| number.is_finite())
}

/// Rotations of which each is on the side of the one before: q and -q are the same rotation.
fn continuous(rotations: impl Iterator<Item = [f32; 4]>) -> Vec<[f32; 4]> {
    let mut before: Option<[f32; 4]> = None;
    let continuous = rotations.map(|rotation| {
        let along: f32 = before.map_or(0.0, |before| before.iter().zip(rotation).map(|(a, b)| a * b).sum());
        let rotation = if along < 0.0 { rotation.map(|number| -number) } else { rotation };
        before = Some(rotation);
        rotation
    });
    continuous.collect()
}
