//! The accounting of memory and work. Knows no threads: `job` connects meters with the job that a thread runs, and `memory` allocates.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::settings::Limits;
use crate::num::Span;
use crate::report::{Error, Limit, Result};

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
    /// The maximum number of bytes that a part may hold, without data that the file keeps.
    cap: u64,
    held: AtomicU64,
    /// Bytes of `held` that are data which the file keeps.
    kept_by_file: AtomicU64,
    work: AtomicU64,
    /// Stored bytes that have been read, each range as often as it was read.
    read: AtomicU64,
    /// The end of what has been read: a call that reads the same bytes again and again has read no more than these.
    end: AtomicU64,
    outer: Outer<'a>,
}

/// The meter that a meter is a part of.
pub(super) enum Outer<'a> {
    None,
    /// The job that a call is made in, which has separate limits.
    Job(Arc<Meter<'static>>),
    /// The call that a part belongs to.
    Call(&'a Meter<'a>),
    /// The call for which data is made that the file keeps. The call counts the work when it uses the data.
    Maker(&'a Meter<'a>),
}

impl<'a> Meter<'a> {
    pub(super) fn within(limits: &Limits, outer: Outer<'a>) -> Self {
        Self {
            limits: *limits,
            cap: u64::MAX,
            held: AtomicU64::new(0),
            kept_by_file: AtomicU64::new(0),
            work: AtomicU64::new(0),
            read: AtomicU64::new(0),
            end: AtomicU64::new(0),
            outer,
        }
    }

