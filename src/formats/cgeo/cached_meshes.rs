//! Decoded meshes within a capacity, and which of them are evicted.

use std::collections::HashMap;
use std::sync::Arc;

use super::mesh::{FileKey, Mesh};
use super::parts::Parts;
use super::proxy::Proxy;
use super::snapshot::Snapshot;

/// A snapshot of a file: entries of its table that name the same offset are one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    file: Arc<FileKey>,
    offset: u64,
}

impl Key {
    pub(super) fn new(snapshot: &Snapshot) -> Self {
        Self {
            file: Arc::clone(&snapshot.stored.file.key),
            offset: snapshot.stored.extent.start,
        }
    }

    pub(super) fn is_of(&self, proxy: &Proxy) -> bool {
        self.file == *proxy.key()
    }
}

/// Meshes by what they are decoded from, within a capacity in bytes.
///
/// Two policies compete. *Oldest first* evicts the least recently used mesh, which suits requests that go on to other snapshots.
/// In a loop over more snapshots than fit it has no hit, because it evicts each snapshot shortly before the next request for it.
/// *Newest first* evicts the most recently used mesh that is not in `window`, so that most of the loop stays cached.
///
/// `oldest_first` has what the first policy would have cached, so each request shows which of the two policies is better. A score
/// counts these requests, and chooses the policy that evicts. It begins with oldest first.
///
/// The other policies that were simulated either have no hits in loops (SIEVE, CLOCK), or fewer than oldest first when a
/// playback goes back and forth (2Q, S3-FIFO, LIRS), or keep what is never used again (newest first without a score).
///
/// Each entry has a slot, which is its index in all vectors. Hits change links between slots, and allocate nothing.
pub(super) struct CachedMeshes {
    capacity: u64,
    slots: HashMap<Key, usize>,
    entries: Vec<Entry>,
    /// Slots without an entry.
    free: UseOrder,
    /// The cached meshes that were used last, up to an eighth of the capacity. Players request the two snapshots around a time
    /// again and again, so the newest meshes are not evicted.
    window: UseOrder,
    /// The other cached meshes.
    rest: UseOrder,
    /// The entries that oldest first would have cached.
    oldest_first: UseOrder,
    /// The advantage of newest first. If it is negative, oldest first evicts.
    score: i64,
    /// Insertions so far: the clock by which entries age.
    insertions: u64,
    peak: u64,
}

struct Entry {
    key: Key,
    /// `None` if it was evicted, and oldest first would have cached it.
    mesh: Option<Arc<Mesh>>,
    /// The number of insertions at its last use.
    last_use: u64,
}

impl CachedMeshes {
    pub(super) fn new(capacity: u64) -> Self {
        Self {
            capacity,
            slots: HashMap::new(),
            entries: Vec::new(),
            free: UseOrder::default(),
            window: UseOrder::default(),
            rest: UseOrder::default(),
            oldest_first: UseOrder::default(),
            score: -1,
            insertions: 0,
            peak: 0,
        }
    }

    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The bytes of all meshes.
    pub(super) fn bytes(&self) -> u64 {
        self.window.bytes.saturating_add(self.rest.bytes)
    }

    /// The greatest value of `bytes` so far.
    pub(super) fn peak(&self) -> u64 {
        self.peak
    }

    /// A mesh with any parts. Does not count as a use.
    pub(super) fn get(&self, key: &Key) -> Option<&Arc<Mesh>> {
        let slot = self.slots.get(key)?;
        self.entries.get(*slot)?.mesh.as_ref()
    }

    /// A mesh with these parts, which is now the last one used.
    pub(super) fn request(&mut self, key: &Key, parts: Parts) -> Option<Arc<Mesh>> {
        let slot = *self.slots.get(key)?;
        let mesh = self.entries.get(slot)?.mesh.as_ref()?;
        if !mesh.parts.contains(parts) {
            return None;
        }
        let mesh = Arc::clone(mesh);
        // Both policies have what is in the window.
        if self.rest.has(slot) {
            if !self.oldest_first.has(slot) {
                self.add_to_score(2);
            } else if self.score < 0 {
                // Newest first might have evicted it.
                self.add_to_score(-2);
            }
        }
        let size = self.remove_from_order(slot);
        self.make_newest(slot, size);
        Some(mesh)
    }

