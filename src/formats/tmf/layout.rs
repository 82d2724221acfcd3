//! The layout of a file: all headers, every count checked against its bytes.

use std::ops::Range;

use bytes::Bytes;
use zerocopy::FromBytes;
use zerocopy::little_endian::{U16, U64};

use super::coordinates::Coordinates;
use super::raw;
use super::raw::MAGIC;
use super::rules::{self, FILE};
use super::segment::{FileLayout, Segment, SegmentType};
use crate::bytes::{Source, Walk};
use crate::codec::bits::packed_len;
use crate::format::Format;
use crate::limits::{Charge, Limits, Meter, take_block};
use crate::num::{Span, as_u64, at_most, counted, decimal, size_u64, span};
use crate::report::{Address, Error, ErrorKind, Finding, Findings, Place, Result};

/// Bytes that a lazy source reads first.
pub(crate) const HEAD: u64 = 64 << 10;

/// The headers of a file.
#[derive(Debug)]
pub(crate) struct Layout {
    /// The source; it holds the headers in memory.
    pub(crate) source: Source,
    #[cfg_attr(
        not(feature = "raw"),
        expect(dead_code, reason = "read only by `Document::header`")
    )]
    pub(crate) header: raw::Header,
    pub(crate) file_layout: FileLayout,
    pub(crate) meshes: Vec<MeshLayout>,
    pub(crate) segments: Vec<Segment>,
    pub(crate) findings: Vec<Finding>,
}

/// A mesh.
#[derive(Debug)]
pub(crate) struct MeshLayout {
    pub(crate) start: u64,
    pub(crate) name: Bytes,
    /// The indices of its segments in the file.
    pub(crate) segments: Range<usize>,
}

impl Layout {
    pub(crate) fn read(source: &Source, limits: &Limits) -> Result<Self> {
        let header_size = size_u64::<raw::Header>();
        let source = source
            .for_format(Format::Tmf)
            .with_head(header_size, HEAD, "TMF Header")?;
        let header: raw::Header = source.read_struct(0, "TMF Header")?;
        let file_layout = check_identity(&header)?;
        let mut reader = Reader {
            walk: source.walk(),
            len: source.len()?,
            file_layout,
            limits,
            meshes: Vec::new(),
            segments: Vec::new(),
            findings: Findings::default(),
            omitted: Meter::of_call(limits),
        };
        let mut end = header_size;
        for index in 0..header.mesh_count.get() {
            end = reader.mesh(index.into(), end)?;
        }
        let len = source.len()?.unwrap_or(end);
        if len > end {
            reader.findings.add(rules::TRAILING_BYTES, || {
                let rest = end..len;
                let detail = format!("{} bytes after the last mesh", rest.length());
                (FILE.at(rest), detail)
            });
        }
        reader.check_wide_coordinates()?;
        Ok(Self {
            header,
            file_layout,
            meshes: reader.meshes,
            segments: reader.segments,
            findings: reader.findings.into_vec(),
            source: reader.walk.source(),
        })
    }

    /// The segments of a mesh.
    pub(crate) fn segments_of(&self, mesh: &MeshLayout) -> &[Segment] {
        self.segments.get(mesh.segments.clone()).unwrap_or_default()
    }

    /// The bytes of a mesh, its header included.
    pub(crate) fn mesh_range(&self, mesh: &MeshLayout) -> Range<u64> {
        let end = match self.segments_of(mesh).last() {
            Some(segment) => segment.data.end,
            // Only the header: `str_len`, the name and `seg_count`.
            None => {
                let name = as_u64(mesh.name.len());
                mesh.start.saturating_add(4).saturating_add(name)
            }
        };
        mesh.start..end
    }
}

