//! Numbers of any width, packed without padding, the most significant bit first.

use crate::num::{as_u64, as_usize};

/// Returns the byte length of `count` records of `width` bits; `None` if it is beyond 64 bits.
pub(crate) fn packed_len(count: u64, width: u64) -> Option<u64> {
    let bits = u128::from(count).checked_mul(width.into())?;
    bits.div_ceil(8).try_into().ok()
}

/// The number of `width` bits, at most 64, that begins at a bit. Bits after the end are 0.
#[inline]
pub(crate) fn field(bytes: &[u8], bit: u64, width: u32) -> u64 {
    let at = usize::try_from(bit >> 3).unwrap_or(usize::MAX);
    let shift = shift(bit);
    let mut window = window(bytes, at) << shift;
    if width > 64_u32.wrapping_sub(shift) {
        // A number of more than 57 bits may reach into a ninth byte.
        let ninth = at
            .checked_add(8)
            .and_then(|at| bytes.get(at))
            .copied()
            .unwrap_or(0);
        window |= u64::from(ninth) >> 8_u32.wrapping_sub(shift);
    }
    top(window, width)
}

/// The uppermost `width` bits.
#[inline]
pub(crate) fn top(window: u64, width: u32) -> u64 {
    // For a width of 0, the shift would be by 64.
    window.checked_shr(64_u32.wrapping_sub(width)).unwrap_or(0)
}

/// Returns the maximum number of `bits` bits, at most 64; 1 for zero bits, so that it can be divided by.
pub(crate) fn steps(bits: u8) -> u64 {
    top(u64::MAX, bits.into()).max(1)
}

/// The uppermost `width` bits, at most 63; faster than [`top`].
#[inline]
pub(crate) fn top_few(window: u64, width: u32) -> u64 {
    (window >> 1).wrapping_shr(63_u32.wrapping_sub(width))
}

/// The position of a bit in its byte, from the most significant one.
#[inline]
pub(crate) fn shift(bit: u64) -> u32 {
    u32::from(bit.to_le_bytes()[0] & 7)
}

/// Eight bytes, the first one uppermost; zeros after the end.
#[inline]
pub(crate) fn window(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.first_chunk() {
        Some(window) => u64::from_be_bytes(*window),
        None => {
            let mut window = [0; 8];
            for (to, from) in window.iter_mut().zip(rest) {
                *to = *from;
            }
            u64::from_be_bytes(window)
        }
    }
}

/// Unpacks numbers of at most 32 bits, from a bit on, until `out` is full.
pub(crate) fn unpack(bytes: &[u8], bit: u64, width: u32, out: &mut [u32]) {
    let count = out.len();
    let before = numbers_before_byte(bit, width).unwrap_or(count).min(count);
    let (first, rest) = out.split_at_mut(before);
    let aligned_bit = one_by_one(bytes, bit, width, first);

    let aligned = bytes.get(as_usize(aligned_bit >> 3)..).unwrap_or_default();
    let done = by_groups(aligned, width, rest);

    let last = rest.get_mut(done..).unwrap_or_default();
    let last_bit = aligned_bit.wrapping_add(as_u64(done).wrapping_mul(width.into()));
    one_by_one(bytes, last_bit, width, last);
}

/// Counts the numbers, each of `width` bits, before the first one at or after `bit` that begins a byte: at most 7. `None` if none
/// ever does.
fn numbers_before_byte(bit: u64, width: u32) -> Option<usize> {
    let mut bit = bit;
    for count in 0..8 {
        if shift(bit) == 0 {
            return Some(count);
        }
        bit = bit.wrapping_add(width.into());
    }
    None
}

/// Unpacks numbers at any bit; returns the bit after the last.
fn one_by_one(bytes: &[u8], bit: u64, width: u32, out: &mut [u32]) -> u64 {
    let mut bit = bit;
    for out in out {
        *out = u32::try_from(field(bytes, bit, width)).unwrap_or(u32::MAX);
        bit = bit.wrapping_add(width.into());
    }
    bit
}

/// Unpacks groups of eight numbers, each of which begins a byte. Returns the number of unpacked numbers: groups near the
/// end of the bytes are left to [`one_by_one`].
///
/// Each width has a separate body, in which every offset and every shift is a constant.
fn by_groups(bytes: &[u8], width: u32, out: &mut [u32]) -> usize {
    macro_rules! widths {
        ($($width:literal)+) => {
            match width {
                0 => {
                    out.fill(0);
                    out.len()
                }
                1 => ones(bytes, out),
                2 => twos(bytes, out),
                $($width => groups::<$width>(bytes, out),)+
                _ => 0,
            }
        };
    }
    widths!(3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32)
}

/// The four numbers of one bit in half a byte. A look-up is faster than shifting each.
static ONES: [[u32; 4]; 16] = fours();

/// The four numbers of two bits in a byte.
static TWOS: [[u32; 4]; 256] = fours();

/// A table of the four numbers in each index, which are of one bit if there are 16 entries, and of two if there are 256.
#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "computed by the compiler, which would report each"
)]
const fn fours<const ENTRIES: usize>() -> [[u32; 4]; ENTRIES] {
    let width = ENTRIES.ilog2() / 4;
    let mut table = [[0; 4]; ENTRIES];
    let mut entry = 0;
    while entry < ENTRIES {
        let mut place = 0;
        while place < 4 {
            table[entry][place as usize] =
                (entry >> (width * (3 - place)) & ((1 << width) - 1)) as u32;
            place += 1;
        }
        entry += 1;
    }
    table
}

