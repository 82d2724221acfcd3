//! Decoded snapshots, shared by all threads.

use std::ffi::c_void;
use std::sync::Arc;

use meshmap::cgeo::{Mesh, Parts, Proxy, SnapshotCache, Timing};

use crate::cgeo_array::{Wanted, mm_cgeo_array};
use crate::fail::{Fail, Result, guard, mm_status};
use crate::file::{File, again, mm_file};
use crate::handle::{self, Kind};
use crate::memory::{First, Target, elements, put, put_sized};
use crate::motion::{mm_timing, mm_wrap, timing, write_at, write_velocities};
use crate::scratch::{Working, mm_scratch};
use crate::snapshot::{self, Decoded, Filled, Place, mm_parts, mm_snapshot};

/// A cache of decoded snapshots of any number of CGeo files, with one capacity for all. Every thread may use it: however many ask
/// for a snapshot, one of them decodes it, and the others wait.
pub struct mm_cache {
    _opaque: [u8; 0],
}

/// Statistics of a cache.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_cache_stats {
    /// sizeof(mm_cache_stats), set by the caller.
    pub size: usize,
    /// Requests that found their snapshot.
    pub hits: u64,
    /// Requests that did not, including requests that waited for another thread.
    pub misses: u64,
    /// Snapshots decoded.
    pub decodes: u64,
    /// Snapshots decoded again after they were dropped: a sign that the capacity is too small.
    pub repeated_decodes: u64,
    /// Bytes of decoded snapshots in the cache.
    pub bytes_held: u64,
    /// The greatest value of bytes_held so far.
    pub peak_bytes: u64,
}

// SAFETY: `repr(C)`, begins with its size, and is never read.
unsafe impl First for mm_cache_stats {}

struct Shared(SnapshotCache);

impl Kind for Shared {
    type Opaque = mm_cache;
    const NAME: &'static str = "mm_cache";
}

/// Makes a cache with a capacity in bytes of decoded snapshots. The least recently used snapshots are evicted first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cache_new(capacity_bytes: u64, out: *mut *mut mm_cache) -> mm_status {
    guard(|| {
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, std::ptr::null_mut()) }?;
        let handle = handle::new(Arc::new(Shared(SnapshotCache::new(capacity_bytes))))?;
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, handle) }
    })
}

/// Makes another handle of a cache, to be freed on its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cache_ref(cache: *const mm_cache, out: *mut *mut mm_cache) -> mm_status {
    // SAFETY: the caller's, as the header says.
    guard(|| unsafe { again::<Shared>(cache, out) })
}

/// Frees a cache; snapshots that were taken from it stay. NULL is passed over. Calls on it that have begun on other
/// threads end as usual.
#[unsafe(no_mangle)]
pub extern "C" fn mm_cache_free(cache: *mut mm_cache) -> mm_status {
    guard(|| handle::close::<Shared>(cache))
}

/// A snapshot with at least these parts, decoded unless they are in the cache, into a place, which shares it. Takes no
/// memory for one that is in the cache, which holds the parts that were asked for. Views of the place's previous
/// contents are no longer valid. Errors are not cached: the next request tries again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cache_get(
    cache: *const mm_cache,
    file: *const mm_file,
    index: usize,
    parts: mm_parts,
    out: *mut mm_snapshot,
) -> mm_status {
    fill(cache, file, parts, out, |cache, proxy, parts| Ok(cache.get(proxy, index, parts)?))
}

/// Like mm_cache_get, if the cache has the snapshot with all these parts. Never waits, takes no memory. MM_ABSENT if it
/// is not in the cache, and the place is then empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cache_try_get(
    cache: *const mm_cache,
    file: *const mm_file,
    index: usize,
    parts: mm_parts,
    out: *mut mm_snapshot,
) -> mm_status {
    fill(cache, file, parts, out, |cache, proxy, parts| {
        cache.try_get(proxy, index, parts).ok_or(Fail::Absent)
    })
}

/// Copies an array of a snapshot as mm_cgeo_read does, from the cache, which decodes and holds the part with the array
/// if it does not have it. `out` NULL asks for the count. The scratch is used for arrays of triangles, and may be NULL.
/// MM_ERROR_UNSUPPORTED for arrays that only mm_cgeo_read reads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cache_read(
    cache: *const mm_cache,
    file: *const mm_file,
    snapshot: usize,
    array: mm_cgeo_array,
    set: u32,
    scratch: *mut mm_scratch,
    out: *mut c_void,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    guard(|| {
        let cache = handle::get::<Shared>(cache)?;
        let file = handle::get::<File>(file)?;
        let wanted = Wanted::new(array, set)?;
        // SAFETY: the caller's, as the header says.
        let mut places = unsafe { wanted.places(out, stride, capacity, count) }?;
        let mesh = cache.0.get(file.cgeo()?, snapshot, wanted.part()?)?;
        Decoded::from(mesh).write(wanted, scratch, &mut places)
    })
}

