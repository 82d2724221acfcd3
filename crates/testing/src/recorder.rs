use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use meshmap::{ReadRange, Source};

/// A reader of memory that keeps account of what it was asked for.
pub struct Recorder {
    /// The bytes that are read.
    pub bytes: Vec<u8>,
    /// `true` if it reports its length.
    pub tells_length: bool,
    /// The ranges that it was asked for, in order.
    pub reads: Mutex<Vec<Range<u64>>>,
    /// The ranges of `will_read`, in order.
    pub told: Mutex<Vec<Range<u64>>>,
    /// The number of further reads that succeed.
    left: AtomicUsize,
}

impl Recorder {
    /// A reader that reports its length.
    pub fn new(bytes: Vec<u8>) -> Arc<Self> {
        Self::with(bytes, true)
    }

    /// A reader that does not report its length.
    pub fn of_unknown_length(bytes: Vec<u8>) -> Arc<Self> {
        Self::with(bytes, false)
    }

    fn with(bytes: Vec<u8>, tells_length: bool) -> Arc<Self> {
        let (reads, told) = Default::default();
        Arc::new(Self {
            bytes,
            tells_length,
            reads,
            told,
            left: usize::MAX.into(),
        })
    }

    /// Fails with a timeout after this many further reads.
    pub fn fail_after(&self, reads: usize) {
        self.left.store(reads, SeqCst);
    }

    /// The ranges since the last call, in order.
    pub fn take(&self) -> Vec<Range<u64>> {
        std::mem::take(&mut *self.reads.lock().unwrap())
    }

    /// The ranges so far, in order.
    pub fn reads(&self) -> Vec<Range<u64>> {
        self.reads.lock().unwrap().clone()
    }

    /// The number of bytes in the ranges so far.
    pub fn bytes_read(&self) -> u64 {
        self.reads()
            .iter()
            .map(|range| range.end - range.start)
            .sum()
    }
}

impl ReadRange for Recorder {
    fn len(&self) -> io::Result<Option<u64>> {
        Ok(self.tells_length.then_some(self.bytes.len() as u64))
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        if self
            .left
            .fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1))
            .is_err()
        {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.reads.lock().unwrap().push(range.clone());
        Ok(part(&self.bytes, &range))
    }

    fn will_read(&self, range: Range<u64>) {
        self.told.lock().unwrap().push(range);
    }
}

/// The bytes of a range, as far as there are any.
fn part(bytes: &[u8], range: &Range<u64>) -> Bytes {
    let at = |offset: u64| {
        usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(bytes.len())
    };
    Bytes::copy_from_slice(&bytes[at(range.start)..at(range.end)])
}

struct Hooked<F>(Bytes, F);

impl<F: Fn(&Range<u64>) -> io::Result<()> + Send + Sync> ReadRange for Hooked<F> {
    fn len(&self) -> io::Result<Option<u64>> {
        Ok(Some(self.0.len() as u64))
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.1(&range)?;
        Ok(part(&self.0, &range))
    }
}

/// A reader of memory that calls a function before each read. What it reads are copies, and it keeps no account.
pub fn hooked(
    bytes: impl Into<Bytes>,
    before: impl Fn(&Range<u64>) -> io::Result<()> + Send + Sync + 'static,
) -> Source {
    Source::ranged(Hooked(bytes.into(), before))
}
