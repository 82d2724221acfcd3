//! The decoded parts of the first snapshot's mesh, which differences are added to.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::mesh::{Mesh, TopologyId};
use super::parts::Part;
use super::triangles::Counts;
use super::triangles::Triangles;
use crate::bytes::{Array, Source};
use crate::decode::Once;
use crate::limits::{Kept, Limits};
use crate::num::{Span, as_u64};
use crate::report::Result;

/// The beginning of the mesh.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) counts: Counts,
    pub(crate) topology: TopologyId,
}

/// An array of the mesh.
#[derive(Clone, Debug)]
pub(crate) struct BaseArray {
    pub(crate) array: Array<[f32; 3]>,
    /// Elements of the map channels before it.
    pub(crate) before: u64,
    /// The memory that it takes: none where the source has it.
    pub(crate) memory: u64,
}

/// The mesh, or parts of it.
pub(crate) struct BaseMesh {
    /// The counts of the whole mesh.
    pub(crate) counts: Counts,
    kind: Kind,
}

enum Kind {
    Whole(Arc<Mesh>),
    Parts(Mesh),
}

impl BaseMesh {
    pub(super) fn whole(mesh: Arc<Mesh>) -> Self {
        Self { counts: mesh.counts(), kind: Kind::Whole(mesh) }
    }

    pub(super) fn of_parts(counts: Counts, mesh: Mesh) -> Self {
        Self { counts, kind: Kind::Parts(mesh) }
    }

    pub(crate) fn mesh(&self) -> &Mesh {
        match &self.kind {
            Kind::Whole(mesh) => mesh,
            Kind::Parts(mesh) => mesh,
        }
    }
}

/// The parts of the mesh, each of them once. A part that is damaged stays so; errors of reading are not kept.
pub(super) struct Base {
    pub(super) head: Once<Head>,
    positions: Once<Result<BaseArray>>,
    normals: Once<Result<BaseArray>>,
    /// As many as the mesh has, once one of them is asked for.
    texcoords: OnceLock<Box<[Once<Result<BaseArray>>]>>,
    pub(super) triangles: Once<Result<Triangles>>,
    /// All of the arrays; shares the arrays that are decoded already.
    pub(super) whole: Once<Result<Arc<Mesh>>>,
    /// The source with the bytes of the snapshot, until the whole mesh is decoded.
    loaded: Mutex<Option<Source>>,
    kept: Kept,
}

impl Base {
    /// Makes an empty base for a file of `file` bytes.
    pub(super) fn new(limits: &Limits, file: u64) -> Self {
        Self {
            head: Once::default(),
            positions: Once::default(),
            normals: Once::default(),
            texcoords: OnceLock::new(),
            triangles: Once::default(),
            whole: Once::default(),
            loaded: Mutex::new(None),
            kept: Kept::new(limits, file),
        }
    }

    /// Returns the slot of an array; `None` if the mesh has no such array.
    pub(super) fn slot(&self, part: Part, counts: &Counts) -> Option<&Once<Result<BaseArray>>> {
        match part {
            Part::Positions => Some(&self.positions),
            Part::Normals => Some(&self.normals),
            Part::MapChannel(channel) => {
                let slots = || (0..counts.texcoord_sets).map(|_| Once::default()).collect();
                self.texcoords.get_or_init(slots).get(channel)
            }
            Part::Triangles => None,
        }
    }

    /// Shares arrays that have been decoded separately; the mesh provides the missing ones.
    pub(super) fn shared(&self, mut mesh: Mesh) -> Mesh {
        let share = |slot: &Once<Result<BaseArray>>, array: &mut Array<[f32; 3]>| {
            if let Some(Ok(own)) = slot.get() {
                *array = own.array.clone();
            }
        };
        share(&self.positions, &mut mesh.positions);
        share(&self.normals, &mut mesh.normals);
        let slots = self.texcoords.get().into_iter().flatten();
        slots.zip(&mut mesh.texcoords).for_each(|(slot, array)| share(slot, array));
        if let Some(Ok(own)) = self.triangles.get() {
            mesh.triangles = own.clone();
        }
        mesh
    }

    /// Returns `true` if a part may be cached, whose memory then counts.
    pub(super) fn admits(&self, memory: u64) -> bool {
        self.kept.admits(memory)
    }

    /// Returns `true` if a mesh may be cached that shares the existing arrays.
    pub(super) fn admits_whole(&self, mesh: &Mesh) -> bool {
        let arrays = [&self.positions, &self.normals].into_iter();
        let arrays = arrays.chain(self.texcoords.get().into_iter().flatten());
        let memory = |slot: &Once<Result<BaseArray>>| Some(slot.get()?.as_ref().ok()?.memory);
        let arrays = arrays.filter_map(memory).fold(0, u64::saturating_add);
        let triangles = self.triangles.get().and_then(|triangles| triangles.as_ref().ok());
        let triangles = triangles.map_or(0, |triangles| as_u64(triangles.as_bytes().len()));
        self.kept.admits(mesh.memory().saturating_sub(arrays.saturating_add(triangles)))
    }

    /// The source with the bytes of the snapshot, if they are kept.
    pub(super) fn loaded(&self) -> Option<Source> {
        self.lock().clone()
    }

    /// Keeps the bytes of the snapshot as long as parts of it are not decoded.
    pub(super) fn keep_loaded(&self, source: &Source, extent: &Range<u64>) {
        let mut loaded = self.lock();
        if loaded.is_none() && self.whole.get().is_none() && self.kept.admits(extent.length()) {
            *loaded = Some(source.clone());
        }
    }

    pub(super) fn drop_loaded(&self, extent: &Range<u64>) {
        if self.lock().take().is_some() {
            self.kept.give_back(extent.length());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Source>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BaseArray {
    /// An array of a mesh that has been decoded as a whole.
    pub(super) fn of(mesh: &Mesh, part: Part) -> Option<Self> {
        let (array, before) = match part {
            Part::Positions => (&mesh.positions, 0),
            Part::Normals => (&mesh.normals, 0),
            Part::MapChannel(channel) => {
                let before = mesh.texcoords.iter().take(channel).map(Array::len_u64);
                (mesh.texcoords.get(channel)?, before.fold(0, u64::saturating_add))
            }
            Part::Triangles => return None,
        };
        Some(Self { array: array.clone(), before, memory: as_u64(array.as_bytes().len()) })
    }
}
