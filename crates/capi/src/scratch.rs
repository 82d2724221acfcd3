//! Working memory that calls use again.

use std::sync::{Arc, Mutex, TryLockError};

use meshmap::cgeo::Triangles;
use meshmap::iqm::{Matrix, Trs};
use meshmap::{Array, Scratch};

use crate::fail::{Fail, Result, guard, mm_status, status};
use crate::flag;
use crate::handle::{self, Kind};
use crate::memory::put;

/// Working memory: calls with one take no memory once it is large enough. One for each thread; two threads that use one at the
/// same time get MM_ERROR_BUSY. Where a function takes one, NULL is fine: memory is taken and given back.
pub struct mm_scratch {
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
    pub(crate) ids: Vec<u32>,
    pub(crate) edges: Vec<u8>,
    pub(crate) times: Vec<f64>,
    pub(crate) pose: Vec<Trs>,
    pub(crate) matrices: Vec<Matrix>,
}

pub(crate) struct Held(Mutex<Working>);

impl Kind for Held {
    type Opaque = mm_scratch;
    const NAME: &'static str = "mm_scratch";
}

/// Runs a job with the caller's scratch, or with a new one.
pub(crate) fn with<T>(scratch: *mut mm_scratch, job: impl FnOnce(&mut Working) -> Result<T>) -> Result<T> {
    let Some(held) = handle::get_if_any::<Held>(scratch)? else { return job(&mut Working::default()) };
    let mut working = match held.0.try_lock() {
        Ok(working) => working,
        // A panic was reported when it happened; the contents are filled again.
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => {
            return Err(Fail::new(status::MM_ERROR_BUSY, "another call is using this scratch"));
        }
    };
    working.scratch.set_cancel(flag::current());
    job(&mut working)
}

/// Fails unless this is a scratch or NULL.
pub(crate) fn check(scratch: *mut mm_scratch) -> Result<()> {
    handle::get_if_any::<Held>(scratch).map(drop)
}

/// Makes a scratch.
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

/// Frees a scratch, and what is shown in it (mm_cgeo_view). NULL is passed over.
#[unsafe(no_mangle)]
pub extern "C" fn mm_scratch_free(scratch: *mut mm_scratch) -> mm_status {
    guard(|| handle::close::<Held>(scratch))
}
