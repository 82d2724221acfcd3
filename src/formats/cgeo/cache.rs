//! Decoded snapshots, shared by all threads.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use moka::policy::EvictionPolicy;
use moka::sync::Cache;

use super::mesh::FileKey;
use super::mesh::{Mesh, MeshBuffer, TopologyId};
use super::motion::{self, Frames};
use super::proxy::Proxy;
use super::snapshot::Snapshot;
use super::time::{Timing, Wrap};
use crate::bytes::Array;
use crate::decode::{Scratch, may_wait_for};
use crate::limits::Budget;
use crate::num::{as_u64, size_u64};
use crate::report::{Error, Result};

/// A cache of decoded snapshots of any number of proxies, with one capacity for all.
///
/// However many threads ask for a snapshot, one of them decodes it, and the others wait. Only workers of a rayon pool do
/// not wait where the source is a reader of the caller's, which may need them: each decodes. The least recently used
/// snapshots are dropped first. A snapshot larger than the capacity is decoded and returned, but not kept. Meshes that
/// callers hold are not counted.
///
/// A file that is opened again shares what is there of it, as long as it has not been changed and is read with the same
/// dialect and [`Options`](crate::Options). Sources that are not files, and files of systems that do not identify them, are
/// known by their [`Proxy`] and its clones alone.
///
/// Decoding runs on the calling thread. Cloning is cheap; clones share the cache.
///
/// # Examples
///
/// ```
/// use meshmap::cgeo::{Proxy, SnapshotCache};
///
/// let proxy = Proxy::open("tests/data/cgeo/valid/anim_a.cgeo")?;
/// let cache = SnapshotCache::new(256 << 20);
/// let mesh = cache.get(&proxy, 3)?;
/// assert_eq!(cache.try_get(&proxy, 3).map(|mesh| mesh.positions.len()), Some(mesh.positions.len()));
/// assert_eq!(cache.stats().decodes, 1);
/// # Ok::<(), meshmap::Error>(())
/// ```
#[derive(Clone)]
pub struct SnapshotCache {
    capacity: u64,
    cache: Cache<Key, Arc<Mesh>>,
    shared: Arc<Shared>,
}

/// A snapshot of a file: entries of its table that name the same offset are one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    file: Arc<FileKey>,
    offset: u64,
}

impl Key {
    fn new(snapshot: &Snapshot) -> Self {
        Self { file: Arc::clone(snapshot.proxy.key()), offset: snapshot.extent.start }
    }
}

#[derive(Default)]
struct Shared {
    hits: AtomicU64,
    misses: AtomicU64,
    decodes: AtomicU64,
    repeated: AtomicU64,
    held: AtomicU64,
    peak: AtomicU64,
    /// What has been decoded before, of late.
    seen: Mutex<HashSet<Key>>,
    /// Scratches that no thread is using.
    scratches: Mutex<Vec<Scratch>>,
}

/// Statistics of a [`SnapshotCache`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStats {
    /// Requests that found their snapshot.
    pub hits: u64,
    /// Requests that did not, including those that waited for another thread.
    pub misses: u64,
    /// Snapshots decoded.
    pub decodes: u64,
    /// Snapshots decoded again after they were dropped: a sign that the capacity is too small.
    pub repeated_decodes: u64,
    /// Bytes of decoded snapshots in the cache.
    pub bytes_held: u64,
    /// The greatest value of `bytes_held` so far.
    pub peak_bytes: u64,
}

/// The cache counts in these, since it has but 32 bits for the size of an entry.
const UNIT: u64 = 1 << 10;

impl SnapshotCache {
    /// An empty cache with a capacity in bytes of decoded snapshots.
    #[must_use]
    pub fn new(capacity_bytes: u64) -> Self {
        let shared = Arc::<Shared>::default();
        let listener = Arc::clone(&shared);
        let cache = Cache::builder()
            // A capacity of 0 would switch the cache off, its account of what it drops included.
            .max_capacity(capacity_bytes.checked_div(UNIT).unwrap_or(0).max(1))
            .weigher(|_: &Key, mesh: &Arc<Mesh>| {
                u32::try_from(mesh.size().div_ceil(UNIT)).unwrap_or(u32::MAX)
            })
            .eviction_policy(EvictionPolicy::lru())
            .eviction_listener(move |_, mesh, _| {
                listener.held.fetch_sub(mesh.size(), Ordering::Relaxed);
            })
            .build();
        Self { capacity: capacity_bytes, cache, shared }
    }