fn ones(bytes: &[u8], out: &mut [u32]) -> usize {
    let (groups, _) = out.as_chunks_mut::<8>();
    let done = groups.len().min(bytes.len()).saturating_mul(8);
    for (group, byte) in groups.iter_mut().zip(bytes) {
        let (halves, _) = group.as_chunks_mut::<4>();
        for (half, index) in halves.iter_mut().zip([byte >> 4, byte & 15]) {
            *half = ONES.get(usize::from(index)).copied().unwrap_or_default();
        }
    }
    done
}

fn twos(bytes: &[u8], out: &mut [u32]) -> usize {
    let (groups, _) = out.as_chunks_mut::<4>();
    let done = groups.len().min(bytes.len()).saturating_mul(4);
    for (group, byte) in groups.iter_mut().zip(bytes) {
        *group = TWOS.get(usize::from(*byte)).copied().unwrap_or_default();
    }
    done
}

#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "a group spans W bytes, and 8 more are there: 7 * W / 8 + 8 <= W + 8; no width is more than 32"
)]
fn groups<const W: usize>(bytes: &[u8], out: &mut [u32]) -> usize {
    let (groups, _) = out.as_chunks_mut::<8>();
    let mut rest = bytes;
    let mut done = 0;
    for group in groups {
        let Some(here) = rest.get(..W + 8) else { break };
        for (place, value) in group.iter_mut().enumerate() {
            let bit = place * W;
            let at = bit / 8;
            // A load of eight bytes; an array made of eight bytes would be loaded a byte at a time.
            let window = here[at..]
                .first_chunk()
                .map_or(0, |window| u64::from_be_bytes(*window));
            *value = (window << (bit % 8) >> (64 - W)) as u32;
        }
        rest = &rest[W..];
        done += 8;
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One bit at a time.
    fn naive(bytes: &[u8], bit: usize, width: u32) -> u64 {
        (bit..bit + width as usize).fold(0, |value, bit| {
            let set = bytes
                .get(bit / 8)
                .is_some_and(|byte| byte >> (7 - bit % 8) & 1 != 0);
            value << 1 | u64::from(set)
        })
    }

    fn noise(len: usize) -> Vec<u8> {
        (0..len as u32)
            .map(|n| (n.wrapping_mul(0x9e37_79b1) >> 13) as u8)
            .collect()
    }

    #[test]
    fn every_width_at_every_bit_is_what_single_bits_make() {
        let bytes = noise(24);
        for width in (0..=64).step_by(if cfg!(miri) { 9 } else { 1 }) {
            for bit in (0..24 * 8 + 9).step_by(if cfg!(miri) { 11 } else { 1 }) {
                assert_eq!(
                    field(&bytes, bit as u64, width),
                    naive(&bytes, bit, width),
                    "{width} at {bit}"
                );
            }
        }
    }

    #[test]
    fn uppermost_bits_are_the_same_either_way() {
        for width in 0..64 {
            assert_eq!(
                top_few(0x9234_5678_9abc_def1, width),
                top(0x9234_5678_9abc_def1, width),
                "{width}"
            );
        }
    }

    /// A start that no whole number of numbers brings to a byte.
    #[test]
    fn numbers_that_never_begin_a_byte_are_unpacked() {
        let bytes = noise(40);
        let mut out = [0; 30];
        unpack(&bytes, 3, 8, &mut out);
        let expected: Vec<u64> = (0..30)
            .map(|index| naive(&bytes, 3 + index * 8, 8))
            .collect();
        assert_eq!(out.map(u64::from).to_vec(), expected);
    }

    /// All groups are unpacked as such, if eight bytes follow the last one.
    #[test]
    fn groups_are_not_left_to_the_slow_way() {
        let bytes = noise(8 * 32 + 8);
        for width in 0..=32 {
            let stored = &bytes[..8 * width as usize + 8];
            let mut out = [7; 64];
            assert_eq!(by_groups(stored, width, &mut out), 64, "{width}");
            let expected =
                std::array::from_fn(|index| naive(stored, index * width as usize, width));
            assert_eq!(out.map(u64::from), expected, "{width}");
        }
    }

    #[test]
    fn bulk_unpacking_is_what_single_fields_make() {
        let bytes = noise(300);
        let (widths, firsts) = if cfg!(miri) { (8, 13) } else { (1, 1) };
        for width in (0..=32).step_by(widths) {
            for first in (0..20).step_by(firsts) {
                let count = 2400_usize
                    .checked_div(width as usize)
                    .unwrap_or(100)
                    .min(200)
                    - first;
                let mut out = vec![7; count];
                unpack(&bytes, first as u64 * u64::from(width), width, &mut out);
                for (index, value) in out.iter().enumerate() {
                    let expected = naive(&bytes, (first + index) * width as usize, width);
                    assert_eq!(
                        u64::from(*value),
                        expected,
                        "width {width}, number {first} + {index}"
                    );
                }
            }
        }
    }
}
