//! Floats of 16 bits.

/// The nearest number of 16 bits; the largest one for what is beyond.
pub(super) fn half(number: f32) -> u16 {
    /// From the exponents of 32 bits to the exponents of 16.
    const SHIFT: f32 = f32::from_bits((127 - 112) << 23);
    let sign = (number.to_bits() >> 16 & 0x8000) as u16;
    let bits = (number.abs().min(65_504.0) * SHIFT).to_bits();
    sign | ((bits + 0xfff + (bits >> 13 & 1)) >> 13) as u16
}

/// The number that 16 bits hold.
pub(super) fn single(half: u16) -> f32 {
    const SHIFT: f32 = f32::from_bits((127 + 112) << 23);
    let magnitude = f32::from_bits(u32::from(half & 0x7fff) << 13) * SHIFT;
    if half & 0x8000 == 0 {
        magnitude
    } else {
        -magnitude
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_the_nearest() {
        for (number, bits) in [
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (0.1, 0x2e66),
            (65_504.0, 0x7bff),
            (1e9, 0x7bff),
            (6e-8, 1),
        ] {
            assert_eq!(half(number), bits, "{number}");
        }
        assert!((0..0x7c00).all(|bits| half(single(bits)) == bits));
    }
}
