//! Joints, skins, animations and levels of detail in glTF.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use meshmap::iqm::Trs;
use meshmap_export::Result;
use meshmap_scene::matrix::{IDENTITY, rounded};
use meshmap_scene::{Clip, Error, Joint, Rest, Shape, Skeleton};
use serde_json::Value;

use super::times::Run;
use crate::gltf::{Animations, Channel, Gltf, index, list};
use crate::rules::Rules;
use crate::tally::{Read, Tally};

/// The name of the joint that has the vertices without weights.
const REST: &str = "meshmap_rest";

/// The joints of a file, which are the first nodes of what was written.
pub(crate) struct WrittenJoints<'a> {
    skeleton: &'a Skeleton,
    /// The parent of each node.
    parents: Vec<Option<usize>>,
    /// The result for each skin that has been compared: meshes share them.
    skins: HashMap<usize, Read<()>>,
}

impl<'a> WrittenJoints<'a> {
    /// An error says what is another joint, or in another place.
    pub(crate) fn of(skeleton: &'a Skeleton, gltf: &Gltf<'_>) -> Read<Self> {
        let count = skeleton.joints.len();
        let parents = parents(gltf);
        for (at, joint) in skeleton.joints.iter().enumerate() {
            let node = gltf.nodes().get(at).ok_or("fewer nodes than joints")?;
            let name = node["name"].as_str().unwrap_or_default();
            let expected = joint.name();
            if name != expected {
                return Err(format!(
                    "joint {at} is {name:?}, where the file has {expected:?}"
                ));
            }
            let parent = parents.get(at).copied().flatten();
            let parent = parent.filter(|parent| *parent < count);
            if parent != joint.parent || !is_at(node, joint) {
                return Err(format!(
                    "the joint {name} is in another place, or has another parent"
                ));
            }
        }
        Ok(Self {
            skeleton,
            parents,
            skins: HashMap::new(),
        })
    }

    /// Compares the skin of a mesh. An error says what differs.
    pub(crate) fn compare(&mut self, mesh: usize, gltf: &mut Gltf<'_>) -> Read<()> {
        let node = gltf.node_of(mesh).and_then(|node| gltf.nodes().get(node));
        let skin = node.and_then(|node| index(&node["skin"]));
        let skin = skin.ok_or("its node has no skin")?;
        if let Some(known) = self.skins.get(&skin) {
            return known.clone();
        }
        let result = self.compare_skin(skin, gltf);
        self.skins.insert(skin, result.clone());
        result
    }

    fn compare_skin(&self, skin: usize, gltf: &mut Gltf<'_>) -> Read<()> {
        let nodes = gltf.joints(skin);
        let inverse = gltf.inverse_bind(skin)?;
        let count = self.skeleton.joints.len();
        let rest = nodes.get(count);
        if rest.is_some_and(|rest| !self.is_resting(*rest, gltf)) {
            return Err("the joint that rests moves vertices".to_owned());
        }
        let all = count + usize::from(rest.is_some());
        let is_whole = nodes.len() == all && inverse.len() == all;
        if !is_whole || !nodes.iter().take(count).copied().eq(0..count) {
            return Err(format!("other joints than the {count} of the file"));
        }
        let expected = self.skeleton.inverse_bind.iter();
        let expected = expected.chain(rest.map(|_| &IDENTITY));
        for (at, (expected, found)) in expected.zip(&inverse).enumerate() {
            let mut expected = *expected;
            // The last row of a stored matrix has no meaning.
            for (place, number) in [(3, 0.0), (7, 0.0), (11, 0.0), (15, 1.0)] {
                expected[place] = number;
            }
            if !are_near(&expected, found) {
                return Err(format!(
                    "the inverse bind matrix of joint {at} is {found:?}, where {expected:?} is meant"
                ));
            }
        }
        Ok(())
    }

    /// `true` if a node is the joint of vertices without weights: it stays where its parent is.
    fn is_resting(&self, node: usize, gltf: &Gltf<'_>) -> bool {
        let parent = self.parents.get(node).copied().flatten();
        let Some(node) = gltf.nodes().get(node) else {
            return false;
        };
        let mut moves = ["translation", "rotation", "scale", "matrix"].iter();
        parent.is_some() && node["name"] == REST && moves.all(|part| node[part].is_null())
    }
}

/// `true` if matrices differ by rounding only.
fn are_near(a: &[f64; 16], b: &[f64; 16]) -> bool {
    const ROUNDED: f64 = 1e-6;
    let mut largest: f64 = 0.0;
    for number in a {
        largest = largest.max(number.abs());
    }
    let mut pairs = a.iter().zip(b);
    pairs.all(|(a, b)| (a - b).abs() <= largest * ROUNDED)
}

