//! Matches: copies of earlier output.

use super::history::History;

/// The maximum number of bytes that are written after a match, to be overwritten.
pub(super) const BEYOND: usize = 32;

/// A byte of the output, which need not be known yet.
pub(super) trait Unit: Copy + From<u8> {
    /// Copies a match that lies `distance` back to `at`. There must be space for it and [`BEYOND`].
    fn repeat(out: &mut [Self], at: usize, distance: usize, length: usize);

    /// Copies a match, as much of it as there is space for, whose beginning lies before `out`. `None` if it lies before the
    /// stream.
    fn repeat_history(
        out: &mut [Self],
        at: usize,
        distance: usize,
        length: usize,
        history: &History,
    ) -> Option<()>;
}

impl Unit for u8 {
    #[inline(always)]
    fn repeat(out: &mut [Self], at: usize, distance: usize, length: usize) {
        repeat(out, at, distance, length);
    }

    #[inline(always)]
    fn repeat_history(
        out: &mut [Self],
        at: usize,
        distance: usize,
        length: usize,
        history: &History,
    ) -> Option<()> {
        history.repeat(out, at, distance, length)
    }
}

/// Copies a match that lies `distance` back to `at`. There must be space for it and [`BEYOND`].
///
/// Most are short and do not overlap with themselves: one move.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "the caller has compared the distance with `at`"
)]
#[inline(always)]
fn repeat(out: &mut [u8], at: usize, distance: usize, length: usize) {
    let Some(out) = out.get_mut(at - distance..) else {
        return;
    };
    if length <= 16 && distance >= length {
        copy::<_, 16>(out, 0, distance);
    } else {
        repeat_long(out, distance, length);
    }
}

/// Copies other matches: `out` begins at the source of the copy. Not inlined: the caller has no registers to spare.
///
/// Copied bytes go through registers, so that nothing is called.
#[expect(clippy::arithmetic_side_effects, reason = "lengths are at most 258")]
#[inline(never)]
fn repeat_long(out: &mut [u8], distance: usize, length: usize) {
    if distance >= 32 {
        copy::<_, 32>(out, 0, distance);
        let mut done = 32;
        while done < length {
            copy::<_, 32>(out, done, distance + done);
            done += 32;
        }
    } else if distance >= 16 {
        copy::<_, 16>(out, 0, distance);
        let mut done = 16;
        while done < length {
            copy::<_, 16>(out, done, distance + done);
            done += 16;
        }
    } else {
        pattern(out, distance, length);
    }
}

#[inline(always)]
pub(super) fn copy<U: Copy, const N: usize>(out: &mut [U], from: usize, to: usize) {
    if let Some(bytes) = out
        .get(from..)
        .and_then(|out| out.first_chunk::<N>().copied())
        && let Some(place) = out.get_mut(to..).and_then(|out| out.first_chunk_mut::<N>())
    {
        *place = bytes;
    }
}

/// A match that overlaps with itself within 16 bytes: a pattern that is repeated.
#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "the distance is 1 to 15"
)]
#[inline(always)]
fn pattern(out: &mut [u8], distance: usize, length: usize) {
    let Some(bytes) = out.first_chunk::<16>() else {
        return;
    };
    let bytes = u128::from_le_bytes(*bytes) & ((1 << (distance * 8)) - 1);
    let (factor, step) = REPEATED[distance & 15];
    let pattern = bytes.wrapping_mul(factor).to_le_bytes();
    if step == 16 {
        let twice = [pattern; 2];
        let space = out
            .get_mut(distance..distance + length.next_multiple_of(32))
            .unwrap_or_default();
        space
            .chunks_exact_mut(32)
            .for_each(|place| place.copy_from_slice(twice.as_flattened()));
        return;
    }
    let mut to = distance;
    let end = distance + length;
    while to < end {
        if let Some(place) = out.get_mut(to..).and_then(|out| out.first_chunk_mut()) {
            *place = pattern;
        }
        to += step;
    }
}

/// For each length of a pattern: the factor that repeats it in 16 bytes, and the number of these bytes after which it starts over.
#[expect(clippy::indexing_slicing, reason = "less than 16")]
const REPEATED: [(u128, usize); 16] = {
    let mut repeated = [(1, 16); 16];
    let mut distance = 1;
    while distance < 16 {
        let mut factor = 0;
        let mut bit = 0;
        while bit < 128 {
            factor |= 1 << bit;
            bit += distance * 8;
        }
        repeated[distance] = (factor, 16 - 16 % distance);
        distance += 1;
    }
    repeated
};
