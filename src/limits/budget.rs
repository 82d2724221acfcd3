use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use zerocopy::FromZeros;

use super::cancel;
use super::kept::give_back;
use super::settings::Limits;
use crate::num::{Span, as_u64, as_usize, size_u64};
use crate::report::{Cause, Error, ErrorKind, Limit, Result};

/// The memory that one call may hold by numbers from a file.
///
/// Made of [`Limits`] when a public call begins, and handed down by reference, to all threads of the call. It is the only
/// way in this library to allocate by such a number. It is spent before memory is taken; what the call gives back before
/// it ends can be spent again.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: Limits,
    held: AtomicU64,
    /// Stored bytes that the call has read, each range as often as it was read.
    read: AtomicU64,
    /// The end of what it has read: a call that reads the same bytes again and again has read no more than these.
    end: AtomicU64,
    /// The most that the call may hold besides the data that the file keeps, and what it holds.
    cap: u64,
    own: AtomicU64,
    /// `true` if the cap refused memory that the limits allow.
    is_refused: AtomicBool,
}

impl Budget {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self::capped(limits, u64::MAX)
    }

    /// A budget of a call that holds at most `cap` bytes, not counting the data that the file keeps.
    pub(crate) fn capped(limits: &Limits, cap: u64) -> Self {
        let zero = || AtomicU64::new(0);
        let [held, read, end, own] = [zero(), zero(), zero(), zero()];
        Self { limits: *limits, held, read, end, cap, own, is_refused: AtomicBool::new(false) }
    }

    /// Returns `true` if the cap refused memory that the limits allow.
    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed)
    }

    /// A budget of a call that has read a part of the file.
    pub(crate) fn of_part(limits: &Limits, stored: &Range<u64>) -> Self {
        let budget = Self::new(limits);
        budget.count_read(stored);
        budget
    }

    /// Counts a part of the file that has been read. What is stored large may decode large.
    pub(crate) fn count_read(&self, stored: &Range<u64>) {
        self.read.fetch_add(stored.length(), Ordering::Relaxed);
        self.end.fetch_max(stored.end, Ordering::Relaxed);
    }

    /// The most that the call may hold.
    fn total(&self) -> u64 {
        self.limits.total(self.read())
    }

    /// Returns the maximum number of distinct bytes of the file that the call has read.
    pub(crate) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed).min(self.end.load(Ordering::Relaxed))
    }

    /// Returns the maximum decoded size of a block that occupies `stored` bytes in the file.
    pub(crate) fn block(&self, stored: u64) -> u64 {
        self.limits.block(stored)
    }

    /// Returns the bytes that may still be charged.
    pub(crate) fn left(&self) -> u64 {
        self.total().saturating_sub(self.held.load(Ordering::Relaxed))
    }

    /// Charges `bytes` for one array or block that occupies `stored` bytes in the file.
    pub(crate) fn spend(&self, stored: u64, bytes: u64, what: &'static str) -> Result<()> {
        cancel::check(what)?;
        if bytes > self.limits.block(stored) {
            return Err(self.over_block(stored, Some(bytes), what));
        }
        self.spend_all(bytes, what)
    }

    /// Charges the bytes of several blocks, none of which is larger than a block may be.
    pub(crate) fn spend_all(&self, bytes: u64, what: &'static str) -> Result<()> {
        self.try_spend(bytes).then_some(()).ok_or_else(|| self.over_total(bytes, what))
    }

    /// Spends bytes, if there are as many left.
    pub(crate) fn try_spend(&self, bytes: u64) -> bool {
        if !self.try_spend_kept(bytes) {
            return false;
        }
        let own = |own: u64| own.checked_add(bytes).filter(|own| *own <= self.cap);
        let is_granted = self.own.fetch_update(Ordering::Relaxed, Ordering::Relaxed, own).is_ok();
        if !is_granted {
            self.is_refused.store(true, Ordering::Relaxed);
            give_back(&self.held, bytes);
        }
        is_granted
    }

    /// Spends bytes of something that the file keeps.
    pub(crate) fn try_spend_kept(&self, bytes: u64) -> bool {
        let total = self.total();
        let held = |held: u64| held.checked_add(bytes).filter(|held| *held <= total);
        self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, held).is_ok()
    }

    /// Gives back bytes that were spent.
    pub(crate) fn give_back(&self, bytes: u64) {
        give_back(&self.held, bytes);
        give_back(&self.own, bytes);
    }

    /// Bytes that the call holds.
    pub(crate) fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// Gives back what was spent since the call held this much.
    pub(crate) fn give_back_to(&self, held: u64) {
        self.give_back(self.held().saturating_sub(held));
    }

    /// The error of a block of `stored` bytes whose decoded size exceeds the limit: it is `bytes` or more.
    pub(crate) fn exceeded(&self, stored: u64, bytes: u64, what: &'static str) -> Error {
        let is_block = bytes > self.limits.block(stored);
        if is_block { self.over_block(stored, None, what) } else { self.over(None, what) }
    }

    fn over_block(&self, stored: u64, needed: Option<u64>, what: &'static str) -> Error {
        self.limits.exceeded(Limit::BlockBytes, self.limits.block(stored), needed, what)
    }

    /// The error of bytes that are more than what is left.
    pub(crate) fn over_total(&self, bytes: u64, what: &'static str) -> Error {
        self.over(Some(self.held().saturating_add(bytes)), what)
    }

    fn over(&self, needed: Option<u64>, what: &'static str) -> Error {
        self.limits.exceeded(Limit::TotalBytes, self.total(), needed, what)
    }

    /// Returns zeroed elements for an array that occupies `stored` bytes in the file. Their pages are untouched pages of the
    /// system: what is never written costs nothing.
    pub(crate) fn vec<T: FromZeros>(&self, stored: u64, count: u64, what: &'static str) -> Result<Vec<T>> {
        let bytes = count.saturating_mul(size_u64::<T>());
        self.spend(stored, bytes, what)?;
        T::new_vec_zeroed(as_usize(count)).map_err(|_| exceeded_by_machine(bytes, what))
    }

    /// Resizes a vector to the given count. Its elements may be old ones or zero: the caller overwrites them.
    pub(crate) fn resize<T: FromZeros + Clone>(
        &self,
        out: &mut Vec<T>,
        stored: u64,
        count: u64,
        what: &'static str,
    ) -> Result<()> {
        if count <= as_u64(out.capacity()) {
            self.spend(stored, count.saturating_mul(size_u64::<T>()), what)?;
            out.resize(as_usize(count), T::new_zeroed());
        } else {
            // The old memory goes first, so that never both are held.
            *out = Vec::new();
            *out = self.vec(stored, count, what)?;
        }
        Ok(())
    }
}

