//! The outcome of a job.

use meshmap::Error;

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

/// The failures of a job: errors of the library, which may be missing bytes, and refusals of this crate.
pub(crate) type Job<T> = Result<Result<T, Failure>, Error>;
