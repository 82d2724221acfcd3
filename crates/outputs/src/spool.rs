//! Folders of the machine in which files are made before they go elsewhere.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// The beginning of the names of spools.
const PREFIX: &str = "meshmap-spool-";

/// The file that a process locks as long as it uses the spool.
const LOCK: &str = "lock";

/// A new folder in the system's folder for temporary files, which is removed with all its files when it is dropped. Spools of processes that
/// were killed are removed by the next one.
#[derive(Debug)]
pub(crate) struct Spool {
    folder: PathBuf,
    _lock: File,
}

impl Spool {
    pub(crate) fn new() -> io::Result<Self> {
        let parent = std::env::temp_dir();
        remove_abandoned(&parent);
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        let lock = File::create_new(folder.path().join(LOCK))?;
        lock.lock()?;
        Ok(Self {
            folder: folder.keep(),
            _lock: lock,
        })
    }

    /// The folder for files.
    pub(crate) fn files(&self) -> PathBuf {
        self.folder.join("files")
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.folder));
    }
}

fn remove_abandoned(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let is_spool = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if !is_spool || entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            continue;
        }
        // A spool without the file is being made at this moment.
        let Ok(lock) = File::open(entry.path().join(LOCK)) else {
            continue;
        };
        if !matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) {
            drop(fs::remove_dir_all(entry.path()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spools_are_removed_also_those_of_killed_processes() {
        let first = Spool::new().unwrap();
        fs::create_dir(first.files()).unwrap();
        fs::write(first.files().join("part"), "x").unwrap();
        let second = Spool::new().unwrap();
        assert!(first.files().join("part").exists(), "it is used");
        let of_first = first.folder.clone();
        let of_second = second.folder.clone();
        drop(second);
        assert!(!of_second.exists());
        // A process that is killed unlocks its file, and leaves the rest.
        let Spool { folder, _lock } = &first;
        _lock.unlock().unwrap();
        drop(Spool::new().unwrap());
        assert!(!folder.exists() && !of_first.exists());
    }
}
