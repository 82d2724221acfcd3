//! A snapshot, as users see it: its sections and arrays, each read and decoded on demand. On top of `read`, `base` and `stream`;
//! knows nothing of [`Proxy`](super::Proxy), which makes it.

use std::ops::Range;

use super::arrays::MeshForm;
use super::base;
use super::file::StoredSnapshot;
use super::mesh::{Mesh, MeshBuffer, SameTriangles, TopologyId};
use super::parts::{MeshArray, Parts};
use super::raw;
use super::read::{Query, head_alone, head_before_arrays};
use super::read_policy::Requests;
use super::sections::Section;
use super::stream::Identify;
use super::triangles::{Counts, Triangles};
use crate::bytes::{Array, Out, Text};
use crate::decode::{Block, Decoders, Scratch};
use crate::dialect::SizeMeaning;
use crate::limits::{Limits, Meter};
use crate::mesh::Bounds;
use crate::num::{Span, as_u64, as_usize};
use crate::report::{Address, Place, Result};

/// A snapshot of a [`Proxy`](super::Proxy). Everything is read on demand.
///
/// From a lazy source, the bounding box and the point cloud are read separately. The first call for positions or normals reads as
/// much of the snapshot as these need; any other call reads the whole snapshot, once. Cloning is cheap; a clone shares the data
/// that has been read, and so do [samples](Self::sample).
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub(super) stored: StoredSnapshot,
}

impl Snapshot {
    pub(super) fn new(stored: StoredSnapshot) -> Self {
        Self { stored }
    }

    /// The index in the offset table.
    #[must_use]
    pub fn index(&self) -> usize {
        self.stored.index
    }