    /// A snapshot's first mesh, decoded unless it is in the cache.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::mesh`](super::Snapshot::mesh). They are not kept; the next request tries again. A
    /// [`ReadRange`](crate::ReadRange) that asks for a snapshot of the file that it reads, and that is not in the cache, gets
    /// [`Io`](crate::ErrorKind::Io) with [`Deadlock`](std::io::ErrorKind::Deadlock).
    pub fn get(&self, proxy: &Proxy, index: usize) -> Result<Arc<Mesh>> {
        let missing = |_: &Error| {
            self.shared.misses.fetch_add(1, Ordering::Relaxed);
        };
        self.snapshot(&proxy.snapshot(index).inspect_err(missing)?)
    }

    fn snapshot(&self, snapshot: &Snapshot) -> Result<Arc<Mesh>> {
        let key = Key::new(snapshot);
        if let Some(mesh) = self.cache.get(&key) {
            self.shared.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(mesh);
        }
        self.shared.misses.fetch_add(1, Ordering::Relaxed);
        let decode = || self.decode(snapshot, &key).and_then(|mesh| self.keep(mesh));
        let source = snapshot.proxy.source();
        let found = if may_wait_for(source) {
            source.refuse_reentry()?;
            self.cache.try_get_with_by_ref(&key, decode).map_err(|other| (*other).clone())
        } else {
            decode().inspect(|mesh| self.cache.insert(key.clone(), Arc::clone(mesh)))
        };
        // Drops what is too much now, not when the cache finds the time.
        self.cache.run_pending_tasks();
        match found {
            Ok(mesh) | Err(NotKept::TooLarge(mesh)) => Ok(mesh),
            Err(NotKept::Error(error)) => Err(error),
        }
    }

    /// A snapshot's first mesh if it is in the cache. Never waits.
    #[must_use]
    pub fn try_get(&self, proxy: &Proxy, index: usize) -> Option<Arc<Mesh>> {
        let found = proxy.snapshot(index).ok().and_then(|snapshot| self.cache.get(&Key::new(&snapshot)));
        let counter = if found.is_some() { &self.shared.hits } else { &self.shared.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// Starts to decode snapshots in the caller's rayon pool, and returns at once. [`get`](Self::get) reports errors.
    ///
    /// Does nothing without the feature `rayon`.
    pub fn prefetch(&self, proxy: &Proxy, snapshots: impl IntoIterator<Item = usize>) {
        for index in snapshots {
            let Ok(snapshot) = proxy.snapshot(index) else { continue };
            if self.cache.contains_key(&Key::new(&snapshot)) {
                continue;
            }
            #[cfg(feature = "rayon")]
            {
                let this = self.clone();
                rayon::spawn(move || {
                    // A reader that panics ends this job, and not the program.
                    let get = || drop(this.snapshot(&snapshot));
                    drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(get)));
                });
            }
        }
    }

    /// Statistics since the cache was made.
    #[must_use]
    pub fn stats(&self) -> CacheStats {
        let shared = &self.shared;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CacheStats {
            hits: read(&shared.hits),
            misses: read(&shared.misses),
            decodes: read(&shared.decodes),
            repeated_decodes: read(&shared.repeated),
            bytes_held: read(&shared.held),
            peak_bytes: read(&shared.peak),
        }
    }

    /// The positions at these times, as those of [`Proxy::positions_at`], by snapshots that the cache has or gets: each is
    /// decoded once.
    ///
    /// # Errors
    ///
    /// Those of [`Proxy::positions_at`].
    pub fn positions_at(
        &self,
        proxy: &Proxy,
        timing: &Timing,
        seconds: &[f64],
        wrap: Wrap,
        out: &mut Vec<[f32; 3]>,
    ) -> Result<()> {
        let budget = Budget::new(&proxy.options().limits);
        let mut frames = Cached { cache: self, budget: &budget };
        motion::positions_at(proxy, &mut frames, &budget, timing, (seconds, wrap), out)
    }

