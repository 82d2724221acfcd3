//! Arrays that are shown where they lie.

use meshmap::Scalar;

use crate::memory::First;
use crate::scalar::{mm_scalar, scalar_number};

/// Elements of numbers, packed, little-endian, in memory of the library's.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_view {
    /// sizeof(mm_view), set by the caller.
    pub size: usize,
    /// The first element. In mapped files at any address: check is_aligned before numbers are read in place.
    pub data: *const std::ffi::c_void,
    /// The number of elements.
    pub count: usize,
    /// All of them together, in bytes.
    pub byte_length: usize,
    /// The bytes from one element to the next.
    pub stride: usize,
    /// The type of each number.
    pub scalar: mm_scalar,
    /// The number of components of each element.
    pub components: u32,
    /// `true` if integers stand for 0..1, or -1..1.
    pub normalized: bool,
    /// `true` if each number is aligned for the processor.
    pub is_aligned: bool,
}

// SAFETY: `repr(C)`, begins with its size, and is never read.
unsafe impl First for mm_view {}

impl mm_view {
    pub(crate) fn new(bytes: &[u8], scalar: Scalar, components: u32, normalized: bool) -> Self {
        let numbers = usize::try_from(components).unwrap_or(usize::MAX);
        let stride = numbers.saturating_mul(scalar.size());
        let data = bytes.as_ptr();
        Self {
            size: 0,
            data: data.cast(),
            count: bytes.len().checked_div(stride).unwrap_or(0),
            byte_length: bytes.len(),
            stride,
            scalar: scalar_number(scalar),
            components,
            normalized,
            is_aligned: data.addr().is_multiple_of(scalar.size()),
        }
    }
}
