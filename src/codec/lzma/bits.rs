//! Numbers of context bits: the properties of a stream.

use crate::codec::FaultKind;

/// Numbers of context bits: `lc`, `lp`, `pb`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Bits {
    pub(super) of_previous: u32,
    pub(super) of_literal_position: u32,
    pub(super) of_position: u32,
}

#[expect(clippy::arithmetic_side_effects, reason = "lc is at most 8, lp and pb are at most 4")]
impl Bits {
    /// What every encoder of OpenCTM writes.
    pub(super) const USUAL: Self = Self { of_previous: 3, of_literal_position: 0, of_position: 2 };

    pub(super) fn new(properties: u8) -> Result<Self, FaultKind> {
        if properties >= 9 * 5 * 5 {
            return Err(FaultKind::Corrupt("properties of 225 or more"));
        }
        let properties = u32::from(properties);
        Ok(Self {
            of_previous: properties % 9,
            of_literal_position: properties / 9 % 5,
            of_position: properties / 45,
        })
    }

    /// How many sets of probabilities literals have.
    pub(super) fn contexts(self) -> usize {
        1 << (self.of_previous + self.of_literal_position)
    }

    /// Which probabilities a literal has: the low bits of its position, the high bits of the byte before.
    #[inline(always)]
    pub(super) fn context(self, at: usize, previous: u8) -> usize {
        let of_position = at & ((1 << self.of_literal_position) - 1);
        (of_position << self.of_previous) + (usize::from(previous) << self.of_previous >> 8)
    }
}
