use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use zerocopy::FromZeros;

use super::range::truncated;
use crate::num::{Span, as_u64, as_usize};
use crate::report::{Error, Result};

/// A store that answers byte ranges, and blocks until it has them.
///
/// [`File`] is one, and so is an `Arc` of one.
///
/// A reader must not use the file that it reads, such as a [`MeshFile`](crate::MeshFile) over its own [`Source`](crate::Source). On the thread
/// that called the reader this is an [`Io`](crate::ErrorKind::Io) error with
/// [`Deadlock`](std::io::ErrorKind::Deadlock), not a deadlock. A reader must also not wait for another
/// thread that uses the file: this deadlock is not detected.
/// Workers of a rayon pool are exempt: a reader that waits for rayon may run another task that reads from the same source.
#[expect(
    clippy::len_without_is_empty,
    reason = "a store of unknown length cannot tell"
)]
pub trait ReadRange: Send + Sync {
    /// The length in bytes, or `None` if the store does not know it.
    ///
    /// # Errors
    ///
    /// Whatever the store reports.
    fn len(&self) -> io::Result<Option<u64>>;

    /// The bytes of a range: all of them, or fewer if the store ends inside it.
    ///
    /// If [`len`](Self::len) is known, no range reaches beyond it. Otherwise, a range may (a damaged file can declare any length),
    /// but no single range is longer than 16 MiB.
    ///
    /// # Errors
    ///
    /// Whatever the store reports. An error of a [`Meter`](crate::Meter) in it, which the reader has charged for the bytes, is the error
    /// of the call that reads.
    fn read(&self, range: Range<u64>) -> io::Result<Bytes>;

    /// Reads the bytes from `offset` on into `out`, and returns how many there are: fewer than `out` only if the store ends.
    ///
    /// Stores that can read into the caller's memory override this, which copies the result of [`read`](Self::read).
    ///
    /// # Errors
    ///
    /// Whatever the store reports.
    fn read_into(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        let bytes = self.read(offset..offset.saturating_add(as_u64(out.len())))?;
        let count = bytes.len().min(out.len());
        if let (Some(out), Some(bytes)) = (out.get_mut(..count), bytes.get(..count)) {
            out.copy_from_slice(bytes);
        }
        Ok(count)
    }

    /// Called with bytes that will probably be read soon. Stores that can fetch ahead override this, which does nothing.
    ///
    /// It must return at once. A damaged file can announce anything, so the range may be long, and may end beyond the store.
    fn will_read(&self, range: Range<u64>) {
        let _ = range;
    }
}

impl<T: ReadRange + ?Sized> ReadRange for Arc<T> {
    fn len(&self) -> io::Result<Option<u64>> {
        (**self).len()
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        (**self).read(range)
    }

    fn read_into(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        (**self).read_into(offset, out)
    }

    fn will_read(&self, range: Range<u64>) {
        (**self).will_read(range);
    }
}

impl ReadRange for File {
    fn len(&self) -> io::Result<Option<u64>> {
        Ok(Some(self.metadata()?.len()))
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        let out_of_memory = || io::Error::from(io::ErrorKind::OutOfMemory);
        let count = usize::try_from(range.length()).map_err(|_| out_of_memory())?;
        let mut buffer = u8::new_vec_zeroed(count).map_err(|_| out_of_memory())?;
        let filled = self.read_into(range.start, &mut buffer)?;
        buffer.truncate(filled);
        Ok(buffer.into())
    }

