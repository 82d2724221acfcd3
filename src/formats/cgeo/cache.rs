//! Decoded snapshots, shared by all threads.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::base;
use super::cached_meshes::{CachedMeshes, Key};
use super::file::StoredSnapshot;
use super::mesh::{Mesh, MeshBuffer, TopologyId};
use super::motion::{self, Frames, Times};
use super::parts::Parts;
use super::proxy::Proxy;
use super::snapshot::Snapshot;
use super::stream::Identify;
use super::time::{Timing, Wrap};
use crate::bytes::Array;
use crate::decode::{Context, Scratch, Slot};
use crate::limits::{Meter, job};
use crate::num::{as_u64, size_u64};
use crate::report::Result;

/// A cache of decoded snapshots of any number of proxies, with one capacity for all.
///
/// If several threads request a snapshot, each of them reads its bytes, one decodes them, and the others wait for the result. A
/// request for a cached snapshot allocates nothing. A snapshot larger than the capacity is decoded and returned, but not cached.
/// Meshes that callers hold are not counted.
///
/// A full cache adapts to the requests. At first it evicts the least recently used snapshots. In a loop over more snapshots than fit,
/// it evicts recently used ones instead, so that most of the loop stays cached: with a capacity of 36 of 40 snapshots, 88 % of the
/// requests find their snapshot. Snapshots that are no longer used are evicted when others are decoded.
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
/// let mesh = cache.get(&proxy, 3, Parts::POSITIONS)?;
/// assert!(mesh.triangles.is_empty() && cache.try_get(&proxy, 3, Parts::ALL).is_none());
/// let whole = cache.get(&proxy, 3, Parts::ALL)?;
/// assert_eq!(whole.positions.as_bytes().as_ptr(), mesh.positions.as_bytes().as_ptr(), "shared, not decoded again");
/// # Ok::<(), meshmap::Error>(())
/// ```
#[derive(Clone)]
pub struct SnapshotCache {
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    held: CachedMeshes,
    /// Snapshots that threads are decoding.
    flights: Vec<Arc<Flight>>,
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
    /// Memory for the orders of times, that no thread is using.
    orders: Vec<Vec<usize>>,
    hits: u64,
    misses: u64,
    decodes: u64,
    repeated: u64,
}

/// A snapshot that threads wait for.
struct Flight {
    key: Key,
    /// The parts that were asked for, and the parts that it will have.
    asked: Parts,
    parts: Parts,
    /// The mesh with some of them that is there.
    have: Option<Arc<Mesh>>,
    /// `true` if a part that is missing was decoded before, and dropped.
    is_repeated: bool,
    mesh: Slot<Result<Arc<Mesh>>>,
}

