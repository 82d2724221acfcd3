//! Working memory that calls use again, and flags that cancel them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, TryLockError};

use meshmap::cgeo::Triangles;
use meshmap::iqm::{Matrix, Trs};
use meshmap::{Array, Scratch};

use crate::fail::{Fail, Result, guard, mm_status, status};
use crate::handle::{self, Kind};
use crate::memory::put;

/// Working memory: calls with one take no memory once it is large enough. One for each thread; two threads that use one at the
/// same time get MM_ERROR_BUSY. Where a function takes one, NULL is fine: memory is taken and given back.
pub struct mm_scratch {
    _opaque: [u8; 0],
}

/// A flag that cancels calls. Every thread may use it.
pub struct mm_cancel {
    _opaque: [u8; 0],
}

/// The object behind an `mm_scratch`.
#[derive(Default)]
pub(crate) struct Working {
    pub(crate) scratch: Scratch,
    pub(crate) triples: Vec<[f32; 3]>,
    /// Positions that are exposed as a view of the source.
    pub(crate) shown: Option<Array<[f32; 3]>>,
    pub(crate) triangles: Triangles,
    pub(crate) corners: Vec<[u32; 3]>,
    pub(crate) times: Vec<f64>,
    pub(crate) pose: Vec<Trs>,
    pub(crate) matrices: Vec<Matrix>,
}

pub(crate) struct Held(Mutex<Working>);

impl Kind for Held {
    type Opaque = mm_scratch;
    const NAME: &'static str = "mm_scratch";
}

struct Cancel(Arc<AtomicBool>);

impl Kind for Cancel {
    type Opaque = mm_cancel;
    const NAME: &'static str = "mm_cancel";
}

/// Runs a job with the caller's scratch, or with a new one.
pub(crate) fn with<T>(scratch: *mut mm_scratch, job: impl FnOnce(&mut Working) -> Result<T>) -> Result<T> {
    let Some(held) = handle::get_if_any::<Held>(scratch)? else { return job(&mut Working::default()) };
    match held.0.try_lock() {
        Ok(mut working) => job(&mut working),
        // A panic was reported when it happened; the contents are filled again.
        Err(TryLockError::Poisoned(poisoned)) => job(&mut poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => {
            Err(Fail::new(status::MM_ERROR_BUSY, "another call is using this scratch"))
        }
    }
}

/// Makes a scratch.
///
/// Ownership: `*out` is the caller's, for mm_scratch_free. Threads: any. Errors: MM_ERROR_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_scratch_new(out: *mut *mut mm_scratch) -> mm_status {
    guard(|| {
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, std::ptr::null_mut()) }?;
        let handle = handle::new(Arc::new(Held(Mutex::default())))?;
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, handle) }
    })
}

/// Frees a scratch, and what is shown in it (mm_cgeo_positions_view). NULL is passed over.
///
/// Ownership: takes the handle. Threads: any. Errors: MM_ERROR_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn mm_scratch_free(scratch: *mut mm_scratch) -> mm_status {
    guard(|| handle::close::<Held>(scratch))
}

/// Sets the flag that cancels calls with this scratch: they fail with MM_ERROR_CANCELLED soon after it is set. NULL removes it.
///
/// Ownership: both stay the caller's; the scratch keeps what it needs of the flag. Threads: not while another uses the scratch
/// (MM_ERROR_BUSY). Errors: MM_ERROR_HANDLE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_scratch_set_cancel(
    scratch: *mut mm_scratch,
    cancel: *const mm_cancel,
) -> mm_status {
    guard(|| {
        let flag = handle::get_if_any::<Cancel>(cancel)?;
        handle::get::<Held>(scratch)?;
        with(scratch, |working| {
            working.scratch.set_cancel(flag.map(|flag| Arc::clone(&flag.0)));
            Ok(())
        })
    })
}

/// Makes a flag that is not set.
///
/// Ownership: `*out` is the caller's, for mm_cancel_free. Threads: any. Errors: MM_ERROR_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cancel_new(out: *mut *mut mm_cancel) -> mm_status {
    guard(|| {
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, std::ptr::null_mut()) }?;
        let handle = handle::new(Arc::new(Cancel(Arc::default())))?;
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, handle) }
    })
}

/// Sets a flag (1), which cancels calls that are running and calls that begin; or clears it (0).
///
/// Ownership: nothing is transferred. Threads: any, while others are in the calls that it cancels. Errors: MM_ERROR_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn mm_cancel_set(cancel: *const mm_cancel, is_set: u32) -> mm_status {
    guard(|| {
        handle::get::<Cancel>(cancel)?.0.store(is_set != 0, Ordering::Relaxed);
        Ok(())
    })
}

/// Frees a flag; scratches that have it keep it as it is. NULL is passed over.
///
/// Ownership: takes the handle. Threads: any. Errors: MM_ERROR_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn mm_cancel_free(cancel: *mut mm_cancel) -> mm_status {
    guard(|| handle::close::<Cancel>(cancel))
}
