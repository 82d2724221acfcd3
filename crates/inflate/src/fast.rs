//! The symbols of a block while there is plenty of input and of output space: most of them.

use super::bits::{BELOW, Bits};
use super::code::Code;
use super::copy::{BEYOND, Unit};
use super::entry::{LITLEN_BITS, Litlen};
use super::history::History;
use super::table::Tables;

/// The output space that one turn needs: it writes at most three times two literals, one more, a match and the bytes beyond it.
pub(super) const MIN_OUTPUT: usize = 320;
const _: () = assert!(MIN_OUTPUT >= 3 * 2 + 1 + 258 + BEYOND);

/// A match begins before the stream.
pub(super) struct TooFar;

/// Decodes symbols until the block ends, there are less than [`MIN_OUTPUT`] bytes of output space or 8 of input, or something is
/// wrong: the next symbol has then not been consumed, except for a match that reaches too far. `at` becomes the end of the output.
///
/// The next entry is looked up before the bits after it are there, so that it and these bits are loaded in parallel. The buffer
/// holds [`BELOW`] bits that are used up, and 62 more at the beginning of a turn. 54 of these are counted: three entries take 12
/// each, or a length 20 and a distance 23, and 12 are left to look the next one up. For everything else there is a second refill.
///
/// Tables that have no entries of whole matches are decoded faster by a loop that knows of none (`MATCHES`): it has registers
/// to spare.
#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "the space is more than a turn writes, and numbers are those of entries"
)]
#[inline(always)]
pub(super) fn run<U: Unit, const MATCHES: bool>(
    bits: &mut Bits<'_>,
    tables: &Tables,
    history: &History,
    out: &mut [U],
    at: &mut usize,
) -> Result<(), TooFar> {
    let filled_at = at;
    let mut result = Ok(());
    let mut at = *filled_at;
    let mut input = bits.rest;
    let mut buffer = bits.buffer << BELOW;
    let mut count = bits.count + BELOW;
    macro_rules! refill {
        ($word:expr) => {
            buffer |= u64::from_le_bytes(*$word) << (count & 63);
            input = &input[(!count >> 3 & 7) as usize..];
            count |= 56;
        };
    }
    macro_rules! consume {
        ($entry:expr) => {
            buffer >>= $entry.consumed();
            // Bits beyond the lowest 6 are never used.
            count = count.wrapping_sub($entry.0);
        };
    }
    let Some(word) = input.first_chunk() else {
        return Ok(());
    };
    refill!(word);
    let mut entry = tables.litlen_above(buffer);
    'turn: while let Some(word) = input.first_chunk() {
        let Some(space) = out
            .get_mut(at..)
            .and_then(|out| out.first_chunk_mut::<MIN_OUTPUT>())
        else {
            break;
        };
        refill!(word);
        let mut filled = 0;
        macro_rules! literals {
            () => {
                space[filled..filled + 2].copy_from_slice(&entry.bytes().map(U::from));
                filled += entry.literals();
                consume!(entry);
                entry = tables.litlen_above(buffer);
            };
        }
        if entry.is_literals() {
            literals!();
            if entry.is_literals() {
                literals!();
                if entry.is_literals() {
                    literals!();
                    at += filled;
                    continue;
                }
            }
            let Some(word) = input.first_chunk() else {
                at += filled;
                break;
            };
            refill!(word);
        }
        let (start, length, distance, next) = 'found: {
            if entry.is_other() {
                at += filled;
                if MATCHES && entry.is_match() {
                    consume!(entry);
                    let length = entry.match_length();
                    let distance = entry.match_distance();
                    break 'found (at, length, distance, tables.litlen_above(buffer));
                }
                // A code too long for the table, with all of its bits.
                let Some(word) = input.first_chunk().filter(|_| entry.is_long()) else {
                    break 'turn;
                };
                refill!(word);
                let long = long(&tables.litlen_code, (buffer >> BELOW) as u32);
                if long.is_other() {
                    break 'turn;
                }
                if long.is_literals() {
                    let Some(place) = out.get_mut(at) else {
                        break 'turn;
                    };
                    [*place, _] = long.bytes().map(U::from);
                    at += 1;
                    consume!(long);
                    entry = tables.litlen_above(buffer);
                    continue 'turn;
                }
                entry = long;
            } else {
                [space[filled], _] = entry.bytes().map(U::from);
                at += filled;
            }

            let before = buffer;
            consume!(entry);
            let distance_entry = tables.distance_above(buffer);
            if distance_entry.is_other() {
                buffer = before;
                count = count.wrapping_add(entry.0);
                break 'turn;
            }
            let start = at + entry.literals_before();
            let length = entry.length(before >> BELOW);
            let distance = distance_entry.distance(buffer >> BELOW);
            consume!(distance_entry);
            (start, length, distance, tables.litlen_above(buffer))
        };
        if distance > start {
            if U::repeat_history(out, start, distance, length, history).is_none() {
                result = Err(TooFar);
                at = start;
                break;
            }
        } else {
            U::repeat(out, start, distance, length);
        }
        at = start + length;
        entry = next;
    }
    bits.rest = input;
    bits.buffer = buffer >> BELOW;
    bits.count = (count & 63) - BELOW;
    *filled_at = at;
    result
}

/// Returns the entry for the next bits, of which none are missing, if their code is too long for the table.
#[cold]
#[inline(never)]
fn long(code: &Code, bits: u32) -> Litlen {
    let symbol = code.symbol_longer_than(LITLEN_BITS, bits, u16::BITS);
    symbol.map_or(Litlen::OTHER, |(symbol, length)| {
        Litlen::new(symbol, length)
    })
}
