//! Decoded snapshots, shared by all threads.

use std::sync::Arc;

use meshmap::cgeo::{Mesh, Parts, Proxy, SnapshotCache};

use crate::fail::{Fail, Result, guard, mm_status};
use crate::file::{File, mm_file};
use crate::handle::{self, Kind};
use crate::memory::{First, elements, put_sized};
use crate::snapshot::{self, Filled, Place, mm_parts, mm_snapshot};

/// A cache of decoded snapshots of any number of CGeo files, with one capacity for all. However many threads ask
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

pub(crate) struct Shared(pub(crate) SnapshotCache);

impl Kind for Shared {
    type Opaque = mm_cache;
    const NAME: &'static str = "mm_cache";
}

/// Makes a cache with a capacity in bytes of decoded snapshots. A full cache evicts the least recently used snapshots, or
/// recently used ones in a loop over more snapshots than fit, so that most of the loop stays cached.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cache_new(capacity_bytes: u64, out: *mut *mut mm_cache) -> mm_status {
    // SAFETY: the caller's, as the header says.
    unsafe {
        handle::make(out, || {
            Ok(Arc::new(Shared(SnapshotCache::new(capacity_bytes))))
        })
    }
}

/// Makes another handle of a cache, to be freed on its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cache_ref(
    cache: *const mm_cache,
    out: *mut *mut mm_cache,
) -> mm_status {
    // SAFETY: the caller's, as the header says.
    unsafe { handle::make(out, || handle::get::<Shared>(cache)) }
}

/// Frees a cache; snapshots that were taken from it stay. Calls on it that have begun on other threads end as usual.
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
    fill(cache, file, parts, out, |cache, proxy, parts| {
        Ok(cache.get(proxy, index, parts)?)
    })
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
        let proxy = file.cgeo()?;
        let parts = snapshot::parts(parts)?;
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
        cache.0.prefetch(
            file.cgeo()?,
            indices.iter().copied(),
            snapshot::parts(parts)?,
        );
        Ok(())
    })
}

/// Statistics of a cache since it was made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cache_get_stats(
    cache: *const mm_cache,
    out: *mut mm_cache_stats,
) -> mm_status {
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
pub unsafe extern "C" fn mm_cache_remove(
    cache: *const mm_cache,
    file: *const mm_file,
) -> mm_status {
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
