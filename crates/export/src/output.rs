//! Files that appear complete or not at all.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tempfile::NamedTempFile;

use crate::budget::Budget;
use crate::destination::{self, folder_of};
use crate::error::Result;
use crate::outcome::Outcome;

const PREFIX: &str = ".meshmap-";
const SUFFIX: &str = ".part";

/// A file that appears at its path when it is complete, and replaces another one there.
///
/// Until then it is a part file in the same folder, which is removed when the `Output` is dropped. A program that ends
/// in another way calls [`remove_all`](Self::remove_all), or leaves part files to the next program that writes to the folder.
///
/// # Examples
///
/// ```
/// use std::io::Write;
///
/// use meshmap_export::Output;
///
/// # let folder = std::env::temp_dir().join(format!("meshmap-output-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let path = folder.join("numbers.txt");
/// let mut output = Output::create(&path)?;
/// output.write_all(b"1 2 3\n")?;
/// assert!(!path.exists());
/// output.finish()?;
/// assert_eq!(std::fs::read(&path)?, b"1 2 3\n");
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    /// The same path, in a form that may be long.
    destination: PathBuf,
    file: BufWriter<Part>,
}

/// A part file, whose bytes are charged before they are written.
#[derive(Debug)]
struct Part {
    file: NamedTempFile,
    _listed: Listed,
    budget: Budget,
}

/// The path of a part file. It is in the list of part files of this process until this value is dropped.
#[derive(Debug)]
struct Listed(PathBuf);

/// The part files of this process.
struct Parts {
    paths: BTreeSet<PathBuf>,
    /// Folders in which no part files of earlier processes are left.
    cleared: BTreeSet<PathBuf>,
    /// `true` once the process is about to end.
    is_closed: bool,
}

static PARTS: Mutex<Parts> =
    Mutex::new(Parts { paths: BTreeSet::new(), cleared: BTreeSet::new(), is_closed: false });

/// `true` if outputs are on the disk before they appear.
static SYNCS: AtomicBool = AtomicBool::new(false);

