use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use bytes::Bytes;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::element::Element;
use crate::num::{as_u64, as_usize};

/// A typed view of shared bytes: an array of a file, in place.
///
/// Elements are stored little-endian and packed, at any address. [`iter`](Self::iter) and [`get`](Self::get) return
/// native values on every host, [`as_bytes`](Self::as_bytes) returns the elements as stored, and
/// [`as_native`](Self::as_native) a plain slice if byte order and alignment allow it. Cloning is cheap; the bytes live as
/// long as any view of them.
///
/// # Examples
///
/// ```
/// use meshmap::iqm;
///
/// let model = iqm::Model::open("tests/data/iqm/valid/skin_multi_anim.iqm")?;
/// let positions = model.positions()?.expect("this model has positions");
/// let [x, y, z] = positions.get(0).expect("and at least one");
/// let highest = positions.iter().map(|[_, _, z]| z).fold(f32::MIN, f32::max);
/// # assert!(x.is_finite() && y.is_finite() && z <= highest);
/// # Ok::<(), meshmap::Error>(())
/// ```
#[derive(Clone)]
pub struct Array<T> {
    /// A whole number of elements.
    bytes: Bytes,
    element: PhantomData<T>,
}

impl<T: Element> Array<T> {
    /// The size of one element in the file, in bytes; never 0.
    const SIZE: usize = size_of::<T::Stored>();

    /// The elements in these bytes, without an incomplete last one.
    pub(crate) fn new(mut bytes: Bytes) -> Self {
        let rest = bytes.len().checked_rem(Self::SIZE).unwrap_or(0);
        bytes.truncate(bytes.len().saturating_sub(rest));
        Self {
            bytes,
            element: PhantomData,
        }
    }

    /// Takes over a vector, without a copy on little-endian hosts.
    ///
    /// # Examples
    ///
    /// ```
    /// let array = meshmap::Array::from_vec(vec![[1.0_f32, 2.0, 3.0]]);
    /// assert_eq!(array.get(0), Some([1.0, 2.0, 3.0]));
    /// ```
    #[must_use]
    pub fn from_vec(elements: Vec<T>) -> Self {
        /// Makes the bytes of a vector of any alignment the owner of a `Bytes`.
        struct Owner<T>(Vec<T>);
        impl<T: IntoBytes + Immutable> AsRef<[u8]> for Owner<T> {
            fn as_ref(&self) -> &[u8] {
                self.0.as_bytes()
            }
        }
        if cfg!(target_endian = "little") || Self::SIZE == 1 {
            return Self {
                bytes: Bytes::from_owner(Owner(elements)),
                element: PhantomData,
            };
        }
        // On big-endian hosts, the bytes of each number are reversed. All numbers of `T` have one size.
        let number_size = match T::SHAPE {
            Some((scalar, _)) => scalar.size(),
            None => 1,
        };
        let mut bytes = elements.as_bytes().to_vec();
        for number in bytes.chunks_exact_mut(number_size) {
            number.reverse();
        }
        Self::new(bytes.into())
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Returns `true` if there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The element at an index.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<T> {
        let stored = *self.as_slice().get(index)?;
        Some(T::from_stored(stored))
    }

    /// The elements as native values.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = T> + DoubleEndedIterator + Clone + '_ {
        self.as_slice().iter().map(|stored| T::from_stored(*stored))
    }

    /// The bytes as stored.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The elements as stored: `&[[le::F32; 3]]` for an `Array<[f32; 3]>`.
    pub(crate) fn as_slice(&self) -> &[T::Stored] {
        #[expect(
            clippy::expect_used,
            reason = "`new` keeps whole elements only, and they need no alignment"
        )]
        <[T::Stored]>::ref_from_bytes(&self.bytes).expect("a whole number of elements")
    }

    /// The elements as a plain slice, if they are aligned for `T` and the host is little-endian.
    #[must_use]
    pub fn as_native(&self) -> Option<&[T]> {
        T::native(&self.bytes)
    }

    /// The elements as a plain slice, copied only where alignment or byte order require it.
    pub(crate) fn to_native(&self) -> Cow<'_, [T]> {
        match self.as_native() {
            Some(elements) => Cow::Borrowed(elements),
            None => Cow::Owned(self.iter().collect()),
        }
    }

    /// A copy of the elements.
    #[must_use]
    pub fn to_vec(&self) -> Vec<T> {
        self.to_native().into_owned()
    }

    /// The bytes as stored, shared.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }

    /// The elements of a range, shared; `None` if the range reaches beyond the end.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Option<Self> {
        if range.start > range.end || range.end > self.len() {
            return None;
        }
        let bytes = range.start.checked_mul(Self::SIZE)?..range.end.checked_mul(Self::SIZE)?;
        Some(Self::new(self.bytes.slice(bytes)))
    }

    /// The elements of a range, in the integers of files, cut at the end of the array.
    pub(crate) fn slice_u64(&self, range: Range<u64>) -> Self {
        let start = as_usize(range.start).min(self.len());
        let end = as_usize(range.end).min(self.len());
        match self.slice(start..end) {
            Some(elements) => elements,
            // The range ends before it starts.
            None => Self::new(Bytes::new()),
        }
    }

    /// The number of elements, in the integers of files.
    pub(crate) fn len_u64(&self) -> u64 {
        as_u64(self.len())
    }
}

