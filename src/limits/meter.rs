use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use zerocopy::FromZeros;

use super::job;
use super::settings::Limits;
use crate::num::{Span, as_u64, as_usize, size_u64};
use crate::report::{Cause, Error, ErrorKind, Limit, Result};

/// The costs of a job, and their limits: the memory that it holds, and its work.
///
/// Each public call makes one of the [`Limits`] of its file, and hands it down to all of its threads. What is
/// [taken](Self::take) from it is charged before memory is allocated, and given back when the [`Charge`] is dropped, or when the call
/// ends. [Work](Self::work) is never given back.
///
/// A program that calls the library many times for one file may join the calls: what they hold and do inside of [`run`](Self::run) is
/// charged to one meter as well, with what the program itself takes from it. What calls return belongs to the caller, and is charged no
/// more.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use meshmap::{ErrorKind, Limits, MeshFile, Meter};
///
/// let file = MeshFile::open("tests/data/cgeo/valid/anim_a.cgeo")?;
/// let meter = Arc::new(Meter::new(file.limits(), file.source().len()?.unwrap_or(0)));
/// let findings = meter.run(|| file.validate())?;
/// let table = meter.take(64 << findings.len(), "table of findings")?;
/// assert_eq!(meter.held(), table.bytes());
/// drop(table);
/// assert_eq!(meter.held(), 0);
/// let error = meter.take(1 << 40, "table of findings").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::LimitExceeded);
/// # Ok::<(), meshmap::Error>(())
/// ```
pub struct Meter<'a> {
    limits: Limits,
    /// The most that a part may hold.
    cap: u64,
    held: AtomicU64,
    /// Bytes of it that are data that the file keeps, for which no cap counts.
    kept: AtomicU64,
    work: AtomicU64,
    /// Stored bytes that have been read, each range as often as it was read.
    read: AtomicU64,
    /// The end of what has been read: who reads the same bytes again and again has read no more than these.
    end: AtomicU64,
    within: Within<'a>,
}

/// The meter or job that a meter is a part of.
enum Within<'a> {
    Nothing,
    Job(Arc<Meter<'static>>),
    Meter(&'a Meter<'a>),
    /// The call is charged for the work when it uses the data that is made.
    Maker(&'a Meter<'a>),
}

impl Meter<'static> {
    /// A meter of a job on an open file of `stored` bytes. Files that [`MeshFile`](crate::MeshFile) opens within the job count besides.
    ///
    /// Inside of [`run`](Self::run) of another meter, it is a part of that job.
    #[must_use]
    pub fn new(limits: &Limits, stored: u64) -> Self {
        let meter = Self::of_call(limits);
        meter.count_file(stored);
        meter
    }

    /// A meter of what a file object of `stored` bytes keeps, for whichever job.
    pub(crate) fn of_file(limits: &Limits, stored: u64) -> Self {
        let meter = Self::within(limits, Within::Nothing);
        meter.count_file(stored);
        meter
    }

    /// Counts a file that is opened.
    pub(crate) fn count_file(&self, stored: u64) {
        add(&self.read, stored);
        add(&self.end, stored);
    }

    /// Runs a part of a job, whose calls of this library are also charged to this meter.
    ///
    /// These are calls on this thread, and what they split over other threads. Tasks that the job itself gives to other threads are
    /// not, unless they run this as well. [`cgeo::Play`](crate::cgeo::Play) and [`cgeo::SnapshotCache`](crate::cgeo::SnapshotCache)
    /// decode outside of any job.
    pub fn run<T>(self: &Arc<Self>, part: impl FnOnce() -> T) -> T {
        job::metered(Some(Arc::clone(self)), part)
    }

    /// The meter of a public call, and of the job that this thread runs.
    pub(crate) fn of_call(limits: &Limits) -> Self {
        Self::within(limits, job::meter().map_or(Within::Nothing, Within::Job))
    }

    /// The meter of a call that has read a part of the file.
    pub(crate) fn of_part(limits: &Limits, stored: &Range<u64>) -> Self {
        let meter = Self::of_call(limits);
        meter.count_read(stored);
        meter
    }
}

