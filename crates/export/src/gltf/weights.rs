//! Joints and weights of vertices, as glTF wants them: no joint twice, none without weight, and a sum of 1.

use meshmap::{Address, MeshView, Semantic, VertexFormat};

use crate::budget::Budget;
use crate::error::Result;
use crate::outcome::Outcome;

/// The joints of each vertex, and their weights.
pub(super) struct Influences {
    pub(super) joints: Vec<[u16; 4]>,
    pub(super) weights: Weights,
}

pub(super) enum Weights {
    /// Shares of 255.
    Bytes(Vec<[u8; 4]>),
    Floats(Vec<[f32; 4]>),
}

/// The influences of a mesh; `None` if it has none, or has joints that are not there.
pub(super) fn of_view(
    view: &MeshView,
    joints: usize,
    budget: &Budget,
    outcome: &mut Outcome,
) -> Result<Option<Influences>> {
    let (semantic, weight) = (Semantic::Joints(0), Semantic::Weights(0));
    let (Some(indices), Some(weights)) = (view.attribute(&semantic)?, view.attribute(&weight)?) else {
        return Ok(None);
    };
    let format = weights.format();
    budget.charge_for::<([f32; 4], [u16; 4], [f32; 4], [f32; 4])>(weights.len(), "joints and weights")?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and is checked")]
    let mut indices: Vec<[u16; 4]> =
        indices.to_f32::<4>().iter().map(|indices| indices.map(|index| index as u16)).collect();
    let merged = if format == VertexFormat::UNORM8X4 {
        let mut bytes = weights.as_bytes().as_chunks::<4>().0.to_vec();
        let mut empty = 0;
        for (indices, weights) in indices.iter_mut().zip(&mut bytes) {
            merge(indices, weights, |a, b| a.saturating_add(b));
            if *weights == [0; 4] {
                (*indices, *weights) = ([0; 4], [255, 0, 0, 0]);
                empty += 1;
            }
        }
        outcome.change("vertices without weights, now on joint 0", empty);
        let is_whole =
            |weights: &[u8; 4]| weights.iter().map(|weight| u16::from(*weight)).sum::<u16>() == 255;
        if bytes.iter().all(is_whole) {
            Weights::Bytes(bytes)
        } else {
            Weights::Floats(shares(bytes.iter().map(|weights| weights.map(f32::from)), outcome))
        }
    } else {
        let mut floats = weights.to_f32::<4>();
        let mut empty = 0;
        for (indices, weights) in indices.iter_mut().zip(&mut floats) {
            for weight in weights.iter_mut() {
                *weight = if weight.is_finite() { weight.max(0.0) } else { 0.0 };
            }
            merge(indices, weights, |a, b| a + b);
            if *weights == [0.0; 4] {
                (*indices, *weights) = ([0; 4], [1.0, 0.0, 0.0, 0.0]);
                empty += 1;
            }
        }
        outcome.change("vertices without weights, now on joint 0", empty);
        Weights::Floats(shares(floats.into_iter(), outcome))
    };
    if let Some(wrong) = without_joint(view.address(), &indices, joints) {
        outcome.leave_out(format!("the weights of {}: {wrong}", view.address()));
        return Ok(None);
    }
    Ok(Some(Influences { joints: indices, weights: merged }))
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

/// The first vertex with a joint that is not there.
fn without_joint(mesh: &Address, indices: &[[u16; 4]], joints: usize) -> Option<String> {
    let wrong = indices.iter().position(|of| of.iter().any(|index| usize::from(*index) >= joints))?;
    let of = indices.get(wrong).copied().unwrap_or_default();
    Some(format!("{mesh}.joints[{wrong}] is {of:?}, where there are {joints} joints"))
}
