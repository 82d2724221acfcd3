//! The search for positions at which blocks may begin: positions whose bits are a valid header of a dynamic block.

use crate::bits::{Bits, Position};
use crate::block::{Lengths, lengths};
use crate::code::{Code, LONGEST};
use crate::entry::END_OF_BLOCK;

/// Finds the first position, in these bytes of the input, at which a dynamic block may begin that is not the last one.
///
/// Few other positions look like one, because the codes of a header must be complete. Returns `None` if these bytes have none, or if
/// `is_over` returns `true` at a byte.
pub(super) fn find(
    input: &[u8],
    from: usize,
    until: usize,
    is_over: impl Fn(usize) -> bool,
) -> Option<Position> {
    /// In a word, the first 6 bytes are checked, and the others are the bytes that follow them.
    const STEP: usize = 6;
    /// `is_over` is called once per this number of words. A header that is checked takes as long as some words.
    const OFTEN: u32 = 1 << 8;
    const HEADER: u32 = 1 << 4;
    let mut code = Code::EMPTY;
    let mut work = OFTEN;
    for byte in (from..until).step_by(STEP) {
        if work >= OFTEN {
            work = 0;
            if is_over(byte) {
                return None;
            }
        }
        work = work.saturating_add(1);
        let word = u64::from_le_bytes(*input.get(byte..)?.first_chunk()?);
        let mut left = candidates(word) & ((1 << (8 * STEP)) - 1);
        while left != 0 {
            let bit = left.trailing_zeros();
            let position = Position {
                byte: byte.saturating_add((bit / 8) as usize),
                bit: bit % 8,
            };
            if is_code_of_lengths(input, position) {
                if is_header(input, position, &mut code) {
                    return Some(position);
                }
                work = work.saturating_add(HEADER);
            }
            // Clears the lowest candidate.
            left &= left.wrapping_sub(1);
        }
    }
    None
}

/// The bits of a word at which the first 13 bits of a header may begin: of a block of type 2 that is not the last one, with at
/// most 286 literals and lengths, and at most 30 distances. All bits of the word are checked at once.
fn candidates(word: u64) -> u64 {
    // A 0 for "not the last block", then the type 2, its lower bit first.
    let is_dynamic = !word & !(word >> 1) & word >> 2;
    // Counts from 30 on: four ones from the second bit of their five bits on.
    let has_many_litlens = word >> 4 & word >> 5 & word >> 6 & word >> 7;
    let has_many_distances = word >> 9 & word >> 10 & word >> 11 & word >> 12;
    is_dynamic & !has_many_litlens & !has_many_distances
}

/// Returns `true` if the code of code lengths is complete: the sum of 2^-length is 1 (Kraft's equality).
fn is_code_of_lengths(input: &[u8], Position { byte, bit }: Position) -> bool {
    const KIND_AND_COUNTS: u32 = 3 + 5 + 5;
    /// The bits of four code lengths, which one look-up adds.
    const AT_ONCE: u32 = 12;
    let rest = input.get(byte..).unwrap_or_default();
    let Some(bytes) = rest.first_chunk() else {
        return false;
    };
    let bits = u128::from_le_bytes(*bytes) >> bit.saturating_add(KIND_AND_COUNTS);
    let lengths = (bits & 15).saturating_add(4).saturating_mul(3);
    let mut left = bits >> 4 & (1_u128 << lengths).wrapping_sub(1);
    let mut sum = 0_u16;
    while left != 0 {
        let four = usize::try_from(left & ((1 << AT_ONCE) - 1)).unwrap_or(0);
        sum = sum.saturating_add(SUMS.get(four).copied().unwrap_or(0));
        left >>= AT_ONCE;
    }
    sum == ONE
}

/// The number that stands for the sum 1: a code length `n` adds 2^(7 - n), and the longest is 7.
const ONE: u16 = 1 << 7;

/// The sum of four code lengths, by their 12 bits.
#[expect(
    clippy::indexing_slicing,
    reason = "all indices are those of the array"
)]
const SUMS: [u16; 1 << 12] = {
    let mut sums = [0; 1 << 12];
    let mut four = 0;
    while four < sums.len() {
        let mut lengths = four;
        while lengths > 0 {
            if lengths & 7 > 0 {
                sums[four] += ONE >> (lengths & 7);
            }
            lengths >>= 3;
        }
        four += 1;
    }
    sums
};

/// Returns `true` if the block can be decoded with both of its codes.
fn is_header(input: &[u8], position: Position, code: &mut Code) -> bool {
    let mut bits = Bits::new(input, position);
    if bits.take(3).is_err() {
        return false;
    }
    let Ok(Lengths {
        lengths,
        litlens,
        end,
    }) = lengths(&mut bits, code)
    else {
        return false;
    };
    let (litlens, distances) = lengths.get(..end).unwrap_or_default().split_at(litlens);
    let end_of_block = litlens.get(usize::from(END_OF_BLOCK)).copied();
    if end_of_block.unwrap_or(0) == 0 || kraft_sum(litlens) != COMPLETE {
        return false;
    }
    // RFC 1951 also allows no distance, and a single one, whose code has one bit.
    let distances = kraft_sum(distances);
    distances == COMPLETE || distances == 0 || distances == COMPLETE / 2
}

/// The sum of a complete code.
const COMPLETE: u32 = 1 << LONGEST;

/// The sum of 2^-length of all codes, times [`COMPLETE`].
fn kraft_sum(lengths: &[u8]) -> u32 {
    let mut sum = 0_u32;
    for length in lengths {
        if *length > 0 {
            sum = sum.saturating_add(COMPLETE >> (length & 15));
        }
    }
    sum
}
