//! Joints, skins, animations and levels of detail in glTF.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use meshmap::iqm::Trs;
use serde_json::Value;

use super::gltf::{Channel, Gltf, index, list};
use super::tally::{Read, Tally};
use crate::error::{Error, Result};
use crate::matrix::IDENTITY;
use crate::outcome::Outcome;
use crate::scene::Mesh;
use crate::scene::iqm::Clip;
use crate::scene::rig::{Joint, Place, Rig, Skeleton};
use crate::settings::Job;

/// The name of the joint that has the vertices without weights.
const REST: &str = "meshmap_rest";

/// The joints of a file, which are the first nodes of what was written.
pub(super) struct WrittenJoints<'a> {
    skeleton: &'a Skeleton,
}

impl<'a> WrittenJoints<'a> {
    /// An error says what is another joint, or in another place.
    pub(super) fn of(skeleton: &'a Skeleton, gltf: &Gltf) -> Read<Self> {
        let parents = parents(gltf);
        for (at, joint) in skeleton.joints.iter().enumerate() {
            let node = gltf.nodes().get(at).ok_or("fewer nodes than joints")?;
            let name = node["name"].as_str().unwrap_or_default();
            if name != joint.name {
                return Err(format!(
                    "joint {at} is {name:?}, where the file has {:?}",
                    joint.name
                ));
            }
            let parent = parents
                .get(at)
                .copied()
                .flatten()
                .filter(|parent| *parent < skeleton.joints.len());
            if parent != joint.parent || !is_at(node, joint) {
                return Err(format!(
                    "the joint {name} is in another place, or has another parent"
                ));
            }
        }
        Ok(Self { skeleton })
    }

    /// Compares the skin of a mesh. An error says what differs.
    pub(super) fn compare(&self, mesh: usize, gltf: &mut Gltf) -> Read<()> {
        let skin = gltf
            .node_of(mesh)
            .and_then(|node| index(&gltf.nodes().get(node)?["skin"]));
        let skin = skin.ok_or("its node has no skin")?;
        let (nodes, inverse) = (gltf.joints(skin), gltf.inverse_bind(skin)?);
        let count = self.skeleton.joints.len();
        let rest = nodes.get(count).map(|node| gltf.nodes().get(*node));
        if let Some(node) = rest {
            let is_at_origin = node.is_some_and(|node| {
                node["name"] == REST
                    && ["translation", "rotation", "scale", "matrix"]
                        .iter()
                        .all(|of| node[of].is_null())
            });
            if !is_at_origin || parents(gltf).get(nodes[count]).copied().flatten().is_none() {
                return Err("the joint that rests moves vertices".to_owned());
            }
        }
        let is_whole =
            nodes.len() == count + usize::from(rest.is_some()) && inverse.len() == nodes.len();
        if !is_whole || !nodes.iter().take(count).copied().eq(0..count) {
            return Err(format!("other joints than the {count} of the file"));
        }
        let identity = IDENTITY.map(f64::from);
        let expected = self
            .skeleton
            .inverse_bind
            .iter()
            .chain(rest.map(|_| &identity));
        for (at, (expected, found)) in expected.zip(&inverse).enumerate() {
            let mut expected = *expected;
            // The last row of a stored matrix has no meaning.
            [3, 7, 11].into_iter().for_each(|at| expected[at] = 0.0);
            expected[15] = 1.0;
            if !are_near(&expected, found) {
                return Err(format!(
                    "the inverse bind matrix of joint {at} is {found:?}, where {expected:?} is meant"
                ));
            }
        }
        Ok(())
    }
}

/// `true` if matrices differ by rounding only.
fn are_near(a: &[f64; 16], b: &[f64; 16]) -> bool {
    const ROUNDED: f64 = 1e-6;
    let largest = a
        .iter()
        .fold(0.0, |most: f64, number| most.max(number.abs()));
    a.iter()
        .zip(b)
        .all(|(a, b)| (a - b).abs() <= largest * ROUNDED)
}

/// `true` if a node is where a joint is, bit for bit.
fn is_at(node: &Value, joint: &Joint) -> bool {
    let is = |name: &str, expected: &[f32], otherwise: &[f32]| match node[name].as_array() {
        Some(numbers) => numbers
            .iter()
            .map(|number| number.as_f64().map(|number| number as f32))
            .eq(expected.iter().map(|number| Some(*number))),
        None => expected == otherwise,
    };
    let still = Trs::new([0.0; 3], [0.0, 0.0, 0.0, 1.0], [1.0; 3]);
    let Trs {
        translate,
        rotate,
        scale,
        ..
    } = joint.trs().unwrap_or(still);
    let matrix = if let Place::Matrix(matrix) = joint.place {
        matrix
    } else {
        IDENTITY
    };
    is("matrix", &matrix, &IDENTITY)
        && is("translation", &translate, &[0.0; 3])
        && is("rotation", &rotate, &[0.0, 0.0, 0.0, 1.0])
        && is("scale", &scale, &[1.0; 3])
}

