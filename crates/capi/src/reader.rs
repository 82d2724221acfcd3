//! Bytes that come from a caller's memory or callbacks.

use std::ffi::{c_int, c_void};
use std::io;
use std::ops::Range;

use meshmap::{Bytes, ReadRange, Source};

use crate::fail::{Fail, Result};
use crate::memory::First;

/// Gives back what a caller lent; called once, on any thread.
pub type mm_release_fn = Option<unsafe extern "C" fn(user: *mut c_void)>;

/// Callbacks that read a file. No callback may let an exception out. No callback may use the file that it reads: a call that would
/// read from that file, or wait for a part of it, fails with MM_ERROR_IO.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_reader {
    /// sizeof(mm_reader), set by the caller.
    pub size: usize,
    /// Passed to each callback.
    pub user: *mut c_void,
    /// Stores the length of the file in bytes and returns 0, or returns an error number that the caller chooses. NULL if the length
    /// is unknown.
    pub length: Option<unsafe extern "C" fn(user: *mut c_void, length: *mut u64) -> c_int>,
    /// Reads up to `length` bytes from `offset` on into `buffer`, stores the number of bytes read, and returns 0, or returns an
    /// error number that the caller chooses. After fewer than `length` bytes it is called again for the rest, until it stores 0,
    /// which
    /// means that the file ends there. Called on any thread, by several at a time.
    pub read: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            offset: u64,
            buffer: *mut c_void,
            length: usize,
            stored: *mut usize,
        ) -> c_int,
    >,
    /// Called once, when nothing is read any more; also if opening fails. May be NULL.
    pub release: mm_release_fn,
}

// SAFETY: `repr(C)`, and begins with its size; it is read where the caller has set all of it, or set it to 0.
unsafe impl First for mm_reader {}

/// Data that a caller lent, until it is given back.
struct Lent {
    user: *mut c_void,
    release: mm_release_fn,
}

// SAFETY: the header says that callbacks are called on any thread.
unsafe impl Send for Lent {}
// SAFETY: as above; by several at a time.
unsafe impl Sync for Lent {}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: the caller's function, with what it wants to be called with, once.
            unsafe { release(self.user) };
        }
    }
}

/// Memory that the caller owns.
struct Memory {
    start: *const u8,
    length: usize,
    _lent: Lent,
}

// SAFETY: the header says that the memory is not changed until it is given back.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl AsRef<[u8]> for Memory {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: checked when it was made, and lent until `Lent` is dropped.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

/// The source of memory that a caller lends.
///
/// # Safety
///
/// `length` bytes may be read at `data`, and stay, until `release` is called.
pub(crate) unsafe fn memory(
    data: *const c_void,
    length: usize,
    release: mm_release_fn,
    user: *mut c_void,
) -> Result<Source> {
    let lent = Lent { user, release };
    if length == 0 {
        return Ok(Source::from_bytes(Bytes::new()));
    }
    if data.is_null() || isize::try_from(length).is_err() {
        return Err(Fail::argument(
            "expected memory, as long as the length says",
        ));
    }
    let memory = Memory {
        start: data.cast(),
        length,
        _lent: lent,
    };
    Ok(Source::from_bytes(Bytes::from_owner(memory)))
}

/// A reader that the caller provides.
pub(crate) struct Reader {
    callbacks: mm_reader,
    /// The same as in `callbacks`.
    _lent: Lent,
}

// SAFETY: the header says that callbacks are called on any thread.
unsafe impl Send for Reader {}
// SAFETY: as above; by several at a time.
unsafe impl Sync for Reader {}

impl Reader {
    /// # Safety
    ///
    /// `callbacks` is NULL, or an `mm_reader` whose callbacks keep to their documentation.
    pub(crate) unsafe fn new(callbacks: *const mm_reader) -> Result<Self> {
        if callbacks.is_null() {
            return Err(Fail::argument("expected a reader, found NULL"));
        }
        // A caller that forgets to set the size gets its reader back as well: every release has these two fields at these offsets.
        // SAFETY: as the caller promised; alignment is not asked for.
        let user = unsafe { (&raw const (*callbacks).user).read_unaligned() };
        // SAFETY: as above.
        let release = unsafe { (&raw const (*callbacks).release).read_unaligned() };
        let _lent = Lent { user, release };
        let none = mm_reader {
            size: 0,
            user: std::ptr::null_mut(),
            length: None,
            read: None,
            release: None,
        };
        // SAFETY: as the caller promised.
        let callbacks = unsafe { crate::memory::take_sized(callbacks, none) }?;
        if callbacks.read.is_none() {
            return Err(Fail::argument("expected a callback that reads, found NULL"));
        }
        Ok(Self { callbacks, _lent })
    }
}

fn failed(number: c_int) -> io::Error {
    io::Error::other(format!("the reader returned {number}"))
}

impl ReadRange for Reader {
    fn len(&self) -> io::Result<Option<u64>> {
        let Some(length) = self.callbacks.length else {
            return Ok(None);
        };
        let mut found = 0;
        // SAFETY: the caller's function, with what it wants to be called with.
        match unsafe { length(self.callbacks.user, &raw mut found) } {
            0 => Ok(Some(found)),
            number => Err(failed(number)),
        }
    }

    /// Piece by piece, so that no memory is taken for a length that is wrong.
    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        const PIECE: u64 = 16 << 20;
        let mut bytes = Vec::new();
        let mut start = range.start;
        while start < range.end {
            let end = range.end.min(start.saturating_add(PIECE));
            let wanted = usize::try_from(end.saturating_sub(start)).map_err(io::Error::other)?;
            let first = bytes.len();
            bytes
                .try_reserve(wanted)
                .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
            bytes.resize(first.saturating_add(wanted), 0_u8);
            let filled = self.fill(start, bytes.get_mut(first..).unwrap_or_default())?;
            if filled < wanted {
                bytes.truncate(first.saturating_add(filled));
                break;
            }
            start = end;
        }
        Ok(bytes.into())
    }
}

impl Reader {
    /// Reads until `out` is full or the file ends, and returns the number of bytes.
    fn fill(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        let Some(read) = self.callbacks.read else {
            return Err(failed(0));
        };
        let mut filled = 0;
        while let Some(rest) = out.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            let start = offset.saturating_add(filled as u64);
            let wanted = rest.len();
            let mut stored = 0;
            // SAFETY: the caller's function, with what it wants to be called with; `wanted` bytes may be written.
            let status = unsafe {
                read(
                    self.callbacks.user,
                    start,
                    rest.as_mut_ptr().cast(),
                    wanted,
                    &raw mut stored,
                )
            };
            if status != 0 {
                return Err(failed(status));
            }
            if stored > wanted {
                let text =
                    format!("the reader claims to have stored {stored} bytes where {wanted} fit");
                return Err(io::Error::other(text));
            }
            if stored == 0 {
                break;
            }
            filled = filled.saturating_add(stored);
        }
        Ok(filled)
    }
}
