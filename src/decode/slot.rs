#[cfg(any(feature = "cache", feature = "rayon"))]
use std::sync::{Condvar, MutexGuard};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::bytes::{Source, is_rayon_worker};
use crate::report::{ErrorKind, Result};

/// A value that is made once, by the first caller, while others wait for it.
///
/// Code that makes the value reads nothing, runs no code of a caller, and does not wait for rayon: what is needed is read before.
/// So a thread which waits is never one that is waited for.
pub(crate) struct Slot<T> {
    value: OnceLock<T>,
    making: Mutex<()>,
}

impl<T: Clone> Slot<T> {
    pub(crate) fn get(&self) -> Option<&T> {
        self.value.get()
    }

    /// The value. It is made unless it is there, and kept if `keep` says so. A failure to make it is not kept: the next caller tries
    /// again. A failure that is to be kept is a part of the value: `Slot<Result<T>>`.
    pub(crate) fn get_or_try_make(
        &self,
        make: impl FnOnce() -> Result<T>,
        keep: impl FnOnce(&T) -> bool,
    ) -> Result<T> {
        if let Some(value) = self.value.get() {
            return Ok(value.clone());
        }
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = self.value.get() {
            return Ok(value.clone());
        }
        let value = make()?;
        Ok(if keep(&value) { self.value.get_or_init(|| value).clone() } else { value })
    }

    /// A value that was made elsewhere, unless there is one.
    #[cfg(feature = "rayon")]
    pub(crate) fn get_or_set(&self, value: T) -> &T {
        self.value.get_or_init(|| value)
    }
}

/// A result that may be kept. What may be different for the next caller is an error instead: a failure to read, a cancelled job, and
/// a limit, which also depends on what else a call holds.
pub(crate) fn lasting<T>(made: Result<T>) -> Result<Result<T>> {
    match made {
        Err(error) if error.is_of_reading() || error.kind() == ErrorKind::LimitExceeded => Err(error),
        made => Ok(made),
    }
}

/// Returns `true` if this thread may wait for another one that reads from a source.
pub(crate) fn may_wait_for(source: &Source) -> bool {
    !(is_rayon_worker() && source.has_own_reader())
}

/// Runs another job of this worker's pool, or waits for a moment if there is none.
#[cfg(any(feature = "cache", feature = "rayon"))]
pub(crate) fn wait_at_work<'a, T>(state: &'a Mutex<T>, changed: &Condvar) -> MutexGuard<'a, T> {
    /// Interval at which the pool is checked for work.
    const PAUSE: std::time::Duration = std::time::Duration::from_micros(100);
    #[cfg(feature = "rayon")]
    let has_worked = crate::limits::cancel::in_pool(|_| rayon::yield_now()) == Some(rayon::Yield::Executed);
    #[cfg(not(feature = "rayon"))]
    let has_worked = false;
    let state = state.lock().unwrap_or_else(PoisonError::into_inner);
    if has_worked {
        state
    } else {
        changed.wait_timeout(state, PAUSE).unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Clones the value, without the state of a thread that is making one.
impl<T: Clone> Clone for Slot<T> {
    fn clone(&self) -> Self {
        Self { value: self.value.clone(), making: Mutex::new(()) }
    }
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self { value: OnceLock::new(), making: Mutex::new(()) }
    }
}
