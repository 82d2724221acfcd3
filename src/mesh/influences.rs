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

/// The maximum number of joints that move a vertex.
const MAX_JOINTS: usize = 4;

/// The maximum number of components of a stored vertex that are read. No writer stores more than eight.
const MAX_STORED: usize = 16;

impl MeshView {
    /// The joints of each vertex as programs draw them, of a skeleton of `joint_count` joints; `None` if the mesh has no joints
    /// or no weights.
    ///
    /// Files have weights in many forms, and shaders draw all of them differently: a vertex without weights becomes the
    /// origin, and a vertex whose weights have the sum 1/2 is drawn half way to the origin. These rules give one form that
    /// each program draws alike:
    ///
    /// * Weights that are negative, NaN or infinite count as 0. Weights of the same joint are added.
    /// * A joint that does not exist is the last one in a Second Life mesh, as in the viewer. In other files it moves nothing.
    /// * If there are more than four joints, the four largest weights stay; of equal weights, the first.
    /// * Weights are scaled to the sum 1, as glTF asks and the viewer of Second Life does.
    /// * A vertex without weights follows the joint `joint_count`, which the caller adds if [`Influences::resting`] is not 0: it
    ///   rests, so that the vertex keeps its stored position, in the bind shape.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`attribute`](Self::attribute), and [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if the limits
    /// leave no memory.
    pub fn influences(&self, joint_count: u16) -> Result<Option<Influences>> {
        let joints = self.attribute(&Semantic::Joints(0))?;
        let weights = self.attribute(&Semantic::Weights(0))?;
        let (Some(joints), Some(weights)) = (joints, weights) else {
            return Ok(None);
        };
        let memory = as_u64(self.vertex_count()).saturating_mul(24);
        self.check_memory(memory, "influences of vertices")?;
        let clamps = self.place().format == Format::SlMesh;
        let mut out = Influences::default();
        out.joints.reserve_exact(self.vertex_count());
        out.weights.reserve_exact(self.vertex_count());
        // Components that are not stored are 0.
        let joints = joints.iter_f32::<MAX_STORED>();
        let weights = weights.iter_f32::<MAX_STORED>();
        for (joints, weights) in joints.zip(weights) {
            out.add(&joints, &weights, joint_count, clamps);
        }
        Ok(Some(out))
    }
}

/// A joint that moves a vertex, and its weight.
#[derive(Clone, Copy, Default)]
struct Influence {
    joint: u16,
    weight: f64,
}

/// The influences of one vertex, each joint once.
#[derive(Default)]
struct VertexInfluences {
    list: [Influence; MAX_STORED],
    count: usize,
}

impl VertexInfluences {
    /// Adds to the weight of a joint.
    fn add(&mut self, joint: u16, weight: f64) {
        let mut used = self.list.iter_mut().take(self.count);
        if let Some(known) = used.find(|influence| influence.joint == joint) {
            known.weight += weight;
        } else if let Some(free) = self.list.get_mut(self.count) {
            *free = Influence { joint, weight };
            self.count = self.count.saturating_add(1);
        }
    }

    /// Sorts by weight, in descending order.
    ///
    /// An insertion sort keeps the order of equal weights, and adds little to the modules for browsers.
    fn sort(&mut self) {
        for end in 1..self.count {
            for index in (1..=end).rev() {
                let before = index.saturating_sub(1);
                match self.list.get(before..=index) {
                    Some([a, b]) if a.weight < b.weight => self.list.swap(before, index),
                    _ => break,
                }
            }
        }
    }
}

impl Influences {
    /// Adds a vertex.
    fn add(&mut self, joints: &[f32], weights: &[f32], joint_count: u16, clamps: bool) {
        let mut influences = VertexInfluences::default();
        for (joint, weight) in joints.iter().zip(weights) {
            if !weight.is_finite() {
                self.not_finite = self.not_finite.saturating_add(1);
                continue;
            }
            if *weight <= 0.0 {
                continue;
            }
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "saturates"
            )]
            let joint = *joint as u16;
            if let Some(joint) = self.existing_joint(joint, joint_count, clamps) {
                influences.add(joint, f64::from(*weight));
            }
        }
        if influences.count > MAX_JOINTS {
            influences.sort();
            let dropped = as_u64(influences.count.saturating_sub(MAX_JOINTS));
            self.dropped = self.dropped.saturating_add(dropped);
        }

        let mut four = [Influence::default(); MAX_JOINTS];
        for (to, from) in four.iter_mut().zip(influences.list) {
            *to = from;
        }
        let sum: f64 = four.iter().map(|influence| influence.weight).sum();
        if influences.count == 0 {
            self.resting = self.resting.saturating_add(1);
            if let Some(first) = four.first_mut() {
                *first = Influence {
                    joint: joint_count,
                    weight: 1.0,
                };
            }
        } else if (sum - 1.0).abs() > f64::from(f32::EPSILON) {
            self.scaled = self.scaled.saturating_add(1);
            for influence in &mut four {
                influence.weight /= sum;
            }
        }

        #[expect(
            clippy::cast_possible_truncation,
            reason = "the nearest float is meant"
        )]
        let weights = four.map(|influence| influence.weight as f32);
        let mut joints = four.map(|influence| influence.joint);
        for (joint, weight) in joints.iter_mut().zip(weights) {
            // A weight may be so small that it is rounded to 0.
            let is_used = weight > 0.0;
            if !is_used {
                *joint = 0;
            }
        }
        self.joints.push(joints);
        self.weights.push(weights);
    }

    /// The joint itself if it exists, or the last one if it `clamps`; otherwise `None`, and the weight is counted.
    fn existing_joint(&mut self, joint: u16, joint_count: u16, clamps: bool) -> Option<u16> {
        if joint < joint_count {
            return Some(joint);
        }
        match joint_count.checked_sub(1) {
            Some(last) if clamps => {
                self.clamped = self.clamped.saturating_add(1);
                Some(last)
            }
            _ => {
                self.beyond = self.beyond.saturating_add(1);
                None
            }
        }
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
        let joints = [9., 0., 1e9, 0.];
        let weights = [0.5, 0.25, 0.25, 0.];
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
