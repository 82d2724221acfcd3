//! Directories by their descriptors, so that a directory that is replaced by a link meanwhile leads nowhere else.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, RawMode, flock, fstat, fsync, mkdirat,
    open, openat, renameat, statat, unlinkat,
};

use super::{Access, Entry, Identity, Kind};
use crate::stamp::Stamp;

#[derive(Debug)]
pub(super) struct Directory(OwnedFd);

/// A lock on a directory, until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock(OwnedFd);

const LIST_DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// A directory that may not be listed can still be written to. Only Linux has a mode for it.
#[cfg(any(target_os = "linux", target_os = "android"))]
const OPEN_DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const OPEN_DIRECTORY: OFlags = LIST_DIRECTORY;

/// Links are not followed, and no pipe without a reader is waited for.
const OPEN_FILE: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

/// The access that a new file or folder allows: the mask of the process takes some of it away.
const NEW_FILE: Mode = Mode::from_raw_mode(0o666);
const NEW_FOLDER: Mode = Mode::from_raw_mode(0o777);

impl Directory {
    /// Opens a directory that the user named. Links on the way are followed.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(open(path, OPEN_DIRECTORY, Mode::empty())?))
    }

    /// Opens a directory in this one; a link is an error.
    pub(super) fn open_below(&self, name: &OsStr) -> io::Result<Self> {
        Ok(Self(openat(
            &self.0,
            name,
            OPEN_DIRECTORY | OFlags::NOFOLLOW,
            Mode::empty(),
        )?))
    }

    pub(super) fn make_below(&self, name: &OsStr) -> io::Result<()> {
        Ok(mkdirat(&self.0, name, NEW_FOLDER)?)
    }

    /// Creates a file that does not exist yet.
    pub(super) fn create_new(&self, name: &OsStr) -> io::Result<File> {
        let flags = OPEN_FILE | OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        Ok(openat(&self.0, name, flags, NEW_FILE)?.into())
    }

    /// Opens a file of any kind, except for a link.
    pub(super) fn open_file(&self, name: &OsStr, access: Access) -> io::Result<File> {
        let flags = match access {
            Access::Read => OFlags::RDONLY,
            Access::Append => OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE,
            Access::Write => OFlags::WRONLY | OFlags::CREATE,
            Access::Lock => OFlags::WRONLY,
        };
        Ok(openat(&self.0, name, OPEN_FILE | flags, NEW_FILE)?.into())
    }

    /// The file of this name; links are not followed.
    pub(super) fn entry(&self, name: &OsStr) -> io::Result<Entry> {
        let stat = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let kind = match FileType::from_raw_mode(stat.st_mode as RawMode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Directory,
            FileType::Symlink => Kind::Link,
            _ => Kind::Other,
        };
        #[allow(clippy::useless_conversion, reason = "other types on other systems")]
        let (seconds, nanoseconds) = (i64::from(stat.st_mtime), stat.st_mtime_nsec as i64);
        let modified = seconds
            .saturating_mul(1_000_000_000)
            .saturating_add(nanoseconds);
        let stamp = Stamp {
            bytes: stat.st_size as u64,
            modified,
            file: None,
        };
        Ok(Entry {
            kind,
            stamp: stamp.with_file(stat.st_ino as u64),
        })
    }

    /// The identity of the file of this name; links are not followed.
    pub(super) fn identity_below(&self, name: &OsStr) -> io::Result<Identity> {
        let stat = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Identity {
            device: stat.st_dev as u64,
            file: stat.st_ino as u64,
        })
    }

    pub(super) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.0, from, &self.0, to)?)
    }

    pub(super) fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, AtFlags::empty())?)
    }

    pub(super) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }

    pub(super) fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(self.list()?)? {
            names.push(OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned());
        }
        Ok(names)
    }

    /// Brings the names in the directory to the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(fsync(self.list()?)?)
    }

    pub(super) fn identity(&self) -> io::Result<Identity> {
        let stat = fstat(&self.0)?;
        Ok(Identity {
            device: stat.st_dev as u64,
            file: stat.st_ino as u64,
        })
    }

    /// Opens the directory for a lock: threads that share a descriptor also share its lock.
    pub(super) fn open_lock(&self) -> io::Result<Lock> {
        Ok(Lock(self.list()?))
    }

    /// Opens the directory again, to list it.
    fn list(&self) -> io::Result<OwnedFd> {
        Ok(openat(&self.0, ".", LIST_DIRECTORY, Mode::empty())?)
    }
}

impl Lock {
    /// Takes the lock if nobody has it. `WouldBlock` if somebody has; other errors if the file system has no locks of directories.
    pub(super) fn take(&self) -> io::Result<()> {
        Ok(flock(&self.0, FlockOperation::NonBlockingLockExclusive)?)
    }
}

pub(super) fn identity_of(file: &File) -> io::Result<Identity> {
    let metadata = file.metadata()?;
    Ok(Identity {
        device: metadata.dev(),
        file: metadata.ino(),
    })
}

pub(super) fn links_of(file: &File) -> io::Result<u64> {
    Ok(file.metadata()?.nlink())
}
