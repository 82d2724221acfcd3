//! What functions return, and what is known of the last failure on each thread.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use meshmap::{Error, ErrorKind, Finding};

use crate::memory::{First, c_string, put_sized};
use crate::options::{format_number, mm_format};

/// What a function returns: MM_OK, MM_ABSENT, or one of MM_ERROR_*. Values of either may be added.
pub type mm_status = i32;

/// The values of a status.
pub(crate) mod status {
    use super::mm_status;

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
    /// Valid, as far as this library can tell, but not read by it; or asked of a file that cannot have it.
    pub const MM_ERROR_UNSUPPORTED: mm_status = 13;
    /// More memory would be needed than the limits of mm_options allow.
    pub const MM_ERROR_LIMIT_EXCEEDED: mm_status = 14;
    /// Something was asked for that does not exist: an index, an address, a time.
    pub const MM_ERROR_OUT_OF_RANGE: mm_status = 15;
    /// Two things do not match, such as snapshots with different triangles.
    pub const MM_ERROR_MISMATCH: mm_status = 16;
    /// The call was cancelled by mm_cancel_set.
    pub const MM_ERROR_CANCELLED: mm_status = 17;
    /// The operating system or a reader of the caller's failed.
    pub const MM_ERROR_IO: mm_status = 18;
    /// An argument cannot be used: NULL where something is needed, a stride less than an element, a struct whose size is
    /// not set.
    pub const MM_ERROR_ARGUMENT: mm_status = 30;
    /// A handle was closed, is of another kind, or never was one.
    pub const MM_ERROR_HANDLE: mm_status = 31;
    /// The caller's memory is too small. What is needed is in the count; nothing was written.
    pub const MM_ERROR_BUFFER: mm_status = 32;
    /// Another thread is using this scratch, or is filling this snapshot.
    pub const MM_ERROR_BUSY: mm_status = 33;
    /// The file is of another format than the function is for.
    pub const MM_ERROR_FORMAT: mm_status = 34;
    /// The library failed within; the call had no effect that can be relied on. Please report it.
    pub const MM_ERROR_INTERNAL: mm_status = 35;
}

use status::*;

pub(crate) type Result<T, E = Fail> = std::result::Result<T, E>;

/// Why a call does not end with MM_OK.
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

impl From<Error> for Fail {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

fn status_of(kind: &ErrorKind) -> mm_status {
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

/// The last failure on a thread.
struct Record {
    status: mm_status,
    format: mm_format,
    text: CString,
    what: CString,
    address: CString,
    path: CString,
    expected: CString,
    found: CString,
    bytes: Option<Range<u64>>,
    decoded: Option<Range<u64>>,
}

thread_local! {
    static LAST: RefCell<Option<Record>> = const { RefCell::new(None) };
}

impl Record {
    fn own(status: mm_status, text: &str) -> Self {
        let none = CString::default;
        let (what, address, path, expected, found) = (none(), none(), none(), none(), none());
        let text = c_string(text);
        Self { status, format: 0, text, what, address, path, expected, found, bytes: None, decoded: None }
    }

    fn of(error: &Error) -> Self {
        Self {
            status: status_of(&error.kind()),
            format: error.format().map_or(0, format_number),
            text: c_string(&format!("{error:#}")),
            what: c_string(error.what()),
            address: error.address().map(|address| c_string(&address.to_string())).unwrap_or_default(),
            path: error.path().map(|path| c_string(&path.to_string_lossy())).unwrap_or_default(),
            expected: c_string(error.expected_text()),
            found: c_string(error.found_text()),
            bytes: error.byte_range(),
            decoded: error.decoded_range(),
        }
    }
}

/// Runs what a function does, and keeps what is known of its failure.
pub(crate) fn guard(job: impl FnOnce() -> Result<()>) -> mm_status {
    let record = match catch_unwind(AssertUnwindSafe(job)) {
        Ok(Ok(())) => return MM_OK,
        Ok(Err(Fail::Absent)) => return MM_ABSENT,
        Ok(Err(Fail::Library(error))) => Record::of(&error),
        Ok(Err(Fail::Own(status, text))) => Record::own(status, &text),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().copied().map(str::to_owned);
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            Record::own(MM_ERROR_INTERNAL, &format!("the library failed within: {text}"))
        }
    };
    let status = record.status;
    // While a thread ends there may be no place for it.
    let _ = LAST.try_with(|last| last.replace(Some(record)));
    status
}

/// What is known of a failure.
///
/// No pointer is NULL; texts that there is nothing to say for are empty. All are UTF-8, each on one line.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_error {
    /// sizeof(mm_error), set by the caller.
    pub size: usize,
    /// What the function returned.
    pub status: mm_status,
    /// The format that was being read: one of MM_FORMAT_*, or 0.
    pub format: mm_format,
    /// All of it as one line, with the path where there is one.
    pub text: *const c_char,
    /// The structure or field, as the specification of the format names it.
    pub what: *const c_char,
    /// Where it is in the file, such as `snapshots[3]`.
    pub address: *const c_char,
    /// The path of the file.
    pub path: *const c_char,
    /// What should have been there.
    pub expected: *const c_char,
    /// What was there.
    pub found: *const c_char,
    /// Whether byte_begin and byte_end say something.
    pub has_byte_range: bool,
    /// Whether decoded_begin and decoded_end say something.
    pub has_decoded_range: bool,
    /// The bytes that are wrong or missing, from the start of the file.
    pub byte_begin: u64,
    /// Their end.
    pub byte_end: u64,
    /// The bytes that are wrong inside a decoded block, from its start; the others then are those of the block.
    pub decoded_begin: u64,
    /// Their end.
    pub decoded_end: u64,
}

