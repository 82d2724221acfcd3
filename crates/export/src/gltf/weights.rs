//! Joints and weights of vertices, as glTF wants them: no joint twice, none without weight, and a sum of 1.
//!
//! In glTF, each vertex of a skinned mesh follows a joint. Vertices without weights follow an extra joint, which nothing moves.

use meshmap::{MeshView, Semantic, VertexFormat};

use crate::budget::Budget;
use crate::error::Result;
use crate::outcome::{Outcome, Report};
use crate::scene::rig::{Beyond, Skeleton};

/// The joints of each vertex, and their weights.
pub(super) struct Influences {
    pub(super) joints: Vec<[u16; 4]>,
    pub(super) weights: Weights,
    /// `true` if vertices follow the joint after the joints of the file, which rests.
    pub(super) have_rest: bool,
}

pub(super) enum Weights {
    /// Shares of 255.
    Bytes(Vec<[u8; 4]>),
    Floats(Vec<[f32; 4]>),
}

/// The influences of a mesh; `None` if it has none, or has joints that are not there and cannot be replaced.
pub(super) fn of_view(
    view: &MeshView,
    skeleton: &Skeleton,
    budget: &Budget,
    outcome: &mut Outcome,
) -> Result<Option<Influences>> {
    let (semantic, weight) = (Semantic::Joints(0), Semantic::Weights(0));
    let (Some(indices), Some(weights)) = (view.attribute(&semantic)?, view.attribute(&weight)?) else {
        return Ok(None);
    };
    let format = weights.format();
    budget.charge_for::<([f32; 4], [f32; 4], [u16; 4], [f32; 4], [f32; 4])>(
        weights.len(),
        "joints and weights",
    )?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and is checked")]
    let mut indices: Vec<[u16; 4]> =
        indices.to_f32::<4>().iter().map(|indices| indices.map(|index| index as u16)).collect();
    let Ok(rest) = u16::try_from(skeleton.joints.len()) else {
        outcome.leave_out(format!("the weights of {}, which has more than 65,535 joints", view.address()));
        return Ok(None);
    };
    if !check_joints(view, &mut indices, &weights.to_f32(), (rest, skeleton.beyond), outcome) {
        return Ok(None);
    }
    let mut empty = 0;
    let merged = if format == VertexFormat::UNORM8X4 {
        let mut bytes = weights.as_bytes().as_chunks::<4>().0.to_vec();
        for (indices, weights) in indices.iter_mut().zip(&mut bytes) {
            merge(indices, weights, |a, b| a.saturating_add(b));
            if *weights == [0; 4] {
                (*indices, *weights) = ([rest, 0, 0, 0], [255, 0, 0, 0]);
                empty += 1;
            }
        }
        let is_whole =
            |weights: &[u8; 4]| weights.iter().map(|weight| u16::from(*weight)).sum::<u16>() == 255;
        if bytes.iter().all(is_whole) {
            Weights::Bytes(bytes)
        } else {
            Weights::Floats(shares(bytes.iter().map(|weights| weights.map(f32::from)), outcome))
        }
    } else {
        let mut floats = weights.to_f32::<4>();
        let mut replaced = 0;
        for (indices, weights) in indices.iter_mut().zip(&mut floats) {
            for weight in weights.iter_mut() {
                replaced += u64::from(!weight.is_finite());
                *weight = if weight.is_finite() { weight.max(0.0) } else { 0.0 };
            }
            merge(indices, weights, |a, b| a + b);
            if *weights == [0.0; 4] {
                (*indices, *weights) = ([rest, 0, 0, 0], [1.0, 0.0, 0.0, 0.0]);
                empty += 1;
            }
        }
        outcome.change("weights that are NaN or infinite, now 0", replaced);
        Weights::Floats(shares(floats.into_iter(), outcome))
    };
    outcome.change("vertices without weights, now on the joint meshmap_rest", empty);
    Ok(Some(Influences { joints: indices, weights: merged, have_rest: empty > 0 }))
}

/// Adds the weights of a joint that occurs twice; the index of a missing weight becomes 0.
fn merge<T: Copy + Default + PartialEq>(
    indices: &mut [u16; 4],
    weights: &mut [T; 4],
    add: impl Fn(T, T) -> T,
) {
    let none = T::default();
    for at in 0..4 {
        for other in at + 1..4 {
            if indices[at] == indices[other] && weights[other] != none {
                weights[at] = add(weights[at], weights[other]);
                weights[other] = none;
            }
        }
    }
    for (index, weight) in indices.iter_mut().zip(weights) {
        if *weight == none {
            *index = 0;
        }
    }
}

/// Weights as shares of their sum.
fn shares(weights: impl Iterator<Item = [f32; 4]>, outcome: &mut Outcome) -> Vec<[f32; 4]> {
    let mut changed = 0;
    let shares = weights.map(|weights| {
        let sum: f32 = weights.iter().sum();
        if sum == 1.0 {
            return weights;
        }
        changed += 1;
        weights.map(|weight| weight / sum)
    });
    let shares = shares.collect();
    outcome.change("weights, now shares of the sum of their vertex", changed);
    shares
}

/// Replaces joints that are not there but have a weight; `false` if that is not possible.
fn check_joints(
    view: &MeshView,
    indices: &mut [[u16; 4]],
    weights: &[[f32; 4]],
    (joints, beyond): (u16, Beyond),
    outcome: &mut Outcome,
) -> bool {
    let mut clamped = 0;
    for (vertex, (of, weights)) in indices.iter_mut().zip(weights).enumerate() {
        let is_wrong =
            |(joint, weight): (&u16, &f32)| *joint >= joints && *weight > 0.0 && weight.is_finite();
        if !of.iter().zip(weights).any(is_wrong) {
            continue;
        }
        if beyond == Beyond::LeaveOut {
            let mesh = view.address();
            outcome.lacks(format!(
                "the weights of {mesh}: {mesh}.joints[{vertex}] is {of:?}, where there are {joints} joints"
            ));
            return false;
        }
        for (joint, weight) in of.iter_mut().zip(weights) {
            if is_wrong((joint, weight)) {
                *joint = joints.saturating_sub(1);
                clamped += 1;
            }
        }
    }
    outcome.change("joints that are not there, now the last joint", clamped);
    true
}
