//! IQM: meshes, their skeleton as nodes, and animations.

use std::collections::HashMap;
use std::rc::Rc;

use meshmap::iqm::{Anim, Model, Trs};
use meshmap::{Format, MeshFile};

use super::attributes::Geometry;
use super::document::{Animation, Channel, ChannelTarget, Index, Node, Sampler, Skin};
use super::file::{Gltf, OF_CHANNEL, OF_LIST_ITEM, OF_NODE, Use};
use super::scene::{IDENTITY, Rules, add_mesh, add_node, finish_scene, material, rest_joint};
use super::weights::Beyond;
use super::{attributes, weights};
use crate::budget::Budget;
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
    // One for meshes of which all vertices follow joints, and one with the joint that rests.
    let mut skins = [None; 2];
    let (mut children, mut beside) = (roots, Vec::new());
    for view in select::meshes(file, job, outcome)?.views {
        let _scope = job.budget.scope();
        let influences = match joints.len() {
            0 => None,
            count => weights::of_view(&view, (count, Beyond::LeaveOut), &job.budget, outcome)?,
        };
        let geometry = attributes::primitive(gltf, (&view, None), influences.as_ref(), &rules, job, outcome)?;
        let Some(Geometry { mut primitive, .. }) = geometry else { continue };
        primitive.material = Some(material(gltf, view.material().unwrap_or_default())?);
        let name = job.name_of(view.name()).to_owned();
        let Some(influences) = influences else {
            children.push(add_mesh(gltf, name, primitive, None)?);
            continue;
        };
        let rest = rest_joint(influences.have_rest, gltf)?;
        let [without, with] = &mut skins;
        let place = if influences.have_rest { with } else { without };
        let skin = match *place {
            Some(skin) => skin,
            None => *place.insert(add_skin(model, &joints, rest, gltf)?),
        };
        beside.push(add_mesh(gltf, name, primitive, Some(skin))?);
    }
    let mut models = vec![model.clone()];
    for (name, animation) in &job.animations {
        match model.attach(animation) {
            Ok(joined) => models.push(joined),
            Err(error) => outcome.leave_out(format!("the animations of {name}: {error}")),
        }
    }
    animations(&models, &joints, job, gltf, outcome)?;
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

fn add_skin(model: &Model, joints: &[Index], rest: Option<Index>, gltf: &mut Gltf) -> Result<Index> {
    let _scope = gltf.budget.scope();
    let skeleton = model.skeleton();
    let inverse = skeleton.as_ref().map_or(&[][..], |skeleton| skeleton.inverse_bind_matrices());
    let mut matrices = gltf.budget.vec(inverse.len() + 1, "inverse bind matrices")?;
    matrices.extend(inverse.iter().map(columns));
    matrices.extend(rest.map(|_| IDENTITY));
    let inverse_bind_matrices = gltf.floats(&matrices, Use::Other, false)?;
    gltf.charge(joints.len() + 1, OF_LIST_ITEM)?;
    let joints = joints.iter().copied().chain(rest).collect();
    gltf.document.skins.push(Skin { inverse_bind_matrices, joints });
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

/// An animation that is written.
struct Clip<'a> {
    model: &'a Model,
    anim: Anim,
    name: String,
    /// The parents of poses, if they differ from the parents of the joints.
    hierarchy: Option<Rc<Hierarchy>>,
}

/// `true` for each of the translation, rotation and scale of a joint that differs from the bind pose in a frame.
type Moved = [bool; 3];