    /// Keeps a mesh, if it fits the capacity, in place of the one with this key. `is_repeated` is `true` if it was cached before.
    /// Returns the meshes that were dropped for it, to be freed later.
    pub(super) fn insert(
        &mut self,
        key: Key,
        mesh: Arc<Mesh>,
        is_repeated: bool,
    ) -> Vec<Arc<Mesh>> {
        let size = mesh.cached_size();
        if size > self.capacity {
            return Vec::new();
        }
        let slot = self.slot(key);
        let mut dropped = Vec::new();
        if let Some(replaced) = self.take_mesh(slot) {
            dropped.push(replaced);
        } else if self.oldest_first.has(slot) {
            self.add_to_score(-2);
        } else if self.score < 0 && is_repeated {
            // Newest first might have kept it, which is not known, so it counts half.
            self.add_to_score(1);
        }
        self.insertions = self.insertions.saturating_add(1);
        while self.bytes().saturating_add(size) > self.capacity {
            let Some(victim) = self.victim() else { break };
            dropped.extend(self.take_mesh(victim));
            self.forget_unless_needed(victim);
        }
        if let Some(entry) = self.entries.get_mut(slot) {
            entry.mesh = Some(mesh);
        }
        self.make_newest(slot, size);
        self.peak = self.peak.max(self.bytes());
        dropped
    }

    /// Drops the meshes whose keys are `unwanted`. Returns them, to be freed later.
    pub(super) fn drop_where(&mut self, unwanted: impl Fn(&Key) -> bool) -> Vec<Arc<Mesh>> {
        let mut dropped = Vec::new();
        for slot in 0..self.entries.len() {
            let is_unwanted = self
                .entries
                .get(slot)
                .is_some_and(|entry| unwanted(&entry.key));
            if is_unwanted && !self.free.has(slot) {
                dropped.extend(self.take_mesh(slot));
                self.oldest_first.remove(slot);
                self.forget_unless_needed(slot);
            }
        }
        dropped
    }

    /// The mesh to evict next.
    fn victim(&self) -> Option<usize> {
        let Some(oldest) = self.rest.oldest else {
            return self.window.oldest;
        };
        let last_use = self.entries.get(oldest).map_or(0, |entry| entry.last_use);
        // Without this limit, newest first would keep what is never used again.
        let longest = self.cached().saturating_mul(2);
        let is_unused = self.insertions.saturating_sub(last_use) > longest;
        if self.score < 0 || is_unused {
            return Some(oldest);
        }
        self.rest.newest
    }

    /// The number of cached meshes.
    fn cached(&self) -> u64 {
        self.window.len.saturating_add(self.rest.len)
    }

    /// Both limits grow with the number of cached meshes. Newest first is given up soon, because unused meshes would stay.
    /// Oldest first is given up late, because a playback back and forth has as many misses as hits in turn.
    fn add_to_score(&mut self, change: i64) {
        let cached = i64::try_from(self.cached()).unwrap_or(i64::MAX).max(8);
        let lowest = cached.saturating_mul(-2);
        self.score = self.score.saturating_add(change).clamp(lowest, cached / 2);
    }

    /// The slot of a key, which may be new.
    fn slot(&mut self, key: Key) -> usize {
        if let Some(slot) = self.slots.get(&key) {
            return *slot;
        }
        let entry = Entry {
            key: key.clone(),
            mesh: None,
            last_use: 0,
        };
        let slot = self.free.newest.unwrap_or(self.entries.len());
        self.free.remove(slot);
        match self.entries.get_mut(slot) {
            Some(free) => *free = entry,
            None => self.entries.push(entry),
        }
        for order in [
            &mut self.free,
            &mut self.window,
            &mut self.rest,
            &mut self.oldest_first,
        ] {
            order.make_room(slot);
        }
        self.slots.insert(key, slot);
        slot
    }