fn parts() -> MutexGuard<'static, Parts> {
    PARTS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Output {
    /// Begins a file for this path.
    ///
    /// # Errors
    ///
    /// Returns an error if the path is a directory, a device or a pipe, if [`check_path`](Self::check_path) does, if no file
    /// can be created next to it, or after [`remove_all`](Self::remove_all).
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::create_within(path.as_ref(), &Budget::unlimited())
    }

    /// Checks that a file can have this path, before folders are created for it.
    ///
    /// # Errors
    ///
    /// On Windows, returns an error if a part of the path is reserved for a device, such as `aux.glb`.
    pub fn check_path(path: impl AsRef<Path>) -> io::Result<()> {
        destination::check(path.as_ref())
    }

    /// Opens a file that programs keep in a directory of outputs, such as an index: only a regular file. Links are not
    /// followed, and pipes and devices are not opened.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](io::ErrorKind::InvalidInput) for anything but a regular file, and the errors of
    /// [`OpenOptions::open`].
    pub fn open_regular(path: impl AsRef<Path>, options: &OpenOptions) -> io::Result<File> {
        destination::open_regular(path.as_ref(), options)
    }

    /// Begins a file whose bytes are charged to a budget.
    pub(crate) fn create_within(path: &Path, budget: &Budget) -> io::Result<Self> {
        Self::check_path(path)?;
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(metadata) if !metadata.is_file() => {
                let kind = io::ErrorKind::InvalidInput;
                return Err(io::Error::new(kind, "not a regular file, so it cannot be replaced"));
            }
            Ok(_) | Err(_) => {}
        }
        let destination = destination::unlimited(path)?.into_owned();
        let folder = folder_of(&destination);
        if !parts().cleared.contains(folder) {
            Self::remove_abandoned(folder);
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).suffix(SUFFIX);
        let mut parts = parts();
        if parts.is_closed {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let file = loop {
            // Temporary files are private; what a user writes is not. An error does not name the part file, which means nothing to the
            // user.
            let create = |path: &Path| File::options().read(true).write(true).create_new(true).open(path);
            let file = builder.make_in(folder, create)?;
            // The lock shows other processes that the file is being written. Some file systems have none.
            let _ = file.as_file().try_lock();
            // Another process may have removed the file before the lock.
            if file.path().exists() {
                break file;
            }
        };
        let listed = Listed(file.path().to_owned());
        parts.paths.insert(listed.0.clone());
        let part = Part { file, _listed: listed, budget: budget.clone() };
        Ok(Self { path: path.to_owned(), destination, file: BufWriter::with_capacity(256 << 10, part) })
    }

    /// Moves `length` bytes of the file, which are its end, from one offset to another, which is then followed by nothing else.
    /// Moved bytes are not charged again.
    pub(crate) fn move_end(&mut self, from: u64, to: u64, length: u64) -> io::Result<()> {
        self.file.flush()?;
        let file = self.file.get_mut().file.as_file_mut();
        let mut buffer = vec![0; 256 << 10];
        let mut moved = 0;
        while moved < length {
            let step = (length - moved).min(buffer.len() as u64);
            // A move towards the end begins there, so that nothing is overwritten before it has moved.
            let at = if to > from { length - moved - step } else { moved };
            let part = buffer.get_mut(..usize::try_from(step).unwrap_or(0)).unwrap_or_default();
            file.seek(SeekFrom::Start(from + at))?;
            file.read_exact(part)?;
            file.seek(SeekFrom::Start(to + at))?;
            file.write_all(part)?;
            moved += step;
        }
        file.set_len(to + length)
    }

    /// Sets whether the outputs of this process are brought to the disk before they appear at their paths, so that after a power cut
    /// there are no paths with other bytes. That takes some milliseconds for each, or many on a disk that turns.
    pub fn set_synced(is_synced: bool) {
        SYNCS.store(is_synced, Ordering::Relaxed);
    }

    /// Moves the complete file to its path.
    ///
    /// # Errors
    ///
    /// Returns an error if the last bytes cannot be written, or if the file cannot be moved. Windows replaces no file that
    /// another program has open; the file stays as it is, and the part file is removed.
    pub fn finish(self) -> io::Result<PathBuf> {
        let part = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        let is_synced = SYNCS.load(Ordering::Relaxed);
        if is_synced {
            part.file.as_file().sync_all()?;
        }
        let persisted = part.file.persist(&self.destination);
        persisted.map_err(|error| destination::not_replaced(error.error, &self.destination))?;
        // Names are data of the folder, where a folder can be opened.
        if is_synced && cfg!(unix) {
            File::open(folder_of(&self.destination))?.sync_all()?;
        }
        Ok(self.path)
    }

    /// Moves files that belong together to their paths, and reports them. The last one marks the output as complete: an earlier one
    /// is taken away first, so that nobody reads it together with other files of this output.
    pub(crate) fn finish_together(mut outputs: Vec<Self>, outcome: &mut Outcome) -> Result<()> {
        // Output that exceeds the limit fails before a file appears.
        outputs.iter_mut().try_for_each(Write::flush)?;
        let earlier = match outputs.as_slice() {
            [_, .., last] => last.set_aside()?,
            _ => None,
        };
        let before = outcome.files.len();
        let finished = outputs.into_iter().try_for_each(|output| {
            outcome.files.push(output.finish()?);
            Ok(())
        });
        // If nothing has changed, the earlier output stays.
        if let (true, true, Some((earlier, path))) =
            (finished.is_err(), outcome.files.len() == before, earlier)
        {
            drop(earlier.persist_noclobber(path));
        }
        finished
    }

    /// Takes away the file at the path of this one; it is removed when the value is dropped.
    fn set_aside(&self) -> io::Result<Option<(NamedTempFile<()>, PathBuf)>> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).suffix(SUFFIX);
        let taken =
            builder.make_in(folder_of(&self.destination), |aside| fs::rename(&self.destination, aside));
        match taken {
            Ok(earlier) => Ok(Some((earlier, self.destination.clone()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(destination::not_replaced(error, &self.destination)),
        }
    }

    /// Removes the part files of this process, which can begin no further ones: for programs that are about to end while
    /// other threads still write.
    pub fn remove_all() {
        let mut parts = parts();
        parts.is_closed = true;
        for path in std::mem::take(&mut parts.paths) {
            drop(fs::remove_file(path));
        }
    }

    /// Removes part files in a folder that no process writes any more, because it was killed.
    pub fn remove_abandoned(folder: &Path) {
        parts().cleared.insert(folder.to_owned());
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if !is_part(&path) || parts().paths.contains(&path) {
                continue;
            }
            // The process that writes the file holds a lock on it. A link or a pipe of this name is not a part file.
            let opened = Self::open_regular(&path, File::options().write(true));
            if opened.is_ok_and(|file| is_free(&file)) {
                drop(fs::remove_file(path));
            }
        }
    }
}

/// Returns `true` for a part file that no process writes. Where the file system has no locks, it is one that is a day old.
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

