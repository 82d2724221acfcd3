//! Decoded snapshots, shared by all threads.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::flight::{Flight, Waited};
use super::held::{Held, Key};
use super::mesh::{Mesh, MeshBuffer, TopologyId};
use super::motion::{self, Frames};
use super::parts::Parts;
use super::proxy::Proxy;
use super::snapshot::Snapshot;
use super::time::{Timing, Wrap};
use crate::decode::Scratch;
use crate::limits::{Budget, cancel};
use crate::report::{ErrorKind, Result};

/// A cache of decoded snapshots of any number of proxies, with one capacity for all.
///
/// If several threads request a snapshot, one of them decodes it, and the others wait; a worker of a rayon pool runs other jobs of
/// its pool meanwhile. Code inside a [`ReadRange`](crate::ReadRange) does not wait, and decodes; a worker also decodes after it has
/// waited for the caller's reader for a tenth of a second, as the reader may need that worker. The least recently used snapshots
/// are evicted first. A snapshot larger than the capacity is decoded and returned, but not cached. Meshes that callers hold are not
/// counted.
///
/// The cache holds the [parts](Parts) of a snapshot that were requested. If others are requested later, they are decoded and
/// added.
///
/// A file that is opened again shares its cached snapshots, as long as it has not been changed and is read with the same dialect
/// and [`Options`](crate::Options). Sources that are not files, and files of systems that do not identify them, are identified only
/// by their [`Proxy`] and its clones.
///
/// Decoding runs on the calling thread. Cloning is cheap; clones share the cache.
///
/// # Examples
///
/// ```
/// use meshmap::cgeo::{Parts, Proxy, SnapshotCache};
///
/// let proxy = Proxy::open("tests/data/cgeo/valid/anim_a.cgeo")?;
/// let cache = SnapshotCache::new(256 << 20);
/// let mesh = cache.get_parts(&proxy, 3, Parts::POSITIONS)?;
/// assert!(mesh.triangles.is_empty() && cache.try_get(&proxy, 3).is_none());
/// let whole = cache.get(&proxy, 3)?;
/// assert_eq!(whole.positions.as_bytes().as_ptr(), mesh.positions.as_bytes().as_ptr(), "shared, not decoded again");
/// # Ok::<(), meshmap::Error>(())
/// ```
#[derive(Clone)]
pub struct SnapshotCache {
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    held: Held,
    /// Snapshots that threads are decoding.
    flights: HashMap<Key, Decoding>,
    /// Snapshots that are to be decoded by threads of a pool.
    #[cfg(feature = "rayon")]
    wanted: std::collections::VecDeque<(Snapshot, Parts)>,
    /// Jobs in pools that decode them.
    #[cfg(feature = "rayon")]
    jobs: usize,
    /// The parts that have been decoded recently.
    seen: HashMap<Key, Parts>,
    /// Scratches that no thread is using.
    scratches: Vec<Scratch>,
    hits: u64,
    misses: u64,
    decodes: u64,
    repeated: u64,
}

/// A snapshot that a thread is decoding.
#[derive(Clone)]
struct Decoding {
    /// The parts that were asked for.
    parts: Parts,
    flight: Arc<Flight<Result<Arc<Mesh>>>>,
}

/// The next action for a mesh.
enum Next {
    /// It is there.
    Take(Arc<Mesh>),
    Wait(Decoding),
    /// Decode what is missing, if there is a part of it.
    Decode(Option<Arc<Mesh>>, Decoding),
}

/// Statistics of a [`SnapshotCache`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStats {
    /// Requests that found all parts that they asked for.
    pub hits: u64,
    /// Requests that did not, including requests that waited for another thread.
    pub misses: u64,
    /// Snapshots decoded. One of which more parts are decoded later counts again.
    pub decodes: u64,
    /// Snapshots of which a part was decoded again after it was dropped: a sign that the capacity is too small.
    pub repeated_decodes: u64,
    /// Bytes of decoded snapshots in the cache.
    pub bytes_held: u64,
    /// The greatest value of `bytes_held` so far.
    pub peak_bytes: u64,
}