fn check_identity(header: &raw::Header) -> Result<FileLayout> {
    if header.magic != raw::MAGIC {
        let error = FILE.error(ErrorKind::UnknownFormat, "Magic").at(0..3);
        let found = format!("\"{}\"", header.magic.escape_ascii());
        return Err(error.expected("\"TMF\"").found(found));
    }
    match (header.min_tmf_major.get(), header.min_tmf_minor.get()) {
        (0, 0 | 1) => Ok(FileLayout::A),
        (0, 2) => Ok(FileLayout::B),
        (major, minor) => {
            let fields = "MIN_TMF_MAJOR, MIN_TMF_MINOR";
            let error = FILE.error(ErrorKind::Unsupported, fields).at(7..11);
            let error = error.expected("0.2 or less");
            Err(error.found(format_args!("{major}.{minor}")))
        }
    }
}

/// Reads header after header.
struct Reader<'a> {
    walk: Walk,
    len: Option<u64>,
    file_layout: FileLayout,
    limits: &'a Limits,
    meshes: Vec<MeshLayout>,
    segments: Vec<Segment>,
    findings: Findings,
    /// Memory for elements that take up no bytes of the file.
    omitted: Meter<'static>,
}

/// The header of a mesh.
struct MeshHeader {
    name: Bytes,
    name_range: Range<u64>,
    segment_count: u16,
    end: u64,
}

/// The header of a segment, of either layout.
struct SegmentHeader {
    seg_type: u16,
    data_length: u64,
    compression: u8,
    /// The size of the header itself.
    size: u64,
}

/// The bytes of the numbers in the header of a bit array, for errors about them.
#[derive(Default)]
struct Fields {
    count: Range<u64>,
    precision: Range<u64>,
}

/// The address of a segment: the index of its mesh, and its own in the mesh.
#[derive(Clone, Copy)]
struct Position {
    mesh: u64,
    segment: u64,
}

impl Position {
    fn place(self) -> Place {
        FILE.of(Address::field("meshes")
            .index(self.mesh)
            .then("segments")
            .index(self.segment))
    }
}

