//! A snapshot: its sections, each read and decoded when asked for, and no further than it must be.

use std::ops::Range;
use std::sync::OnceLock;

use super::layout::snapshot_address;
use super::mesh::{Counts, Mesh, MeshBuffer, Stream, TopologyId, Unit};
use super::proxy::Proxy;
use super::raw;
use super::rules::FILE;
use super::sections::{self, Section, Sections};
use super::triangles::Triangles;
use crate::bytes::{Array, Source};
use crate::codec::inflate::{Inflate, Inflater};
use crate::decode::{Block, Scratch, fault_error};
use crate::mesh::Bounds;
use crate::num::{Span, as_u64, span};
use crate::options::Checksums;
use crate::report::{Address, ErrorKind, Place, Result};

/// A snapshot of a [`Proxy`]: nothing is read before something is asked for.
///
/// Of a source that is read lazily, the bounding box and the point cloud are read alone; everything else reads the
/// snapshot at once, and keeps it. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Snapshot {
    proxy: Proxy,
    index: usize,
    /// Which of several meshes.
    sample: usize,
    extent: Range<u64>,
    /// The source with the snapshot's bytes at hand.
    loaded: OnceLock<Source>,
}

impl Snapshot {
    pub(crate) fn new(proxy: &Proxy, index: usize) -> Result<Self> {
        let extent = proxy.layout().extent(index)?;
        Ok(Self { proxy: proxy.clone(), index, sample: 0, extent, loaded: OnceLock::new() })
    }

