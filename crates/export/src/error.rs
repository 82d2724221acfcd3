use std::io;

/// Why a file was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The mesh file cannot be read.
    #[error(transparent)]
    Read(#[from] meshmap::Error),
    /// The output cannot be written.
    #[error("cannot write: {0}")]
    Write(#[from] io::Error),
    /// The target cannot hold what the file has.
    #[error("{target}: {what}")]
    NotHeld {
        /// The name of the target.
        target: &'static str,
        /// What it cannot hold, and what else can be done.
        what: String,
    },
    /// A number of the file is infinite, or none, and may not be replaced.
    #[error("{address} is {value}, which files of this kind cannot hold; it can be replaced by 0")]
    NonFinite {
        /// Where the number is, such as `high_lod.faces[0].position[3]`.
        address: String,
        /// The number.
        value: f32,
    },
}

/// The result of a conversion.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Write(error.into())
    }
}
