//! Numbers of any width, and how they stand in messages.

pub(crate) fn as_u64(length: usize) -> u64 {
    // No platform of Rust has a usize of more than 64 bits.
    u64::try_from(length).unwrap_or(u64::MAX)
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
