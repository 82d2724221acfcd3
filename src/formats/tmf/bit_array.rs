//! Arrays of numbers of any width, as in segments.

use std::fmt;

use bytes::Bytes;

use super::rules::FILE;
use crate::codec::bits::{field, packed_len, unpack};
use crate::num::as_u64;
use crate::report::{ErrorKind, Result};

/// An array of numbers of 0 to 64 bits each, packed without padding.
///
/// The most significant bit comes first: the first number is in the uppermost bits of the first byte. Any number is
/// found without reading others. Cloning is cheap.
///
/// # Examples
///
/// ```
/// use meshmap::tmf::BitArray;
///
/// // 5, 6 and 7 in three bits each.
/// let array = BitArray::new(vec![0b101_110_11, 0b1_0000000], 3, 3)?;
/// assert_eq!(array.iter().collect::<Vec<_>>(), [5, 6, 7]);
/// assert_eq!(array.get(1), Some(6));
/// # Ok::<(), meshmap::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct BitArray {
    bytes: Bytes,
    width: u32,
    len: usize,
}

impl BitArray {
    /// An array of the first `len` numbers of `width` bits.
    ///
    /// # Errors
    ///
    /// [`Truncated`](crate::ErrorKind::Truncated) where `bytes` is too short, and
    /// [`OutOfRange`](crate::ErrorKind::OutOfRange) for a width of more than 64.
    pub fn new(bytes: impl Into<Bytes>, width: u32, len: usize) -> Result<Self> {
        let bytes = bytes.into();
        if width > 64 {
            let error = FILE.out_of_range("width of a bit array");
            return Err(error.expected("at most 64 bits").found(width));
        }
        let needed = packed_len(as_u64(len), width.into());
        if needed.is_none_or(|needed| needed > as_u64(bytes.len())) {
            let needed = needed.map_or_else(|| "more than 64 bits count".to_owned(), |n| n.to_string());
            let error = FILE.error(ErrorKind::Truncated, "bit array").expected(format!("{needed} bytes"));
            return Err(error.found(bytes.len()));
        }
        Ok(Self { bytes, width, len })
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The width of each number, in bits.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The number at an index; `None` where there is none.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<u64> {
        (index < self.len).then(|| field(&self.bytes, self.bit(index), self.width))
    }

    /// The numbers, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u64> + DoubleEndedIterator + '_ {
        (0..self.len).map(|index| field(&self.bytes, self.bit(index), self.width))
    }

    /// Unpacks numbers from an index on into `out`, until it is full.
    ///
    /// # Errors
    ///
    /// [`OutOfRange`](crate::ErrorKind::OutOfRange) where the array ends before `out` is full, or the width is more
    /// than 32.
    pub fn unpack_into(&self, first: usize, out: &mut [u32]) -> Result<()> {
        let end = first.checked_add(out.len());
        if end.is_none_or(|end| end > self.len) {
            let error = FILE.out_of_range("numbers of a bit array");
            let found = format!("{} from {first}", out.len());
            return Err(error.expected(format!("within 0..{}", self.len)).found(found));
        }
        if self.width > 32 {
            let error = FILE.out_of_range("width of a bit array");
            return Err(error.expected("at most 32 bits").found(self.width));
        }
        unpack(&self.bytes, self.bit(first), self.width, out);
        Ok(())
    }

    fn bit(&self, index: usize) -> u64 {
        // `new` has checked that the product of the length fits.
        as_u64(index).saturating_mul(self.width.into())
    }
}

impl fmt::Debug for BitArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BitArray({} numbers of {} bits)", self.len, self.width)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// One bit at a time.
    fn naive(bytes: &[u8], bit: usize, width: u32) -> u64 {
        (bit..bit + width as usize).fold(0, |value, bit| {
            let set = bytes.get(bit / 8).is_some_and(|byte| byte >> (7 - bit % 8) & 1 != 0);
            value << 1 | u64::from(set)
        })
    }

    fn noise(len: usize) -> Vec<u8> {
        (0..len as u32).map(|n| (n.wrapping_mul(0x9e37_79b1) >> 13) as u8).collect()
    }

    #[test]
    fn bulk_unpacking_is_what_single_bits_make() {
        let bytes = noise(300);
        let (widths, firsts) = if cfg!(miri) { (8, 13) } else { (1, 1) };
        for width in (0..=32).step_by(widths) {
            for first in (0..20).step_by(firsts) {
                let count = 2400_usize.checked_div(width as usize).unwrap_or(100).min(200) - first;
                let mut out = vec![7; count];
                let array = BitArray::new(bytes.clone(), width, first + count).unwrap();
                array.unpack_into(first, &mut out).unwrap();
                for (index, value) in out.iter().enumerate() {
                    let expected = naive(&bytes, (first + index) * width as usize, width);
                    assert_eq!(u64::from(*value), expected, "width {width}, number {first} + {index}");
                    assert_eq!(array.get(first + index), Some(expected));
                }
            }
        }
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        let kind = |result: Result<BitArray>| result.unwrap_err().kind();
        assert_eq!(kind(BitArray::new(vec![0; 4], 11, 3)), ErrorKind::Truncated);
        assert_eq!(kind(BitArray::new(vec![0; 4], 64, usize::MAX)), ErrorKind::Truncated);
        assert_eq!(kind(BitArray::new(vec![0; 40], 65, 1)), ErrorKind::OutOfRange);
        let array = BitArray::new(vec![0; 10], 40, 2).unwrap();
        assert_eq!(array.unpack_into(0, &mut [0]).unwrap_err().kind(), ErrorKind::OutOfRange);
        assert_eq!(array.get(2), None);
        let none = BitArray::new(vec![], 0, usize::MAX).unwrap();
        assert_eq!(none.get(1 << 40), Some(0));
        assert_eq!(none.unpack_into(usize::MAX, &mut [0]).unwrap_err().kind(), ErrorKind::OutOfRange);
    }

    proptest! {
        #[test]
        fn iteration_is_what_single_bits_make(bytes in prop::collection::vec(any::<u8>(), 0..64), width in 0..=64_u32) {
            let len = (bytes.len() * 8).checked_div(width as usize).unwrap_or(9);
            let array = BitArray::new(bytes.clone(), width, len).unwrap();
            let expected: Vec<u64> = (0..len).map(|index| naive(&bytes, index * width as usize, width)).collect();
            prop_assert_eq!(array.iter().collect::<Vec<_>>(), &expected[..]);
            prop_assert!(array.iter().rev().eq(expected.iter().rev().copied()));
        }
    }
}
