//! Dequantization: normalized integers of 16 bits to floats in a domain.

use zerocopy::little_endian as le;

/// The number of components that are computed together: whole elements of one to four components, and whole vector registers.
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
    for (scale, min) in scale.iter_mut().zip(min) {
        *scale -= min;
    }
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
    let scales = repeat_over_block(scale);
    let offsets = repeat_over_block(offset);
    // The factor 2^-16 of the quotients goes into the scales, which saves an operation for each component. A product with a
    // power of two is exact, unless it is so small that it loses digits.
    let has_tiny_scale = scale
        .iter()
        .any(|scale| *scale != 0.0 && scale.abs() < MIN_SCALE);
    if has_tiny_scale {
        convert(stored, &scales, &offsets, out, unit);
    } else {
        let smaller_scales = scales.map(|scale| scale * PER_65536);
        convert(stored, &smaller_scales, &offsets, out, unit_times_65536);
    }
}

/// The numbers of an element, repeated for each element of a block.
fn repeat_over_block<const N: usize>(element: [f32; N]) -> [f32; BLOCK] {
    let mut block = [0.0; BLOCK];
    for (lane, number) in block.iter_mut().zip(element.into_iter().cycle()) {
        *lane = number;
    }
    block
}

/// 2^-16, the weight of the last of the 16 binary digits that repeat in a quotient.
const PER_65536: f32 = 1.0 / 65_536.0;

/// Scales below this are not divided further: far above the minimum number without loss of digits, 2^-126.
const MIN_SCALE: f32 = 1.0e-30;

/// `quotient(stored) * scale + offset` for each component, in blocks that the compiler turns into vector instructions.
#[inline(always)]
fn convert(
    stored: &[le::U16],
    scale: &[f32; BLOCK],
    offset: &[f32; BLOCK],
    out: &mut [f32],
    quotient: impl Fn(u16) -> f32,
) {
    let (blocks, rest) = stored.as_chunks::<BLOCK>();
    let (out_blocks, out_rest) = out.as_chunks_mut::<BLOCK>();
    for (block, out) in blocks.iter().zip(out_blocks) {
        let lanes = block.iter().zip(scale).zip(offset);
        for (((stored, scale), offset), out) in lanes.zip(out) {
            *out = quotient(stored.get()) * scale + offset;
        }
    }
    let lanes = rest.iter().zip(scale).zip(offset);
    for (((stored, scale), offset), out) in lanes.zip(out_rest) {
        *out = quotient(stored.get()) * scale + offset;
    }
}

/// `stored / 65535`, correctly rounded, without a division.
///
/// 1 / (2^16 - 1) is the geometric series 2^-16 + 2^-32 + 2^-48 + .., so the binary digits of the quotient are the 16 digits
/// of `stored`, over and over. The first 16 are exact; the next 32 are added to them, and their rounding is too small to
/// matter (a test checks all 65,536 quotients).
#[inline]
pub(crate) fn unit(stored: u16) -> f32 {
    unit_times_65536(stored) * PER_65536
}

/// `stored / 65535`, times 65,536.
#[inline]
fn unit_times_65536(stored: u16) -> f32 {
    const NEXT_DIGITS: f32 = PER_65536 + PER_65536 * PER_65536;
    let stored = f32::from(stored);
    stored + stored * NEXT_DIGITS
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
        let min = [-0.5, 0.25, 3.0e-5];
        let max = [0.5, -7.75, 3.1e-5];
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