/// The next action for a mesh.
enum Next {
    /// It is there.
    Take(Arc<Mesh>),
    /// Decode it, or wait for the thread that does.
    Decode(Arc<Flight>),
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
            held: CachedMeshes::new(capacity_bytes),
            flights: Vec::new(),
            #[cfg(feature = "rayon")]
            wanted: std::collections::VecDeque::new(),
            #[cfg(feature = "rayon")]
            jobs: 0,
            seen: HashMap::new(),
            scratches: Vec::new(),
            orders: Vec::new(),
            hits: 0,
            misses: 0,
            decodes: 0,
            repeated: 0,
        };
        Self {
            shared: Arc::new(Mutex::new(shared)),
        }
    }

    /// A snapshot's first mesh, with these parts at least; others may be empty. It is decoded unless it is in the cache.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Snapshot::mesh`](super::Snapshot::mesh). They are not kept; the next request tries again. A
    /// [`ReadRange`](crate::ReadRange) that asks for a snapshot of the file that it reads, and that is not in the cache, gets
    /// [`Io`](crate::ErrorKind::Io) with [`Deadlock`](std::io::ErrorKind::Deadlock). Damage behind
    /// the last part that is wanted is not noticed.
    pub fn get(&self, proxy: &Proxy, index: usize, parts: Parts) -> Result<Arc<Mesh>> {
        let snapshot = proxy.snapshot(index).inspect_err(|_| {
            let mut shared = self.lock();
            shared.misses = shared.misses.saturating_add(1);
        })?;
        self.snapshot(&snapshot, parts)
    }

    pub(super) fn snapshot(&self, snapshot: &Snapshot, parts: Parts) -> Result<Arc<Mesh>> {
        let next = self.lock().begin(&Key::new(snapshot), parts);
        match next {
            Next::Take(mesh) => Ok(mesh),
            Next::Decode(flight) => self.decode(snapshot, &flight).or_else(|error| {
                if flight.asked == parts {
                    return Err(error);
                }
                // It may concern parts that only others asked for.
                let own = self.lock().take_off(&flight.key, parts);
                self.decode(snapshot, &own)
            }),
        }
    }

    /// Decodes what is missing of a mesh, unless another thread does, and keeps it.
    fn decode(&self, snapshot: &Snapshot, flight: &Arc<Flight>) -> Result<Arc<Mesh>> {
        /// Ends the flight, even if a reader panics.
        struct Landing<'a>(&'a SnapshotCache, &'a Arc<Flight>);
        impl Drop for Landing<'_> {
            fn drop(&mut self) {
                self.0.lock().land(self.1);
            }
        }
        let _landing = Landing(self, flight);
        let missing = flight
            .have
            .as_ref()
            .map_or(flight.parts, |have| flight.parts.without(have.parts));
        let mut scratch = self.lock().scratches.pop().unwrap_or_default();
        scratch.set_cancel(job::cancel_flag());
        let mut is_decoded = false;
        let finish = |mesh: Mesh| {
            is_decoded = true;
            // Before other threads have the mesh, so that no statistics are behind.
            self.lock().count_decoded(flight, missing);
            Arc::new(match &flight.have {
                Some(have) => have.with(&mesh),
                None => mesh,
            })
        };
        let made = job::unmetered(|| {
            make_mesh_once(
                &snapshot.stored,
                &flight.mesh,
                missing,
                &mut scratch,
                finish,
            )
        });
        let mut shared = self.lock();
        shared.scratches.push(scratch);
        let mesh = made?;
        // The first thread that comes here keeps it, or the one that made it after another one was cancelled.
        if shared.land(flight) || is_decoded {
            // There may be more of it by now than there was.
            let have = shared
                .held
                .get(&flight.key)
                .filter(|have| !mesh.parts.contains(have.parts));
            let kept = have.map_or_else(|| Arc::clone(&mesh), |have| Arc::new(have.with(&mesh)));
            let dropped = shared
                .held
                .insert(flight.key.clone(), kept, flight.is_repeated);
            drop(shared);
            drop(dropped);
        }
        Ok(mesh)
    }

    /// The topology of a mesh of a snapshot, whose triangles may not have been seen.
    pub(super) fn seen(&self, snapshot: &Snapshot, topology: TopologyId) -> Result<TopologyId> {
        if topology.is_seen() {
            return Ok(topology);
        }
        let mut scratch = self.lock().scratches.pop().unwrap_or_default();
        scratch.set_cancel(job::cancel_flag());
        let topology = snapshot.seen(topology, &mut scratch);
        self.lock().scratches.push(scratch);
        topology
    }

    /// A snapshot's first mesh if it is in the cache with these parts at least. Never waits for another thread to decode it.
    #[must_use]
    pub fn try_get(&self, proxy: &Proxy, index: usize, parts: Parts) -> Option<Arc<Mesh>> {
        let key = proxy
            .snapshot(index)
            .ok()
            .map(|snapshot| Key::new(&snapshot));
        let mut shared = self.lock();
        let found = key.and_then(|key| shared.held.request(&key, parts));
        shared.count_request(found.is_some());
        found
    }

    /// Starts to decode these parts of snapshots in the caller's rayon pool, and returns at once. [`get`](Self::get) reports errors.
    ///
    /// After each snapshot, the threads give way to other jobs of the pool. What is being decoded already is not decoded again.
    /// Does nothing without the feature `rayon`.
    pub fn prefetch(
        &self,
        proxy: &Proxy,
        snapshots: impl IntoIterator<Item = usize>,
        parts: Parts,
    ) {
        #[cfg(feature = "rayon")]
        for snapshot in snapshots
            .into_iter()
            .filter_map(|index| proxy.snapshot(index).ok())
        {
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
            let next = shared.begin(&key, parts);
            drop(shared);
            if let Next::Decode(flight) = next {
                // A reader that panics ends this snapshot, and not the program.
                let decode = || drop(self.decode(&snapshot, &flight));
                drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(
                    decode,
                )));
            }
            while rayon::yield_now() == Some(rayon::Yield::Executed) {}
        }
    }

    /// The capacity in bytes of decoded snapshots.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.lock().held.capacity()
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
            bytes_held: shared.held.bytes(),
            peak_bytes: shared.held.peak(),
        }
    }

    /// The positions at these times, equal to [`Proxy::positions_at`], by snapshots that the cache has or gets.
    ///
    /// Each snapshot is requested once, in whatever order the times are. For many instances, one call for all of them decodes no
    /// snapshot twice, even if the cache has room for few.
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
        let meter = Meter::of_call(&proxy.options().limits);
        let mut frames = Cached {
            cache: self,
            meter: &meter,
            part: Parts::POSITIONS,
        };
        let times = Times {
            timing,
            seconds,
            wrap,
        };
        motion::positions_at(proxy, &mut frames, &meter, times, out)
    }

    /// The normals at these times, equal to [`Proxy::normals_at`], by snapshots that the cache has or gets.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Proxy::normals_at`].
    pub fn normals_at(
        &self,
        proxy: &Proxy,
        timing: &Timing,
        seconds: &[f64],
        wrap: Wrap,
        out: &mut Vec<[f32; 3]>,
    ) -> Result<()> {
        let meter = Meter::of_call(&proxy.options().limits);
        let mut frames = Cached {
            cache: self,
            meter: &meter,
            part: Parts::NORMALS,
        };
        let times = Times {
            timing,
            seconds,
            wrap,
        };
        motion::normals_at(proxy, &mut frames, &meter, times, out)
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
        let meter = Meter::of_call(&proxy.options().limits);
        let mut frames = Cached {
            cache: self,
            meter: &meter,
            part: Parts::POSITIONS,
        };
        motion::velocities(proxy, &mut frames, &meter, timing, index, out)
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
        let found = self.held.request(key, parts);
        self.count_request(found.is_some());
        if let Some(mesh) = found {
            return Next::Take(mesh);
        }
        if let Some(flight) = self.flight(key, parts) {
            return Next::Decode(Arc::clone(flight));
        }
        Next::Decode(self.take_off(key, parts))
    }

    /// Begins a flight for these parts.
    fn take_off(&mut self, key: &Key, asked: Parts) -> Arc<Flight> {
        let have = self.held.get(key).cloned();
        let parts = have.as_ref().map_or(asked, |have| have.parts | asked);
        let missing = have
            .as_ref()
            .map_or(parts, |have| parts.without(have.parts));
        let seen = self.seen.get(key).copied().unwrap_or_default();
        let is_repeated = missing.without(seen) != missing;
        let flight = Arc::new(Flight {
            key: key.clone(),
            asked,
            parts,
            have,
            is_repeated,
            mesh: Slot::default(),
        });
        self.flights.push(Arc::clone(&flight));
        flight
    }

    /// Ends a flight; returns `false` if it has ended.
    fn land(&mut self, flight: &Arc<Flight>) -> bool {
        let place = self
            .flights
            .iter()
            .position(|other| Arc::ptr_eq(other, flight));
        place.map(|place| self.flights.swap_remove(place)).is_some()
    }

    /// The flight that will have these parts.
    fn flight(&self, key: &Key, parts: Parts) -> Option<&Arc<Flight>> {
        self.flights
            .iter()
            .find(|flight| flight.key == *key && flight.parts.contains(parts))
    }

    /// Returns `true` if a prefetch of a snapshot has something to do.
    #[cfg(feature = "rayon")]
    fn is_to_be_decoded(&self, key: &Key, parts: Parts) -> bool {
        self.flight(key, parts).is_none()
            && self
                .held
                .get(key)
                .is_none_or(|mesh| !mesh.parts.contains(parts))
    }

    fn count_request(&mut self, is_hit: bool) {
        let counter = if is_hit {
            &mut self.hits
        } else {
            &mut self.misses
        };
        *counter = counter.saturating_add(1);
    }

    fn count_decoded(&mut self, flight: &Flight, parts: Parts) {
        /// The most that are remembered to have been decoded.
        const MOST_SEEN: usize = 1 << 16;
        self.decodes = self.decodes.saturating_add(1);
        if self.seen.len() >= MOST_SEEN {
            self.seen.clear();
        }
        self.repeated = self.repeated.saturating_add(u64::from(flight.is_repeated));
        let seen = self.seen.entry(flight.key.clone()).or_default();
        *seen = *seen | parts;
    }
}

