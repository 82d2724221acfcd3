//! USD: joints and their animations.

use std::rc::Rc;

use meshmap::iqm::Trs;
use meshmap_export::Result;
use meshmap_scene::matrix::{IDENTITY, is_flat};
use meshmap_scene::{Clip, Error, Skeleton};

use crate::rules::Rules;
use crate::tally::{Read, Tally};
use crate::usdc::{Array, Prim, Samples, Stage};

/// The joint that vertices without weights follow: it has no parent, and stays at the origin.
const REST: &str = "meshmap_rest";

/// The joints of a skeleton in the order in which USD needs them: parents before their children, otherwise as in the file.
pub(crate) fn order_of(skeleton: &Skeleton) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    let mut above = vec![None];
    while !above.is_empty() {
        let mut next = Vec::new();
        for (index, joint) in skeleton.joints.iter().enumerate() {
            if above.contains(&joint.parent) {
                next.push(index);
            }
        }
        order.extend(&next);
        above = next.into_iter().map(Some).collect();
    }
    let mut joints = skeleton.joints.iter().enumerate();
    if joints.all(|(index, joint)| joint.parent.is_none_or(|parent| parent < index)) {
        order.sort_unstable();
    }
    order
}

/// Compares joints and animations. `are_followed`: some vertices follow joints.
pub(crate) fn check(
    rules: &Rules<'_>,
    are_followed: bool,
    stage: &Stage<'_>,
    tally: &mut Tally,
) -> Result<()> {
    let is_written = |skeleton: &&Skeleton| skeleton.stands_alone || are_followed;
    let skeleton = rules.skeleton.as_ref().filter(is_written);
    let of_kind = |kind: &'static str| stage.prims.iter().filter(move |prim| prim.kind == kind);
    let (skeleton, found) = match (skeleton, of_kind("Skeleton").next()) {
        (None, None) => return Ok(()),
        (Some(skeleton), Some(found)) => (skeleton, found),
        (expected, _) => {
            let is_there = if expected.is_some() { "no" } else { "a" };
            tally.differs(|| format!("{is_there} skeleton was written"));
            return Ok(());
        }
    };
    match compare(skeleton, found) {
        Ok(()) => tally.equal("joints and their places"),
        Err(why) => tally.differs(|| why),
    }
    let count = skeleton.joints.len();
    let none = Rc::default();
    let skeleton_joints = found.lists.get("joints").unwrap_or(&none).get(..count);
    let mut animations = of_kind("SkelAnimation");
    let mut rate = None;
    let mut end = 0.0;
    let mut clips = rules.scene.clips(count, &mut Vec::new());
    // The animation that is bound comes first.
    if let Some(name) = &rules.convert.anim
        && let Some(bound) = clips.iter().position(|clip| clip.name() == name.as_str())
    {
        let bound = clips.remove(bound);
        clips.insert(0, bound);
    }
    for clip in &clips {
        let name = clip.name();
        let _charge = rules.charge_keys(clip)?;
        let poses = match clip.local_keys() {
            Ok(poses) => poses,
            Err(Error::Read(error)) => return Err(error.into()),
            // Such an animation is left out.
            Err(_) => continue,
        };
        let mut numbers = poses.iter().flat_map(|pose| pose.to_array());
        if numbers.any(|number| !number.is_finite()) {
            continue;
        }
        // A time code is a frame of the animation that is bound.
        let own_rate = rules.rate(clip);
        let is_bound = rate.is_none();
        let scale = *rate.get_or_insert(own_rate) / own_rate;
        if is_bound {
            end = clip.key_frames().last().unwrap_or_default();
        }
        let Some(found) = animations.next() else {
            tally.differs(|| format!("the animation {name} was not written"));
            continue;
        };
        let is_right = shows(stage, found) == is_bound;
        let joints = found.lists.get("joints").map(|joints| joints.as_slice());
        let has_joints = joints == skeleton_joints;
        match moves(clip, &poses, scale, found) {
            Ok(()) if is_right && has_joints => tally.equal("joints in the frames of animations"),
            Ok(()) => {
                tally.differs(|| {
                    format!("the animation {name} is of other joints, or another one is bound")
                });
            }
            Err(why) => tally.differs(|| format!("the animation {name}: {why}")),
        }
    }
    if let Some(found) = animations.next() {
        tally.differs(|| format!("{} is not an animation of the file", found.path));
    }
    if let Some(rate) = rate {
        for (name, expected) in [("timeCodesPerSecond", rate), ("endTimeCode", end)] {
            let found = stage.numbers.get(name);
            if found != Some(&expected) {
                tally.differs(|| format!("{name} is {found:?}, where {expected} is meant"));
            }
        }
    }
    Ok(())
}

