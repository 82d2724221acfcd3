//! Advice to the system about which bytes of a file will be used, which changes nothing but the time that they take.

use std::fs::File;
use std::ops::Range;

/// Begins to read bytes of a file into the page cache, on systems that can, and returns at once.
#[cfg(all(target_os = "linux", not(miri)))]
#[allow(unsafe_code, reason = "a call of the system that takes numbers only")]
pub(super) fn will_read(file: &File, range: &Range<u64>) {
    use std::os::fd::AsRawFd;
    let length = range.end.saturating_sub(range.start);
    let (Ok(start), Ok(length)) = (range.start.try_into(), length.try_into()) else { return };
    // SAFETY: the file is open as long as it is borrowed, and the call takes no memory of this process.
    let _ = unsafe { libc::posix_fadvise(file.as_raw_fd(), start, length, libc::POSIX_FADV_WILLNEED) };
}

#[cfg(any(not(target_os = "linux"), miri))]
pub(super) fn will_read(_: &File, _: &Range<u64>) {}

/// Begins to read the pages of mapped bytes, on systems that can, and returns at once.
#[cfg(all(target_os = "linux", not(miri)))]
#[allow(unsafe_code, reason = "a call of the system that leaves the bytes as they are")]
pub(super) fn will_use(bytes: &[u8]) {
    /// The smallest size of pages. Where pages are larger, the system refuses most places, and there is no advice.
    const PAGE: usize = 4096;
    let start = bytes.as_ptr().cast_mut();
    let (start, before) = (start.wrapping_sub(start.addr() % PAGE), start.addr() % PAGE);
    // SAFETY: bytes before these are of the same page, so that the whole range is mapped. The advice does not change what it holds.
    let _ = unsafe { libc::madvise(start.cast(), bytes.len().saturating_add(before), libc::MADV_WILLNEED) };
}

#[cfg(any(not(target_os = "linux"), miri))]
pub(super) fn will_use(_: &[u8]) {}