    /// The velocities at a snapshot, as those of [`Proxy::velocities`], by snapshots that the cache has or gets.
    ///
    /// # Errors
    ///
    /// Those of [`Proxy::velocities`].
    pub fn velocities(
        &self,
        proxy: &Proxy,
        timing: &Timing,
        index: usize,
        out: &mut Vec<[f32; 3]>,
    ) -> Result<()> {
        let budget = Budget::new(&proxy.options().limits);
        let mut frames = Cached { cache: self, budget: &budget };
        motion::velocities(proxy, &mut frames, &budget, timing, index, out)
    }

    /// Drops every snapshot of a proxy, and of others that are the same file. What is being decoded meanwhile may stay.
    pub fn remove(&self, proxy: &Proxy) {
        for (key, _) in &self.cache {
            if key.file == *proxy.key() {
                self.cache.invalidate(&*key);
            }
        }
        self.cache.run_pending_tasks();
        // To decode them again is no sign that the capacity is too small.
        lock(&self.shared.seen).retain(|key| key.file != *proxy.key());
    }

    /// Drops every snapshot.
    pub fn clear(&self) {
        self.cache.invalidate_all();
        self.cache.run_pending_tasks();
    }

    /// Counts a mesh as held, if it fits.
    fn keep(&self, mesh: Arc<Mesh>) -> Result<Arc<Mesh>, NotKept> {
        let size = mesh.size();
        if size > self.capacity {
            return Err(NotKept::TooLarge(mesh));
        }
        let held = self.shared.held.fetch_add(size, Ordering::Relaxed).saturating_add(size);
        self.shared.peak.fetch_max(held, Ordering::Relaxed);
        Ok(mesh)
    }

    fn decode(&self, snapshot: &Snapshot, key: &Key) -> Result<Arc<Mesh>, NotKept> {
        /// The most that are remembered to have been decoded.
        const MOST_SEEN: usize = 1 << 16;
        let mut scratch = lock(&self.shared.scratches).pop().unwrap_or_default();
        let mut buffer = MeshBuffer::default();
        let decoded = snapshot.mesh_into(&mut buffer, &mut scratch);
        lock(&self.shared.scratches).push(scratch);
        decoded.map_err(NotKept::Error)?;

        let shared = &self.shared;
        shared.decodes.fetch_add(1, Ordering::Relaxed);
        let mut seen = lock(&shared.seen);
        if seen.len() >= MOST_SEEN {
            seen.clear();
        }
        if !seen.insert(key.clone()) {
            shared.repeated.fetch_add(1, Ordering::Relaxed);
        }
        Ok(Arc::new(buffer.into_mesh(snapshot.proxy.topology_at(0))))
    }
}

/// Positions of meshes in a cache.
struct Cached<'a> {
    cache: &'a SnapshotCache,
    budget: &'a Budget,
}

impl Frames for Cached<'_> {
    type Frame = Arc<Mesh>;

    fn frame(&mut self, snapshot: &Snapshot, _: Option<Self::Frame>) -> Result<(Self::Frame, TopologyId)> {
        let mesh = self.cache.snapshot(snapshot)?;
        self.budget.count_read(&snapshot.extent);
        let topology = mesh.topology;
        Ok((mesh, topology))
    }

    fn positions(mesh: &Self::Frame) -> Cow<'_, [[f32; 3]]> {
        mesh.positions.to_native()
    }
}

/// Why a mesh is not in the cache.
#[derive(Clone)]
enum NotKept {
    TooLarge(Arc<Mesh>),
    Error(Error),
}

impl Mesh {
    /// The memory that this mesh alone takes in the cache, in bytes. Triangles shared with another mesh are not counted.
    fn size(&self) -> u64 {
        /// What the cache has for an entry, and an array for what owns its memory.
        const ENTRY: u64 = 512;
        const OWNER: u64 = 64;
        let triangles = if self.is_complete { as_u64(self.triangles.as_bytes().len()) } else { 0 };
        let arrays = as_u64(self.texcoords.len()).saturating_add(2);
        let headers = arrays.saturating_mul(size_u64::<Array<[f32; 3]>>().saturating_add(OWNER));
        self.arrays_size().saturating_add(triangles).saturating_add(headers).saturating_add(ENTRY)
    }
}

impl fmt::Debug for SnapshotCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotCache").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
