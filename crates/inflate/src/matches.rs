//! Entries of whole matches: a length and its distance are looked up at once.

use super::code::Code;
use super::entry::{Distance, END_OF_BLOCK, LITLEN_BITS, Litlen};

/// Codes that are looked at: together with another one they fit the table.
const CODES: std::ops::Range<usize> = 1..LITLEN_BITS;

/// The numbers that a symbol stands for: lengths or distances.
struct Numbers {
    /// Its code, as its bits come: the first one lowest.
    code: usize,
    /// Bits of the code.
    bits: usize,
    least: u32,
    /// Bits that come after the code, to be added.
    extra: usize,
}

/// Writes entries of matches that fit the table over the entries of their lengths, if most of the block are matches; returns `true`
/// if they are.
#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "indices are masked, and all bits together are at most those of the table"
)]
pub(super) fn fill(table: &mut [Litlen; 1 << LITLEN_BITS], litlen: &Code, distance: &Code) -> bool {
    if !are_most(litlen) {
        return false;
    }
    for lengths in symbols(litlen).filter_map(Numbers::of_length) {
        let width = lengths.width();
        for distances in symbols(distance).filter_map(Numbers::of_distance) {
            let bits = width + distances.width();
            if bits > LITLEN_BITS {
                continue;
            }
            for (length, low) in lengths
                .all()
                .filter(|(length, _)| *length <= Litlen::LONGEST_MATCH)
            {
                for (distance, high) in distances.all() {
                    let entry = Litlen::of_match(length, distance, bits as u32);
                    let first = (high << width | low) & (table.len() - 1);
                    let places = table[first..].iter_mut();
                    places.step_by(1 << bits).for_each(|place| *place = entry);
                }
            }
        }
    }
    true
}

/// Returns `true` if at least half of the symbols are expected to be lengths.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "at most 288 symbols, each 2^11 at most"
)]
fn are_most(litlen: &Code) -> bool {
    let expected = CODES.map(|bits| {
        let symbols = litlen.symbols(bits).0;
        let others = symbols.partition_point(|symbol| *symbol <= END_OF_BLOCK);
        (symbols.len() - others) << (LITLEN_BITS - bits)
    });
    expected.sum::<usize>() * 2 >= 1 << LITLEN_BITS
}

/// The symbols of a code, with their codes and the bits of these.
fn symbols(code: &Code) -> impl Iterator<Item = (u16, usize, usize)> {
    CODES.flat_map(|bits| {
        let (symbols, codes) = code.symbols(bits);
        symbols
            .iter()
            .zip(codes)
            .map(move |(symbol, code)| (*symbol, usize::from(*code), bits))
    })
}

#[expect(
    clippy::arithmetic_side_effects,
    reason = "a code and the bits after it are at most 28"
)]
impl Numbers {
    fn of_length((symbol, code, bits): (u16, usize, usize)) -> Option<Self> {
        let entry = Litlen::new(symbol, 0);
        let (least, extra) = entry.lengths();
        let is_length = symbol > END_OF_BLOCK && !entry.is_other();
        is_length.then_some(Self {
            code,
            bits,
            least,
            extra: extra as usize,
        })
    }

    fn of_distance((symbol, code, bits): (u16, usize, usize)) -> Option<Self> {
        let entry = Distance::new(symbol, 0);
        let (least, extra) = entry.distances();
        (!entry.is_other()).then_some(Self {
            code,
            bits,
            least,
            extra: extra as usize,
        })
    }

    /// Bits of the code and of what is added.
    fn width(&self) -> usize {
        self.bits + self.extra
    }

    /// Each number, and its bits.
    fn all(&self) -> impl Iterator<Item = (u32, usize)> {
        (0..1 << self.extra)
            .map(|more| (self.least + more, (more as usize) << self.bits | self.code))
    }
}
