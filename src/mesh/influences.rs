//! The joints that move vertices, as programs draw them.

use super::semantic::Semantic;
use super::view::MeshView;
use crate::format::Format;
use crate::num::as_u64;
use crate::report::Result;

/// The joints that move each vertex and their shares, as programs draw them: four a vertex, which have the sum 1.
///
/// Made by [`MeshView::influences`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Influences {
    /// The joints of each vertex, the same joint once. Without a share, 0.
    pub joints: Vec<[u16; 4]>,
    /// The shares of these joints, in the same order.
    pub weights: Vec<[f32; 4]>,
    /// The number of vertices that no joint moves. They follow the joint after the last one, which rests.
    pub resting: u64,
    /// The number of vertices whose weights are scaled to the sum 1.
    pub scaled: u64,
    /// The number of weights that are NaN or infinite, and count as 0.
    pub not_finite: u64,
    /// The number of weights of joints that do not exist, which no joint has.
    pub beyond: u64,
    /// The number of weights of joints that do not exist, which the last joint has: in a Second Life mesh.
    pub clamped: u64,
    /// The number of weights that are left out, because a vertex has more than four joints.
    pub dropped: u64,
}

/// The most joints that move a vertex.
const MOST: usize = 4;

/// The most components of a stored vertex that are read. No writer stores more than eight.
const LANES: usize = 16;

impl MeshView {
    /// The joints of each vertex as programs draw them, of a skeleton of `joint_count` joints; `None` if the mesh has no joints
    /// or no weights.
    ///
    /// Files have weights in many forms, and shaders draw all of them differently: a vertex without weights becomes the origin,
    /// and a vertex whose weights have the sum 1/2 is drawn half way to the origin. These rules give one form that each program draws alike:
    ///
    /// * Weights that are negative, NaN or infinite count as 0. Weights of the same joint are added.
    /// * A joint that does not exist is the last one in a Second Life mesh, as in the viewer. In other files it moves nothing.
    /// * Of more than four joints, those with the greatest weights stay; of equal ones, the first.
    /// * Weights are scaled to the sum 1, as glTF asks and the viewer of Second Life does.
    /// * A vertex without weights follows the joint `joint_count`, which the caller adds if [`Influences::resting`] is not 0: it
    ///   rests, so that the vertex keeps its stored place, in the bind shape.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`attribute`](Self::attribute), and [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if the limits
    /// leave no memory.
    pub fn influences(&self, joint_count: u16) -> Result<Option<Influences>> {
        let (joints, weights) = (
            self.attribute(&Semantic::Joints(0))?,
            self.attribute(&Semantic::Weights(0))?,
        );
        let (Some(joints), Some(weights)) = (joints, weights) else {
            return Ok(None);
        };
        let memory = as_u64(self.vertex_count()).saturating_mul(24);
        let taken = self
            .meter()
            .take(memory, "influences of vertices")
            .map(drop);
        taken.map_err(|error| self.place().locate(error))?;
        let clamps = self.place().format == Format::SlMesh;
        let mut out = Influences::default();
        out.joints.reserve_exact(self.vertex_count());
        out.weights.reserve_exact(self.vertex_count());
        // Components that are not stored are 0.
        for (joints, weights) in joints.iter_f32::<LANES>().zip(weights.iter_f32::<LANES>()) {
            out.add(&joints, &weights, joint_count, clamps);
        }
        Ok(Some(out))
    }
}

