//! The first snapshot's mesh, which differences are added to: decoded part by part, as far as it is needed, and once.

use std::ops::{Deref, Range};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;

use super::arrays::MeshForm;
use super::layout::snapshot_address;
use super::mesh::{Mesh, MeshBuffer, SameTriangles, TopologyId};
use super::parts::{MeshArray, Parts};
use super::proxy::Proxy;
use super::rules::FILE;
use super::sections::Section;
use super::snapshot::Snapshot;
use super::stream::Stream;
use super::triangle_hash::{KnownHashes, TriangleHash};
use super::triangles::{Counts, Triangles};
use crate::bytes::{Array, Source};
use crate::decode::{Scratch, Slot};
use crate::limits::{Limits, Meter, job};
use crate::num::{Span, as_u64};
use crate::report::{ErrorKind, Result};

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
#[derive(Clone)]
pub(crate) struct BaseMesh {
    /// The counts of the whole mesh.
    pub(crate) counts: Counts,
    pub(crate) mesh: WholeOrParts,
}

/// A mesh that is shared, or one that shares the arrays of some parts.
#[expect(
    clippy::large_enum_variant,
    reason = "a box would be an allocation for each difference"
)]
#[derive(Clone)]
pub(crate) enum WholeOrParts {
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

/// The parts of the mesh, each of them once. A part that is damaged stays so; errors of reading are not kept.
pub(super) struct FirstMesh {
    head: OnceLock<Head>,
    positions: Slot<Result<BaseArray>>,
    normals: Slot<Result<BaseArray>>,
    /// As many as the mesh has, once one of them is asked for.
    texcoords: OnceLock<Box<[Slot<Result<BaseArray>>]>>,
    triangles: Slot<Result<Triangles>>,
    /// The hash of the triangles, with which complete snapshots are compared. `None` if they are damaged.
    triangle_hash: OnceLock<Option<TriangleHash>>,
    /// The hashes of other complete snapshots.
    hashes: KnownHashes,
    /// All of the arrays; shares the arrays that are decoded already.
    whole: Slot<Result<Arc<Mesh>>>,
    /// The source with the bytes of the snapshot from a store, until the whole mesh is decoded.
    loaded: Mutex<Option<Source>>,
    kept: Meter<'static>,
}

impl FirstMesh {
    /// Makes an empty base for a file of `file` bytes.
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
            kept: Meter::of_file(limits, file),
        }
    }

    /// Returns the slot of an array; `None` if the mesh has no such array.
    fn slot(&self, part: MeshArray, counts: &Counts) -> Option<&Slot<Result<BaseArray>>> {
        match part {
            MeshArray::Positions => Some(&self.positions),
            MeshArray::Normals => Some(&self.normals),
            MeshArray::MapChannel(channel) => {
                let slots = || (0..counts.texcoord_sets).map(|_| Slot::default()).collect();
                self.texcoords.get_or_init(slots).get(channel)
            }
            MeshArray::Triangles => None,
        }
    }

    /// Shares arrays that have been decoded separately; the mesh provides the missing ones.
    fn shared(&self, mut mesh: Mesh) -> Mesh {
        let share = |slot: &Slot<Result<BaseArray>>, array: &mut Array<[f32; 3]>| {
            if let Some(Ok(own)) = slot.get() {
                *array = own.array.clone();
            }
        };
        share(&self.positions, &mut mesh.positions);
        share(&self.normals, &mut mesh.normals);
        let slots = self.texcoords.get().into_iter().flatten();
        slots
            .zip(&mut mesh.texcoords)
            .for_each(|(slot, array)| share(slot, array));
        if let Some(Ok(own)) = self.triangles.get() {
            mesh.triangles = own.clone();
        }
        mesh
    }

    /// Returns `true` if a part may be cached, whose memory then counts.
    fn admits(&self, memory: u64) -> bool {
        self.kept.admits(memory)
    }

    /// Returns `true` if a mesh may be cached that shares the existing arrays.
    fn admits_whole(&self, mesh: &Mesh) -> bool {
        let arrays = [&self.positions, &self.normals].into_iter();
        let arrays = arrays.chain(self.texcoords.get().into_iter().flatten());
        let memory = |slot: &Slot<Result<BaseArray>>| Some(slot.get()?.as_ref().ok()?.memory);
        let arrays = arrays.filter_map(memory).fold(0, u64::saturating_add);
        let triangles = self
            .triangles
            .get()
            .and_then(|triangles| triangles.as_ref().ok());
        let triangles = triangles.map_or(0, |triangles| as_u64(triangles.as_bytes().len()));
        self.kept.admits(
            mesh.memory()
                .saturating_sub(arrays.saturating_add(triangles)),
        )
    }

    /// Keeps the bytes of the snapshot as long as parts of it are not decoded.
    fn keep_loaded(&self, source: &Source, extent: &Range<u64>) {
        let mut loaded = self.lock();
        if loaded.is_none() && self.whole.get().is_none() && self.kept.admits(extent.length()) {
            *loaded = Some(source.clone());
        }
    }

    fn drop_loaded(&self, extent: &Range<u64>) {
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
    fn of(mesh: &Mesh, part: MeshArray) -> Option<Self> {
        let (array, before) = match part {
            MeshArray::Positions => (&mesh.positions, 0),
            MeshArray::Normals => (&mesh.normals, 0),
            MeshArray::MapChannel(channel) => {
                let before = mesh.texcoords.iter().take(channel).map(Array::len_u64);
                (
                    mesh.texcoords.get(channel)?,
                    before.fold(0, u64::saturating_add),
                )
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

impl Proxy {
    /// The mesh of the first snapshot, which differences are added to. Decoded once.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Snapshot::mesh`], and [`Malformed`](crate::ErrorKind::Malformed) if the mesh is a difference.
    pub fn base(&self) -> Result<Arc<Mesh>> {
        let base = self.base_slots();
        if let Some(whole) = base.whole.get() {
            return whole.clone();
        }
        let first = self.first_snapshot()?;
        let keep = |mesh: &Arc<Mesh>| base.admits_whole(mesh);
        let mesh = first.make_base(&base.whole, MeshArray::Triangles, keep, |_, stream, _| {
            let (id, mut buffer) = (self.topology(SameTriangles::First), MeshBuffer::default());
            stream.complete_mesh(&mut buffer, id)?;
            Ok(Arc::new(base.shared(buffer.into_mesh(id))))
        });
        if mesh.is_ok() {
            base.drop_loaded(&first.extent);
        }
        mesh
    }

    /// Returns parts of the mesh of the first snapshot. Their memory counts for the call that adds a difference to them.
    pub(super) fn base_within(&self, parts: Parts, meter: &Meter) -> Result<BaseMesh> {
        // The length of each map channel is stored before its elements: they are found by decoding all of them.
        if parts.contains(Parts::TEXCOORDS) || self.base_slots().whole.get().is_some() {
            let base = self.base()?;
            self.count_base(base.memory(), meter)?;
            return Ok(BaseMesh {
                counts: base.counts(),
                mesh: WholeOrParts::Whole(base),
            });
        }
        let head = self.base_head(true)?;
        let array = |part, wanted| -> Result<Array<[f32; 3]>> {
            let of_part = || Ok(self.base_array(&head, part, meter)?.array);
            if parts.contains(wanted) {
                of_part()
            } else {
                Ok(Array::new(Bytes::new()))
            }
        };
        let positions = array(MeshArray::Positions, Parts::POSITIONS)?;
        let normals = array(MeshArray::Normals, Parts::NORMALS)?;
        let triangles = if parts.contains(Parts::TRIANGLES) {
            let triangles = self.base_triangles()?;
            self.count_base(as_u64(triangles.as_bytes().len()), meter)?;
            triangles
        } else {
            Triangles::default()
        };
        let (texcoords, topology, is_complete) = (Vec::new(), head.topology, true);
        let mesh = Mesh {
            positions,
            normals,
            texcoords,
            triangles,
            topology,
            is_complete,
            parts,
        };
        Ok(BaseMesh {
            counts: head.counts,
            mesh: WholeOrParts::Parts(mesh),
        })
    }

    /// Returns the beginning of the mesh. If arrays `follow`, what is read from a store is enough for them.
    pub(super) fn base_head(&self, follow: bool) -> Result<Head> {
        let head = &self.base_slots().head;
        if let Some(head) = head.get() {
            return Ok(*head);
        }
        let first = if follow {
            self.first_snapshot()?
        } else {
            self.snapshot(0)?
        };
        let read = || {
            first.with_mesh(
                None,
                &first.meter(),
                &mut Scratch::default(),
                |_, stream, _| {
                    let counts = stream.in_part().complete_counts()?;
                    Ok(Head {
                        counts,
                        topology: self.topology(SameTriangles::First),
                    })
                },
            )
        };
        let made = job::unmetered(read)?;
        Ok(*head.get_or_init(|| made))
    }

    /// Returns an array that the mesh has. Its memory counts for the call.
    pub(super) fn base_array(
        &self,
        head: &Head,
        part: MeshArray,
        meter: &Meter,
    ) -> Result<BaseArray> {
        let array = self.find_base_array(head, part)?;
        self.count_base(array.memory, meter)?;
        Ok(array)
    }

    fn find_base_array(&self, head: &Head, part: MeshArray) -> Result<BaseArray> {
        let base = self.base_slots();
        if let Some(Ok(whole)) = base.whole.get()
            && let Some(found) = BaseArray::of(whole, part)
        {
            return Ok(found);
        }
        let slot = base
            .slot(part, &head.counts)
            .ok_or_else(|| FILE.out_of_range("map channel"))?;
        if let Some(found) = slot.get() {
            return found.clone();
        }
        let first = self.first_snapshot()?;
        let keep = |made: &BaseArray| base.admits(made.memory);
        if let Some(found) = first.in_place(part, &first.meter(), &mut Scratch::default())? {
            return slot.get_or_try_make(|| Ok(Ok(found)), |_| true)?;
        }
        first.make_base(slot, part, keep, |_, stream, skipped| {
            let (counts, mut out) = (stream.in_part().complete_counts()?, Vec::new());
            let before = stream.array_alone(
                MeshForm::Complete(&counts),
                part,
                skipped,
                (&mut out).into(),
            )?;
            let array = Array::from_vec(out);
            Ok(BaseArray {
                memory: as_u64(array.as_bytes().len()),
                array,
                before,
            })
        })
    }

    /// The triangles of the mesh.
    pub(super) fn base_triangles(&self) -> Result<Triangles> {
        let base = self.base_slots();
        if let Some(Ok(whole)) = base.whole.get() {
            return Ok(whole.triangles.clone());
        }
        if let Some(found) = base.triangles.get() {
            return found.clone();
        }
        let keep = |made: &Triangles| base.admits(as_u64(made.as_bytes().len()));
        self.first_snapshot()?.make_base(
            &base.triangles,
            MeshArray::Triangles,
            keep,
            |_, stream, skipped| {
                let (counts, mut out) = (stream.complete_counts()?, Triangles::default());
                stream.triangles_alone(&counts, skipped, &mut out)?;
                Ok(out)
            },
        )
    }

    /// The hash of the triangles of the first snapshot; `None` if they are damaged, so that no others are equal. Found once.
    pub(super) fn first_hash(&self) -> Result<Option<TriangleHash>> {
        let base = self.base_slots();
        if let Some(hash) = base.triangle_hash.get() {
            return Ok(*hash);
        }
        let find = || -> Result<TriangleHash> {
            let triangles = self.base_triangles()?;
            Ok(TriangleHash::of(
                &self.base_head(false)?.counts,
                triangles.as_bytes(),
            ))
        };
        let hash = match job::unmetered(find) {
            Ok(hash) => Some(hash),
            // Another call may read it.
            Err(error) if matches!(error.kind(), ErrorKind::Io(_) | ErrorKind::Cancelled) => {
                return Err(error);
            }
            Err(_) => None,
        };
        Ok(*base.triangle_hash.get_or_init(|| hash))
    }

    /// The hash of the triangles of the complete mesh at this offset, if it has been seen.
    pub(super) fn known_hash(&self, offset: u64) -> Option<TriangleHash> {
        self.base_slots().hashes.get(offset)
    }

    pub(super) fn remember_hash(&self, offset: u64, hash: TriangleHash) {
        self.base_slots()
            .hashes
            .insert(offset, hash, self.snapshot_count());
    }

    fn count_base(&self, memory: u64, meter: &Meter) -> Result<()> {
        meter.count_read(&self.layout().extent(0)?);
        let taken = meter.take_kept(memory, "mesh of the first snapshot");
        taken.map_err(|error| FILE.of(snapshot_address(0)).locate(error))
    }

    /// The first snapshot. From a store, all of it is read, because its arrays follow each other, and each request takes long.
    fn first_snapshot(&self) -> Result<Snapshot> {
        let (first, base) = (self.snapshot(0)?, self.base_slots());
        if self.source().is_in_memory() || self.source().is_file() {
            return Ok(first);
        }
        let loaded = base.lock().clone();
        match loaded {
            Some(loaded) => drop(first.kept().loaded.set(loaded)),
            None => base.keep_loaded(first.load()?, &first.extent),
        }
        Ok(first)
    }
}

impl Snapshot {
    /// Makes a part of the mesh, which is decoded up to an array.
    fn make_base<T: Clone>(
        &self,
        slot: &Slot<Result<T>>,
        last: MeshArray,
        keep: impl Fn(&T) -> bool,
        make: impl FnMut(&Section, &mut Stream<'_>, &mut [u8]) -> Result<T>,
    ) -> Result<T> {
        // Data that is kept is charged to the calls that use it.
        job::unmetered(|| {
            let mut scratch = Scratch::default();
            let begun = self.begin_mesh(Some(last), &mut scratch)?;
            self.make_once(slot, begun, keep, (&self.meter(), &mut scratch), make)
        })
    }

    /// Copies parts of the mesh of the first snapshot, if this is it; returns whether it did. What differences need is decoded once.
    pub(super) fn copy_base(&self, parts: Parts, meter: &Meter, out: &mut MeshBuffer) -> bool {
        if self.index != 0 || self.sample != 0 {
            return false;
        }
        let attempt = meter.part();
        let copied = self.proxy.base_within(parts, &attempt).and_then(|base| {
            base.mesh
                .copy_into(parts, self.extent.length(), &attempt, out)
        });
        copied.map(|()| attempt.keep()).is_ok()
    }
}