impl<'a> Meter<'a> {
    fn within(limits: &Limits, within: Within<'a>) -> Self {
        Self::with_cap(limits, u64::MAX, within)
    }

    fn with_cap(limits: &Limits, cap: u64, within: Within<'a>) -> Self {
        let [held, kept, work, read, end] = [const { AtomicU64::new(0) }; 5];
        Self {
            limits: *limits,
            cap,
            held,
            kept,
            work,
            read,
            end,
            within,
        }
    }

    /// A meter of a part of this job. What the part still holds when its meter is dropped, is given back.
    #[must_use]
    pub fn part(&self) -> Meter<'_> {
        self.capped(u64::MAX)
    }

    /// A meter of a part of this job, which holds at most `cap` bytes.
    pub(crate) fn capped(&self, cap: u64) -> Meter<'_> {
        Meter::with_cap(&self.limits, cap, Within::Meter(self))
    }

    /// A meter of making something for a file object to keep: see [`take_kept`](Self::take_kept).
    pub(crate) fn maker(&self) -> Meter<'_> {
        Meter::with_cap(&self.limits, u64::MAX, Within::Maker(self))
    }

    /// Charges `bytes` for memory that is about to be allocated for `what`.
    ///
    /// # Errors
    ///
    /// Returns [`LimitExceeded`](ErrorKind::LimitExceeded) if this is more than what is left, or if the job has done more work than it may.
    pub fn take(&self, bytes: u64, what: &'static str) -> Result<Charge<'_>> {
        // A job that has done too much work ends.
        self.work(0, what)?;
        self.add(bytes)
            .map_err(|meter| meter.over_total(meter.held().saturating_add(bytes), what))?;
        Ok(Charge { meter: self, bytes })
    }

    /// Counts work that is about to be done for `what`, or has just been: decoded bytes, written bytes, visited items.
    ///
    /// A job may do 2 GiB of work, or twice [`max_total_bytes`](Limits::max_total_bytes) if that is more, and 4,096 times the bytes of
    /// its file besides.
    ///
    /// # Errors
    ///
    /// Returns [`LimitExceeded`](ErrorKind::LimitExceeded) if this is more than what is left.
    pub fn work(&self, units: u64, what: &'static str) -> Result<()> {
        match &self.within {
            Within::Nothing => {}
            Within::Job(job) => job.work(units, what)?,
            Within::Meter(outer) => return outer.work(units, what),
            Within::Maker(_) => return Ok(()),
        }
        let done = add(&self.work, units);
        let allowed = self.limits.work(self.read());
        if done > allowed {
            Err(self.limits.exceeded(Limit::Work, allowed, None, what))
        } else {
            Ok(())
        }
    }

    /// Returns the bytes that are charged now.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.held.load(Relaxed)
    }

    /// Returns the work so far.
    #[must_use]
    pub fn worked(&self) -> u64 {
        self.call().work.load(Relaxed)
    }

    /// Returns the bytes that may still be charged.
    #[must_use]
    pub fn left(&self) -> u64 {
        let own = self.most().saturating_sub(self.held());
        self.outer().map_or(own, |outer| own.min(outer.left()))
    }

    /// Keeps what a part holds charged to the meter that it is a part of.
    pub fn keep(self) {
        self.held.store(0, Relaxed);
        self.kept.store(0, Relaxed);
    }

    fn outer(&self) -> Option<&Meter<'_>> {
        match &self.within {
            Within::Nothing => None,
            Within::Job(job) => Some(job),
            Within::Meter(outer) | Within::Maker(outer) => Some(outer),
        }
    }

    /// The meter that this is a part of, if it is not the one of a call or job.
    fn whole(&self) -> Option<&Meter<'_>> {
        match &self.within {
            Within::Nothing | Within::Job(_) => None,
            Within::Meter(outer) | Within::Maker(outer) => Some(outer),
        }
    }

    /// The meter of the call or job, which counts what is read.
    fn call(&self) -> &Meter<'_> {
        self.whole().map_or(self, Meter::call)
    }

    /// The most that may be held.
    fn most(&self) -> u64 {
        match self.whole() {
            Some(_) => self.cap.saturating_add(self.kept.load(Relaxed)),
            None => self.limits.total(self.read()),
        }
    }

    /// Charges bytes; fails with the meter that has not as many left.
    fn add(&self, bytes: u64) -> Result<(), &Meter<'_>> {
        let most = self.most();
        let held = |held: u64| held.checked_add(bytes).filter(|held| *held <= most);
        self.held
            .fetch_update(Relaxed, Relaxed, held)
            .map_err(|_| self)?;
        let Some(outer) = self.outer() else {
            return Ok(());
        };
        outer
            .add(bytes)
            .inspect_err(|_| subtract(&self.held, bytes))
    }

    /// Gives back bytes whose charge was [kept](Charge::keep).
    pub fn give_back(&self, bytes: u64) {
        subtract(&self.held, bytes);
        if let Some(outer) = self.outer() {
            outer.give_back(bytes);
        }
    }

    /// Charges bytes until this meter is dropped, or until they are given back, if there are as many left.
    pub(crate) fn admits(&self, bytes: u64) -> bool {
        self.try_take(bytes).map(Charge::keep).is_some()
    }

    /// Charges bytes of something that the file keeps, and the work of making it, as if this call had made it.
    pub(crate) fn take_kept(&self, bytes: u64, what: &'static str) -> Result<()> {
        self.count_kept(bytes);
        self.take(bytes, what)?.keep();
        self.work(bytes, what)
    }

    fn count_kept(&self, bytes: u64) {
        add(&self.kept, bytes);
        if let Some(outer) = self.whole() {
            outer.count_kept(bytes);
        }
    }

    fn uncount_kept(&self, bytes: u64) {
        subtract(&self.kept, bytes);
        if let Some(outer) = self.whole() {
            outer.uncount_kept(bytes);
        }
    }

    /// Charges bytes, if there are as many left.
    pub(crate) fn try_take(&self, bytes: u64) -> Option<Charge<'_>> {
        self.add(bytes).ok().map(|()| Charge { meter: self, bytes })
    }

    /// Charges `bytes` for one array or block that occupies `stored` bytes in the file.
    pub(crate) fn take_block(
        &self,
        stored: u64,
        bytes: u64,
        what: &'static str,
    ) -> Result<Charge<'_>> {
        job::check(what)?;
        if bytes > self.limits.block(stored) {
            return Err(self.over_block(stored, Some(bytes), what));
        }
        self.take(bytes, what)
    }

    /// Counts a part of the file that has been read. What is stored large may decode large.
    pub(crate) fn count_read(&self, stored: &Range<u64>) {
        let call = self.call();
        add(&call.read, stored.length());
        call.end.fetch_max(stored.end, Relaxed);
    }

    /// Returns the maximum number of distinct bytes of the file that the call has read.
    pub(crate) fn read(&self) -> u64 {
        let call = self.call();
        call.read.load(Relaxed).min(call.end.load(Relaxed))
    }

    /// Returns the maximum decoded size of a block that occupies `stored` bytes in the file.
    pub(crate) fn block(&self, stored: u64) -> u64 {
        self.limits.block(stored)
    }

    /// The error of a block of `stored` bytes whose decoded size exceeds the limit: it is `bytes` or more.
    pub(crate) fn exceeded(&self, stored: u64, bytes: u64, what: &'static str) -> Error {
        if bytes > self.limits.block(stored) {
            return self.over_block(stored, None, what);
        }
        self.limits
            .exceeded(Limit::TotalBytes, self.call().most(), None, what)
    }

    fn over_block(&self, stored: u64, needed: Option<u64>, what: &'static str) -> Error {
        self.limits
            .exceeded(Limit::BlockBytes, self.limits.block(stored), needed, what)
    }

    fn over_total(&self, needed: u64, what: &'static str) -> Error {
        self.limits
            .exceeded(Limit::TotalBytes, self.most(), Some(needed), what)
    }

    /// Returns zeroed elements for an array that occupies `stored` bytes in the file, charged until this meter is dropped. Their pages
    /// are untouched pages of the system: what is never written costs nothing.
    pub(crate) fn vec<T: FromZeros>(
        &self,
        stored: u64,
        count: u64,
        what: &'static str,
    ) -> Result<Vec<T>> {
        let bytes = count.saturating_mul(size_u64::<T>());
        self.take_block(stored, bytes, what)?.keep();
        T::new_vec_zeroed(as_usize(count)).map_err(|_| exceeded_by_machine(bytes, what))
    }

    /// Empties a vector and makes room for the given count, charged until this meter is dropped.
    pub(crate) fn reserve<T>(
        &self,
        out: &mut Vec<T>,
        stored: u64,
        count: u64,
        what: &'static str,
    ) -> Result<()> {
        let bytes = count.saturating_mul(size_u64::<T>());
        out.clear();
        self.take_block(stored, bytes, what)?.keep();
        if count > as_u64(out.capacity()) {
            *out = Vec::new();
            out.try_reserve_exact(as_usize(count))
                .map_err(|_| exceeded_by_machine(bytes, what))?;
        }
        Ok(())
    }

    /// Resizes a vector to the given count, charged until this meter is dropped. Its elements may be old ones or zero: the caller
    /// overwrites them.
    pub(crate) fn resize<T: FromZeros + Clone>(
        &self,
        out: &mut Vec<T>,
        stored: u64,
        count: u64,
        what: &'static str,
    ) -> Result<()> {
        if count <= as_u64(out.capacity()) {
            self.take_block(stored, count.saturating_mul(size_u64::<T>()), what)?
                .keep();
            out.resize(as_usize(count), T::new_zeroed());
        } else {
            // The old memory goes first, so that never both are held.
            *out = Vec::new();
            *out = self.vec(stored, count, what)?;
        }
        Ok(())
    }
}