    /// Makes a mesh that is in neither `window` nor `rest` the last one used.
    fn make_newest(&mut self, slot: usize, size: u64) {
        if let Some(entry) = self.entries.get_mut(slot) {
            entry.last_use = self.insertions;
        }
        self.window.add(slot, size);
        while self.window.bytes > self.capacity / 8 && self.window.len > 1 {
            let Some(oldest) = self.window.oldest else {
                break;
            };
            let size = self.window.remove(oldest);
            self.rest.add(oldest, size);
        }
        self.oldest_first.remove(slot);
        self.oldest_first.add(slot, size);
        while self.oldest_first.bytes > self.capacity {
            let Some(oldest) = self.oldest_first.oldest else {
                break;
            };
            self.oldest_first.remove(oldest);
            self.forget_unless_needed(oldest);
        }
    }

    /// Returns the mesh's size.
    fn remove_from_order(&mut self, slot: usize) -> u64 {
        let order = if self.window.has(slot) {
            &mut self.window
        } else {
            &mut self.rest
        };
        order.remove(slot)
    }

    fn take_mesh(&mut self, slot: usize) -> Option<Arc<Mesh>> {
        let mesh = self.entries.get_mut(slot)?.mesh.take()?;
        self.remove_from_order(slot);
        Some(mesh)
    }

    /// Removes an entry that has no mesh, and that oldest first would not have cached.
    fn forget_unless_needed(&mut self, slot: usize) {
        let Some(entry) = self.entries.get(slot) else {
            return;
        };
        if entry.mesh.is_none() && !self.oldest_first.has(slot) {
            self.slots.remove(&entry.key);
            self.free.add(slot, 0);
        }
    }
}

/// Slots in the order of their last use: a linked list.
#[derive(Default)]
struct UseOrder {
    links: Vec<Link>,
    newest: Option<usize>,
    oldest: Option<usize>,
    len: u64,
    /// The sum of all sizes.
    bytes: u64,
}

#[derive(Clone, Default)]
struct Link {
    is_used: bool,
    newer: Option<usize>,
    older: Option<usize>,
    size: u64,
}

impl UseOrder {
    /// Makes memory for a slot, so that `add` does not allocate.
    fn make_room(&mut self, slot: usize) {
        if slot >= self.links.len() {
            self.links.resize(slot.saturating_add(1), Link::default());
        }
    }

    fn has(&self, slot: usize) -> bool {
        self.links.get(slot).is_some_and(|link| link.is_used)
    }

    /// Adds a slot as the newest one.
    fn add(&mut self, slot: usize, size: u64) {
        let older = self.newest;
        self.set_newer(older, Some(slot));
        self.newest = Some(slot);
        if let Some(link) = self.links.get_mut(slot) {
            *link = Link {
                is_used: true,
                newer: None,
                older,
                size,
            };
        }
        self.len = self.len.saturating_add(1);
        self.bytes = self.bytes.saturating_add(size);
    }

    /// Removes a slot, if it is there, and returns its size.
    fn remove(&mut self, slot: usize) -> u64 {
        if !self.has(slot) {
            return 0;
        }
        let link = self
            .links
            .get_mut(slot)
            .map(std::mem::take)
            .unwrap_or_default();
        self.set_newer(link.older, link.newer);
        self.set_older(link.newer, link.older);
        self.len = self.len.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(link.size);
        link.size
    }

    /// Sets what is newer than a slot. `None` is the end of the list.
    fn set_newer(&mut self, slot: Option<usize>, newer: Option<usize>) {
        match slot.and_then(|slot| self.links.get_mut(slot)) {
            Some(link) => link.newer = newer,
            None => self.oldest = newer,
        }
    }

