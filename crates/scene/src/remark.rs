use std::fmt;

use meshmap::{Address, Text};

use crate::fact::beginning_of_text;

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

/// One line for people, without the name of the file.
impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPositions(address) => write!(f, "{address} is left out: it has no positions"),
            Self::UndecodableBindShape => {
                write!(f, "the bind shape is left out: the skin cannot be decoded")
            }
            Self::NonFiniteBindShape(number) => {
                write!(
                    f,
                    "the bind shape is left out: one of its numbers is {number}"
                )
            }
            Self::MirroringBindShape => write!(
                f,
                "the bind shape is a mirror image: triangles may look inside out"
            ),
            Self::UndecodableSkin => {
                write!(f, "the joints are left out: the skin cannot be decoded")
            }
            Self::IncompleteSkin => write!(
                f,
                "the joints are left out: the skin has no joints or no matrices"
            ),
            Self::UnequalSkin { joints, matrices } => write!(
                f,
                "the joints are left out: the skin has {joints} joints and {matrices} matrices"
            ),
            Self::ReplacedJoints(joints) => {
                write!(f, "the mesh rests in the bind pose at ")?;
                write_names(f, joints)?;
                write!(f, ": the stored matrices are sheared or have no inverse")
            }
            Self::NonFiniteJoint { joint, value } => write!(
                f,
                "the skeleton is left out: one of the numbers of joints[{joint}] is {value}"
            ),
            Self::ClipsOfOtherJoints { poses, joints } => write!(
                f,
                "the animations are left out: their frames have {poses} poses, where the skeleton has {joints} joints"
            ),
            Self::EmptyClip(name) => write!(
                f,
                "the animation {} is left out: it has no frames",
                beginning_of_text(name)
            ),
            Self::RestingJoints { name, joints } => {
                write!(f, "the animations of {name} do not move ")?;
                write_names(f, joints)
            }
        }
    }
}

/// Writes the number of joints, and the names of the first of them.
fn write_names(f: &mut fmt::Formatter<'_>, joints: &[Text]) -> fmt::Result {
    const MOST: usize = 8;
    let names: Vec<_> = joints.iter().take(MOST).map(beginning_of_text).collect();
    let more = if joints.len() > MOST { ", .." } else { "" };
    write!(f, "{} joints ({}{more})", joints.len(), names.join(", "))
}
