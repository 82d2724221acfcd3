//! Entries of whole matches: a length and its distance are looked up at once.

use super::code::Code;
use super::entry::{Distance, END_OF_BLOCK, LITLEN_BITS, Litlen};

/// The lengths of codes that are considered, in bits: such a code fits the table together with another one.
const CODES: std::ops::Range<usize> = 1..LITLEN_BITS;

/// A symbol and its code.
#[derive(Clone, Copy)]
struct Codeword {
    symbol: u16,
    /// The code, as its bits come: the first one lowest.
    code: usize,
    /// The length of the code in bits.
    bits: usize,
}

/// The numbers that a symbol stands for: lengths or distances.
struct Numbers {
    codeword: Codeword,
    minimum: u32,
    /// The number of bits after the code, which are added to the minimum.
    extra: usize,
}

/// One of these numbers.
struct Number {
    value: u32,
    /// The code and the bits after it.
    bits: usize,
}

/// Overwrites entries of lengths by entries of whole matches that fit the table, if most symbols of the block are matches; returns
/// `true` if they are.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "all bits together are at most those of the table"
)]
pub(super) fn fill(table: &mut [Litlen; 1 << LITLEN_BITS], litlen: &Code, distance: &Code) -> bool {
    if !are_most(litlen) {
        return false;
    }
    for codeword in codewords(litlen) {
        let Some(lengths) = Numbers::of_length(codeword) else {
            continue;
        };
        for codeword in codewords(distance) {
            let Some(distances) = Numbers::of_distance(codeword) else {
                continue;
            };
            if lengths.width() + distances.width() <= LITLEN_BITS {
                fill_matches(table, &lengths, &distances);
            }
        }
    }
    true
}

/// Writes the entries of the matches of one symbol for lengths and one for distances.
#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "indices are masked, and all bits together are at most those of the table"
)]
fn fill_matches(table: &mut [Litlen; 1 << LITLEN_BITS], lengths: &Numbers, distances: &Numbers) {
    let width = lengths.width() + distances.width();
    for length in lengths.all() {
        if length.value > Litlen::LONGEST_MATCH {
            continue;
        }
        for distance in distances.all() {
            let entry = Litlen::of_match(length.value, distance.value, width as u32);
            // Every value of the bits after the match has this entry.
            let first = (distance.bits << lengths.width() | length.bits) & (table.len() - 1);
            for place in table[first..].iter_mut().step_by(1 << width) {
                *place = entry;
            }
        }
    }
}

/// Returns `true` if at least half of the symbols are expected to be lengths. A symbol whose code has `n` bits is expected once
/// in 2^n symbols.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "at most 288 symbols, each 2^11 at most"
)]
fn are_most(litlen: &Code) -> bool {
    let mut expected = 0;
    for bits in CODES {
        let (symbols, _) = litlen.symbols(bits);
        let others = symbols.partition_point(|symbol| *symbol <= END_OF_BLOCK);
        expected += (symbols.len() - others) << (LITLEN_BITS - bits);
    }
    expected * 2 >= 1 << LITLEN_BITS
}

/// The symbols of a code.
fn codewords(code: &Code) -> impl Iterator<Item = Codeword> {
    CODES.flat_map(|bits| {
        let (symbols, codes) = code.symbols(bits);
        symbols
            .iter()
            .zip(codes)
            .map(move |(symbol, code)| Codeword {
                symbol: *symbol,
                code: usize::from(*code),
                bits,
            })
    })
}

#[expect(
    clippy::arithmetic_side_effects,
    reason = "a code and the bits after it are at most 28"
)]
impl Numbers {
    /// `None` unless the symbol is a length.
    fn of_length(codeword: Codeword) -> Option<Self> {
        let entry = Litlen::new(codeword.symbol, 0);
        if codeword.symbol <= END_OF_BLOCK || entry.is_other() {
            return None;
        }
        let (minimum, extra) = entry.lengths();
        Some(Self {
            codeword,
            minimum,
            extra: extra as usize,
        })
    }

    /// `None` for symbols that are not valid.
    fn of_distance(codeword: Codeword) -> Option<Self> {
        let entry = Distance::new(codeword.symbol, 0);
        if entry.is_other() {
            return None;
        }
        let (minimum, extra) = entry.distances();
        Some(Self {
            codeword,
            minimum,
            extra: extra as usize,
        })
    }

    /// Returns the number of bits of the code and of the bits after it.
    fn width(&self) -> usize {
        self.codeword.bits + self.extra
    }

    fn all(&self) -> impl Iterator<Item = Number> {
        (0..1 << self.extra).map(|more| Number {
            value: self.minimum + more,
            bits: (more as usize) << self.codeword.bits | self.codeword.code,
        })
    }
}