impl SnapshotCache {
    /// An empty cache with a capacity in bytes of decoded snapshots.
    #[must_use]
    pub fn new(capacity_bytes: u64) -> Self {
        let shared = Shared {
            held: Held::new(capacity_bytes),
            flights: HashMap::new(),
            #[cfg(feature = "rayon")]
            wanted: std::collections::VecDeque::new(),
            #[cfg(feature = "rayon")]
            jobs: 0,
            seen: HashMap::new(),
            scratches: Vec::new(),
            hits: 0,
            misses: 0,
            decodes: 0,
            repeated: 0,
        };
        Self { shared: Arc::new(Mutex::new(shared)) }
    }

    /// A snapshot's first mesh, decoded unless it is in the cache.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Snapshot::mesh`](super::Snapshot::mesh). They are not kept; the next request tries again. A
    /// [`ReadRange`](crate::ReadRange) that asks for a snapshot of the file that it reads, and that is not in the cache, gets
    /// [`Io`](crate::ErrorKind::Io) with [`Deadlock`](std::io::ErrorKind::Deadlock).
    pub fn get(&self, proxy: &Proxy, index: usize) -> Result<Arc<Mesh>> {
        self.get_parts(proxy, index, Parts::ALL)
    }

    /// Like [`get`](Self::get), with these parts of the mesh at least; others may be empty.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`get`](Self::get). Damage behind the last part that is wanted is not noticed.
    pub fn get_parts(&self, proxy: &Proxy, index: usize, parts: Parts) -> Result<Arc<Mesh>> {
        let snapshot = proxy.snapshot(index).inspect_err(|_| {
            let mut shared = self.lock();
            shared.misses = shared.misses.saturating_add(1);
        })?;
        self.snapshot(&snapshot, parts)
    }

    fn snapshot(&self, snapshot: &Snapshot, parts: Parts) -> Result<Arc<Mesh>> {
        let (key, source) = (Key::new(snapshot), snapshot.proxy.source());
        let mut next = self.lock().begin(&key, parts);
        loop {
            let decoding = match next {
                Next::Take(mesh) => return Ok(mesh),
                Next::Decode(have, decoding) => return self.fly(snapshot, &key, have, &decoding),
                Next::Wait(decoding) => decoding,
            };
            source.refuse_reentry()?;
            match decoding.flight.wait(source) {
                Waited::Landed(Ok(mesh)) if mesh.parts.contains(parts) => return Ok(mesh),
                // Another thread asked for the same parts. If its job was cancelled, this one decodes.
                Waited::Landed(Err(error))
                    if decoding.parts == parts && error.kind() != ErrorKind::Cancelled =>
                {
                    return Err(error);
                }
                Waited::Landed(_) | Waited::InVain => next = self.lock().next(&key, parts),
                Waited::NoLonger => return self.decode(snapshot, &key, parts, None),
            }
        }
    }

