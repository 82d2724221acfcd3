//! Part files: files in the making, next to their later places. Nobody sees half of a file under its own name.
//!
//! A part file is removed when its program gives it up. A program that was killed leaves it to the next one that writes to the folder:
//! who writes a part file holds a lock on it, so that it can be distinguished from one that was left.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::folder::{Access, Folder, Identity};

const PREFIX: &str = ".meshmap-";
const SUFFIX: &str = ".part";

/// A part file. It is removed with this value, unless it has been moved to its place.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) file: File,
    pub(crate) folder: Arc<Folder>,
    pub(crate) name: OsString,
    is_moved: bool,
}

/// The part files of this process.
#[derive(Debug)]
struct Parts {
    open: BTreeMap<OsString, Arc<Folder>>,
    /// Folders in which no part files of earlier processes are left. The path distinguishes a folder from an earlier one that had its
    /// number.
    cleared: BTreeSet<(Identity, PathBuf)>,
    /// `true` once the process is about to end.
    is_closed: bool,
}

static PARTS: Mutex<Parts> = Mutex::new(Parts {
    open: BTreeMap::new(),
    cleared: BTreeSet::new(),
    is_closed: false,
});

/// The part files of this process, which no other thread changes meanwhile.
fn parts() -> MutexGuard<'static, Parts> {
    PARTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The name of a new part file. No other one of this process has it, and by its random number none of another process, which may
/// have the same process number in another container or on another machine.
fn new_name() -> OsString {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    static RANDOM: OnceLock<u64> = OnceLock::new();
    let random = RANDOM.get_or_init(|| RandomState::new().build_hasher().finish());
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{PREFIX}{random:016x}-{count:x}{SUFFIX}").into()
}

/// Renames a file to the name of a part file, which goes with the part files of this process. Returns the name; `None` if there is no
/// such file.
pub(crate) fn set_aside(folder: &Arc<Folder>, name: &OsStr) -> io::Result<Option<OsString>> {
    let aside = new_name();
    let mut parts = parts();
    parts.check_open()?;
    match folder.rename(name, &aside) {
        Ok(()) => {
            parts.open.insert(aside.clone(), Arc::clone(folder));
            Ok(Some(aside))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The file of this name is none of this process's part files any more.
pub(crate) fn forget(name: &OsStr) {
    parts().open.remove(name);
}

/// Returns `true` for the name of a part file.
fn is_part(name: &OsStr) -> bool {
    name.to_str()
        .is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX))
}

impl Parts {
    /// Returns an error if the process is about to end: no file begins after [`remove_part_files`].
    fn check_open(&self) -> io::Result<()> {
        if self.is_closed {
            Err(io::ErrorKind::Interrupted.into())
        } else {
            Ok(())
        }
    }
}

impl Part {
    /// Creates a part file in a folder.
    pub(crate) fn create(folder: &Arc<Folder>) -> io::Result<Self> {
        /// Names that are tried: another process may take a new file for an abandoned one.
        const MOST: usize = 10_000;
        for _ in 0..MOST {
            let part = match Self::create_once(folder) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                created => created?,
            };
            // A process that takes the file for an abandoned one has the lock, or has removed the file.
            let is_taken = matches!(part.file.try_lock(), Err(TryLockError::WouldBlock));
            if !is_taken && folder.has(&part.name, &part.file) {
                return Ok(part);
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Creates a file of a new name, which is in the list of part files from its beginning.
    fn create_once(folder: &Arc<Folder>) -> io::Result<Self> {
        let name = new_name();
        let mut parts = parts();
        parts.check_open()?;
        let file = folder.create_new(&name)?;
        parts.open.insert(name.clone(), Arc::clone(folder));
        Ok(Self {
            file,
            folder: Arc::clone(folder),
            name,
            is_moved: false,
        })
    }

    /// Moves the file to its place, where it replaces another one.
    pub(crate) fn move_to(&mut self, name: &OsStr) -> io::Result<()> {
        self.folder.rename(&self.name, name)?;
        self.is_moved = true;
        forget(&self.name);
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.is_moved {
            drop(self.folder.remove_file(&self.name));
            forget(&self.name);
        }
    }
}

/// Removes the part files of this process, which can begin no further ones: for programs that are about to end while other threads
/// still write.
pub fn remove_part_files() {
    let mut parts = parts();
    parts.is_closed = true;
    for (name, folder) in std::mem::take(&mut parts.open) {
        drop(folder.remove_file(&name));
    }
}

/// Removes part files in a folder that no process writes any more, because it was killed. Each folder is searched once.
pub(crate) fn remove_abandoned(folder: &Folder) {
    let Ok(identity) = folder.identity() else {
        return;
    };
    let is_new = parts().cleared.insert((identity, folder.path().to_owned()));
    if !is_new {
        return;
    }
    for name in folder.names().unwrap_or_default() {
        let is_own = parts().open.contains_key(&name);
        if is_own || !is_part(&name) {
            continue;
        }
        // The process that writes the file holds a lock on it. A link or a pipe of this name is not a part file.
        let Ok(file) = folder.open_regular(&name, Access::Lock) else {
            continue;
        };
        if is_free(&file) {
            drop(folder.remove_file(&name));
        }
        // The lock is kept until the file is removed.
        drop(file);
    }
}

/// Returns `true` for a part file that no process writes. On file systems without locks, it is one that is a day old.
fn is_free(part: &File) -> bool {
    const OLD: Duration = Duration::from_secs(24 * 60 * 60);
    match part.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(_)) => {
            let modified = part.metadata().and_then(|metadata| metadata.modified());
            modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > OLD))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn folder(path: &Path) -> Arc<Folder> {
        Arc::new(Folder::open(path).unwrap())
    }

    #[test]
    fn only_parts_that_nobody_writes_are_abandoned() {
        let root = tempfile::tempdir().unwrap();
        let left = root.path().join(".meshmap-killed.part");
        fs::write(&left, b"half").unwrap();
        let folder = folder(root.path());
        let mut part = Part::create(&folder).unwrap();
        let path = root.path().join(&part.name);
        // Another process does not know the parts of this one, but their locks.
        parts().open.remove(&part.name);
        remove_abandoned(&folder);
        assert!(!left.exists() && path.exists());
        part.move_to(OsStr::new("a")).unwrap();
        assert!(root.path().join("a").exists());
    }

    #[cfg(unix)]
    #[test]
    fn links_and_pipes_named_like_parts_are_neither_opened_nor_removed() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::write(at("target"), b"kept").unwrap();
        std::os::unix::fs::symlink(at("target"), at(".meshmap-link.part")).unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(at(".meshmap-pipe.part"))
            .status()
            .unwrap();
        assert!(made.success());
        let folder = folder(root.path());
        for name in [".meshmap-link.part", ".meshmap-pipe.part"] {
            for access in [Access::Read, Access::Append, Access::Lock] {
                let error = folder.open_regular(OsStr::new(name), access).unwrap_err();
                assert!(
                    error.to_string().contains("expected a regular file"),
                    "{name}: {error}"
                );
            }
        }
        // A pipe without a reader would be waited for.
        remove_abandoned(&folder);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 3);
        assert_eq!(fs::read(at("target")).unwrap(), b"kept");
    }
}
