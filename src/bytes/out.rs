//! Destinations of decoded arrays.

use std::any::Any;

use super::array::Array;
use super::element::Element;
use crate::num::as_u64;
use crate::report::{Cause, Error, ErrorKind, Result};

/// The caller's memory for an array of `T`: a vector, which gets the length of the array, or a slice that has this length.
///
/// Made from `&mut Vec<T>` or `&mut [T]`.
///
/// # Examples
///
/// ```
/// use meshmap::{Scratch, cgeo};
///
/// let proxy = cgeo::Proxy::open("tests/data/cgeo/valid/anim_a.cgeo")?;
/// let (mut positions, mut scratch) = (Vec::new(), Scratch::default());
/// proxy.snapshot(7)?.positions_into(&mut positions, &mut scratch)?;
/// // Into a part of other memory.
/// let mut all = vec![[0.0; 3]; 2 * positions.len()];
/// proxy.snapshot(7)?.positions_into(&mut all[positions.len()..], &mut scratch)?;
/// assert_eq!(all[positions.len()..], positions);
/// # Ok::<(), meshmap::Error>(())
/// ```
#[derive(Debug)]
pub struct Out<'a, T>(pub(crate) Memory<'a, T>);

/// The memory of an [`Out`].
#[derive(Debug)]
pub(crate) enum Memory<'a, T> {
    Vec(&'a mut Vec<T>),
    Slice(&'a mut [T]),
}

impl<T> Out<'_, T> {
    /// The same memory, for another attempt.
    pub(crate) fn again(&mut self) -> Out<'_, T> {
        match &mut self.0 {
            Memory::Vec(out) => Out(Memory::Vec(out)),
            Memory::Slice(out) => Out(Memory::Slice(out)),
        }
    }
}

impl<T: Element> Out<'_, T> {
    /// This memory as memory for triples of floats, if it is.
    pub(crate) fn downcast(&mut self) -> Option<Out<'_, [f32; 3]>> {
        Some(match &mut self.0 {
            Memory::Vec(out) => Out(Memory::Vec((&mut **out as &mut dyn Any).downcast_mut()?)),
            Memory::Slice(out) => Out(Memory::Slice(T::triples(out)?)),
        })
    }

    /// Copies an array.
    pub(crate) fn copy_from(self, array: &Array<T>) -> Result<()> {
        match self.0 {
            Memory::Vec(out) => {
                out.clear();
                out.extend(array.iter());
            }
            Memory::Slice(out) => {
                let [expected, found] = [array.len(), out.len()].map(as_u64);
                if expected != found {
                    let error = Error::new(ErrorKind::OutOfRange, "length of the slice");
                    return Err(error.because(Cause::Length { expected, found }));
                }
                out.iter_mut()
                    .zip(array.iter())
                    .for_each(|(out, element)| *out = element);
            }
        }
        Ok(())
    }
}

impl<'a, T> From<&'a mut Vec<T>> for Out<'a, T> {
    fn from(out: &'a mut Vec<T>) -> Self {
        Self(Memory::Vec(out))
    }
}

impl<'a, T> From<&'a mut [T]> for Out<'a, T> {
    fn from(out: &'a mut [T]) -> Self {
        Self(Memory::Slice(out))
    }
}
