//! Every array and every text that a file stores, by address.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use meshmap::{Address, ArrayData, ArrayEntry, Codec, Meter};

use crate::fail::{Fail, Result, guard, mm_status};
use crate::file::{File, mm_file};
use crate::handle;
use crate::memory::{Places, c_string, put_sized, text};
use crate::scalar::mm_scalar;
use crate::scratch::{self, Working, mm_scratch};
use crate::snapshot_array::SnapshotArray;
use crate::view::{Element, Elements, mm_array_info};

/// Called with each array of a file; returns 0 to go on. The array is valid during the call. No exception may leave it.
pub type mm_array_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, array: *const mm_array_info) -> c_int>;

/// Called with each text of a file and its address; returns 0 to go on. `length` does not count the byte 0 after the text, but
/// those within. Both are valid during the call. No exception may leave it.
pub type mm_text_fn = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        address: *const c_char,
        text: *const c_char,
        length: usize,
    ) -> c_int,
>;

/// Calls `each` on this thread with every array that a file stores, decoded, one after the other: all vertices, indices, frames and
/// matrices, as they are stored and not as a renderer sees them. The order is as in the file. Indices are checked. The first error
/// ends the list. MM_OK also if `each` ended it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_arrays(
    file: *const mm_file,
    each: mm_array_fn,
    user: *mut c_void,
) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        let each = each.ok_or_else(|| Fail::argument("expected a callback, found NULL"))?;
        let mut arrays = file.file.arrays_together();
        // Reading all arrays is one job, as listing them is: a small file may name one mesh thousands of times. What the callback does is
        // not a part of it. Without a length, the work that a file deserves is not known.
        let length = file.file.source().len().ok().flatten();
        let job = length.map(|length| Arc::new(Meter::new(file.file.limits(), length)));
        loop {
            let next = match &job {
                Some(job) => job.run(|| next_array(&mut arrays)),
                None => next_array(&mut arrays),
            };
            let Some((address, data)) = next? else { break };
            let address = c_string(&address.to_string());
            let info = Elements::of(&data).info(address.as_ptr());
            // SAFETY: the caller's function, with the arguments that the header promises.
            if unsafe { each(user, &raw const info) } != 0 {
                break;
            }
        }
        Ok(())
    })
}

/// Reads the next array of a list; `None` at its end.
fn next_array(
    arrays: &mut impl Iterator<Item = meshmap::Result<ArrayEntry>>,
) -> Result<Option<(Address, ArrayData)>> {
    let Some(array) = arrays.next() else {
        return Ok(None);
    };
    let array = array?;
    let data = array.read()?;
    Ok(Some((array.address, data)))
}

/// Calls `each` on this thread with every text that a file stores and its address: names, materials, comments. MM_OK also if `each`
/// ended the list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_texts(
    file: *const mm_file,
    each: mm_text_fn,
    user: *mut c_void,
) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        let each = each.ok_or_else(|| Fail::argument("expected a callback, found NULL"))?;
        for text in file.file.texts() {
            let (address, text) = text?;
            let address = c_string(&address.to_string());
            let text = text.to_string_lossy().into_owned();
            let with_end: Vec<u8> = text.bytes().chain([0]).collect();
            // SAFETY: the caller's function, with the arguments that the header promises.
            if unsafe { each(user, address.as_ptr(), with_end.as_ptr().cast(), text.len()) } != 0 {
                break;
            }
        }
        Ok(())
    })
}

/// An array of a file in working memory. Arrays of snapshots are decoded no further than needed, and take no memory once it is large
/// enough; the library resolves all other addresses.
fn elements<'a>(file: &File, address: &str, working: &'a mut Working) -> Result<Elements<'a>> {
    let resolve = || -> Result<ArrayData> {
        let address: Address = address.parse().map_err(meshmap::Error::from)?;
        Ok(file.file.array(&address)?)
    };
    match (file.file.as_cgeo(), SnapshotArray::of_address(address)) {
        (Some(proxy), Some((index, array))) => {
            let is_shown = file.is_in_memory && proxy.dialect().codec == Codec::Stored;
            let elements = array.decode(&proxy.snapshot(index)?, is_shown, working)?;
            // The error of an array that the snapshot does not have is the library's.
            elements.ok_or_else(|| resolve().err().unwrap_or(Fail::Absent))
        }
        _ => Ok(Elements::of(working.data.insert(resolve()?))),
    }
}

/// The array at an address that mm_arrays lists, such as `snapshots[3].positions`, `vertex_arrays[0]` or `skin.inverse_bind_matrices`,
/// decoded in memory of the scratch, or where it lies in a file that is mapped or in memory and does not compress it. The numbers are
/// valid until the scratch is used again or freed. Arrays of snapshots are decoded no further than needed; if the file is mapped or in
/// memory, nothing is allocated for them once the scratch is large enough. Also reads `snapshots[3].position_differences`: differences
/// from the first snapshot, as stored. `out->address` is the text that was passed. MM_ERROR_HANDLE if no scratch is given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_array(
    file: *const mm_file,
    address: *const c_char,
    scratch: *mut mm_scratch,
    out: *mut mm_array_info,
) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        // SAFETY: the caller's, as the header says.
        let text = unsafe { text(address) }?;
        scratch::needed(scratch)?;
        let info = scratch::with(scratch, |working| {
            Ok(elements(&file, text, working)?.info(address))
        })?;
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, info) }
    })
}

/// Reads the array at an address as mm_array does, into the caller's buffer: packed elements, or `stride` bytes apart (16 is Embree's
/// layout of positions, whose fourth float is left as it is). `scalar` and `components` are the type of an element, which
/// MM_ERROR_MISMATCH refuses if it is another one; a matrix has as many components as numbers. With `out` NULL, 17 bytes are decoded
/// for `positions`, `normals` and `triangles.positions` of a snapshot, and the whole array for others.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_read_into(
    file: *const mm_file,
    address: *const c_char,
    scalar: mm_scalar,
    components: u32,
    scratch: *mut mm_scratch,
    out: *mut c_void,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        let element = Element::new(scalar, components)?;
        // SAFETY: the caller's, as the header says.
        let (address, mut places) = unsafe {
            (
                text(address)?,
                Places::new(element.size(), out, stride, capacity, count)?,
            )
        };
        scratch::with(scratch, |working| {
            if places.is_count_alone()
                && let (Some(proxy), Some((index, array))) =
                    (file.file.as_cgeo(), SnapshotArray::of_address(address))
                && let Some(count) = array.count(&proxy.snapshot(index)?, element, working)?
            {
                return places.begin(count);
            }
            let written = elements(&file, address, working)?.write(element, &mut places);
            (working.data, working.stored) = (None, None);
            written
        })
    })
}
