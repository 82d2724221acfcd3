//! The animations of IQM files in glTF: where each joint is in each frame.

use std::collections::HashMap;

use meshmap::iqm::{Anim, Model, Trs};

use super::gltf::{Channel, Gltf};
use super::place::{Place, are_near, chained, largest, numbers, of_trs, placed};
use super::skeleton::parents;
use super::tally::Tally;
use crate::error::Result;
use crate::settings::Job;

const WHAT: &str = "joints in the frames of animations";

pub(super) fn check(model: &Model, job: &Job<'_>, gltf: &mut Gltf, tally: &mut Tally) -> Result<()> {
    let mut found = gltf.animations().into_iter().enumerate().peekable();
    let mut of_first = None;
    let added = job.animations.iter().filter_map(|(_, animations)| model.attach(animations).ok());
    for model in std::iter::once(model.clone()).chain(added) {
        if model.frames().pose_count() != model.joints().len() || model.joints().len() == 0 {
            continue;
        }
        for anim in model.anims().filter(|anim| job.takes_anim(&anim.name.to_string_lossy())) {
            let frames = anim.frames();
            if frames.is_empty() || frames.end > model.frames().len() {
                continue;
            }
            let _scope = job.budget.scope();
            let count = frames.len().saturating_mul(model.joints().len());
            // The frames, and the keys of channels.
            job.budget.charge_for::<(Trs, [f64; 24])>(count, "poses of an animation")?;
            let mut poses = vec![Trs::default(); count];
            model.frames().read_range_into(frames, &mut poses)?;
            let name = anim.name.to_string_lossy();
            match found.next_if(|(_, other)| *other == name) {
                Some((at, _)) => {
                    // Everything that moves in one animation has keys in all.
                    let moved = gltf.moved(at);
                    if *of_first.get_or_insert_with(|| moved.clone()) != moved {
                        tally.differs(|| {
                            format!("the animation {name} moves other joints than the first one")
                        });
                    }
                    if let Some(Err(why)) = tally
                        .read(gltf.channels(at))
                        .map(|channels| compare(&model, &anim, job, &poses, &channels, gltf))
                    {
                        tally.differs(|| format!("the animation {name}: {why}"));
                    } else {
                        tally.equal(WHAT);
                    }
                }
                // An animation that joints with other parents cannot follow is left out.
                None if has_other_parents(&model) => {}
                None => tally.differs(|| format!("the animation {name} was not written")),
            }
        }
    }
    if let Some((_, name)) = found.next() {
        tally.differs(|| format!("the animation {name} is not that of the file"));
    }
    Ok(())
}

/// `true` if poses are relative to other parents than the joints.
pub(super) fn has_other_parents(model: &Model) -> bool {
    !model.joints().map(|joint| joint.parent).eq(model.poses().map(|pose| pose.parent))
}

pub(super) fn pose_parents(model: &Model) -> impl Iterator<Item = Option<usize>> {
    model.poses().map(|pose| pose.parent.map(|parent| parent as usize))
}

/// Compares the places of all joints in all frames. An error says what differs.
fn compare(
    model: &Model,
    anim: &Anim,
    job: &Job<'_>,
    poses: &[Trs],
    channels: &[Channel],
    gltf: &Gltf,
) -> std::result::Result<(), String> {
    let joints = model.joints().len();
    let stored = Some(f64::from(anim.framerate)).filter(|rate| *rate > 0.0 && rate.is_finite());
    let rate = job.fps.or(stored).unwrap_or(24.0);
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "the nearest is meant")]
    let times: Vec<f64> =
        (0..poses.len() / joints).map(|key| f64::from((key as f64 / rate) as f32)).collect();
    let mut moved: HashMap<(usize, &str), &[f64]> = HashMap::new();
    for channel in channels {
        let size = if channel.path == "rotation" { 4 } else { 3 };
        let rests = channel.values.chunks(size).all(|value| value == &channel.values[..value.len()]);
        let ends = [times.first(), times.last()].map(|time| time.copied().unwrap_or_default());
        let is_end = channel.times == ends || channel.times == ends[..1];
        if channel.times != times && !(rests && is_end) {
            return Err("the times of its frames are others".to_owned());
        }
        let node = channel.node.filter(|_| channel.values.len() == channel.times.len() * size);
        let node = node.ok_or("a channel without a node, or with another number of values than of times")?;
        moved.insert((node, &channel.path), &channel.values);
    }
    // The joints are the first nodes.
    let named = model
        .joints()
        .zip(gltf.nodes())
        .all(|(joint, node)| node["name"].as_str().unwrap_or_default() == joint.name.to_string_lossy());
    if !named || gltf.nodes().len() < joints {
        return Err("the first nodes are not the joints".to_owned());
    }
    let node_parents = parents(gltf);
    for (key, frame) in poses.chunks(joints).enumerate() {
        let expected = chained(frame.iter().map(of_trs).zip(pose_parents(model)));
        let node = |(joint, node)| {
            let rotation =
                at(&moved, (joint, "rotation"), key, numbers(node, "rotation", [0.0, 0.0, 0.0, 1.0]));
            let translation = at(&moved, (joint, "translation"), key, numbers(node, "translation", [0.0; 3]));
            let scale = at(&moved, (joint, "scale"), key, numbers(node, "scale", [1.0; 3]));
            placed(translation, rotation, scale)
        };
        let nodes = gltf.nodes().iter().take(frame.len()).enumerate().map(node);
        let found = chained(nodes.zip(node_parents.iter().copied()));
        let size = largest(expected.iter());
        let differs = |(a, b): (&Place, &Place)| !are_near(a, b, size);
        if let Some(joint) = expected.iter().zip(&found).position(differs) {
            return Err(format!("joint {joint} is in another place in frame {key}"));
        }
    }
    Ok(())
}

/// The value of a key, the value of a channel that rests, or the value of the node, which does not move.
fn at<const N: usize>(
    moved: &HashMap<(usize, &str), &[f64]>,
    channel: (usize, &str),
    key: usize,
    still: [f64; N],
) -> [f64; N] {
    let values = moved.get(&channel).and_then(|values| {
        let (values, _) = values.as_chunks::<N>();
        values.get(key).or(values.last())
    });
    values.copied().unwrap_or(still)
}