    /// Returns a meter for one part of this job. When it is dropped, the memory that the part still holds is given back to the job,
    /// unless the part was [committed](Self::commit).
    #[must_use]
    pub fn part(&self) -> Meter<'_> {
        Meter::within(&self.limits, Outer::Call(self))
    }

    /// A meter of a part of this job that holds at most `cap` bytes, without data that the file keeps.
    pub(crate) fn part_of_at_most(&self, cap: u64) -> Meter<'_> {
        let mut part = self.part();
        part.cap = cap;
        part
    }

    /// A meter of making data that the file keeps: see [`take_kept`](Self::take_kept).
    pub(crate) fn part_for_file(&self) -> Meter<'_> {
        Meter::within(&self.limits, Outer::Maker(self))
    }

    /// Ends a part that has succeeded: its memory stays charged to the meter that it is a part of.
    pub fn commit(self) {
        self.held.store(0, Relaxed);
        self.kept_by_file.store(0, Relaxed);
    }

    /// Charges `bytes` for memory that is about to be allocated for `what`.
    ///
    /// # Errors
    ///
    /// Returns [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if this is more than what is left, or if the job has done more work than
    /// it may.
    pub fn take(&self, bytes: u64, what: &'static str) -> Result<Charge<'_>> {
        let mut charge = Charge::nothing(self);
        charge.grow(bytes, what)?;
        Ok(charge)
    }

    /// Charges bytes of data that the file keeps, and the work of making it, as if this call had made it: no verdict depends on earlier
    /// calls.
    pub(crate) fn take_kept(&self, bytes: u64, what: &'static str) -> Result<()> {
        self.count_kept(bytes);
        self.take(bytes, what)?.keep();
        self.work(bytes, what)
    }

    /// Counts work that is about to be done for `what`, or has just been: decoded bytes, written bytes, visited items.
    ///
    /// A job may do 2 GiB of work, or twice [`max_total_bytes`](Limits::max_total_bytes) if that is more, and 4,096 times the bytes of
    /// its file besides.
    ///
    /// # Errors
    ///
    /// Returns [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if this is more than what is left.
    pub fn work(&self, units: u64, what: &'static str) -> Result<()> {
        match &self.outer {
            Outer::None => {}
            Outer::Job(job) => job.work(units, what)?,
            Outer::Call(call) => return call.work(units, what),
            Outer::Maker(_) => return Ok(()),
        }
        let done = add(&self.work, units);
        let allowed = self.limits.work(self.read());
        if done > allowed {
            return Err(self.limits.exceeded(Limit::Work, allowed, None, what));
        }
        Ok(())
    }

    /// Returns the bytes that may still be charged.
    #[must_use]
    pub fn left(&self) -> u64 {
        let own = self.allowed().saturating_sub(self.held());
        match self.outer() {
            Some(outer) => own.min(outer.left()),
            None => own,
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

    /// Counts a part of the file that has been read. Data that is stored large may decode large.
    pub(crate) fn count_read(&self, stored: &Range<u64>) {
        let call = self.call();
        add(&call.read, stored.length());
        call.end.fetch_max(stored.end, Relaxed);
    }

    /// Counts a file that is opened.
    pub(crate) fn count_file(&self, stored: u64) {
        add(&self.read, stored);
        add(&self.end, stored);
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

    /// Checks the size of a block that occupies `stored` bytes in the file.
    pub(super) fn check_block(&self, stored: u64, bytes: u64, what: &'static str) -> Result<()> {
        if bytes > self.block(stored) {
            return Err(self.over_block(stored, Some(bytes), what));
        }
        Ok(())
    }

    /// The error of a block of `stored` bytes whose decoded size exceeds a limit: it is `bytes` or more.
    pub(crate) fn exceeded(&self, stored: u64, bytes: u64, what: &'static str) -> Error {
        if bytes > self.block(stored) {
            return self.over_block(stored, None, what);
        }
        let allowed = self.call().allowed();
        self.limits.exceeded(Limit::TotalBytes, allowed, None, what)
    }

    fn over_block(&self, stored: u64, needed: Option<u64>, what: &'static str) -> Error {
        let allowed = self.block(stored);
        self.limits
            .exceeded(Limit::BlockBytes, allowed, needed, what)
    }

    /// The error of `bytes` more than are allowed.
    fn over_total(&self, bytes: u64, what: &'static str) -> Error {
        let needed = self.held().saturating_add(bytes);
        self.limits
            .exceeded(Limit::TotalBytes, self.allowed(), Some(needed), what)
    }

    /// The meter that this one also charges.
    fn outer(&self) -> Option<&Meter<'_>> {
        match &self.outer {
            Outer::None => None,
            Outer::Job(job) => Some(job),
            Outer::Call(call) | Outer::Maker(call) => Some(call),
        }
    }

    /// The meter that this is a part of; `None` for the meter of a call or job.
    fn whole(&self) -> Option<&Meter<'_>> {
        match &self.outer {
            Outer::None | Outer::Job(_) => None,
            Outer::Call(call) | Outer::Maker(call) => Some(call),
        }
    }

    /// The meter of the call or job, which counts what is read.
    fn call(&self) -> &Meter<'_> {
        match self.whole() {
            Some(whole) => whole.call(),
            None => self,
        }
    }

    /// The maximum number of bytes that may be held.
    fn allowed(&self) -> u64 {
        match self.whole() {
            Some(_) => self.cap.saturating_add(self.kept_by_file.load(Relaxed)),
            None => self.limits.total(self.read()),
        }
    }

    /// Charges bytes to this meter and to those around it, or to none of them: fails with the meter that has not as many left.
    fn add(&self, bytes: u64) -> Result<(), &Meter<'_>> {
        let allowed = self.allowed();
        let added = self.held.fetch_update(Relaxed, Relaxed, |held| {
            let sum = held.checked_add(bytes)?;
            (sum <= allowed).then_some(sum)
        });
        if added.is_err() {
            return Err(self);
        }
        let Some(outer) = self.outer() else {
            return Ok(());
        };
        let result = outer.add(bytes);
        if result.is_err() {
            subtract(&self.held, bytes);
        }
        result
    }

    /// Gives bytes back, also to the meters around this one.
    fn give_back(&self, bytes: u64) {
        subtract(&self.held, bytes);
        if let Some(outer) = self.outer() {
            outer.give_back(bytes);
        }
    }

    fn count_kept(&self, bytes: u64) {
        add(&self.kept_by_file, bytes);
        if let Some(whole) = self.whole() {
            whole.count_kept(bytes);
        }
    }

    fn uncount_kept(&self, bytes: u64) {
        subtract(&self.kept_by_file, bytes);
        if let Some(whole) = self.whole() {
            whole.uncount_kept(bytes);
        }
    }
}

