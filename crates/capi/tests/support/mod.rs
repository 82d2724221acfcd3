//! Code that the tests of the interface share: calls, and comparisons with the library.
#![allow(
    dead_code,
    unused_macros,
    unsafe_code,
    unreachable_pub,
    reason = "each test uses a part of this, and calls C functions"
)]

use std::ffi::{CStr, CString, c_char, c_void};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};

use meshmap::Format;
use meshmap_capi::*;
use meshmap_testing::data;

/// Runs a call that must succeed.
macro_rules! ok {
    ($call:expr) => {
        // SAFETY: places and text that are there.
        match unsafe { $call } {
            MM_OK => {}
            status => panic!(
                "{}: {status}: {}",
                stringify!($call),
                text(last_error().text)
            ),
        }
    };
}

/// Runs a call for its status.
macro_rules! status {
    ($call:expr) => {
        // SAFETY: places and text that are there.
        unsafe { $call }
    };
}

/// The valid files of a corpus.
pub fn valid_files(root: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for format in Format::ALL {
        let folder = root.join(format.name()).join("valid");
        paths.extend(data::files(&folder));
    }
    paths
}

/// A struct that begins with its size, otherwise empty.
pub fn sized<T>() -> T {
    // SAFETY: only structs of numbers, flags and pointers are made, of which zeros are values.
    let mut value = unsafe { std::mem::zeroed::<T>() };
    // SAFETY: all of them begin with their size.
    unsafe { (&raw mut value).cast::<usize>().write(size_of::<T>()) };
    value
}

pub fn c_path(path: &Path) -> CString {
    CString::new(path.to_str().expect("a path in UTF-8")).expect("a path without 0")
}

/// Text of the library's.
pub fn text(from: *const c_char) -> String {
    // SAFETY: texts of the library are never NULL, and end.
    unsafe { CStr::from_ptr(from) }
        .to_str()
        .expect("UTF-8")
        .to_owned()
}

pub fn options(parallelism: u32) -> mm_options {
    // SAFETY: zeros are values of it.
    let mut options = unsafe { std::mem::zeroed::<mm_options>() };
    assert_eq!(
        // SAFETY: a place for it.
        unsafe { mm_options_init(&raw mut options, size_of::<mm_options>()) },
        MM_OK
    );
    options.parallelism = parallelism;
    options
}

pub fn last_error() -> mm_error {
    let mut error = sized::<mm_error>();
    // SAFETY: a place for it.
    assert_eq!(unsafe { mm_last_error(&raw mut error) }, MM_OK);
    error
}

/// Opens, maps or takes into memory.
pub fn open(path: &Path) -> *mut mm_file {
    let mut file = null_mut();
    let path = c_path(path);
    // SAFETY: places and text that are there.
    let status = unsafe { mm_open(path.as_ptr(), null(), &raw mut file) };
    assert_eq!(status, MM_OK, "{path:?}: {}", text(last_error().text));
    file
}

pub fn map(path: &Path, options: Option<&mm_options>) -> *mut mm_file {
    let mut file = null_mut();
    let path = c_path(path);
    let options = options.map_or(null(), |options| &raw const *options);
    // SAFETY: places and text that are there; nobody changes files of tests.
    let status = unsafe { mm_open_map(path.as_ptr(), options, &raw mut file) };
    assert_eq!(status, MM_OK, "{path:?}: {}", text(last_error().text));
    file
}

unsafe extern "C" fn release(bytes: *mut c_void) {
    // SAFETY: what `memory` lends.
    drop(unsafe { Box::from_raw(bytes.cast::<Vec<u8>>()) });
}

/// A file of bytes that are lent.
pub fn memory(bytes: Vec<u8>, options: Option<&mm_options>) -> *mut mm_file {
    let mut file = null_mut();
    let options = options.map_or(null(), |options| &raw const *options);
    let (start, length) = (bytes.as_ptr().cast(), bytes.len());
    let user = Box::into_raw(Box::new(bytes)).cast();
    // SAFETY: memory that stays until it is given back.
    let status =
        unsafe { mm_open_memory(start, length, Some(release), user, options, &raw mut file) };
    assert_eq!(status, MM_OK, "{}", text(last_error().text));
    file
}

/// An attribute of a vertex layout, placed after others.
pub fn attribute(
    semantic: mm_semantic,
    scalar: mm_scalar,
    components: u32,
    normalized: u32,
) -> mm_layout_attribute {
    mm_layout_attribute {
        semantic,
        scalar,
        components,
        normalized,
        offset: usize::MAX,
        ..sized()
    }
}

