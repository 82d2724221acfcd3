//! A snapshot: its sections, each read and decoded on demand.

use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use super::arrays::MeshForm;
use super::base::BaseArray;
use super::layout::snapshot_address;
use super::mesh::{Mesh, MeshBuffer, SameTriangles, TopologyId};
use super::parts::{MeshArray, Parts};
use super::proxy::Proxy;
use super::raw;
use super::rules::FILE;
use super::sections::Section;
use super::stream::Identify;
use super::triangles::Counts;
use super::triangles::Triangles;
use crate::bytes::{Array, Out, Source, Text};
use crate::codec::Codec;
use crate::decode::{Block, Decoders, Scratch};
use crate::limits::{Limits, Meter};
use crate::mesh::Bounds;
use crate::num::{as_u64, as_usize};
use crate::report::{Address, Place, Result};

/// A snapshot of a [`Proxy`]. Everything is read on demand.
///
/// From a lazy source, the bounding box and the point cloud are read separately. The first call for positions or normals reads as
/// much of the snapshot as these need; any other call reads the whole snapshot, once. Cloning is cheap; a clone shares the data
/// that has been read, and so do [samples](Self::sample).
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub(super) proxy: Proxy,
    pub(super) index: usize,
    /// The index among its meshes.
    pub(super) sample: usize,
    pub(super) extent: Range<u64>,
    /// Made when it is needed: the sections of most snapshots are few, and in memory.
    pub(super) kept: OnceLock<Arc<LoadedSnapshot>>,
}

/// The data of a snapshot that has been read.
#[derive(Debug, Default)]
pub(super) struct LoadedSnapshot {
    /// The source, with the bytes of the snapshot.
    pub(super) loaded: OnceLock<Source>,
    /// `true` if a part of it has been read separately. The next read is of the whole.
    pub(super) is_read_in_part: AtomicBool,
    /// Its sections, once they have been listed.
    pub(super) sections: OnceLock<Vec<Section>>,
}

impl Snapshot {
    pub(crate) fn new(proxy: &Proxy, index: usize) -> Result<Self> {
        let extent = proxy.layout().extent(index)?;
        Ok(Self {
            proxy: proxy.clone(),
            index,
            sample: 0,
            extent,
            kept: OnceLock::new(),
        })
    }

    pub(super) fn kept(&self) -> &LoadedSnapshot {
        self.kept.get_or_init(Arc::default)
    }