/// Gives back what a call or a part of it still holds.
impl Drop for Meter<'_> {
    fn drop(&mut self) {
        if let Some(outer) = self.whole() {
            outer.uncount_kept(self.kept.load(Relaxed));
        }
        if let Some(outer) = self.outer() {
            outer.give_back(self.held());
        }
    }
}

impl fmt::Debug for Meter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (held, work) = (self.held(), self.work.load(Relaxed));
        f.debug_struct("Meter")
            .field("held", &held)
            .field("work", &work)
            .finish_non_exhaustive()
    }
}

/// Memory that is charged to a [`Meter`], until this is dropped.
#[must_use = "what is charged is given back when this is dropped"]
#[derive(Debug)]
pub struct Charge<'a> {
    meter: &'a Meter<'a>,
    bytes: u64,
}

impl<'a> Charge<'a> {
    pub(crate) fn nothing(meter: &'a Meter<'a>) -> Self {
        Self { meter, bytes: 0 }
    }

    /// Returns the bytes that are charged.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Keeps the bytes charged until the meter itself is dropped.
    pub fn keep(mut self) {
        self.bytes = 0;
    }

    /// Charges more, if there is as much left.
    pub(crate) fn try_grow(&mut self, bytes: u64) -> bool {
        let is_granted = self.meter.add(bytes).is_ok();
        if is_granted {
            self.bytes = self.bytes.saturating_add(bytes);
        }
        is_granted
    }

