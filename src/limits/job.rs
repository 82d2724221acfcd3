//! The job that a thread runs: what cancels it, and the meter that its calls are charged to.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::meter::{Meter, Outer};
use super::settings::Limits;
use crate::report::{Error, ErrorKind, Result};

thread_local! {
    static CURRENT: RefCell<Job> = const { RefCell::new(Job { cancel: None, meter: None }) };
}

/// The job that a thread runs: what cancels it, and what it is charged to.
#[derive(Clone)]
pub(crate) struct Job {
    cancel: Option<Arc<AtomicBool>>,
    meter: Option<Arc<Meter<'static>>>,
}

/// Runs a job, whose calls of this library end early after a flag is set.
///
/// Every call that the job makes on this thread, and the work that the call splits over other threads, then fails with
/// [`Cancelled`](ErrorKind::Cancelled) within milliseconds. A call does not end early while a reader is waited for, or while
/// another thread makes what the call needs. Jobs may be nested: the innermost flag counts. Tasks that the job itself gives to other
/// threads have no flag, unless they are cancellable jobs.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// use meshmap::{ErrorKind, MeshFile};
///
/// let file = MeshFile::open("tests/data/cgeo/valid/anim_a.cgeo")?;
/// let cancel = Arc::new(AtomicBool::new(false));
/// assert!(meshmap::cancellable(&cancel, || file.validate()).is_ok());
/// // Usually set by another thread.
/// cancel.store(true, Ordering::Relaxed);
/// let error = meshmap::cancellable(&cancel, || file.validate()).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Cancelled);
/// # Ok::<(), meshmap::Error>(())
/// ```
pub fn cancellable<T>(cancel: &Arc<AtomicBool>, job: impl FnOnce() -> T) -> T {
    Job {
        cancel: Some(Arc::clone(cancel)),
        ..current()
    }
    .task(job)
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

    /// Runs a part of a job, whose calls of this library are also charged to this meter.
    ///
    /// These are calls on this thread, and what they split over other threads. Tasks that the job itself gives to other threads are
    /// not, unless they run this as well. [`cgeo::Play`](crate::cgeo::Play) and [`cgeo::SnapshotCache`](crate::cgeo::SnapshotCache)
    /// decode outside of any job.
    pub fn run<T>(self: &Arc<Self>, part: impl FnOnce() -> T) -> T {
        metered(Some(Arc::clone(self)), part)
    }

    /// The meter of the job that this thread runs, if [`run`](Self::run) runs one. For readers, which hand it to the threads that make
    /// their requests.
    #[must_use]
    pub fn current() -> Option<Arc<Self>> {
        meter()
    }

    /// The meter of a public call, and of the job that this thread runs.
    pub(crate) fn of_call(limits: &Limits) -> Self {
        let outer = match meter() {
            Some(job) => Outer::Job(job),
            None => Outer::None,
        };
        Self::within(limits, outer)
    }

    /// The meter of a call that has read a part of the file.
    pub(crate) fn of_part(limits: &Limits, stored: &Range<u64>) -> Self {
        let meter = Self::of_call(limits);
        meter.count_read(stored);
        meter
    }

    /// A meter of what an object of a file of `stored` bytes keeps, such as the bytes that were fetched of it. It is not a part of the
    /// job that this thread runs, because the object may last longer.
    #[must_use]
    pub fn of_file(limits: &Limits, stored: u64) -> Self {
        let meter = Self::within(limits, Outer::None);
        meter.count_file(stored);
        meter
    }
}

/// Runs a part of a job that is charged to this meter; with `None`, only to the meters of its calls.
fn metered<T>(meter: Option<Arc<Meter<'static>>>, part: impl FnOnce() -> T) -> T {
    Job { meter, ..current() }.task(part)
}

/// Runs what many jobs have in common, or what is done before a job asks for it: it is charged to none of them.
pub(crate) fn unmetered<T>(part: impl FnOnce() -> T) -> T {
    if meter().is_none() {
        return part();
    }
    metered(None, part)
}

impl Job {
    /// Runs a task of this job.
    pub(crate) fn task<T>(&self, task: impl FnOnce() -> T) -> T {
        let _outer = OuterJob(CURRENT.replace(self.clone()));
        task()
    }
}

/// Restores the outer job, also after a panic.
struct OuterJob(Job);