    fn read_into(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < out.len() {
            let rest = out.get_mut(filled..).unwrap_or_default();
            match read_at(self, rest, offset.saturating_add(as_u64(filled))) {
                Ok(0) => break,
                Ok(count) => filled = filled.saturating_add(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    fn will_read(&self, range: Range<u64>) {
        read_ahead(self, range);
    }
}

/// Advises the system to read bytes of a file into its cache, if it accepts advice: `madvise`, through a map that lasts as long
/// as the call and is never read.
fn read_ahead(file: &File, range: Range<u64>) {
    #[cfg(all(feature = "mmap", unix, not(miri)))]
    {
        /// A damaged file can declare any length.
        const MAX_LENGTH: u64 = 16 << 20;
        let length = as_usize(range.length().min(MAX_LENGTH));
        let mut options = memmap2::MmapOptions::new();
        options.offset(range.start).len(length);
        if let Ok(map) = options.map_raw_read_only(file) {
            let _ = map.advise_range(memmap2::Advice::WillNeed, 0, length);
        }
    }
    #[cfg(not(all(feature = "mmap", unix, not(miri))))]
    let _ = (file, range);
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

#[cfg(not(any(unix, windows)))]
fn read_at(mut file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    use std::io::{Read, Seek, SeekFrom};
    // Without positioned reads the position is shared; one reader at a time moves it.
    static POSITION: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _guard = POSITION
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    file.seek(SeekFrom::Start(offset))?;
    Read::read(&mut file, buffer)
}

/// A reader, what is known of its length, and what it has read.
pub(super) struct Reader {
    inner: Box<dyn ReadRange>,
    pub(super) len: OnceLock<u64>,
    pub(super) reads: AtomicU64,
    pub(super) bytes: AtomicU64,
}

impl Reader {
    /// The maximum length of a single read while the length of the store is unknown: no memory is allocated for a length that
    /// only a file declares.
    const BLIND_READ: u64 = 16 << 20;

    pub(super) fn new(inner: impl ReadRange + 'static) -> Self {
        Self {
            inner: Box::new(inner),
            len: OnceLock::new(),
            reads: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    pub(super) fn len(&self) -> io::Result<Option<u64>> {
        if let Some(len) = self.len.get() {
            return Ok(Some(*len));
        }
        let Some(len) = self.call(|reader| reader.len())? else {
            return Ok(None);
        };
        // Another thread may have set it meanwhile: all calls return one length.
        Ok(Some(*self.len.get_or_init(|| len)))
    }

    /// Calls the caller's reader, unless it is running on this thread.
    fn call<T>(&self, work: impl FnOnce(&dyn ReadRange) -> io::Result<T>) -> io::Result<T> {
        self.refuse_reentry()?;
        let _running = Running::new(self);
        work(&*self.inner)
    }

    /// Announces a read to the reader, unless it is running on this thread.
    pub(super) fn will_read(&self, range: Range<u64>) {
        let _ = self.call(|reader| {
            reader.will_read(range);
            Ok(())
        });
    }

    /// Returns an error if this thread is in a call of the reader, and so is called by it.
    fn refuse_reentry(&self) -> io::Result<()> {
        if is_rayon_worker() || !Running::is_on_this_thread(self) {
            return Ok(());
        }
        let text = "the reader uses the file that it reads, which would wait for the reader";
        Err(io::Error::new(io::ErrorKind::Deadlock, text))
    }

    /// The whole range, or an error.
    pub(super) fn read(&self, range: &Range<u64>, what: &'static str) -> Result<Bytes> {
        let bytes = self.read_some(range, what)?;
        let found = as_u64(bytes.len());
        if found < range.length() {
            return Err(truncated(range, found, what));
        }
        Ok(bytes)
    }

    /// The range as far as the reader has it.
    pub(super) fn read_some(&self, range: &Range<u64>, what: &'static str) -> Result<Bytes> {
        // Known from the start, or since an earlier read has reached the end.
        let len = self.len.get().copied();
        let available = range.start..range.end.min(len.unwrap_or(u64::MAX));
        if available.is_empty() {
            return Ok(Bytes::new());
        }
        if len.is_some() || available.length() <= Self::BLIND_READ {
            return self.read_once(&available, what);
        }
        let mut joined = Vec::new();
        let mut start = available.start;
        while start < available.end {
            let end = start.saturating_add(Self::BLIND_READ).min(available.end);
            let piece = start..end;
            let bytes = self.read_once(&piece, what)?;
            joined.extend_from_slice(&bytes);
            if as_u64(bytes.len()) < piece.length() {
                break;
            }
            start = end;
        }
        Ok(joined.into())
    }

    /// The whole range, into memory of its length.
    pub(super) fn read_to(
        &self,
        range: &Range<u64>,
        what: &'static str,
        out: &mut [u8],
    ) -> Result<()> {
        let filled = self
            .call(|reader| reader.read_into(range.start, out))
            .map_err(|error| Error::of_reader(error, what).at(range.clone()))?;
        let filled = as_u64(filled.min(out.len()));
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(filled, Ordering::Relaxed);
        if filled < as_u64(out.len()) {
            return Err(truncated(range, filled, what));
        }
        Ok(())
    }

    fn read_once(&self, range: &Range<u64>, what: &'static str) -> Result<Bytes> {
        let mut bytes = self
            .call(|reader| reader.read(range.clone()))
            .map_err(|error| Error::of_reader(error, what).at(range.clone()))?;
        // The caller's reader may return more than it was asked for.
        bytes.truncate(as_usize(range.length()));
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(as_u64(bytes.len()), Ordering::Relaxed);
        let end = range.start.saturating_add(as_u64(bytes.len()));
        // An empty result reveals only that the source ends before the range, or at its start.
        if end < range.end && (!bytes.is_empty() || range.start == 0) {
            let _ = self.len.set(end);
        }
        Ok(bytes)
    }
}

/// `true` on a thread of a rayon pool, which may run a task while another task on the same thread is in a reader.
pub(crate) fn is_rayon_worker() -> bool {
    #[cfg(feature = "rayon")]
    let is_worker = rayon::current_thread_index().is_some();
    #[cfg(not(feature = "rayon"))]
    let is_worker = false;
    is_worker
}

thread_local! {
    /// The addresses of the readers that are running on this thread. The innermost one is the last.
    static RUNNING: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// A call of a reader on this thread.
struct Running;

impl Running {
    fn new(reader: &Reader) -> Self {
        // While a thread ends, its list is gone, and nothing is recorded.
        let _ = RUNNING.try_with(|running| running.borrow_mut().push(Self::address(reader)));
        Self
    }

    fn is_on_this_thread(reader: &Reader) -> bool {
        RUNNING
            .try_with(|running| running.borrow().contains(&Self::address(reader)))
            .unwrap_or(false)
    }

    fn address(reader: &Reader) -> usize {
        std::ptr::from_ref(reader).addr()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = RUNNING.try_with(|running| running.borrow_mut().pop());
    }
}

/// The amount of data that a source has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadStats {
    /// The number of requests to the reader.
    pub reads: u64,
    /// The bytes that it returned.
    pub bytes: u64,
}
