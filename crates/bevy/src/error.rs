//! The error of a load.

use std::path::PathBuf;

/// The error of a load.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeshmapError {
    /// The library's error, which names the format, the structure, the bytes, and what was expected and found.
    #[error(transparent)]
    File(#[from] meshmap::Error),
    /// The asset source cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A part that breaks a rule of its format which the library leaves to `validate`.
    #[error("{0}")]
    Damaged(String),
    /// A valid part that Bevy cannot use. It is always left out with a warning.
    #[error("{0}")]
    Unusable(String),
    /// The file is larger than the plugin reads whole.
    #[error(
        "{}: the file is larger than {max_whole} bytes, the most that is read whole; pass the folder of the assets to \
         MeshmapPlugin::with_folder, so that the file is opened by path, or raise MeshmapPlugin::max_whole",
        path.display()
    )]
    TooLarge {
        /// The path within the asset source.
        path: PathBuf,
        /// The limit.
        max_whole: usize,
    },
}

impl From<meshmap_scene::Error> for MeshmapError {
    fn from(error: meshmap_scene::Error) -> Self {
        match error {
            meshmap_scene::Error::Read(error) => Self::File(error),
            other => Self::Unusable(other.to_string()),
        }
    }
}