impl Reader<'_> {
    /// Reads a mesh; returns its end.
    fn mesh(&mut self, index: u64, start: u64) -> Result<u64> {
        let header = self
            .mesh_header(start)
            .map_err(|error| mesh_place(index).locate(error))?;
        if str::from_utf8(&header.name).is_err() {
            self.findings.add(rules::NAME_NOT_UTF8, || {
                let place = mesh_place(index).at(header.name_range);
                (place, "the name of the mesh is not UTF-8")
            });
        }
        let first = self.segments.len();
        let mut end = header.end;
        for segment in 0..header.segment_count {
            let position = Position {
                mesh: index,
                segment: segment.into(),
            };
            end = self.segment(position, end)?;
        }
        self.meshes.push(MeshLayout {
            start,
            name: header.name,
            segments: first..self.segments.len(),
        });
        self.check_tables(end)?;
        self.count_omitted(index, first)?;
        Ok(end)
    }

    fn mesh_header(&mut self, start: u64) -> Result<MeshHeader> {
        let name_len = self.u16(start, "str_len")?;
        let name_range = span(start.saturating_add(2), name_len.into());
        let name = self.walk.get(name_range.clone(), "str_bytes")?;
        let segment_count = self.u16(name_range.end, "seg_count")?;
        let end = name_range.end.saturating_add(2);
        Ok(MeshHeader {
            name,
            name_range,
            segment_count,
            end,
        })
    }

    fn u16(&mut self, offset: u64, what: &'static str) -> Result<u16> {
        let number: U16 = self.walk.read_struct(offset, what)?;
        Ok(number.get())
    }

    /// Limits the lists, which for empty meshes are larger than the file.
    fn check_tables(&self, end: u64) -> Result<()> {
        let meshes = as_u64(self.meshes.len()).saturating_mul(size_u64::<MeshLayout>());
        let segments = as_u64(self.segments.len()).saturating_mul(size_u64::<Segment>());
        let lists = meshes.saturating_add(segments);
        let meter = Meter::of_part(self.limits, &(0..end));
        match take_block(&meter, end, lists, "lists of meshes and segments") {
            Ok(_) => Ok(()),
            // At the number of meshes in the header.
            Err(error) => Err(FILE.at(11..15).locate(error)),
        }
    }

    /// Reads the headers of a segment; returns its end.
    fn segment(&mut self, position: Position, start: u64) -> Result<u64> {
        let header = self
            .segment_header(start)
            .map_err(|error| position.place().locate(error))?;
        let kind = SegmentType::of(header.seg_type);
        let data_start = start.saturating_add(header.size);
        let data = span(data_start, header.data_length);
        let is_beyond_end = self.len.is_some_and(|len| data.end > len);
        if is_beyond_end || data_start.checked_add(header.data_length).is_none() {
            let there = self.len.unwrap_or(0).saturating_sub(data.start);
            let place = position.place().at(data);
            let error = place.error(ErrorKind::Truncated, kind.what());
            return Err(error.truncated(header.data_length, there));
        }
        let end = data.end;
        let mut segment = Segment {
            kind,
            seg_type: header.seg_type,
            compression: header.compression,
            range: start..end,
            data,
            count: 0,
            precision: [0; 3],
            mask: 0,
            bits_start: end,
            base: 0,
            wrapped: false,
        };
        self.note_type(position, &segment);
        self.content(position, &mut segment)?;
        self.segments.push(segment);
        Ok(end)
    }

    fn segment_header(&mut self, start: u64) -> Result<SegmentHeader> {
        match self.file_layout {
            FileLayout::A => {
                let header: raw::SegmentHeaderA = self.walk.read_struct(start, "Segment Header")?;
                Ok(SegmentHeader {
                    seg_type: header.seg_type.get(),
                    data_length: header.data_length.get(),
                    compression: header.compresion_type,
                    size: size_u64::<raw::SegmentHeaderA>(),
                })
            }
            FileLayout::B => {
                let header: raw::SegmentHeaderB = self.walk.read_struct(start, "Segment Header")?;
                Ok(SegmentHeader {
                    seg_type: header.seg_type.into(),
                    data_length: header.data_length.get().into(),
                    compression: header.compresion_type,
                    size: size_u64::<raw::SegmentHeaderB>(),
                })
            }
        }
    }

    fn note_type(&mut self, position: Position, segment: &Segment) {
        match segment.kind {
            SegmentType::Invalid | SegmentType::Reserved(_) | SegmentType::Unknown(_) => {
                self.findings.add(rules::UNKNOWN_SEGMENT, || {
                    let number = decimal(segment.seg_type);
                    let detail = format!("type {number} is not one that is written; skipped");
                    (position.place().at(segment.range.clone()), detail)
                });
            }
            kind if kind.is_of_layout_b() && self.file_layout == FileLayout::A => {
                self.findings.add(rules::TYPE_OF_OTHER_LAYOUT, || {
                    let detail = format!("type {} is of layout B", segment.seg_type);
                    (position.place().at(segment.range.clone()), detail)
                });
            }
            _ => {}
        }
    }

    /// Reads the headers before the bit array, and checks the array's length.
    fn content(&mut self, position: Position, segment: &mut Segment) -> Result<()> {
        if segment.decoded_bytes().is_none() {
            return Ok(());
        }
        if segment.is_omitted() {
            // The count is the count of the normals, which may still follow.
            if self.file_layout == FileLayout::B {
                self.findings.add(rules::OMITTED_IN_LAYOUT_B, || {
                    let detail =
                        "normal triangles are omitted, which layout B does not provide for";
                    (position.place().at(segment.range.clone()), detail)
                });
            }
            return Ok(());
        }
        if segment.compression != 0 {
            // The last byte of the segment header.
            let byte = segment.data.start.saturating_sub(1)..segment.data.start;
            let place = position.place().at(byte);
            let error = place.error(ErrorKind::Unsupported, "compresion_type");
            let error = error.expected("0 (or 1 of normal triangles)");
            return Err(error.found(segment.compression));
        }
        segment.bits_start = segment.data.start;
        let fields = match segment.kind {
            SegmentType::Invalid | SegmentType::Reserved(_) | SegmentType::Unknown(_) => {
                Fields::default()
            }
            SegmentType::Vertex => {
                let header: raw::Vertex = self.header(position, segment)?;
                segment.count = header.vertex_count.get();
                segment.precision = header.prec;
                Fields {
                    count: segment.data.part(0, 8),
                    precision: segment.data.part(56, 3),
                }
            }
            SegmentType::Normal | SegmentType::Tangent => {
                self.count_precision(position, segment)?
            }
            SegmentType::Uv => self.precision_count(position, segment)?,
            SegmentType::CustomColorRgba => {
                self.custom_name(position, segment)?;
                self.count_precision(position, segment)?
            }
            SegmentType::CustomFloat => {
                self.custom_name(position, segment)?;
                let start = segment.bits_start;
                let header: raw::CustomFloat = self.header(position, segment)?;
                segment.count = header.count.get();
                segment.precision[0] = header.precision;
                Fields {
                    count: span(start, 8),
                    precision: span(start.saturating_add(24), 1),
                }
            }
            SegmentType::CustomIndex | SegmentType::CustomInteger => {
                self.custom_name(position, segment)?;
                self.indices(position, segment)?
            }
            SegmentType::SharedTriangle => {
                segment.mask = self.header(position, segment)?;
                if !(1..=7).contains(&segment.mask) {
                    let detail = format!("expected 1 to 7, found {}", segment.mask);
                    let place = position.place().at(span(segment.data.start, 1));
                    self.findings.add(rules::SHARED_MASK, || (place, detail));
                }
                self.indices(position, segment)?
            }
            SegmentType::VertexTriangle
            | SegmentType::NormalTriangle
            | SegmentType::UvTriangle
            | SegmentType::TangentTriangle => self.indices(position, segment)?,
        };
        self.check_bits(position, segment, &fields)
    }

    /// Reads a count, then the bits of a number.
    fn count_precision(&mut self, position: Position, segment: &mut Segment) -> Result<Fields> {
        let start = segment.bits_start;
        let header: raw::CountPrecision = self.header(position, segment)?;
        segment.count = header.count.get();
        segment.precision[0] = header.precision;
        Ok(Fields {
            count: span(start, 8),
            precision: span(start.saturating_add(8), 1),
        })
    }

    /// Reads the bits of a number, then a count.
    fn precision_count(&mut self, position: Position, segment: &mut Segment) -> Result<Fields> {
        let start = segment.bits_start;
        let header: raw::PrecisionCount = self.header(position, segment)?;
        segment.count = header.count.get();
        segment.precision[0] = header.precision;
        Ok(Fields {
            precision: span(start, 1),
            count: span(start.saturating_add(1), 8),
        })
    }

    /// Reads the header of indices, which have a base in layout B.
    fn indices(&mut self, position: Position, segment: &mut Segment) -> Result<Fields> {
        let fields = self.precision_count(position, segment)?;
        if self.file_layout == FileLayout::B {
            segment.base = self.header::<U64>(position, segment)?.get();
        }
        Ok(fields)
    }

    /// The next structure before the bit array.
    fn header<T: FromBytes>(&mut self, position: Position, segment: &mut Segment) -> Result<T> {
        let start = segment.bits_start;
        let end = start.saturating_add(size_u64::<T>());
        if end > segment.data.end {
            let place = position.place().at(self.data_length_of(segment));
            let error = place.malformed("data_length");
            let needed = counted(end.saturating_sub(segment.data.start), "byte");
            let error = error.expected(format!("at least {needed} of {}", segment.kind.what()));
            return Err(error.found(segment.data.length()));
        }
        segment.bits_start = end;
        self.walk
            .read_struct(start, segment.kind.what())
            .map_err(|error| position.place().locate(error))
    }

    /// Returns the range of `data_length` of a segment in the file.
    fn data_length_of(&self, segment: &Segment) -> Range<u64> {
        match self.file_layout {
            FileLayout::A => segment.range.part(2, 8),
            FileLayout::B => segment.range.part(1, 4),
        }
    }

    /// Checks the name of custom data.
    fn custom_name(&mut self, position: Position, segment: &mut Segment) -> Result<()> {
        let len_start = segment.bits_start;
        let len: u8 = self.header(position, segment)?;
        let name = span(segment.bits_start, len.into());
        if name.end > segment.data.end {
            let place = position.place().at(span(len_start, 1));
            let error = place.malformed("length of the name of custom data");
            let rest = segment.data.end.saturating_sub(name.start);
            let expected = format!("{}, the rest of the segment (data_length)", at_most(rest));
            return Err(error.expected(expected).found(len));
        }
        let bytes = match self.walk.get(name.clone(), "name of custom data") {
            Ok(bytes) => bytes,
            Err(error) => return Err(position.place().at(name).locate(error)),
        };
        segment.bits_start = name.end;
        if str::from_utf8(&bytes).is_err() {
            self.findings.add(rules::NAME_NOT_UTF8, || {
                let detail = "the name of custom data is not UTF-8";
                (position.place().at(name), detail)
            });
        }
        Ok(())
    }

    /// Checks the width of numbers, and their count against the bytes of the segment.
    fn check_bits(&mut self, position: Position, segment: &Segment, fields: &Fields) -> Result<()> {
        const MAX_BITS: u8 = 64;
        let [width, ..] = segment.precision;
        if segment.kind != SegmentType::Vertex && width > MAX_BITS {
            let place = position.place().at(fields.precision.clone());
            let error = place.malformed("precision");
            return Err(error.expected("at most 64 bits").found(width));
        }
        let there = (segment.bits_start..segment.data.end).length();
        let record = segment.record_bits();
        match packed_len(segment.count, record) {
            Some(needed) if needed <= there => {
                self.note_tail(position, segment, needed);
            }
            _ => {
                let place = position.place().at(fields.count.clone());
                return Err(too_many(place, segment, there));
            }
        }
        if record == 0 {
            self.spend_omitted(segment).map_err(|error| {
                let place = position.place().at(fields.count.clone());
                place.locate(error.needed_by(segment.count))
            })?;
        }
        let has_no_bits = match segment.kind {
            SegmentType::Vertex => segment.precision.contains(&0),
            SegmentType::Uv | SegmentType::CustomColorRgba | SegmentType::CustomFloat => width == 0,
            _ => false,
        };
        if has_no_bits && segment.count > 0 {
            self.findings.add(rules::NO_BITS, || {
                let detail = "numbers of no bits, read as the minimum";
                (position.place().at(segment.range.clone()), detail)
            });
        }
        Ok(())
    }

    /// Makes a finding of bytes after the bit array, which needs `needed` bytes.
    fn note_tail(&mut self, position: Position, segment: &Segment, needed: u64) {
        let tail = segment.bits_start.saturating_add(needed)..segment.data.end;
        if !tail.is_empty() {
            self.findings.add(rules::SEGMENT_TAIL, || {
                let detail = format!("{} bytes after the data", tail.length());
                (position.place().at(tail), detail)
            });
        }
    }

    /// Counts omitted normal triangles: as many as the mesh has normals.
    fn count_omitted(&mut self, mesh: u64, first: usize) -> Result<()> {
        let mut normals = 0_u64;
        for segment in self.segments.get(first..).unwrap_or_default() {
            if segment.kind == SegmentType::Normal {
                normals = normals.saturating_add(segment.count);
            }
        }
        for index in first..self.segments.len() {
            let Some(segment) = self.segments.get_mut(index) else {
                continue;
            };
            if !segment.is_omitted() {
                continue;
            }
            segment.count = normals;
            let segment = segment.clone();
            self.spend_omitted(&segment).map_err(|error| {
                let position = Position {
                    mesh,
                    segment: as_u64(index.saturating_sub(first)),
                };
                position.place().at(segment.range).locate(error)
            })?;
        }
        Ok(())
    }

    /// Limits elements that take up no bytes, all segments together.
    fn spend_omitted(&mut self, segment: &Segment) -> Result<()> {
        take_block(
            &self.omitted,
            0,
            segment.decoded_bytes().unwrap_or(0),
            segment.kind.what(),
        )
        .map(Charge::keep)
    }

    /// Reads all coordinates of more than 32 bits, and decides what their scale is.
    fn check_wide_coordinates(&mut self) -> Result<()> {
        for (mesh, entry) in (0_u64..).zip(&self.meshes) {
            let segments = self
                .segments
                .get_mut(entry.segments.clone())
                .unwrap_or_default();
            for (index, segment) in (0..).zip(segments) {
                if !has_wide_coordinates(segment) {
                    continue;
                }
                let position = Position {
                    mesh,
                    segment: index,
                };
                let place = position.place().at(segment.range.clone());
                segment.wrapped =
                    are_wrapped(&mut self.walk, segment).map_err(|error| place.locate(error))?;
                let scale = if segment.wrapped {
                    "by their writer's scale"
                } else {
                    "by the specification's formula"
                };
                let [x, y, z] = segment.precision;
                let detail = format!("{x}, {y} and {z} bits, {scale}");
                self.findings
                    .add(rules::WIDE_COORDINATES, || (place, detail));
            }
        }
        Ok(())
    }
}

