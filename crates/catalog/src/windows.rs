//! Files of many small structures, which are read in windows instead of one by one.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use meshmap::{Bytes, ReadRange, Source};

use crate::input::Problem;

/// Longer reads gain nothing from a window.
const SMALL: u64 = 16 << 10;
/// The window after a jump. It holds the headers of a snapshot and the beginning of its mesh.
const FIRST: u64 = 8 << 10;
/// The longest window: windows double as long as reads follow each other.
const LONGEST: u64 = 256 << 10;
/// The number of windows that are retained: structures may point to each other.
const RETAINED: usize = 4;
/// A read that starts this close behind a window follows it.
const NEAR: u64 = 64 << 10;

/// The reads of a file so far.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    count: AtomicU64,
    bytes: AtomicU64,
}

impl Reads {
    /// The number of reads, and of bytes.
    pub(crate) fn totals(&self) -> [u64; 2] {
        [&self.count, &self.bytes].map(|number| number.load(Ordering::Relaxed))
    }

    fn add(&self, bytes: usize) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

struct Window {
    start: u64,
    bytes: Bytes,
}

impl Window {
    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// A copy of a range, which does not keep the window in memory.
    fn copy(&self, range: &Range<u64>) -> Option<Bytes> {
        let start = usize::try_from(range.start.checked_sub(self.start)?).ok()?;
        let length = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
        Some(Bytes::copy_from_slice(
            self.bytes.get(start..)?.get(..length)?,
        ))
    }
}

/// A file that is read in windows.
struct Windows {
    file: File,
    bytes: u64,
    reads: Arc<Reads>,
    /// The windows that are retained, the latest last.
    windows: Mutex<VecDeque<Window>>,
}

/// The file at a path, of which small reads are served from windows, and its reads so far. `bytes` is its length.
///
/// # Errors
///
/// Returns an error if the file cannot be opened.
pub(crate) fn open(path: &Path, bytes: u64) -> Result<(Source, Arc<Reads>), Problem> {
    let file = File::open(path)?;
    let reads = Arc::new(Reads::default());
    let windows = Windows {
        file,
        bytes,
        reads: Arc::clone(&reads),
        windows: Mutex::default(),
    };
    Ok((Source::ranged(windows).with_path(path)?, reads))
}

impl ReadRange for Windows {
    fn len(&self) -> io::Result<Option<u64>> {
        Ok(Some(self.bytes))
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        if range.end.saturating_sub(range.start) > SMALL {
            let bytes = ReadRange::read(&self.file, range)?;
            self.reads.add(bytes.len());
            return Ok(bytes);
        }
        let length = {
            let windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(bytes) = windows.iter().rev().find_map(|window| window.copy(&range)) {
                return Ok(bytes);
            }
            let before = windows.iter().find(|window| {
                window.start <= range.start && range.start <= window.end().saturating_add(NEAR)
            });
            before.map_or(FIRST, |window| {
                (2 * window.bytes.len() as u64).clamp(FIRST, LONGEST)
            })
        };
        let end = range
            .start
            .saturating_add(length)
            .max(range.end)
            .min(self.bytes.max(range.end));
        let bytes = ReadRange::read(&self.file, range.start..end)?;
        self.reads.add(bytes.len());
        let window = Window {
            start: range.start,
            bytes,
        };
        // A file that has become shorter ends inside of the range.
        let found = window.copy(&range).unwrap_or_else(|| window.bytes.clone());
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        if windows.len() >= RETAINED {
            windows.pop_front();
        }
        windows.push_back(window);
        Ok(found)
    }

    fn read_into(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        if out.len() as u64 > SMALL {
            let filled = ReadRange::read_into(&self.file, offset, out)?;
            self.reads.add(filled);
            return Ok(filled);
        }
        let bytes = self.read(offset..offset.saturating_add(out.len() as u64))?;
        let filled = bytes.len().min(out.len());
        out[..filled].copy_from_slice(&bytes[..filled]);
        Ok(filled)
    }
}