    /// The index in the offset table.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Its bytes: from its offset to the next one in the table, or to the end of the file.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.extent.clone()
    }

    /// The time of the snapshot in seconds; `None` if the header has no times.
    #[must_use]
    pub fn time(&self) -> Option<f64> {
        self.proxy.timing().map(|timing| timing.time_of(self.index))
    }

    /// All sections, known or not, in the order of the file.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`](crate::ErrorKind::Malformed) if they do not lead to the end tag, and the errors of reading.
    pub fn sections(&self) -> Result<Vec<Section>> {
        self.list(self.load()?, &mut Decoders::default())
            .map(<[Section]>::to_vec)
    }

    /// The first sections, at most `most`, of which only the headers are read, except in dialects that store the inflated size. For
    /// callers that do not read the snapshot afterwards: each header may be another request to a store.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`sections`](Self::sections).
    pub fn section_headers(&self, most: usize) -> Result<Vec<Section>> {
        let mut decoders = Decoders::default();
        let (mut sections, mut list) = (self.walk(self.proxy.source(), &mut decoders)?, Vec::new());
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
        let prefix = as_u64(self.proxy.dialect().prefix.size());
        let block = |section: Section| {
            let what = match section.tag {
                raw::TAG_BOUNDING_BOX => "TAG_BOUNDING_BOX",
                raw::TAG_POINTCLOUD => "TAG_POINTCLOUD",
                raw::TAG_MESH_DATA => "TAG_MESH_DATA",
                _ => return None,
            };
            Some(Block {
                what,
                address: self.address(),
                range: section.content.start.saturating_add(prefix)..section.content.end,
                codec: self.proxy.dialect().codec,
                decoded_len: (self.proxy.dialect().size == super::SizeMeaning::Inflated)
                    .then_some(section.size),
            })
        };
        Ok(self.sections()?.into_iter().filter_map(block).collect())
    }

    /// The bounding box as stored; `Ok(None)` if the snapshot has no bounding box.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`](crate::ErrorKind::Malformed) if the section does not hold six numbers, and the errors of reading.
    pub fn bounding_box(&self, scratch: &mut Scratch) -> Result<Option<Bounds>> {
        let section = (raw::TAG_BOUNDING_BOX, "TAG_BOUNDING_BOX");
        let corners = self.with_section(section, scratch, |stream| stream.bounding_box())?;
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
        let section = (raw::TAG_POINTCLOUD, "TAG_POINTCLOUD");
        let found = self.with_section(section, scratch, |stream| stream.point_cloud(out))?;
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
        let own = self.with_mesh(None, &self.meter(), scratch, |_, stream, _| {
            if stream.is_complete()? {
                stream.counts().map(Some)
            } else {
                Ok(None)
            }
        })?;
        match own {
            Some(counts) => Ok(counts),
            None => Ok(self.proxy.base_head(false)?.counts),
        }
    }

    /// Returns `true` if the mesh is stored complete, rather than as a difference from the first snapshot.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`counts`](Self::counts).
    pub fn is_complete(&self, scratch: &mut Scratch) -> Result<bool> {
        self.with_mesh(None, &self.meter(), scratch, |_, stream, _| {
            stream.is_complete()
        })
    }

    /// Identifies the triangles. Inflates one byte; of a complete snapshot after the first, everything, once for each of the last 65,536
    /// of them.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`counts`](Self::counts) and, of a complete snapshot, of [`mesh`](Self::mesh).
    pub fn topology(&self, scratch: &mut Scratch) -> Result<TopologyId> {
        let meter = self.meter();
        let complete_at = self.with_mesh(None, &meter, scratch, |section, stream, _| {
            Ok(stream.is_complete()?.then_some(section.range.start))
        })?;
        let Some(offset) = complete_at else {
            return Ok(self.proxy.base_head(false)?.topology);
        };
        if self.is_first() {
            return Ok(self.proxy.topology(SameTriangles::First));
        }
        if let Some(hash) = self.proxy.known_hash(offset) {
            return self.proxy.topology_of(hash);
        }
        let hash = self.with_mesh(
            Some(MeshArray::Triangles),
            &meter,
            scratch,
            |_, stream, skipped| {
                let counts = stream.complete_counts()?;
                stream.triangle_hash_alone(&counts, skipped)
            },
        )?;
        self.proxy.remember_hash(offset, hash);
        self.proxy.topology_of(hash)
    }

    /// The topology of a mesh of this snapshot, whose triangles may not have been seen.
    pub(super) fn seen(&self, topology: TopologyId, scratch: &mut Scratch) -> Result<TopologyId> {
        let SameTriangles::At(offset) = topology.triangles else {
            return Ok(topology);
        };
        match self.proxy.known_hash(offset) {
            Some(hash) => self.proxy.topology_of(hash),
            None => self.topology(scratch),
        }
    }

    /// Returns `true` for the mesh that differences are added to.
    pub(super) fn is_first(&self) -> bool {
        if self.sample != 0 || self.index == 0 {
            return self.sample == 0;
        }
        // Another entry of the table may name the first snapshot again.
        self.proxy
            .layout()
            .extent(0)
            .is_ok_and(|first| first.start == self.extent.start)
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
        self.with_mesh(
            Some(MeshArray::Positions),
            &self.meter(),
            scratch,
            |_, stream, _| {
                if stream.in_part().is_complete()? {
                    return Ok(false);
                }
                stream.position_differences(&self.proxy.base_head(false)?.counts, out)?;
                Ok(true)
            },
        )
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
        self.with_mesh(Some(part), meter, scratch, |_, stream, skipped| {
            if stream.in_part().is_complete()? {
                let counts = stream.counts()?;
                stream.array_alone(MeshForm::Complete(&counts), part, skipped, out.again())
            } else {
                let head = self.proxy.base_head(true)?;
                stream.check_channel(part, as_usize(head.counts.texcoord_sets))?;
                let base = self.proxy.base_array(&head, part, meter)?;
                stream.array_alone(
                    MeshForm::DifferenceOf(&head.counts, part, &base),
                    part,
                    skipped,
                    out.again(),
                )
            }
        })
        .map(drop)
    }

    /// An array, borrowed from the source if it is stored as it is.
    pub(super) fn array(&self, part: MeshArray) -> Result<Array<[f32; 3]>> {
        let (meter, mut scratch) = (self.meter(), Scratch::default());
        if let Some(found) = self.in_place(part, &meter, &mut scratch)? {
            return Ok(found.array);
        }
        let mut out = Vec::new();
        self.array_into(part, &meter, (&mut out).into(), &mut scratch)?;
        Ok(Array::from_vec(out))
    }

    /// An array of a complete mesh that the source has in memory as it is.
    pub(super) fn in_place(
        &self,
        part: MeshArray,
        meter: &Meter,
        scratch: &mut Scratch,
    ) -> Result<Option<BaseArray>> {
        let source = &self.proxy.layout().source;
        if self.proxy.dialect().codec != Codec::Stored || !source.is_in_memory() {
            return Ok(None);
        }
        let found = self.with_mesh(Some(part), meter, scratch, |_, stream, _| {
            if !stream.is_complete()? {
                return Ok(None);
            }
            let counts = stream.counts()?;
            stream.place_alone(&counts, part).map(Some)
        })?;
        let Some((place, before)) = found else {
            return Ok(None);
        };
        let bytes = source
            .get(place, "TAG_MESH_DATA")
            .map_err(|error| self.place().locate(error))?;
        Ok(Some(BaseArray {
            array: Array::new(bytes),
            before,
            memory: 0,
        }))
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
        // The system would be asked for all of a difference in a map.
        let is_asked = self.index > 0 && self.proxy.source().is_mapped();
        let may_be_complete = !is_asked || self.is_complete(scratch)?;
        let is_complete = may_be_complete
            && self.with_mesh(
                Some(MeshArray::Triangles),
                &self.meter(),
                scratch,
                |_, stream, skipped| {
                    if !stream.is_complete()? {
                        return Ok(false);
                    }
                    let counts = stream.counts()?;
                    stream.triangles_alone(&counts, skipped, out)?;
                    Ok(true)
                },
            )?;
        if !is_complete {
            *out = self.proxy.base_triangles()?;
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
        self.mesh_into_within(
            parts,
            meter,
            &mut buffer,
            &mut Scratch::default(),
            Identify::IfWanted,
        )?;
        Ok(buffer.into_mesh(self.proxy.topology(SameTriangles::First)))
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
        self.mesh_into_within(parts, &self.meter(), out, scratch, Identify::IfWanted)
            .map(drop)
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
        let mut hash = None;
        let unused = self.with_mesh(
            Some(self.last_of(parts)),
            meter,
            scratch,
            |section, stream, skipped| {
                let offset = section.range.start;
                hash = self.proxy.known_hash(offset);
                let id = self.stored_topology(offset);
                let identify = if hash.is_some() || self.is_first() {
                    Identify::No
                } else {
                    identify
                };
                let base = |parts| self.proxy.base_within(parts, meter);
                if let Some(seen) = stream.mesh(parts, &base, skipped, out, id, identify)? {
                    self.proxy.remember_hash(offset, seen);
                    hash = Some(seen);
                }
                Ok(stream.unused())
            },
        )?;
        let is_asked = identify == Identify::Always || parts.contains(Parts::TRIANGLES);
        if let Some(hash) = hash.filter(|_| out.is_complete && is_asked && !self.is_first()) {
            out.topology = Some(self.proxy.topology_of(hash)?);
        }
        Ok(unused)
    }

    /// The topology of a complete mesh at this offset, whose triangles have not been seen.
    pub(super) fn stored_topology(&self, offset: u64) -> TopologyId {
        self.proxy.topology(if self.is_first() {
            SameTriangles::First
        } else {
            SameTriangles::At(offset)
        })
    }

    /// The last array that is decoded for these parts.
    pub(super) fn last_of(&self, parts: Parts) -> MeshArray {
        // Triangles are stored in the first snapshot, and after everything else.
        let is_to_the_end = self.index == 0 && parts.contains(Parts::TRIANGLES);
        if is_to_the_end {
            MeshArray::Triangles
        } else {
            parts.last()
        }
    }

    /// The number of meshes: samples between this snapshot and the next, for motion blur. 1 in most files.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`sections`](Self::sections).
    pub fn samples(&self, scratch: &mut Scratch) -> Result<usize> {
        let mut sections = self.walk(self.load()?, &mut scratch.decoders)?;
        let mut count: usize = 0;
        while let Some(section) = sections.next().map_err(|error| error.of(self.address()))? {
            count = count.saturating_add(usize::from(section.tag == raw::TAG_MESH_DATA));
        }
        Ok(count)
    }

    /// The snapshot with another of its meshes; the first is 0.
    #[must_use]
    pub fn sample(&self, sample: usize) -> Self {
        // Data that is read for one sample is read for all.
        self.kept();
        Self {
            sample,
            ..self.clone()
        }
    }

    /// The meter of a call on this snapshot.
    pub(super) fn meter(&self) -> Meter<'static> {
        Meter::of_call(&self.limits())
    }

    pub(super) fn limits(&self) -> Limits {
        self.proxy.options().limits
    }

    pub(crate) fn object_name(&self) -> Option<Text> {
        self.proxy.object_name()
    }

    pub(crate) fn address(&self) -> Address {
        snapshot_address(self.index)
    }

    pub(crate) fn place(&self) -> Place {
        FILE.of(self.address())
    }
}