impl<T: Element, const N: usize> Array<[T; N]>
where
    [T; N]: Element,
{
    /// The components of all elements in a row, shared.
    pub(crate) fn flatten(self) -> Array<T> {
        Array::new(self.bytes)
    }
}

impl<T: Element + fmt::Debug> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Compares the elements as stored: NaN equals the same NaN, and 0.0 differs from -0.0.
impl<T> PartialEq for Array<T> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl<T> Eq for Array<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three triples at each of four misalignments.
    fn misaligned() -> impl Iterator<Item = (usize, Array<[f32; 3]>)> {
        let numbers: Vec<u8> = (0..9_u8).flat_map(|n| f32::from(n).to_le_bytes()).collect();
        (0..4).map(move |shift| {
            let mut bytes = vec![0xAA; shift];
            bytes.extend_from_slice(&numbers);
            (shift, Array::new(Bytes::from(bytes).slice(shift..)))
        })
    }

    #[test]
    fn elements_are_the_same_at_every_alignment() {
        for (shift, array) in misaligned() {
            assert_eq!(array.len(), 3, "{shift}");
            assert_eq!(
                array.to_vec(),
                [[0., 1., 2.], [3., 4., 5.], [6., 7., 8.]],
                "{shift}"
            );
            assert_eq!(array.get(1), Some([3., 4., 5.]), "{shift}");
            assert_eq!(array.get(3), None, "{shift}");
            assert_eq!(array.iter().next_back(), Some([6., 7., 8.]), "{shift}");
            assert_eq!(
                array.as_slice()[2].map(|lane| lane.get()),
                [6., 7., 8.],
                "{shift}"
            );
        }
    }

    #[test]
    fn native_slices_exist_just_where_bytes_are_aligned() {
        for (shift, array) in misaligned() {
            let aligned = (array.as_bytes().as_ptr() as usize).is_multiple_of(4);
            let expected = aligned && cfg!(target_endian = "little");
            assert_eq!(array.as_native().is_some(), expected, "{shift}");
        }
        assert!(
            Array::<u8>::new(Bytes::from_static(&[1, 2]))
                .as_native()
                .is_some()
        );
    }

    #[test]
    fn vectors_become_arrays_without_a_copy() {
        let numbers = vec![[1_u16, 2], [3, 4]];
        let address = numbers.as_ptr().addr();
        let array = Array::from_vec(numbers);
        assert_eq!(array.as_bytes(), [1, 0, 2, 0, 3, 0, 4, 0]);
        assert_eq!(array.to_vec(), [[1, 2], [3, 4]]);
        assert!(array.as_bytes().as_ptr().addr() == address || cfg!(target_endian = "big"));
    }

    #[test]
    fn arrays_are_made_of_vectors_and_looped_over() {
        let array = Array::from_vec(vec![[1_u16, 2], [3, 4], [5, 6]]);
        let mut sum = 0;
        for [a, b] in array.iter() {
            sum += a * b;
        }
        assert_eq!(sum, 2 + 12 + 30);
        let mut iter = array.iter();
        assert_eq!(
            (iter.len(), iter.nth(1), iter.next_back(), iter.next()),
            (3, Some([3, 4]), Some([5, 6]), None)
        );
        assert!(array.to_vec().into_iter().eq(array.iter()));
        assert_eq!(array.iter().fold(0, |sum, [a, _]| sum + a), 9);
        assert_eq!(format!("{array:?}"), "[[1, 2], [3, 4], [5, 6]]");
    }

    #[test]
    fn bytes_after_the_last_whole_element_are_left_out() {
        let array = Array::<u16>::new(Bytes::from_static(&[1, 0, 2, 0, 3]));
        assert_eq!(array.to_vec(), [1, 2]);
        assert_eq!(array.as_bytes(), [1, 0, 2, 0]);
    }

    #[test]
    fn slices_share_bytes_and_end_where_the_array_does() {
        let array = Array::<u16>::new(Bytes::from_static(&[1, 0, 2, 0, 3, 0]));
        assert_eq!(array.slice(1..3).unwrap().to_vec(), [2, 3]);
        assert!(array.slice(1..4).is_none());
        #[expect(clippy::reversed_empty_ranges, reason = "the subject of the test")]
        let reversed = array.slice(2..1);
        assert!(reversed.is_none());
        assert_eq!(array.slice_u64(1..u64::MAX).to_vec(), [2, 3]);
    }
}
