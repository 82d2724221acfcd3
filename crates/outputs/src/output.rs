//! Files that appear complete or not at all, and outputs of several files.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::folder::{Folder, Lock};
use crate::outputs::{Place, has_too_many_files};
use crate::parts::{self, Part};
use crate::stamp::{Stamp, Written};

/// `true` if outputs are on the disk before they appear.
static SYNCS: AtomicBool = AtomicBool::new(false);

/// Sets whether the outputs of this process are brought to the disk before they appear at their paths, so that after a power cut
/// there are no paths with other bytes. That takes some milliseconds for each, or many on a disk that turns.
pub fn set_synced(is_synced: bool) {
    SYNCS.store(is_synced, Ordering::Relaxed);
}

/// Called with a number of bytes before they are written. Its error ends the output.
pub type Charge = Box<dyn FnMut(u64) -> io::Result<()> + Send>;

/// A file that appears at its place when it is complete, and replaces another one there.
///
/// Until then it is a part file in the same folder, which is removed when the `Output` is dropped. A program that ends
/// in another way calls [`remove_part_files`](crate::remove_part_files), or leaves part files to the next program that writes to the
/// folder.
///
/// # Examples
///
/// ```
/// use std::io::Write;
///
/// use meshmap_outputs::{Output, Place};
///
/// # let folder = std::env::temp_dir().join(format!("meshmap-output-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let path = folder.join("numbers.txt");
/// let mut output = Output::create(&Place::at(&path)?)?;
/// output.write_all(b"1 2 3\n")?;
/// assert!(!path.exists());
/// output.finish()?;
/// assert_eq!(std::fs::read(&path)?, b"1 2 3\n");
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Output {
    place: Place,
    file: BufWriter<Charged>,
}

/// A part file, whose bytes are charged before they are written.
struct Charged {
    part: Part,
    charge: Option<Charge>,
}

impl Output {
    /// Begins a file for this place.
    ///
    /// # Errors
    ///
    /// Returns an error if a folder on the way is a link, if there is a directory, a device or a pipe at the place, if no file can be
    /// created there, or after [`remove_part_files`](crate::remove_part_files).
    pub fn create(place: &Place) -> io::Result<Self> {
        Self::begin(place, None)
    }

    /// Begins a file, and calls `charge` before bytes are written.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`create`](Self::create).
    pub fn create_charged(place: &Place, charge: Charge) -> io::Result<Self> {
        Self::begin(place, Some(charge))
    }