    /// Decodes the missing parts of a mesh, for this thread and the threads that wait.
    fn fly(
        &self,
        snapshot: &Snapshot,
        key: &Key,
        have: Option<Arc<Mesh>>,
        decoding: &Decoding,
    ) -> Result<Arc<Mesh>> {
        /// Lets those who come later look for the mesh, or decode it themselves, even if a reader panics.
        struct Ending<'a>(&'a SnapshotCache, &'a Key);
        impl Drop for Ending<'_> {
            fn drop(&mut self) {
                self.0.lock().flights.remove(self.1);
            }
        }
        decoding.flight.fly(|| {
            let _ending = Ending(self, key);
            snapshot.proxy.source().refuse_reentry()?;
            self.decode(snapshot, key, decoding.parts, have)
        })
    }

    /// Decodes what is missing of a mesh, and keeps it.
    fn decode(
        &self,
        snapshot: &Snapshot,
        key: &Key,
        parts: Parts,
        have: Option<Arc<Mesh>>,
    ) -> Result<Arc<Mesh>> {
        let missing = have.as_ref().map_or(parts, |have| parts.without(have.parts));
        let mut scratch = self.lock().scratches.pop().unwrap_or_default();
        scratch.set_cancel(cancel::current());
        let mut buffer = MeshBuffer::default();
        let decoded = snapshot.mesh_parts_into(missing, &mut buffer, &mut scratch);
        let mut shared = self.lock();
        shared.scratches.push(scratch);
        decoded?;
        shared.count_decoded(key, missing);
        let mesh = buffer.into_mesh(snapshot.proxy.topology_at(0));
        // There may be more of it by now than there was.
        let have = shared.held.get(key).cloned().or(have);
        let mesh = Arc::new(match have {
            Some(have) => have.with(&mesh),
            None => mesh,
        });
        let dropped = shared.held.insert(key.clone(), Arc::clone(&mesh));
        drop(shared);
        drop(dropped);
        Ok(mesh)
    }

    /// A snapshot's first mesh if it is in the cache with all parts. Never waits for another thread to decode it.
    #[must_use]
    pub fn try_get(&self, proxy: &Proxy, index: usize) -> Option<Arc<Mesh>> {
        self.try_get_parts(proxy, index, Parts::ALL)
    }

    /// Like [`try_get`](Self::try_get), with these parts of the mesh at least.
    #[must_use]
    pub fn try_get_parts(&self, proxy: &Proxy, index: usize, parts: Parts) -> Option<Arc<Mesh>> {
        let key = proxy.snapshot(index).ok().map(|snapshot| Key::new(&snapshot));
        let mut shared = self.lock();
        let found =
            key.and_then(|key| shared.held.get(&key).filter(|mesh| mesh.parts.contains(parts)).cloned());
        shared.count_request(found.is_some());
        found
    }

    /// Starts to decode snapshots in the caller's rayon pool, and returns at once. [`get`](Self::get) reports errors.
    ///
    /// After each snapshot, the threads give way to other jobs of the pool. What is being decoded already is not decoded again.
    /// Does nothing without the feature `rayon`.
    pub fn prefetch(&self, proxy: &Proxy, snapshots: impl IntoIterator<Item = usize>) {
        self.prefetch_parts(proxy, snapshots, Parts::ALL);
    }

    /// Like [`prefetch`](Self::prefetch), for these parts of the meshes.
    pub fn prefetch_parts(&self, proxy: &Proxy, snapshots: impl IntoIterator<Item = usize>, parts: Parts) {
        #[cfg(feature = "rayon")]
        for snapshot in snapshots.into_iter().filter_map(|index| proxy.snapshot(index).ok()) {
            let mut shared = self.lock();
            if !shared.is_to_be_decoded(&Key::new(&snapshot), parts) {
                continue;
            }
            shared.wanted.push_back((snapshot, parts));
            if shared.jobs < rayon::current_num_threads() {
                shared.jobs = shared.jobs.saturating_add(1);
                drop(shared);
                let this = self.clone();
                rayon::spawn(move || this.decode_wanted());
            }
        }
        #[cfg(not(feature = "rayon"))]
        let _ = (proxy, snapshots, parts);
    }

    /// Decodes snapshots as long as some are wanted, and lets other jobs of the pool run between them.
    #[cfg(feature = "rayon")]
    fn decode_wanted(&self) {
        loop {
            let mut shared = self.lock();
            let Some((snapshot, parts)) = shared.wanted.pop_front() else {
                shared.jobs = shared.jobs.saturating_sub(1);
                return;
            };
            let key = Key::new(&snapshot);
            if !shared.is_to_be_decoded(&key, parts) {
                continue;
            }
            if let Next::Decode(have, decoding) = shared.begin(&key, parts) {
                drop(shared);
                // A reader that panics ends this snapshot, and not the program.
                let fly = || drop(self.fly(&snapshot, &key, have, &decoding));
                drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(fly)));
            } else {
                drop(shared);
            }
            while rayon::yield_now() == Some(rayon::Yield::Executed) {}
        }
    }

    /// Statistics since the cache was made.
    #[must_use]
    pub fn stats(&self) -> CacheStats {
        let shared = self.lock();
        CacheStats {
            hits: shared.hits,
            misses: shared.misses,
            decodes: shared.decodes,
            repeated_decodes: shared.repeated,
            bytes_held: shared.held.bytes,
            peak_bytes: shared.held.peak,
        }
    }

    /// The positions at these times, equal to [`Proxy::positions_at`], by snapshots that the cache has or gets: each is decoded
    /// once.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Proxy::positions_at`].
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

    /// The velocities at a snapshot, equal to [`Proxy::velocities`], by snapshots that the cache has or gets.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Proxy::velocities`].
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
        let mut shared = self.lock();
        let dropped = shared.held.drop_where(|key| key.is_of(proxy));
        // Decoding them again does not mean that the capacity is too small.
        shared.seen.retain(|key, _| !key.is_of(proxy));
        drop(shared);
        drop(dropped);
    }

    /// Drops every snapshot.
    pub fn clear(&self) {
        let dropped = self.lock().held.drop_where(|_| true);
        drop(dropped);
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// Returns the next action for a request, which is counted.
    fn begin(&mut self, key: &Key, parts: Parts) -> Next {
        let next = self.next(key, parts);
        self.count_request(matches!(next, Next::Take(_)));
        next
    }

    fn next(&mut self, key: &Key, parts: Parts) -> Next {
        let have = self.held.get(key).cloned();
        if let Some(mesh) = have.as_ref().filter(|mesh| mesh.parts.contains(parts)) {
            return Next::Take(Arc::clone(mesh));
        }
        if let Some(decoding) = self.flights.get(key) {
            return Next::Wait(decoding.clone());
        }
        let decoding = Decoding { parts, flight: Arc::new(Flight::new()) };
        self.flights.insert(key.clone(), decoding.clone());
        Next::Decode(have, decoding)
    }

    /// Returns `true` if a prefetch of a snapshot has something to do.
    #[cfg(feature = "rayon")]
    fn is_to_be_decoded(&self, key: &Key, parts: Parts) -> bool {
        let is_in_flight = self.flights.get(key).is_some_and(|decoding| decoding.parts.contains(parts));
        !is_in_flight && !self.held.has(key, parts)
    }

    fn count_request(&mut self, is_hit: bool) {
        let counter = if is_hit { &mut self.hits } else { &mut self.misses };
        *counter = counter.saturating_add(1);
    }

    fn count_decoded(&mut self, key: &Key, parts: Parts) {
        /// The most that are remembered to have been decoded.
        const MOST_SEEN: usize = 1 << 16;
        self.decodes = self.decodes.saturating_add(1);
        if self.seen.len() >= MOST_SEEN {
            self.seen.clear();
        }
        let seen = self.seen.entry(key.clone()).or_default();
        if parts.without(*seen) != parts {
            self.repeated = self.repeated.saturating_add(1);
        }
        *seen |= parts;
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
        let mesh = self.cache.snapshot(snapshot, Parts::POSITIONS)?;
        self.budget.count_read(&snapshot.extent);
        let topology = mesh.topology;
        Ok((mesh, topology))
    }

    fn positions(mesh: &Self::Frame) -> Cow<'_, [[f32; 3]]> {
        mesh.positions.to_native()
    }
}

impl Mesh {
    /// This mesh with the parts of another one of the same snapshot. Shares the arrays of both.
    fn with(&self, other: &Self) -> Self {
        let newer = |part| if other.parts.contains(part) { other } else { self };
        Self {
            positions: newer(Parts::POSITIONS).positions.clone(),
            normals: newer(Parts::NORMALS).normals.clone(),
            texcoords: newer(Parts::TEXCOORDS).texcoords.clone(),
            triangles: newer(Parts::TRIANGLES).triangles.clone(),
            topology: other.topology,
            is_complete: other.is_complete,
            parts: self.parts | other.parts,
        }
    }
}

impl fmt::Debug for SnapshotCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotCache").field("stats", &self.stats()).finish_non_exhaustive()
    }
}