// SAFETY: `repr(C)`, and begins with its size.
unsafe impl First for mm_error {}

/// What is known of the last failure of a function on the calling thread. Functions that succeed, or return MM_ABSENT, leave
/// it as it is.
///
/// Ownership: the texts are the library's, and valid until another function fails on this thread, or the thread ends. Threads:
/// each has its own last failure. Errors: MM_ABSENT where no function has failed on this thread; MM_ERROR_ARGUMENT, which is
/// not kept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_last_error(out: *mut mm_error) -> mm_status {
    let told = LAST.try_with(|last| {
        let last = last.borrow();
        let record = last.as_ref().ok_or(Fail::Absent)?;
        let range = |range: &Option<Range<u64>>| range.clone().unwrap_or_default();
        let (bytes, decoded) = (range(&record.bytes), range(&record.decoded));
        let error = mm_error {
            size: 0,
            status: record.status,
            format: record.format,
            text: record.text.as_ptr(),
            what: record.what.as_ptr(),
            address: record.address.as_ptr(),
            path: record.path.as_ptr(),
            expected: record.expected.as_ptr(),
            found: record.found.as_ptr(),
            has_byte_range: record.bytes.is_some(),
            has_decoded_range: record.decoded.is_some(),
            byte_begin: bytes.start,
            byte_end: bytes.end,
            decoded_begin: decoded.start,
            decoded_end: decoded.end,
        };
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, error) }
    });
    match told {
        Ok(Ok(())) => MM_OK,
        Ok(Err(Fail::Absent)) | Err(_) => MM_ABSENT,
        Ok(Err(_)) => MM_ERROR_ARGUMENT,
    }
}

/// A word for a status, such as "malformed".
///
/// Ownership: the text is static. Threads: any. Errors: "unknown status" for a number that is none.
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
        MM_ERROR_BUSY => c"in use by another thread",
        MM_ERROR_FORMAT => c"file of another format",
        MM_ERROR_INTERNAL => c"failed within",
        _ => c"unknown status",
    };
    name.as_ptr()
}

/// A finding as a line, for lists.
pub(crate) fn line(finding: &Finding) -> CString {
    c_string(&finding.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_as_a_status() {
        let status = guard(|| {
            let nothing: Option<u8> = None;
            assert!(nothing.is_some(), "of the test");
            Ok(())
        });
        assert_eq!(status, MM_ERROR_INTERNAL);
        let text = LAST.with(|last| last.borrow().as_ref().map(|record| record.text.clone())).unwrap();
        assert_eq!(text.to_str(), Ok("the library failed within: of the test"));
    }
}
