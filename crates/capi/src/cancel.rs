//! Flags that cancel calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::fail::{guard, mm_status};
use crate::flag;
use crate::handle::{self, Kind};

/// A flag that cancels the calls of threads (mm_thread_set_cancel).
pub struct mm_cancel {
    _opaque: [u8; 0],
}

struct Cancel(Arc<AtomicBool>);

impl Kind for Cancel {
    type Opaque = mm_cancel;
    const NAME: &'static str = "mm_cancel";
}

/// Makes a flag that is not set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cancel_new(out: *mut *mut mm_cancel) -> mm_status {
    // SAFETY: the caller's, as the header says.
    unsafe { handle::make(out, || Ok(Arc::new(Cancel(Arc::default())))) }
}

/// Sets the flag that cancels the calls of the calling thread, instead of an earlier one: every call that reads or decodes fails
/// with MM_ERROR_CANCELLED within milliseconds after the flag is set, except while a callback of mm_reader is waited for. NULL
/// removes it.
#[unsafe(no_mangle)]
pub extern "C" fn mm_thread_set_cancel(cancel: *const mm_cancel) -> mm_status {
    guard(|| {
        let flag = handle::get_if_any::<Cancel>(cancel)?;
        flag::set(flag.map(|flag| Arc::clone(&flag.0)));
        Ok(())
    })
}

/// Sets a flag (1), which cancels calls that are running and calls that begin; or clears it (0).
#[unsafe(no_mangle)]
pub extern "C" fn mm_cancel_set(cancel: *const mm_cancel, is_set: u32) -> mm_status {
    guard(|| {
        handle::get::<Cancel>(cancel)?
            .0
            .store(is_set != 0, Ordering::Relaxed);
        Ok(())
    })
}

/// Frees a flag; threads that have it keep it as it is.
#[unsafe(no_mangle)]
pub extern "C" fn mm_cancel_free(cancel: *mut mm_cancel) -> mm_status {
    guard(|| handle::close::<Cancel>(cancel))
}