    /// The index in the offset table.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The bytes from its offset to the next one in the table, or to the end of the file.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.extent.clone()
    }

    /// Seconds of its time; `None` where the header does not tell.
    #[must_use]
    pub fn time(&self) -> Option<f64> {
        self.proxy.timing().map(|timing| timing.time_of(self.index))
    }

    /// The sections, in the order of the file; those that are not known, too.
    ///
    /// # Errors
    ///
    /// [`Malformed`](ErrorKind::Malformed) where they do not lead to the end tag, and the errors of reading.
    pub fn sections(&self) -> Result<Vec<Section>> {
        let source = self.load()?;
        let mut inflater = Inflater::default();
        let mut sections = self.walk(source, &mut inflater)?;
        let mut all = Vec::new();
        while let Some(section) = sections.next().map_err(|error| error.of(self.address()))? {
            all.push(section);
        }
        Ok(all)
    }

    /// The streams of the sections that are known, for decoding several at once with
    /// [`decode_all`](crate::decode_all) or for planning reads.
    ///
    /// # Errors
    ///
    /// Those of [`sections`](Self::sections).
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

    /// The content of the first section with this tag, as stored; `Ok(None)` where there is none.
    ///
    /// # Errors
    ///
    /// Those of [`sections`](Self::sections).
    pub fn raw_section(&self, tag: u32) -> Result<Option<bytes::Bytes>> {
        let source = self.load()?.clone();
        let section = self.find(&source, tag, 0, &mut Inflater::default())?;
        section.map(|section| source.get(section.content, "section")).transpose()
    }

    /// The box as stored; `Ok(None)` where there is none.
    ///
    /// # Errors
    ///
    /// [`Malformed`](ErrorKind::Malformed) where the section does not hold six numbers, and the errors of reading.
    pub fn bounding_box(&self) -> Result<Option<Bounds>> {
        self.bounding_box_with(&mut Scratch::default())
    }

    /// The same with memory that is used again.
    ///
    /// # Errors
    ///
    /// Those of [`bounding_box`](Self::bounding_box).
    pub fn bounding_box_with(&self, scratch: &mut Scratch) -> Result<Option<Bounds>> {
        /// Tag, section header, and a compressed box.
        const USUALLY: u64 = 4 + 12 + 80;
        let Some((section, bytes)) = self.small_section(raw::TAG_BOUNDING_BOX, USUALLY, scratch)? else {
            return Ok(None);
        };
        let [min, max] =
            self.with_stream(&section, &bytes, "TAG_BOUNDING_BOX", scratch, |s| s.bounding_box())?;
        Ok(Some(Bounds { min, max }))
    }

    /// The point cloud for viewports; `Ok(None)` where there is none.
    ///
    /// # Errors
    ///
    /// [`Malformed`](ErrorKind::Malformed) where there are not as many points as the section says,
    /// [`LimitExceeded`](ErrorKind::LimitExceeded), and the errors of reading.
    pub fn point_cloud(&self) -> Result<Option<Array<[f32; 3]>>> {
        let mut points = Vec::new();
        let found = self.point_cloud_into(&mut points, &mut Scratch::default())?;
        Ok(found.then(|| Array::from_vec(points)))
    }

    /// The same into memory that is used again; `Ok(false)` where there is none.
    ///
    /// # Errors
    ///
    /// Those of [`point_cloud`](Self::point_cloud).
    pub fn point_cloud_into(&self, out: &mut Vec<[f32; 3]>, scratch: &mut Scratch) -> Result<bool> {
        /// Tags and the headers of a box and a cloud.
        const USUALLY: u64 = 4 + 12 + 80 + 12;
        let Some((section, bytes)) = self.small_section(raw::TAG_POINTCLOUD, USUALLY, scratch)? else {
            return Ok(false);
        };
        self.with_stream(&section, &bytes, "TAG_POINTCLOUD", scratch, |stream| stream.point_cloud(out))?;
        Ok(true)
    }

    /// How many positions, normals, map channels and triangles the mesh has: inflates 17 bytes.
    ///
    /// Of a difference, those of the first snapshot.
    ///
    /// # Errors
    ///
    /// [`Malformed`](ErrorKind::Malformed) where there is no mesh, and the errors of reading.
    pub fn counts(&self) -> Result<Counts> {
        self.counts_with(&mut Scratch::default())
    }

    /// The same with memory that is used again.
    ///
    /// # Errors
    ///
    /// Those of [`counts`](Self::counts).
    pub fn counts_with(&self, scratch: &mut Scratch) -> Result<Counts> {
        let own = self.mesh_beginning(scratch, |_, stream| {
            if stream.is_complete()? { stream.counts().map(Some) } else { Ok(None) }
        })?;
        match own {
            Some(counts) => Ok(counts),
            None => {
                let base = self.proxy.base()?;
                let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
                Ok(Counts {
                    vertices: count(base.positions.len()),
                    normals: count(base.normals.len()),
                    map_channels: count(base.map_channels.len()),
                    triangles: count(base.triangles.len()),
                })
            }
        }
    }

    /// Whether the mesh is stored complete; otherwise it is a difference from that of the first snapshot.
    ///
    /// # Errors
    ///
    /// Those of [`counts`](Self::counts).
    pub fn is_complete(&self) -> Result<bool> {
        self.mesh_beginning(&mut Scratch::default(), |_, stream| stream.is_complete())
    }

    /// Which triangles the mesh has: inflates one byte.
    ///
    /// # Errors
    ///
    /// Those of [`counts`](Self::counts).
    pub fn topology(&self) -> Result<TopologyId> {
        self.topology_with(&mut Scratch::default())
    }

    pub(crate) fn topology_with(&self, scratch: &mut Scratch) -> Result<TopologyId> {
        let mut offset = 0;
        let complete = self.mesh_beginning(scratch, |section, stream| {
            offset = section.range.start;
            stream.is_complete()
        })?;
        if complete { Ok(self.proxy.topology_at(offset)) } else { Ok(self.proxy.base()?.topology) }
    }

    /// The positions: the stream is inflated no further.
    ///
    /// # Errors
    ///
    /// Those of [`mesh`](Self::mesh).
    pub fn positions(&self) -> Result<Array<[f32; 3]>> {
        let mut out = Vec::new();
        self.positions_into(&mut out, &mut Scratch::default())?;
        Ok(Array::from_vec(out))
    }

    /// The same into memory that is used again.
    ///
    /// # Errors
    ///
    /// Those of [`mesh`](Self::mesh).
    pub fn positions_into(&self, out: &mut Vec<[f32; 3]>, scratch: &mut Scratch) -> Result<()> {
        self.mesh_section(scratch, |_, stream| {
            if stream.in_part().is_complete()? {
                let counts = stream.counts()?;
                stream.positions(&counts, out)
            } else {
                stream.position_differences(&*self.proxy.base()?, out)
            }
        })
    }

    /// The normals: the stream is inflated no further.
    ///
    /// # Errors
    ///
    /// Those of [`mesh`](Self::mesh).
    pub fn normals(&self) -> Result<Array<[f32; 3]>> {
        let mut out = Vec::new();
        self.normals_into(&mut out, &mut Scratch::default())?;
        Ok(Array::from_vec(out))
    }

    /// The same into memory that is used again.
    ///
    /// # Errors
    ///
    /// Those of [`mesh`](Self::mesh).
    pub fn normals_into(&self, out: &mut Vec<[f32; 3]>, scratch: &mut Scratch) -> Result<()> {
        self.mesh_stream_with(scratch, |stream, skipped| {
            if stream.in_part().is_complete()? {
                let counts = stream.counts()?;
                stream.normals(&counts, skipped, out)
            } else {
                stream.normal_differences(&*self.proxy.base()?, skipped, out)
            }
        })
    }

    /// The texture coordinates u, v, w of a map channel: the stream is inflated no further.
    ///
    /// # Errors
    ///
    /// [`OutOfRange`](ErrorKind::OutOfRange) where there is no such channel, and those of [`mesh`](Self::mesh).
    pub fn map_channel(&self, channel: usize) -> Result<Array<[f32; 3]>> {
        let mut out = Vec::new();
        self.map_channel_into(channel, &mut out, &mut Scratch::default())?;
        Ok(Array::from_vec(out))
    }

    /// The same into memory that is used again.
    ///
    /// # Errors
    ///
    /// Those of [`map_channel`](Self::map_channel).
    pub fn map_channel_into(
        &self,
        channel: usize,
        out: &mut Vec<[f32; 3]>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.mesh_stream_with(scratch, |stream, skipped| {
            if stream.in_part().is_complete()? {
                let counts = stream.counts()?;
                stream.map_channel(&counts, channel, skipped, out)
            } else {
                stream.map_channel_differences(&*self.proxy.base()?, channel, skipped, out)
            }
        })
    }

    /// The triangles; those of a difference are the first snapshot's.
    ///
    /// # Errors
    ///
    /// Those of [`mesh`](Self::mesh).
    pub fn triangles(&self) -> Result<Triangles> {
        let mut triangles = Triangles::default();
        self.triangles_into(&mut triangles, &mut Scratch::default())?;
        Ok(triangles)
    }

    /// The same into memory that is used again, unless somebody shares it.
    ///
    /// # Errors
    ///
    /// Those of [`mesh`](Self::mesh).
    pub fn triangles_into(&self, out: &mut Triangles, scratch: &mut Scratch) -> Result<()> {
        let is_complete = self.mesh_stream_with(scratch, |stream, skipped| {
            if !stream.is_complete()? {
                return Ok(false);
            }
            let counts = stream.counts()?;
            stream.triangles_alone(&counts, skipped, out)?;
            Ok(true)
        })?;
        if !is_complete {
            *out = self.proxy.base()?.triangles.clone();
        }
        Ok(())
    }

    /// The whole mesh, decoded to the end of its stream, with the checksum verified.
    ///
    /// # Errors
    ///
    /// [`Malformed`](ErrorKind::Malformed) where the snapshot has no mesh, or the mesh is not as the published text
    /// says; [`Truncated`](ErrorKind::Truncated) where its stream is cut; [`LimitExceeded`](ErrorKind::LimitExceeded);
    /// and the errors of reading. They name the snapshot and the byte range. Other snapshots are not concerned, but
    /// for differences where the first one is wrong.
    pub fn mesh(&self) -> Result<Mesh> {
        let mut buffer = MeshBuffer::default();
        self.mesh_into(&mut buffer, &mut Scratch::default())?;
        let topology = buffer.topology.unwrap_or_else(|| self.proxy.topology_at(0));
        Ok(buffer.into_mesh(topology))
    }

    /// The same into memory that is used again: after the first of a kind, nothing is allocated.
    ///
    /// # Errors
    ///
    /// Those of [`mesh`](Self::mesh).
    pub fn mesh_into(&self, out: &mut MeshBuffer, scratch: &mut Scratch) -> Result<()> {
        self.mesh_section(scratch, |section, stream| {
            let id = self.proxy.topology_at(section.range.start);
            stream.mesh(&|| self.proxy.base(), out, id)
        })
    }

    /// The whole mesh, which must be complete.
    pub(crate) fn complete_mesh(&self) -> Result<Mesh> {
        let mut buffer = MeshBuffer::default();
        self.mesh_section(&mut Scratch::default(), |section, stream| {
            let id = self.proxy.topology_at(section.range.start);
            let none = || {
                let error = FILE.malformed("TAG_MESH_DATA").at(section.content.clone());
                Err(self
                    .place()
                    .locate(error)
                    .expected("a complete mesh in the first snapshot")
                    .found("a difference"))
            };
            stream.mesh(&none, &mut buffer, id)?;
            Ok(id)
        })
        .map(|id| buffer.into_mesh(id))
    }

    /// The whole mesh, and the bytes that lie behind its stream inside the section.
    pub(crate) fn checked_mesh_into(&self, out: &mut MeshBuffer, scratch: &mut Scratch) -> Result<u64> {
        self.mesh_section(scratch, |section, stream| {
            let id = self.proxy.topology_at(section.range.start);
            stream.mesh(&|| self.proxy.base(), out, id)?;
            Ok(stream.unused())
        })
    }

    /// The number of meshes in this snapshot: samples between it and the next, for motion blur; 1 in most files.
    ///
    /// # Errors
    ///
    /// Those of [`sections`](Self::sections).
    pub fn samples(&self) -> Result<usize> {
        Ok(self.sections()?.iter().filter(|section| section.tag == raw::TAG_MESH_DATA).count())
    }

    /// This snapshot, with one of its meshes; the first is 0.
    #[must_use]
    pub fn sample(&self, sample: usize) -> Self {
        Self { sample, ..self.clone() }
    }

    pub(crate) fn object_name(&self) -> Option<String> {
        self.proxy.object_name().map(|name| name.to_string_lossy().into_owned())
    }

    pub(crate) fn address(&self) -> Address {
        snapshot_address(self.index)
    }

    pub(crate) fn place(&self) -> Place {
        FILE.of(self.address())
    }

    /// The source, with this snapshot's bytes at hand.
    fn load(&self) -> Result<&Source> {
        let source = &self.proxy.layout().source;
        if source.is_in_memory() {
            return Ok(source);
        }
        if self.loaded.get().is_none() {
            let with_tag = self.extent.start.saturating_sub(4)..self.end(source)?;
            let loaded =
                source.with_ranges(&[with_tag], "snapshot").map_err(|error| self.place().locate(error))?;
            let _ = self.loaded.set(loaded);
        }
        Ok(self.loaded.get().unwrap_or(source))
    }

    /// Where the snapshot ends: at the next one, or, where that is far, behind its own end tag. There may be a hole
    /// between, or the rest of the file.
    fn end(&self, source: &Source) -> Result<u64> {
        /// Reading as much costs no more than looking at each header of a section.
        const FAR: u64 = 8 << 20;
        let length = self.extent.length();
        if length <= FAR || self.proxy.dialect().size == super::SizeMeaning::Inflated {
            return Ok(self.extent.end);
        }
        let mut inflater = Inflater::default();
        let mut sections = self.walk(source, &mut inflater)?;
        while sections.next().map_err(|error| self.place().locate(error))?.is_some() {}
        Ok(sections.position().saturating_add(4).min(self.extent.end))
    }

    fn walk<'a>(&self, source: &'a Source, inflater: &'a mut Inflater) -> Result<Sections<'a>> {
        let dialect = self.proxy.dialect();
        let region = sections::region(source, &self.extent, dialect.offset)
            .map_err(|error| self.place().locate(error))?;
        Ok(Sections::new(source, region, dialect, self.proxy.options().decoder, inflater))
    }

    /// The section with this tag, after as many like it.
    fn find(
        &self,
        source: &Source,
        tag: u32,
        skip: usize,
        inflater: &mut Inflater,
    ) -> Result<Option<Section>> {
        let mut sections = self.walk(source, inflater)?;
        let mut left = skip;
        loop {
            match sections.find(tag).map_err(|error| self.place().locate(error))? {
                None => return Ok(None),
                Some(section) if left == 0 => return Ok(Some(section)),
                Some(_) => left = left.saturating_sub(1),
            }
        }
    }

    /// A section that is read alone, where the snapshot is not at hand.
    fn small_section(
        &self,
        tag: u32,
        usually: u64,
        scratch: &mut Scratch,
    ) -> Result<Option<(Section, bytes::Bytes)>> {
        let source = &self.proxy.layout().source;
        let light;
        let source = if self.is_to_be_read_alone(source) {
            let start = self.extent.start.saturating_sub(4);
            let end = start.saturating_add(usually).min(self.extent.end);
            light = source
                .with_ranges(std::slice::from_ref(&(start..end)), "snapshot")
                .map_err(|error| self.place().locate(error))?;
            &light
        } else {
            self.load()?
        };
        let Some(section) = self.find(source, tag, 0, &mut scratch.inflater)? else { return Ok(None) };
        let bytes =
            source.get(section.content.clone(), "section").map_err(|error| self.place().locate(error))?;
        Ok(Some((section, bytes)))
    }

    /// The stream of a section, without the length that may stand before it.
    fn stream<'a>(&self, section: &Section, bytes: &'a [u8]) -> Result<&'a [u8]> {
        let prefix = self.proxy.dialect().prefix;
        bytes.get(prefix.size()..).ok_or_else(|| {
            let error =
                FILE.error(ErrorKind::Truncated, "length before a stream").at(section.content.clone());
            self.place().locate(error).expected(format!("{} bytes", prefix.size())).found(bytes.len())
        })
    }

    /// Runs a job on the stream of a section.
    fn with_stream<T>(
        &self,
        section: &Section,
        bytes: &[u8],
        what: &'static str,
        scratch: &mut Scratch,
        job: impl FnOnce(&mut Stream<'_>) -> Result<T>,
    ) -> Result<T> {
        let (dialect, options) = (self.proxy.dialect(), self.proxy.options());
        let input = self.stream(section, bytes)?;
        let Scratch { inflater, cancel, .. } = scratch;
        let range = section.content.clone();
        let inflate = Inflate::new(inflater, input, dialect.codec, options.decoder, cancel.as_deref());
        let mut inflate = inflate
            .map_err(|fault| self.place().locate(fault_error(&fault, what, None).at(range.clone())))?;
        if options.checksums == Checksums::Ignore {
            inflate = inflate.ignoring_checksum();
        }
        let unit =
            Unit { what, range, snapshot: self.index, codec: dialect.codec, stored: as_u64(input.len()) };
        job(&mut Stream::new(inflate, unit, &options.limits))
    }

    /// Runs a job on the stream of the mesh, with memory for what it skips.
    fn mesh_stream_with<T>(
        &self,
        scratch: &mut Scratch,
        job: impl FnOnce(&mut Stream<'_>, &mut [u8]) -> Result<T>,
    ) -> Result<T> {
        const SKIPPED_AT_ONCE: usize = 32 << 10;
        let mut skipped = std::mem::take(&mut scratch.bytes);
        skipped.resize(SKIPPED_AT_ONCE, 0);
        let result = self.mesh_section(scratch, |_, stream| job(stream, &mut skipped));
        scratch.bytes = skipped;
        result
    }

    /// Runs a job that needs no more than the beginning of the mesh: where the snapshot is not at hand, no more is read.
    fn mesh_beginning<T>(
        &self,
        scratch: &mut Scratch,
        mut job: impl FnMut(&Section, &mut Stream<'_>) -> Result<T>,
    ) -> Result<T> {
        /// Enough for the tables of a deflate block and a few bytes behind them.
        const BEGINNING: u64 = 1024;
        let source = &self.proxy.layout().source;
        if self.is_to_be_read_alone(source)
            && let Some(section) =
                self.find(source, raw::TAG_MESH_DATA, self.sample, &mut scratch.inflater)?
            && section.content.length() > BEGINNING
        {
            let start = section.content.start;
            let bytes = source.get(span(start, BEGINNING), "TAG_MESH_DATA");
            let bytes = bytes.map_err(|error| self.place().locate(error))?;
            match self.with_stream(&section, &bytes, "TAG_MESH_DATA", scratch, |stream| job(&section, stream))
            {
                Err(error) if error.kind() == ErrorKind::Truncated => {}
                result => return result,
            }
        }
        self.mesh_section(scratch, job)
    }

    /// Whether reading a part of the snapshot alone is less than reading it.
    fn is_to_be_read_alone(&self, source: &Source) -> bool {
        !source.is_in_memory()
            && self.loaded.get().is_none()
            && self.proxy.dialect().size != super::SizeMeaning::Inflated
    }

    fn mesh_section<T>(
        &self,
        scratch: &mut Scratch,
        job: impl FnOnce(&Section, &mut Stream<'_>) -> Result<T>,
    ) -> Result<T> {
        let source = self.load()?;
        let section =
            self.find(source, raw::TAG_MESH_DATA, self.sample, &mut scratch.inflater)?.ok_or_else(|| {
                let error = FILE.malformed("TAG_MESH_DATA").at(self.extent.clone());
                self.place().locate(error).expected(format!("mesh section {}", self.sample)).found("none")
            })?;
        let bytes = source
            .get(section.content.clone(), "TAG_MESH_DATA")
            .map_err(|error| self.place().locate(error))?;
        self.with_stream(&section, &bytes, "TAG_MESH_DATA", scratch, |stream| job(&section, stream))
    }

    /// The bytes of the mesh section's snapshot, so that decoding it needs no more I/O.
    pub(crate) fn preload(&self) -> Result<()> {
        self.load().map(|_| ())
    }
}
