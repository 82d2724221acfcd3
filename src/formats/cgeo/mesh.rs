//! The mesh section: positions, normals, map channels and triangles, each decoded no further than it must be.

use std::ops::Range;
use std::sync::Arc;

use zerocopy::{FromBytes, FromZeros, IntoBytes};

use super::layout::snapshot_address;
use super::raw;
use super::rules::FILE;
use super::sections::{COMPLETE, DIFFERENCE};
use super::triangles::{Shape, Triangles};
use crate::bytes::Array;
use crate::codec::inflate::Inflate;
use crate::codec::{Codec, Fault};
use crate::decode::fault_error;
use crate::limits::{Budget, Limits};
use crate::num::{as_u64, as_usize, decimal, size_u64};
use crate::report::{Error, Place, Result};

/// How many of what a mesh has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Positions.
    pub vertices: u32,
    /// Normals.
    pub normals: u32,
    /// Map channels.
    pub map_channels: u32,
    /// Triangles.
    pub triangles: u32,
}

/// Which triangles a mesh has: equal ids mean the very same triangles, so that what was made of them (a weld, an
/// acceleration structure) can be kept and refitted. Different ids may mean equal triangles, stored twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TopologyId {
    /// A number for each proxy of this process.
    pub(crate) proxy: u64,
    /// Where the complete mesh is stored.
    pub(crate) offset: u64,
}

/// A decoded mesh. Cloning shares everything.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Mesh {
    /// Positions.
    pub positions: Array<[f32; 3]>,
    /// Normals; after adding a difference, not exactly of length 1.
    pub normals: Array<[f32; 3]>,
    /// Texture coordinates u, v, w of each map channel.
    pub map_channels: Vec<Array<[f32; 3]>>,
    /// The triangles.
    pub triangles: Triangles,
    /// Which triangles these are.
    pub topology: TopologyId,
    /// Whether the mesh is stored complete; otherwise it shares its triangles with the first snapshot.
    pub is_complete: bool,
}

/// A decoded mesh in memory that is used again for the next one.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct MeshBuffer {
    /// Positions.
    pub positions: Vec<[f32; 3]>,
    /// Normals.
    pub normals: Vec<[f32; 3]>,
    /// Texture coordinates u, v, w of each map channel.
    pub map_channels: Vec<Vec<[f32; 3]>>,
    /// The triangles.
    pub triangles: Triangles,
    /// Which triangles these are; `None` before the first mesh.
    pub topology: Option<TopologyId>,
    /// Whether the mesh is stored complete; otherwise it shares its triangles with the first snapshot.
    pub is_complete: bool,
}

/// A section whose stream is inflated: what errors say of it, and what can come out of it.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) what: &'static str,
    /// Where its content lies in the file.
    pub(crate) range: Range<u64>,
    /// The snapshot that it belongs to.
    pub(crate) snapshot: usize,
    pub(crate) codec: Codec,
    /// The length of its stream, in bytes.
    pub(crate) stored: u64,
}

/// The content of a section while it is inflated.
pub(crate) struct Stream<'a> {
    inflate: Inflate<'a>,
    unit: Unit,
    /// The most that can come out of a stream of this length.
    most: u64,
    budget: Budget,
}

/// Deflate makes no more of a byte than this.
const DEFLATE_RATIO: u64 = 1032;

impl<'a> Stream<'a> {
    pub(crate) fn new(inflate: Inflate<'a>, unit: Unit, limits: &Limits) -> Self {
        let ratio = if unit.codec == Codec::Stored { 1 } else { DEFLATE_RATIO };
        Self { inflate, most: unit.stored.saturating_mul(ratio), unit, budget: Budget::new(limits) }
    }

    /// Computes no checksum: for a part of the content.
    pub(crate) fn in_part(&mut self) -> &mut Self {
        self.inflate.without_checksum();
        self
    }

    /// Bytes behind the stream, once it has ended.
    pub(crate) fn unused(&self) -> u64 {
        self.unit.stored.saturating_sub(as_u64(self.inflate.consumed()))
    }

