//! The time that helpers may spend on work that may turn out to be useless.
//!
//! A part is known to be valid only when the thread in front comes to it: bytes can be made that look like the beginning
//! of a block everywhere, or nowhere. So helpers work on credit, which is earned by the thread in front, and by parts that it
//! came to. Ordinary streams prove their parts one after the other, so that the credit grows as fast as the parts do. A stream
//! that makes helpers work in vain costs what its last parts took, and three tenths of what one thread needs, at most.

use std::time::Duration;

/// The time that helpers may spend on a stream, and what earned it.
#[derive(Clone, Copy, Default)]
pub(super) struct Credit {
    /// Decoding that was needed, by any thread.
    proven: Duration,
    /// The time that helpers spent, or may be spending, on parts that the thread in front has not come to.
    open: Duration,
    /// The time that helpers lost on useless work, and on their searches.
    lost: Duration,
    /// The number of bytes of the input that the thread in front has decoded itself.
    own_bytes: usize,
    /// The time that this took.
    own_time: Duration,
}

impl Credit {
    /// Credit without end.
    #[cfg(any(test, fuzzing))]
    pub(super) fn unlimited() -> Self {
        Self {
            proven: Duration::from_secs(1 << 32),
            ..Self::default()
        }
    }

    /// Records that the thread in front has decoded `bytes` bytes of the input in `time`.
    pub(super) fn decoded(&mut self, bytes: usize, time: Duration) {
        self.proven = self.proven.saturating_add(time);
        self.own_bytes = self.own_bytes.saturating_add(bytes);
        self.own_time = self.own_time.saturating_add(time);
    }

    /// Returns the time that one of `idle` idle helpers may spend next, and the number of bytes of the input that the thread in
    /// front decodes in it, at least `min`. `None` if the credit is used up.
    pub(super) fn share(&self, idle: usize, min: usize) -> Option<(Duration, usize)> {
        let idle = u32::try_from(idle).unwrap_or(u32::MAX).max(1);
        let left = self
            .proven
            .saturating_sub(self.open)
            .saturating_sub(self.lost);
        let needed = self.time_of(min);
        // At most three tenths of the needed work may be lost.
        let is_trusted = self.lost.saturating_mul(10) <= self.proven.saturating_mul(3);
        if !is_trusted || needed > left || left.is_zero() {
            return None;
        }
        let time = left.checked_div(idle).unwrap_or(left).max(needed);
        Some((time, self.bytes_in(time).max(min)))
    }

    /// A helper is allowed to spend this time.
    pub(super) fn lend(&mut self, time: Duration) {
        self.open = self.open.saturating_add(time);
    }

    /// A helper has spent the second time where it was allowed the first one.
    pub(super) fn settle(&mut self, lent: Duration, spent: Duration) {
        self.open = self.open.saturating_sub(lent).saturating_add(spent);
    }

    /// Records that a helper's work in this time was needed.
    pub(super) fn prove(&mut self, time: Duration) {
        self.open = self.open.saturating_sub(time);
        self.proven = self.proven.saturating_add(time);
    }

    /// Records that a helper's work in this time is of no use.
    pub(super) fn lose(&mut self, time: Duration) {
        self.open = self.open.saturating_sub(time);
        self.lost = self.lost.saturating_add(time);
    }

    fn time_of(&self, bytes: usize) -> Duration {
        let product = self.own_time.as_nanos().saturating_mul(wide(bytes));
        let nanoseconds = product.checked_div(wide(self.own_bytes)).unwrap_or(0);
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(0))
    }

    fn bytes_in(&self, time: Duration) -> usize {
        let product = time.as_nanos().saturating_mul(wide(self.own_bytes));
        let bytes = product.checked_div(self.own_time.as_nanos());
        usize::try_from(bytes.unwrap_or(u128::MAX)).unwrap_or(usize::MAX)
    }
}

fn wide(bytes: usize) -> u128 {
    u128::try_from(bytes).unwrap_or(u128::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    /// The thread in front has decoded 10 KiB in each of 10 ms.
    fn earned() -> Credit {
        let mut credit = Credit::default();
        credit.decoded(100 << 10, 10 * MILLISECOND);
        credit
    }

    #[test]
    fn helpers_may_do_as_much_as_was_needed_so_far() {
        assert_eq!(
            earned().share(1, 1 << 10),
            Some((10 * MILLISECOND, 100 << 10))
        );
        assert_eq!(
            earned().share(4, 1 << 10),
            Some((MILLISECOND * 5 / 2, 25 << 10)),
            "one of four"
        );
        assert_eq!(
            earned().share(4, 50 << 10),
            Some((5 * MILLISECOND, 50 << 10)),
            "no part is shorter"
        );
        assert_eq!(earned().share(1, 101 << 10), None, "more than was needed");
    }

    #[test]
    fn what_is_open_is_lent_only_once() {
        let mut credit = earned();
        credit.lend(8 * MILLISECOND);
        assert_eq!(credit.share(1, 1 << 10), Some((2 * MILLISECOND, 20 << 10)));
        credit.settle(8 * MILLISECOND, 6 * MILLISECOND);
        assert_eq!(credit.share(1, 1 << 10), Some((4 * MILLISECOND, 40 << 10)));
        credit.prove(6 * MILLISECOND);
        assert_eq!(
            credit.share(1, 1 << 10),
            Some((16 * MILLISECOND, 160 << 10)),
            "proven parts earn credit"
        );
    }

    #[test]
    fn three_tenths_may_be_lost() {
        let mut credit = earned();
        credit.lend(3 * MILLISECOND);
        credit.settle(3 * MILLISECOND, 3 * MILLISECOND);
        credit.lose(3 * MILLISECOND);
        assert_eq!(credit.share(1, 1 << 10), Some((7 * MILLISECOND, 70 << 10)));
        credit.lose(MILLISECOND);
        assert_eq!(credit.share(1, 1 << 10), None);
        credit.decoded(40 << 10, 4 * MILLISECOND);
        assert!(
            credit.share(1, 1 << 10).is_some(),
            "the thread in front has earned more"
        );
    }

    #[test]
    fn nothing_is_lent_before_anything_is_earned() {
        assert_eq!(Credit::default().share(1, 1), None);
    }
}