pub fn scratch() -> *mut mm_scratch {
    let mut scratch = null_mut();
    // SAFETY: a place for it.
    assert_eq!(unsafe { mm_scratch_new(&raw mut scratch) }, MM_OK);
    scratch
}

pub fn place() -> *mut mm_snapshot {
    let mut place = null_mut();
    // SAFETY: a place for it.
    assert_eq!(unsafe { mm_snapshot_new(&raw mut place) }, MM_OK);
    place
}

pub fn cache(capacity: u64) -> *mut mm_cache {
    let mut cache = null_mut();
    // SAFETY: a place for it.
    assert_eq!(unsafe { mm_cache_new(capacity, &raw mut cache) }, MM_OK);
    cache
}

/// Asks for the count, then for all elements of `size` bytes, `stride` bytes apart; checks that a smaller count is refused, and that
/// nothing else is written.
pub fn all_bytes(
    size: usize,
    stride: usize,
    mut call: impl FnMut(*mut u8, usize, usize, *mut usize) -> mm_status,
) -> Result<Vec<u8>, mm_status> {
    const UNTOUCHED: u8 = 0xa5;
    let mut count = usize::MAX;
    let status = call(null_mut(), stride, 0, &raw mut count);
    if status != MM_OK {
        return Err(status);
    }
    let step = if stride == 0 { size } else { stride };
    let mut bytes = vec![UNTOUCHED; (count * step + 1).max(1)];
    // An address that nothing is aligned at.
    let start = bytes[1..].as_mut_ptr();
    if count > 0 {
        let mut needed = 0;
        assert_eq!(
            call(start, stride, count - 1, &raw mut needed),
            MM_ERROR_BUFFER
        );
        assert_eq!(needed, count);
        assert!(bytes.iter().all(|byte| *byte == UNTOUCHED));
    }
    let start = bytes[1..].as_mut_ptr();
    let mut found = 0;
    let status = call(start, stride, count, &raw mut found);
    assert_eq!((status, found), (MM_OK, count));
    let elements = bytes[1..].chunks_exact(step);
    assert!(
        elements
            .clone()
            .all(|element| element[size..].iter().all(|byte| *byte == UNTOUCHED))
    );
    Ok(elements
        .flat_map(|element| &element[..size])
        .copied()
        .collect())
}

/// Like `all_bytes`, for elements of a type.
pub fn all<T: Copy>(
    stride: usize,
    mut call: impl FnMut(*mut T, usize, usize, *mut usize) -> mm_status,
) -> Result<Vec<T>, mm_status> {
    let call = |out: *mut u8, stride, capacity, count| call(out.cast(), stride, capacity, count);
    let bytes = all_bytes(size_of::<T>(), stride, call)?;
    // SAFETY: chunks are as long as a `T`.
    let element = |chunk: &[u8]| unsafe { chunk.as_ptr().cast::<T>().read_unaligned() };
    Ok(bytes.chunks_exact(size_of::<T>()).map(element).collect())
}

/// The bytes of an array that is shown.
///
/// # Safety
///
/// They are still valid.
pub unsafe fn shown(info: &mm_array_info) -> Vec<u8> {
    // SAFETY: the caller's.
    unsafe { std::slice::from_raw_parts(info.data.cast::<u8>(), info.byte_length) }.to_vec()
}

/// Positions of a snapshot into memory.
pub fn read_positions(
    file: *const mm_file,
    index: usize,
    scratch: *mut mm_scratch,
    (out, stride, capacity): (*mut f32, usize, usize),
    count: *mut usize,
) -> mm_status {
    // On the stack: calls of a render thread allocate nothing.
    let mut address = [0_u8; 64];
    write!(&mut address[..63], "snapshots[{index}].positions").expect("a short address");
    let address = address.as_ptr().cast();
    // SAFETY: memory of the caller.
    unsafe {
        mm_read_into(
            file,
            address,
            MM_SCALAR_F32,
            3,
            scratch,
            out.cast(),
            stride,
            capacity,
            count,
        )
    }
}

/// Shows the positions of a snapshot.
pub fn show_positions(
    file: *const mm_file,
    index: usize,
    scratch: *mut mm_scratch,
) -> (mm_status, mm_array_info) {
    let (mut address, mut info) = ([0_u8; 64], sized::<mm_array_info>());
    write!(&mut address[..63], "snapshots[{index}].positions").expect("a short address");
    // SAFETY: a text, and a place for the result.
    let status = unsafe { mm_array(file, address.as_ptr().cast(), scratch, &raw mut info) };
    (status, info)
}