/// The error of memory that the limits allow and the machine does not have.
pub(crate) fn exceeded_by_machine(bytes: u64, what: &'static str) -> Error {
    Error::new(ErrorKind::LimitExceeded, what).because(Cause::OutOfMemory { needed: bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vec_refuses_what_is_over_the_limit_and_what_overflows() {
        let budget = Budget::new(&Limits::default().with_max_block_bytes(64));
        assert_eq!(budget.vec::<u32>(0, 16, "x").unwrap(), [0; 16]);
        for count in [17, u64::MAX / 4, u64::MAX] {
            let error = budget.vec::<u32>(0, count, "x").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::LimitExceeded);
            let expected = "above the limit of 64 bytes; raise it with Limits::with_max_block_bytes";
            assert!(error.to_string().ends_with(expected), "{error}");
        }
    }

    #[test]
    fn blocks_together_are_at_most_the_total() {
        let budget = Budget::new(&Limits::default().with_max_total_bytes(100));
        budget.spend(0, 60, "x").unwrap();
        let error = budget.spend(0, 60, "x").unwrap_err();
        let expected =
            "x needs 120 bytes, above the limit of 100 bytes; raise it with Limits::with_max_total_bytes";
        assert_eq!(error.to_string(), expected);
        assert_eq!(budget.left(), 40);
        budget.spend(0, 40, "x").unwrap();
        assert!(!budget.try_spend(1));
        budget.give_back(41);
        assert_eq!(budget.left(), 41);
        budget.give_back_to(20);
        assert_eq!((budget.held(), budget.left()), (20, 80));
    }

    #[test]
    fn errors_name_the_limit_that_is_exceeded() {
        let budget = Budget::new(&Limits::default().with_max_block_bytes(64).with_max_total_bytes(32));
        for (bytes, limit) in [(64, "max_total_bytes"), (65, "max_block_bytes")] {
            let error = budget.exceeded(0, bytes, "x");
            assert!(error.to_string().contains(limit), "{error}");
        }
    }

    #[test]
    fn a_cap_counts_what_a_call_holds_besides_the_data_of_the_file() {
        let limits = Limits::default().with_max_total_bytes(100);
        let budget = Budget::capped(&limits, 50);
        assert!(budget.try_spend(40) && budget.try_spend_kept(40) && !budget.is_refused());
        // The limits refuse, and not the cap.
        assert!(!budget.try_spend(21) && !budget.is_refused());
        assert!(!budget.try_spend(11) && budget.is_refused());
        budget.give_back(10);
        assert!(budget.try_spend(20) && budget.held() == 90);
    }

    #[test]
    fn what_is_stored_large_may_decode_large() {
        let limits = Limits::default().with_max_block_bytes(10).with_max_total_bytes(20);
        let budget = Budget::of_part(&limits, &(100..110));
        assert_eq!((budget.block(10), budget.block(1), budget.block(0), budget.left()), (160, 16, 10, 160));
        budget.spend(10, 160, "x").unwrap();
        let error = budget.spend(10, 161, "x").unwrap_err();
        let cause = |limit, remedy| {
            let needed = Some(161);
            Cause::Limit { limit, allowed: 160, needed, count: None, remedy }
        };
        assert_eq!(*error.cause(), cause(Limit::BlockBytes, "Limits::with_max_block_bytes"));
        let error = Budget::of_part(&limits, &(100..110)).spend_all(161, "x").unwrap_err();
        assert_eq!(*error.cause(), cause(Limit::TotalBytes, "Limits::with_max_total_bytes"));
        let strict = Budget::of_part(&limits.with_free_ratio(0), &(100..110));
        assert_eq!((strict.block(10), strict.left()), (10, 20));
    }

    #[test]
    fn reading_the_same_bytes_again_allows_no_more() {
        let budget = Budget::new(&Limits::default().with_max_total_bytes(0));
        (0..100).for_each(|_| budget.count_read(&(5..15)));
        assert_eq!(budget.left(), 15 * 16);
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri ends the program where memory runs out")]
    fn vec_that_the_machine_cannot_give_is_an_error() {
        let limits = Limits::default().with_max_block_bytes(u64::MAX).with_max_total_bytes(u64::MAX);
        let error = Budget::new(&limits).vec::<u64>(0, 1 << 59, "x").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    }
}
