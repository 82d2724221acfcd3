//! What the tables say of the next bits, each in 32 bits.

/// Of the next bits: up to two literals, or up to one and a length, or something that is not in the table.
///
/// | bits | literals | a length | else |
/// |---|---|---|---|
/// | 0-5 | bits to consume | the same, with those of the length | 0 |
/// | 6-7 | how many literals, 1 or 2 | 0 or 1 | 0 |
/// | 8-15 | the first | the literal | 0 |
/// | 16-23 | the second | 16-19: bits before those of the length | 0 |
/// | 20-28 | | the length, to which its bits are added | 0 |
/// | 29 | 0 | 0 | whether the code is too long for the table |
/// | 30 | 0 | 0 | 1 |
/// | 31 | 0 | 1 | 1 |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Litlen(pub(super) u32);

/// Of the next bits: a distance, or something that is not in the table.
///
/// Bits 0-5 are the bits to consume, with those of the distance; 8-11 those before; 16-30 the distance, to which its bits
/// are added. Bit 31 says that there is none, and then bit 16 that the code is too long for the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Distance(pub(super) u32);

/// The symbol after which a block ends.
pub(super) const END_OF_BLOCK: u16 = 256;

#[expect(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "symbols and lengths of codes are small, and bytes are cut from what is around them"
)]
impl Litlen {
    /// The end of a block, or bits that mean nothing.
    pub(super) const OTHER: Self = Self(0b11 << 30);
    pub(super) const LONG: Self = Self(0b111 << 29);

    /// A symbol whose code has `length` bits.
    #[inline]
    pub(super) fn new(symbol: u16, length: u32) -> Self {
        match symbol {
            0..=255 => Self(u32::from(symbol) << 8 | 1 << 6 | length),
            257..=285 => {
                let (base, extra) = length_of(u32::from(symbol) - 257);
                Self(1 << 31 | base << 20 | length << 16 | (length + extra))
            }
            _ => Self::OTHER,
        }
    }

    /// This literal, whose code has `length` bits, and after it what `next` is of.
    #[inline]
    pub(super) fn then(self, length: u32, next: Self) -> Self {
        let literal = (self.0 >> 8) & 0xff;
        if next.is_literals() {
            let second = (next.0 >> 8) & 0xff;
            Self(second << 16 | literal << 8 | 2 << 6 | (length + next.consumed()))
        } else {
            Self((next.0 + (length << 16) + length) | literal << 8 | 1 << 6)
        }
    }

    /// Whether it is literals and nothing else.
    #[inline(always)]
    pub(super) fn is_literals(self) -> bool {
        self.0.cast_signed() >= 0
    }

    /// Whether it is not in the table, and no literals.
    #[inline(always)]
    pub(super) fn is_other(self) -> bool {
        self.0 & 1 << 30 != 0
    }

    /// Whether its code is too long for the table.
    #[inline(always)]
    pub(super) fn is_long(self) -> bool {
        self.0 & 1 << 29 != 0
    }

    #[inline(always)]
    pub(super) fn consumed(self) -> u32 {
        self.0 & 63
    }

    /// How many literals it has.
    #[inline(always)]
    pub(super) fn literals(self) -> usize {
        (self.0 >> 6 & 3) as usize
    }

    /// The literals; what is not one is to be overwritten.
    #[inline(always)]
    pub(super) fn bytes(self) -> [u8; 2] {
        [(self.0 >> 8) as u8, (self.0 >> 16) as u8]
    }

    /// The length, with its bits from those that are consumed.
    #[inline(always)]
    pub(super) fn length(self, bits: u64) -> usize {
        (self.0 >> 20 & 0x1ff) as usize + extra(bits, self.consumed(), self.0 >> 16 & 15)
    }
}

#[expect(clippy::arithmetic_side_effects, reason = "symbols and lengths of codes are small")]
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

    /// Whether it is not in the table.
    #[inline(always)]
    pub(super) fn is_other(self) -> bool {
        self.0.cast_signed() < 0
    }

    #[inline(always)]
    pub(super) fn consumed(self) -> u32 {
        self.0 & 63
    }

    /// The distance, with its bits from those that are consumed.
    #[inline(always)]
    pub(super) fn distance(self, bits: u64) -> usize {
        (self.0 >> 16) as usize + extra(bits, self.consumed(), self.0 >> 8 & 15)
    }
}

/// The bits from `start` to `end`.
#[expect(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "`end` is less than 64, and they are at most 13 bits"
)]
#[inline(always)]
fn extra(bits: u64, end: u32, start: u32) -> usize {
    ((bits & ((1 << end) - 1)) >> start) as usize
}

/// The length that a symbol begins with, and how many bits are added.
#[expect(clippy::arithmetic_side_effects, reason = "the number is less than 29")]
#[inline]
fn length_of(number: u32) -> (u32, u32) {
    match number {
        0..=7 => (number + 3, 0),
        28.. => (258, 0),
        _ => (3 + ((4 + (number & 3)) << (number / 4 - 1)), number / 4 - 1),
    }
}
