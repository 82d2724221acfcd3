//! Threads of this process: a forked child has none of its parent's, so each process makes its own.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use pyo3::exceptions::PyOSError;
use pyo3::marker::Ungil;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

struct Pool {
    process: u32,
    threads: ThreadPool,
}

/// The threads of a pool that is made later; 0 for one for each core of the machine.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Sets the number of threads, for a worker that has not all cores of its machine. `MESHMAP_THREADS` in the environment precedes it. Without
/// effect once the process has worked on large files.
#[pyfunction]
pub(crate) fn use_threads(count: usize) {
    THREADS.store(count, Ordering::Relaxed);
}

/// The number of threads; 0 for one for each core.
fn threads() -> PyResult<usize> {
    let Some(text) = std::env::var_os("MESHMAP_THREADS").filter(|text| !text.is_empty()) else {
        return Ok(THREADS.load(Ordering::Relaxed));
    };
    text.to_str()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| {
            let found = text.display();
            PyOSError::new_err(format!(
                "MESHMAP_THREADS is {found}: expected a number of threads, such as 4"
            ))
        })
}

/// Null, or a pool that lives until the process ends.
static POOL: AtomicPtr<Pool> = AtomicPtr::new(ptr::null_mut());

/// The pool of this process.
///
/// A forked child recognizes its parent's pool by the process ID and does not use it: the threads are not in the child, so a
/// call would wait for them for ever. No lock is used, because another thread could hold it during the fork.
fn pool() -> PyResult<&'static ThreadPool> {
    let known = POOL.load(Ordering::Acquire);
    let process = std::process::id();
    #[allow(
        unsafe_code,
        reason = "a lock could be held by another thread while the process is forked"
    )]
    // SAFETY: a pointer that is not null points to a leaked box, which is never freed or changed.
    if let Some(pool) = unsafe { known.as_ref() }
        && pool.process == process
    {
        return Ok(&pool.threads);
    }
    let threads = ThreadPoolBuilder::new()
        .num_threads(threads()?)
        .thread_name(|index| format!("meshmap-{index}"))
        .build()
        .map_err(|error| PyOSError::new_err(format!("meshmap cannot start threads: {error}")))?;
    let made: &'static Pool = Box::leak(Box::new(Pool { process, threads }));
    // If two threads make a pool at the same time, the later pool stays; work in the other pool ends there.
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

/// Returns memory that was freed to the system. The allocator of glibc otherwise retains what the threads of the pool have used for
/// large meshes.
pub(crate) fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        #[allow(unsafe_code, reason = "a function of glibc")]
        unsafe extern "C" {
            safe fn malloc_trim(pad: usize) -> std::ffi::c_int;
        }
        malloc_trim(0);
    }
}
