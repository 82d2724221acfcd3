use meshmap::ErrorKind;

/// The reason why a question about a file has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The mesh file cannot be read.
    #[error(transparent)]
    Read(#[from] meshmap::Error),
    /// The animations of another file are for other joints.
    #[error("the animations of {name}: {error}")]
    OtherJoints {
        /// The name of the other file.
        name: String,
        /// The difference between the joints.
        error: meshmap::Error,
    },
    /// A frame is asked for, and the model has no joints.
    #[error("the model has no joints that frames move")]
    NoJoints,
    /// A frame is asked for, and frames have another number of poses than there are joints.
    #[error("the frames have {poses} poses, where the skeleton has {joints} joints")]
    PoseCount {
        /// The number of poses of a frame.
        poses: usize,
        /// The number of joints.
        joints: usize,
    },
    /// A frame cannot be expressed as a translation, a rotation and a scale of each joint.
    #[error(
        "poses[{joint}] has another parent than joints[{joint}], and its frames are sheared or singular relative to the parent \
         of the joint"
    )]
    Sheared {
        /// The index of the joint.
        joint: usize,
    },
    /// A clip has no frame of this number.
    #[error("no frame {frame}: the animation has {count}, counted from 0")]
    NoFrame {
        /// The frame that was asked for.
        frame: u32,
        /// The number of frames.
        count: u32,
    },
    /// The scene has no shape of this number.
    #[error("no shape {shape}: the scene has {count}, counted from 0")]
    NoShape {
        /// The index that was asked for.
        shape: usize,
        /// The number of shapes.
        count: usize,
    },
    /// The shape has no snapshot of this number.
    #[error("no snapshot {key}: the shape has {count}, counted from 0")]
    NoKey {
        /// The key that was asked for.
        key: usize,
        /// The number of keys.
        count: usize,
    },
}

impl Error {
    /// `true` if the error is one of a part of the file, so that other parts may be intact: not of the source, and no end of the job.
    #[must_use]
    pub fn is_of_a_part(&self) -> bool {
        match self {
            Self::Read(error) => is_of_a_part(error),
            _ => true,
        }
    }
}

/// `true` if an error is one of the part that is read, so that others may be intact: not of the source, and no end of the job.
pub(crate) fn is_of_a_part(error: &meshmap::Error) -> bool {
    !matches!(
        error.kind(),
        ErrorKind::NeedBytes(_) | ErrorKind::Cancelled | ErrorKind::Io(_)
    )
}

/// The result of a question about a scene.
pub type Result<T, E = Error> = std::result::Result<T, E>;