    fn begin(place: &Place, charge: Option<Charge>) -> io::Result<Self> {
        let folder = place.prepared()?;
        let part = match Part::create(&folder) {
            Err(error) if has_too_many_files(&error) => {
                place.outputs().close_folders();
                Part::create(&folder)
            }
            created => created,
        };
        let part = part.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => folder.was_removed(),
            _ => error,
        })?;
        let file = BufWriter::with_capacity(256 << 10, Charged { part, charge });
        Ok(Self {
            place: place.clone(),
            file,
        })
    }

    /// Moves `length` bytes of the file, which are its end, from one offset to another, which is then followed by nothing else.
    /// Moved bytes are not charged again.
    ///
    /// # Errors
    ///
    /// Returns the errors of reading and writing.
    pub fn move_end(&mut self, from: u64, to: u64, length: u64) -> io::Result<()> {
        self.file.flush()?;
        let file: &mut File = &mut self.file.get_mut().part.file;
        let mut buffer = vec![0; 256 << 10];
        let mut moved = 0;
        while moved < length {
            let step = (length - moved).min(buffer.len() as u64);
            // A move towards the end begins there, so that nothing is overwritten before it has moved.
            let at = if to > from {
                length - moved - step
            } else {
                moved
            };
            let part = buffer
                .get_mut(..usize::try_from(step).unwrap_or(0))
                .unwrap_or_default();
            file.seek(SeekFrom::Start(from + at))?;
            file.read_exact(part)?;
            file.seek(SeekFrom::Start(to + at))?;
            file.write_all(part)?;
            moved += step;
        }
        file.set_len(to + length)
    }

    /// Moves the complete file to its place.
    ///
    /// # Errors
    ///
    /// Returns an error if the last bytes cannot be written, or if the file cannot be moved. Windows replaces no file that
    /// another program has open; the file stays as it is, and the part file is removed.
    pub fn finish(self) -> io::Result<Written> {
        self.complete()?.finish()
    }

    /// Moves files that belong together to their places. The last one marks the output as complete: an earlier one is taken away
    /// first, so that nobody reads it together with other files of this output.
    ///
    /// Other processes that write the same files at the same time wait, where the file system has locks of folders. Where it has none,
    /// the one that is disturbed fails, and its files are removed.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`finish`](Self::finish). If nothing has been moved, the earlier output stays; otherwise no file of this
    /// one does.
    pub fn finish_together(outputs: Vec<Self>) -> io::Result<Vec<Written>> {
        let mut files = Vec::with_capacity(outputs.len());
        for output in outputs {
            files.push(output.complete()?);
        }
        let Some(marker) = files.last().filter(|_| files.len() > 1) else {
            return files.into_iter().map(Complete::finish).collect();
        };
        let folder = Arc::clone(&marker.part.folder);
        let _lock = lock(&folder);
        let marker_name = marker.place.name().to_owned();
        // The other files of the earlier output, if there is one.
        let companions = stamps_there(&files);
        let earlier = SetAside::take(&folder, &marker_name)?;
        if let Err(error) = appear_in_turn(&mut files) {
            let mut is_incomplete = false;
            for file in files.iter().filter(|file| file.is_there) {
                is_incomplete |= file.take_back();
            }
            if is_incomplete {
                // Whichever output it marks, a file of it is gone.
                drop(folder.remove_file(&marker_name));
            } else if stamps_there(&files) == companions {
                earlier.put_back();
                // Another process may have removed a file meanwhile, and found nothing that marks the output.
                if stamps_there(&files) != companions {
                    drop(folder.remove_file(&marker_name));
                }
            }
            return Err(error);
        }
        for file in &files {
            file.sync_names()?;
        }
        Ok(files.iter().map(Complete::written).collect())
    }

    /// Writes the last bytes, and stamps the file.
    fn complete(self) -> io::Result<Complete> {
        let Charged { part, .. } = self
            .file
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        let stamp = Stamp::set(&part.file);
        if SYNCS.load(Ordering::Relaxed) {
            part.file.sync_all()?;
        }
        Ok(Complete {
            place: self.place,
            part,
            stamp,
            is_there: false,
        })
    }
}

/// Size and time of whatever files are at the places of all files but the last.
fn stamps_there(files: &[Complete]) -> Vec<Option<Stamp>> {
    let companions: &[Complete] = files.split_last().map_or(&[], |(_, companions)| companions);
    companions.iter().map(Complete::stamp_there).collect()
}

/// Locks a folder, if its file system has such locks.
fn lock(folder: &Folder) -> Option<Lock> {
    #[cfg(test)]
    if tests::LOCKS_ARE_MISSING.get() {
        return None;
    }
    folder.lock()
}

/// Moves files to their places one after the other, and checks that no other process has replaced one meanwhile.
fn appear_in_turn(files: &mut [Complete]) -> io::Result<()> {
    for file in files.iter_mut() {
        file.appear()?;
    }
    // If another process moves its files at the same time, one of the two finds a file of the other one here: who moved the last
    // file of the output, and another file before the other process did.
    let Some(file) = files.iter().find(|file| !file.is_own()) else {
        return Ok(());
    };
    let path = file.place.path();
    let message = format!(
        "another process wrote {} at the same time; run the command again",
        path.display()
    );
    Err(io::Error::other(message))
}

/// A file with all its bytes.
struct Complete {
    place: Place,
    part: Part,
    stamp: Option<Stamp>,
    /// `true` once the file is at its place.
    is_there: bool,
}

impl Complete {
    fn finish(mut self) -> io::Result<Written> {
        self.appear()?;
        self.sync_names()?;
        Ok(self.written())
    }

    fn appear(&mut self) -> io::Result<()> {
        let moved = self.part.move_to(self.place.name());
        moved.map_err(|error| not_replaced(error, &self.part.folder, self.place.name()))?;
        self.is_there = true;
        Ok(())
    }