    /// Its bytes: from its offset to the next one in the table, or to the end of the file.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.stored.extent.clone()
    }

    /// The byte range to fetch before a call of [`mesh_into`](Self::mesh_into) with these parts.
    ///
    /// Positions and normals need only the beginning of a snapshot. Its length is estimated: the maximum length that the last decoded
    /// snapshots needed, plus a quarter. If the estimate is too short, `mesh_into` reads the rest. Returns `None` if there is no
    /// estimate yet, because no snapshot after the first one has been decoded.
    ///
    /// Returns the [whole snapshot](Self::range) for the first snapshot, for map channels, and for dialects that store the inflated
    /// size or, except in files, no compressed data.
    ///
    /// The range starts with the start tag, which in some dialects stands in the 4 bytes before the snapshot's offset.
    #[must_use]
    pub fn likely_range(&self, parts: Parts) -> Option<Range<u64>> {
        let ranges = self
            .stored
            .policy()
            .likely_ranges(parts.last(), Requests::Dear)?;
        Some(ranges.mesh)
    }

    /// The time of the snapshot in seconds; `None` if the header has no times.
    #[must_use]
    pub fn time(&self) -> Option<f64> {
        let timing = self.stored.file.header_facts().timing?;
        Some(timing.time_of(self.stored.index))
    }

    /// All sections, known or not, in the order of the file.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`](crate::ErrorKind::Malformed) if they do not lead to the end tag, and the errors of reading.
    pub fn sections(&self) -> Result<Vec<Section>> {
        let source = self.stored.load()?;
        let sections = self.stored.list(source, &mut Decoders::default())?;
        Ok(sections.to_vec())
    }

    /// The first sections, at most `most`, of which only the headers are read, except in dialects that store the inflated size. For
    /// callers that do not read the snapshot afterwards: each header may be another request to a store.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`sections`](Self::sections).
    pub fn section_headers(&self, most: usize) -> Result<Vec<Section>> {
        let mut decoders = Decoders::default();
        let source = self.stored.file.source();
        let mut sections = self.stored.walk(source, &mut decoders)?;
        let mut list = Vec::new();
        while list.len() < most
            && let Some(section) = sections.next().map_err(|error| error.of(self.address()))?
        {
            list.push(section);
        }
        Ok(list)
    }

    /// The compressed content of the known sections, to plan reads or to decode them with
    /// [`decode_all`](crate::decode_all).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`sections`](Self::sections).
    pub fn blocks(&self) -> Result<Vec<Block>> {
        let dialect = self.stored.file.dialect;
        let prefix = as_u64(dialect.prefix.size());
        let mut blocks = Vec::new();
        for section in self.sections()? {
            let what = match section.tag {
                raw::TAG_BOUNDING_BOX => "TAG_BOUNDING_BOX",
                raw::TAG_POINTCLOUD => "TAG_POINTCLOUD",
                raw::TAG_MESH_DATA => "TAG_MESH_DATA",
                _ => continue,
            };
            let decoded_len = match dialect.size {
                SizeMeaning::Inflated => Some(section.size),
                _ => None,
            };
            blocks.push(Block {
                what,
                address: self.address(),
                range: section.content.start.saturating_add(prefix)..section.content.end,
                codec: dialect.codec,
                decoded_len,
            });
        }
        Ok(blocks)
    }

    /// The bounding box as stored; `Ok(None)` if the snapshot has no bounding box.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`](crate::ErrorKind::Malformed) if the section does not hold six numbers, and the errors of reading.
    pub fn bounding_box(&self, scratch: &mut Scratch) -> Result<Option<Bounds>> {
        let corners = self
            .stored
            .with_section(&Query::BOUNDING_BOX, scratch, |stream| {
                stream.bounding_box()
            })?;
        Ok(corners.map(|[min, max]| Bounds { min, max }))
    }

    /// The points that viewports draw; `Ok(None)` if the snapshot has no points.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`](crate::ErrorKind::Malformed) if the number of points differs from the section's count,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded), and the errors of reading.
    pub fn point_cloud(&self) -> Result<Option<Array<[f32; 3]>>> {
        let mut points = Vec::new();
        let found = self.point_cloud_into(&mut points, &mut Scratch::default())?;
        Ok(found.then(|| Array::from_vec(points)))
    }

    /// Like [`point_cloud`](Self::point_cloud), into `out`; `Ok(false)` if the snapshot has no points.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`point_cloud`](Self::point_cloud).
    pub fn point_cloud_into(&self, out: &mut Vec<[f32; 3]>, scratch: &mut Scratch) -> Result<bool> {
        let found = self
            .stored
            .with_section(&Query::POINT_CLOUD, scratch, |stream| {
                stream.point_cloud(out)
            })?;
        Ok(found.is_some())
    }

    /// The numbers of positions, normals, map channels and triangles. Inflates 17 bytes.
    ///
    /// A difference has the same numbers as the first snapshot.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`](crate::ErrorKind::Malformed) if the snapshot has no mesh, and the errors of reading.
    pub fn counts(&self, scratch: &mut Scratch) -> Result<Counts> {
        let complete = self
            .stored
            .with_mesh(None, &self.meter(), scratch, |stream| {
                if stream.is_complete()? {
                    stream.counts().map(Some)
                } else {
                    Ok(None)
                }
            })?;
        match complete {
            Some(counts) => Ok(counts),
            None => Ok(head_alone(&self.stored.file)?.counts),
        }
    }

    /// Returns `true` if the mesh is stored complete, rather than as a difference from the first snapshot.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`counts`](Self::counts).
    pub fn is_complete(&self, scratch: &mut Scratch) -> Result<bool> {
        self.stored
            .with_mesh(None, &self.meter(), scratch, |stream| stream.is_complete())
    }

    /// Identifies the triangles. Inflates one byte; of a complete snapshot after the first, everything, once for each of the last 65,536
    /// of them.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`counts`](Self::counts) and, of a complete snapshot, of [`mesh`](Self::mesh).
    pub fn topology(&self, scratch: &mut Scratch) -> Result<TopologyId> {
        let meter = self.meter();
        let file = &self.stored.file;
        let complete_at = self.stored.with_mesh(None, &meter, scratch, |stream| {
            if stream.is_complete()? {
                Ok(Some(stream.offset()))
            } else {
                Ok(None)
            }
        })?;
        let Some(offset) = complete_at else {
            return Ok(head_alone(file)?.topology);
        };
        if self.is_first() {
            return Ok(file.topology(SameTriangles::First));
        }
        if let Some(hash) = file.known_hash(offset) {
            return base::topology_of(file, hash);
        }
        let last = Some(MeshArray::Triangles);
        let hash = self.stored.with_mesh(last, &meter, scratch, |stream| {
            let counts = stream.complete_counts()?;
            stream.triangle_hash_alone(&counts)
        })?;
        file.remember_hash(offset, hash);
        base::topology_of(file, hash)
    }

    /// The topology of a mesh of this snapshot, whose triangles may not have been seen.
    pub(super) fn seen(&self, topology: TopologyId, scratch: &mut Scratch) -> Result<TopologyId> {
        let SameTriangles::At(offset) = topology.triangles else {
            return Ok(topology);
        };
        match self.stored.file.known_hash(offset) {
            Some(hash) => base::topology_of(&self.stored.file, hash),
            None => self.topology(scratch),
        }
    }

    /// Returns `true` for the mesh that differences are added to.
    pub(super) fn is_first(&self) -> bool {
        self.stored.is_first()
    }

    /// The positions. The stream is inflated no further, and from the first snapshot, to which a difference is added, no more is
    /// decoded. Complete, uncompressed positions are a view of the source, if it is in memory.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`mesh`](Self::mesh).
    pub fn positions(&self) -> Result<Array<[f32; 3]>> {
        self.array(MeshArray::Positions)
    }

    /// Like [`positions`](Self::positions), into a vector or a slice. After an error, the content of `out` is unspecified.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](crate::ErrorKind::OutOfRange) if a slice has another length than the array, and the errors of
    /// [`mesh`](Self::mesh).
    pub fn positions_into<'a>(
        &self,
        out: impl Into<Out<'a, [f32; 3]>>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.array_into(MeshArray::Positions, &self.meter(), out.into(), scratch)
    }

    /// The stored differences from the positions of the first snapshot, bit for bit, into `out`; `Ok(false)` if the mesh is stored
    /// complete, which leaves `out` as it is.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`mesh`](Self::mesh).
    pub fn position_differences_into(
        &self,
        out: &mut Vec<[f32; 3]>,
        scratch: &mut Scratch,
    ) -> Result<bool> {
        let last = Some(MeshArray::Positions);
        self.stored
            .with_mesh(last, &self.meter(), scratch, |stream| {
                if stream.in_part().is_complete()? {
                    return Ok(false);
                }
                let counts = head_alone(&self.stored.file)?.counts;
                stream.position_differences(&counts, out)?;
                Ok(true)
            })
    }

    /// The normals, as far as [`positions`](Self::positions) are inflated and shown.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`mesh`](Self::mesh).
    pub fn normals(&self) -> Result<Array<[f32; 3]>> {
        self.array(MeshArray::Normals)
    }

    /// Like [`normals`](Self::normals), into a vector or a slice.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`positions_into`](Self::positions_into).
    pub fn normals_into<'a>(
        &self,
        out: impl Into<Out<'a, [f32; 3]>>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.array_into(MeshArray::Normals, &self.meter(), out.into(), scratch)
    }

    /// The texture coordinates u, v, w of a map channel, as far as [`positions`](Self::positions) are inflated and shown.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](crate::ErrorKind::OutOfRange) if the mesh has no such channel, and the errors of
    /// [`mesh`](Self::mesh).
    #[doc(alias = "map_channel")]
    pub fn texcoords(&self, channel: usize) -> Result<Array<[f32; 3]>> {
        self.array(MeshArray::MapChannel(channel))
    }

    /// Like [`texcoords`](Self::texcoords), into a vector or a slice.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`positions_into`](Self::positions_into), and [`OutOfRange`](crate::ErrorKind::OutOfRange) if the mesh has
    /// no such channel.
    pub fn texcoords_into<'a>(
        &self,
        channel: usize,
        out: impl Into<Out<'a, [f32; 3]>>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.array_into(
            MeshArray::MapChannel(channel),
            &self.meter(),
            out.into(),
            scratch,
        )
    }

    pub(super) fn part_into(
        &self,
        part: MeshArray,
        out: Out<'_, [f32; 3]>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.array_into(part, &self.meter(), out, scratch)
    }

    pub(super) fn array_into(
        &self,
        part: MeshArray,
        meter: &Meter,
        mut out: Out<'_, [f32; 3]>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let file = &self.stored.file;
        self.stored
            .with_mesh(Some(part), meter, scratch, |stream| {
                if stream.in_part().is_complete()? {
                    let counts = stream.counts()?;
                    return stream.array_alone(MeshForm::Complete(&counts), part, out.again());
                }
                let head = head_before_arrays(file)?;
                stream.check_channel(part, as_usize(head.counts.texcoord_sets))?;
                let base = base::array(file, &head, part, meter)?;
                let form = MeshForm::DifferenceOf(&head.counts, part, &base);
                stream.array_alone(form, part, out.again())
            })?;
        Ok(())
    }

    /// An array, borrowed from the source if it is stored as it is.
    pub(super) fn array(&self, part: MeshArray) -> Result<Array<[f32; 3]>> {
        let meter = self.meter();
        let mut scratch = Scratch::default();
        if let Some(found) = self.stored.in_place(part, &meter, &mut scratch)? {
            return Ok(found.array);
        }
        let mut out = Vec::new();
        self.array_into(part, &meter, (&mut out).into(), &mut scratch)?;
        Ok(Array::from_vec(out))
    }

    /// The triangles. A difference has the triangles of the first snapshot.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`mesh`](Self::mesh).
    pub fn triangles(&self) -> Result<Triangles> {
        let mut triangles = Triangles::default();
        self.triangles_into(&mut triangles, &mut Scratch::default())?;
        Ok(triangles)
    }

    /// Like [`triangles`](Self::triangles), into `out`, whose memory is reused unless it is shared.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`mesh`](Self::mesh).
    pub fn triangles_into(&self, out: &mut Triangles, scratch: &mut Scratch) -> Result<()> {
        let file = &self.stored.file;
        // In a map, the system would be advised to read all of a difference, which stores no triangles.
        let is_advised = self.stored.index > 0 && file.source().is_mapped();
        if is_advised && !self.is_complete(scratch)? {
            *out = base::triangles(file)?;
            return Ok(());
        }
        let last = Some(MeshArray::Triangles);
        let is_complete = self
            .stored
            .with_mesh(last, &self.meter(), scratch, |stream| {
                if !stream.is_complete()? {
                    return Ok(false);
                }
                let counts = stream.counts()?;
                stream.triangles_alone(&counts, out)?;
                Ok(true)
            })?;
        if !is_complete {
            *out = base::triangles(file)?;
        }
        Ok(())
    }

    /// These parts of the mesh; the others are empty. The stream is decoded no further than needed. For
    /// [`Parts::ALL`] it is decoded to the end, and the checksum verified.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`](crate::ErrorKind::Malformed) if the snapshot has no mesh, or the mesh contradicts the published text;
    /// [`Truncated`](crate::ErrorKind::Truncated) if its stream is truncated; [`LimitExceeded`](crate::ErrorKind::LimitExceeded);
    /// and the errors of reading. They name the snapshot and the byte range. Each snapshot fails independently, except
    /// that a difference needs the first one. Damage behind the last part that is wanted is not noticed.
    pub fn mesh(&self, parts: Parts) -> Result<Mesh> {
        self.mesh_within(parts, &self.meter())
    }

    pub(super) fn mesh_within(&self, parts: Parts, meter: &Meter) -> Result<Mesh> {
        let mut buffer = MeshBuffer::default();
        let mut scratch = Scratch::default();
        self.mesh_into_within(parts, meter, &mut buffer, &mut scratch, Identify::IfWanted)?;
        let first = self.stored.file.topology(SameTriangles::First);
        Ok(buffer.into_mesh(first))
    }

    /// Like [`mesh`](Self::mesh), into `out`. Allocates nothing once the memory is large enough.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`mesh`](Self::mesh).
    pub fn mesh_into(
        &self,
        parts: Parts,
        out: &mut MeshBuffer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.mesh_into_within(parts, &self.meter(), out, scratch, Identify::IfWanted)?;
        Ok(())
    }

    /// Reads parts of the mesh. Returns the number of bytes in the section after its stream, if all parts are read.
    pub(super) fn mesh_into_within(
        &self,
        parts: Parts,
        meter: &Meter,
        out: &mut MeshBuffer,
        scratch: &mut Scratch,
        identify: Identify,
    ) -> Result<u64> {
        let file = &self.stored.file;
        let last = Some(self.stored.last_of(parts));
        let mut hash = None;
        let unused = self.stored.with_mesh(last, meter, scratch, |stream| {
            stream.begin_parts(parts, out);
            if !stream.is_complete()? {
                let base = base::parts(file, parts, meter)?;
                stream.difference_parts(parts, &base, out)?;
                return Ok(stream.unused());
            }
            let offset = stream.offset();
            hash = file.known_hash(offset);
            let identify = if hash.is_some() || self.is_first() {
                Identify::No
            } else {
                identify
            };
            let id = self.stored.stored_topology(offset);
            if let Some(seen) = stream.complete_parts(parts, out, id, identify)? {
                file.remember_hash(offset, seen);
                hash = Some(seen);
            }
            Ok(stream.unused())
        })?;
        let is_wanted = identify == Identify::Always || parts.contains(Parts::TRIANGLES);
        if let Some(hash) = hash
            && out.is_complete
            && is_wanted
            && !self.is_first()
        {
            out.topology = Some(base::topology_of(file, hash)?);
        }
        Ok(unused)
    }

    /// Copies parts of the mesh of the first snapshot, if this is it; returns `true` if it did. What differences need is decoded once.
    pub(super) fn copy_base(&self, parts: Parts, meter: &Meter, out: &mut MeshBuffer) -> bool {
        if self.stored.index != 0 || self.stored.sample != 0 {
            return false;
        }
        let part = meter.part();
        let copied = base::parts(&self.stored.file, parts, &part).and_then(|base| {
            let stored = self.stored.extent.length();
            base.mesh.copy_into(parts, stored, &part, out)
        });
        if copied.is_err() {
            return false;
        }
        part.commit();
        true
    }

    /// The number of meshes: samples between this snapshot and the next, for motion blur. 1 in most files.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`sections`](Self::sections).
    pub fn samples(&self, scratch: &mut Scratch) -> Result<usize> {
        // Headers of a local file are read by themselves; the others are read with all between them.
        let file = &self.stored.file;
        let are_apart = file.source().is_file() && file.dialect.size != SizeMeaning::Inflated;
        let source = if are_apart {
            file.source()
        } else {
            self.stored.load()?
        };
        let mut sections = self.stored.walk(source, &mut scratch.decoders)?;
        let mut count: usize = 0;
        while let Some(section) = sections.next().map_err(|error| error.of(self.address()))? {
            if section.tag == raw::TAG_MESH_DATA {
                count = count.saturating_add(1);
            }
        }
        Ok(count)
    }

    /// The snapshot with another of its meshes; the first is 0.
    #[must_use]
    pub fn sample(&self, sample: usize) -> Self {
        Self::new(self.stored.with_sample(sample))
    }

    /// The meter of a call on this snapshot.
    pub(super) fn meter(&self) -> Meter<'static> {
        self.stored.meter()
    }

    pub(super) fn limits(&self) -> Limits {
        self.stored.file.options.limits
    }

    pub(crate) fn object_name(&self) -> Option<Text> {
        self.stored.file.header_facts().object_name.clone()
    }

    pub(crate) fn address(&self) -> Address {
        self.stored.address()
    }

    pub(crate) fn place(&self) -> Place {
        self.stored.place()
    }
}
