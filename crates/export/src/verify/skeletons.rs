//! USD: joints without meshes, and their animations.

use std::rc::Rc;

use meshmap::iqm::Trs;

use super::tally::{Read, Tally};
use super::usdc::{Array, Prim, Samples, Stage};
use crate::error::{Error, Result};
use crate::matrix::multiply;
use crate::outcome::Outcome;
use crate::scene::hierarchy::matrix;
use crate::scene::iqm::Clip;
use crate::scene::rig::{Joint, Rig};
use crate::settings::Job;

pub(super) fn check(
    rig: &dyn Rig,
    job: &Job<'_>,
    stage: &Stage<'_>,
    tally: &mut Tally,
) -> Result<()> {
    let mut ignored = Outcome::default();
    let Some(skeleton) = rig.skeleton(job, &mut ignored)? else {
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
    for (at, clip) in rig
        .clips(joints.len(), job, &mut ignored)?
        .iter()
        .enumerate()
    {
        let _scope = job.budget.scope();
        let poses = match clip.poses(joints.len(), "usdc", &job.budget) {
            // Such an animation is left out.
            Err(Error::NotHeld { .. }) => continue,
            poses => poses?,
        };
        if poses
            .iter()
            .flat_map(|pose| pose.to_array())
            .any(|number| !number.is_finite())
        {
            continue;
        }
        let own_rate = clip.rate(job, &mut ignored);
        let scale = *rate.get_or_insert(own_rate) / own_rate;
        let Some(found) = animations.next() else {
            tally.differs(|| format!("the animation {} was not written", clip.name));
            continue;
        };
        let is_shown = at > 0
            || stage.prims.iter().any(|prim| {
                prim.targets
                    .get("skel:animationSource")
                    .is_some_and(|paths| paths.contains(&found.path))
            });
        let has_joints = skeleton_joints == found.lists.get("joints");
        match moves(clip, (&poses, joints.len(), scale), found) {
            Ok(()) if is_shown && has_joints => tally.equal("joints in the frames of animations"),
            Ok(()) => tally.differs(|| {
                format!(
                    "the animation {} is of other joints, or not shown",
                    clip.name
                )
            }),
            Err(why) => tally.differs(|| format!("the animation {}: {why}", clip.name)),
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

/// Compares joints. An error says what differs.
fn compare(joints: &[Joint], found: &Prim<'_>) -> Read<()> {
    let none = Rc::default();
    let list = |name| found.lists.get(name).unwrap_or(&none);
    let (paths, names) = (list("joints"), list("jointNames"));
    let array = |name| found.arrays.get(name).and_then(|samples| samples.default);
    let matrices = |name| {
        array(name)
            .into_iter()
            .flat_map(Array::doubles)
            .collect::<Vec<f64>>()
    };
    let [local, bind] = ["restTransforms", "bindTransforms"].map(matrices);
    let (local, bind) = (local.as_chunks::<16>().0, bind.as_chunks::<16>().0);
    let counts = [paths.len(), names.len(), local.len(), bind.len()];
    if counts != [joints.len(); 4] {
        return Err(format!(
            "{counts:?} joints, where the file has {}",
            joints.len()
        ));
    }
    for (at, joint) in joints.iter().enumerate() {
        let parent = paths[at].rsplit_once('/').map(|(parent, _)| parent);
        let own = matrix(&joint.trs().unwrap_or_default());
        let world = joint
            .parent
            .map_or(own, |parent| multiply(&bind[parent], &own));
        if parent != joint.parent.map(|parent| paths[parent].as_str())
            || names[at] != joint.name.replace('\0', "\u{fffd}")
        {
            return Err(format!(
                "joint {at} is {}, which has another name or parent",
                paths[at]
            ));
        }
        if local[at] != own || bind[at] != world {
            return Err(format!("the joint {} is in another place", paths[at]));
        }
    }
    Ok(())
}

/// Compares the poses of all frames. An error says what differs.
fn moves(clip: &Clip, (poses, joints, scale): (&[Trs], usize, f64), found: &Prim<'_>) -> Read<()> {
    /// The rounding of 16 bits.
    const ROUNDED: f32 = 1.0 / 2048.0;
    let samples = |name| {
        found
            .arrays
            .get(name)
            .ok_or(format!("{} has no {name}", found.path))
    };
    let [translations, rotations, scales] = ["translations", "rotations", "scales"].map(samples);
    let (translations, rotations, scales) = (translations?, rotations?, scales?);
    let is_still = poses
        .chunks(joints)
        .all(|frame| Some(frame) == poses.get(..joints));
    for samples in [translations, rotations, scales] {
        let times = samples.times.iter().map(|(time, _)| *time);
        if !is_still && !times.eq(clip.frames().map(|frame| frame * scale)) {
            return Err("the times of its frames are others".to_owned());
        }
    }
    for (key, (frame, poses)) in clip.frames().zip(poses.chunks(joints)).enumerate() {
        let time = frame * scale;
        let floats = |samples: &Samples<'_>| -> Vec<f32> {
            samples
                .at(time)
                .into_iter()
                .flat_map(Array::floats)
                .collect()
        };
        let same = floats(translations)
            .into_iter()
            .eq(poses.iter().flat_map(|pose| pose.translate))
            && floats(rotations)
                .into_iter()
                .eq(poses.iter().flat_map(|pose| pose.rotate));
        let halves: Vec<f32> = scales
            .at(time)
            .into_iter()
            .flat_map(Array::halves)
            .collect();
        let expected: Vec<f32> = poses.iter().flat_map(|pose| pose.scale).collect();
        let are_near = halves.len() == expected.len()
            && halves
                .iter()
                .zip(&expected)
                .all(|(a, b)| (a - b.clamp(-65_504.0, 65_504.0)).abs() <= b.abs() * ROUNDED + 1e-7);
        if !same || !are_near {
            return Err(format!("a joint is in another place in frame {key}"));
        }
    }
    Ok(())
}