/// Gives back what a call or a part of it still holds.
impl Drop for Meter<'_> {
    fn drop(&mut self) {
        if let Some(whole) = self.whole() {
            whole.uncount_kept(self.kept_by_file.load(Relaxed));
        }
        if let Some(outer) = self.outer() {
            outer.give_back(self.held());
        }
    }
}

impl fmt::Debug for Meter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter")
            .field("held", &self.held())
            .field("work", &self.work.load(Relaxed))
            .finish_non_exhaustive()
    }
}

/// Memory that is charged to a [`Meter`]. Store it next to that memory: dropping it gives the bytes back to the meter.
#[must_use = "what is charged is given back when this is dropped"]
#[derive(Debug)]
pub struct Charge<'a> {
    meter: Charged<'a>,
    bytes: u64,
}

/// The meter of a charge.
#[derive(Debug)]
enum Charged<'a> {
    Borrowed(&'a Meter<'a>),
    Shared(Arc<Meter<'static>>),
}

impl Charge<'static> {
    /// Makes an empty charge that keeps its meter alive, for owners of memory that cannot borrow the meter. It is filled by
    /// [`grow`](Self::grow).
    pub fn shared(meter: &Arc<Meter<'static>>) -> Self {
        Self {
            meter: Charged::Shared(Arc::clone(meter)),
            bytes: 0,
        }
    }
}

impl<'a> Charge<'a> {
    /// An empty charge.
    pub(crate) fn nothing(meter: &'a Meter<'a>) -> Self {
        Self {
            meter: Charged::Borrowed(meter),
            bytes: 0,
        }
    }

    fn meter(&self) -> &Meter<'_> {
        match &self.meter {
            Charged::Borrowed(meter) => meter,
            Charged::Shared(meter) => meter,
        }
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

    /// Charges `bytes` more.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Meter::take`], and charges nothing more.
    pub fn grow(&mut self, bytes: u64, what: &'static str) -> Result<()> {
        let meter = self.meter();
        // A job that has done too much work ends.
        meter.work(0, what)?;
        meter
            .add(bytes)
            .map_err(|refused| refused.over_total(bytes, what))?;
        self.bytes = self.bytes.saturating_add(bytes);
        Ok(())
    }

    /// Charges `bytes` more, if there is as much left; returns `true` if there was.
    pub(crate) fn try_grow(&mut self, bytes: u64) -> bool {
        let is_granted = self.meter().add(bytes).is_ok();
        if is_granted {
            self.bytes = self.bytes.saturating_add(bytes);
        }
        is_granted
    }

    /// Gives back all but `bytes` bytes.
    pub fn shrink_to(&mut self, bytes: u64) {
        let rest = self.bytes.saturating_sub(bytes);
        self.meter().give_back(rest);
        self.bytes = self.bytes.min(bytes);
    }
}

impl Drop for Charge<'_> {
    fn drop(&mut self) {
        self.meter().give_back(self.bytes);
    }
}

/// Adds to a count, which stays at its maximum instead of overflowing. Returns the sum.
fn add(count: &AtomicU64, more: u64) -> u64 {
    let before = count.fetch_update(Relaxed, Relaxed, |count| Some(count.saturating_add(more)));
    // The update never fails.
    before.unwrap_or_else(|count| count).saturating_add(more)
}

/// Subtracts bytes from a count, which stays at 0 at least.
fn subtract(held: &AtomicU64, bytes: u64) {
    let _ = held.fetch_update(Relaxed, Relaxed, |held| Some(held.saturating_sub(bytes)));
}
