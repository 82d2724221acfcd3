//! The details of the last failure on each thread.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use meshmap::Error;

use super::status::*;
use crate::flag;
use crate::format::{format_number, mm_format};
use crate::memory::{First, c_string, put_sized};

/// The last failure on a thread.
#[derive(Default)]
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
        Self {
            status,
            text: c_string(text),
            ..Self::default()
        }
    }

    fn of(error: &Error) -> Self {
        Self {
            status: status_of(&error.kind()),
            format: error.format().map_or(0, format_number),
            text: c_string(&format!("{error:#}")),
            what: c_string(error.what()),
            address: error
                .address()
                .map(|address| c_string(&address.to_string()))
                .unwrap_or_default(),
            path: error
                .path()
                .map(|path| c_string(&path.to_string_lossy()))
                .unwrap_or_default(),
            expected: c_string(&error.cause().expected()),
            found: c_string(&error.cause().found()),
            bytes: error.byte_range(),
            decoded: error.decoded_range(),
        }
    }
}

/// Runs the work of a function, which the flag of this thread cancels, and keeps the details of its failure.
pub(crate) fn guard(job: impl FnOnce() -> Result<()>) -> mm_status {
    let job = || match flag::current() {
        Some(flag) => meshmap::cancellable(&flag, job),
        None => job(),
    };
    let record = match catch_unwind(AssertUnwindSafe(job)) {
        Ok(Ok(())) => return MM_OK,
        Ok(Err(Fail::Absent)) => return MM_ABSENT,
        Ok(Err(Fail::Library(error))) => Record::of(&error),
        Ok(Err(Fail::Own(status, text))) => Record::own(status, &text),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().copied().map(str::to_owned);
            let text = text
                .or_else(|| panic.downcast_ref::<String>().cloned())
                .unwrap_or_default();
            Record::own(
                MM_ERROR_INTERNAL,
                &format!("the library failed within: {text}"),
            )
        }
    };
    let status = record.status;
    // While a thread ends there may be no place for it.
    let _ = LAST.try_with(|last| last.replace(Some(record)));
    status
}

/// The details of a failure.
///
/// No pointer is NULL; texts that there is nothing to say for are empty. All are UTF-8, each on one line.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_error {
    /// sizeof(mm_error), set by the caller.
    pub size: usize,
    /// The status that the function returned.
    pub status: mm_status,
    /// The format that was being read, or MM_FORMAT_UNKNOWN.
    pub format: mm_format,
    /// All of it as one line, with the path if it is known.
    pub text: *const c_char,
    /// The structure or field, as the specification of the format names it.
    pub what: *const c_char,
    /// The address in the file, such as `snapshots[3]`.
    pub address: *const c_char,
    /// The path of the file.
    pub path: *const c_char,
    /// The expected value.
    pub expected: *const c_char,
    /// The value that was found.
    pub found: *const c_char,
    /// `true` if byte_begin and byte_end are valid.
    pub has_byte_range: bool,
    /// `true` if decoded_begin and decoded_end are valid.
    pub has_decoded_range: bool,
    /// The bytes that are wrong or missing, from the start of the file.
    pub byte_begin: u64,
    /// Their end.
    pub byte_end: u64,
    /// The bytes that are wrong inside a decoded block, from its start; byte_begin and byte_end are then the range of the block.
    pub decoded_begin: u64,
    /// Their end.
    pub decoded_end: u64,
}

// SAFETY: `repr(C)`, and begins with its size.
unsafe impl First for mm_error {}

/// The details of the last failure of a function on the calling thread. Functions that succeed, or return MM_ABSENT,
/// leave it as it is. The texts are the library's, and valid until another function fails on this thread, or the thread
/// ends. Each thread has its own last failure. MM_ABSENT if no function has failed on this thread. MM_ERROR_ARGUMENT is
/// not kept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_last_error(out: *mut mm_error) -> mm_status {
    let told = LAST.try_with(|last| {
        let last = last.borrow();
        let record = last.as_ref().ok_or(Fail::Absent)?;
        let range = |range: &Option<Range<u64>>| range.clone().unwrap_or_default();
        let bytes = range(&record.bytes);
        let decoded = range(&record.decoded);
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
        let text = LAST
            .with(|last| last.borrow().as_ref().map(|record| record.text.clone()))
            .unwrap();
        assert_eq!(text.to_str(), Ok("the library failed within: of the test"));
    }
}
