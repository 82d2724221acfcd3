//! What a stream is decoded to.

use super::copy;
use super::history::History;

/// A byte of the output, which need not be known yet.
pub(super) trait Unit: Copy + From<u8> {
    /// Copies a match that lies `distance` back to `at`. There must be room for it and [`BEYOND`](copy::BEYOND).
    fn repeat(out: &mut [Self], at: usize, distance: usize, length: usize);

    /// Copies a match, as much of it as there is room for, whose beginning lies before `out`. `None` where it is not there.
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
        copy::repeat(out, at, distance, length);
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