fn mesh_place(index: u64) -> Place {
    FILE.of(Address::field("meshes").index(index))
}

/// The error of a count at `place`, of more elements than fit in the `there` bytes of a bit array.
fn too_many(place: Place, segment: &Segment, there: u64) -> Error {
    let field = if segment.kind == SegmentType::Vertex {
        "vertex_count"
    } else {
        "count"
    };
    let record = segment.record_bits();
    let most = there.saturating_mul(8).checked_div(record).unwrap_or(0);
    let expected = format!(
        "at most {} of {} in the {} of {}",
        counted(most, "element"),
        counted(record, "bit"),
        counted(there, "byte"),
        segment.kind.what()
    );
    let error = place.malformed(field);
    error.expected(expected).found(segment.count)
}

/// Returns `true` for vertices with more than 32 bits on some axis.
fn has_wide_coordinates(segment: &Segment) -> bool {
    let is_wide = |bits: &u8| *bits > 32;
    segment.kind == SegmentType::Vertex && segment.precision.iter().any(is_wide)
}

/// Returns `true` if the coordinates of a segment fit their writer's scale. Reads them part by part.
fn are_wrapped(walk: &mut Walk, segment: &Segment) -> Result<bool> {
    /// A multiple of eight, so that each part begins a byte.
    const VERTICES: u64 = 8 << 10;
    let record = segment.record_bits();
    let mut first = 0_u64;
    while first < segment.count {
        let count = segment.count.saturating_sub(first).min(VERTICES);
        let start = segment
            .bits_start
            .saturating_add(first.saturating_mul(record) >> 3);
        let part = span(start, count.saturating_mul(record).div_ceil(8));
        if !Coordinates::are_wrapped(&walk.get(part, "VertexSegment")?, segment.precision, count) {
            return Ok(false);
        }
        first = first.saturating_add(count);
    }
    Ok(true)
}

/// Returns `true` if a source that begins with `head` is a TMF file.
pub(crate) fn detect(_: &Source, head: &[u8]) -> Result<bool> {
    Ok(head.starts_with(&MAGIC))
}
