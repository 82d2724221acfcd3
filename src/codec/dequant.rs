//! Integers of 16 bits that stand for numbers in a domain, to floats.

use zerocopy::little_endian as le;

/// Lanes that are computed at once: whole elements of one, two, three and four lanes, and whole vector registers.
const BLOCK: usize = 48;

/// `stored / 65535 * (max - min) + min` for each lane, each operation rounded to single precision.
///
/// As many elements as both slices have.
pub(crate) fn dequantize<const N: usize>(
    stored: &[[le::U16; N]],
    min: [f32; N],
    max: [f32; N],
    out: &mut [[f32; N]],
) {
    const { assert!(BLOCK.is_multiple_of(N)) };
    let (mut scale, mut offset) = ([0.0; BLOCK], [0.0; BLOCK]);
    let lanes = scale.iter_mut().zip(&mut offset);
    for ((scale, offset), (min, max)) in lanes.zip(min.into_iter().zip(max).cycle()) {
        (*scale, *offset) = (max - min, min);
    }
    let (blocks, rest) = stored.as_flattened().as_chunks::<BLOCK>();
    let (out_blocks, out_rest) = out.as_flattened_mut().as_chunks_mut::<BLOCK>();
    for (block, out) in blocks.iter().zip(&mut *out_blocks) {
        let lanes = block.iter().zip(scale).zip(offset);
        for (((stored, scale), offset), out) in lanes.zip(out) {
            *out = unit(stored.get()) * scale + offset;
        }
    }
    // One of the slices may be longer than the other by blocks.
    let (rest, out_rest) = match blocks.len() == out_blocks.len() {
        true => (rest, out_rest),
        false => Default::default(),
    };
    let lanes = rest.iter().zip(scale).zip(offset);
    for (((stored, scale), offset), out) in lanes.zip(out_rest) {
        *out = unit(stored.get()) * scale + offset;
    }
}

/// `stored / 65535`, correctly rounded, without a division.
///
/// The quotient's binary digits are those of `stored`, over and over, 16 at a time. The first 16 are exact; to them are
/// added the next 32, whose own rounding is too far behind to show (a test looks at all 65,536 of them).
#[inline]
pub(crate) fn unit(stored: u16) -> f32 {
    const FIRST: f32 = 1.0 / 65_536.0;
    const NEXT: f32 = FIRST * FIRST + FIRST * FIRST * FIRST;
    let stored = f32::from(stored);
    stored * FIRST + stored * NEXT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_quotient_is_that_of_the_division() {
        for stored in 0..=u16::MAX {
            assert_eq!(unit(stored).to_bits(), (f32::from(stored) / 65_535.0).to_bits(), "{stored}");
        }
    }

    #[test]
    fn elements_of_any_number_are_those_of_the_formula() {
        let (min, max) = ([-0.5, 0.25, 3.0e-5], [0.5, -7.75, 3.1e-5]);
        for count in [0, 1, 15, 16, 17, 32, 100] {
            let stored: Vec<[le::U16; 3]> = (0..count)
                .map(|i| [i * 650, 65_535 - i * 3, i * i].map(|lane: u16| le::U16::new(lane)))
                .collect();
            let mut out = vec![[0.0; 3]; stored.len()];
            dequantize(&stored, min, max, &mut out);
            for (stored, out) in stored.iter().zip(&out) {
                for lane in 0..3 {
                    let expected =
                        f32::from(stored[lane].get()) / 65_535.0 * (max[lane] - min[lane]) + min[lane];
                    assert_eq!(out[lane].to_bits(), expected.to_bits());
                }
            }
        }
    }
}