/// Returns `true` for the name of a part file.
fn is_part(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX))
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for Output {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl Write for Part {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.budget.write(bytes.len() as u64).map_err(io::Error::other)?;
        self.file.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for Part {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        parts().paths.remove(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part_in(folder: &Path) -> Option<PathBuf> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).find(|path| is_part(path))
    }

    #[test]
    fn dropped_outputs_leave_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut output = Output::create(folder.path().join("a")).unwrap();
        output.write_all(b"some").unwrap();
        assert!(part_in(folder.path()).is_some());
        drop(output);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn only_parts_that_nobody_writes_are_abandoned() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(".meshmap-killed.part");
        fs::write(&left, b"half").unwrap();
        let output = Output::create(folder.path().join("a")).unwrap();
        let written = part_in(folder.path()).filter(|path| *path != left);
        // Another process does not know the parts of this one, but their locks.
        let of_this_process = std::mem::take(&mut parts().paths);
        Output::remove_abandoned(folder.path());
        parts().paths.extend(of_this_process);
        assert!(!left.exists() && written.is_none_or(|path| path.exists()));
        output.finish().unwrap();
        assert!(folder.path().join("a").exists());
    }

    #[test]
    fn files_that_belong_together_are_never_of_two_outputs() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let begin = |name: &str, text: &[u8]| {
            let mut output = Output::create(at(name)).unwrap();
            output.write_all(text).unwrap();
            output
        };
        let write = |text: &[u8]| {
            let mut outcome = Outcome::default();
            let both = vec![begin("a.bin", text), begin("a.gltf", text)];
            Output::finish_together(both, &mut outcome).map(|()| outcome.files)
        };
        assert_eq!(write(b"old").unwrap(), [at("a.bin"), at("a.gltf")]);
        assert_eq!(write(b"new").unwrap(), [at("a.bin"), at("a.gltf")]);
        assert_eq!([fs::read(at("a.bin")).unwrap(), fs::read(at("a.gltf")).unwrap()], [b"new", b"new"]);
        // The first of them cannot be replaced: nothing changes.
        fs::remove_file(at("a.bin")).unwrap();
        let both = vec![begin("a.bin", b"third"), begin("a.gltf", b"third")];
        fs::create_dir(at("a.bin")).unwrap();
        fs::write(at("a.bin/x"), b"").unwrap();
        assert!(Output::finish_together(both, &mut Outcome::default()).is_err());
        assert_eq!(fs::read(at("a.gltf")).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no part is left");
    }

    #[test]
    fn parts_of_a_killed_process_go_with_the_next_output() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(".meshmap-killed.part");
        fs::write(&left, b"half").unwrap();
        Output::set_synced(true);
        Output::create(folder.path().join("a")).unwrap().finish().unwrap();
        Output::set_synced(false);
        assert!(!left.exists());
    }

    #[cfg(unix)]
    #[test]
    fn links_and_pipes_named_like_parts_are_neither_opened_nor_removed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("target"), b"kept").unwrap();
        std::os::unix::fs::symlink(at("target"), at(".meshmap-link.part")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(at(".meshmap-pipe.part")).status().unwrap();
        assert!(made.success());
        for name in [".meshmap-link.part", ".meshmap-pipe.part"] {
            for options in [File::options().read(true), File::options().append(true).create(true)] {
                let error = Output::open_regular(at(name), options).unwrap_err();
                assert!(error.to_string().contains("expected a regular file"), "{name}: {error}");
            }
        }
        // A pipe without a reader would be waited for.
        Output::remove_abandoned(folder.path());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
        assert_eq!(fs::read(at("target")).unwrap(), b"kept");
    }

    #[test]
    fn the_end_of_a_file_moves_in_both_directions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        // Longer than the buffer, so that parts overlap.
        let end: Vec<u8> =
            (0..(5 << 19) + 3).map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for (from, to) in [(100, 7), (7, 100), (3, 3), (0, 2 << 20)] {
            let mut output = Output::create(&path).unwrap();
            output.write_all(&vec![9; from]).unwrap();
            output.write_all(&end).unwrap();
            output.move_end(from as u64, to as u64, end.len() as u64).unwrap();
            output.seek(SeekFrom::Start(0)).unwrap();
            output.write_all(&vec![1; to]).unwrap();
            output.finish().unwrap();
            let bytes = fs::read(&path).unwrap();
            assert!(bytes[..to].iter().all(|byte| *byte == 1) && bytes[to..] == end, "{from} to {to}");
        }
    }

    #[test]
    fn directories_are_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let error = Output::create(folder.path()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
    }
    #[test]
    fn long_paths_are_written_and_replaced() {
        let root = tempfile::tempdir().unwrap();
        let folder = (0..6).fold(root.path().to_owned(), |folder, _| folder.join("f".repeat(60)));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a");
        for bytes in [b"1", b"2"] {
            let mut output = Output::create(&path).unwrap();
            output.write_all(bytes).unwrap();
            assert_eq!(output.finish().unwrap(), path);
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[cfg(windows)]
    #[test]
    fn reserved_names_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["aux.glb", "CON"] {
            let error = Output::create(folder.path().join(name)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[cfg(windows)]
    #[test]
    fn files_that_another_program_has_open_are_kept() {
        use std::os::windows::fs::OpenOptionsExt;

        const FILE_SHARE_READ: u32 = 1;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let write = || {
            let mut output = Output::create(&path)?;
            output.write_all(b"after")?;
            output.finish()
        };
        fs::write(&path, b"before").unwrap();
        let held = File::options().read(true).share_mode(FILE_SHARE_READ).open(&path).unwrap();
        let error = write().unwrap_err().to_string();
        assert!(error.contains("because another program has it open"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"before");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        drop(held);
        write().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"after");
    }
}