/// Makes these parts of the mesh of a snapshot, once for all threads.
fn make_mesh_once(
    snapshot: &StoredSnapshot,
    slot: &Slot<Result<Arc<Mesh>>>,
    parts: Parts,
    scratch: &mut Scratch,
    mut finish: impl FnMut(Mesh) -> Arc<Mesh>,
) -> Result<Arc<Mesh>> {
    let file = &snapshot.file;
    let meter = snapshot.meter();
    // All that is read from the file is read before other threads wait for the mesh.
    let begun = snapshot.begin_mesh(Some(snapshot.last_of(parts)), scratch)?;
    let is_complete = snapshot.begins_complete(&begun, Context::new(&meter, scratch))?;
    let base = if is_complete {
        None
    } else {
        Some(base::parts(file, parts, &meter)?)
    };
    let is_compared = is_complete && parts.contains(Parts::TRIANGLES) && !snapshot.is_first();
    let first_hash = if is_compared {
        base::triangle_hash(file)?
    } else {
        None
    };
    let context = Context::new(&meter, scratch);
    snapshot.make_once(
        slot,
        begun,
        |_| true,
        context,
        |stream| {
            let offset = stream.offset();
            let id = snapshot.stored_topology(offset);
            let mut out = MeshBuffer::default();
            stream.begin_parts(parts, &mut out);
            if !stream.is_complete()? {
                let base = base.as_ref().ok_or_else(|| stream.no_base())?;
                stream.difference_parts(parts, base, &mut out)?;
                return Ok(finish(out.into_mesh(id)));
            }
            let known = file.known_hash(offset);
            let identify = if is_compared && known.is_none() {
                Identify::IfWanted
            } else {
                Identify::No
            };
            let seen = stream.complete_parts(parts, &mut out, id, identify)?;
            if let Some(seen) = seen {
                file.remember_hash(offset, seen);
            }
            if let Some(hash) = known.or(seen)
                && is_compared
            {
                out.topology = Some(file.topology_beside(hash, first_hash));
            }
            Ok(finish(out.into_mesh(id)))
        },
    )
}

