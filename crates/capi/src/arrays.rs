//! Every array and every text that a file stores, by address.

use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::Arc;

use meshmap::{Address, ArrayData, ErrorKind};

use crate::fail::{Fail, guard, mm_status};
use crate::file::{File, mm_file};
use crate::handle::{self, Kind};
use crate::memory::{First, c_string, put, put_sized, text};
use crate::scalar::{mm_scalar, scalar_number};

/// An array of a file. Every thread may use it.
pub struct mm_array {
    _opaque: [u8; 0],
}

/// An array of a file, decoded: packed numbers, little-endian.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_array_info {
    /// sizeof(mm_array_info), set by the caller.
    pub size: usize,
    /// The address in the file, such as `snapshots[3].positions`.
    pub address: *const c_char,
    /// The first number, at any address.
    pub data: *const c_void,
    /// All of them, in bytes.
    pub byte_length: usize,
    /// The type of each.
    pub scalar: mm_scalar,
    /// The number of valid elements of `shape`: 1 to 3.
    pub rank: u32,
    /// The number of elements, then the numbers of each.
    pub shape: [u64; 3],
}

// SAFETY: `repr(C)`, begins with its size, and is never read.
unsafe impl First for mm_array_info {}

/// Called with each array of a file; returns 0 to go on. What it is given is valid during the call. No exception may leave it.
pub type mm_array_fn = Option<unsafe extern "C" fn(user: *mut c_void, array: *const mm_array_info) -> c_int>;

/// Called with each text of a file and its address; returns 0 to go on. `length` does not count the byte 0 after the text, but
/// those within. What it is given is valid during the call. No exception may leave it.
pub type mm_text_fn = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        address: *const c_char,
        text: *const c_char,
        length: usize,
    ) -> c_int,
>;

/// An array with its values.
struct Values {
    address: CString,
    data: ArrayData,
}

impl Kind for Values {
    type Opaque = mm_array;
    const NAME: &'static str = "mm_array";
}

impl Values {
    fn new(address: &Address, data: ArrayData) -> Self {
        Self { address: c_string(&address.to_string()), data }
    }

    fn info(&self) -> mm_array_info {
        let mut shape = [0; 3];
        shape.iter_mut().zip(self.data.shape()).for_each(|(place, number)| *place = *number);
        let bytes = self.data.as_bytes();
        mm_array_info {
            size: size_of::<mm_array_info>(),
            address: self.address.as_ptr(),
            data: bytes.as_ptr().cast(),
            byte_length: bytes.len(),
            scalar: scalar_number(self.data.scalar()),
            rank: u32::try_from(self.data.shape().len()).unwrap_or(0),
            shape,
        }
    }
}

/// Calls `each` with every array that a file stores, decoded, one after the other: all vertices, indices, frames and
/// matrices, as they are stored and not as a renderer sees them. The order is as in the file. Indices are checked.
/// Arrays are the library's, and valid during the call. `each` is called on this one. The first error of reading or
/// decoding ends the list. MM_OK also if `each` ended it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_arrays(file: *const mm_file, each: mm_array_fn, user: *mut c_void) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        let each = each.ok_or_else(|| Fail::argument("expected a callback, found NULL"))?;
        for array in file.file.arrays_together() {
            let array = array?;
            let values = Values::new(&array.address, array.read()?);
            // Points into the values.
            let info = values.info();
            // SAFETY: the caller's function, with the arguments that the header promises.
            if unsafe { each(user, &raw const info) } != 0 {
                break;
            }
        }
        Ok(())
    })
}

/// Calls `each` with every text that a file stores and its address: names, materials, comments. Texts are the library's,
/// and valid during the call. `each` is called on this one. MM_OK also if `each` ended it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_texts(file: *const mm_file, each: mm_text_fn, user: *mut c_void) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        let each = each.ok_or_else(|| Fail::argument("expected a callback, found NULL"))?;
        for text in file.file.texts() {
            let (address, text) = text?;
            let (address, text) = (c_string(&address.to_string()), text.to_string_lossy().into_owned());
            let with_end: Vec<u8> = text.bytes().chain([0]).collect();
            // SAFETY: the caller's function, with the arguments that the header promises.
            if unsafe { each(user, address.as_ptr(), with_end.as_ptr().cast(), text.len()) } != 0 {
                break;
            }
        }
        Ok(())
    })
}

/// The array at an address that mm_arrays names, such as `snapshots[3].positions`, `vertex_arrays[0]` or
/// `skin.inverse_bind_matrices`, decoded. MM_ABSENT if the file has no such array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_array_at(
    file: *const mm_file,
    address: *const c_char,
    out: *mut *mut mm_array,
) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        // SAFETY: the caller's, as the header says.
        let address = unsafe {
            put(out, std::ptr::null_mut())?;
            text(address)?
        };
        let address: Address = address.parse().map_err(|_| Fail::Absent)?;
        let data = match file.file.array(&address) {
            Err(error) if error.kind() == ErrorKind::OutOfRange => return Err(Fail::Absent),
            data => data?,
        };
        let handle = handle::new(Arc::new(Values::new(&address, data)))?;
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, handle) }
    })
}

/// The description of an array. `out->size` is set before. Numbers and address are the array's, and valid until it is
/// freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_array_get_info(array: *const mm_array, out: *mut mm_array_info) -> mm_status {
    guard(|| {
        let array = handle::get::<Values>(array)?;
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, array.info()) }
    })
}

/// Frees an array. NULL is passed over.
#[unsafe(no_mangle)]
pub extern "C" fn mm_array_free(array: *mut mm_array) -> mm_status {
    guard(|| handle::close::<Values>(array))
}
