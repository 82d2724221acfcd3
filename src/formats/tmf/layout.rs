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
use crate::limits::{Charge, Limits, Meter};
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
        if let Some(len) = source.len()?.filter(|len| *len > end) {
            reader.findings.add(rules::TRAILING_BYTES, || {
                (
                    FILE.at(end..len),
                    format!("{} bytes after the last mesh", (end..len).length()),
                )
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
        let header = mesh
            .start
            .saturating_add(4)
            .saturating_add(as_u64(mesh.name.len()));
        let end = self
            .segments_of(mesh)
            .last()
            .map_or(header, |segment| segment.data.end);
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
            let error = FILE
                .error(ErrorKind::Unsupported, "MIN_TMF_MAJOR, MIN_TMF_MINOR")
                .at(7..11);
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

/// The positions of the numbers in the header of a bit array.
#[derive(Default)]
struct Fields {
    count: Range<u64>,
    precision: Range<u64>,
}

/// A segment, by the indices of its mesh and its own.
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
        let place = || FILE.of(Address::field("meshes").index(index));
        let at = |error: Error| place().locate(error);
        let name_len = self.u16(start, "str_len").map_err(at)?;
        let name_range = span(start.saturating_add(2), name_len.into());
        let name = self.walk.get(name_range.clone(), "str_bytes").map_err(at)?;
        let count = self.u16(name_range.end, "seg_count").map_err(at)?;
        if str::from_utf8(&name).is_err() {
            let end = name_range.end;
            let detail = "the name of the mesh is not UTF-8";
            self.findings.add(rules::NAME_NOT_UTF8, || {
                (place().at(name_range.start..end), detail)
            });
        }
        let first = self.segments.len();
        let mut end = name_range.end.saturating_add(2);
        for segment in 0..count {
            end = self.segment(
                Position {
                    mesh: index,
                    segment: segment.into(),
                },
                end,
            )?;
        }
        self.meshes.push(MeshLayout {
            start,
            name,
            segments: first..self.segments.len(),
        });
        self.check_tables(end)?;
        self.count_omitted(index, first)?;
        Ok(end)
    }

    fn u16(&mut self, offset: u64, what: &'static str) -> Result<u16> {
        self.walk.read_struct::<U16>(offset, what).map(U16::get)
    }

    /// Limits the lists, which for empty meshes are larger than the file.
    fn check_tables(&self, end: u64) -> Result<()> {
        let meshes = as_u64(self.meshes.len()).saturating_mul(size_u64::<MeshLayout>());
        let segments = as_u64(self.segments.len()).saturating_mul(size_u64::<Segment>());
        let (lists, meter) = (
            meshes.saturating_add(segments),
            Meter::of_part(self.limits, &(0..end)),
        );
        let taken = meter.take_block(end, lists, "lists of meshes and segments");
        taken
            .map(drop)
            .map_err(|error| FILE.at(11..15).locate(error))
    }

    /// Reads the headers of a segment; returns its end.
    fn segment(&mut self, position: Position, start: u64) -> Result<u64> {
        let at = |error: Error| position.place().locate(error);
        let (number, data_length, compression, header_size) = match self.file_layout {
            FileLayout::A => {
                let raw::SegmentHeaderA {
                    seg_type,
                    data_length,
                    compresion_type,
                } = self.walk.read_struct(start, "Segment Header").map_err(at)?;
                (
                    seg_type.get(),
                    data_length.get(),
                    compresion_type,
                    size_u64::<raw::SegmentHeaderA>(),
                )
            }
            FileLayout::B => {
                let raw::SegmentHeaderB {
                    seg_type,
                    data_length,
                    compresion_type,
                } = self.walk.read_struct(start, "Segment Header").map_err(at)?;
                let length = data_length.get().into();
                (
                    seg_type.into(),
                    length,
                    compresion_type,
                    size_u64::<raw::SegmentHeaderB>(),
                )
            }
        };
        let kind = SegmentType::of(number);
        let data_start = start.saturating_add(header_size);
        let data = span(data_start, data_length);
        if self.len.is_some_and(|len| data.end > len)
            || data_start.checked_add(data_length).is_none()
        {
            let there = self.len.unwrap_or(0).saturating_sub(data.start);
            let error = position
                .place()
                .at(data)
                .error(ErrorKind::Truncated, kind.what());
            return Err(error.truncated(data_length, there));
        }
        let end = data.end;
        let mut segment = Segment {
            kind,
            seg_type: number,
            compression,
            range: start..end,
            data,
            count: 0,
            precision: [0; 3],
            mask: 0,
            bits: end,
            base: 0,
            wrapped: false,
        };
        self.note_type(position, &segment, number);
        self.content(position, &mut segment)?;
        self.segments.push(segment);
        Ok(end)
    }

    fn note_type(&mut self, position: Position, segment: &Segment, number: u16) {
        let place = || position.place().at(segment.range.clone());
        match segment.kind {
            SegmentType::Invalid | SegmentType::Reserved(_) | SegmentType::Unknown(_) => {
                let detail = || {
                    format!(
                        "type {} is not one that is written; skipped",
                        decimal(number)
                    )
                };
                self.findings
                    .add(rules::UNKNOWN_SEGMENT, || (place(), detail()));
            }
            kind if kind.is_of_layout_b() && self.file_layout == FileLayout::A => {
                let detail = || format!("type {number} is of layout B");
                self.findings
                    .add(rules::TYPE_OF_OTHER_LAYOUT, || (place(), detail()));
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
                let detail = "normal triangles are omitted, which layout B does not provide for";
                let place = || position.place().at(segment.range.clone());
                self.findings
                    .add(rules::OMITTED_IN_LAYOUT_B, || (place(), detail));
            }
            return Ok(());
        }
        if segment.compression != 0 {
            let place = position
                .place()
                .at(segment.data.start.saturating_sub(1)..segment.data.start);
            let error = place.error(ErrorKind::Unsupported, "compresion_type");
            return Err(error
                .expected("0 (or 1 of normal triangles)")
                .found(segment.compression));
        }
        segment.bits = segment.data.start;
        let fields = match segment.kind {
            SegmentType::Invalid | SegmentType::Reserved(_) | SegmentType::Unknown(_) => {
                Fields::default()
            }
            SegmentType::Vertex => {
                let header: raw::Vertex = self.header(position, segment)?;
                (segment.count, segment.precision) = (header.vertex_count.get(), header.prec);
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
                let start = segment.bits;
                let header: raw::CustomFloat = self.header(position, segment)?;
                (segment.count, segment.precision[0]) = (header.count.get(), header.precision);
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

    fn count_precision(&mut self, position: Position, segment: &mut Segment) -> Result<Fields> {
        let start = segment.bits;
        let header: raw::CountPrecision = self.header(position, segment)?;
        (segment.count, segment.precision[0]) = (header.count.get(), header.precision);
        Ok(Fields {
            count: span(start, 8),
            precision: span(start.saturating_add(8), 1),
        })
    }

    fn precision_count(&mut self, position: Position, segment: &mut Segment) -> Result<Fields> {
        let start = segment.bits;
        let header: raw::PrecisionCount = self.header(position, segment)?;
        (segment.count, segment.precision[0]) = (header.count.get(), header.precision);
        Ok(Fields {
            precision: span(start, 1),
            count: span(start.saturating_add(1), 8),
        })
    }

    fn indices(&mut self, position: Position, segment: &mut Segment) -> Result<Fields> {
        let fields = self.precision_count(position, segment)?;
        if self.file_layout == FileLayout::B {
            segment.base = self.header::<U64>(position, segment)?.get();
        }
        Ok(fields)
    }

    /// The next structure before the bit array.
    fn header<T: FromBytes>(&mut self, position: Position, segment: &mut Segment) -> Result<T> {
        let (start, end) = (segment.bits, segment.bits.saturating_add(size_u64::<T>()));
        if end > segment.data.end {
            let error = position
                .place()
                .at(self.data_length_of(segment))
                .malformed("data_length");
            let needed = counted(end.saturating_sub(segment.data.start), "byte");
            let error = error.expected(format!("at least {needed} of {}", segment.kind.what()));
            return Err(error.found(segment.data.length()));
        }
        segment.bits = end;
        let header = self.walk.read_struct(start, segment.kind.what());
        header.map_err(|error| position.place().locate(error))
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
        let stored = segment.bits;
        let len: u8 = self.header(position, segment)?;
        let name = span(segment.bits, len.into());
        let place = || position.place().at(name.clone());
        if name.end > segment.data.end {
            let error = position
                .place()
                .at(span(stored, 1))
                .malformed("length of the name of custom data");
            let room = segment.data.end.saturating_sub(name.start);
            let expected = format!("{}, the rest of the segment (data_length)", at_most(room));
            return Err(error.expected(expected).found(len));
        }
        let bytes = self.walk.get(name.clone(), "name of custom data");
        if str::from_utf8(&bytes.map_err(|error| place().locate(error))?).is_err() {
            let detail = "the name of custom data is not UTF-8";
            self.findings
                .add(rules::NAME_NOT_UTF8, || (place(), detail));
        }
        segment.bits = name.end;
        Ok(())
    }

    fn check_bits(&mut self, position: Position, segment: &Segment, fields: &Fields) -> Result<()> {
        const MAX_BITS: u8 = 64;
        let place = |range: Range<u64>| position.place().at(range);
        let [width, ..] = segment.precision;
        if segment.kind != SegmentType::Vertex && width > MAX_BITS {
            let error = place(fields.precision.clone()).malformed("precision");
            return Err(error.expected("at most 64 bits").found(width));
        }
        let (range, record) = (segment.bits..segment.data.end, segment.record_bits());
        let there = range.length();
        let needed = packed_len(segment.count, record);
        let Some(needed) = needed.filter(|needed| *needed <= there) else {
            let what = if segment.kind == SegmentType::Vertex {
                "vertex_count"
            } else {
                "count"
            };
            let most = there.saturating_mul(8).checked_div(record).unwrap_or(0);
            let [most, record] = [counted(most, "element"), counted(record, "bit")];
            let (there, of) = (counted(there, "byte"), segment.kind.what());
            let expected = format!("at most {most} of {record} in the {there} of {of}");
            let error = place(fields.count.clone()).malformed(what);
            return Err(error.expected(expected).found(segment.count));
        };
        if needed < there {
            let tail = range.start.saturating_add(needed)..range.end;
            let detail = format!("{} bytes after the data", tail.length());
            self.findings
                .add(rules::SEGMENT_TAIL, || (place(tail), detail));
        }
        if record == 0 {
            let counted = self.spend_omitted(segment);
            let locate =
                |error: Error| place(fields.count.clone()).locate(error.needed_by(segment.count));
            counted.map_err(locate)?;
        }
        let has_no_bits = match segment.kind {
            SegmentType::Vertex => segment.precision.contains(&0),
            SegmentType::Uv | SegmentType::CustomColorRgba | SegmentType::CustomFloat => width == 0,
            _ => false,
        };
        if has_no_bits && segment.count > 0 {
            let detail = "numbers of no bits, read as the minimum";
            self.findings
                .add(rules::NO_BITS, || (place(segment.range.clone()), detail));
        }
        Ok(())
    }

    /// Counts omitted normal triangles: as many as the mesh has normals.
    fn count_omitted(&mut self, mesh: u64, first: usize) -> Result<()> {
        let own = self.segments.get(first..).unwrap_or_default();
        let normals = own
            .iter()
            .filter(|segment| segment.kind == SegmentType::Normal);
        let normals = normals.fold(0_u64, |sum, segment| sum.saturating_add(segment.count));
        for index in first..self.segments.len() {
            let Some(segment) = self
                .segments
                .get_mut(index)
                .filter(|segment| segment.is_omitted())
            else {
                continue;
            };
            segment.count = normals;
            let segment = segment.clone();
            let position = Position {
                mesh,
                segment: as_u64(index.saturating_sub(first)),
            };
            let spent = self.spend_omitted(&segment);
            spent.map_err(|error| position.place().at(segment.range.clone()).locate(error))?;
        }
        Ok(())
    }

    /// Limits elements that take up no bytes, all segments together.
    fn spend_omitted(&mut self, segment: &Segment) -> Result<()> {
        self.omitted
            .take_block(0, segment.decoded_bytes().unwrap_or(0), segment.kind.what())
            .map(Charge::keep)
    }

    /// Reads all coordinates of more than 32 bits, and decides what their scale is.
    fn check_wide_coordinates(&mut self) -> Result<()> {
        let is_wide = |segment: &Segment| {
            segment.kind == SegmentType::Vertex && segment.precision.iter().any(|width| *width > 32)
        };
        for (mesh, entry) in (0_u64..).zip(&self.meshes) {
            let segments = self
                .segments
                .get_mut(entry.segments.clone())
                .unwrap_or_default();
            for (index, segment) in (0..).zip(segments).filter(|(_, segment)| is_wide(segment)) {
                let place = Position {
                    mesh,
                    segment: index,
                }
                .place()
                .at(segment.range.clone());
                segment.wrapped =
                    are_wrapped(&mut self.walk, segment).map_err(|error| place.locate(error))?;
                let how = match segment.wrapped {
                    true => "by their writer's scale",
                    false => "by the specification's formula",
                };
                let [x, y, z] = segment.precision;
                let detail = format!("{x}, {y} and {z} bits, {how}");
                self.findings
                    .add(rules::WIDE_COORDINATES, || (place, detail));
            }
        }
        Ok(())
    }
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
            .bits
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
