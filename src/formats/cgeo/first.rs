//! The first snapshot's mesh, which differences are added to: decoded part by part, as far as it is needed.

use std::sync::Arc;

use bytes::Bytes;

use super::arrays::Arrays;
use super::base::{BaseArray, BaseMesh, Head};
use super::layout::snapshot_address;
use super::mesh::Mesh;
#[cfg(feature = "rayon")]
use super::mesh::MeshBuffer;
use super::out::Out;
use super::parts::{Part, Parts};
use super::proxy::Proxy;
use super::rules::FILE;
use super::snapshot::Snapshot;
use super::triangles::Triangles;
use crate::bytes::Array;
use crate::decode::{Scratch, lasting};
use crate::limits::Budget;
#[cfg(feature = "rayon")]
use crate::num::Span;
use crate::num::as_u64;
use crate::report::Result;

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
        let make = || lasting(first.complete_mesh().map(|mesh| Arc::new(base.shared(mesh))));
        let keep = |made: &Result<Arc<Mesh>>| made.as_ref().map_or(true, |mesh| base.admits_whole(mesh));
        let mesh = base.whole.get_or_try_make_of(self.source(), make, keep)?;
        if mesh.is_ok() {
            base.drop_loaded(&first.extent);
        }
        mesh
    }

    /// Returns parts of the mesh of the first snapshot. Their memory counts for the call that adds a difference to them.
    pub(super) fn base_within(&self, parts: Parts, budget: &Budget) -> Result<BaseMesh> {
        // The length of each map channel is stored before its elements: they are found by decoding all of them.
        if parts.contains(Parts::TEXCOORDS) || self.base_slots().whole.get().is_some() {
            let base = self.base()?;
            self.count_base(base.memory(), budget)?;
            return Ok(BaseMesh::whole(base));
        }
        let head = self.base_head_first()?;
        let array = |part, wanted| -> Result<Array<[f32; 3]>> {
            let of_part = || Ok(self.base_array(&head, part, budget)?.array);
            if parts.contains(wanted) { of_part() } else { Ok(Array::new(Bytes::new())) }
        };
        let positions = array(Part::Positions, Parts::POSITIONS)?;
        let normals = array(Part::Normals, Parts::NORMALS)?;
        let triangles = if parts.contains(Parts::TRIANGLES) {
            let triangles = self.base_triangles()?;
            self.count_base(as_u64(triangles.as_bytes().len()), budget)?;
            triangles
        } else {
            Triangles::default()
        };
        let (texcoords, topology, is_complete) = (Vec::new(), head.topology, true);
        let mesh = Mesh { positions, normals, texcoords, triangles, topology, is_complete, parts };
        Ok(BaseMesh::of_parts(head.counts, mesh))
    }

    /// Returns the beginning of the mesh. Reads no more of a snapshot that has not been read.
    pub(super) fn base_head(&self) -> Result<Head> {
        match self.base_slots().head.get() {
            Some(head) => Ok(*head),
            None => self.head_of(&self.snapshot(0)?),
        }
    }

    /// Returns the beginning of the mesh, as a first step to reading more of it.
    pub(super) fn base_head_first(&self) -> Result<Head> {
        match self.base_slots().head.get() {
            Some(head) => Ok(*head),
            // From a file, little is read for the head, and no more of the mesh than is needed later.
            None if self.source().is_file() => self.head_of(&self.snapshot(0)?),
            None => self.head_of(&self.first_snapshot()?),
        }
    }

    fn head_of(&self, first: &Snapshot) -> Result<Head> {
        let make = || {
            first.mesh_beginning(&first.budget(), &mut Scratch::default(), |section, stream| {
                let counts = stream.in_part().complete_counts()?;
                let topology = self.topology_at(section.range.start);
                Ok(Head { counts, topology })
            })
        };
        self.base_slots().head.get_or_try_make_of(self.source(), make, |_| true)
    }

    /// Returns an array that the mesh has. Its memory counts for the call.
    pub(super) fn base_array(&self, head: &Head, part: Part, budget: &Budget) -> Result<BaseArray> {
        let array = self.find_base_array(head, part)?;
        self.count_base(array.memory, budget)?;
        Ok(array)
    }

    fn find_base_array(&self, head: &Head, part: Part) -> Result<BaseArray> {
        let base = self.base_slots();
        if let Some(Ok(whole)) = base.whole.get()
            && let Some(found) = BaseArray::of(whole, part)
        {
            return Ok(found);
        }
        let slot = base.slot(part, &head.counts).ok_or_else(|| FILE.out_of_range("map channel"))?;
        if let Some(found) = slot.get() {
            return found.clone();
        }
        let is_read_in_part = self.source().is_file() && base.loaded().is_none();
        let first = if is_read_in_part { self.snapshot(0)? } else { self.first_snapshot()? };
        let keep = |made: &Result<BaseArray>| made.as_ref().map_or(true, |made| base.admits(made.memory));
        slot.get_or_try_make_of(self.source(), || lasting(first.base_array(part)), keep)?
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
        let first = self.first_snapshot()?;
        let memory = |made: &Triangles| as_u64(made.as_bytes().len());
        let keep = |made: &Result<Triangles>| made.as_ref().map_or(true, |made| base.admits(memory(made)));
        base.triangles.get_or_try_make_of(self.source(), || lasting(first.base_triangles()), keep)?
    }

    fn count_base(&self, memory: u64, budget: &Budget) -> Result<()> {
        budget.count_read(&self.layout().extent(0)?);
        if !budget.try_spend_own(memory) {
            let error = budget.over_total(memory, "mesh of the first snapshot");
            return Err(FILE.of(snapshot_address(0)).locate(error));
        }
        Ok(())
    }

    /// The first snapshot, read: I/O may fail now and succeed later, so it is done first, and its errors are not kept.
    fn first_snapshot(&self) -> Result<Snapshot> {
        let (first, base) = (self.snapshot(0)?, self.base_slots());
        if let Some(loaded) = base.loaded() {
            let _ = first.kept().loaded.set(loaded);
        }
        let loaded = first.load()?;
        if !loaded.is_in_memory() {
            base.keep_loaded(loaded, &first.extent);
        }
        Ok(first)
    }
}

