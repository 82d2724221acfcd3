//! What several test programs share.
#![allow(dead_code, reason = "each test program uses its own part")]

pub(crate) mod cgeo;
pub(crate) mod counting;
pub(crate) mod exercise;
pub(crate) mod exercise_cgeo;
pub(crate) mod exercise_openctm;
pub(crate) mod exercise_slmesh;
pub(crate) mod exercise_tmf;
pub(crate) mod openctm;
pub(crate) mod slmesh;
pub(crate) mod tmf;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use meshmap::ReadRange;

/// The files of a folder below `tests/data`, in order, without expectations and lists.
pub(crate) fn data(folder: &str) -> Vec<PathBuf> {
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(folder))
}

/// The folder of the larger corpus, where the environment names one.
pub(crate) fn corpus() -> Option<PathBuf> {
    std::env::var_os("MESHMAP_CORPUS").map(PathBuf::from)
}

pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.is_file() && file.extension().is_none_or(|ending| ending != "json"));
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files
}

/// A small file with mesh, skeleton and animations.
pub(crate) fn small() -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/iqm/valid/skin_multi_anim.iqm")).unwrap()
}

/// The same with its frames many times over: enough for several threads, and too long to be read ahead.
pub(crate) fn long_animation() -> Vec<u8> {
    const TIMES: usize = if cfg!(miri) { 2 } else { 400 };
    let mut file = small();
    let field = |file: &[u8], at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let (frames, channels, offset) = (field(&file, 0x5c), field(&file, 0x60), field(&file, 0x64));
    let stored = file[offset..offset + frames * channels * 2].to_vec();
    let moved = file.len() as u32;
    (0..TIMES).for_each(|_| file.extend_from_slice(&stored));
    let size = file.len() as u32;
    // filesize, num_frames, ofs_frames, and no bounds, of which there would have to be as many.
    for (at, value) in [(0x14, size), (0x5c, (frames * TIMES) as u32), (0x64, moved), (0x68, 0)] {
        file[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    file
}

pub(crate) fn path(name: &str) -> PathBuf {
    path_of("iqm", name)
}

/// A good file of a format.
pub(crate) fn path_of(format: &str, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(format).join("valid").join(name)
}

/// A reader of memory that keeps account of what it was asked for.
pub(crate) struct Recorder {
    pub(crate) bytes: Vec<u8>,
    pub(crate) tells_length: bool,
    pub(crate) reads: Mutex<Vec<std::ops::Range<u64>>>,
}

impl Recorder {
    pub(crate) fn new(bytes: Vec<u8>) -> Arc<Self> {
        Arc::new(Self { bytes, tells_length: true, reads: Mutex::default() })
    }

    pub(crate) fn of_unknown_length(bytes: Vec<u8>) -> Arc<Self> {
        Arc::new(Self { bytes, tells_length: false, reads: Mutex::default() })
    }
}

impl ReadRange for Recorder {
    fn len(&self) -> std::io::Result<Option<u64>> {
        Ok(self.tells_length.then_some(self.bytes.len() as u64))
    }

    fn read(&self, range: std::ops::Range<u64>) -> std::io::Result<Bytes> {
        self.reads.lock().unwrap().push(range.clone());
        let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(self.bytes.len());
        Ok(Bytes::copy_from_slice(&self.bytes[at(range.start)..at(range.end)]))
    }
}

/// Ends the program where a job does not: a deadlock must not look like a slow test.
pub(crate) fn with_watchdog<T>(limit: Duration, job: impl FnOnce() -> T) -> T {
    let limit = if cfg!(miri) { limit * 10 } else { limit };
    let done = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&done);
    let watchdog = std::thread::spawn(move || {
        std::thread::park_timeout(limit);
        if !seen.load(Ordering::SeqCst) {
            eprintln!("no end after {limit:?}");
            std::process::abort();
        }
    });
    let result = job();
    done.store(true, Ordering::SeqCst);
    watchdog.thread().unpark();
    watchdog.join().unwrap();
    result
}
