//! Working memory that calls use again.

use std::sync::{Arc, Mutex};

use meshmap::cgeo::Triangles;
use meshmap::iqm::{Matrix, Trs};
use meshmap::{Array, ArrayData, Scratch};

use crate::fail::{Result, free, guard, mm_status};
use crate::flag;
use crate::handle::{self, Kind};

/// Working memory: calls with one take no memory once it is large enough. One for each thread; two threads that use one at the
/// same time get MM_ERROR_BUSY.
pub struct mm_scratch {
    _opaque: [u8; 0],
}

/// The object behind an `mm_scratch`.
#[derive(Default)]
pub(crate) struct Working {
    pub(crate) scratch: Scratch,
    pub(crate) triples: Vec<[f32; 3]>,
    /// Positions that are exposed as a view of the source.
    pub(crate) stored: Option<Array<[f32; 3]>>,
    /// The array that mm_array exposes, unless it is an array of a snapshot.
    pub(crate) data: Option<ArrayData>,
    pub(crate) triangles: Triangles,
    pub(crate) separated: Separated,
    pub(crate) times: Vec<f64>,
    pub(crate) pose: Vec<Trs>,
    pub(crate) matrices: Vec<Matrix>,
}

/// Arrays of triangles, which snapshots store mixed.
#[derive(Default)]
pub(crate) struct Separated {
    pub(crate) corners: Vec<[u32; 3]>,
    pub(crate) ids: Vec<u32>,
    pub(crate) short_ids: Vec<u16>,
    pub(crate) edges: Vec<u8>,
}

pub(crate) struct Held(Mutex<Working>);

impl Kind for Held {
    type Opaque = mm_scratch;
    const NAME: &'static str = "mm_scratch";
}

/// Runs a job with the caller's scratch, or with a new one.
pub(crate) fn with<T>(
    scratch: *mut mm_scratch,
    job: impl FnOnce(&mut Working) -> Result<T>,
) -> Result<T> {
    let Some(held) = handle::get_if_any::<Held>(scratch)? else {
        return job(&mut Working::default());
    };
    let mut working = free(held.0.try_lock(), "another call is using this scratch")?;
    working.scratch.set_cancel(flag::current());
    (working.stored, working.data) = (None, None);
    job(&mut working)
}

/// Fails unless this is a scratch or NULL.
pub(crate) fn check(scratch: *mut mm_scratch) -> Result<()> {
    handle::get_if_any::<Held>(scratch).map(drop)
}

/// Fails unless this is a scratch, in which results can be exposed.
pub(crate) fn needed(scratch: *mut mm_scratch) -> Result<()> {
    handle::get::<Held>(scratch).map(drop)
}

/// Makes a scratch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_scratch_new(out: *mut *mut mm_scratch) -> mm_status {
    // SAFETY: the caller's, as the header says.
    unsafe { handle::make(out, || Ok(Arc::new(Held(Mutex::default())))) }
}

/// Frees a scratch and the arrays that are shown in it.
#[unsafe(no_mangle)]
pub extern "C" fn mm_scratch_free(scratch: *mut mm_scratch) -> mm_status {
    guard(|| handle::close::<Held>(scratch))
}
