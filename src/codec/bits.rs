//! Numbers of any width, packed without padding, the most significant bit first.

#[cfg(target_arch = "x86_64")]
use super::wide::Wide;
use crate::num::{as_u64, as_usize};
#[cfg(target_arch = "x86_64")]
use crate::processor::Processor;

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

/// Unpacks records of three numbers, which have at most 32 bits each. Numbers of one width are records of three such numbers.
pub(crate) struct Unpacker {
    widths: [u32; 3],
    #[cfg(target_arch = "x86_64")]
    wide: Option<Wide>,
}

impl Unpacker {
    /// For `count` numbers, in records of these widths.
    pub(crate) fn new(widths: [u32; 3], count: usize) -> Self {
        /// Fewer numbers are unpacked in the time in which [`Wide`] is made.
        #[cfg(target_arch = "x86_64")]
        const FEW: usize = 192;
        #[cfg(target_arch = "x86_64")]
        let wide = if count < FEW {
            None
        } else {
            let avx2 = Processor::new().avx2();
            avx2.and_then(|avx2| Wide::new(avx2, widths))
        };
        #[cfg(not(target_arch = "x86_64"))]
        let _ = count;
        Self {
            widths,
            #[cfg(target_arch = "x86_64")]
            wide,
        }
    }

    /// The bits of a record.
    pub(crate) fn record(&self) -> u64 {
        self.widths.map(u64::from).iter().sum()
    }

    /// Unpacks numbers until `out` is full, of which the first one begins a record at `bit`.
    pub(crate) fn unpack(&self, bytes: &[u8], bit: u64, out: &mut [u32]) {
        #[cfg(target_arch = "x86_64")]
        if let Some(wide) = &self.wide {
            return self.unpack_wide(wide, bytes, bit, out);
        }
        self.unpack_plain(bytes, bit, out);
    }

    /// Unpacks with AVX2 from the first record on that begins a byte.
    #[cfg(target_arch = "x86_64")]
    fn unpack_wide(&self, wide: &Wide, bytes: &[u8], bit: u64, out: &mut [u32]) {
        let record = self.record();
        let before = records_before_byte(bit, record)
            .map_or(out.len(), |records| records.saturating_mul(3))
            .min(out.len());
        let (first, rest) = out.split_at_mut(before);
        self.unpack_plain(bytes, bit, first);

        let bits_before = as_u64(before / 3).wrapping_mul(record);
        let aligned = as_usize(bit.wrapping_add(bits_before) >> 3);
        let bytes = bytes.get(aligned..).unwrap_or_default();
        let done = wide.unpack(bytes, rest);

        let last = rest.get_mut(done..).unwrap_or_default();
        self.unpack_plain(bytes, as_u64(done / 3).wrapping_mul(record), last);
    }

    /// Unpacks with the instructions that every processor has.
    fn unpack_plain(&self, bytes: &[u8], bit: u64, out: &mut [u32]) {
        let [x, y, z] = self.widths;
        if x == y && y == z {
            unpack_numbers(bytes, bit, x, out);
        } else {
            unpack_records(bytes, bit, self.widths, out);
        }
    }
}

/// Unpacks numbers of at most 32 bits, from a bit on, until `out` is full.
fn unpack_numbers(bytes: &[u8], bit: u64, width: u32, out: &mut [u32]) {
    let count = out.len();
    let before = records_before_byte(bit, width.into())
        .unwrap_or(count)
        .min(count);
    let (first, rest) = out.split_at_mut(before);
    let aligned_bit = one_by_one(bytes, bit, width, first);

    let aligned = bytes.get(as_usize(aligned_bit >> 3)..).unwrap_or_default();
    let done = by_groups(aligned, width, rest);

    let last = rest.get_mut(done..).unwrap_or_default();
    let last_bit = aligned_bit.wrapping_add(as_u64(done).wrapping_mul(width.into()));
    one_by_one(bytes, last_bit, width, last);
}

