//! The input, bit by bit.

use super::error::Problem;

/// The number of used bits below the next ones. With them, the next bits are the byte offset of an entry of a table: it is loaded
/// without scaling an index, which takes some processors a cycle of seven.
pub(super) const BELOW: u32 = 2;

/// The bits of the input that come next.
///
/// The buffer may hold more of the input than `count` says. Those bits are the same that come from `rest` later, so that
/// they are combined with themselves then.
#[derive(Clone, Copy)]
pub(super) struct Bits<'a> {
    /// The bytes that are not counted as being in the buffer.
    pub(super) rest: &'a [u8],
    pub(super) buffer: u64,
    /// At most [`MOST`](Self::MOST).
    pub(super) count: u32,
}

/// The position of the next bit, from which decoding can continue later.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Position {
    /// Bytes of the input that lie before the bit.
    pub(super) byte: usize,
    pub(super) bit: u32,
}

impl Position {
    /// Beyond every input.
    pub(super) const NEVER: Self = Self {
        byte: usize::MAX,
        bit: 0,
    };
}

/// The input ends before the requested bits.
pub(super) struct IsShort;

impl From<IsShort> for Problem {
    fn from(IsShort: IsShort) -> Self {
        Self::Truncated
    }
}

#[expect(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "at most 48 bits are asked for, of at most 61, and at most 32 at a time"
)]
impl<'a> Bits<'a> {
    /// The number of bits that are left of 63, without the bits that are used up.
    const MOST: u32 = 63 - BELOW;

    pub(super) fn new(input: &'a [u8], position: Position) -> Self {
        let mut bits = Self {
            rest: input.get(position.byte..).unwrap_or_default(),
            buffer: 0,
            count: 0,
        };
        bits.fill(position.bit);
        bits.consume(position.bit.min(bits.count));
        bits
    }

    /// Returns the position of the next bit, in the input that this was made from.
    pub(super) fn position(&self, input: &[u8]) -> Position {
        let bit = input
            .len()
            .saturating_sub(self.rest.len())
            .saturating_mul(8)
            - self.count as usize;
        Position {
            byte: bit / 8,
            bit: (bit % 8) as u32,
        }
    }

    /// Reads bytes until there are `count` bits, or the input ends.
    #[inline]
    pub(super) fn fill(&mut self, count: u32) {
        if self.count >= count {
            return;
        }
        if let Some(word) = self.rest.first_chunk() {
            self.buffer |= u64::from_le_bytes(*word) << self.count;
            let taken = (Self::MOST - self.count) / 8;
            self.rest = self.rest.get(taken as usize..).unwrap_or_default();
            self.count += taken * 8;
            return;
        }
        while self.count < count
            && let [byte, rest @ ..] = self.rest
        {
            self.buffer |= u64::from(*byte) << self.count;
            self.count += 8;
            self.rest = rest;
        }
    }

    /// The next bits, of which there are as many, as zeros if the input has ended.
    #[inline]
    pub(super) fn peek(&self, count: u32) -> u32 {
        (self.buffer & ((1 << count) - 1)) as u32
    }

    #[inline]
    pub(super) fn consume(&mut self, count: u32) {
        self.buffer >>= count;
        self.count -= count;
    }

    #[inline]
    pub(super) fn take(&mut self, count: u32) -> Result<u32, IsShort> {
        self.fill(count);
        if self.count < count {
            return Err(IsShort);
        }
        let bits = self.peek(count);
        self.consume(count);
        Ok(bits)
    }

    /// Drops the rest of a byte, and gives back what the buffer has of whole ones.
    pub(super) fn align(&mut self, input: &'a [u8]) {
        let Position { byte, bit } = self.position(input);
        let byte = byte + usize::from(bit > 0);
        *self = Self {
            rest: input.get(byte..).unwrap_or_default(),
            buffer: 0,
            count: 0,
        };
    }
}