    /// `true` if the file at the place is the one that was written.
    fn is_own(&self) -> bool {
        let folder = &self.part.folder;
        let name = self.place.name();
        // Some network file systems number a file again when its name is looked up again. No two files have one precise time.
        let is_precise = self.stamp.is_some_and(|stamp| stamp.is_precise());
        folder.has(name, &self.part.file) || is_precise && folder.stamp_of(name) == self.stamp
    }

    /// Removes the file from its place, unless another process has replaced it. Returns `true` if it did.
    fn take_back(&self) -> bool {
        self.is_own() && self.part.folder.remove_file(self.place.name()).is_ok()
    }

    /// Size and time of whatever file is at the place.
    fn stamp_there(&self) -> Option<Stamp> {
        self.part.folder.stamp_of(self.place.name())
    }

    /// Names are data of the folder.
    fn sync_names(&self) -> io::Result<()> {
        if SYNCS.load(Ordering::Relaxed) {
            self.part.folder.sync()
        } else {
            Ok(())
        }
    }

    fn written(&self) -> Written {
        let stamp = self.stamp.filter(|_| self.is_own());
        Written {
            path: self.place.path(),
            bytes: self.stamp.map_or(0, |stamp| stamp.bytes),
            below: self.place.below().to_owned(),
            stamp,
        }
    }
}

/// An earlier output that was taken away. It is removed when the value is dropped.
struct SetAside<'a> {
    folder: &'a Arc<Folder>,
    name: OsString,
    /// The name that it has meanwhile, if there was one.
    aside: Option<OsString>,
}

impl<'a> SetAside<'a> {
    fn take(folder: &'a Arc<Folder>, name: &OsStr) -> io::Result<Self> {
        let aside =
            parts::set_aside(folder, name).map_err(|error| not_replaced(error, folder, name))?;
        Ok(Self {
            folder,
            name: name.to_owned(),
            aside,
        })
    }

    fn put_back(mut self) {
        if self.folder.kind_of(&self.name).is_none()
            && let Some(aside) = self.aside.take()
        {
            drop(self.folder.rename(&aside, &self.name));
            parts::forget(&aside);
        }
    }
}

impl Drop for SetAside<'_> {
    fn drop(&mut self) {
        if let Some(aside) = &self.aside {
            drop(self.folder.remove_file(aside));
            parts::forget(aside);
        }
    }
}

/// The error of a file that could not be replaced, with the reason if it is one that the system does not name.
fn not_replaced(error: io::Error, folder: &Folder, name: &OsStr) -> io::Error {
    const ACCESS_DENIED: i32 = 5;
    const SHARING_VIOLATION: i32 = 32;
    const USER_MAPPED_FILE: i32 = 1224;
    if error.kind() == io::ErrorKind::NotFound {
        return folder.was_removed();
    }
    let is_refused = matches!(
        error.raw_os_error(),
        Some(ACCESS_DENIED | SHARING_VIOLATION | USER_MAPPED_FILE)
    );
    let Ok(metadata) = fs::metadata(folder.path().join(name)) else {
        return error;
    };
    if !cfg!(windows) || !is_refused {
        return error;
    }
    let why = if metadata.permissions().readonly() {
        "it is read-only"
    } else {
        "another program has it open"
    };
    io::Error::new(
        error.kind(),
        format!("the existing file cannot be replaced, because {why} ({error})"),
    )
}

impl std::fmt::Debug for Charged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.part.fmt(f)
    }
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

impl Write for Charged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(charge) = &mut self.charge {
            charge(bytes.len() as u64)?;
        }
        self.part.file.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.part.file.flush()
    }
}

impl Seek for Charged {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.part.file.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::path::Path;
    use std::sync::Barrier;

    use super::*;

    fn begin(path: &Path, text: &[u8]) -> Output {
        let mut output = Output::create(&Place::at(path).unwrap()).unwrap();
        output.write_all(text).unwrap();
        output
    }

    fn count(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn dropped_outputs_leave_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let output = begin(&folder.path().join("a"), b"some");
        assert_eq!(count(folder.path()), 1);
        drop(output);
        assert_eq!(count(folder.path()), 0);
    }

