//! The entries of the tables for the next bits, each in 32 bits.

/// The meaning of the next bits: up to two literals, or up to one and a length, or a whole match, or something that is not in the
/// table.
///
/// | bits | literals | a length | a match | else |
/// |---|---|---|---|---|
/// | 0-7 | bits to consume | the same, including the length's | the same, of all of it | 0 |
/// | 8 | | 1 after a literal | | 0 |
/// | 8-9 | how many literals | | | |
/// | 8-12 | | | the length less 3 | |
/// | 9-12 | | bits before the length's | | 0 |
/// | 13 | 0 | 0 | 0 | whether the code is too long for the table |
/// | 14 | 0 | 0 | 1 | 1 |
/// | 15 | 0 | 1 | 1 | 1 |
/// | 16-23 | the first literal | the literal | | 0 |
/// | 16-30 | | | the distance | |
/// | 24-31 | the second literal | the length less 3, to which its bits are added | | 0 |
/// | 31 | | | 1 | |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Litlen(pub(super) u32);

/// The meaning of the next bits: a distance, or something that is not in the table.
///
/// Bits 0-7 are the bits to consume, including the distance's; 8-11 the bits before these; 16-30 the distance, to which its bits
/// are added. Bit 31 means that there is none, and then bit 16 that the code is too long for the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Distance(pub(super) u32);

/// The number of bits by which literals and lengths are looked up.
pub(super) const LITLEN_BITS: usize = 12;

/// The symbol after which a block ends.
pub(super) const END_OF_BLOCK: u16 = 256;

#[expect(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    reason = "symbols and lengths of codes are small, and bytes are cut from what is around them"
)]
impl Litlen {
    /// The end of a block, or bits that mean nothing.
    pub(super) const OTHER: Self = Self(0b110 << 13);
    pub(super) const LONG: Self = Self(0b111 << 13);
    pub(super) const LONGEST_MATCH: u32 = 3 + 31;

    /// A symbol whose code has `length` bits.
    #[inline]
    pub(super) fn new(symbol: u16, length: u32) -> Self {
        match symbol {
            0..=255 => Self(u32::from(symbol) << 16 | 1 << 8 | length),
            257..=285 => Self(LENGTHS[usize::from(symbol) & 31] + (length << 9 | length)),
            _ => Self::OTHER,
        }
    }

    /// Returns this entry after a literal whose code has `length` bits; the literal is not set.
    #[inline]
    pub(super) fn after_literal(self, length: u32) -> Self {
        if self.is_literals() {
            Self((self.0 & 0xff << 16) << 8 | 2 << 8 | (self.consumed() + length))
        } else {
            Self((self.0 + (length << 9) + length) | 1 << 8)
        }
    }

    /// Makes a match of at most [`LONGEST_MATCH`](Self::LONGEST_MATCH) bytes, whose codes have `bits` bits including the numbers'.
    #[inline]
    pub(super) fn of_match(length: u32, distance: u32, bits: u32) -> Self {
        Self(1 << 31 | distance << 16 | 0b110 << 13 | (length - 3) << 8 | bits)
    }

    /// With the literal that it has before it.
    #[inline]
    pub(super) fn with_literal(self, literal: u16) -> Self {
        Self(self.0 | u32::from(literal) << 16)
    }

    /// Returns `true` if it is literals and nothing else.
    #[inline(always)]
    pub(super) fn is_literals(self) -> bool {
        (self.0 as u16).cast_signed() >= 0
    }

    /// Returns `true` if it is a match, or neither in the table nor literals.
    #[inline(always)]
    pub(super) fn is_other(self) -> bool {
        self.0 & 1 << 14 != 0
    }

    /// Returns `true` if an entry that [`is_other`](Self::is_other) accepts is a match.
    #[inline(always)]
    pub(super) fn is_match(self) -> bool {
        self.0.cast_signed() < 0
    }

    /// Returns `true` if its code is too long for the table.
    #[inline(always)]
    pub(super) fn is_long(self) -> bool {
        self.0 & 1 << 13 != 0
    }

