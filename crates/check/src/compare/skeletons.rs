//! USD: joints without meshes, and their animations.

use std::rc::Rc;

use meshmap::iqm::Trs;
use meshmap_export::Result;
use meshmap_scene::matrix::multiply;
use meshmap_scene::{Clip, Error, Joint};

use crate::rules::Rules;
use crate::tally::{Read, Tally};
use crate::usdc::{Array, Prim, Samples, Stage};

pub(crate) fn check(rules: &Rules<'_>, stage: &Stage<'_>, tally: &mut Tally) -> Result<()> {
    let Some(skeleton) = rules.scene.skeleton(&mut Vec::new())? else {
        return Ok(());
    };
    let joints = &skeleton.joints;
    let of_kind = |kind: &'static str| stage.prims.iter().filter(move |prim| prim.kind == kind);
    let Some(found) = of_kind("Skeleton").next() else {
        tally.differs(|| "no skeleton was written".to_owned());
        return Ok(());
    };
    match compare(joints, found) {
        Ok(()) => tally.equal("joints and their places"),
        Err(why) => tally.differs(|| why),
    }
    let skeleton_joints = found.lists.get("joints");
    let mut animations = of_kind("SkelAnimation");
    let mut rate = None;
    let clips = rules.scene.clips(joints.len(), &mut Vec::new());
    for (at, clip) in clips.iter().enumerate() {
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
        // A time code is a frame of the first animation.
        let own_rate = rules.rate(clip);
        let scale = *rate.get_or_insert(own_rate) / own_rate;
        let Some(found) = animations.next() else {
            tally.differs(|| format!("the animation {name} was not written"));
            continue;
        };
        let is_shown = at > 0 || shows(stage, found);
        let has_joints = skeleton_joints == found.lists.get("joints");
        match moves(clip, &poses, scale, found) {
            Ok(()) if is_shown && has_joints => tally.equal("joints in the frames of animations"),
            Ok(()) => {
                tally.differs(|| format!("the animation {name} is of other joints, or not shown"));
            }
            Err(why) => tally.differs(|| format!("the animation {name}: {why}")),
        }
    }
    if let Some(found) = animations.next() {
        tally.differs(|| format!("{} is not an animation of the file", found.path));
    }
    if rate.is_some_and(|rate| stage.numbers.get("timeCodesPerSecond") != Some(&rate)) {
        tally.differs(|| "the frames per second are others".to_owned());
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
fn compare(joints: &[Joint], found: &Prim<'_>) -> Read<()> {
    let none = Rc::default();
    let list = |name| found.lists.get(name).unwrap_or(&none);
    let paths = list("joints");
    let names = list("jointNames");
    let local = matrices(found, "restTransforms");
    let bind = matrices(found, "bindTransforms");
    let count = joints.len();
    let counts = [paths.len(), names.len(), local.len(), bind.len()];
    if counts != [count; 4] {
        return Err(format!("{counts:?} joints, where the file has {count}"));
    }
    for (at, joint) in joints.iter().enumerate() {
        let path = &paths[at];
        let parent = path.rsplit_once('/').map(|(parent, _)| parent);
        let expected_parent = joint.parent.map(|parent| paths[parent].as_str());
        // No text of USD has the character 0.
        if parent != expected_parent || names[at] != joint.name().replace('\0', "\u{fffd}") {
            return Err(format!(
                "joint {at} is {path}, which has another name or parent"
            ));
        }
        let own = joint.rest.to_matrix();
        let world = match joint.parent {
            Some(parent) => multiply(&bind[parent], &own),
            None => own,
        };
        if local[at] != own || bind[at] != world {
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
    let mut frames = poses.chunks(joints);
    let is_still = frames.all(|frame| Some(frame) == poses.get(..joints));
    for samples in [translations, rotations, scales] {
        let times = samples.times.iter().map(|(time, _)| *time);
        let expected = clip.key_frames().map(|frame| frame * scale);
        if !is_still && !times.eq(expected) {
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
