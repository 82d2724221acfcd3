//! Arrays of MG1: numbers as they are, indices as differences.

use crate::codec::planes::Planes;

/// Numbers, as their bits.
pub(crate) fn numbers<const N: usize>(words: &Planes<'_, N>, out: &mut [[f32; N]]) {
    words.for_each_into(out, |bits, number| *number = bits.map(f32::from_bits));
}

/// Positions, whose words are not rearranged by coordinate.
pub(crate) fn positions(words: &Planes<'_, 1>, out: &mut [[f32; 3]]) {
    words.for_each_into(out.as_flattened_mut(), |[bits], coordinate| {
        *coordinate = f32::from_bits(bits);
    });
}

/// Indices of triangles, in MG1 and MG2: delta coding, described in the section "Indices" of MG1.
///
/// The first corner is stored as its difference from the first corner of the triangle before, the third as its difference
/// from the first. The second is also stored as its difference from the first, unless the first corner is the same as in
/// the triangle before: then it is the difference from that triangle's second corner. All sums wrap: writers store
/// differences below zero.
pub(crate) fn indices(words: &Planes<'_, 3>, out: &mut [[u32; 3]]) {
    let mut first = 0_u32;
    let mut second = 0_u32;
    let mut is_first_triangle = true;
    words.for_each_into(out, |[a, b, c], triangle| {
        first = first.wrapping_add(a);
        let predicted_second = if a == 0 && !is_first_triangle {
            second
        } else {
            first
        };
        second = predicted_second.wrapping_add(b);
        is_first_triangle = false;
        *triangle = [first, second, first.wrapping_add(c)];
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planes(words: &[[u32; 3]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for significance in 0..4 {
            for word in 0..3 {
                bytes.extend(
                    words
                        .iter()
                        .map(|group| group[word].to_be_bytes()[significance]),
                );
            }
        }
        bytes
    }

    #[test]
    fn indices_are_sums_that_wrap() {
        let stored = [
            [5, 1, 2],
            [0, 3, 4],
            [1, 1, 1],
            [u32::MAX, 1, 0],
            [0, u32::MAX, u32::MAX],
        ];
        let mut out = [[0; 3]; 5];
        indices(&Planes::new(&planes(&stored)), &mut out);
        assert_eq!(out, [[5, 6, 7], [5, 9, 9], [6, 7, 7], [5, 6, 5], [5, 5, 4]]);
    }

    #[test]
    fn first_triangle_has_none_before_it() {
        let mut out = [[0; 3]; 1];
        indices(&Planes::new(&planes(&[[0, 7, 9]])), &mut out);
        assert_eq!(out, [[0, 7, 9]]);
    }
}