/// Records of three numbers of at most 31 bits each.
fn unpack_records(bytes: &[u8], bit: u64, widths: [u32; 3], out: &mut [u32]) {
    let [x, y, z] = widths;
    let mut bit = bit;
    let (records, _) = out.as_chunks_mut::<3>();
    let both = x.wrapping_add(y);
    let record = both.wrapping_add(z);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "no number has more than 31 bits"
    )]
    if record <= 57 {
        for out in records {
            let window = window(bytes, as_usize(bit >> 3)) << shift(bit);
            let numbers = [
                top_few(window, x),
                top_few(window << x, y),
                top_few(window << both, z),
            ];
            *out = numbers.map(|number| number as u32);
            bit = bit.wrapping_add(record.into());
        }
    } else {
        for out in records {
            let third = bit.wrapping_add(both.into());
            let ahead = window(bytes, as_usize(bit >> 3)) << shift(bit);
            let numbers = [
                top_few(ahead, x),
                field(bytes, bit.wrapping_add(x.into()), y),
                field(bytes, third, z),
            ];
            *out = numbers.map(|number| number as u32);
            bit = bit.wrapping_add(record.into());
        }
    }
}

/// Counts the records, each of `width` bits, before the first one at or after `bit` that begins a byte: at most 7. `None` if none
/// ever does.
fn records_before_byte(bit: u64, width: u64) -> Option<usize> {
    let mut bit = bit;
    for count in 0..8 {
        if shift(bit) == 0 {
            return Some(count);
        }
        bit = bit.wrapping_add(width);
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
        Unpacker::new([8; 3], out.len()).unpack(&bytes, 3, &mut out);
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

    /// Numbers of records, one bit at a time, from a bit on.
    fn naive_records(bytes: &[u8], bit: usize, widths: [u32; 3], count: usize) -> Vec<u32> {
        let mut bit = bit;
        let mut numbers = Vec::new();
        for width in widths.into_iter().cycle().take(count) {
            numbers.push(naive(bytes, bit, width) as u32);
            bit += width as usize;
        }
        numbers
    }

    /// Unpacks with all instructions of this processor, and with the instructions of every processor.
    #[track_caller]
    fn assert_unpacked(bytes: &[u8], bit: usize, widths: [u32; 3], count: usize) {
        let expected = naive_records(bytes, bit, widths, count);
        let mut out = vec![7; count];
        // As if there were many, so that AVX2 is also tried for few numbers.
        let unpacker = Unpacker::new(widths, usize::MAX);
        unpacker.unpack(bytes, bit as u64, &mut out);
        assert_eq!(out, expected, "{count} of {widths:?} at {bit}");
        out.fill(7);
        unpacker.unpack_plain(bytes, bit as u64, &mut out);
        assert_eq!(out, expected, "{count} of {widths:?} at {bit}, plain");
    }

    #[test]
    fn bulk_unpacking_is_what_single_fields_make() {
        let bytes = noise(300);
        let (widths, firsts) = if cfg!(miri) { (8, 13) } else { (1, 1) };
        for width in (0..=32).step_by(widths) {
            for first in (0..20).step_by(firsts) {
                let fitting = 2400_usize.checked_div(width as usize).unwrap_or(100);
                let count = fitting.min(200) - first;
                assert_unpacked(&bytes, first * width as usize, [width; 3], count);
            }
        }
    }

    #[test]
    fn records_are_what_single_fields_make() {
        let bytes = noise(300);
        let step = if cfg!(miri) { 11 } else { 3 };
        for x in (0..=31).step_by(step) {
            for y in (0..=31).step_by(step) {
                for (z, bit) in [(0, 0), (13, 1), (25, 5), (26, 3), (31, 8)] {
                    let record = (x + y + z).max(1) as usize;
                    let fitting = (2400 - bit) / record;
                    for records in [fitting.min(70), 5] {
                        assert_unpacked(&bytes, bit, [x, y, z], 3 * records.min(fitting));
                    }
                }
            }
        }
    }

    /// All records are unpacked with AVX2, if the processor has it and sixteen bytes follow the last one.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn records_are_not_left_to_the_plain_way() {
        let bytes = noise(1000);
        for widths in [[1; 3], [25; 3], [3, 7, 7], [12, 0, 13]] {
            let unpacker = Unpacker::new(widths, usize::MAX);
            if let Some(wide) = &unpacker.wide {
                let stored = &bytes[..10 * unpacker.record() as usize + 16];
                let mut out = [7; 240];
                assert_eq!(wide.unpack(stored, &mut out), 240, "{widths:?}");
                assert_eq!(out.to_vec(), naive_records(stored, 0, widths, 240));
            }
        }
    }
}
