//! The beginning of a block: its kind, and its codes.

use super::bits::Bits;
use super::code::{Code, LITLENS, Rule};
use super::error::Problem;
use super::table::Tables;

/// The content of a block.
pub(super) enum Content {
    /// So many bytes as they are.
    Stored(usize),
    /// Symbols of the codes in the tables.
    Symbols,
}

/// Reads the header of a block; also says whether it is the last one.
pub(super) fn header<'a>(
    bits: &mut Bits<'a>,
    input: &'a [u8],
    tables: &mut Tables,
    lengths_code: &mut Code,
) -> Result<(bool, Content), Problem> {
    let is_last = bits.take(1)? == 1;
    let content = match bits.take(2)? {
        0 => {
            bits.align(input);
            let length = bits.take(16)?;
            let complement = bits.take(16)?;
            // The content is read from where the buffer would go on.
            bits.align(input);
            if length != !complement & 0xffff {
                return Err(Problem::Corrupt(
                    "a stored block whose length is not that of its complement",
                ));
            }
            Content::Stored(length as usize)
        }
        1 => {
            tables.set_fixed()?;
            Content::Symbols
        }
        2 => {
            let Lengths {
                lengths,
                litlens,
                end,
            } = lengths(bits, lengths_code)?;
            let (litlens, distances) = lengths.get(..end).unwrap_or_default().split_at(litlens);
            tables.set(litlens, distances)?;
            Content::Symbols
        }
        _ => return Err(Problem::Corrupt("a block of type 3")),
    };
    Ok((is_last, content))
}

/// The lengths of the codes of a dynamic block: of literals and lengths, then of distances.
pub(super) struct Lengths {
    pub(super) lengths: [u8; LITLENS + 32],
    /// The number of lengths that are for literals and lengths, less than `end`.
    pub(super) litlens: usize,
    /// The total number of lengths.
    pub(super) end: usize,
}

/// Reads the codes of a dynamic block, from after its kind.
#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "numbers are compared with the length of arrays first; lengths of codes are at most 15"
)]
pub(super) fn lengths(bits: &mut Bits<'_>, lengths_code: &mut Code) -> Result<Lengths, Problem> {
    const ORDER: [usize; 19] = [
        16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
    ];
    const PROBLEMS: [Problem; 2] = [
        Problem::Corrupt("an over-subscribed code of code lengths"),
        Problem::Corrupt("an incomplete code of code lengths"),
    ];
    let litlens = bits.take(5)? as usize + 257;
    let distances = bits.take(5)? as usize + 1;
    let count = bits.take(4)? as usize + 4;
    if litlens > 286 {
        return Err(Problem::Corrupt(
            "more than 286 codes of literals and lengths",
        ));
    }
    if distances > 30 {
        return Err(Problem::Corrupt("more than 30 codes of distances"));
    }
    let mut lengths = [0; ORDER.len()];
    for place in &ORDER[..count] {
        lengths[*place] = bits.take(3)? as u8;
    }
    lengths_code.set(&lengths, Rule::Complete, PROBLEMS)?;
    // The symbol, and the length of its code.
    let mut table = [[0_u8; 2]; 1 << 7];
    for length in 1..=7 {
        let half = 1 << (length - 1);
        table.copy_within(..half, half);
        let (symbols, codes) = lengths_code.symbols(length);
        for (symbol, code) in symbols.iter().zip(codes) {
            table[usize::from(code & 0x7f)] = [*symbol as u8, length as u8];
        }
    }

    let mut lengths = [0; LITLENS + 32];
    let mut at = 0;
    let end = litlens + distances;
    while at < end {
        bits.fill(7 + 7);
        let [symbol, length] = table[bits.peek(7) as usize];
        if u32::from(length) > bits.count {
            return Err(Problem::Truncated);
        }
        bits.consume(length.into());
        if symbol < 16 {
            lengths[at] = symbol;
            at += 1;
            continue;
        }
        let (length, repeats) = match symbol {
            16 if at == 0 => {
                return Err(Problem::Corrupt(
                    "a repeated code length with none before it",
                ));
            }
            16 => (lengths[at - 1], 3 + bits.take(2)?),
            17 => (0, 3 + bits.take(3)?),
            _ => (0, 11 + bits.take(7)?),
        };
        let repeated = lengths
            .get_mut(at..at + repeats as usize)
            .filter(|_| at + repeats as usize <= end);
        repeated
            .ok_or(Problem::Corrupt("more code lengths than there are codes"))?
            .fill(length);
        at += repeats as usize;
    }
    Ok(Lengths {
        lengths,
        litlens,
        end,
    })
}
