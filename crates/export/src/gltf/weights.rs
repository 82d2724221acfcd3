//! Joints and weights of vertices in glTF.
//!
//! In glTF, each vertex of a skinned mesh follows a joint. Vertices without weights follow an extra joint, which nothing moves.

use meshmap::{Influences, Scratch};
use meshmap_job::{Budget, Change, Result, Why};
use meshmap_scene::{FactKind, Shape, Skeleton};

use crate::outcome::Outcome;

/// The influences of a mesh; `None` if it has none, or more joints than 16 bits number.
pub(super) fn of_shape(
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

/// Weights as shares of 255, if these are the same numbers.
pub(super) fn bytes_of(weights: &[[f32; 4]]) -> Option<Vec<[u8; 4]>> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to 255"
    )]
    let byte = |weight: f32| (weight * 255.0).round() as u8;
    let of_vertex = |weights: &[f32; 4]| {
        let bytes = weights.map(byte);
        let sum: u16 = bytes.into_iter().map(u16::from).sum();
        let is_same = bytes.map(|byte| f32::from(byte) / 255.0) == *weights;
        Some(bytes).filter(|_| is_same && sum == 255)
    };
    weights.iter().map(of_vertex).collect()
}