/// Positions of meshes in a cache.
struct Cached<'a> {
    cache: &'a SnapshotCache,
    meter: &'a Meter<'a>,
    part: Parts,
}

impl Frames for Cached<'_> {
    type Frame = Array<[f32; 3]>;

    fn frame(
        &mut self,
        snapshot: &Snapshot,
        _: Option<Self::Frame>,
    ) -> Result<(Self::Frame, TopologyId)> {
        let mesh = self.cache.snapshot(snapshot, self.part)?;
        self.meter.count_read(&snapshot.stored.extent);
        let topology = self.cache.seen(snapshot, mesh.topology)?;
        let array = if self.part == Parts::NORMALS {
            &mesh.normals
        } else {
            &mesh.positions
        };
        Ok((array.clone(), topology))
    }

    fn array(array: &Self::Frame) -> Cow<'_, [[f32; 3]]> {
        array.to_native()
    }

    fn take_order(&mut self) -> Vec<usize> {
        self.cache.lock().orders.pop().unwrap_or_default()
    }

    fn keep_order(&mut self, order: Vec<usize>) {
        self.cache.lock().orders.push(order);
    }
}

impl Mesh {
    /// The memory that only this mesh uses in the cache, in bytes. Triangles shared with another mesh are not counted.
    pub(super) fn cached_size(&self) -> u64 {
        /// The overhead in bytes of an entry, and of an array for the object that owns its memory.
        const ENTRY: u64 = 512;
        const OWNER: u64 = 64;
        let own_parts = if self.is_complete {
            Parts::ALL
        } else {
            Parts::ALL.without(Parts::TRIANGLES)
        };
        let arrays = as_u64(self.texcoords.len()).saturating_add(2);
        let headers = arrays.saturating_mul(size_u64::<Array<[f32; 3]>>().saturating_add(OWNER));
        self.sizes()
            .of(own_parts)
            .saturating_add(headers)
            .saturating_add(ENTRY)
    }

    /// This mesh with the parts of another one of the same snapshot. Shares the arrays of both.
    fn with(&self, other: &Self) -> Self {
        let newer = |part| {
            if other.parts.contains(part) {
                other
            } else {
                self
            }
        };
        Self {
            positions: newer(Parts::POSITIONS).positions.clone(),
            normals: newer(Parts::NORMALS).normals.clone(),
            texcoords: newer(Parts::TEXCOORDS).texcoords.clone(),
            triangles: newer(Parts::TRIANGLES).triangles.clone(),
            topology: if other.topology.is_seen() {
                other.topology
            } else {
                self.topology
            },
            is_complete: other.is_complete,
            parts: self.parts | other.parts,
        }
    }
}
