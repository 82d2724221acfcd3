//! The outcome of a job.

use meshmap::{Error, ErrorKind};

use crate::failure::Failure;

/// The result of a job: JSON, and arrays of bytes, which the JSON describes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// A JSON object.
    pub json: String,
    /// Little-endian numbers.
    pub arrays: Vec<Vec<u8>>,
}

impl From<String> for Reply {
    fn from(json: String) -> Self {
        Self {
            json,
            arrays: Vec::new(),
        }
    }
}

/// The reason why a job ends early.
pub(crate) enum Stop {
    /// An error of the library, which may be missing bytes.
    Read(Error),
    /// Another failure.
    Failed(Failure),
}

impl Stop {
    pub(crate) fn lacks_bytes(&self) -> bool {
        match self {
            Self::Read(error) => matches!(error.kind(), ErrorKind::NeedBytes(_)),
            Self::Failed(_) => false,
        }
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Read(error)
    }
}

impl From<meshmap_scene::Error> for Stop {
    fn from(error: meshmap_scene::Error) -> Self {
        match error {
            meshmap_scene::Error::Read(error) => Self::Read(error),
            other => Self::Failed(Failure::from(other)),
        }
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// The outcome of a job.
pub(crate) type Job<T> = Result<T, Stop>;

/// Adds numbers to an array.
pub(crate) fn add_floats(array: &mut Vec<u8>, numbers: &[f32]) {
    for number in numbers {
        array.extend_from_slice(&number.to_le_bytes());
    }
}