/// Fills a place with what a cache gives.
fn fill(
    cache: *const mm_cache,
    file: *const mm_file,
    parts: mm_parts,
    out: *mut mm_snapshot,
    get: impl FnOnce(&SnapshotCache, &Proxy, Parts) -> Result<Arc<Mesh>>,
) -> mm_status {
    guard(|| {
        let cache = handle::get::<Shared>(cache)?;
        let file = handle::get::<File>(file)?;
        let place = handle::get::<Place>(out)?;
        let (proxy, parts) = (file.cgeo()?, snapshot::parts(parts)?);
        place.fill(|_| Ok(Filled::Shared(get(&cache.0, proxy, parts)?)))
    })
}

/// Starts to decode parts of snapshots on the threads of the process' pool, and returns at once. mm_cache_get reports
/// errors. `indices` stay the caller's; cache and file may be closed meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cache_prefetch(
    cache: *const mm_cache,
    file: *const mm_file,
    indices: *const usize,
    count: usize,
    parts: mm_parts,
) -> mm_status {
    guard(|| {
        let cache = handle::get::<Shared>(cache)?;
        let file = handle::get::<File>(file)?;
        // SAFETY: the caller's, as the header says.
        let indices = unsafe { elements(indices, count) }?;
        cache.0.prefetch(file.cgeo()?, indices.iter().copied(), snapshot::parts(parts)?);
        Ok(())
    })
}

/// Like mm_cgeo_positions_at, by snapshots that the cache has or gets: the positions of each are decoded once, and nothing else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cache_positions_at(
    cache: *const mm_cache,
    file: *const mm_file,
    timing: *const mm_timing,
    seconds: *const f64,
    time_count: usize,
    wrap: mm_wrap,
    scratch: *mut mm_scratch,
    out: *mut f32,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    guard(|| {
        let cache = handle::get::<Shared>(cache)?;
        let file = handle::get::<File>(file)?;
        let proxy = file.cgeo()?;
        let (at, out) = ((timing, seconds, time_count, wrap), (out, stride, capacity, count));
        let decode = |timing: &Timing, seconds: &[f64], wrap, working: &mut Working| {
            cache.0.positions_at(proxy, timing, seconds, wrap, &mut working.triples)
        };
        // SAFETY: the caller's, as the header says.
        unsafe { write_at(proxy, at, scratch, out, |counts| counts.vertices, decode) }
    })
}

/// Like mm_cgeo_velocities, by snapshots that the cache has or gets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cache_velocities(
    cache: *const mm_cache,
    file: *const mm_file,
    timing: *const mm_timing,
    snapshot: usize,
    scratch: *mut mm_scratch,
    out: *mut f32,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    guard(|| {
        let cache = handle::get::<Shared>(cache)?;
        let file = handle::get::<File>(file)?;
        let proxy = file.cgeo()?;
        // SAFETY: the caller's, as the header says.
        let (timing, target) = unsafe {
            let target = Target::<[f32; 3]>::new(out.cast(), stride, capacity, count)?;
            (self::timing(proxy, timing)?, target)
        };
        write_velocities(proxy, snapshot, scratch, target, |working| {
            cache.0.velocities(proxy, &timing, snapshot, &mut working.triples)
        })
    })
}

/// Statistics of a cache since it was made. `out->size` is set before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cache_get_stats(cache: *const mm_cache, out: *mut mm_cache_stats) -> mm_status {
    guard(|| {
        let stats = handle::get::<Shared>(cache)?.0.stats();
        let stats = mm_cache_stats {
            size: 0,
            hits: stats.hits,
            misses: stats.misses,
            decodes: stats.decodes,
            repeated_decodes: stats.repeated_decodes,
            bytes_held: stats.bytes_held,
            peak_bytes: stats.peak_bytes,
        };
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, stats) }
    })
}

/// Drops every snapshot of a file; snapshots that places share stay there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cache_remove(cache: *const mm_cache, file: *const mm_file) -> mm_status {
    guard(|| {
        let cache = handle::get::<Shared>(cache)?;
        cache.0.remove(handle::get::<File>(file)?.cgeo()?);
        Ok(())
    })
}

/// Drops every snapshot; snapshots that places share stay there.
#[unsafe(no_mangle)]
pub extern "C" fn mm_cache_clear(cache: *const mm_cache) -> mm_status {
    guard(|| {
        handle::get::<Shared>(cache)?.0.clear();
        Ok(())
    })
}
