//! Size and time of files, by which a changed file is recognized, and paths as texts of a record.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A path in a record, which may be relative to a folder that is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RecordedPath {
    /// With slashes between its parts, on each system, if it is relative.
    Text(String),
    /// A path that is not Unicode.
    Other(OsString),
}

impl AsRef<Path> for RecordedPath {
    fn as_ref(&self) -> &Path {
        match self {
            Self::Text(text) => text.as_ref(),
            Self::Other(path) => path.as_ref(),
        }
    }
}

impl RecordedPath {
    /// A path as it is.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        path.to_str().map_or_else(
            || Self::Other(path.into()),
            |text| Self::Text(text.to_owned()),
        )
    }

    /// A relative path, in the same form on each system.
    #[must_use]
    pub fn of_relative(path: &Path) -> Self {
        let parts: Option<Vec<&str>> = path.iter().map(|part| part.to_str()).collect();
        match parts {
            Some(parts) => Self::Text(parts.join("/")),
            None => Self::Other(path.into()),
        }
    }
}

/// The size and the time of a file. A file that is replaced gets another stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// The number of bytes.
    pub bytes: u64,
    /// The time of the last change, in nanoseconds since 1970.
    pub modified: i64,
    /// The number of the file, if the file system has only milliseconds or seconds, in which several files of one size may be
    /// written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<u64>,
}

impl Stamp {
    /// The regular file at a path, whose links are followed. `None` for anything else.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        if metadata.is_file() {
            Self::of_metadata(&metadata)
        } else {
            None
        }
    }

    pub(crate) fn of_metadata(metadata: &Metadata) -> Option<Self> {
        let modified = metadata.modified().ok()?;
        let modified = match modified.duration_since(UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_nanos()).ok()?,
            Err(before) => -i64::try_from(before.duration().as_nanos()).ok()?,
        };
        Some(Self {
            bytes: metadata.len(),
            modified,
            file: None,
        })
    }

    /// `true` if the time has parts of a millisecond.
    pub(crate) fn is_precise(self) -> bool {
        self.modified % 1_000_000 != 0
    }

    /// Adds the number of the file, if it is needed.
    #[cfg(unix)]
    pub(crate) fn with_file(self, file: u64) -> Self {
        let file = (!self.is_precise()).then_some(file);
        Self { file, ..self }
    }

    /// Gives a complete file a stamp that no other file gets.
    ///
    /// Systems set the time of a change by a clock that stands still for some milliseconds, in which two programs may write files of
    /// one size. The clock that is read here does not.
    pub(crate) fn set(file: &File) -> Option<Self> {
        // Some file systems have no such times.
        let _ = file.set_modified(SystemTime::now());
        let metadata = file.metadata().ok()?;
        #[cfg(unix)]
        return Some(
            Self::of_metadata(&metadata)?.with_file(std::os::unix::fs::MetadataExt::ino(&metadata)),
        );
        #[cfg(not(unix))]
        Self::of_metadata(&metadata)
    }
}

/// A file that was written. Two are equal if they have the same path and size.
#[derive(Clone, Debug)]
pub struct Written {
    /// The path of the file, as the user would name it.
    pub path: PathBuf,
    /// Its number of bytes.
    pub bytes: u64,
    /// The path below the folder of outputs.
    pub(crate) below: PathBuf,
    /// Size and time, by the handle that wrote the file. `None` if another process has replaced the file since then.
    pub(crate) stamp: Option<Stamp>,
}

impl PartialEq for Written {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.bytes == other.bytes
    }
}

impl Eq for Written {}

impl AsRef<Path> for Written {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}
