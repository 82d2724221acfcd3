//! The animation that shows each key of a shape at its time, in glTF.

use std::collections::HashMap;

use meshmap_scene::Shape;

use crate::gltf::{Animations, Channel, Gltf};
use crate::rules::Rules;
use crate::tally::Tally;

/// Keys with the same triangles: a mesh with a morph target for each but the first.
pub(crate) struct Run {
    pub(crate) mesh: usize,
    /// The first key.
    pub(crate) first: usize,
    pub(crate) targets: usize,
}

/// Compares the times of a shape's keys, and what shows each at its time.
pub(crate) fn check_times(
    rules: &Rules<'_>,
    shape: &Shape,
    runs: &[Run],
    animations: &mut Animations,
    gltf: &mut Gltf<'_>,
    tally: &mut Tally,
) {
    const NAME: &str = "snapshots";
    let moves = runs.len() > 1 || runs.iter().any(|run| run.targets > 0);
    if shape.key_count() < 2 || !moves {
        return;
    }
    let Some(animation) = animations.take(NAME) else {
        tally.differs(|| format!("the animation {NAME} was not written"));
        return;
    };
    let Some(channels) = tally.read(gltf.channels(animation)) else {
        return;
    };
    let times = times(rules, shape);
    if channels.iter().all(|channel| channel.times == times) {
        times.iter().for_each(|_| tally.equal("times"));
    } else {
        tally.differs(|| "the times of the snapshots are others".to_owned());
    }
    check_channels(shape, runs, &channels, gltf, tally);
}

/// The times of the keys as floats, in seconds from the first.
fn times(rules: &Rules<'_>, shape: &Shape) -> Vec<f64> {
    let rate = rules.snapshot_rate(shape);
    let first = shape.steps_of(0);
    let mut times = Vec::with_capacity(shape.key_count());
    for key in 0..shape.key_count() {
        let steps = shape.steps_of(key) - first;
        #[expect(clippy::cast_possible_truncation, reason = "the nearest is written")]
        let time = (steps / rate) as f32;
        times.push(f64::from(time));
    }
    times
}

/// Each key is shown at its time: by the weights of targets, and by the scale of nodes if there are several meshes.
fn check_channels(
    shape: &Shape,
    runs: &[Run],
    channels: &[Channel],
    gltf: &Gltf<'_>,
    tally: &mut Tally,
) {
    let keys = shape.key_count();
    let mut values: HashMap<(Option<usize>, &str), &[f64]> = HashMap::new();
    for channel in channels {
        let moved = (channel.node, channel.path.as_str());
        values.entry(moved).or_insert(&channel.values);
    }
    for (index, run) in runs.iter().enumerate() {
        let end = runs.get(index + 1).map_or(keys, |next| next.first);
        let node = gltf.node_of(run.mesh);
        let all_weights = values.get(&(node, "weights"));
        let all_scales = values.get(&(node, "scale"));
        for key in 0..keys {
            let is_shown = (run.first..end).contains(&key);
            if run.targets > 0 && is_shown {
                let range = key * run.targets..(key + 1) * run.targets;
                let weights = all_weights.and_then(|all| all.get(range));
                let shows = weights.is_some_and(|weights| shows(weights, key - run.first));
                count_key(shows, run, key, tally);
            }
            if runs.len() > 1 {
                let scale = all_scales.and_then(|all| all.get(key * 3..key * 3 + 3));
                let expected = [f64::from(u8::from(is_shown)); 3];
                count_key(scale == Some(&expected), run, key, tally);
            }
        }
    }
}

/// `true` if the weights of the targets show the key at this place of a run. The first key has no target; after the last one, it stays.
fn shows(weights: &[f64], place: usize) -> bool {
    let shown = place.min(weights.len()).checked_sub(1);
    let mut targets = weights.iter().enumerate();
    targets.all(|(target, weight)| {
        let expected = f64::from(u8::from(Some(target) == shown));
        *weight == expected
    })
}

fn count_key(is_shown: bool, run: &Run, key: usize, tally: &mut Tally) {
    if is_shown {
        tally.equal("weights and scales that show snapshots");
    } else {
        let mesh = run.mesh;
        tally.differs(|| format!("meshes[{mesh}] is not shown as the snapshot of key {key}"));
    }
}
