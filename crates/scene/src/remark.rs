use meshmap::{Address, Text};

/// A part of the file that cannot be used as it is stored.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Remark {
    /// A mesh without positions.
    NoPositions(Address),
    /// The bind shape of a skin that cannot be decoded.
    UndecodableBindShape,
    /// The bind shape of a skin, which has this number.
    NonFiniteBindShape(f32),
    /// The bind shape of a skin is a mirror image, so that triangles may look inside out.
    MirroringBindShape,
    /// A skin that cannot be decoded.
    UndecodableSkin,
    /// A skin without joints or without matrices.
    IncompleteSkin,
    /// A skin whose numbers of joints and matrices differ.
    UnequalSkin {
        /// The number of joints.
        joints: usize,
        /// The number of matrices.
        matrices: usize,
    },
    /// Joints whose matrix is sheared or has no inverse: they keep the mesh in the bind pose.
    ReplacedJoints(Vec<Text>),
    /// A skeleton with a joint that has this number.
    NonFiniteJoint {
        /// The index of the joint.
        joint: usize,
        /// The number.
        value: f32,
    },
    /// Animations of another number of joints than the skeleton has.
    ClipsOfOtherJoints {
        /// The number of poses of each frame.
        poses: usize,
        /// The number of joints.
        joints: usize,
    },
    /// An animation without frames.
    EmptyClip(Text),
    /// Joints of the file that the animations of another file do not move.
    RestingJoints {
        /// The name of the other file.
        name: String,
        /// The names of the joints.
        joints: Vec<Text>,
    },
}
