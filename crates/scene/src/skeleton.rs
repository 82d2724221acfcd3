//! Joints at rest.

use std::borrow::Cow;

use meshmap::Text;
use meshmap::iqm::Trs;

use crate::hierarchy;
use crate::matrix::{IDENTITY, invert, multiply, rounded, to_rows};
use crate::pose::Pose;

/// The joints that vertices follow, in the bind pose.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Skeleton {
    /// The joints, as vertices and animations count them. In a Second Life mesh, a parent may come after its children.
    pub joints: Vec<Joint>,
    /// The matrices that take a vertex in the bind pose into each joint, columns one after another.
    pub inverse_bind: Vec<[f64; 16]>,
    /// `true` if the joints are of use without a mesh, because animations move them.
    pub stands_alone: bool,
    /// The places of joints in the model's space, if the file stores those; otherwise none.
    pub(crate) places: Vec<[f32; 16]>,
}

impl Skeleton {
    /// The same joints as siblings: each has its place in the model's space, and no parent.
    #[must_use]
    pub fn flattened(mut self) -> Self {
        if self.places.is_empty() {
            self.places = self.bind_matrices().iter().map(rounded).collect();
        }
        for (joint, place) in self.joints.iter_mut().zip(&self.places) {
            joint.parent = None;
            joint.rest = Rest::of_matrix(*place);
        }
        self
    }

    /// Sets the inverse bind matrices to the joints at rest: no mesh is bound to them in another pose. A joint without a size keeps its place.
    pub(crate) fn bind_where_joints_rest(&mut self) {
        let places = self.bind_matrices();
        self.inverse_bind = places
            .iter()
            .map(|place| invert(place).unwrap_or(IDENTITY))
            .collect();
    }

    /// The pose of vertices whose joints have these matrices in the model's space, such as a [sample](crate::Clip::sample) of a clip.
    #[must_use]
    pub fn pose(&self, joints: &[[f64; 16]]) -> Pose {
        let mut matrices = Vec::with_capacity(joints.len());
        for (joint, inverse) in joints.iter().zip(&self.inverse_bind) {
            matrices.push(to_rows(&multiply(joint, inverse)));
        }
        Pose::Frame(matrices)
    }

    /// The matrix of each joint at rest in the model's space, columns one after another.
    #[must_use]
    pub fn bind_matrices(&self) -> Vec<[f64; 16]> {
        if !self.places.is_empty() {
            return self
                .places
                .iter()
                .map(|place| place.map(f64::from))
                .collect();
        }
        // The joints of an IQM file: a parent comes before its children.
        let mut bind: Vec<[f64; 16]> = Vec::with_capacity(self.joints.len());
        for joint in &self.joints {
            let relative = joint.rest.to_matrix();
            bind.push(hierarchy::in_model_space(&relative, joint.parent, &bind));
        }
        bind
    }
}

/// A joint in the bind pose.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Joint {
    pub(crate) name: JointName,
    /// The index of the parent; `None` for a root.
    pub parent: Option<usize>,
    /// The transform at rest, relative to the parent.
    pub rest: Rest,
}

impl Joint {
    /// The name, with U+FFFD in place of invalid UTF-8; `joint_3` for a joint of a file that stores no joints.
    #[must_use]
    pub fn name(&self) -> Cow<'_, str> {
        match &self.name {
            JointName::Stored(name) => name.to_string_lossy(),
            JointName::Numbered(number) => format!("joint_{number}").into(),
        }
    }
}

/// The name of a joint. Names of a file are not copied: thousands of joints may have one long name.
#[derive(Clone, Debug)]
pub(crate) enum JointName {
    Stored(Text),
    Numbered(usize),
}

/// A transform at rest.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Rest {
    /// The place of the parent.
    Origin,
    /// A matrix, columns one after another. No animation moves such a joint.
    Matrix([f32; 16]),
    /// A translation, a rotation and a scale, which an animation may replace.
    Trs(Trs),
}

impl Rest {
    pub(crate) fn of_matrix(matrix: [f32; 16]) -> Self {
        if matrix.map(f64::from) == IDENTITY {
            Self::Origin
        } else {
            Self::Matrix(matrix)
        }
    }

    /// The matrix, columns one after another.
    #[must_use]
    pub fn to_matrix(&self) -> [f64; 16] {
        match self {
            Self::Origin => IDENTITY,
            Self::Matrix(matrix) => matrix.map(f64::from),
            Self::Trs(trs) => hierarchy::matrix(trs),
        }
    }

    /// The translation, rotation and scale, if an animation can replace them.
    #[must_use]
    pub fn trs(&self) -> Option<Trs> {
        match self {
            Self::Trs(trs) => Some(*trs),
            Self::Origin | Self::Matrix(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_height(height: f32) -> [f32; 16] {
        let mut matrix = rounded(&IDENTITY);
        matrix[14] = height;
        matrix
    }

    #[test]
    fn joints_rest_in_their_places_if_a_parent_comes_after_its_child() {
        let joint = |number, parent, height| Joint {
            name: JointName::Numbered(number),
            parent,
            rest: Rest::of_matrix(at_height(height)),
        };
        let skeleton = Skeleton {
            joints: vec![joint(0, Some(1), 2.0), joint(1, None, 1.0)],
            inverse_bind: vec![IDENTITY; 2],
            stands_alone: false,
            places: vec![at_height(3.0), at_height(1.0)],
        };
        let heights = skeleton.bind_matrices().into_iter();
        assert_eq!(heights.map(|bind| bind[14]).collect::<Vec<_>>(), [3.0, 1.0]);
    }
}
