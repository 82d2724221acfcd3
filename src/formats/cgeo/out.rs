//! Destinations of a decoded array.

use super::rules::FILE;
use crate::num::as_u64;
use crate::report::{Cause, Result};

/// Memory for an array: a vector of any length, or a slice that has to be as long as the array.
pub(crate) enum Out<'a> {
    Vec(&'a mut Vec<[f32; 3]>),
    Slice(&'a mut [[f32; 3]]),
}

impl Out<'_> {
    /// The same memory, for another attempt.
    pub(super) fn again(&mut self) -> Out<'_> {
        match self {
            Self::Vec(out) => Out::Vec(out),
            Self::Slice(out) => Out::Slice(out),
        }
    }
}

/// The slice, unless it has another length than the array.
pub(super) fn of_length(out: &mut [[f32; 3]], number: u64) -> Result<&mut [[f32; 3]]> {
    if as_u64(out.len()) == number {
        return Ok(out);
    }
    let error = FILE.out_of_range("length of the slice");
    Err(error.because(Cause::Length { expected: number, found: as_u64(out.len()) }))
}
