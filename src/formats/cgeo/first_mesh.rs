//! The mesh of the first snapshot, which differences are added to: its parts, as far as they have been decoded. Stores and counts
//! them; reads and decodes nothing.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::mesh::{Mesh, TopologyId};
use super::parts::MeshArray;
use super::triangle_hash::{KnownHashes, TriangleHash};
use super::triangles::{Counts, Triangles};
use crate::bytes::{Array, Source};
use crate::decode::Slot;
use crate::limits::{Charge, FileMemory, Limits};
use crate::num::as_u64;
use crate::report::Result;

/// The beginning of the mesh.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) counts: Counts,
    pub(super) topology: TopologyId,
}

/// An array of the mesh.
#[derive(Clone, Debug)]
pub(super) struct BaseArray {
    pub(super) array: Array<[f32; 3]>,
    /// Elements of the map channels before it.
    pub(super) before: u64,
    /// Its memory in bytes; 0 if it is a view of the source.
    pub(super) memory: u64,
}

impl BaseArray {
    /// An array of a mesh that has been decoded as a whole.
    pub(super) fn of(mesh: &Mesh, part: MeshArray) -> Option<Self> {
        let mut before: u64 = 0;
        let array = match part {
            MeshArray::Positions => &mesh.positions,
            MeshArray::Normals => &mesh.normals,
            MeshArray::MapChannel(channel) => {
                for earlier in mesh.texcoords.iter().take(channel) {
                    before = before.saturating_add(earlier.len_u64());
                }
                mesh.texcoords.get(channel)?
            }
            MeshArray::Triangles => return None,
        };
        Some(Self {
            array: array.clone(),
            before,
            memory: as_u64(array.as_bytes().len()),
        })
    }
}

/// The mesh, or parts of it.
#[derive(Clone)]
pub(super) struct BaseMesh {
    /// The counts of the whole mesh.
    pub(super) counts: Counts,
    pub(super) mesh: WholeOrParts,
}

/// A mesh that is shared, or one that shares the arrays of some parts.
#[derive(Clone)]
#[expect(
    clippy::large_enum_variant,
    reason = "a box would be allocated for each difference that is decoded"
)]
pub(super) enum WholeOrParts {
    Whole(Arc<Mesh>),
    Parts(Mesh),
}

impl Deref for WholeOrParts {
    type Target = Mesh;

    fn deref(&self) -> &Mesh {
        match self {
            Self::Whole(mesh) => mesh,
            Self::Parts(mesh) => mesh,
        }
    }
}

/// The decoded parts of the mesh, each of them made once. The error of a part that is damaged is kept, an error of reading is not.
pub(super) struct FirstMesh {
    pub(super) head: OnceLock<Head>,
    positions: Slot<Result<BaseArray>>,
    normals: Slot<Result<BaseArray>>,
    /// One for each map channel of the mesh, once one of them is requested.
    texcoords: OnceLock<Box<[Slot<Result<BaseArray>>]>>,
    pub(super) triangles: Slot<Result<Triangles>>,
    /// The hash of the triangles, with which complete snapshots are compared. `None` if they are damaged.
    pub(super) triangle_hash: OnceLock<Option<TriangleHash>>,
    /// The hashes of other complete snapshots.
    pub(super) hashes: KnownHashes,
    /// All of the arrays; shares the arrays that were decoded before.
    pub(super) whole: Slot<Result<Arc<Mesh>>>,
    /// The source with the bytes of the snapshot from a store, until the whole mesh is decoded.
    loaded: Mutex<Option<Loaded>>,
    memory: FileMemory,
}

/// The source with the bytes of the snapshot, and what they are charged with.
struct Loaded {
    source: Source,
    _charge: Charge<'static>,
}

impl FirstMesh {
    /// Makes an empty mesh for a file of `file` bytes.
    pub(super) fn new(limits: &Limits, file: u64) -> Self {
        Self {
            head: OnceLock::new(),
            positions: Slot::default(),
            normals: Slot::default(),
            texcoords: OnceLock::new(),
            triangles: Slot::default(),
            triangle_hash: OnceLock::new(),
            hashes: KnownHashes::default(),
            whole: Slot::default(),
            loaded: Mutex::new(None),
            memory: FileMemory::new(limits, file),
        }
    }

    /// Returns the slot of an array; `None` if the mesh has no such array.
    pub(super) fn slot(
        &self,
        part: MeshArray,
        counts: &Counts,
    ) -> Option<&Slot<Result<BaseArray>>> {
        match part {
            MeshArray::Positions => Some(&self.positions),
            MeshArray::Normals => Some(&self.normals),
            MeshArray::MapChannel(channel) => {
                let slots = self
                    .texcoords
                    .get_or_init(|| (0..counts.texcoord_sets).map(|_| Slot::default()).collect());
                slots.get(channel)
            }
            MeshArray::Triangles => None,
        }
    }

    /// The mesh, with arrays that were decoded separately in place of equal ones, so that none is in memory twice.
    pub(super) fn with_shared_arrays(&self, mut mesh: Mesh) -> Mesh {
        share(&self.positions, &mut mesh.positions);
        share(&self.normals, &mut mesh.normals);
        if let Some(slots) = self.texcoords.get() {
            for (slot, array) in slots.iter().zip(&mut mesh.texcoords) {
                share(slot, array);
            }
        }
        if let Some(Ok(triangles)) = self.triangles.get() {
            mesh.triangles = triangles.clone();
        }
        mesh
    }

    /// Returns `true` if a part may be cached, whose memory then counts.
    pub(super) fn admits(&self, memory: u64) -> bool {
        self.memory.admits(memory)
    }

    /// Returns `true` if a mesh may be cached that shares the arrays which were decoded separately.
    pub(super) fn admits_whole(&self, mesh: &Mesh) -> bool {
        let mut shared = memory_of(&self.positions).saturating_add(memory_of(&self.normals));
        if let Some(slots) = self.texcoords.get() {
            for slot in slots {
                shared = shared.saturating_add(memory_of(slot));
            }
        }
        if let Some(Ok(triangles)) = self.triangles.get() {
            shared = shared.saturating_add(as_u64(triangles.as_bytes().len()));
        }
        self.memory.admits(mesh.memory().saturating_sub(shared))
    }

    /// The source with the bytes of the snapshot, if they are kept.
    pub(super) fn loaded(&self) -> Option<Source> {
        let loaded = self.lock();
        loaded.as_ref().map(|loaded| loaded.source.clone())
    }

    /// Keeps the source with the `stored` bytes of the snapshot, until the whole mesh is decoded.
    pub(super) fn keep_loaded(&self, source: &Source, stored: u64) {
        let mut loaded = self.lock();
        if loaded.is_some() || self.whole.get().is_some() {
            return;
        }
        if let Some(charge) = self.memory.charge(stored) {
            *loaded = Some(Loaded {
                source: source.clone(),
                _charge: charge,
            });
        }
    }

    /// Drops the bytes of the snapshot, if they were kept.
    pub(super) fn drop_loaded(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<Loaded>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Replaces an array by the one of a slot, if that has been decoded.
fn share(slot: &Slot<Result<BaseArray>>, array: &mut Array<[f32; 3]>) {
    if let Some(Ok(decoded)) = slot.get() {
        *array = decoded.array.clone();
    }
}

/// The memory of an array that has been decoded.
fn memory_of(slot: &Slot<Result<BaseArray>>) -> u64 {
    match slot.get() {
        Some(Ok(decoded)) => decoded.memory,
        _ => 0,
    }
}
