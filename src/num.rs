//! Sizes and ranges as files count them, and numbers in messages.
//!
//! Offsets and sizes of a file are `u64` until they index memory, and sums and products of them are checked.

use std::borrow::Cow;
use std::fmt::Display;
use std::ops::Range;

/// A length in memory, in the type that files and messages use.
pub(crate) fn as_u64(length: usize) -> u64 {
    // No platform of Rust has a usize of more than 64 bits.
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// A number of a file as an index or length in memory. A number that does not fit becomes the
/// maximum, which is beyond the end of every slice.
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
    /// The number of bytes; 0 if the range ends before it starts.
    fn length(&self) -> u64;

    /// Returns `true` if all of `inner` lies in this range.
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

/// `1234567` as `1,234,567`, for whole numbers in messages. Other values stay as they are.
pub(crate) fn decimal(number: impl Display) -> String {
    let text = number.to_string();
    let (sign, digits) = text.split_at(usize::from(text.starts_with('-')));
    if digits.len() < 4 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return text;
    }
    let mut out = sign.to_owned();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && digits.len().saturating_sub(position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The expected value of a number: `less than 1,152`.
pub(crate) fn less_than(number: impl Display) -> String {
    format!("less than {}", decimal(number))
}

/// `at most 1,152`.
pub(crate) fn at_most(number: impl Display) -> String {
    format!("at most {}", decimal(number))
}

/// `1 byte`, `1,152 bytes`.
pub(crate) fn counted(count: u64, one: &str) -> String {
    format!(
        "{} {one}{}",
        decimal(count),
        if count == 1 { "" } else { "s" }
    )
}

/// Two corners: `-1 0 2 .. 1 4 2.5`.
pub(crate) fn interval<T: Display>(min: &[T], max: &[T]) -> String {
    let numbers = |corner: &[T]| {
        corner
            .iter()
            .map(T::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    };
    format!("{} .. {}", numbers(min), numbers(max))
}

/// The name of a component of a vector: x, y, z, w, and numbers from the fifth on.
pub(crate) fn component(index: usize) -> Cow<'static, str> {
    match ["x", "y", "z", "w"].get(index) {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(index.to_string()),
    }
}

/// A unit for sizes.
struct SizeUnit {
    name: &'static str,
    /// The base-2 logarithm of the unit.
    log2: u32,
}

/// The largest unit that this many bytes fill; `None` for less than 1 MiB.
fn size_unit(bytes: u64) -> Option<SizeUnit> {
    let unit = |name, log2| SizeUnit { name, log2 };
    Some(match bytes.checked_ilog2()? {
        0..20 => return None,
        20..30 => unit("MiB", 20),
        30..40 => unit("GiB", 30),
        40..50 => unit("TiB", 40),
        50..60 => unit("PiB", 50),
        _ => unit("EiB", 60),
    })
}

/// A number of bytes, from 1 MiB on in the largest unit that they fill: `1,536 bytes`, `1.5 MiB`, `24 GiB`.
///
/// Rounded down to tenths of the unit, which are left out if there are none.
pub(crate) fn size(bytes: u64) -> String {
    let Some(SizeUnit { name, log2 }) = size_unit(bytes) else {
        return counted(bytes, "byte");
    };
    let whole = bytes >> log2;
    let rest = bytes & !(u64::MAX << log2);
    let tenths = rest.saturating_mul(10) >> log2;
    if tenths == 0 {
        format!("{whole} {name}")
    } else {
        format!("{whole}.{tenths} {name}")
    }
}

/// A size like [`size`], rounded up to tenths of its unit, so that a limit of this size suffices.
pub(crate) fn size_up(bytes: u64) -> String {
    let Some(unit) = size_unit(bytes) else {
        return size(bytes);
    };
    // Rounds up, as `size` rounds down to tenths. The number is a little less than a tenth of the
    // unit, so that sizes of whole units stay.
    let almost_a_tenth = (1_u64 << unit.log2) / 10;
    size(bytes.saturating_add(almost_a_tenth))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_up_to_the_next_decimal() {
        let cases = [
            (9, "9 bytes"),
            (3 << 19, "1.5 MiB"),
            ((3 << 19) + 1, "1.6 MiB"),
            (7 << 30, "7 GiB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(size_up(bytes), text);
        }
    }

    #[test]
    fn sizes_have_units_and_one_decimal_where_it_is_not_0() {
        let cases = [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1_048_575, "1,048,575 bytes"),
            (3 << 19, "1.5 MiB"),
            (536_870_912, "512 MiB"),
            ((2 << 30) - 1, "1.9 GiB"),
            (24 << 30, "24 GiB"),
        ];
        for (number, text) in cases {
            assert_eq!(size(number), text);
        }
        assert_eq!(size(u64::MAX), "15.9 EiB");
    }

    #[test]
    fn decimal_groups_by_thousands() {
        let cases = [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (12_004, "12,004"),
            (1_667_439, "1,667,439"),
        ];
        for (number, text) in cases {
            assert_eq!(decimal(number), text);
        }
        assert_eq!(
            ["-214", "-2147483648", "0.12345", "\"12345\""].map(decimal),
            ["-214", "-2,147,483,648", "0.12345", "\"12345\""]
        );
    }
}
