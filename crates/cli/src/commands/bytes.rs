//! `meshmap dump` with the address of a part that has no arrays, such as a header: the bytes of the part in the file.

use std::ops::Range;

use meshmap::{Item, MeshFile, Segment};

use crate::text;

/// Bytes per line, as other programs show them.
const LINE: u64 = 16;
/// Bytes per read.
const PIECE: u64 = 64 << 10;

/// The part with this address, or else the innermost part that contains it. `None` for an element that an array lacks.
pub(super) fn part_around(file: &MeshFile, address: &[Segment]) -> Option<Item> {
    let mut arrays = file.arrays().filter_map(Result::ok);
    if arrays.any(|array| address.starts_with(array.address.segments())) {
        return None;
    }
    let around = file
        .items()
        .filter(|item| address.starts_with(item.address.segments()));
    around.max_by_key(|item| item.address.segments().len())
}

/// Lines of 16 bytes, at most `head`: the offset in the file, the bytes in hexadecimal, and the characters of ASCII.
pub(super) fn lines(
    file: &MeshFile,
    part: &Item,
    head: Option<usize>,
) -> impl Iterator<Item = meshmap::Result<String>> {
    let most = head
        .map_or(u64::MAX, |head| head as u64)
        .saturating_mul(LINE);
    let Range { start, end } = part.range;
    let end = end.min(start.saturating_add(most));
    let pieces = (start..end).step_by(PIECE as usize);
    pieces.flat_map(move |from| {
        match file
            .source()
            .read(from..end.min(from.saturating_add(PIECE)))
        {
            Ok(bytes) => (from..)
                .step_by(LINE as usize)
                .zip(bytes.chunks(LINE as usize))
                .map(|(offset, bytes)| Ok(line(offset, bytes)))
                .collect(),
            Err(error) => vec![Err(error)],
        }
    })
}

fn line(offset: u64, bytes: &[u8]) -> String {
    let shown = |byte: &u8| {
        if (b' '..=b'~').contains(byte) {
            char::from(*byte)
        } else {
            '.'
        }
    };
    let characters: String = bytes.iter().map(shown).collect();
    format!(
        "{offset:08x}  {:<47}  |{characters}|",
        text::spaced_hex(bytes)
    )
}
