//! Decoded snapshots, shared by all threads.

use std::sync::Arc;

use meshmap::cgeo::{Mesh, Parts, Proxy, SnapshotCache};

use crate::fail::{Fail, Result, guard, mm_status};
use crate::file::{File, again, mm_file};
use crate::handle::{self, Kind};
use crate::memory::{First, Target, elements, put, put_sized};
use crate::motion::{mm_timing, timing, write_positions, write_velocities};
use crate::options::mm_wrap;
use crate::scratch::mm_scratch;
use crate::snapshot::{self, Filled, MM_PARTS_ALL, Place, mm_parts, mm_snapshot};

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
///
/// Ownership: `*out` is the caller's, for mm_cache_free. Threads: any. Errors: MM_ERROR_ARGUMENT.
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
///
/// Ownership: `*out` is the caller's, for mm_cache_free. Threads: any. Errors: MM_ERROR_HANDLE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cache_ref(cache: *const mm_cache, out: *mut *mut mm_cache) -> mm_status {
    // SAFETY: the caller's, as the header says.
    guard(|| unsafe { again::<Shared>(cache, out) })
}

/// Frees a cache; snapshots that were taken from it stay. NULL is passed over.
///
/// Ownership: takes the handle. Threads: any; calls on it that have begun on other threads end as usual. Errors:
/// MM_ERROR_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn mm_cache_free(cache: *mut mm_cache) -> mm_status {
    guard(|| handle::close::<Shared>(cache))
}

/// A snapshot, decoded unless it is in the cache, into a place, which shares it. Takes no memory for one that is in the cache.
///
/// Ownership: views of the place's previous contents are no longer valid. Threads: any, each with its own place. Errors: as of
/// mm_snapshot_read. They are not cached: the next request tries again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cache_get(
    cache: *const mm_cache,
    file: *const mm_file,
    index: usize,
    out: *mut mm_snapshot,
) -> mm_status {
    // SAFETY: the caller's, as the header says.
    unsafe { mm_cache_get_parts(cache, file, index, MM_PARTS_ALL, out) }
}

/// Like mm_cache_get, with these parts of the mesh at least (MM_PARTS_*, joined by |). The cache holds the parts that were asked
/// for; if others are asked for later, they are decoded and added.
///
/// Ownership, threads: as of mm_cache_get. Errors: as of mm_cache_get; MM_ERROR_ARGUMENT if `parts` has another bit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cache_get_parts(
    cache: *const mm_cache,
    file: *const mm_file,
    index: usize,
    parts: mm_parts,
    out: *mut mm_snapshot,
) -> mm_status {
    fill(cache, file, parts, out, |cache, proxy, parts| Ok(cache.get_parts(proxy, index, parts)?))
}

/// A snapshot into a place, if it is in the cache with all parts. Never waits, takes no memory.
///
/// Ownership, threads: as of mm_cache_get. Errors: MM_ABSENT if it is not in the cache; the place is then empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cache_try_get(
    cache: *const mm_cache,
    file: *const mm_file,
    index: usize,
    out: *mut mm_snapshot,
) -> mm_status {
    // SAFETY: the caller's, as the header says.
    unsafe { mm_cache_try_get_parts(cache, file, index, MM_PARTS_ALL, out) }
}

/// Like mm_cache_try_get, with these parts of the mesh at least (MM_PARTS_*, joined by |).
///
/// Ownership, threads: as of mm_cache_get. Errors: as of mm_cache_try_get; MM_ERROR_ARGUMENT if `parts` has another bit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cache_try_get_parts(
    cache: *const mm_cache,
    file: *const mm_file,
    index: usize,
    parts: mm_parts,
    out: *mut mm_snapshot,
) -> mm_status {
    fill(cache, file, parts, out, |cache, proxy, parts| {
        cache.try_get_parts(proxy, index, parts).ok_or(Fail::Absent)
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

/// Starts to decode snapshots on the threads of the process' pool, and returns at once. mm_cache_get reports errors.
///
/// Ownership: `indices` stay the caller's; cache and file may be closed meanwhile. Threads: any. Errors: MM_ERROR_HANDLE,
/// MM_ERROR_FORMAT, MM_ERROR_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cache_prefetch(
    cache: *const mm_cache,
    file: *const mm_file,
    indices: *const usize,
    count: usize,
) -> mm_status {
    // SAFETY: the caller's, as the header says.
    unsafe { mm_cache_prefetch_parts(cache, file, indices, count, MM_PARTS_ALL) }
}

/// Like mm_cache_prefetch, for these parts of the meshes (MM_PARTS_*, joined by |).
///
/// Ownership, threads: as of mm_cache_prefetch. Errors: as of mm_cache_prefetch; MM_ERROR_ARGUMENT if `parts` has another bit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cache_prefetch_parts(
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
        cache.0.prefetch_parts(file.cgeo()?, indices.iter().copied(), snapshot::parts(parts)?);
        Ok(())
    })
}

/// Like mm_cgeo_positions_at, by snapshots that the cache has or gets: the positions of each are decoded once, and nothing else.
///
/// Ownership, threads, errors: as of mm_cgeo_positions_at.
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
        // SAFETY: the caller's, as the header says.
        let (target, times) = unsafe {
            let target = Target::<[f32; 3]>::new(out.cast(), stride, capacity, count)?;
            (target, (self::timing(proxy, timing)?, elements(seconds, time_count)?, wrap))
        };
        write_positions(proxy, times, scratch, target, |timing, seconds, wrap, working| {
            cache.0.positions_at(proxy, timing, seconds, wrap, &mut working.triples)
        })
    })
}

/// Like mm_cgeo_velocities, by snapshots that the cache has or gets.
///
/// Ownership, threads, errors: as of mm_cgeo_velocities.
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
///
/// Ownership: nothing is transferred. Threads: any. Errors: MM_ERROR_HANDLE, MM_ERROR_ARGUMENT.
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
///
/// Ownership: nothing is transferred. Threads: any. Errors: MM_ERROR_HANDLE, MM_ERROR_FORMAT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cache_remove(cache: *const mm_cache, file: *const mm_file) -> mm_status {
    guard(|| {
        let cache = handle::get::<Shared>(cache)?;
        cache.0.remove(handle::get::<File>(file)?.cgeo()?);
        Ok(())
    })
}

/// Drops every snapshot; snapshots that places share stay there.
///
/// Ownership: nothing is transferred. Threads: any. Errors: MM_ERROR_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn mm_cache_clear(cache: *const mm_cache) -> mm_status {
    guard(|| {
        handle::get::<Shared>(cache)?.0.clear();
        Ok(())
    })
}
