//! An open directory, below which no link is followed.

#[cfg(unix)]
#[path = "unix.rs"]
mod system;
#[cfg(windows)]
#[path = "windows.rs"]
mod system;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub(crate) use self::system::Lock;
use crate::stamp::Stamp;

/// An open directory.
#[derive(Debug)]
pub(crate) struct Folder {
    directory: system::Directory,
    /// The path that the user knows, for messages.
    path: PathBuf,
    /// `true` once a lock was waited for in vain.
    is_locked_by_others: AtomicBool,
}

/// Identifies a file as long as it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Identity {
    device: u64,
    file: u64,
}

/// A name in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    pub(crate) stamp: Stamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Directory,
    Link,
    /// A pipe, a socket or a device.
    Other,
}

/// The use of a file that is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    /// Creates the file if there is none, and appends to it. A file with a second name is refused.
    Append,
    /// Creates the file if there is none, and writes from its start.
    Write,
    /// Takes the lock of a file that exists.
    Lock,
}

impl Folder {
    /// Opens a directory that the user named, which may be a link.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let directory = system::Directory::open(or_current(path))?;
        Ok(Self {
            directory,
            path: path.to_owned(),
            is_locked_by_others: AtomicBool::new(false),
        })
    }

    /// Opens a directory in this one, and creates it before if `creates`.
    pub(crate) fn open_below(&self, name: &OsStr, creates: bool) -> io::Result<Self> {
        let path = self.path.join(name);
        let directory = match self.directory.open_below(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && creates => {
                self.make_below(name)?;
                self.directory.open_below(name)
            }
            opened => opened,
        };
        let directory = directory.map_err(|error| self.not_a_folder(name, error))?;
        Ok(Self {
            directory,
            path,
            is_locked_by_others: AtomicBool::new(false),
        })
    }

    /// Creates a directory, unless another process just did.
    fn make_below(&self, name: &OsStr) -> io::Result<()> {
        match self.directory.make_below(name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made,
        }
    }

    /// The error of a name that cannot be opened as a directory, which says what to do about a link.
    fn not_a_folder(&self, name: &OsStr, error: io::Error) -> io::Error {
        let path = self.path.join(name);
        let why = match self.kind_of(name) {
            Some(Kind::Link) => {
                "a link to another folder, which is not followed: name that folder as the output, or remove the link"
            }
            Some(Kind::File | Kind::Other) => {
                "not a folder, so that nothing can be written below it"
            }
            Some(Kind::Directory) | None => return error,
        };
        io::Error::new(
            io::ErrorKind::NotADirectory,
            format!("{} is {why}", path.display()),
        )
    }

    /// The kind of the file of this name. `None` if there is none.
    pub(crate) fn kind_of(&self, name: &OsStr) -> Option<Kind> {
        Some(self.directory.entry(name).ok()?.kind)
    }

    /// Size and time of a regular file. `None` for anything else.
    pub(crate) fn stamp_of(&self, name: &OsStr) -> Option<Stamp> {
        let entry = self.directory.entry(name).ok()?;
        (entry.kind == Kind::File).then_some(entry.stamp)
    }

    /// Returns `true` if a name means this open file.
    pub(crate) fn has(&self, name: &OsStr, file: &File) -> bool {
        let there = self.directory.identity_below(name).ok();
        there.is_some() && there == system::identity_of(file).ok()
    }

    /// Creates a file that can be read and written, and did not exist before.
    pub(crate) fn create_new(&self, name: &OsStr) -> io::Result<File> {
        self.directory.create_new(name)
    }

    /// Returns an error if there is anything but a regular file of this name.
    pub(crate) fn check_regular(&self, name: &OsStr) -> io::Result<()> {
        match self.kind_of(name) {
            None | Some(Kind::File) => Ok(()),
            Some(Kind::Link) => Err(refused("a symbolic link")),
            Some(Kind::Directory) => Err(refused("a directory")),
            Some(Kind::Other) => Err(refused("a pipe, socket or device")),
        }
    }

    /// Opens a regular file. Links are not followed, and pipes and devices are not opened.
    pub(crate) fn open_regular(&self, name: &OsStr, access: Access) -> io::Result<File> {
        // Opening a device may have effects.
        self.check_regular(name)?;
        let file = self.directory.open_file(name, access)?;
        // Another process may have replaced it.
        if !file.metadata()?.is_file() {
            return Err(refused("another kind of file"));
        }
        if access == Access::Append && system::links_of(&file)? > 1 {
            return Err(refused("a file that has a second name (a hard link)"));
        }
        Ok(file)
    }

    /// Renames a file, which replaces another one.
    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        self.directory.rename(from, to)
    }

    pub(crate) fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        self.directory.remove_file(name)
    }

    /// Removes an empty directory.
    pub(crate) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        self.directory.remove_folder(name)
    }

    /// The names of all files.
    pub(crate) fn names(&self) -> io::Result<Vec<OsString>> {
        self.directory.names()
    }

    /// Brings the names in the directory to the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.directory.sync()
    }

    pub(crate) fn identity(&self) -> io::Result<Identity> {
        self.directory.identity()
    }

    /// Locks the directory against other outputs of several files. `None` if the file system has no such locks, as NFS, or if
    /// somebody else keeps it.
    pub(crate) fn lock(&self) -> Option<Lock> {
        const PATIENCE: Duration = Duration::from_secs(2);
        if self.is_locked_by_others.load(Ordering::Relaxed) {
            return None;
        }
        let lock = self.directory.open_lock().ok()?;
        let start = Instant::now();
        let mut pause = Duration::from_micros(50);
        loop {
            match lock.take() {
                Ok(()) => return Some(lock),
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return None,
                Err(_) => {}
            }
            if start.elapsed() > PATIENCE {
                self.is_locked_by_others.store(true, Ordering::Relaxed);
                return None;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
        }
    }

    /// The error of a folder that is not there any more. It does not name a part file, which means nothing to the user.
    pub(crate) fn was_removed(&self) -> io::Error {
        let message = format!("the folder {} was removed", self.path.display());
        io::Error::new(io::ErrorKind::NotFound, message)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Opens a regular file at a path for reading. The file itself is not a link, pipe or device.
///
/// # Errors
///
/// Returns [`InvalidInput`](io::ErrorKind::InvalidInput) for anything but a regular file.
pub fn open_regular(path: impl AsRef<Path>) -> io::Result<File> {
    let path = path.as_ref();
    let Some(name) = path.file_name() else {
        return Err(refused("a directory"));
    };
    Folder::open(path.parent().unwrap_or(path))?.open_regular(name, Access::Read)
}

/// Opens a regular file at an absolute path for reading. No folder on the way is a link, whatever another process does meanwhile: each is opened
/// in the one before it.
///
/// # Errors
///
/// Returns [`InvalidInput`](io::ErrorKind::InvalidInput) for a path that is not absolute, or has parts such as `..`, and for anything but a regular
/// file; an error for a link; and the errors of the system.
pub fn open_without_links(path: impl AsRef<Path>) -> io::Result<File> {
    let path = path.as_ref();
    let Some(name) = path.file_name().filter(|_| path.is_absolute()) else {
        return Err(refused("a path that is not the whole path of a file"));
    };
    let mut root = PathBuf::new();
    let mut names = Vec::new();
    for part in path.components() {
        match part {
            Component::Prefix(_) | Component::RootDir => root.push(part),
            Component::Normal(name) => names.push(name),
            _ => return Err(refused("a path with . or ..")),
        }
    }
    // The last name is the file's.
    names.pop();
    let mut folder = Folder::open(&root)?;
    for name in names {
        folder = folder.open_below(name, false)?;
    }
    folder.open_regular(name, Access::Read)
}

fn refused(found: &str) -> io::Error {
    let message = format!("expected a regular file, found {found}; remove it");
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

/// A folder. An empty path, such as the parent of a name, is the current one.
pub(crate) fn or_current(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_link_on_the_way_to_a_file_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/file"), "text").unwrap();
        symlink(root.join("a"), root.join("linked")).unwrap();
        symlink(root.join("a/b/file"), root.join("file")).unwrap();

        let mut text = String::new();
        let mut file = open_without_links(root.join("a/b/file")).unwrap();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "text");
        for path in [
            root.join("linked/b/file"),
            root.join("file"),
            root.join("a/b"),
            root.join("a/../a/b/file"),
            root.join("a/b/none"),
            PathBuf::from("Cargo.toml"),
            PathBuf::from("/"),
        ] {
            assert!(open_without_links(&path).is_err(), "{}", path.display());
        }
    }
}
