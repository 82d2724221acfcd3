//! Searches arrays for invalid values.

use crate::bytes::Scalar;
use crate::num::as_u64;

/// The index of the first invalid value, and the number of invalid values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) first: u64,
    pub(crate) count: u64,
}

/// Finds indices that are not less than a count.
pub(crate) fn out_of_range(
    indices: impl Iterator<Item = u32> + Clone,
    count: usize,
) -> Option<Found> {
    // No index of 32 bits is out of range if there are more elements than that.
    let count = u32::try_from(count).ok()?;
    find(indices, |index| index >= count)
}

/// Finds vectors of length 0.
pub(crate) fn zero_vectors(vectors: impl Iterator<Item = [f32; 3]> + Clone) -> Option<Found> {
    find(vectors, |vector| vector == [0.0; 3])
}

/// Finds little-endian floats that are infinite or NaN: all bits of the exponent are 1.
pub(crate) fn not_finite(scalar: Scalar, bytes: &[u8]) -> Option<Found> {
    match scalar {
        Scalar::F16 => find_in_lanes(bytes, |lane| u16::from_le_bytes(lane) & 0x7c00 == 0x7c00),
        Scalar::F64 => find_in_lanes(bytes, |lane| !f64::from_le_bytes(lane).is_finite()),
        _ => find_in_lanes(bytes, |lane| {
            u32::from_le_bytes(lane) & 0x7f80_0000 == 0x7f80_0000
        }),
    }
}

/// Finds invalid values of `N` bytes.
fn find_in_lanes<const N: usize>(
    bytes: &[u8],
    is_invalid: impl Fn([u8; N]) -> bool,
) -> Option<Found> {
    let (lanes, _) = bytes.as_chunks::<N>();
    find(lanes.iter().copied(), is_invalid)
}

fn find<T>(
    numbers: impl Iterator<Item = T> + Clone,
    is_invalid: impl Fn(T) -> bool,
) -> Option<Found> {
    // Almost all arrays are valid: a first pass without an early exit, which is several times as fast, decides that.
    let any = numbers
        .clone()
        .fold(false, |any, number| any | is_invalid(number));
    if !any {
        return None;
    }

    let mut first = None;
    let mut count = 0_u64;
    for (index, number) in numbers.enumerate() {
        if is_invalid(number) {
            first = first.or(Some(as_u64(index)));
            count = count.saturating_add(1);
        }
    }
    Some(Found {
        first: first?,
        count,
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

        let vectors = [[0.0, 0.0, 1e-30], [0.0, -0.0, 0.0], [f32::NAN, 0.0, 0.0]];
        assert_eq!(
            zero_vectors(vectors.into_iter()),
            Some(Found { first: 1, count: 1 })
        );

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