    #[test]
    fn files_that_belong_together_are_never_of_two_outputs() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let write = |text: &[u8]| {
            let both = vec![begin(&at("a.bin"), text), begin(&at("a.gltf"), text)];
            let written = Output::finish_together(both).unwrap();
            assert!(
                written
                    .iter()
                    .all(|file| file.stamp.is_some() && file.bytes == text.len() as u64)
            );
            written
                .into_iter()
                .map(|file| file.path)
                .collect::<Vec<_>>()
        };
        assert_eq!(write(b"old"), [at("a.bin"), at("a.gltf")]);
        assert_eq!(write(b"new"), [at("a.bin"), at("a.gltf")]);
        assert_eq!(
            [
                fs::read(at("a.bin")).unwrap(),
                fs::read(at("a.gltf")).unwrap()
            ],
            [b"new", b"new"]
        );
        // The first of them cannot be replaced: nothing changes.
        let both = vec![
            begin(&at("a.bin"), b"third"),
            begin(&at("a.gltf"), b"third"),
        ];
        fs::remove_file(at("a.bin")).unwrap();
        fs::create_dir(at("a.bin")).unwrap();
        fs::write(at("a.bin/x"), b"").unwrap();
        assert!(Output::finish_together(both).is_err());
        assert_eq!(fs::read(at("a.gltf")).unwrap(), b"new");
        assert_eq!(count(folder.path()), 2, "no part is left");
    }

    thread_local! {
        /// `true` on a thread that finds no locks of folders.
        pub(super) static LOCKS_ARE_MISSING: Cell<bool> = const { Cell::new(false) };
    }

    /// Two threads write one output of two files again and again. Returns how often both said that they had.
    fn race(folder: &Path, rounds: usize, has_locks: bool) -> usize {
        let at = |name: &str| folder.join(name);
        let mut both_written = 0;
        for round in 0..rounds {
            let barrier = Barrier::new(2);
            let write = |text: &[u8]| {
                let both = vec![begin(&at("a.bin"), text), begin(&at("a.gltf"), text)];
                LOCKS_ARE_MISSING.set(!has_locks);
                barrier.wait();
                Output::finish_together(both)
            };
            let texts = [format!("first {round}"), format!("second {round}")];
            let results = std::thread::scope(|scope| {
                let threads = texts
                    .each_ref()
                    .map(|text| scope.spawn(|| write(text.as_bytes())));
                threads.map(|thread| thread.join().unwrap())
            });
            let [bin, gltf] = [fs::read(at("a.bin")), fs::read(at("a.gltf"))];
            if let Ok(gltf) = gltf {
                assert_eq!(bin.unwrap(), gltf, "of one output");
            } else {
                assert!(
                    results.iter().any(Result::is_err),
                    "one of the outputs is there"
                );
            }
            for error in results.iter().filter_map(|result| result.as_ref().err()) {
                let told = error.to_string();
                // Wine replaces no file that the other writer has open.
                let is_open = cfg!(windows) && told.contains("(os error 5)");
                assert!(is_open || told.contains("at the same time"), "{told}");
            }
            both_written += usize::from(results.iter().all(Result::is_ok));
        }
        both_written
    }

    #[test]
    fn two_writers_of_one_output_do_not_mix_their_files() {
        let folder = tempfile::tempdir().unwrap();
        let both_written = race(folder.path(), 200, true);
        assert!(
            !cfg!(target_os = "linux") || both_written == 200,
            "{both_written}"
        );
    }

    /// As on NFS and on Windows.
    #[test]
    fn two_writers_without_locks_do_not_mix_their_files() {
        let folder = tempfile::tempdir().unwrap();
        race(folder.path(), 500, false);
    }

    // Wine replaces no file that is open.
    #[cfg(unix)]
    #[test]
    fn only_the_file_that_stays_has_a_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut first = begin(&path, b"first").complete().unwrap();
        first.appear().unwrap();
        let second = begin(&path, b"other").finish().unwrap();
        assert_eq!(first.written().stamp, None);
        assert_eq!(second.stamp, Place::at(&path).unwrap().stamp());
    }

    #[test]
    fn files_of_one_size_have_different_stamps() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut stamps: Vec<_> = (0..50)
            .map(|_| {
                begin(&path, b"same")
                    .finish()
                    .unwrap()
                    .stamp
                    .unwrap()
                    .modified
            })
            .collect();
        stamps.dedup();
        assert_eq!(stamps.len(), 50);
    }

    #[test]
    fn parts_of_a_killed_process_go_with_the_next_output() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(".meshmap-killed.part");
        fs::write(&left, b"half").unwrap();
        set_synced(true);
        begin(&folder.path().join("a"), b"").finish().unwrap();
        set_synced(false);
        assert!(!left.exists());
    }

    #[test]
    fn the_end_of_a_file_moves_in_both_directions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        // Longer than the buffer, so that parts overlap.
        let end: Vec<u8> = (0..(5 << 19) + 3)
            .map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        for (from, to) in [(100, 7), (7, 100), (3, 3), (0, 2 << 20)] {
            let mut output = begin(&path, &vec![9; from]);
            output.write_all(&end).unwrap();
            output
                .move_end(from as u64, to as u64, end.len() as u64)
                .unwrap();
            output.seek(SeekFrom::Start(0)).unwrap();
            output.write_all(&vec![1; to]).unwrap();
            output.finish().unwrap();
            let bytes = fs::read(&path).unwrap();
            assert!(
                bytes[..to].iter().all(|byte| *byte == 1) && bytes[to..] == end,
                "{from} to {to}"
            );
        }
    }

    #[test]
    fn directories_are_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        let error = Output::create(&Place::at(folder.path().join("a")).unwrap()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
    }

    #[test]
    fn long_paths_are_written_and_replaced() {
        let root = tempfile::tempdir().unwrap();
        let folder = (0..6).fold(root.path().to_owned(), |folder, _| {
            folder.join("f".repeat(60))
        });
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a");
        for bytes in [b"1", b"2"] {
            assert_eq!(begin(&path, bytes).finish().unwrap().path, path);
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
        assert_eq!(count(&folder), 1);
    }

    #[test]
    fn a_charge_that_fails_ends_the_output() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::at(folder.path().join("a")).unwrap();
        let mut left = 1_u64 << 20;
        let charge = move |bytes| {
            left = left
                .checked_sub(bytes)
                .ok_or(io::ErrorKind::QuotaExceeded)?;
            Ok(())
        };
        let mut output = Output::create_charged(&place, Box::new(charge)).unwrap();
        let error = io::copy(&mut io::repeat(7), &mut output).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::QuotaExceeded);
        drop(output);
        assert_eq!(count(folder.path()), 0);
    }

    /// Wine replaces files that are read-only, so this is about the message.
    #[test]
    fn files_that_cannot_be_replaced_have_a_reason_on_windows() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a");
        let folder = Folder::open(root.path()).unwrap();
        let message = |code| {
            not_replaced(io::Error::from_raw_os_error(code), &folder, OsStr::new("a")).to_string()
        };
        let plain = |code| io::Error::from_raw_os_error(code).to_string();
        assert_eq!(message(5), plain(5), "there is no file");
        fs::write(&path, "").unwrap();
        assert_eq!(message(7), plain(7), "another reason");
        if !cfg!(windows) {
            assert_eq!(message(5), plain(5));
            return;
        }
        assert!(
            message(32).contains("because another program has it open"),
            "{}",
            message(32)
        );
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions.clone()).unwrap();
        assert!(
            message(5).contains("because it is read-only"),
            "{}",
            message(5)
        );
        #[expect(
            clippy::permissions_set_readonly_false,
            reason = "so that Windows can remove the file"
        )]
        permissions.set_readonly(false);
        fs::set_permissions(&path, permissions).unwrap();
    }

    #[cfg(windows)]
    #[test]
    fn files_that_another_program_has_open_are_kept() {
        use std::os::windows::fs::OpenOptionsExt;

        const FILE_SHARE_READ: u32 = 1;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, b"before").unwrap();
        let held = File::options()
            .read(true)
            .share_mode(FILE_SHARE_READ)
            .open(&path)
            .unwrap();
        let error = begin(&path, b"after").finish().unwrap_err().to_string();
        assert!(
            error.contains("because another program has it open"),
            "{error}"
        );
        assert_eq!(fs::read(&path).unwrap(), b"before");
        assert_eq!(count(folder.path()), 1);
        drop(held);
        begin(&path, b"after").finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"after");
    }
}