/// `true` if a node is where a joint is, bit for bit.
fn is_at(node: &Value, joint: &Joint) -> bool {
    let still = Trs::new([0.0; 3], [0.0, 0.0, 0.0, 1.0], [1.0; 3]);
    let trs = joint.rest.trs().unwrap_or(still);
    let matrix = match joint.rest {
        Rest::Matrix(matrix) => matrix,
        _ => rounded(&IDENTITY),
    };
    has_numbers(&node["matrix"], &matrix, &rounded(&IDENTITY))
        && has_numbers(&node["translation"], &trs.translate, &still.translate)
        && has_numbers(&node["rotation"], &trs.rotate, &still.rotate)
        && has_numbers(&node["scale"], &trs.scale, &still.scale)
}

/// `true` if a list has these numbers; without a list, it has the numbers of `otherwise`.
#[expect(clippy::cast_possible_truncation, reason = "floats are written")]
fn has_numbers(list: &Value, expected: &[f32], otherwise: &[f32]) -> bool {
    let Some(numbers) = list.as_array() else {
        return expected == otherwise;
    };
    let found = numbers.iter().map(|number| number.as_f64());
    let found = found.map(|number| number.map(|number| number as f32));
    found.eq(expected.iter().copied().map(Some))
}

/// The parent of each node.
fn parents(gltf: &Gltf<'_>) -> Vec<Option<usize>> {
    let mut parents = vec![None; gltf.nodes().len()];
    for (parent, node) in gltf.nodes().iter().enumerate() {
        for child in list(node, "children").iter().filter_map(index) {
            if let Some(place) = parents.get_mut(child) {
                *place = Some(parent);
            }
        }
    }
    parents
}

/// Compares animations: the names, what they move, the times, and the pose of each joint in each frame.
pub(crate) fn check_clips(
    rules: &Rules<'_>,
    joints: Option<&WrittenJoints<'_>>,
    animations: &mut Animations,
    gltf: &mut Gltf<'_>,
    tally: &mut Tally,
) -> Result<()> {
    let joints = joints.map_or(&[][..], |joints| &joints.skeleton.joints);
    let mut of_first = None;
    for clip in rules.scene.clips(joints.len(), &mut Vec::new()) {
        let name = clip.name();
        let _charge = rules.charge_keys(&clip)?;
        let poses = match clip.local_keys() {
            Ok(poses) => poses,
            Err(Error::Read(error)) => return Err(error.into()),
            // Such an animation is left out.
            Err(_) => continue,
        };
        let Some(animation) = animations.take(&name) else {
            tally.differs(|| format!("the animation {name} was not written"));
            continue;
        };
        // Everything that moves in one animation has keys in all.
        let moved = gltf.moved(animation);
        if *of_first.get_or_insert_with(|| moved.clone()) != moved {
            tally.differs(|| format!("the animation {name} moves other joints than the first one"));
        }
        let Some(channels) = tally.read(gltf.channels(animation)) else {
            continue;
        };
        let keys = Keys {
            joints,
            poses: &poses,
            times: times(&clip, rules),
        };
        match keys.compare(&channels) {
            Ok(()) => tally.equal("joints in the frames of animations"),
            Err(why) => tally.differs(|| format!("the animation {name}: {why}")),
        }
    }
    Ok(())
}

/// The times of the keys of a clip as floats, in seconds from the first.
fn times(clip: &Clip, rules: &Rules<'_>) -> Vec<f64> {
    let rate = rules.rate(clip);
    let mut times = Vec::with_capacity(clip.key_count());
    for frame in clip.key_frames() {
        #[expect(clippy::cast_possible_truncation, reason = "the nearest is written")]
        let time = (frame / rate) as f32;
        times.push(f64::from(time));
    }
    times
}

/// The keys of a clip, as they are expected.
struct Keys<'a> {
    joints: &'a [Joint],
    /// The poses of all joints, key by key.
    poses: &'a [Trs],
    times: Vec<f64>,
}

/// The keys of a part of a joint, as they were found.
struct Track<'a> {
    values: &'a [f64],
    /// The number of values of each key.
    size: usize,
}

impl Track<'_> {
    /// `true` if the joint has this value at a key. A track of one key holds for all.
    fn is_at(&self, key: usize, expected: &[f32]) -> bool {
        let keys = self.values.chunks_exact(self.size);
        let last = keys.len().saturating_sub(1);
        let found = keys.clone().nth(key.min(last)).unwrap_or_default();
        let is_equal = |sign: f64| {
            let expected = expected.iter().map(|number| f64::from(*number) * sign);
            found.iter().copied().eq(expected)
        };
        // A rotation and its negative are the same.
        is_equal(1.0) || self.size == 4 && is_equal(-1.0)
    }
}

