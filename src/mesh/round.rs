//! Floats to the nearest normalized integer.

/// The number in `least..=1`; 0 for what is none.
#[inline(always)]
pub(super) fn limited(float: f32, least: f32) -> f32 {
    let number = if float.is_nan() { 0.0 } else { float };
    number.max(least).min(1.0)
}

/// The integer nearest to a number of at most 32 bits, the even one of two; a negative one as its two's complement.
pub(super) fn nearest(number: f64) -> u32 {
    /// So large that the last bit of a sum counts ones: adding rounds.
    const ONES: f64 = 6_755_399_441_055_744.0;
    u32::from_le_bytes(low((number + ONES).to_bits()))
}

/// The lowest bytes of an integer, the lowest first.
pub(super) fn low<const N: usize>(integer: impl Into<u64>) -> [u8; N] {
    integer
        .into()
        .to_le_bytes()
        .first_chunk()
        .copied()
        .unwrap_or([0; N])
}