    #[inline(always)]
    pub(super) fn consumed(self) -> u32 {
        self.0 & 63
    }

    /// Returns the number of literals if it has nothing else.
    #[inline(always)]
    pub(super) fn literals(self) -> usize {
        (self.0 >> 8 & 3) as usize
    }

    /// Returns the number of literals before a length.
    #[inline(always)]
    pub(super) fn literals_before(self) -> usize {
        (self.0 >> 8 & 1) as usize
    }

    /// The literals; what is not one is to be overwritten.
    #[inline(always)]
    pub(super) fn bytes(self) -> [u8; 2] {
        [(self.0 >> 16) as u8, (self.0 >> 24) as u8]
    }

    /// Returns the length, with its bits from the consumed ones.
    #[inline(always)]
    pub(super) fn length(self, bits: u64) -> usize {
        (self.0 >> 24) as usize + 3 + extra(bits, self.consumed(), self.0 >> 9)
    }

    /// The minimum length, and the number of its bits.
    pub(super) fn lengths(self) -> (u32, u32) {
        ((self.0 >> 24) + 3, self.consumed() - (self.0 >> 9 & 15))
    }

    /// The length of a match.
    #[inline(always)]
    pub(super) fn match_length(self) -> usize {
        (self.0 >> 8 & 31) as usize + 3
    }

    /// The distance of a match.
    #[inline(always)]
    pub(super) fn match_distance(self) -> usize {
        (self.0 >> 16 & 0x7fff) as usize
    }
}

#[expect(
    clippy::arithmetic_side_effects,
    reason = "symbols and lengths of codes are small"
)]
impl Distance {
    pub(super) const UNUSED: Self = Self(1 << 31);
    pub(super) const LONG: Self = Self(1 << 31 | 1 << 16);

    /// A symbol whose code has `length` bits.
    #[inline]
    pub(super) fn new(symbol: u16, length: u32) -> Self {
        let symbol = u32::from(symbol);
        let (base, extra) = match symbol {
            0..=3 => (symbol + 1, 0),
            4..=29 => (1 + ((2 + (symbol & 1)) << (symbol / 2 - 1)), symbol / 2 - 1),
            _ => return Self::UNUSED,
        };
        Self(base << 16 | length << 8 | (length + extra))
    }

    /// Returns `true` if it is not in the table.
    #[inline(always)]
    pub(super) fn is_other(self) -> bool {
        self.0.cast_signed() < 0
    }

    #[inline(always)]
    pub(super) fn consumed(self) -> u32 {
        self.0 & 63
    }

    /// Returns the distance, with its bits from the consumed ones.
    #[inline(always)]
    pub(super) fn distance(self, bits: u64) -> usize {
        (self.0 >> 16) as usize + extra(bits, self.consumed(), self.0 >> 8)
    }

    /// The minimum distance, and the number of its bits.
    pub(super) fn distances(self) -> (u32, u32) {
        (self.0 >> 16, self.consumed() - (self.0 >> 8 & 15))
    }
}

/// The bits from `start`, of which the last six bits count, to `end`.
#[expect(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "`end` is less than 64, and they are at most 13 bits"
)]
#[inline(always)]
fn extra(bits: u64, end: u32, start: u32) -> usize {
    ((bits & ((1 << end) - 1)) >> (start & 63)) as usize
}

/// Entries of symbols 257 to 285, less the length of their codes; by the symbol's last five bits.
#[expect(clippy::indexing_slicing, reason = "29 of 32")]
const LENGTHS: [u32; 32] = {
    let mut entries = [0; 32];
    let mut number = 0;
    while number < 29 {
        let (base, extra) = match number {
            0..=7 => (number, 0),
            28 => (255, 0),
            _ => ((4 + (number & 3)) << (number / 4 - 1), number / 4 - 1),
        };
        entries[number as usize + 1] = base << 24 | 1 << 15 | extra;
        number += 1;
    }
    entries
};
