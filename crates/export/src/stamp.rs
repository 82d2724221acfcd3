//! Size and time of files, by which a changed file is recognized.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

/// A path, which may be relative to a directory that is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Name {
    /// With slashes between its parts, on each system.
    Text(String),
    /// A path that is not Unicode.
    Other(OsString),
}

impl AsRef<Path> for Name {
    fn as_ref(&self) -> &Path {
        match self {
            Self::Text(text) => text.as_ref(),
            Self::Other(path) => path.as_ref(),
        }
    }
}

impl Name {
    pub(crate) fn of(path: &Path) -> Self {
        path.to_str().map_or_else(|| Self::Other(path.into()), |text| Self::Text(text.to_owned()))
    }
}

/// The size and the time of a file. A file that is replaced gets another stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub(crate) bytes: u64,
    /// Nanoseconds since 1970.
    pub(crate) modified: i64,
}

impl Stamp {
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        let modified = metadata.modified().ok()?;
        let modified = match modified.duration_since(UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_nanos()).ok()?,
            Err(before) => -i64::try_from(before.duration().as_nanos()).ok()?,
        };
        Some(Self { bytes: metadata.len(), modified })
    }
}

/// The images that a conversion looked for.
///
/// A text of serde holds all that is needed to look for them again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Textures {
    /// The target, which holds some kinds of images.
    pub(crate) target: String,
    pub(crate) folders: Vec<Name>,
    /// The folder of the output, from which it refers to images.
    pub(crate) output: Option<Name>,
    /// Each name, and the image that was found for it.
    pub(crate) images: Vec<(String, Option<Found>)>,
}

/// An image that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Found {
    pub(crate) file: Name,
    #[serde(flatten)]
    pub(crate) stamp: Stamp,
    pub(crate) is_used: bool,
}

impl Textures {
    /// Returns `true` if no image was looked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.images.is_empty()
    }

    /// The images that the output refers to: the name in the file that was read, and the path of the image.
    pub fn found(&self) -> impl Iterator<Item = (&str, PathBuf)> {
        let found = self.images.iter().filter_map(|(name, found)| Some((name, found.as_ref()?)));
        found
            .filter(|(_, found)| found.is_used)
            .map(|(name, found)| (name.as_str(), found.file.as_ref().to_owned()))
    }
}
