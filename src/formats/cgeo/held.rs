//! Decoded snapshots within a capacity.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::mesh::{FileKey, Mesh};
use super::parts::Parts;
use super::proxy::Proxy;
use super::snapshot::Snapshot;
use crate::bytes::Array;
use crate::num::{as_u64, size_u64};

/// A snapshot of a file: entries of its table that name the same offset are one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    file: Arc<FileKey>,
    offset: u64,
}

impl Key {
    pub(super) fn new(snapshot: &Snapshot) -> Self {
        Self { file: Arc::clone(snapshot.proxy.key()), offset: snapshot.extent.start }
    }

    pub(super) fn is_of(&self, proxy: &Proxy) -> bool {
        self.file == *proxy.key()
    }
}

/// Meshes by what they are decoded from, within a capacity in bytes. The least recently used are dropped first.
pub(super) struct Held {
    capacity: u64,
    meshes: HashMap<Key, Entry>,
    /// The keys by when they were used last.
    by_use: BTreeMap<u64, Key>,
    /// Uses so far.
    uses: u64,
    /// Bytes of all meshes.
    pub(super) bytes: u64,
    /// The greatest value of `bytes` so far.
    pub(super) peak: u64,
}

struct Entry {
    mesh: Arc<Mesh>,
    size: u64,
    last_use: u64,
}

impl Held {
    pub(super) fn new(capacity: u64) -> Self {
        Self { capacity, meshes: HashMap::new(), by_use: BTreeMap::new(), uses: 0, bytes: 0, peak: 0 }
    }

    /// A mesh, which is now the last one used.
    pub(super) fn get(&mut self, key: &Key) -> Option<&Arc<Mesh>> {
        let entry = self.meshes.get_mut(key)?;
        self.uses = self.uses.saturating_add(1);
        if let Some(key) = self.by_use.remove(&entry.last_use) {
            entry.last_use = self.uses;
            self.by_use.insert(self.uses, key);
        }
        Some(&entry.mesh)
    }

    /// Returns `true` if there is a mesh with these parts. Does not count as a use.
    #[cfg(feature = "rayon")]
    pub(super) fn has(&self, key: &Key, parts: Parts) -> bool {
        self.meshes.get(key).is_some_and(|entry| entry.mesh.parts.contains(parts))
    }

    /// Keeps a mesh, if it fits the capacity, in place of the one with this key. Returns the meshes that were dropped for it, to be
    /// freed later.
    pub(super) fn insert(&mut self, key: Key, mesh: Arc<Mesh>) -> Vec<Arc<Mesh>> {
        let size = mesh.size();
        if size > self.capacity {
            return Vec::new();
        }
        let mut dropped = Vec::from_iter(self.remove(&key));
        while self.bytes.saturating_add(size) > self.capacity {
            let Some((_, oldest)) = self.by_use.pop_first() else { break };
            dropped.extend(self.remove(&oldest));
        }
        self.uses = self.uses.saturating_add(1);
        self.bytes = self.bytes.saturating_add(size);
        self.peak = self.peak.max(self.bytes);
        self.by_use.insert(self.uses, key.clone());
        self.meshes.insert(key, Entry { mesh, size, last_use: self.uses });
        dropped
    }

    fn remove(&mut self, key: &Key) -> Option<Arc<Mesh>> {
        let entry = self.meshes.remove(key)?;
        self.by_use.remove(&entry.last_use);
        self.bytes = self.bytes.saturating_sub(entry.size);
        Some(entry.mesh)
    }

    /// Drops the meshes whose keys are `unwanted`. Returns them, to be freed later.
    pub(super) fn drop_where(&mut self, unwanted: impl Fn(&Key) -> bool) -> Vec<Arc<Mesh>> {
        let keys: Vec<Key> = self.meshes.keys().filter(|key| unwanted(key)).cloned().collect();
        keys.iter().filter_map(|key| self.remove(key)).collect()
    }
}

impl Mesh {
    /// The memory that only this mesh uses in the cache, in bytes. Triangles shared with another mesh are not counted.
    fn size(&self) -> u64 {
        /// The overhead in bytes of an entry, and of an array for the object that owns its memory.
        const ENTRY: u64 = 512;
        const OWNER: u64 = 64;
        let triangles = if self.is_complete { as_u64(self.triangles.as_bytes().len()) } else { 0 };
        let arrays = as_u64(self.texcoords.len()).saturating_add(2);
        let headers = arrays.saturating_mul(size_u64::<Array<[f32; 3]>>().saturating_add(OWNER));
        self.size_of(Parts::ALL).saturating_add(triangles).saturating_add(headers).saturating_add(ENTRY)
    }
}