impl Keys<'_> {
    /// Compares the channels of an animation with the poses of all keys. An error says what differs.
    fn compare(&self, channels: &[Channel]) -> Read<()> {
        let mut tracks: HashMap<(usize, &str), Track<'_>> = HashMap::new();
        for channel in channels {
            let times = &channel.times;
            if *times != self.times && !self.are_resting(times) {
                return Err("the times of its frames are others".to_owned());
            }
            let size = if channel.path == "rotation" { 4 } else { 3 };
            let is_whole = channel.values.len() == times.len() * size;
            let node = channel.node.filter(|_| is_whole);
            let node = node.ok_or(
                "a channel without a node, or with another number of values than of times",
            )?;
            let values = channel.values.as_slice();
            tracks.insert((node, &channel.path), Track { values, size });
        }
        let is_same = |joint, path, key, expected: &[f32], bind: &[f32]| {
            let track = tracks.get(&(joint, path));
            track.map_or(expected == bind, |track| track.is_at(key, expected))
        };
        for (key, frame) in self.poses.chunks(self.joints.len()).enumerate() {
            for (at, (pose, joint)) in frame.iter().zip(self.joints).enumerate() {
                let bind = joint.rest.trs().unwrap_or_default();
                if !is_same(at, "translation", key, &pose.translate, &bind.translate)
                    || !is_same(at, "rotation", key, &pose.rotate, &bind.rotate)
                    || !is_same(at, "scale", key, &pose.scale, &bind.scale)
                {
                    return Err(format!("joint {at} is in another place in frame {key}"));
                }
            }
        }
        Ok(())
    }

    /// `true` for the times of a part that rests: the first one, or the first and the last.
    fn are_resting(&self, times: &[f64]) -> bool {
        let ends = [self.times.first(), self.times.last()];
        let ends = ends.map(|time| time.copied().unwrap_or_default());
        times == ends || times == &ends[..1]
    }
}

/// Checks levels of detail: the finest mesh of each object is in the scene, and leads to the coarser ones.
pub(crate) fn check_levels(
    shapes: &[Shape],
    all_runs: &[Vec<Run>],
    gltf: &Gltf<'_>,
    tally: &mut Tally,
) {
    // By object: the nodes in the scene, and the nodes of coarser levels.
    let mut levels: BTreeMap<usize, [Vec<usize>; 2]> = BTreeMap::new();
    for (shape, runs) in shapes.iter().zip(all_runs) {
        let Some(object) = shape.object() else {
            continue;
        };
        for run in runs {
            let mesh = run.mesh;
            let Some(node) = gltf.node_of(mesh) else {
                tally.differs(|| format!("no node shows meshes[{mesh}]"));
                return;
            };
            let [finest, coarser] = levels.entry(object).or_default();
            if shape.is_coarser() {
                coarser.push(node);
            } else {
                finest.push(node);
            }
        }
    }
    let shown = shown_nodes(gltf);
    for (object, [finest, coarser]) in levels {
        let leads_on = |node: &usize| {
            let node = gltf.nodes().get(*node);
            let extension = node.map(|node| &node["extensions"]["MSFT_lod"]);
            let ids = extension.map_or(&[][..], |extension| list(extension, "ids"));
            ids.iter().filter_map(index).eq(coarser.iter().copied())
        };
        // An empty node stands for the finest level of an object that has none.
        let leads = match finest.first() {
            Some(first) => shown.contains(first) && leads_on(first),
            None => shown.iter().any(leads_on),
        };
        let is_coarser_shown = coarser.iter().any(|node| shown.contains(node));
        if leads && !is_coarser_shown {
            tally.equal("levels of detail");
        } else {
            tally.differs(|| {
                format!("face_{object}: the finest level does not lead to the coarser ones in their order")
            });
        }
    }
}

/// The nodes of the scene, and all below them.
fn shown_nodes(gltf: &Gltf<'_>) -> BTreeSet<usize> {
    let mut work: Vec<usize> = gltf.scene().iter().filter_map(index).collect();
    let mut shown = BTreeSet::new();
    while let Some(node) = work.pop() {
        if !shown.insert(node) {
            continue;
        }
        if let Some(node) = gltf.nodes().get(node) {
            work.extend(list(node, "children").iter().filter_map(index));
        }
    }
    shown
}
