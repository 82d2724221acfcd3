//! Joints and weights of vertices in glTF.
//!
//! In glTF, each vertex of a skinned mesh follows a joint. Vertices without weights follow an extra joint, which nothing moves.

use meshmap::{Influences, Scratch};
use meshmap_scene::{Shape, Skeleton};

use crate::budget::Budget;
use crate::error::Result;
use crate::outcome::Outcome;

/// The influences of a mesh; `None` if it has none, or more joints than 16 bits number.
pub(super) fn of_shape(
    shape: &Shape,
    skeleton: &Skeleton,
    budget: &Budget,
    outcome: &mut Outcome,
) -> Result<Option<Influences>> {
    let Ok(joint_count) = u16::try_from(skeleton.joints.len()) else {
        outcome.leave_out(format!(
            "the weights of {}, which has more than 65,535 joints",
            shape.address()
        ));
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
    for (what, count) in [
        (
            "weights that are NaN or infinite, now 0",
            influences.not_finite,
        ),
        (
            "weights of joints that are not there, left out",
            influences.beyond,
        ),
        (
            "joints that are not there, now the last joint",
            influences.clamped,
        ),
        (
            "weights beyond the four greatest of a vertex, left out",
            influences.dropped,
        ),
        (
            "weights, now shares of the sum of their vertex",
            influences.scaled,
        ),
        (
            "vertices without weights, now on the joint meshmap_rest",
            influences.resting,
        ),
    ] {
        outcome.change(what, count);
    }
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
