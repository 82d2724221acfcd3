use std::sync::{Mutex, OnceLock, PoisonError};

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
        Ok(if keep(&value) {
            self.value.get_or_init(|| value).clone()
        } else {
            value
        })
    }

    /// Stores a value that was made elsewhere, unless there is one; returns the stored one.
    pub(crate) fn get_or_set(&self, value: T) -> &T {
        self.value.get_or_init(|| value)
    }
}

/// A result that may be kept. What may be different for the next caller is an error instead: a failure to read, a cancelled job, and
/// a limit, which also depends on what else a call holds.
pub(crate) fn lasting<T>(made: Result<T>) -> Result<Result<T>> {
    match made {
        Err(error) if error.is_of_reading() || error.kind() == ErrorKind::LimitExceeded => {
            Err(error)
        }
        made => Ok(made),
    }
}

/// Clones the value, without the state of a thread that is making one.
impl<T: Clone> Clone for Slot<T> {
    fn clone(&self) -> Self {
        Self {
            value: self.value.clone(),
            making: Mutex::new(()),
        }
    }
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self {
            value: OnceLock::new(),
            making: Mutex::new(()),
        }
    }
}
