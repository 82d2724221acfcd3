//! Tables of what the next bits are, which are made for each block.

use super::bits::BELOW;
use super::code::{Code, LITLENS, LONGEST, Rule};
use super::entry::{Distance, END_OF_BLOCK, LITLEN_BITS, Litlen};
use super::error::Problem;
use super::matches;

const LITLEN_MASK: usize = (1 << LITLEN_BITS) - 1;
/// The number of bits by which distances are looked up.
pub(super) const DISTANCE_BITS: usize = 10;
const DISTANCE_MASK: usize = (1 << DISTANCE_BITS) - 1;

const _: () = assert!(size_of::<Litlen>() == 1 << BELOW && size_of::<Distance>() == 1 << BELOW);

/// The problem of a block without a code for its end.
pub(super) const NO_END: &str = "a block that has no code for its end";

/// Both codes of a block.
pub(super) struct Tables {
    litlen: [Litlen; 1 << LITLEN_BITS],
    distance: [Distance; 1 << DISTANCE_BITS],
    pub(super) litlen_code: Code,
    pub(super) distance_code: Code,
    /// `true` if there are entries of whole matches.
    have_matches: bool,
    /// `true` if these are the codes that every fixed block has.
    is_fixed: bool,
}

#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "indices are masked or shorter than the table; lengths of codes are at most 15"
)]
impl Tables {
    pub(super) fn new() -> Box<Self> {
        Box::new(Self {
            litlen: [Litlen::OTHER; 1 << LITLEN_BITS],
            distance: [Distance::UNUSED; 1 << DISTANCE_BITS],
            litlen_code: Code::EMPTY,
            distance_code: Code::EMPTY,
            have_matches: false,
            is_fixed: false,
        })
    }

    /// Returns `true` if there are entries of whole matches.
    pub(super) fn have_matches(&self) -> bool {
        self.have_matches
    }

    #[inline(always)]
    pub(super) fn litlen(&self, bits: u64) -> Litlen {
        self.litlen[bits as usize & LITLEN_MASK]
    }

    #[inline(always)]
    pub(super) fn distance(&self, bits: u64) -> Distance {
        self.distance[bits as usize & DISTANCE_MASK]
    }

    /// Returns the entry for the bits above [`BELOW`] used bits.
    #[inline(always)]
    pub(super) fn litlen_above(&self, bits: u64) -> Litlen {
        self.litlen(bits >> BELOW)
    }

    /// Returns the entry for the bits above [`BELOW`] used bits.
    #[inline(always)]
    pub(super) fn distance_above(&self, bits: u64) -> Distance {
        self.distance(bits >> BELOW)
    }

    /// The codes of a fixed block.
    pub(super) fn set_fixed(&mut self) -> Result<(), Problem> {
        if self.is_fixed {
            return Ok(());
        }
        let mut lengths = [8; LITLENS];
        lengths[144..256].fill(9);
        lengths[256..280].fill(7);
        self.set(&lengths, &[5; 32])?;
        self.is_fixed = true;
        Ok(())
    }

    /// The codes of a block, of which each symbol has one of this length.
    pub(super) fn set(&mut self, litlens: &[u8], distances: &[u8]) -> Result<(), Problem> {
        const LITLEN_PROBLEMS: [Problem; 2] = [
            Problem::Corrupt("an over-subscribed code of literals and lengths"),
            Problem::Corrupt("an incomplete code of literals and lengths"),
        ];
        const DISTANCE_PROBLEMS: [Problem; 2] = [
            Problem::Corrupt("an over-subscribed code of distances"),
            Problem::Corrupt("an incomplete code of distances"),
        ];
        self.is_fixed = false;
        if litlens
            .get(usize::from(END_OF_BLOCK))
            .is_none_or(|length| *length == 0)
        {
            return Err(Problem::Corrupt(NO_END));
        }
        self.litlen_code
            .set(litlens, Rule::MayBeSingle, LITLEN_PROBLEMS)?;
        self.distance_code
            .set(distances, Rule::MayBeSingle, DISTANCE_PROBLEMS)?;
        self.fill_litlen();
        self.fill_distance();
        self.have_matches = matches::fill(&mut self.litlen, &self.litlen_code, &self.distance_code);
        Ok(())
    }

    fn fill_litlen(&mut self) {
        let table = &mut self.litlen;
        let code = &self.litlen_code;
        let fuses = fuses(code);
        table[0] = if code.longest() > LITLEN_BITS {
            Litlen::LONG
        } else {
            Litlen::OTHER
        };
        for length in 1..=LITLEN_BITS {
            let half = 1 << (length - 1);
            table.copy_within(..half, half);
            let (symbols, codes) = code.symbols(length);
            for (symbol, code) in symbols.iter().zip(codes) {
                table[usize::from(*code) & LITLEN_MASK] = Litlen::new(*symbol, length as u32);
            }
            if fuses {
                fuse(table, code, length);
            }
        }
    }

    fn fill_distance(&mut self) {
        let table = &mut self.distance;
        let code = &self.distance_code;
        table[0] = if code.longest() > DISTANCE_BITS {
            Distance::LONG
        } else {
            Distance::UNUSED
        };
        for length in 1..=DISTANCE_BITS {
            let half = 1 << (length - 1);
            table.copy_within(..half, half);
            let (symbols, codes) = code.symbols(length);
            for (symbol, code) in symbols.iter().zip(codes) {
                table[usize::from(*code) & DISTANCE_MASK] = Distance::new(*symbol, length as u32);
            }
        }
    }
}

/// Writes entries of a literal and what comes after it, whose codes together have this length, as if the two were one symbol.
#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "indices are masked; lengths of codes are at most 15"
)]
fn fuse(table: &mut [Litlen; 1 << LITLEN_BITS], code: &Code, length: usize) {
    for first in 1..length {
        let (literals, lows) = code.symbols(first);
        let literals = &literals[..literals.partition_point(|symbol| *symbol < END_OF_BLOCK)];
        let second = length - first;
        let (seconds, highs) = code.symbols(second);
        for (symbol, high) in seconds.iter().zip(highs) {
            let next = Litlen::new(*symbol, second as u32);
            if literals.is_empty() || next.is_other() {
                continue;
            }
            let next = next.after_literal(first as u32);
            for (literal, low) in literals.iter().zip(lows) {
                let place = usize::from(*high) << first | usize::from(*low);
                table[place & LITLEN_MASK] = next.with_literal(*literal);
            }
        }
    }
}

/// Returns `true` if two symbols in one entry are probable enough to pay for the time that it takes to write them.
#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "at most 288 symbols, each 2^24 at most"
)]
fn fuses(code: &Code) -> bool {
    const ONE: u64 = 1 << (2 * LONGEST);
    let mut literals = [0; LITLEN_BITS + 1];
    for (length, count) in literals.iter_mut().enumerate().skip(1) {
        *count = code
            .symbols(length)
            .0
            .partition_point(|symbol| *symbol < END_OF_BLOCK) as u64;
    }
    let mut probability = 0;
    for second in 1..LITLEN_BITS {
        // The first symbols that leave space for a second one of this length.
        let first: u64 = (1..=LITLEN_BITS - second)
            .map(|first| literals[first] << (LONGEST - first))
            .sum();
        let next = (code.symbols(second).0.len() as u64) << (LONGEST - second);
        probability += first * next;
    }
    probability * 20 > ONE
}
