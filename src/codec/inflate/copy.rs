//! Matches: copies of what has come out before.

/// What is written after a match at most, to be overwritten.
pub(super) const BEYOND: usize = 32;

/// Copies a match that lies `distance` back to `at`. There must be room for it and [`BEYOND`].
///
/// What is copied goes through registers, so that nothing is called.
#[expect(clippy::arithmetic_side_effects, reason = "the caller has compared the distance with `at`")]
#[inline(always)]
pub(super) fn repeat(out: &mut [u8], at: usize, distance: usize, length: usize) {
    let Some(out) = out.get_mut(at - distance..) else { return };
    if length <= 16 && distance >= length {
        copy::<16>(out, 0, distance);
    } else if distance >= 32 {
        copy::<32>(out, 0, distance);
        let mut done = 32;
        while done < length {
            copy::<32>(out, done, distance + done);
            done += 32;
        }
    } else if distance >= 16 {
        copy::<16>(out, 0, distance);
        let mut done = 16;
        while done < length {
            copy::<16>(out, done, distance + done);
            done += 16;
        }
    } else {
        pattern(out, distance, length);
    }
}

#[inline(always)]
fn copy<const N: usize>(out: &mut [u8], from: usize, to: usize) {
    if let Some(bytes) = out.get(from..).and_then(|out| out.first_chunk::<N>().copied())
        && let Some(place) = out.get_mut(to..).and_then(|out| out.first_chunk_mut::<N>())
    {
        *place = bytes;
    }
}

/// A match that overlaps with itself within 16 bytes: a pattern that is repeated.
#[expect(clippy::arithmetic_side_effects, reason = "the distance is 1 to 15")]
#[inline(always)]
fn pattern(out: &mut [u8], distance: usize, length: usize) {
    let Some(bytes) = out.first_chunk::<16>() else { return };
    let mut bits = distance * 8;
    let mut pattern = u128::from_le_bytes(*bytes) & ((1 << bits) - 1);
    while bits < 128 {
        pattern |= pattern << bits;
        bits *= 2;
    }
    // So many bytes of the pattern that it goes on with its beginning.
    let step = 16 - 16 % distance;
    let (mut to, end) = (distance, distance + length);
    while to < end {
        if let Some(place) = out.get_mut(to..).and_then(|out| out.first_chunk_mut()) {
            *place = pattern.to_le_bytes();
        }
        to += step;
    }
}
