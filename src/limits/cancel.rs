use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::report::{Error, ErrorKind, Result};

thread_local! {
    static CURRENT: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
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
    let _outer = Outer::replace(Some(Arc::clone(cancel)));
    job()
}

/// Restores the outer flag, also after a panic.
struct Outer(Option<Arc<AtomicBool>>);

impl Outer {
    fn replace(flag: Option<Arc<AtomicBool>>) -> Self {
        Self(CURRENT.replace(flag))
    }
}

impl Drop for Outer {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// The flag of a job, for the tasks that it gives to other threads.
#[cfg(feature = "rayon")]
pub(crate) struct Job(Option<Arc<AtomicBool>>);

#[cfg(feature = "rayon")]
impl Job {
    /// Runs a task of this job.
    pub(crate) fn task<T>(&self, task: impl FnOnce() -> T) -> T {
        let _outer = Outer::replace(self.0.clone());
        task()
    }
}

/// Runs work that waits for threads of a pool.
///
/// The calling thread may be one of them, and run tasks of other jobs while it waits: these do not see its flag. [`Job::task`]
/// gives the flag to tasks of the work.
#[cfg(feature = "rayon")]
pub(crate) fn in_pool<T>(work: impl FnOnce(&Job) -> T) -> T {
    let job = Job(current());
    let _outer = Outer::replace(None);
    work(&job)
}

/// The flag of the job that this thread runs, for its scratches.
pub(crate) fn current() -> Option<Arc<AtomicBool>> {
    CURRENT.with_borrow(Clone::clone)
}

/// Fails if the job that this thread runs is cancelled. For loops over values, each time after some thousands.
pub(crate) fn check(what: &'static str) -> Result<()> {
    let is_set = CURRENT.with_borrow(|flag| flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)));
    if is_set { Err(Error::new(ErrorKind::Cancelled, what)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_flag_counts_and_a_panic_restores_the_outer_one() {
        let [set, clear] = [true, false].map(|is_set| Arc::new(AtomicBool::new(is_set)));
        assert!(check("x").is_ok() && current().is_none());
        cancellable(&set, || {
            assert_eq!(check("x").unwrap_err().kind(), ErrorKind::Cancelled);
            assert!(cancellable(&clear, || check("x")).is_ok());
            let panic = std::panic::catch_unwind(|| cancellable(&clear, || panic!("of the test")));
            assert!(panic.is_err() && check("x").is_err());
        });
        assert!(check("x").is_ok() && current().is_none());
    }

    #[test]
    #[cfg(feature = "rayon")]
    fn tasks_have_the_flag_of_their_own_job_on_whichever_thread_they_run() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let set = Arc::new(AtomicBool::new(true));
        pool.install(|| {
            cancellable(&set, || {
                // Another job's task may run on this thread while it waits.
                let (own, other) =
                    in_pool(|job| rayon::join(|| job.task(|| check("x").is_err()), || check("x").is_ok()));
                assert!(own && other && check("x").is_err());
            });
        });
    }
}
