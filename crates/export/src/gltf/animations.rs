//! Animations of joints.

use std::collections::HashMap;

use meshmap::iqm::Trs;
use meshmap_job::{Change, Error, Result, Why};
use meshmap_scene::{Clip, FactKind};

use super::document::{Animation, Channel, ChannelTarget, Index, Sampler};
use super::file::{Gltf, OF_CHANNEL, OF_NODE, TARGET, Use};
use super::skins::Joints;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::rig;
use crate::settings::Job;

/// `true` for each of the translation, rotation and scale of a joint that differs from the bind pose in a frame.
type Moved = [bool; 3];

/// Writes the animations of joints.
///
/// Everything that moves in one of them has keys in all: programs that switch from one animation to another would keep its last value.
pub(super) fn write(
    joints: Option<&Joints>,
    plan: &Plan<'_>,
    gltf: &mut Gltf,
    outcome: &mut Outcome,
) -> Result<()> {
    let job = plan.job;
    let (budget, _outer) = (&job.budget, job.budget.scope());
    let (joints, stored) = joints.map_or((&[][..], &[][..]), |joints| {
        (&joints.nodes, &joints.skeleton.joints)
    });
    let clips = rig::clips(plan, joints.len(), outcome)?;
    if clips.is_empty() {
        return Ok(());
    }
    let mut bind = budget.vec(joints.len(), "joints")?;
    bind.extend(stored.iter().filter_map(|joint| joint.rest.trs()));
    let mut moved = budget.vec::<Moved>(joints.len(), "joints")?;
    moved.resize(joints.len(), [false; 3]);
    let mut written = Vec::new();
    for clip in clips {
        let _scope = budget.scope();
        let of_frame = size_of::<f32>() + size_of::<Trs>().saturating_mul(joints.len());
        let bytes = (clip.length() as u64).saturating_mul(of_frame as u64);
        budget.read(bytes, "keys and poses of all animations")?;
        let poses = match rig::local_keys(&clip, job, TARGET) {
            Err(Error::NotHeld { .. }) => {
                outcome
                    .report
                    .leave_out(FactKind::Clips, Why::Sheared, clip.name());
                continue;
            }
            poses => poses?,
        };
        let mut is_still = true;
        for (at, pose) in poses.iter().enumerate() {
            let at = at % joints.len();
            if let (Some(moved), Some(bind)) = (moved.get_mut(at), bind.get(at)) {
                let now = [
                    pose.translate != bind.translate,
                    pose.rotate != bind.rotate,
                    pose.scale != bind.scale,
                ];
                moved
                    .iter_mut()
                    .zip(now)
                    .for_each(|(moved, now)| *moved |= now);
                is_still &= now == [false; 3];
            }
        }
        written.push((clip, is_still));
    }
    if let Some(first) = moved
        .first_mut()
        .filter(|_| written.iter().all(|(_, is_still)| *is_still))
    {
        // glTF has no animation without a channel.
        first[0] = true;
    }
    // Most animations have the same keys of joints that rest.
    budget.charge_for::<[((Index, &str), Index); 6]>(joints.len(), "keys of joints that rest")?;
    let mut rest = Rest::default();
    for (clip, is_still) in &written {
        let _scope = budget.scope();
        write_clip(
            clip,
            (joints, &bind),
            (&moved, *is_still),
            &mut rest,
            job,
            gltf,
            outcome,
        )?;
    }
    Ok(())
}

/// Writes a channel for everything that moves in this animation or in another one.
fn write_clip(
    clip: &Clip,
    (joints, bind): (&[Index], &[Trs]),
    (moved, is_still): (&[Moved], bool),
    rest: &mut Rest,
    job: &Job<'_>,
    gltf: &mut Gltf,
    outcome: &mut Outcome,
) -> Result<()> {
    let budget = &job.budget;
    let frames = clip.key_count();
    let poses = rig::local_keys(clip, job, TARGET)?;
    if clip.is_rebased() {
        let count = poses.len() as u64;
        outcome.report.change(Change::PosesRebased, count);
    }
    // The times, and what one joint does.
    budget.charge_for::<([f32; 2], Trs, Trs)>(frames, "keys of an animation")?;
    let times = rig::times(clip, job, TARGET, outcome)?;
    let times = times.into_iter().map(|time| [time]).collect();
    let mut tracks = Tracks::new(times, rest, is_still);
    for (((joint, node), bind), moved) in joints.iter().enumerate().zip(bind).zip(moved) {
        let poses = || poses.iter().skip(joint).step_by(joints.len());
        if poses().any(|pose| !is_finite(pose)) {
            let name = clip.name();
            let what =
                format!("joints[{joint}] in the animation {name} has a number that is not finite");
            return Err(Error::NotHeld {
                target: TARGET,
                what,
            });
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
    gltf.charge_named(OF_NODE, &clip.name())?;
    let Tracks {
        channels, samplers, ..
    } = tracks;
    gltf.document.animations.push(Animation {
        name: clip.name().into_owned(),
        channels,
        samplers,
    });
    Ok(())
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
        Self {
            keys,
            rest,
            channels: Vec::new(),
            samplers: Vec::new(),
        }
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
        let known = self
            .rest
            .outputs
            .get(&(node, path))
            .copied()
            .filter(|_| is_shared);
        let output = match known {
            Some(output) => output,
            None => gltf.floats(&values, Use::Other, false)?,
        };
        let input = match keys.input {
            Some(input) => input,
            None => *keys
                .input
                .insert(gltf.floats(&keys.times, Use::Other, true)?),
        };
        if is_shared {
            self.rest.input = Some(input);
            self.rest.outputs.insert((node, path), output);
        }
        gltf.charge(1, OF_CHANNEL)?;
        self.samplers.push(Sampler {
            input,
            output,
            interpolation: "LINEAR",
        });
        self.channels.push(Channel {
            sampler: self.samplers.len() - 1,
            target: ChannelTarget { node, path },
        });
        Ok(())
    }
}

fn is_finite(pose: &Trs) -> bool {
    pose.translate
        .iter()
        .chain(&pose.rotate)
        .chain(&pose.scale)
        .all(|number| number.is_finite())
}

/// Rotations of which each is on the side of the one before: q and -q are the same rotation.
fn continuous(rotations: impl Iterator<Item = [f32; 4]>) -> Vec<[f32; 4]> {
    let mut before: Option<[f32; 4]> = None;
    let continuous = rotations.map(|rotation| {
        let along: f32 = before.map_or(0.0, |before| {
            before.iter().zip(rotation).map(|(a, b)| a * b).sum()
        });
        let rotation = if along < 0.0 {
            rotation.map(|number| -number)
        } else {
            rotation
        };
        before = Some(rotation);
        rotation
    });
    continuous.collect()
}