    /// Gives back all but this many bytes.
    pub(crate) fn shrink_to(&mut self, bytes: u64) {
        self.meter.give_back(self.bytes.saturating_sub(bytes));
        self.bytes = self.bytes.min(bytes);
    }
}

impl Drop for Charge<'_> {
    fn drop(&mut self) {
        self.meter.give_back(self.bytes);
    }
}

/// The error of memory that the limits allow and the machine does not have.
pub(crate) fn exceeded_by_machine(bytes: u64, what: &'static str) -> Error {
    Error::new(ErrorKind::LimitExceeded, what).because(Cause::OutOfMemory { needed: bytes })
}

/// Adds to a count, as far as it goes. Returns the sum.
fn add(count: &AtomicU64, more: u64) -> u64 {
    let sum = |count: u64| Some(count.saturating_add(more));
    count
        .fetch_update(Relaxed, Relaxed, sum)
        .unwrap_or_else(|count| count)
        .saturating_add(more)
}

/// Subtracts bytes from a count, which stays at 0 at least.
fn subtract(held: &AtomicU64, bytes: u64) {
    let _ = held.fetch_update(Relaxed, Relaxed, |held| Some(held.saturating_sub(bytes)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meters_show_what_they_hold() {
        let meter = Meter::of_call(&Limits::default());
        let _charge = meter.take(64, "x").unwrap();
        assert_eq!(format!("{meter:?}"), "Meter { held: 64, work: 0, .. }");
    }

    #[test]
    fn room_is_charged_and_memory_that_suffices_stays() {
        let meter = Meter::of_call(&Limits::default().with_max_block_bytes(64));
        let mut out = vec![1_u32];
        meter.reserve(&mut out, 0, 16, "x").unwrap();
        assert!(out.is_empty() && out.capacity() >= 16);
        assert_eq!(meter.held(), 64);
        let place = out.as_ptr();
        meter.reserve(&mut out, 0, 4, "x").unwrap();
        assert_eq!((out.as_ptr(), meter.held()), (place, 80));
        assert_eq!(
            meter.reserve(&mut out, 0, 17, "x").unwrap_err().kind(),
            ErrorKind::LimitExceeded
        );
    }

    #[test]
    fn vec_refuses_what_is_over_the_limit_and_what_overflows() {
        let meter = Meter::of_call(&Limits::default().with_max_block_bytes(64));
        assert_eq!(meter.vec::<u32>(0, 16, "x").unwrap(), [0; 16]);
        for count in [17, u64::MAX / 4, u64::MAX] {
            let error = meter.vec::<u32>(0, count, "x").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::LimitExceeded);
            let expected =
                "above the limit of 64 bytes; raise it with Limits::with_max_block_bytes";
            assert!(error.to_string().ends_with(expected), "{error}");
        }
    }

    #[test]
    fn blocks_together_are_at_most_the_total() {
        let meter = Meter::of_call(&Limits::default().with_max_total_bytes(100));
        let mut first = meter.take_block(0, 60, "x").unwrap();
        let error = meter.take_block(0, 60, "x").unwrap_err();
        let expected = "x needs 120 bytes, above the limit of 100 bytes; raise it with Limits::with_max_total_bytes";
        assert_eq!(error.to_string(), expected);
        assert_eq!(meter.left(), 40);
        meter.take(30, "x").unwrap().keep();
        assert!(meter.try_take(11).is_none() && !first.try_grow(11) && first.try_grow(10));
        first.shrink_to(50);
        assert_eq!((first.bytes(), meter.held()), (50, 80));
        drop(first);
        assert_eq!((meter.held(), meter.left()), (30, 70));
    }

    #[test]
    fn errors_name_the_limit_that_is_exceeded() {
        let meter = Meter::of_call(
            &Limits::default()
                .with_max_block_bytes(64)
                .with_max_total_bytes(32),
        );
        for (bytes, limit) in [(64, "max_total_bytes"), (65, "max_block_bytes")] {
            let error = meter.exceeded(0, bytes, "x");
            assert!(error.to_string().contains(limit), "{error}");
        }
    }

    #[test]
    fn parts_give_back_what_they_do_not_keep_and_hold_no_more_than_their_cap() {
        let meter = Meter::of_call(&Limits::default().with_max_total_bytes(100));
        let part = meter.capped(50);
        part.take(40, "x").unwrap().keep();
        meter.take(30, "x").unwrap().keep();
        assert_eq!(
            (part.held(), part.left(), meter.held(), meter.left()),
            (40, 10, 70, 30)
        );
        assert!(part.try_take(11).is_none() && part.try_take(10).is_some());
        meter.take(25, "x").unwrap().keep();
        assert_eq!(part.left(), 5);
        let inner = part.part();
        assert!(inner.try_take(6).is_none());
        inner.take(5, "x").unwrap().keep();
        inner.keep();
        assert_eq!((part.held(), meter.left()), (45, 0));
        drop(part);
        assert_eq!((meter.held(), meter.left()), (55, 45));
    }

    #[test]
    fn what_a_file_keeps_counts_for_the_call_and_against_no_cap() {
        let meter = Meter::of_call(&Limits::default().with_max_total_bytes(100));
        let capped = meter.capped(20);
        let attempt = capped.part();
        attempt.take_kept(60, "x").unwrap();
        attempt.take(20, "x").unwrap().keep();
        assert!(attempt.try_take(1).is_none() && meter.left() == 20);
        drop(attempt);
        assert_eq!((capped.left(), meter.left()), (20, 100));
        assert!(capped.take_kept(101, "x").is_err());
    }

    #[test]
    fn what_is_stored_large_may_decode_large() {
        let limits = Limits::default()
            .with_max_block_bytes(10)
            .with_max_total_bytes(20);
        let meter = Meter::of_part(&limits, &(100..110));
        assert_eq!(
            (
                meter.block(10),
                meter.block(1),
                meter.block(0),
                meter.left()
            ),
            (160, 16, 10, 160)
        );
        drop(meter.take_block(10, 160, "x").unwrap());
        let error = meter.take_block(10, 161, "x").unwrap_err();
        let cause = |limit, remedy| {
            let needed = Some(161);
            Cause::Limit {
                limit,
                allowed: 160,
                needed,
                count: None,
                remedy,
            }
        };
        assert_eq!(
            *error.cause(),
            cause(Limit::BlockBytes, "Limits::with_max_block_bytes")
        );
        let error = meter.part().take(161, "x").unwrap_err();
        assert_eq!(
            *error.cause(),
            cause(Limit::TotalBytes, "Limits::with_max_total_bytes")
        );
        let strict = Meter::of_part(&limits.with_free_ratio(0), &(100..110));
        assert_eq!((strict.block(10), strict.left()), (10, 20));
    }

    #[test]
    fn reading_the_same_bytes_again_allows_no_more() {
        let meter = Meter::of_call(&Limits::default().with_max_total_bytes(0));
        (0..100).for_each(|_| meter.part().count_read(&(5..15)));
        assert_eq!(meter.left(), 15 * 16);
    }

    #[test]
    fn calls_within_a_job_are_charged_to_it_and_work_is_not_given_back() {
        let limits = Limits::default().with_max_total_bytes(100);
        let job = Arc::new(Meter::new(&limits, 10));
        job.run(|| {
            let call = Meter::of_call(&limits);
            call.take(60, "x").unwrap().keep();
            call.work(2 << 30, "x").unwrap();
            assert_eq!((job.held(), call.held()), (160 - job.left(), 60));
            let other = Meter::of_call(&limits);
            assert_eq!(other.left(), 100);
            other.take(100, "x").unwrap().keep();
            assert!(call.try_take(1).is_none() && call.left() == 0);
            job::unmetered(|| assert_eq!(Meter::of_call(&limits).left(), 100));
        });
        assert_eq!(job.held(), 0);
        job.work(10 * 4096, "x").unwrap();
        let error = job.work(1, "x").unwrap_err();
        let expected = "x exceeds the limit of 2 GiB of decoding and other work; \
                        raise it with Limits::with_max_total_bytes";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn counts_do_not_begin_again_at_zero() {
        let meter = Meter::new(&Limits::default(), u64::MAX);
        meter.count_file(10);
        assert_eq!(meter.left(), u64::MAX);
        let small = Meter::new(&Limits::default(), 0);
        for _ in 0..2 {
            assert!(small.work(u64::MAX, "x").is_err());
        }
        assert_eq!(small.worked(), u64::MAX);
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri ends the program where memory runs out")]
    fn vec_that_the_machine_cannot_give_is_an_error() {
        let limits = Limits::default()
            .with_max_block_bytes(u64::MAX)
            .with_max_total_bytes(u64::MAX);
        let error = Meter::of_call(&limits)
            .vec::<u64>(0, 1 << 59, "x")
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    }
}