    /// A box, to its end.
    pub(crate) fn bounding_box(&mut self) -> Result<[[f32; 3]; 2]> {
        let mut corners = [[0.0; 3]; 2];
        self.triples(&mut corners)?;
        self.finish()?;
        Ok(corners)
    }

    /// Whether the mesh is complete; otherwise it is a difference.
    pub(crate) fn is_complete(&mut self) -> Result<bool> {
        let mut kind = [0];
        self.read(&mut kind)?;
        match kind {
            [COMPLETE] => Ok(true),
            [DIFFERENCE] => Ok(false),
            [other] => {
                let error = self.malformed("kind of the mesh", 1);
                Err(error.expected("1 (complete) or 0 (difference)").found(other))
            }
        }
    }

    pub(crate) fn counts(&mut self) -> Result<Counts> {
        let mut bytes = [0; size_of::<raw::MeshCounts>()];
        self.read(&mut bytes)?;
        let counts =
            raw::MeshCounts::read_from_bytes(&bytes).unwrap_or_else(|_| raw::MeshCounts::new_zeroed());
        Ok(Counts {
            vertices: counts.vertices.get(),
            normals: counts.normals.get(),
            map_channels: counts.map_channels.get(),
            triangles: counts.triangles.get(),
        })
    }

    /// The count of a map channel.
    fn count(&mut self) -> Result<u64> {
        let mut bytes = [0; 4];
        self.read(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes).into())
    }

    fn expect_tag(&mut self, expected: u32, what: &'static str) -> Result<()> {
        let mut bytes = [0; 4];
        self.read(&mut bytes)?;
        let found = u32::from_le_bytes(bytes);
        if found == expected {
            return Ok(());
        }
        Err(self.malformed(what, 4).expected(format!("{expected:#x}")).found(format_args!("{found:#x}")))
    }

    /// Triples into memory of the right length.
    fn triples(&mut self, out: &mut [[f32; 3]]) -> Result<()> {
        self.read(out.as_mut_bytes())?;
        if cfg!(target_endian = "big") {
            out.as_flattened_mut()
                .iter_mut()
                .for_each(|number| *number = f32::from_bits(number.to_bits().swap_bytes()));
        }
        Ok(())
    }

    /// The positions of a complete mesh, behind its counts.
    pub(crate) fn positions(&mut self, counts: &Counts, out: &mut Vec<[f32; 3]>) -> Result<()> {
        self.resize(out, counts.vertices.into(), "Vertex Count")?;
        self.triples(out)
    }

    /// The positions of a difference.
    pub(crate) fn position_differences(&mut self, base: &Mesh, out: &mut Vec<[f32; 3]>) -> Result<()> {
        self.difference_of(&base.positions, out, "Vertex Differences")
    }

    /// The normals of a complete mesh, behind its counts; `skipped` is for what comes before.
    pub(crate) fn normals(
        &mut self,
        counts: &Counts,
        skipped: &mut [u8],
        out: &mut Vec<[f32; 3]>,
    ) -> Result<()> {
        self.skip(u64::from(counts.vertices).saturating_mul(12), skipped, "Vertex Count")?;
        self.expect_tag(raw::TAG_MESH_VERTICES_END, "TAG_MESH_VERTICES_END")?;
        self.resize(out, counts.normals.into(), "Normal Count")?;
        self.triples(out)
    }

    /// The normals of a difference; `skipped` is for what comes before.
    pub(crate) fn normal_differences(
        &mut self,
        base: &Mesh,
        skipped: &mut [u8],
        out: &mut Vec<[f32; 3]>,
    ) -> Result<()> {
        self.skip(bytes_of(&base.positions), skipped, "Vertex Differences")?;
        self.expect_tag(raw::TAG_MESH_VERTICES_END, "TAG_MESH_VERTICES_END")?;
        self.difference_of(&base.normals, out, "Normal Differences")
    }

    /// A map channel of a complete mesh, behind its counts; `skipped` is for what comes before.
    pub(crate) fn map_channel(
        &mut self,
        counts: &Counts,
        channel: usize,
        skipped: &mut [u8],
        out: &mut Vec<[f32; 3]>,
    ) -> Result<()> {
        self.check_channel(channel, u64::from(counts.map_channels))?;
        self.skip_to_map_channels(counts, skipped)?;
        for _ in 0..channel {
            let count = self.count()?;
            self.skip(count.saturating_mul(12), skipped, "Map Coord Count")?;
        }
        let count = self.count()?;
        self.resize(out, count, "Map Coord Count")?;
        self.triples(out)
    }

    /// A map channel of a difference; `skipped` is for what comes before.
    pub(crate) fn map_channel_differences(
        &mut self,
        base: &Mesh,
        channel: usize,
        skipped: &mut [u8],
        out: &mut Vec<[f32; 3]>,
    ) -> Result<()> {
        self.check_channel(channel, as_u64(base.map_channels.len()))?;
        self.skip(bytes_of(&base.positions), skipped, "Vertex Differences")?;
        self.expect_tag(raw::TAG_MESH_VERTICES_END, "TAG_MESH_VERTICES_END")?;
        self.skip(bytes_of(&base.normals), skipped, "Normal Differences")?;
        self.expect_tag(raw::TAG_MESH_NORMALS_END, "TAG_MESH_NORMALS_END")?;
        let (before, own) = base.map_channels.split_at_checked(channel).unwrap_or_default();
        for base in before {
            self.skip(bytes_of(base), skipped, "Texture Coordinate Differences")?;
        }
        own.first().map_or(Ok(()), |base| self.difference_of(base, out, "Texture Coordinate Differences"))
    }

    /// The triangles of a complete mesh, behind its counts; `skipped` is for what comes before.
    pub(crate) fn triangles_alone(
        &mut self,
        counts: &Counts,
        skipped: &mut [u8],
        out: &mut Triangles,
    ) -> Result<()> {
        self.skip_to_map_channels(counts, skipped)?;
        for _ in 0..counts.map_channels {
            let count = self.count()?;
            self.skip(count.saturating_mul(12), skipped, "Map Coord Count")?;
        }
        self.expect_tag(raw::TAG_MESH_MAP_COORDS_END, "TAG_MESH_MAP_COORDS_END")?;
        self.triangles(counts, out)
    }

    fn skip_to_map_channels(&mut self, counts: &Counts, skipped: &mut [u8]) -> Result<()> {
        self.skip(u64::from(counts.vertices).saturating_mul(12), skipped, "Vertex Count")?;
        self.expect_tag(raw::TAG_MESH_VERTICES_END, "TAG_MESH_VERTICES_END")?;
        self.skip(u64::from(counts.normals).saturating_mul(12), skipped, "Normal Count")?;
        self.expect_tag(raw::TAG_MESH_NORMALS_END, "TAG_MESH_NORMALS_END")
    }

    fn check_channel(&self, channel: usize, channels: u64) -> Result<()> {
        if as_u64(channel) < channels {
            return Ok(());
        }
        let error = FILE.out_of_range("map channel").of(snapshot_address(self.unit.snapshot));
        Err(error.expected(format!("less than {channels}")).found(channel))
    }

    /// The content of a point cloud, to its end.
    pub(crate) fn point_cloud(&mut self, out: &mut Vec<[f32; 3]>) -> Result<()> {
        let mut count = [0; 8];
        self.read(&mut count)?;
        self.resize(out, u64::from_le_bytes(count), "Point Count")?;
        self.triples(out)?;
        self.finish()
    }

    /// The whole mesh: complete, or the difference from the base.
    pub(crate) fn mesh(&mut self, base: Base<'_>, out: &mut MeshBuffer, id: TopologyId) -> Result<()> {
        if self.is_complete()? {
            let counts = self.counts()?;
            self.complete(&counts, out)?;
            (out.topology, out.is_complete) = (Some(id), true);
            return Ok(());
        }
        let base = base()?;
        let [positions, normals] = [&base.positions, &base.normals].map(Array::clone);
        self.difference_of(&positions, &mut out.positions, "Vertex Differences")?;
        self.expect_tag(raw::TAG_MESH_VERTICES_END, "TAG_MESH_VERTICES_END")?;
        self.difference_of(&normals, &mut out.normals, "Normal Differences")?;
        self.expect_tag(raw::TAG_MESH_NORMALS_END, "TAG_MESH_NORMALS_END")?;
        out.map_channels.resize_with(base.map_channels.len(), Vec::new);
        for (channel, base) in out.map_channels.iter_mut().zip(&base.map_channels) {
            self.difference_of(base, channel, "Texture Coordinate Differences")?;
        }
        self.expect_tag(raw::TAG_MESH_MAP_COORDS_END, "TAG_MESH_MAP_COORDS_END")?;
        self.finish()?;
        out.triangles = base.triangles.clone();
        (out.topology, out.is_complete) = (Some(base.topology), false);
        Ok(())
    }

    /// Triples that are the difference from a base, inflated into their place and added there.
    fn difference_of(
        &mut self,
        base: &Array<[f32; 3]>,
        out: &mut Vec<[f32; 3]>,
        what: &'static str,
    ) -> Result<()> {
        self.resize(out, base.len_u64(), what)?;
        self.triples(out)?;
        match base.as_native() {
            Some(base) => {
                for (number, base) in out.as_flattened_mut().iter_mut().zip(base.as_flattened()) {
                    *number += base;
                }
            }
            None => {
                let base = base.iter().flatten();
                out.as_flattened_mut().iter_mut().zip(base).for_each(|(number, base)| *number += base);
            }
        }
        Ok(())
    }

    fn complete(&mut self, counts: &Counts, out: &mut MeshBuffer) -> Result<()> {
        self.positions(counts, &mut out.positions)?;
        self.expect_tag(raw::TAG_MESH_VERTICES_END, "TAG_MESH_VERTICES_END")?;
        self.resize(&mut out.normals, counts.normals.into(), "Normal Count")?;
        self.triples(&mut out.normals)?;
        self.expect_tag(raw::TAG_MESH_NORMALS_END, "TAG_MESH_NORMALS_END")?;
        self.map_channels(counts, &mut out.map_channels)?;
        self.expect_tag(raw::TAG_MESH_MAP_COORDS_END, "TAG_MESH_MAP_COORDS_END")?;
        self.triangles(counts, &mut out.triangles)
    }

    fn map_channels(&mut self, counts: &Counts, out: &mut Vec<Vec<[f32; 3]>>) -> Result<()> {
        let channels = u64::from(counts.map_channels);
        // Each has a count of four bytes in the stream, and takes a vector here.
        self.may_come(channels.saturating_mul(4), "Map Channel Count")?;
        let room =
            self.budget.spend(channels.saturating_mul(size_u64::<Vec<[f32; 3]>>()), "Map Channel Count");
        room.map_err(|error| self.place().locate(error))?;
        out.resize_with(as_usize(channels), Vec::new);
        for channel in out {
            let count = self.count()?;
            self.resize(channel, count, "Map Coord Count")?;
            self.triples(channel)?;
        }
        Ok(())
    }

    /// The triangles, to the end of the stream: records of the version's length, or, if the stream has another length,
    /// of whatever length that leaves for each.
    fn triangles(&mut self, counts: &Counts, out: &mut Triangles) -> Result<()> {
        let shape = Shape::of_version_7(counts);
        let announced = shape.record().saturating_mul(u64::from(counts.triangles));
        self.may_come(shape.indices().saturating_mul(counts.triangles.into()), "Triangle Count")?;
        let records = out.take_records();
        let room = self.budget.resize(records, announced, "Triangle Count");
        room.map_err(|error| self.place().locate(error))?;
        let mut length = self.inflate.read(records).map_err(|fault| self.fault(&fault))?;
        let mut next = [0];
        if length == records.len() {
            if self.inflate.read(&mut next).map_err(|fault| self.fault(&fault))? == 0 {
                self.finish()?;
                out.set_shape(shape);
                return Ok(());
            }
            let longer =
                shape.longest().saturating_mul(counts.triangles.into()).max(announced.saturating_add(1));
            let room = self.budget.spend(longer.saturating_sub(announced), "Triangle Count");
            room.map_err(|error| self.place().locate(error))?;
            records.resize(as_usize(longer), 0);
            let [first, rest @ ..] = records.get_mut(length..).unwrap_or_default() else { return Ok(()) };
            [*first] = next;
            let more = self.inflate.read(rest).map_err(|fault| self.fault(&fault))?;
            length = length.saturating_add(1).saturating_add(more);
        }
        records.truncate(length);
        let found = Shape::of_length(counts, as_u64(length)).ok_or_else(|| {
            let error = self.malformed("Triangle Data", as_u64(length));
            error.expected(format!("{announced} bytes")).found(format_args!("{length} or more"))
        })?;
        self.finish()?;
        out.set_shape(found);
        Ok(())
    }

    /// The end: nothing more in the stream, and its checksum right.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.inflate.finish().map_err(|fault| self.fault(&fault))
    }

    fn read(&mut self, out: &mut [u8]) -> Result<()> {
        self.inflate.read_exact(out).map_err(|fault| self.fault(&fault))
    }

    /// Inflates and drops what is not asked for.
    fn skip(&mut self, bytes: u64, buffer: &mut [u8], what: &'static str) -> Result<()> {
        self.may_come(bytes, what)?;
        self.inflate.skip(bytes, buffer).map_err(|fault| self.fault(&fault))
    }

    /// Makes room for `count` triples that are to come out of the stream.
    fn resize(&mut self, out: &mut Vec<[f32; 3]>, count: u64, what: &'static str) -> Result<()> {
        let bytes = count.saturating_mul(12);
        self.may_come(bytes, what)?;
        let room = self.budget.resize(out, count, what);
        room.map_err(|error| self.place().locate(error))
    }

    /// Whether so many bytes can come out of what is left of the stream at all.
    fn may_come(&self, bytes: u64, what: &'static str) -> Result<()> {
        let most = self.most.saturating_sub(self.inflate.produced());
        if bytes <= most {
            return Ok(());
        }
        let error = self.malformed(what, 4);
        Err(error.expected(format!("at most {} bytes of content", decimal(most))).found(decimal(bytes)))
    }

    /// The error of the last `bytes` that came out.
    fn malformed(&self, what: &'static str, bytes: u64) -> Error {
        let end = self.inflate.produced();
        self.place().decoded_at(end.saturating_sub(bytes)..end).malformed(what)
    }

    fn fault(&self, fault: &Fault) -> Error {
        self.place().locate(fault_error(fault, self.unit.what, None))
    }

    fn place(&self) -> Place {
        FILE.at(self.unit.range.clone()).of(snapshot_address(self.unit.snapshot))
    }
}

/// The size of an array in a stream.
fn bytes_of(array: &Array<[f32; 3]>) -> u64 {
    array.len_u64().saturating_mul(12)
}

/// How the base of a difference is come by.
pub(crate) type Base<'a> = &'a dyn Fn() -> Result<Arc<Mesh>>;

impl Mesh {
    /// The bytes of the positions, normals and map channels.
    pub(crate) fn arrays_size(&self) -> u64 {
        let arrays = [&self.positions, &self.normals].into_iter().chain(&self.map_channels);
        arrays.fold(0, |sum, array| sum.saturating_add(bytes_of(array)))
    }
}

impl MeshBuffer {
    /// The mesh as shared arrays; the memory goes with it.
    pub(crate) fn into_mesh(self, topology: TopologyId) -> Mesh {
        Mesh {
            positions: Array::from_vec(self.positions),
            normals: Array::from_vec(self.normals),
            map_channels: self.map_channels.into_iter().map(Array::from_vec).collect(),
            triangles: self.triangles,
            topology: self.topology.unwrap_or(topology),
            is_complete: self.is_complete,
        }
    }
}
