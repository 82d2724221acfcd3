use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use zerocopy::FromZeros;

use crate::num::{Span, as_u64, as_usize, decimal, size_u64};
use crate::report::{Error, ErrorKind, Result};

/// How much memory a file may make the library take.
///
/// The limits are against small files that become huge, not against huge files: what is stored large may decode large. A
/// block may always decode to [`free_ratio`](Self::free_ratio) times its stored bytes, and a call to as many times what it
/// reads; beyond that, [`max_block_bytes`](Self::max_block_bytes) and [`max_total_bytes`](Self::max_total_bytes) count.
///
/// A call that returns what it decoded takes no more memory than that at any time, and beside it the stored bytes that it
/// reads, the headers, and 1 MiB for each thread at work. Bytes of a map cost nothing. Arrays that a caller copies out of
/// views are the caller's.
///
/// # Examples
///
/// ```
/// use meshmap::{Limits, MeshFile, Options, Source};
///
/// // At most 64 MiB for one call, however large the file is.
/// let limits = Limits::default().with_max_total_bytes(64 << 20).with_free_ratio(0);
/// let source = Source::open("tests/data/iqm/valid/skin_multi_anim.iqm")?;
/// let file = MeshFile::from_source_with(source, &Options::default().with_limits(limits))?;
/// # assert!(!file.findings().iter().any(|finding| finding.detail.is_empty()));
/// # Ok::<(), meshmap::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[non_exhaustive]
pub struct Limits {
    /// The size in bytes of the largest decoded array or block. 512 MiB by default.
    pub max_block_bytes: u64,
    /// The most bytes that one call holds of what it decodes, all blocks together, and the most that a file object keeps
    /// for later calls. 1 GiB by default.
    pub max_total_bytes: u64,
    /// How many times its stored bytes a block may decode to, whatever the other limits say. 16 by default; 0 switches
    /// this off.
    pub free_ratio: u64,
    /// How deep containers may be nested, in formats that nest them (LLSD). 96 by default, and never more than 256.
    pub max_depth: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_block_bytes: 512 << 20, max_total_bytes: 1 << 30, free_ratio: 16, max_depth: 96 }
    }
}

impl Limits {
    /// Sets [`max_block_bytes`](Self::max_block_bytes).
    #[must_use]
    pub fn with_max_block_bytes(mut self, bytes: u64) -> Self {
        self.max_block_bytes = bytes;
        self
    }

    /// Sets [`max_total_bytes`](Self::max_total_bytes).
    #[must_use]
    pub fn with_max_total_bytes(mut self, bytes: u64) -> Self {
        self.max_total_bytes = bytes;
        self
    }

    /// Sets [`free_ratio`](Self::free_ratio).
    #[must_use]
    pub fn with_free_ratio(mut self, ratio: u64) -> Self {
        self.free_ratio = ratio;
        self
    }

    /// Sets [`max_depth`](Self::max_depth).
    #[must_use]
    pub fn with_max_depth(mut self, depth: u32) -> Self {
        self.max_depth = depth;
        self
    }

    /// The size of the largest block that is stored in so many bytes.
    fn block(&self, stored: u64) -> u64 {
        self.max_block_bytes.max(stored.saturating_mul(self.free_ratio))
    }

    /// The most that a call holds which reads so many bytes.
    fn total(&self, read: u64) -> u64 {
        self.max_total_bytes.max(read.saturating_mul(self.free_ratio))
    }
}

/// What one call may hold of memory by numbers from a file.
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
    shared: Option<Share>,
}

/// A call's share of what several calls may hold together.
#[derive(Debug)]
struct Share {
    all: Arc<Budget>,
    /// What `all` counts for this call.
    counted: AtomicU64,
    /// What of it the call may still take.
    credit: AtomicU64,
    is_refused: AtomicBool,
}

impl Budget {
    pub(crate) fn new(limits: &Limits) -> Self {
        let zero = || AtomicU64::new(0);
        Self { limits: *limits, held: zero(), read: zero(), end: zero(), shared: None }
    }

    /// A budget of one of several calls that together hold no more than `all` allows, which counts so many bytes for this
    /// call already: memory that it uses again.
    #[cfg(feature = "rayon")]
    pub(crate) fn sharing(limits: &Limits, all: &Arc<Self>, counted: u64) -> Self {
        let [counted, credit] = [counted; 2].map(AtomicU64::new);
        let share = Share { all: Arc::clone(all), counted, credit, is_refused: AtomicBool::new(false) };
        Self { shared: Some(share), ..Self::new(limits) }
    }

