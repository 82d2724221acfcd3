//! The search for places at which blocks may begin: places whose bits read as the header of a dynamic block.

use crate::bits::{Bits, Position};
use crate::block::{Lengths, lengths};
use crate::code::{Code, LONGEST};
use crate::entry::END_OF_BLOCK;

/// The first place, in these bytes of the input, where a dynamic block may begin that is not the last one.
///
/// Few other places look like one. `None` if no such place is found, or if `is_over` returns `true` at a byte.
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
        let mut places = places(word) & ((1 << (8 * STEP)) - 1);
        while places != 0 {
            let bit = places.trailing_zeros();
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
            places &= places.wrapping_sub(1);
        }
    }
    None
}

/// The bits of a word where a block of type 2 begins that is not the last one, with at most 286 literals and lengths, and
/// at most 30 distances.
fn places(word: u64) -> u64 {
    let kind = !word & !(word >> 1) & word >> 2;
    let litlens = word >> 4 & word >> 5 & word >> 6 & word >> 7;
    let distances = word >> 9 & word >> 10 & word >> 11 & word >> 12;
    kind & !litlens & !distances
}

/// Returns `true` if the code of code lengths is complete.
fn is_code_of_lengths(input: &[u8], Position { byte, bit }: Position) -> bool {
    const KIND_AND_COUNTS: u32 = 3 + 5 + 5;
    const AT_ONCE: u32 = 12;
    let bits = input.get(byte..).and_then(|input| input.first_chunk());
    let Some(bits) = bits.map(|bytes| u128::from_le_bytes(*bytes)) else {
        return false;
    };
    let bits = bits >> bit.saturating_add(KIND_AND_COUNTS);
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

/// The share of all codes that one of no bits would have.
const ONE: u16 = 1 << 7;

/// The share of four code lengths together.
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
    let share = |lengths: &[u8]| -> u32 {
        let shares = lengths.iter().filter(|length| **length > 0);
        shares
            .map(|length| (1_u32 << LONGEST) >> (length & 15))
            .sum()
    };
    let has_end = litlens
        .get(usize::from(END_OF_BLOCK))
        .is_some_and(|length| *length > 0);
    let is_complete = |share: u32| share == 1 << LONGEST;
    let is_single = |share: u32| share == 0 || share == 1 << (LONGEST - 1);
    let distances = share(distances);
    has_end && is_complete(share(litlens)) && (is_complete(distances) || is_single(distances))
}