/// `true` if a prim of the stage is moved by an animation.
fn shows(stage: &Stage<'_>, animation: &Prim<'_>) -> bool {
    let sources = stage.prims.iter();
    let mut sources = sources.filter_map(|prim| prim.targets.get("skel:animationSource"));
    sources.any(|paths| paths.contains(&animation.path))
}

/// Compares joints. An error says what differs.
fn compare(skeleton: &Skeleton, found: &Prim<'_>) -> Read<()> {
    let none = Rc::default();
    let list = |name| found.lists.get(name).unwrap_or(&none);
    let paths = list("joints");
    let names = list("jointNames");
    let local = matrices(found, "restTransforms");
    let bind = matrices(found, "bindTransforms");
    let count = skeleton.joints.len();
    let has_rest = names.get(count).is_some_and(|name| name == REST);
    let all = count + usize::from(has_rest);
    let counts = [paths.len(), names.len(), local.len(), bind.len()];
    if counts != [all; 4] {
        return Err(format!("{counts:?} joints, where the file has {count}"));
    }
    if has_rest && (paths[count].contains('/') || [local[count], bind[count]] != [IDENTITY; 2]) {
        return Err(format!("the joint {REST} is not at the origin"));
    }
    let places = skeleton.bind_matrices();
    let order = order_of(skeleton);
    let mut path_of = vec![""; count];
    for (place, index) in order.into_iter().enumerate() {
        let joint = &skeleton.joints[index];
        let path = &paths[place];
        path_of[index] = path;
        let parent = path.rsplit_once('/').map(|(parent, _)| parent);
        let expected_parent = joint.parent.map(|parent| path_of[parent]);
        // No text of USD has the character 0.
        if parent != expected_parent || names[place] != joint.name().replace('\0', "\u{fffd}") {
            return Err(format!(
                "joint {index} is {path}, which has another name or parent"
            ));
        }
        // A flat matrix has no inverse, which programs need.
        let is_bound = is_flat(&places[index]) || bind[place] == places[index];
        if local[place] != joint.rest.to_matrix() || !is_bound {
            return Err(format!("the joint {path} is in another place"));
        }
    }
    Ok(())
}

/// The matrices that an attribute has.
fn matrices(prim: &Prim<'_>, name: &str) -> Vec<[f64; 16]> {
    let array = prim.arrays.get(name).and_then(|samples| samples.default);
    let numbers: Vec<f64> = array.into_iter().flat_map(Array::doubles).collect();
    numbers.as_chunks().0.to_vec()
}

/// Compares the poses of all frames. An error says what differs.
fn moves(clip: &Clip, poses: &[Trs], scale: f64, found: &Prim<'_>) -> Read<()> {
    let samples = |name| {
        let samples = found.arrays.get(name);
        samples.ok_or_else(|| format!("{} has no {name}", found.path))
    };
    let translations = samples("translations")?;
    let rotations = samples("rotations")?;
    let scales = samples("scales")?;
    let joints = clip.joint_count();
    for samples in [translations, rotations, scales] {
        // An array that stays has one value for all times.
        let times = samples.times.iter().map(|(time, _)| *time);
        let expected = clip.key_frames().map(|frame| frame * scale);
        if !samples.times.is_empty() && !times.eq(expected) {
            return Err("the times of its frames are others".to_owned());
        }
    }
    for (key, (frame, poses)) in clip.key_frames().zip(poses.chunks(joints)).enumerate() {
        let time = frame * scale;
        let translates = poses.iter().flat_map(|pose| pose.translate);
        let rotates = poses.iter().flat_map(|pose| pose.rotate);
        let is_same = floats_at(translations, time).into_iter().eq(translates)
            && floats_at(rotations, time).into_iter().eq(rotates);
        let halves = scales.at(time).into_iter().flat_map(Array::halves);
        let halves: Vec<f32> = halves.collect();
        let expected: Vec<f32> = poses.iter().flat_map(|pose| pose.scale).collect();
        if !is_same || !are_near(&halves, &expected) {
            return Err(format!("a joint is in another place in frame {key}"));
        }
    }
    Ok(())
}

fn floats_at(samples: &Samples<'_>, time: f64) -> Vec<f32> {
    let array = samples.at(time);
    array.into_iter().flat_map(Array::floats).collect()
}

/// `true` if numbers of 16 bits are the nearest to others.
fn are_near(halves: &[f32], expected: &[f32]) -> bool {
    const ROUNDED: f32 = 1.0 / 2048.0;
    const LARGEST: f32 = 65_504.0;
    let is_near = |half: f32, number: f32| {
        let apart = (half - number.clamp(-LARGEST, LARGEST)).abs();
        apart <= number.abs() * ROUNDED + 1e-7
    };
    let mut pairs = halves.iter().zip(expected);
    halves.len() == expected.len() && pairs.all(|(half, number)| is_near(*half, *number))
}