    /// Whether other calls share what this one may hold.
    #[cfg(feature = "rayon")]
    pub(crate) fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Whether this call was refused what its own limits allow, because of what others hold.
    #[cfg(feature = "rayon")]
    pub(crate) fn is_refused(&self) -> bool {
        self.shared.as_ref().is_some_and(|share| share.is_refused.load(Ordering::Relaxed))
    }

    /// What is counted for this call of what it shares with others.
    #[cfg(feature = "rayon")]
    pub(crate) fn counted(&self) -> u64 {
        self.shared.as_ref().map_or(0, |share| share.counted.load(Ordering::Relaxed))
    }

    /// Counts other bytes in place of some that were spent, however many may be held.
    #[cfg(feature = "rayon")]
    pub(crate) fn replace(&self, spent: u64, bytes: u64) {
        let replaced = |held: u64| Some(held.saturating_sub(spent).saturating_add(bytes));
        let _ = self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, replaced);
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

    /// How many different bytes of the file the call has read, at most.
    pub(crate) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed).min(self.end.load(Ordering::Relaxed))
    }

    /// The size of the largest block that is stored in so many bytes.
    pub(crate) fn block(&self, stored: u64) -> u64 {
        self.limits.block(stored)
    }

    /// What may still be taken.
    pub(crate) fn left(&self) -> u64 {
        self.total().saturating_sub(self.held.load(Ordering::Relaxed))
    }

    /// Spends the bytes of one array or block that is stored in so many bytes.
    pub(crate) fn spend(&self, stored: u64, bytes: u64, what: &'static str) -> Result<()> {
        if bytes > self.limits.block(stored) {
            return Err(self.over_block(stored, bytes, what));
        }
        self.spend_all(bytes, what)
    }

    /// Spends the bytes of several blocks, each of which is no larger than a block may be.
    pub(crate) fn spend_all(&self, bytes: u64, what: &'static str) -> Result<()> {
        self.try_spend(bytes).then_some(()).ok_or_else(|| self.over_total(bytes, what))
    }

    /// Spends bytes, if there are as many left.
    pub(crate) fn try_spend(&self, bytes: u64) -> bool {
        if !self.try_spend_own(bytes) {
            return false;
        }
        let is_granted = self.shared.as_ref().is_none_or(|share| share.try_spend(bytes));
        if !is_granted {
            give_back(&self.held, bytes);
        }
        is_granted
    }

    /// Spends bytes that this call holds together with the others that it shares with.
    pub(crate) fn try_spend_own(&self, bytes: u64) -> bool {
        let total = self.total();
        let held = |held: u64| held.checked_add(bytes).filter(|held| *held <= total);
        self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, held).is_ok()
    }

    /// Gives back bytes that were spent.
    pub(crate) fn give_back(&self, bytes: u64) {
        give_back(&self.held, bytes);
        if let Some(share) = &self.shared {
            share.credit.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Bytes that the call holds.
    pub(crate) fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// Gives back what was spent since the call held this much.
    pub(crate) fn give_back_to(&self, held: u64) {
        self.give_back(self.held().saturating_sub(held));
    }

    /// The error of a block, stored in so many bytes, that may not be as large.
    pub(crate) fn exceeded(&self, stored: u64, bytes: u64, what: &'static str) -> Error {
        if bytes > self.limits.block(stored) {
            return self.over_block(stored, bytes, what);
        }
        self.over_total(bytes, what)
    }

    fn over_block(&self, stored: u64, bytes: u64, what: &'static str) -> Error {
        let most = self.limits.block(stored);
        over_limit(what, "max_block_bytes", most, most > self.limits.max_block_bytes).found(decimal(bytes))
    }

    /// The error of bytes that are more than what is left.
    pub(crate) fn over_total(&self, bytes: u64, what: &'static str) -> Error {
        let most = self.total();
        let held = self.held.load(Ordering::Relaxed);
        let error = over_limit(what, "max_total_bytes", most, most > self.limits.max_total_bytes);
        error.found(decimal(held.saturating_add(bytes)))
    }

    /// Zeroed elements of an array that is stored in so many bytes. Their pages are fresh ones of the system: what is
    /// never written costs nothing.
    pub(crate) fn vec<T: FromZeros>(&self, stored: u64, count: u64, what: &'static str) -> Result<Vec<T>> {
        let bytes = count.saturating_mul(size_u64::<T>());
        self.spend(stored, bytes, what)?;
        T::new_vec_zeroed(as_usize(count)).map_err(|_| exceeded_by_machine(bytes, what))
    }

    /// Makes a vector this long. Its elements may be old ones or zero: they are to be overwritten.
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

impl Share {
    fn try_spend(&self, bytes: u64) -> bool {
        let credit = self.credit.swap(0, Ordering::Relaxed);
        let more = bytes.saturating_sub(credit);
        let is_granted = self.all.try_spend(more);
        if is_granted {
            self.counted.fetch_add(more, Ordering::Relaxed);
            self.credit.fetch_add(credit.saturating_sub(bytes), Ordering::Relaxed);
        } else {
            self.is_refused.store(true, Ordering::Relaxed);
        }
        is_granted
    }
}

fn give_back(held: &AtomicU64, bytes: u64) {
    let _ = held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| Some(held.saturating_sub(bytes)));
}

/// What a file object keeps of what it decoded: at most what a call may hold that reads the whole file.
#[derive(Debug)]
pub(crate) struct Kept {
    most: u64,
    bytes: AtomicU64,
}

impl Kept {
    /// Of a file this long.
    pub(crate) fn new(limits: &Limits, file: u64) -> Self {
        Self { most: limits.total(file), bytes: AtomicU64::new(0) }
    }

    /// Whether so many bytes more may be kept.
    #[cfg(feature = "rayon")]
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        self.bytes.load(Ordering::Relaxed).saturating_add(bytes) <= self.most
    }

    /// Whether so many bytes more may be kept, which are then counted.
    pub(crate) fn admits(&self, bytes: u64) -> bool {
        let kept = |kept: u64| kept.checked_add(bytes).filter(|kept| *kept <= self.most);
        self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, kept).is_ok()
    }

    /// Gives back bytes that are no longer kept.
    pub(crate) fn give_back(&self, bytes: u64) {
        give_back(&self.bytes, bytes);
    }
}

