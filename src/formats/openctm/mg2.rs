//! Arrays of MG2: numbers in fixed point, stored as differences.
//!
//! All integer sums wrap.

use zerocopy::little_endian::U32;

use super::raw;
use crate::codec::planes::Planes;

/// The grid, ready to make coordinates of integers.
#[derive(Debug)]
pub(crate) struct GridBoxes {
    precision: f32,
    lower_bound: [f32; 3],
    /// The size of a cell.
    size: [f32; 3],
    div: [u32; 3],
    /// The number of cells in a layer.
    layer: u32,
}

impl GridBoxes {
    /// `None` for a grid without cells, or with a layer whose number of cells wraps to 0, as it does in the reference
    /// library, which divides by it.
    pub(crate) fn new(header: &raw::Mg2Header) -> Option<Self> {
        let div = header.div.map(U32::get);
        let [x, y, _] = div;
        let layer = x.wrapping_mul(y);
        if div.contains(&0) || layer == 0 {
            return None;
        }
        let lower_bound = header.lower_bound.map(|bound| bound.get());
        let mut size = header.higher_bound.map(|bound| bound.get());
        for ((size, low), div) in size.iter_mut().zip(lower_bound).zip(div) {
            *size = (*size - low) / rounded(div);
        }
        Some(Self {
            precision: header.vertex_precision.get(),
            lower_bound,
            size,
            div,
            layer,
        })
    }

    /// Returns `true` if a cell of this number is in the grid.
    pub(crate) fn contains(&self, cell: u32) -> bool {
        let [x, y, z] = self.div.map(u128::from);
        u128::from(cell) < x.saturating_mul(y).saturating_mul(z)
    }

    /// The lower corner of a cell, without the bound of the grid.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "no divisor is 0, and a product is no more than its dividend"
    )]
    fn corner(&self, cell: u32) -> [f32; 3] {
        let [columns, _, _] = self.div;
        let z = cell / self.layer;
        let in_layer = cell - z * self.layer;
        let y = in_layer / columns;
        let x = in_layer - y * columns;
        let [size_x, size_y, size_z] = self.size;
        [
            rounded(x) * size_x,
            rounded(y) * size_y,
            rounded(z) * size_z,
        ]
    }
}

/// Calls `each` with the grid index of every vertex and its element of `out`. Grid indices are delta coded.
pub(crate) fn grid_indices<T>(
    words: &Planes<'_, 1>,
    out: &mut [T],
    mut each: impl FnMut(u32, &mut T),
) {
    let mut cell = 0_u32;
    words.for_each_into(out, |[difference], element| {
        cell = cell.wrapping_add(difference);
        each(cell, element);
    });
}

/// Replaces grid indices, each the first number of its vertex, by positions, as the bits of their coordinates.
///
/// Within a cell, x is stored as its difference from the x of the vertex before. The integer's product and the corner's
/// sum are rounded each, and added last.
pub(crate) fn positions(words: &Planes<'_, 3>, grid: &GridBoxes, out: &mut [[u32; 3]]) {
    let [low_x, low_y, low_z] = grid.lower_bound;
    let mut x_before = 0_u32;
    let mut cell_before = None;
    let mut corner = [0.0; 3];
    words.for_each_into(out, |[x, y, z], vertex| {
        let [cell, ..] = *vertex;
        let mut x = x;
        if cell_before == Some(cell) {
            x = x.wrapping_add(x_before);
        } else {
            let [corner_x, corner_y, corner_z] = grid.corner(cell);
            corner = [corner_x + low_x, corner_y + low_y, corner_z + low_z];
            cell_before = Some(cell);
        }
        x_before = x;
        let [corner_x, corner_y, corner_z] = corner;
        let fixed = |integer: u32| grid.precision * rounded_signed(integer.cast_signed());
        *vertex = [
            fixed(x) + corner_x,
            fixed(y) + corner_y,
            fixed(z) + corner_z,
        ]
        .map(f32::to_bits);
    });
}

/// Numbers of UV maps and attribute maps: running sums, times the precision.
pub(crate) fn numbers<const N: usize>(words: &Planes<'_, N>, precision: f32, out: &mut [[f32; N]]) {
    let mut sums = [0_u32; N];
    words.for_each_into(out, |differences, numbers| {
        for ((sum, difference), number) in sums.iter_mut().zip(differences).zip(numbers) {
            *sum = sum.wrapping_add(signed_magnitude(difference));
            *number = rounded_signed(sum.cast_signed()) * precision;
        }
    });
}

/// Two's complement of a number whose sign is its lowest bit. The maximum wraps to 0 in the reference library.
fn signed_magnitude(word: u32) -> u32 {
    let magnitude = word.wrapping_add(word & 1) >> 1;
    if word & 1 == 0 {
        magnitude
    } else {
        magnitude.wrapping_neg()
    }
}

/// The nearest `f32`.
#[expect(
    clippy::cast_precision_loss,
    reason = "rounding is what the format does"
)]
pub(crate) fn rounded(integer: u32) -> f32 {
    integer as f32
}

/// The nearest `f32`.
#[expect(
    clippy::cast_precision_loss,
    reason = "rounding is what the format does"
)]
pub(crate) fn rounded_signed(integer: i32) -> f32 {
    integer as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signed_magnitudes_have_their_sign_in_the_lowest_bit() {
        let cases = [
            (0, 0),
            (1, -1),
            (2, 1),
            (3, -2),
            (4, 2),
            (0xffff_fffe, 0x7fff_ffff),
            (0xffff_ffff, 0),
        ];
        for (stored, value) in cases {
            assert_eq!(signed_magnitude(stored).cast_signed(), value, "{stored:#x}");
        }
    }
}
