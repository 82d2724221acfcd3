//! Coding of the tables at the end of a crate file: integers as differences, and LZ4 blocks.

use std::collections::HashMap;

/// Bytes as an LZ4 block that is all literals, behind a byte that says that there is one block.
pub(super) fn literals(bytes: &[u8]) -> Vec<u8> {
    /// Lengths from here on take further bytes.
    const LONG: usize = 15;
    let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 255 + 3);
    out.push(0);
    if let Some(mut rest) = bytes.len().checked_sub(LONG) {
        out.push(0xf0);
        while rest >= 255 {
            out.push(255);
            rest -= 255;
        }
        out.push(u8::try_from(rest).unwrap_or_default());
    } else {
        out.push(u8::try_from(bytes.len() << 4).unwrap_or_default());
    }
    out.extend(bytes);
    out
}

/// Codes integers as differences from one to the next: the most common difference, two bits for each that give its encoding, and
/// the differences that are not the most common one.
pub(super) fn integers(integers: &[i32]) -> Vec<u8> {
    let mut previous = 0;
    let differences: Vec<i32> = integers
        .iter()
        .map(|integer| integer.wrapping_sub(std::mem::replace(&mut previous, *integer)))
        .collect();
    let mut counts: HashMap<i32, usize> = HashMap::new();
    for difference in &differences {
        *counts.entry(*difference).or_default() += 1;
    }
    let common = counts
        .into_iter()
        .map(|(difference, count)| (count, difference))
        .max();
    let common = common.map_or(0, |(_, difference)| difference);
    let mut codes = Vec::with_capacity(differences.len().div_ceil(4));
    let mut stored = Vec::new();
    for four in differences.chunks(4) {
        let mut code = 0;
        for (place, difference) in four.iter().enumerate() {
            let kind = if *difference == common {
                0
            } else if let Ok(small) = i8::try_from(*difference) {
                stored.extend(small.to_le_bytes());
                1
            } else if let Ok(medium) = i16::try_from(*difference) {
                stored.extend(medium.to_le_bytes());
                2
            } else {
                stored.extend(difference.to_le_bytes());
                3
            };
            code |= kind << (2 * place);
        }
        codes.push(code);
    }
    let coded = [common.to_le_bytes().as_slice(), &codes, &stored].concat();
    literals(&coded)
}

/// A list of integers as a section has it: its coded length, then its code.
pub(super) fn coded(list: &[i32]) -> Vec<u8> {
    sized(integers(list))
}

/// Bytes as a section has them: their coded length, then their code.
pub(super) fn packed(bytes: &[u8]) -> Vec<u8> {
    sized(literals(bytes))
}

fn sized(bytes: Vec<u8>) -> Vec<u8> {
    let mut out = (bytes.len() as u64).to_le_bytes().to_vec();
    out.extend(bytes);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_coded_as_in_the_published_example() {
        let coded = integers(&[123, 124, 125, 100_125, 100_125, 100_126, 100_126]);
        let expected = [
            1,
            0,
            0,
            0,
            0b11_00_00_01,
            0b01_00_01,
            123,
            160,
            134,
            1,
            0,
            0,
            0,
        ];
        assert_eq!(coded, literals(&expected));
        // One block, and 13 literals in it.
        assert_eq!(coded[..2], [0, 13 << 4]);
    }

    #[test]
    fn lengths_of_literals_are_split_into_bytes() {
        let head = |length: usize| {
            let block = literals(&vec![7; length]);
            block[1..block.len() - length].to_vec()
        };
        assert_eq!(head(0), [0]);
        assert_eq!(head(14), [14 << 4]);
        assert_eq!(head(15), [0xf0, 0]);
        assert_eq!(head(269), [0xf0, 254]);
        assert_eq!(head(270), [0xf0, 255, 0]);
        assert_eq!(head(15 + 510), [0xf0, 255, 255, 0]);
    }
}