/// The error of memory that the limits allow and the machine does not have.
pub(crate) fn exceeded_by_machine(bytes: u64, what: &'static str) -> Error {
    Error::new(ErrorKind::LimitExceeded, what)
        .expected("as much memory as the machine has free")
        .found(format_args!("{} bytes", decimal(bytes)))
}

fn over_limit(what: &'static str, limit: &str, most: u64, is_by_ratio: bool) -> Error {
    let why = if is_by_ratio { "free_ratio" } else { limit };
    let expected = format!("at most {} bytes ({why}; raised by Limits::with_{limit})", decimal(most));
    Error::new(ErrorKind::LimitExceeded, what).expected(expected)
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
            let expected = "at most 64 bytes (max_block_bytes; raised by Limits::with_max_block_bytes)";
            assert_eq!(error.expected_text(), expected);
        }
    }

    #[test]
    fn blocks_together_are_at_most_the_total() {
        let budget = Budget::new(&Limits::default().with_max_total_bytes(100));
        budget.spend(0, 60, "x").unwrap();
        let error = budget.spend(0, 60, "x").unwrap_err();
        let expected = "at most 100 bytes (max_total_bytes; raised by Limits::with_max_total_bytes)";
        assert_eq!((error.expected_text(), error.found_text()), (expected, "120"));
        assert_eq!(budget.left(), 40);
        budget.spend(0, 40, "x").unwrap();
        assert!(!budget.try_spend(1));
        budget.give_back(41);
        assert_eq!(budget.left(), 41);
    }

    #[test]
    fn what_is_stored_large_may_decode_large() {
        let limits = Limits::default().with_max_block_bytes(10).with_max_total_bytes(20);
        let budget = Budget::of_part(&limits, &(100..110));
        assert_eq!((budget.block(10), budget.block(1), budget.block(0), budget.left()), (160, 16, 10, 160));
        budget.spend(10, 160, "x").unwrap();
        let error = budget.spend(10, 161, "x").unwrap_err();
        assert_eq!(
            error.expected_text(),
            "at most 160 bytes (free_ratio; raised by Limits::with_max_block_bytes)"
        );
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
    fn file_objects_keep_no_more_than_the_total() {
        let kept = Kept::new(&Limits::default().with_max_total_bytes(100), 2);
        assert!(kept.admits(60) && !kept.admits(41) && kept.admits(40) && !kept.admits(1));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri ends the program where memory runs out")]
    fn vec_that_the_machine_cannot_give_is_an_error() {
        let limits = Limits::default().with_max_block_bytes(u64::MAX).with_max_total_bytes(u64::MAX);
        let error = Budget::new(&limits).vec::<u64>(0, 1 << 59, "x").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    }
}
