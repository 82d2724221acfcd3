//! Directories by their paths. The handle of an open directory keeps others from renaming or removing it, so that its path leads to
//! nothing else; links (also junctions) are refused when a directory is opened.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use winapi_util::file::information;

use super::{Access, Entry, Identity, Kind};
use crate::stamp::Stamp;

#[derive(Debug)]
pub(super) struct Directory {
    /// Absolute, so that the standard library also takes a long one.
    path: PathBuf,
    handle: File,
}

/// Directories have no locks here.
#[derive(Debug)]
pub(crate) struct Lock;

/// A directory is opened like a file with this flag.
const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
/// A link is opened itself.
const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
const FILE_READ_ATTRIBUTES: u32 = 0x80;
const FILE_SHARE_READ: u32 = 1;
const FILE_SHARE_WRITE: u32 = 2;

impl Directory {
    /// Opens a directory that the user named. Links on the way are followed.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Self::open_with(std::path::absolute(path)?, FILE_FLAG_BACKUP_SEMANTICS)
    }

    /// Opens a directory in this one; a link is an error.
    pub(super) fn open_below(&self, name: &OsStr) -> io::Result<Self> {
        Self::open_with(
            self.path.join(name),
            FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT,
        )
    }

    fn open_with(path: PathBuf, flags: u32) -> io::Result<Self> {
        let mut options = File::options();
        options
            .read(true)
            .share_mode(FILE_SHARE_READ | FILE_SHARE_WRITE)
            .custom_flags(flags);
        let handle = options.open(&path)?;
        // False for a link that was opened itself.
        match handle.metadata()?.is_dir() {
            true => Ok(Self { path, handle }),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    pub(super) fn make_below(&self, name: &OsStr) -> io::Result<()> {
        fs::create_dir(self.path.join(name))
    }

    /// Creates a file that does not exist yet.
    pub(super) fn create_new(&self, name: &OsStr) -> io::Result<File> {
        File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(self.path.join(name))
    }

    /// Opens a file of any kind; a link is opened itself.
    pub(super) fn open_file(&self, name: &OsStr, access: Access) -> io::Result<File> {
        let mut options = File::options();
        match access {
            Access::Read => options.read(true),
            Access::Append => options.append(true).create(true),
            Access::Write => options.write(true).create(true).truncate(false),
            Access::Lock => options.write(true),
        };
        options
            .custom_flags(FILE_FLAG_OPEN_REPARSE_POINT)
            .open(self.path.join(name))
    }

    /// The file of this name; links are not followed.
    pub(super) fn entry(&self, name: &OsStr) -> io::Result<Entry> {
        let path = self.path.join(name);
        let metadata = fs::symlink_metadata(&path)?;
        let kind = match metadata.file_type() {
            kind if kind.is_file() => Kind::File,
            kind if kind.is_dir() => Kind::Directory,
            kind if kind.is_symlink() => Kind::Link,
            _ => Kind::Other,
        };
        let stamp = Stamp::of_metadata(&metadata).ok_or(io::ErrorKind::Unsupported)?;
        Ok(Entry { kind, stamp })
    }

    /// The identity of the file of this name; a link is opened itself.
    pub(super) fn identity_below(&self, name: &OsStr) -> io::Result<Identity> {
        let mut options = File::options();
        // Attributes can be read of a file that another program has open.
        options
            .access_mode(FILE_READ_ATTRIBUTES)
            .custom_flags(FILE_FLAG_OPEN_REPARSE_POINT);
        identity_of(&options.open(self.path.join(name))?)
    }

    pub(super) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    pub(super) fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    pub(super) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_dir(self.path.join(name))
    }

    pub(super) fn names(&self) -> io::Result<Vec<OsString>> {
        fs::read_dir(&self.path)?
            .map(|entry| Ok(entry?.file_name()))
            .collect()
    }

    /// Names need no further step here.
    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn identity(&self) -> io::Result<Identity> {
        identity_of(&self.handle)
    }

    pub(super) fn open_lock(&self) -> io::Result<Lock> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Lock {
    pub(super) fn take(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

pub(super) fn identity_of(file: &File) -> io::Result<Identity> {
    // Files of one directory are compared, and Wine does not know the volume of a file that was renamed.
    Ok(Identity {
        device: 0,
        file: information(file)?.file_index(),
    })
}

pub(super) fn links_of(file: &File) -> io::Result<u64> {
    Ok(information(file)?.number_of_links())
}
