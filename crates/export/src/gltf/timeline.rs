//! The times of a shape's keys, and the animation that shows each at its time.

use meshmap_job::{Error, Result};
use meshmap_scene::Shape;

use super::document::{Animation, Channel, ChannelTarget, Index, Sampler};
use super::file::{Gltf, TARGET, Use};
use crate::assume;
use crate::outcome::Outcome;
use crate::settings::Job;

/// Keys with the same triangles: a mesh with a morph target for each but the first.
pub(super) struct Run {
    pub(super) node: Index,
    /// The first key.
    pub(super) first: usize,
    pub(super) targets: usize,
    pub(super) is_skinned: bool,
}

/// The times of the keys that are written, in seconds from the first.
pub(super) fn times(shape: &Shape, job: &Job<'_>, outcome: &mut Outcome) -> Result<Vec<f32>> {
    if !shape.has_keys() {
        return Ok(vec![0.0]);
    }
    let rate = assume::rate(shape, job, outcome);
    let first = shape.steps_of(0);
    let mut times = Vec::with_capacity(shape.key_count());
    for key in 0..shape.key_count() {
        let steps = shape.steps_of(key) - first;
        #[expect(clippy::cast_possible_truncation, reason = "the nearest is written")]
        times.push((steps / rate) as f32);
    }
    if rate > 0.0 && rate.is_finite() && times.is_sorted_by(|a, b| a < b) {
        return Ok(times);
    }
    Err(Error::NotHeld {
        target: TARGET,
        what: format!("{rate} snapshots a second, whose times do not ascend"),
    })
}

/// Writes the animation that shows each key at its time.
pub(super) fn animate(gltf: &mut Gltf, runs: &[Run], times: &[f32], keys: usize) -> Result<()> {
    if keys < 2 || runs.is_empty() {
        return Ok(());
    }
    let input: Vec<[f32; 1]> = times.iter().map(|time| [*time]).collect();
    let input = gltf.floats(&input, Use::Other, true)?;
    let mut channels = Channels {
        input,
        channels: Vec::new(),
        samplers: Vec::new(),
    };
    for (index, run) in runs.iter().enumerate() {
        let end = runs.get(index + 1).map_or(keys, |next| next.first);
        if run.targets > 0 {
            let output = gltf.floats(&weights(run, end, keys), Use::Other, false)?;
            channels.add(output, run.node, "weights", "LINEAR");
        }
        if runs.len() > 1 {
            // Programs that play no animation show the first run only.
            if index > 0
                && let Some(node) = gltf.document.nodes.get_mut(run.node)
            {
                node.scale = Some([0.0; 3]);
            }
            let shown = |key: usize| {
                if (run.first..end).contains(&key) {
                    [1.0; 3]
                } else {
                    [0.0; 3]
                }
            };
            let scales: Vec<[f32; 3]> = (0..keys).map(shown).collect();
            let output = gltf.floats(&scales, Use::Other, false)?;
            channels.add(output, run.node, "scale", "STEP");
        }
    }
    if !channels.channels.is_empty() {
        gltf.document.animations.push(Animation {
            name: "snapshots".to_owned(),
            channels: channels.channels,
            samplers: channels.samplers,
        });
    }
    Ok(())
}

/// The weight of each target of a run at each key. Before the run its first key is shown, and after it its last, which are not seen.
fn weights(run: &Run, end: usize, keys: usize) -> Vec<[f32; 1]> {
    let mut weights = vec![[0.0_f32]; keys * run.targets];
    for key in 0..keys {
        let shown = key.clamp(run.first, end - 1).min(run.first + run.targets) - run.first;
        let Some(target) = shown.checked_sub(1) else {
            continue;
        };
        if let Some(weight) = weights.get_mut(key * run.targets + target) {
            *weight = [1.0];
        }
    }
    weights
}

/// The channels of an animation, which have the same times.
struct Channels {
    input: Index,
    channels: Vec<Channel>,
    samplers: Vec<Sampler>,
}

impl Channels {
    fn add(&mut self, output: Index, node: Index, path: &'static str, interpolation: &'static str) {
        self.samplers.push(Sampler {
            input: self.input,
            output,
            interpolation,
        });
        self.channels.push(Channel {
            sampler: self.samplers.len() - 1,
            target: ChannelTarget { node, path },
        });
    }
}
