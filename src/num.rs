//! Sizes and ranges as files count them, and how numbers stand in messages.

use std::ops::Range;

/// A length in memory, in the type that files and messages use.
pub(crate) fn as_u64(length: usize) -> u64 {
    // No platform of Rust has a usize of more than 64 bits.
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// A number of a file as an index or length in memory; no slice is as long as the greatest.
pub(crate) fn as_usize(number: impl TryInto<usize>) -> usize {
    number.try_into().unwrap_or(usize::MAX)
}

/// The size of a type in bytes.
pub(crate) fn size_u64<T>() -> u64 {
    as_u64(size_of::<T>())
}

/// `length` bytes from `start` on, cut at the end of the address space.
pub(crate) fn span(start: u64, length: u64) -> Range<u64> {
    start..start.saturating_add(length)
}

/// Lengths and parts of byte ranges.
pub(crate) trait Span {
    /// The number of bytes; 0 where the range ends before it starts.
    fn length(&self) -> u64;

    /// Whether all of `inner` lies in this range.
    fn covers(&self, inner: &Self) -> bool;

    /// `length` bytes at `offset` from the start of this range; not cut at its end.
    fn part(&self, offset: u64, length: u64) -> Self;
}

impl Span for Range<u64> {
    fn length(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    fn covers(&self, inner: &Self) -> bool {
        self.start <= inner.start && inner.end <= self.end
    }

    fn part(&self, offset: u64, length: u64) -> Self {
        span(self.start.saturating_add(offset), length)
    }
}

/// `1234567` as `1,234,567`: how counts stand in messages.
pub(crate) fn decimal(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len().saturating_mul(2));
    for (position, digit) in digits.chars().enumerate() {
        let left = digits.len().saturating_sub(position);
        if position > 0 && left.is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_groups_by_thousands() {
        let cases = [(0, "0"), (999, "999"), (1_000, "1,000"), (12_004, "12,004"), (1_667_439, "1,667,439")];
        for (number, text) in cases {
            assert_eq!(decimal(number), text);
        }
    }
}
