use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use meshmap::ReadRange;

/// A reader of memory that keeps account of what it was asked for.
pub struct Recorder {
    /// The bytes that are read.
    pub bytes: Vec<u8>,
    /// `true` if it reports its length.
    pub tells_length: bool,
    /// The ranges that it was asked for, in order.
    pub reads: Mutex<Vec<Range<u64>>>,
}

impl Recorder {
    /// A reader that reports its length.
    pub fn new(bytes: Vec<u8>) -> Arc<Self> {
        Arc::new(Self { bytes, tells_length: true, reads: Mutex::default() })
    }

    /// A reader that does not report its length.
    pub fn of_unknown_length(bytes: Vec<u8>) -> Arc<Self> {
        Arc::new(Self { bytes, tells_length: false, reads: Mutex::default() })
    }
}

impl ReadRange for Recorder {
    fn len(&self) -> io::Result<Option<u64>> {
        Ok(self.tells_length.then_some(self.bytes.len() as u64))
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.reads.lock().unwrap().push(range.clone());
        let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(self.bytes.len());
        Ok(Bytes::copy_from_slice(&self.bytes[at(range.start)..at(range.end)]))
    }
}