/// Writes the animations of models that have the same joints.
///
/// Everything that moves in one of them has keys in all: programs that switch from one animation to another would keep its last value.
fn animations(
    models: &[Model],
    joints: &[Index],
    job: &Job<'_>,
    gltf: &mut Gltf,
    outcome: &mut Outcome,
) -> Result<()> {
    let (budget, _outer) = (&job.budget, job.budget.scope());
    let clips = clips(models, joints.len(), job, outcome)?;
    let mut bind = budget.vec(joints.len(), "joints")?;
    bind.extend(models.iter().take(1).flat_map(Model::joints).map(|joint| joint.trs.normalized()));
    let mut moved = budget.vec::<Moved>(joints.len(), "joints")?;
    moved.resize(joints.len(), [false; 3]);
    let mut written = Vec::new();
    for clip in clips {
        let _scope = budget.scope();
        let of_frame = size_of::<f32>() + size_of::<Trs>().saturating_mul(joints.len());
        let bytes = (clip.anim.frames().len() as u64).saturating_mul(of_frame as u64);
        budget.read(bytes, "keys and poses of all animations")?;
        let poses = match clip.poses(joints.len(), budget) {
            Err(error @ Error::NotHeld { .. }) => {
                outcome.leave_out(format!("the animation {}: {error}", clip.name));
                continue;
            }
            poses => poses?,
        };
        let mut is_still = true;
        for (at, pose) in poses.iter().enumerate() {
            let at = at % joints.len();
            if let (Some(moved), Some(bind)) = (moved.get_mut(at), bind.get(at)) {
                let now =
                    [pose.translate != bind.translate, pose.rotate != bind.rotate, pose.scale != bind.scale];
                moved.iter_mut().zip(now).for_each(|(moved, now)| *moved |= now);
                is_still &= now == [false; 3];
            }
        }
        written.push((clip, is_still));
    }
    if let Some(first) = moved.first_mut().filter(|_| written.iter().all(|(_, is_still)| *is_still)) {
        // glTF has no animation without a channel.
        first[0] = true;
    }
    // Most animations have the same keys of joints that rest.
    budget.charge_for::<[((Index, &str), Index); 6]>(joints.len(), "keys of joints that rest")?;
    let mut rest = Rest::default();
    for (clip, is_still) in &written {
        let _scope = budget.scope();
        clip.write((joints, &bind), (&moved, *is_still), &mut rest, job, gltf, outcome)?;
    }
    Ok(())
}

/// The animations that can be written.
fn clips<'a>(
    models: &'a [Model],
    joints: usize,
    job: &Job<'_>,
    outcome: &mut Outcome,
) -> Result<Vec<Clip<'a>>> {
    let mut clips = Vec::new();
    for model in models {
        let frames = model.frames();
        if model.anims().len() == 0 || frames.is_empty() {
            continue;
        }
        if frames.pose_count() != joints || joints == 0 {
            let poses = frames.pose_count();
            outcome.leave_out(format!("animations of {poses} joints, where the skeleton has {joints}"));
            continue;
        }
        // Parents, and the places of joints in one frame.
        job.budget.charge_for::<([f64; 16], [Option<u32>; 2])>(joints, "joints of a frame")?;
        let hierarchy = Hierarchy::of(model).map(Rc::new);
        for anim in model.anims() {
            let name = anim.name.to_string_lossy().into_owned();
            if !job.takes_anim(&name) {
                continue;
            }
            if anim.frames().is_empty() || anim.frames().end > frames.len() {
                outcome.leave_out(format!("the animation {name}, which has no frames"));
                continue;
            }
            // In two lists that grow.
            job.budget.charge(4 * size_of::<Clip<'_>>() as u64 + name.len() as u64, "animations")?;
            clips.push(Clip { model, anim, name, hierarchy: hierarchy.clone() });
        }
    }
    Ok(clips)
}