/// The parent of each node.
fn parents(gltf: &Gltf) -> Vec<Option<usize>> {
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
pub(super) fn check_clips(
    rig: &dyn Rig,
    joints: Option<&WrittenJoints<'_>>,
    job: &Job<'_>,
    gltf: &mut Gltf,
    tally: &mut Tally,
) -> Result<()> {
    let joints = joints.map_or(&[][..], |joints| &joints.skeleton.joints);
    let mut found = gltf.animations().into_iter().enumerate().peekable();
    let mut of_first = None;
    for clip in rig.clips(joints.len(), job, &mut Outcome::default())? {
        let _scope = job.budget.scope();
        let poses = match clip.poses(joints.len(), "glTF", &job.budget) {
            // Such an animation is left out.
            Err(Error::NotHeld { .. }) => continue,
            poses => poses?,
        };
        // The keys of channels.
        job.budget
            .charge_for::<[f64; 24]>(poses.len(), "poses of an animation")?;
        let times = clip.times(job, "glTF", &mut Outcome::default())?;
        let Some((at, name)) = found.next_if(|(_, other)| *other == clip.name) else {
            tally.differs(|| format!("the animation {} was not written", clip.name));
            continue;
        };
        // Everything that moves in one animation has keys in all.
        let moved = gltf.moved(at);
        if *of_first.get_or_insert_with(|| moved.clone()) != moved {
            tally.differs(|| format!("the animation {name} moves other joints than the first one"));
        }
        let Some(channels) = tally.read(gltf.channels(at)) else {
            continue;
        };
        match compare(&clip, joints, (&poses, &times), &channels) {
            Ok(()) => tally.equal("joints in the frames of animations"),
            Err(why) => tally.differs(|| format!("the animation {name}: {why}")),
        }
    }
    if let Some((_, name)) = found.next() {
        tally.differs(|| format!("the animation {name} is not that of the file"));
    }
    Ok(())
}

/// Compares the keys of an animation with the poses of all frames. An error says what differs.
fn compare(
    clip: &Clip,
    joints: &[Joint],
    (poses, times): (&[Trs], &[f32]),
    channels: &[Channel],
) -> Read<()> {
    let ends =
        [times.first(), times.last()].map(|time| f64::from(time.copied().unwrap_or_default()));
    let mut moved: HashMap<(usize, &str), (&[f64], usize)> = HashMap::new();
    for Channel {
        node,
        path,
        times: keys,
        values,
    } in channels
    {
        let size = if path == "rotation" { 4 } else { 3 };
        // Parts that rest have keys at the first time, or at both ends.
        let rests = keys[..] == ends || keys[..] == ends[..1];
        if !rests
            && !keys
                .iter()
                .copied()
                .eq(times.iter().map(|time| f64::from(*time)))
        {
            return Err("the times of its frames are others".to_owned());
        }
        let node = node.filter(|_| values.len() == keys.len() * size);
        let node =
            node.ok_or("a channel without a node, or with another number of values than of times")?;
        moved.insert((node, path), (values, size));
    }
    let is_same = |joint: usize, path: &str, key: usize, expected: &[f32], bind: &[f32]| {
        let Some((values, size)) = moved.get(&(joint, path)) else {
            return expected == bind;
        };
        let mut keys = values.chunks_exact(*size);
        let found = keys
            .clone()
            .nth(key)
            .or(keys.next_back())
            .unwrap_or_default();
        // A rotation and its negative are the same.
        [1.0, -1.0]
            .into_iter()
            .take(if *size == 4 { 2 } else { 1 })
            .any(|sign| {
                found
                    .iter()
                    .copied()
                    .eq(expected.iter().map(|number| f64::from(*number) * sign))
            })
    };
    for (key, frame) in poses
        .chunks(joints.len())
        .enumerate()
        .take(clip.frame_count())
    {
        for (at, (pose, joint)) in frame.iter().zip(joints).enumerate() {
            let bind = joint.trs().unwrap_or_default();
            if !(is_same(at, "translation", key, &pose.translate, &bind.translate)
                && is_same(at, "rotation", key, &pose.rotate, &bind.rotate)
                && is_same(at, "scale", key, &pose.scale, &bind.scale))
            {
                return Err(format!("joint {at} is in another place in frame {key}"));
            }
        }
    }
    Ok(())
}

/// Checks levels of detail: the finest mesh of each object is in the scene, and leads to the coarser ones.
pub(super) fn check_levels(drawn: &[&Mesh], gltf: &Gltf, tally: &mut Tally) {
    let mut levels: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, mesh) in drawn.iter().enumerate() {
        let Some(object) = mesh.object else { continue };
        let Some(node) = gltf.node_of(at) else {
            return tally.differs(|| format!("no node shows meshes[{at}]"));
        };
        levels.entry(object).or_default().push(node);
    }
    let mut work: Vec<usize> = gltf.scene().iter().filter_map(index).collect();
    let mut shown = BTreeSet::new();
    while let Some(node) = work.pop() {
        if shown.insert(node) {
            let children = gltf.nodes().get(node).map(|node| list(node, "children"));
            work.extend(children.unwrap_or_default().iter().filter_map(index));
        }
    }
    for (object, nodes) in levels {
        let [finest, coarser @ ..] = nodes.as_slice() else {
            continue;
        };
        let ids = gltf
            .nodes()
            .get(*finest)
            .map(|node| list(&node["extensions"]["MSFT_lod"], "ids"));
        let ids: Vec<usize> = ids.unwrap_or_default().iter().filter_map(index).collect();
        if ids == coarser
            && shown.contains(finest)
            && !coarser.iter().any(|node| shown.contains(node))
        {
            tally.equal("levels of detail");
        } else {
            tally.differs(|| {
                format!("face_{object}: the finest level does not lead to the coarser ones in their order")
            });
        }
    }
}
