//! Codes of symbols: made of lengths, and decoded bit by bit.

use super::error::Problem;

/// The longest code, in bits.
pub(super) const LONGEST: usize = 15;
/// Symbols of literals and lengths, with the two that no stream may have.
pub(super) const LITLENS: usize = 288;

/// Entries for all symbols that have a code, and one for all others. A power of two, so that places are never beyond it.
const CAPACITY: usize = 512;
const _: () = assert!(CAPACITY > LITLENS && CAPACITY.is_power_of_two());

/// A code: its symbols in the order of their codes, as the canonical decoder wants them.
pub(super) struct Code {
    /// The symbols that have a code, shortest first.
    sorted: [u16; CAPACITY],
    /// Their codes, as their bits come: the first one lowest.
    reversed: [u16; LITLENS],
    /// The start in `sorted` of the symbols of each length, and the end of the last ones.
    starts: [u16; LONGEST + 2],
    /// The first code of each length, as if it had 16 bits.
    firsts: [u32; LONGEST + 1],
    /// The end of the codes of each length, as if they had 16 bits.
    ends: [u32; LONGEST + 1],
    /// The length of the longest code, 0 if the code is empty.
    longest: usize,
}

/// Bits that make no symbol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NoSymbol {
    /// There are too few.
    Short,
    /// No code begins with them.
    Unused,
}

impl NoSymbol {
    /// The problem of a stream with these bits; `found` describes them if there are enough.
    pub(super) fn problem(self, found: &'static str) -> Problem {
        match self {
            Self::Short => Problem::Truncated,
            Self::Unused => Problem::Corrupt(found),
        }
    }
}

/// The rule for the sum of a code.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// All bits mean something.
    Complete,
    /// As `Complete`, or a single code of one bit, or none at all.
    MayBeSingle,
}

#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "lengths are at most 15, symbols at most 287, and codes of a sum that is checked have at most 16 bits"
)]
impl Code {
    pub(super) const EMPTY: Self = Self {
        sorted: [0; CAPACITY],
        reversed: [0; LITLENS],
        starts: [0; LONGEST + 2],
        firsts: [0; LONGEST + 1],
        ends: [0; LONGEST + 1],
        longest: 0,
    };

    /// Sets the code in which symbol 0, 1, 2 ... has the length in `lengths`, or is left out if that is 0.
    pub(super) fn set(
        &mut self,
        lengths: &[u8],
        rule: Rule,
        problems: [Problem; 2],
    ) -> Result<(), Problem> {
        let [too_many, too_few] = problems;
        // Both halves side by side: what is counted next to its like waits for it.
        let mut padded = [0; LITLENS];
        padded[..lengths.len()].copy_from_slice(lengths);
        let half = lengths.len().div_ceil(2);
        let (low, high) = padded[..2 * half].split_at(half);
        let mut counts = [0_u16; 16];
        let mut counts_low = [0_u16; 16];
        for (low, high) in low.iter().zip(high) {
            counts_low[usize::from(low & 15)] += 1;
            counts[usize::from(high & 15)] += 1;
        }
        counts
            .iter_mut()
            .zip(&counts_low)
            .for_each(|(count, low)| *count += low);
        counts[0] = 0;
        self.longest = counts.iter().rposition(|count| *count > 0).unwrap_or(0);
        let mut code = 0_u32;
        let mut start = 0;
        for (length, count) in counts.iter().enumerate().skip(1) {
            self.firsts[length] = code;
            self.starts[length] = start;
            code += u32::from(*count) << (16 - length);
            start += count;
            self.ends[length] = code;
            if code > 1 << 16 {
                return Err(too_many);
            }
        }
        self.starts[LONGEST + 1] = start;
        if code < 1 << 16 && !(rule == Rule::MayBeSingle && self.longest <= 1) {
            return Err(too_few);
        }
        let mut next_low = [0_u16; 16];
        let mut next_high = [0_u16; 16];
        for length in 1..=LONGEST {
            next_low[length] = self.starts[length];
            next_high[length] = self.starts[length] + counts_low[length];
        }
        let mut put = |next: &mut [u16; 16], symbol: usize, length: u8| {
            let place = &mut next[usize::from(length & 15)];
            self.sorted[if length > 0 {
                usize::from(*place) % CAPACITY
            } else {
                LITLENS
            }] = symbol as u16;
            *place += 1;
        };
        for (symbol, (low, high)) in low.iter().zip(high).enumerate() {
            put(&mut next_low, symbol, *low);
            put(&mut next_high, symbol + half, *high);
        }
        self.set_reversed();
        Ok(())
    }

    fn set_reversed(&mut self) {
        for length in 1..=self.longest {
            let places = usize::from(self.starts[length])..usize::from(self.starts[length + 1]);
            let mut code = self.firsts[length] as u16;
            let step = 1_u16 << (16 - length);
            for reversed in &mut self.reversed[places] {
                *reversed = code.reverse_bits();
                code = code.wrapping_add(step);
            }
        }
    }

    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// The symbols whose codes have this length, and the codes, as their bits come: the first one lowest.
    #[inline]
    pub(super) fn symbols(&self, length: usize) -> (&[u16], &[u16]) {
        let places = usize::from(self.starts[length])..usize::from(self.starts[length + 1]);
        (&self.sorted[places.clone()], &self.reversed[places])
    }

    /// The symbol of the next bits, of which there are `count`, and the length of its code.
    pub(super) fn symbol(&self, bits: u32, count: u32) -> Result<(u16, u32), NoSymbol> {
        self.symbol_longer_than(0, bits, count)
    }

    /// The same, if it is known that the code has more than `min` bits.
    pub(super) fn symbol_longer_than(
        &self,
        min: usize,
        bits: u32,
        count: u32,
    ) -> Result<(u16, u32), NoSymbol> {
        let code = u32::from((bits as u16).reverse_bits());
        for length in min + 1..=self.longest {
            if code < self.ends[length] {
                if length > count as usize {
                    return Err(NoSymbol::Short);
                }
                let place = usize::from(self.starts[length])
                    + ((code - self.firsts[length]) >> (16 - length)) as usize;
                return Ok((self.sorted[place % CAPACITY], length as u32));
            }
        }
        Err(if count == 0 {
            NoSymbol::Short
        } else {
            NoSymbol::Unused
        })
    }
}