impl Clip<'_> {
    /// The poses of all frames, relative to the parents of the joints.
    fn poses(&self, joints: usize, budget: &Budget) -> Result<Vec<Trs>> {
        let range = self.anim.frames();
        let count = range.len().saturating_mul(joints);
        let mut poses = budget.vec(count, "poses of an animation")?;
        poses.resize(count, Trs::default());
        self.model.frames().read_range_into(range, &mut poses)?;
        poses.iter_mut().for_each(|pose| *pose = pose.normalized());
        if let Some(hierarchy) = &self.hierarchy {
            poses.chunks_exact_mut(joints).try_for_each(|frame| hierarchy.rebase(frame, "glTF"))?;
        }
        Ok(poses)
    }

    /// Writes a channel for everything that moves in this animation or in another one.
    fn write(
        &self,
        (joints, bind): (&[Index], &[Trs]),
        (moved, is_still): (&[Moved], bool),
        rest: &mut Rest,
        job: &Job<'_>,
        gltf: &mut Gltf,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let (budget, frames) = (&job.budget, self.anim.frames().len());
        let poses = self.poses(joints.len(), budget)?;
        if self.hierarchy.is_some() {
            outcome.change("poses, now relative to the parents of the joints", poses.len() as u64);
        }
        // The times, and what one joint does.
        budget.charge_for::<([f32; 2], Trs, Trs)>(frames, "keys of an animation")?;
        let times = times(&self.anim, frames, job, outcome)?;
        let times = times.into_iter().map(|time| [time]).collect();
        let mut tracks = Tracks::new(times, rest, is_still);
        for (((joint, node), bind), moved) in joints.iter().enumerate().zip(bind).zip(moved) {
            let poses = || poses.iter().skip(joint).step_by(joints.len());
            if poses().any(|pose| !is_finite(pose)) {
                let name = &self.name;
                let what = format!("joints[{joint}] in the animation {name} has a number that is not finite");
                return Err(Error::NotHeld { target: "glTF", what });
            }
            let [translates, rotates, scales] = *moved;
            if translates {
                let values = poses().map(|pose| pose.translate).collect();
                tracks.add((*node, "translation"), values, bind.translate, gltf)?;
            }
            if rotates {
                let values = continuous(poses().map(|pose| pose.rotate));
                tracks.add((*node, "rotation"), values, bind.rotate, gltf)?;
            }
            if scales {
                let values = poses().map(|pose| pose.scale).collect();
                tracks.add((*node, "scale"), values, bind.scale, gltf)?;
            }
        }
        outcome.animations += 1;
        gltf.charge_named(OF_NODE, &self.name)?;
        let Tracks { channels, samplers, .. } = tracks;
        gltf.document.animations.push(Animation { name: self.name.clone(), channels, samplers });
        Ok(())
    }
}

/// The accessors of keys that several animations have: the first time, and the values of joints that rest.
#[derive(Default)]
struct Rest {
    input: Option<Index>,
    outputs: HashMap<(Index, &'static str), Index>,
}

/// The channels of an animation.
struct Tracks<'a> {
    keys: [Keys; 2],
    rest: &'a mut Rest,
    channels: Vec<Channel>,
    samplers: Vec<Sampler>,
}

/// Times, and their accessor once they are written.
struct Keys {
    times: Vec<[f32; 1]>,
    input: Option<Index>,
}

impl<'a> Tracks<'a> {
    /// Keys at all times for what moves, and at the first one for what rests. If nothing moves, the last time also has a key, so
    /// that the animation takes as long as it should.
    fn new(times: Vec<[f32; 1]>, rest: &'a mut Rest, is_still: bool) -> Self {
        let mut resting: Vec<[f32; 1]> = times.iter().take(1).copied().collect();
        if is_still && times.len() > 1 {
            resting.extend(times.last());
        }
        // The first time is 0 in each.
        let shared = rest.input.filter(|_| resting.len() == 1);
        let keys = [(times, None), (resting, shared)].map(|(times, input)| Keys { times, input });
        Self { keys, rest, channels: Vec::new(), samplers: Vec::new() }
    }

    fn add<const N: usize>(
        &mut self,
        (node, path): (Index, &'static str),
        mut values: Vec<[f32; N]>,
        bind: [f32; N],
        gltf: &mut Gltf,
    ) -> Result<()> {
        let [moving, resting] = &mut self.keys;
        let moves = values.iter().any(|value| *value != bind);
        let keys = if moves { moving } else { resting };
        values.truncate(keys.times.len());
        let is_shared = !moves && keys.times.len() == 1;
        let known = self.rest.outputs.get(&(node, path)).copied().filter(|_| is_shared);
        let output = match known {
            Some(output) => output,
            None => gltf.floats(&values, Use::Other, false)?,
        };
        let input = match keys.input {
            Some(input) => input,
            None => *keys.input.insert(gltf.floats(&keys.times, Use::Other, true)?),
        };
        if is_shared {
            self.rest.input = Some(input);
            self.rest.outputs.insert((node, path), output);
        }
        gltf.charge(1, OF_CHANNEL)?;
        self.samplers.push(Sampler { input, output, interpolation: "LINEAR" });
        self.channels
            .push(Channel { sampler: self.samplers.len() - 1, target: ChannelTarget { node, path } });
        Ok(())
    }
}

fn times(anim: &Anim, count: usize, job: &Job<'_>, outcome: &mut Outcome) -> Result<Vec<f32>> {
    let stored = f64::from(anim.framerate);
    let rate = match job.fps {
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
