//! The joints and animations of a scene, for targets that have them.

use meshmap::iqm::Trs;
use meshmap::{AttributeInfo, Influences, Scratch, Semantic};
use meshmap_job::{Assumption, Budget, Change, Error, Result, Why, report_all};
use meshmap_scene::{Clip, FactKind, Shape, Skeleton};

use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::settings::Job;

/// The name of the joint that vertices without weights follow.
pub(crate) const REST: &str = "meshmap_rest";

/// The skeleton, whose joints are siblings unless animations move them or the options nest them; `None` if there is none that can be used,
/// which is reported.
pub(crate) fn skeleton(plan: &Plan<'_>, outcome: &mut Outcome) -> Result<Option<Skeleton>> {
    /// A joint with its name, its matrices, and its place in tables of targets.
    const OF_JOINT: u64 = 640;
    let mut found = Vec::new();
    let skeleton = plan.scene.skeleton(&mut found)?;
    report_all(&found, &mut outcome.report);
    let Some(skeleton) = skeleton else {
        for shape in plan.scene.shapes().iter().filter(|_| !plan.is_posed()) {
            leave_out_influences(shape, Why::NoJoints, outcome);
        }
        return Ok(None);
    };
    let names: usize = skeleton.joints.iter().map(|joint| joint.name().len()).sum();
    let joints = skeleton.joints.len() as u64;
    let bytes = joints.saturating_mul(OF_JOINT).saturating_add(names as u64);
    plan.job.budget.keep(bytes, "joints")?;
    if plan.job.nest || skeleton.stands_alone {
        Ok(Some(skeleton))
    } else {
        Ok(Some(skeleton.flattened()))
    }
}

/// The joints that the vertices of a shape follow, and their shares; `None` if they follow none, or if there are more joints than 16 bits
/// number, which is reported.
///
/// In glTF and in USD, each vertex of a skinned mesh follows a joint. Vertices without weights follow an extra joint, which nothing moves.
pub(crate) fn influences(
    shape: &Shape,
    skeleton: &Skeleton,
    budget: &Budget,
    outcome: &mut Outcome,
) -> Result<Option<Influences>> {
    let Ok(joint_count) = u16::try_from(skeleton.joints.len()) else {
        let address = shape.address().to_string();
        outcome
            .report
            .leave_out(FactKind::Influences, Why::TooManyJoints, address);
        return Ok(None);
    };
    let counts = shape.counts(0, &mut Scratch::default())?;
    budget.charge_for::<([f32; 4], [f32; 4], [u16; 4], [f32; 4])>(
        counts.positions,
        "joints and weights",
    )?;
    let Some(influences) = shape.influences(joint_count)? else {
        leave_out_influences(shape, Why::NoWeights, outcome);
        return Ok(None);
    };
    let report = &mut outcome.report;
    report.change(Change::WeightsNotFinite, influences.not_finite);
    report.change(Change::WeightsBeyond, influences.beyond);
    report.change(Change::WeightsClamped, influences.clamped);
    report.change(Change::WeightsDropped, influences.dropped);
    report.change(Change::WeightsScaled, influences.scaled);
    report.change(Change::VerticesResting, influences.resting);
    Ok(Some(influences))
}

/// Reports the joints and weights of a shape, if it has some.
fn leave_out_influences(shape: &Shape, why: Why, outcome: &mut Outcome) {
    let is_influence =
        |info: &AttributeInfo| matches!(info.semantic, Semantic::Joints(0) | Semantic::Weights(0));
    if shape.attributes().iter().any(is_influence) {
        let address = shape.address().to_string();
        outcome.report.leave_out(FactKind::Influences, why, address);
    }
}

/// The animations that can be written for a skeleton of this many joints.
pub(crate) fn clips(plan: &Plan<'_>, joints: usize, outcome: &mut Outcome) -> Result<Vec<Clip>> {
    let budget = &plan.job.budget;
    // Parents, and the places of joints in one frame.
    budget.charge_for::<([f64; 16], [Option<u32>; 2])>(joints, "joints of a frame")?;
    let mut found = Vec::new();
    let clips = plan.scene.clips(joints, &mut found);
    report_all(&found, &mut outcome.report);
    for clip in &clips {
        // In two lists that grow.
        let bytes = 4 * size_of::<Clip>() as u64 + clip.anim().name.as_bytes().len() as u64;
        budget.charge(bytes, "animations")?;
    }
    Ok(clips)
}

/// The keys of a clip, key by key.
pub(crate) fn local_keys(clip: &Clip, job: &Job<'_>, target: &'static str) -> Result<Vec<Trs>> {
    let count = clip.key_count().saturating_mul(clip.joint_count());
    job.budget
        .charge_for::<Trs>(count, "poses of an animation")?;
    clip.local_keys()
        .map_err(|error| Error::of_scene(error, target))
}

/// The frames per second.
pub(crate) fn rate(clip: &Clip, job: &Job<'_>, outcome: &mut Outcome) -> f64 {
    let rate = clip.rate();
    if job.fps.is_none() && !clip.is_rate_stored() {
        let assumption = Assumption::FrameRate(rate);
        outcome.report.assume_of(assumption, clip.name());
    }
    job.fps.unwrap_or_else(|| clip.decimal_rate())
}

/// The times of the keys in seconds, from the first.
pub(crate) fn times(
    clip: &Clip,
    job: &Job<'_>,
    target: &'static str,
    outcome: &mut Outcome,
) -> Result<Vec<f32>> {
    let count = clip.key_count();
    let rate = rate(clip, job, outcome);
    #[expect(clippy::cast_possible_truncation, reason = "the nearest is written")]
    let times: Vec<f32> = clip
        .key_frames()
        .map(|frame| (frame / rate) as f32)
        .collect();
    if times.is_sorted_by(|a, b| a < b) && times.iter().all(|time| time.is_finite()) {
        return Ok(times);
    }
    let what = format!("{count} frames at {rate} a second, whose times do not ascend");
    Err(Error::NotHeld { target, what })
}
