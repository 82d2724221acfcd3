//! Arrays in memory, and how callers are shown them.

use std::ffi::{c_char, c_void};

use meshmap::{ArrayData, Scalar};

use crate::fail::{Fail, Result, status};
use crate::memory::{First, Places};
use crate::scalar::{mm_scalar, scalar, scalar_number};

/// An array in memory of the library: packed numbers, little-endian.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_array_info {
    /// sizeof(mm_array_info), set by the caller.
    pub size: usize,
    /// The address in the file, such as `snapshots[3].positions`: the text that was passed, if one was; the name of an attribute of a mesh.
    pub address: *const c_char,
    /// The first number. In mapped files at any address: check is_aligned before numbers are read in place.
    pub data: *const c_void,
    /// All numbers together, in bytes.
    pub byte_length: usize,
    /// The type of each number.
    pub scalar: mm_scalar,
    /// The number of valid elements of `shape`: 1 to 3.
    pub rank: u32,
    /// The number of elements, then the numbers of each.
    pub shape: [u64; 3],
    /// `true` if each number is aligned for the processor.
    pub is_aligned: bool,
}

// SAFETY: `repr(C)`, begins with its size, and is never read.
unsafe impl First for mm_array_info {}

/// The type of an element: numbers of one type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) scalar: Scalar,
    pub(crate) components: usize,
}

impl Element {
    /// The type that a caller names.
    pub(crate) fn new(scalar: mm_scalar, components: u32) -> Result<Self> {
        if components == 0 {
            return Err(Fail::argument("expected at least one component"));
        }
        let components = usize::try_from(components).unwrap_or(usize::MAX);
        Ok(Self {
            scalar: self::scalar(scalar)?,
            components,
        })
    }

    pub(crate) fn size(self) -> usize {
        self.scalar.size().saturating_mul(self.components)
    }
}

/// The elements of an array in memory.
pub(crate) struct Elements<'a> {
    bytes: &'a [u8],
    element: Element,
    rank: usize,
    shape: [u64; 3],
}

impl<'a> Elements<'a> {
    /// Single numbers, or elements of several.
    pub(crate) fn new(bytes: &'a [u8], scalar: Scalar, components: usize) -> Self {
        let element = Element { scalar, components };
        let count = bytes.len().checked_div(element.size()).unwrap_or(0);
        let shape = [count, components, 0].map(|number| u64::try_from(number).unwrap_or(u64::MAX));
        Self {
            bytes,
            element,
            rank: if components == 1 { 1 } else { 2 },
            shape,
        }
    }

    pub(crate) fn of(data: &'a ArrayData) -> Self {
        let mut shape = [0; 3];
        shape
            .iter_mut()
            .zip(data.shape())
            .for_each(|(place, number)| *place = *number);
        let elements = Self::new(data.as_bytes(), data.scalar(), data.components());
        Self {
            rank: data.shape().len(),
            shape,
            ..elements
        }
    }

    pub(crate) fn info(&self, address: *const c_char) -> mm_array_info {
        let Self {
            bytes,
            element,
            rank,
            shape,
        } = *self;
        mm_array_info {
            size: size_of::<mm_array_info>(),
            address,
            data: bytes.as_ptr().cast(),
            byte_length: bytes.len(),
            scalar: scalar_number(element.scalar),
            rank: u32::try_from(rank).unwrap_or(0),
            shape,
            is_aligned: bytes.as_ptr().addr().is_multiple_of(element.scalar.size()),
        }
    }

    /// Writes the elements, if they have the type that the caller expects.
    pub(crate) fn write(&self, expected: Element, places: &mut Places<'_>) -> Result<()> {
        if self.element != expected {
            let Element { scalar, components } = expected;
            let text = format!(
                "type of the elements: expected {} of {}, found {components} of {scalar}",
                self.element.components, self.element.scalar
            );
            return Err(Fail::new(status::MM_ERROR_MISMATCH, text));
        }
        places.write(self.bytes)
    }
}