impl Drop for OuterJob {
    fn drop(&mut self) {
        CURRENT.with_borrow_mut(|current| std::mem::swap(current, &mut self.0));
    }
}

/// Runs work that waits for threads of a pool.
///
/// The calling thread may be one of them, and run tasks of other jobs while it waits: these are not a part of its job. [`Job::task`]
/// makes tasks of the work a part of it.
#[cfg(feature = "rayon")]
pub(crate) fn in_pool<T>(work: impl FnOnce(&Job) -> T) -> T {
    let none = Job {
        cancel: None,
        meter: None,
    };
    let job = current();
    none.task(|| work(&job))
}

fn current() -> Job {
    CURRENT.with_borrow(Clone::clone)
}

/// The flag that cancels the job that this thread runs.
pub(crate) fn cancel_flag() -> Option<Arc<AtomicBool>> {
    CURRENT.with_borrow(|job| job.cancel.clone())
}

/// The meter of the job that this thread runs.
pub(crate) fn meter() -> Option<Arc<Meter<'static>>> {
    CURRENT.with_borrow(|job| job.meter.clone())
}

/// Counts an item of a list that a job goes through. Each costs its caller some microseconds.
pub(crate) fn visit(what: &'static str) -> Result<()> {
    const OF_ITEM: u64 = 2048;
    work(OF_ITEM, what)
}

/// Counts work of the job that this thread runs, if it runs one. For code that has no [`Meter`] because a single call of it is cheap.
pub(crate) fn work(units: u64, what: &'static str) -> Result<()> {
    match meter() {
        Some(meter) => meter.work(units, what),
        None => Ok(()),
    }
}

/// Fails if the job that this thread runs is cancelled. For loops over values, each time after some thousands.
pub(crate) fn check(what: &'static str) -> Result<()> {
    let is_cancelled = CURRENT.with_borrow(|job| match &job.cancel {
        Some(flag) => flag.load(Ordering::Relaxed),
        None => false,
    });
    if is_cancelled {
        return Err(Error::new(ErrorKind::Cancelled, what));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    #[test]
    fn items_that_a_job_visits_are_work_of_its_meter() {
        assert!(visit("x").is_ok() && Meter::current().is_none());
        let meter = Arc::new(Meter::new(&Limits::default(), 0));
        let current = meter.run(Meter::current).unwrap();
        assert!(Arc::ptr_eq(&current, &meter));
        // The memory of a file object is not a part of the job.
        let of_file = meter.run(|| Meter::of_file(&Limits::default(), 0));
        of_file.take(7, "x").unwrap().keep();
        assert_eq!((of_file.held(), meter.held()), (7, 0));
        assert!(metered(Some(Arc::clone(&meter)), || visit("x")).is_ok());
        assert!(meter.worked() > 0);
        meter.work(u64::MAX, "y").unwrap_err();
        let error = metered(Some(meter), || visit("x")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    }

    #[test]
    fn the_innermost_flag_counts_and_a_panic_restores_the_outer_one() {
        let [set, clear] = [true, false].map(|is_set| Arc::new(AtomicBool::new(is_set)));
        assert!(check("x").is_ok() && cancel_flag().is_none());
        cancellable(&set, || {
            assert!(cancel_flag().is_some_and(|flag| Arc::ptr_eq(&flag, &set)));
            assert_eq!(check("x").unwrap_err().kind(), ErrorKind::Cancelled);
            assert!(cancellable(&clear, || check("x")).is_ok());
            let panic = std::panic::catch_unwind(|| cancellable(&clear, || panic!("of the test")));
            assert!(panic.is_err() && check("x").is_err());
        });
        assert!(check("x").is_ok() && cancel_flag().is_none());
    }

    #[test]
    #[cfg(feature = "rayon")]
    fn tasks_have_the_flag_of_their_own_job_on_whichever_thread_they_run() {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(2)
            .build()
            .unwrap();
        let set = Arc::new(AtomicBool::new(true));
        pool.install(|| {
            cancellable(&set, || {
                // Another job's task may run on this thread while it waits.
                let (own, other) = in_pool(|job| {
                    rayon::join(|| job.task(|| check("x").is_err()), || check("x").is_ok())
                });
                assert!(own && other && check("x").is_err());
            });
        });
    }
}