impl Influences {
    /// Adds a vertex.
    fn add(&mut self, joints: &[f32], weights: &[f32], joint_count: u16, clamps: bool) {
        let mut all = [(0_u16, 0.0_f64); LANES];
        let mut used = 0;
        for (joint, weight) in joints.iter().zip(weights) {
            self.not_finite = self
                .not_finite
                .saturating_add(u64::from(!weight.is_finite()));
            if !(weight.is_finite() && *weight > 0.0) {
                continue;
            }
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "saturates"
            )]
            let mut joint = *joint as u16;
            if joint >= joint_count {
                let last = joint_count.checked_sub(1).filter(|_| clamps);
                let count = if last.is_some() {
                    &mut self.clamped
                } else {
                    &mut self.beyond
                };
                *count = count.saturating_add(1);
                let Some(last) = last else { continue };
                joint = last;
            }
            let known = all.iter_mut().take(used).find(|(other, _)| *other == joint);
            if let Some((_, sum)) = known {
                *sum += f64::from(*weight);
            } else if let Some(free) = all.get_mut(used) {
                *free = (joint, f64::from(*weight));
                used = used.saturating_add(1);
            }
        }
        if used > MOST {
            // An insertion sort keeps the order of equal weights, and adds little to the modules for browsers.
            for end in 1..used {
                for at in (1..=end).rev() {
                    let before = at.saturating_sub(1);
                    match all.get(before..=at) {
                        Some([(_, a), (_, b)]) if a < b => all.swap(before, at),
                        _ => break,
                    }
                }
            }
            self.dropped = self
                .dropped
                .saturating_add(as_u64(used.saturating_sub(MOST)));
        }
        let mut four = [(joint_count, 0.0); MOST];
        four.iter_mut().zip(all).for_each(|(to, from)| *to = from);
        let sum: f64 = four.iter().map(|(_, weight)| weight).sum();
        if used == 0 {
            self.resting = self.resting.saturating_add(1);
            four = [(joint_count, 1.0), (0, 0.0), (0, 0.0), (0, 0.0)];
        } else if (sum - 1.0).abs() > f64::from(f32::EPSILON) {
            self.scaled = self.scaled.saturating_add(1);
            four.iter_mut().for_each(|(_, weight)| *weight /= sum);
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the nearest float is meant"
        )]
        let four = four.map(|(joint, weight)| (joint, weight as f32));
        self.joints
            .push(four.map(|(joint, weight)| if weight > 0.0 { joint } else { 0 }));
        self.weights.push(four.map(|(_, weight)| weight));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one<const N: usize>(
        joints: [f32; N],
        weights: [f32; N],
        count: u16,
        clamps: bool,
    ) -> Influences {
        let mut out = Influences::default();
        out.add(&joints, &weights, count, clamps);
        out
    }

    #[test]
    fn vertices_have_four_joints_with_the_sum_1() {
        let out = one([3., 1., 3., 0.], [0.25, 0.5, 0.25, 0.], 4, false);
        assert_eq!(
            (out.joints[0], out.weights[0]),
            ([3, 1, 0, 0], [0.5, 0.5, 0., 0.])
        );
        assert_eq!((out.scaled, out.resting, out.beyond), (0, 0, 0));
        let out = one(
            [2., 1., 2., 0.],
            [f32::MAX, f32::MAX, f32::MAX, f32::NAN],
            4,
            false,
        );
        assert_eq!(
            (out.joints[0], out.weights[0]),
            ([2, 1, 0, 0], [2. / 3., 1. / 3., 0., 0.])
        );
        assert_eq!((out.scaled, out.not_finite), (1, 1));
        // The greatest stay, of equal ones the first.
        let out = one(
            [0., 1., 2., 3., 4., 5., 6., 7.],
            [1., 2., 1., 2., 1., 2., 1., 0.],
            8,
            false,
        );
        assert_eq!(
            (out.joints[0], out.weights[0]),
            ([1, 3, 5, 0], [2. / 7., 2. / 7., 2. / 7., 1. / 7.])
        );
        assert_eq!((out.dropped, out.scaled), (3, 1));
    }

    #[test]
    fn bytes_with_the_sum_255_stay() {
        for bytes in [
            [85_u8, 85, 85, 0],
            [1, 2, 3, 249],
            [127, 64, 63, 1],
            [254, 1, 0, 0],
            [61, 67, 71, 56],
        ] {
            let weights = bytes.map(|byte| f32::from(byte) / 255.0);
            let out = one([0., 1., 2., 3.], weights, 4, false);
            assert_eq!((out.weights[0], out.scaled), (weights, 0), "{bytes:?}");
        }
    }

    #[test]
    fn vertices_without_joints_rest() {
        for weights in [[0.0; 4], [f32::NAN; 4], [-1.0; 4]] {
            let out = one([1.; 4], weights, 2, false);
            assert_eq!(
                (out.joints[0], out.weights[0], out.resting),
                ([2, 0, 0, 0], [1., 0., 0., 0.], 1)
            );
        }
    }

    #[test]
    fn joints_that_do_not_exist_are_the_last_or_none() {
        let (joints, weights) = ([9., 0., 1e9, 0.], [0.5, 0.25, 0.25, 0.]);
        let out = one(joints, weights, 3, true);
        assert_eq!(
            (out.joints[0], out.weights[0], out.clamped),
            ([2, 0, 0, 0], [0.75, 0.25, 0., 0.], 2)
        );
        let out = one(joints, weights, 3, false);
        assert_eq!((out.joints[0], out.weights[0]), ([0; 4], [1., 0., 0., 0.]));
        assert_eq!((out.beyond, out.scaled, out.resting), (2, 1, 0));
        assert_eq!(one(joints, weights, 0, true).resting, 1);
    }
}
