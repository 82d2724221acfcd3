//! The first snapshot's mesh, which differences are added to: decoded part by part, as far as it is needed.

use std::sync::Arc;

use super::base::{BaseArray, Head, Part};
use super::layout::snapshot_address;
use super::mesh::Mesh;
#[cfg(feature = "rayon")]
use super::mesh::MeshBuffer;
use super::out::Out;
use super::proxy::Proxy;
use super::rules::FILE;
use super::snapshot::Snapshot;
use super::stream::Arrays;
use super::triangles::Triangles;
use crate::bytes::Array;
use crate::decode::Scratch;
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
    /// Those of [`Snapshot::mesh`], and [`Malformed`](crate::ErrorKind::Malformed) where it is a difference itself.
    pub fn base(&self) -> Result<Arc<Mesh>> {
        let base = self.base_slots();
        if let Some(whole) = base.whole.get() {
            return whole.clone();
        }
        let first = self.first_snapshot()?;
        let make = || Ok(first.complete_mesh().map(|mesh| Arc::new(base.shared(mesh))));
        let keep = |made: &Result<Arc<Mesh>>| made.as_ref().map_or(true, |mesh| base.admits_whole(mesh));
        let mesh = base.whole.get_or_try_make_of(self.source(), make, keep)?;
        if mesh.is_ok() {
            base.drop_loaded(&first.extent);
        }
        mesh
    }

    /// The mesh of the first snapshot, whose memory counts as that of a call that adds a difference to it.
    pub(super) fn base_within(&self, budget: &Budget) -> Result<Arc<Mesh>> {
        let base = self.base()?;
        self.count_base(base.memory(), budget)?;
        Ok(base)
    }

    /// How the mesh begins. Reads no more of a snapshot that has not been read.
    pub(super) fn base_head(&self) -> Result<Head> {
        match self.base_slots().head.get() {
            Some(head) => Ok(*head),
            None => self.head_of(&self.snapshot(0)?),
        }
    }

    /// How the mesh begins, as a first step to reading more of it.
    pub(super) fn base_head_first(&self) -> Result<Head> {
        match self.base_slots().head.get() {
            Some(head) => Ok(*head),
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

    /// An array of the mesh, which has it, and whose memory counts as that of the call.
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
        let first = self.first_snapshot()?;
        let keep = |made: &Result<BaseArray>| made.as_ref().map_or(true, |made| base.admits(made.memory));
        slot.get_or_try_make_of(self.source(), || Ok(first.base_array(part)), keep)?
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
        base.triangles.get_or_try_make_of(self.source(), || Ok(first.base_triangles()), keep)?
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
    /// Copies the mesh of the first snapshot, if this is it and it has been decoded for differences; returns whether it did.
    #[cfg(feature = "rayon")]
    pub(super) fn copy_first(&self, budget: &Budget, out: &mut MeshBuffer) -> bool {
        match self.proxy.base_slots().whole.get() {
            Some(Ok(whole)) if self.index == 0 && self.sample == 0 => {
                whole.copy_into(self.extent.length(), budget, out).is_ok()
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
        let before = self.mesh_stream_with(&budget, &mut scratch, |stream, skipped| {
            let counts = stream.in_part().complete_counts()?;
            stream.array_alone(Arrays::Complete(&counts), part, skipped, Out::Vec(&mut out))
        })?;
        let array = Array::from_vec(out);
        Ok(BaseArray { memory: as_u64(array.as_bytes().len()), array, before })
    }

    /// The triangles of the mesh, which must be complete.
    fn base_triangles(&self) -> Result<Triangles> {
        let mut out = Triangles::default();
        self.mesh_stream_with(&self.budget(), &mut Scratch::default(), |stream, skipped| {
            let counts = stream.complete_counts()?;
            stream.triangles_alone(&counts, skipped, &mut out)
        })?;
        Ok(out)
    }
}
