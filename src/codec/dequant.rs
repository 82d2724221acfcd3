//! Integers of 16 bits that stand for numbers in a domain, to floats.

use zerocopy::little_endian as le;

/// Components computed together: whole elements of one to four components, and whole vector registers.
const BLOCK: usize = 48;

/// `stored / 65535 * (max - min) + min` for each component, each operation rounded to single precision.
///
/// As many elements as both slices have.
pub(crate) fn dequantize<const N: usize>(
    stored: &[[le::U16; N]],
    min: [f32; N],
    max: [f32; N],
    out: &mut [[f32; N]],
) {
    let count = stored.len().min(out.len());
    let (Some(stored), Some(out)) = (stored.get(..count), out.get_mut(..count)) else {
        return;
    };
    let mut scale = max;
    scale.iter_mut().zip(min).for_each(|(max, min)| *max -= min);
    scale_and_offset(stored.as_flattened(), scale, min, out.as_flattened_mut());
}

/// `stored / 65535 * scale + offset` for each component of elements of `N`, each operation rounded to single precision.
///
/// As many components as both slices have.
pub(crate) fn scale_and_offset<const N: usize>(
    stored: &[le::U16],
    scale: [f32; N],
    offset: [f32; N],
    out: &mut [f32],
) {
    const { assert!(BLOCK.is_multiple_of(N)) };
    let (mut scales, mut offsets) = ([0.0_f32; BLOCK], [0.0; BLOCK]);
    scales
        .iter_mut()
        .zip(scale.into_iter().cycle())
        .for_each(|(lane, scale)| *lane = scale);
    offsets
        .iter_mut()
        .zip(offset.into_iter().cycle())
        .for_each(|(lane, offset)| *lane = offset);
    // Multiplied by a power of two, the quotients are one operation less; that is exact, unless it makes numbers so small
    // that they lose digits.
    if scale
        .iter()
        .any(|scale| *scale != 0.0 && scale.abs() < LEAST_SCALE)
    {
        return lanes_of(stored, &scales, &offsets, out, unit);
    }
    lanes_of(
        stored,
        &scales.map(|scale| scale * FIRST),
        &offsets,
        out,
        widened,
    );
}

/// The digits that a quotient has before they repeat.
const FIRST: f32 = 1.0 / 65_536.0;

/// Scales below this are not divided further: far above the least number without loss of digits, 2^-126.
const LEAST_SCALE: f32 = 1.0e-30;

#[inline(always)]
fn lanes_of(
    stored: &[le::U16],
    scale: &[f32; BLOCK],
    offset: &[f32; BLOCK],
    out: &mut [f32],
    number: impl Fn(u16) -> f32,
) {
    let (blocks, rest) = stored.as_chunks::<BLOCK>();
    let (out_blocks, out_rest) = out.as_chunks_mut::<BLOCK>();
    for (block, out) in blocks.iter().zip(out_blocks) {
        let lanes = block.iter().zip(scale).zip(offset);
        for (((stored, scale), offset), out) in lanes.zip(out) {
            *out = number(stored.get()) * scale + offset;
        }
    }
    let lanes = rest.iter().zip(scale).zip(offset);
    for (((stored, scale), offset), out) in lanes.zip(out_rest) {
        *out = number(stored.get()) * scale + offset;
    }
}

/// `stored / 65535`, correctly rounded, without a division.
///
/// The quotient's binary digits are the digits of `stored`, over and over, 16 at a time. The first 16 are exact; to them are added
/// the next 32, whose rounding is too small to matter (a test checks all 65,536 of them).
#[inline]
pub(crate) fn unit(stored: u16) -> f32 {
    widened(stored) * FIRST
}

/// `stored / 65535`, times 65,536.
#[inline]
fn widened(stored: u16) -> f32 {
    const NEXT: f32 = FIRST + FIRST * FIRST;
    let stored = f32::from(stored);
    stored + stored * NEXT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_quotient_is_that_of_the_division() {
        for stored in (0..=u16::MAX).step_by(if cfg!(miri) { 61 } else { 1 }) {
            assert_eq!(
                unit(stored).to_bits(),
                (f32::from(stored) / 65_535.0).to_bits(),
                "{stored}"
            );
        }
    }

    /// Whatever the domain: of no extent, tiny, huge, and of what are no numbers.
    #[test]
    fn every_integer_in_any_domain_is_that_of_the_formula() {
        let step = if cfg!(miri) { 997 } else { 1 };
        let stored: Vec<[le::U16; 2]> = (0..=u16::MAX)
            .step_by(step)
            .map(|lane| [lane, u16::MAX - lane].map(le::U16::new))
            .collect();
        let mut out = vec![[0.0; 2]; stored.len()];
        for (min, max) in [
            ([-0.5, 0.5], [0.5, -0.5]),
            ([0.1, 0.0], [0.1, 1.0]),
            ([0.0, 1.0e-3], [1.0e-29, 3.0e-3]),
            ([0.0, 0.0], [1.0e-31, 1.0e-44]),
            ([-0.0, f32::MIN_POSITIVE], [0.0, 1.0e-37]),
            ([f32::MIN, 0.0], [f32::MAX, f32::MAX]),
            ([f32::NEG_INFINITY, 0.0], [1.0, f32::NAN]),
        ] {
            dequantize(&stored, min, max, &mut out);
            for (stored, out) in stored.iter().zip(&out) {
                for lane in 0..2 {
                    let unit = f32::from(stored[lane].get()) / 65_535.0;
                    let expected = unit * (max[lane] - min[lane]) + min[lane];
                    let is_same = out[lane].to_bits() == expected.to_bits();
                    assert!(
                        is_same || out[lane].is_nan() && expected.is_nan(),
                        "{min:?} {max:?} {stored:?}"
                    );
                }
            }
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
                    let expected = f32::from(stored[lane].get()) / 65_535.0
                        * (max[lane] - min[lane])
                        + min[lane];
                    assert_eq!(out[lane].to_bits(), expected.to_bits());
                }
            }
        }
    }
}