impl Snapshot {
    /// Copies parts of the mesh of the first snapshot, if this is it and it has been decoded for differences; returns whether it
    /// did.
    #[cfg(feature = "rayon")]
    pub(super) fn copy_first(&self, parts: Parts, budget: &Budget, out: &mut MeshBuffer) -> bool {
        match self.proxy.base_slots().whole.get() {
            Some(Ok(whole)) if self.index == 0 && self.sample == 0 => {
                whole.copy_into(parts, self.extent.length(), budget, out).is_ok()
            }
            _ => false,
        }
    }

    /// An array of the mesh, which must be complete.
    fn base_array(&self, part: Part) -> Result<BaseArray> {
        let (budget, mut scratch) = (self.budget(), Scratch::default());
        if let Some(found) = self.in_place(part, &budget, &mut scratch)? {
            return Ok(found);
        }
        let mut out = Vec::new();
        let before = self.mesh_prefix_with(part, &budget, &mut scratch, |_, stream, skipped| {
            let counts = stream.in_part().complete_counts()?;
            stream.array_alone(Arrays::Complete(&counts), part, skipped, Out::Vec(&mut out))
        })?;
        let array = Array::from_vec(out);
        Ok(BaseArray { memory: as_u64(array.as_bytes().len()), array, before })
    }

    /// The triangles of the mesh, which must be complete.
    fn base_triangles(&self) -> Result<Triangles> {
        let mut out = Triangles::default();
        self.mesh_stream_with(&self.budget(), &mut Scratch::default(), |_, stream, skipped| {
            let counts = stream.complete_counts()?;
            stream.triangles_alone(&counts, skipped, &mut out)
        })?;
        Ok(out)
    }
}
