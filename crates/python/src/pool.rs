//! Threads of this process: a forked child has none of its parent's, so each process makes its own.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3::exceptions::PyOSError;
use pyo3::marker::Ungil;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

struct Pool {
    process: u32,
    threads: ThreadPool,
}

/// Null, or a pool that lives until the process ends.
static POOL: AtomicPtr<Pool> = AtomicPtr::new(ptr::null_mut());

/// The pool of this process.
///
/// That of a parent is known by its process and left alone: its threads are not here, and whoever waits for one of them
/// waits for ever. There is no lock that a thread could hold while another one forks.
fn pool() -> PyResult<&'static ThreadPool> {
    let known = POOL.load(Ordering::Acquire);
    let process = std::process::id();
    // SAFETY: a pointer that is not null is that of a leaked box, which nobody frees or changes.
    #[allow(unsafe_code, reason = "a lock could be held by another thread while the process is forked")]
    if let Some(pool) = unsafe { known.as_ref() }
        && pool.process == process
    {
        return Ok(&pool.threads);
    }
    let threads = ThreadPoolBuilder::new()
        .thread_name(|index| format!("meshmap-{index}"))
        .build()
        .map_err(|error| PyOSError::new_err(format!("meshmap cannot start threads: {error}")))?;
    let made: &'static Pool = Box::leak(Box::new(Pool { process, threads }));
    // Where two threads make one at the same time, the later one stays; the work of the other one ends in its own.
    POOL.store(ptr::from_ref(made).cast_mut(), Ordering::Release);
    Ok(&made.threads)
}

/// Runs `work` without the interpreter's lock; if it is large, in the pool.
pub(crate) fn detached<T: Ungil + Send>(
    py: Python<'_>,
    is_large: bool,
    work: impl FnOnce() -> T + Ungil + Send,
) -> PyResult<T> {
    if !is_large {
        return Ok(py.detach(work));
    }
    let pool = pool()?;
    Ok(py.detach(|| pool.install(work)))
}