    /// Sets what is older than a slot. `None` is the end of the list.
    fn set_older(&mut self, slot: Option<usize>, older: Option<usize>) {
        match slot.and_then(|slot| self.links.get_mut(slot)) {
            Some(link) => link.older = older,
            None => self.newest = older,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::mesh::{FileId, MeshBuffer, SameTriangles, TopologyId};
    use super::*;
    use crate::dialect::Dialect;
    use crate::options::Options;

    fn key(offset: u64) -> Key {
        let file = FileId::Proxy(1);
        let dialect = Dialect::default();
        Key {
            file: Arc::new(FileKey {
                file,
                dialect,
                options: Options::default(),
            }),
            offset,
        }
    }

    fn mesh(vertices: usize) -> Arc<Mesh> {
        let (file, dialect, triangles) =
            (FileId::Proxy(0), Dialect::default(), SameTriangles::First);
        let buffer = MeshBuffer {
            positions: vec![[0.0; 3]; vertices],
            parts: Parts::POSITIONS,
            ..MeshBuffer::default()
        };
        Arc::new(buffer.into_mesh(TopologyId {
            file,
            dialect,
            triangles,
        }))
    }

    /// The slots of an order, the newest first, in both directions.
    fn slots(order: &UseOrder) -> Vec<usize> {
        let older = std::iter::successors(order.newest, |slot| order.links[*slot].older);
        let newer = std::iter::successors(order.oldest, |slot| order.links[*slot].newer);
        let (slots, mut reversed): (Vec<usize>, Vec<usize>) = (older.collect(), newer.collect());
        reversed.reverse();
        assert_eq!(slots, reversed);
        assert_eq!(slots.len() as u64, order.len);
        assert_eq!(
            slots
                .iter()
                .map(|slot| order.links[*slot].size)
                .sum::<u64>(),
            order.bytes
        );
        slots
    }

    fn check(cache: &CachedMeshes) {
        let window = slots(&cache.window);
        let rest = slots(&cache.rest);
        let free = slots(&cache.free);
        let oldest_first = slots(&cache.oldest_first);
        assert!(cache.bytes() <= cache.capacity && cache.oldest_first.bytes <= cache.capacity);
        assert!(cache.window.bytes <= cache.capacity / 8 || window.len() == 1);
        for (slot, entry) in cache.entries.iter().enumerate() {
            let is_cached = window.contains(&slot) || rest.contains(&slot);
            assert_eq!(is_cached, entry.mesh.is_some());
            assert_ne!(
                is_cached || oldest_first.contains(&slot),
                free.contains(&slot)
            );
            assert_eq!(
                cache.slots.get(&entry.key) == Some(&slot),
                !free.contains(&slot)
            );
        }
        let sizes = entries_by_size(cache, &window) + entries_by_size(cache, &rest);
        assert_eq!(sizes, cache.bytes());
        assert_eq!(cache.slots.len() + free.len(), cache.entries.len());
    }

    fn entries_by_size(cache: &CachedMeshes, slots: &[usize]) -> u64 {
        slots
            .iter()
            .map(|slot| cache.entries[*slot].mesh.as_ref().unwrap().cached_size())
            .sum()
    }

    #[test]
    fn orders_and_slots_agree_after_any_requests() {
        let mut random = 1_u32;
        let mut below = |end: u32| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 8) % end
        };
        for capacity in [0, 1_000, 2_000, 20_000, 100_000] {
            let mut cache = CachedMeshes::new(capacity);
            let rounds = if cfg!(miri) { 300 } else { 6_000 };
            for round in 0..rounds {
                // Loops, then random keys, then a few keys.
                let offset = match round / 500 % 3 {
                    0 => round % 40,
                    1 => below(60),
                    _ => 1_000 + below(8),
                };
                let key = key(u64::from(offset));
                if cache.request(&key, Parts::POSITIONS).is_none() || below(20) == 0 {
                    let dropped =
                        cache.insert(key.clone(), mesh(below(100) as usize), below(2) == 0);
                    drop(dropped);
                }
                if below(300) == 0 {
                    let odd = below(2);
                    cache.drop_where(|key| key.offset % 2 == u64::from(odd));
                }
                check(&cache);
            }
            assert!(
                cache.peak() <= capacity && cache.entries.len() as u64 <= 2 * capacity / 512 + 2
            );
            cache.drop_where(|_| true);
            check(&cache);
            assert_eq!((cache.slots.len(), cache.bytes()), (0, 0));
        }
    }
}
