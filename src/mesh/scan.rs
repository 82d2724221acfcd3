//! Searches arrays for values that must not be there.

use crate::bytes::Scalar;
use crate::num::as_u64;

/// The first value that must not be there, and the number of such values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) first: u64,
    pub(crate) count: u64,
}

/// Indices that are not less than a count.
pub(crate) fn out_of_range(
    indices: impl Iterator<Item = u32> + Clone,
    count: usize,
) -> Option<Found> {
    // No index of 32 bits is out of range if there are more elements than that.
    let count = u32::try_from(count).ok()?;
    find(indices, |index| index >= count)
}

/// Little-endian floats that are infinite or not a number.
pub(crate) fn not_finite(scalar: Scalar, bytes: &[u8]) -> Option<Found> {
    match scalar {
        Scalar::F16 => lanes(bytes, |lane| u16::from_le_bytes(lane) & 0x7c00 == 0x7c00),
        Scalar::F64 => lanes(bytes, |lane| !f64::from_le_bytes(lane).is_finite()),
        _ => lanes(bytes, |lane| {
            u32::from_le_bytes(lane) & 0x7f80_0000 == 0x7f80_0000
        }),
    }
}

fn lanes<const N: usize>(bytes: &[u8], is_wrong: impl Fn([u8; N]) -> bool) -> Option<Found> {
    let (lanes, _) = bytes.as_chunks::<N>();
    find(lanes.iter().copied(), is_wrong)
}

fn find<T>(
    numbers: impl Iterator<Item = T> + Clone,
    is_wrong: impl Fn(T) -> bool,
) -> Option<Found> {
    // A first pass that does not look for the place is several times as fast.
    if !numbers
        .clone()
        .fold(false, |wrong, number| wrong | is_wrong(number))
    {
        return None;
    }
    let mut wrong = (0..)
        .zip(numbers)
        .filter_map(|(place, number)| is_wrong(number).then_some(place));
    let first = wrong.next()?;
    Some(Found {
        first,
        count: as_u64(wrong.count()).saturating_add(1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_and_number_of_what_is_wrong_are_found() {
        let indices = [3, 9, 2, 10, 9];
        assert_eq!(out_of_range(indices.into_iter(), 11), None);
        assert_eq!(
            out_of_range(indices.into_iter(), 9),
            Some(Found { first: 1, count: 3 })
        );
        assert_eq!(out_of_range([].into_iter(), 0), None);
        assert_eq!(out_of_range([u32::MAX].into_iter(), usize::MAX), None);

        let floats = [1.0, f32::MAX, f32::INFINITY, -0.0, f32::NAN].map(f32::to_le_bytes);
        assert_eq!(
            not_finite(Scalar::F32, floats.as_flattened()),
            Some(Found { first: 2, count: 2 })
        );
        let doubles = [f64::MIN, f64::NEG_INFINITY].map(f64::to_le_bytes);
        assert_eq!(
            not_finite(Scalar::F64, doubles.as_flattened()),
            Some(Found { first: 1, count: 1 })
        );
        assert_eq!(
            not_finite(Scalar::F16, &[0xff, 0x7b, 0x00, 0x7c]),
            Some(Found { first: 1, count: 1 })
        );
    }
}
