//! The reasons for which calls fail, and the codes that functions return.

use std::borrow::Cow;
use std::ffi::{CStr, c_char};
use std::sync::{TryLockError, TryLockResult};

use meshmap::{Error, ErrorKind};

/// The result of a function: MM_OK, MM_ABSENT, or one of MM_ERROR_*. Values of either may be added.
pub type mm_status = i32;

/// It is done.
pub const MM_OK: mm_status = 0;
/// Not an error: the file does not have what was asked for. Nothing was written, and counts are 0.
pub const MM_ABSENT: mm_status = 1;
/// The file has no format that this library knows.
pub const MM_ERROR_UNKNOWN_FORMAT: mm_status = 10;
/// The file ends too early: more bytes would help.
pub const MM_ERROR_TRUNCATED: mm_status = 11;
/// The file breaks a rule of its format in a way that makes it unreadable.
pub const MM_ERROR_MALFORMED: mm_status = 12;
/// Valid, as far as this library can determine, but not supported by it; or requested of a file that cannot have it.
pub const MM_ERROR_UNSUPPORTED: mm_status = 13;
/// More memory would be needed than the limits of mm_options allow.
pub const MM_ERROR_LIMIT_EXCEEDED: mm_status = 14;
/// Something was asked for that does not exist: an index, an address, a time.
pub const MM_ERROR_OUT_OF_RANGE: mm_status = 15;
/// Two things do not match, such as snapshots with different triangles.
pub const MM_ERROR_MISMATCH: mm_status = 16;
/// The call was cancelled by mm_cancel_set.
pub const MM_ERROR_CANCELLED: mm_status = 17;
/// The operating system or the caller's reader failed, or a callback of that reader used the file that it reads.
pub const MM_ERROR_IO: mm_status = 18;
/// An argument cannot be used: NULL where something is needed, a stride less than an element, a struct whose size is
/// not set.
pub const MM_ERROR_ARGUMENT: mm_status = 30;
/// A handle was closed, is of another kind, or never was one.
pub const MM_ERROR_HANDLE: mm_status = 31;
/// The caller's memory is too small. What is needed is in the count; nothing was written.
pub const MM_ERROR_BUFFER: mm_status = 32;
/// Another call is using this scratch or this snapshot: on another thread, or one that this call was made by.
pub const MM_ERROR_BUSY: mm_status = 33;
/// The file is of another format than the function is for.
pub const MM_ERROR_FORMAT: mm_status = 34;
/// The library failed within; the call had no effect that can be relied on. Please report it.
pub const MM_ERROR_INTERNAL: mm_status = 35;

pub(crate) type Result<T, E = Fail> = std::result::Result<T, E>;

/// The reason why a call does not end with MM_OK.
#[derive(Debug)]
pub(crate) enum Fail {
    Library(Error),
    Own(mm_status, Cow<'static, str>),
    Absent,
}

impl Fail {
    pub(crate) fn new(status: mm_status, text: impl Into<Cow<'static, str>>) -> Self {
        Self::Own(status, text.into())
    }

    pub(crate) fn argument(text: impl Into<Cow<'static, str>>) -> Self {
        Self::Own(MM_ERROR_ARGUMENT, text.into())
    }
}

/// The guarded content of a lock, unless another call holds it.
pub(crate) fn free<T>(lock: TryLockResult<T>, busy: &'static str) -> Result<T> {
    match lock {
        Ok(guarded) => Ok(guarded),
        // A panic was reported when it happened; the contents are made again.
        Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => Err(Fail::new(MM_ERROR_BUSY, busy)),
    }
}

impl From<Error> for Fail {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

pub(super) fn status_of(kind: &ErrorKind) -> mm_status {
    match kind {
        ErrorKind::UnknownFormat => MM_ERROR_UNKNOWN_FORMAT,
        // No source of this interface asks for bytes.
        ErrorKind::Truncated | ErrorKind::NeedBytes(_) => MM_ERROR_TRUNCATED,
        ErrorKind::Malformed => MM_ERROR_MALFORMED,
        ErrorKind::Unsupported => MM_ERROR_UNSUPPORTED,
        ErrorKind::LimitExceeded => MM_ERROR_LIMIT_EXCEEDED,
        ErrorKind::OutOfRange => MM_ERROR_OUT_OF_RANGE,
        ErrorKind::Mismatch => MM_ERROR_MISMATCH,
        ErrorKind::Cancelled => MM_ERROR_CANCELLED,
        ErrorKind::Io(_) => MM_ERROR_IO,
        _ => MM_ERROR_INTERNAL,
    }
}

/// A word for a status, such as "malformed". Returns "unknown status" for a number that is none.
#[unsafe(no_mangle)]
pub extern "C" fn mm_status_name(status: mm_status) -> *const c_char {
    let name: &CStr = match status {
        MM_OK => c"ok",
        MM_ABSENT => c"absent",
        MM_ERROR_UNKNOWN_FORMAT => c"unknown format",
        MM_ERROR_TRUNCATED => c"truncated",
        MM_ERROR_MALFORMED => c"malformed",
        MM_ERROR_UNSUPPORTED => c"unsupported",
        MM_ERROR_LIMIT_EXCEEDED => c"limit exceeded",
        MM_ERROR_OUT_OF_RANGE => c"out of range",
        MM_ERROR_MISMATCH => c"mismatch",
        MM_ERROR_CANCELLED => c"cancelled",
        MM_ERROR_IO => c"cannot read",
        MM_ERROR_ARGUMENT => c"wrong argument",
        MM_ERROR_HANDLE => c"wrong handle",
        MM_ERROR_BUFFER => c"memory too small",
        MM_ERROR_BUSY => c"in use by another call",
        MM_ERROR_FORMAT => c"file of another format",
        MM_ERROR_INTERNAL => c"failed within",
        _ => c"unknown status",
    };
    name.as_ptr()
}
