//! Where everything is: every segment located, every count checked against its bytes, nothing decoded.

use std::ops::Range;
use std::sync::OnceLock;

use bytes::Bytes;
use zerocopy::FromBytes;

use super::angles::Angles;
use super::coordinates::Coordinates;
use super::raw;
use super::rules::{self, FILE};
use super::segment::{FileLayout, SegmentEntry, SegmentType};
use crate::bytes::{Source, Walk};
use crate::codec::bits::packed_len;
use crate::format::Format;
use crate::limits::Limits;
use crate::num::{Span, as_u64, decimal, size_u64, span};
use crate::report::{Address, Error, ErrorKind, Finding, Findings, Result};

/// What is read first of a file that is read lazily, in bytes.
pub(crate) const HEAD: u64 = 64 << 10;

/// The layout of a file.
#[derive(Debug)]
pub(crate) struct Layout {
    /// The source, with the headers at hand.
    pub(crate) source: Source,
    pub(crate) header: raw::Header,
    pub(crate) file_layout: FileLayout,
    pub(crate) meshes: Vec<MeshEntry>,
    pub(crate) segments: Vec<SegmentEntry>,
    pub(crate) findings: Vec<Finding>,
    /// Tables of angles, by their bits.
    angles: [OnceLock<Angles>; Angles::MOST_BITS + 1],
}

/// A mesh.
#[derive(Debug)]
pub(crate) struct MeshEntry {
    pub(crate) start: u64,
    pub(crate) name: Bytes,
    /// Its segments among those of the file.
    pub(crate) segments: Range<usize>,
}

impl Layout {
    pub(crate) fn read(source: &Source, limits: &Limits) -> Result<Self> {
        let header_size = size_u64::<raw::Header>();
        let source = source.for_format(Format::Tmf).with_head(header_size, HEAD, "TMF Header")?;
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
            unpaid: 0,
        };
        let mut end = header_size;
        for index in 0..header.mesh_count.get() {
            end = reader.mesh(index.into(), end)?;
        }
        if let Some(len) = source.len()?.filter(|len| *len > end) {
            reader.findings.add(rules::TRAILING_BYTES, || {
                let detail = format!("{} bytes behind the last mesh", len.saturating_sub(end));
                (FILE.at(end..len), detail)
            });
        }
        reader.look_at_wide_coordinates()?;
        Ok(Self {
            header,
            file_layout,
            meshes: reader.meshes,
            segments: reader.segments,
            findings: reader.findings.into_vec(),
            source: reader.walk.into_source(),
            angles: [const { OnceLock::new() }; Angles::MOST_BITS + 1],
        })
    }

    /// The table for normals of so many bits, where `count` of them make it worth while.
    pub(crate) fn angles(&self, bits: u8, count: usize) -> Option<&Angles> {
        let cell = self.angles.get(usize::from(bits))?;
        match cell.get() {
            Some(angles) => Some(angles),
            None if Angles::is_worth(bits, count) => Some(cell.get_or_init(|| Angles::new(bits))),
            None => None,
        }
    }

    /// The segments of a mesh.
    pub(crate) fn segments_of(&self, mesh: &MeshEntry) -> &[SegmentEntry] {
        self.segments.get(mesh.segments.clone()).unwrap_or_default()
    }

    /// The bytes of a mesh, its header included.
    pub(crate) fn mesh_range(&self, mesh: &MeshEntry) -> Range<u64> {
        let header = mesh.start.saturating_add(4).saturating_add(as_u64(mesh.name.len()));
        let end = self.segments_of(mesh).last().map_or(header, |segment| segment.data.1);
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
            let error = FILE.error(ErrorKind::Unsupported, "MIN_TMF_MAJOR, MIN_TMF_MINOR").at(7..11);
            let error = error.expected("0.2 or less");
            Err(error.found(format_args!("{major}.{minor}")))
        }
    }
}

/// Walks from header to header.
struct Reader<'a> {
    walk: Walk,
    len: Option<u64>,
    file_layout: FileLayout,
    limits: &'a Limits,
    meshes: Vec<MeshEntry>,
    segments: Vec<SegmentEntry>,
    findings: Findings,
    /// Decoded bytes of elements that take up none in the file.
    unpaid: u64,
}

/// Where a segment stands, for saying so.
#[derive(Clone, Copy)]
struct Place {
    mesh: u64,
    segment: u64,
}

impl Place {
    fn address(self) -> Address {
        Address::field("meshes").index(self.mesh).then("segments").index(self.segment)
    }

    fn error(self, kind: ErrorKind, what: &'static str, range: Range<u64>) -> Error {
        FILE.error(kind, what).of(self.address()).at(range)
    }
}

impl Reader<'_> {
    /// Reads a mesh; where it ends.
    fn mesh(&mut self, index: u64, start: u64) -> Result<u64> {
        let address = || Address::field("meshes").index(index);
        let at = |error: Error| error.of(address());
        let name_len = self.u16(start, "str_len").map_err(at)?;
        let name_start = start.saturating_add(2);
        let name_end = name_start.saturating_add(name_len.into());
        let name = self.walk.get(name_start..name_end, "str_bytes").map_err(at)?;
        let count = self.u16(name_end, "seg_count").map_err(at)?;
        if str::from_utf8(&name).is_err() {
            self.findings.add(rules::NAME_NOT_UTF8, || {
                let detail = "the name of the mesh is not UTF-8";
                (FILE.of(address()).at(name_start..name_end), detail)
            });
        }
        let first = self.segments.len();
        let mut end = name_end.saturating_add(2);
        for segment in 0..count {
            end = self.segment(Place { mesh: index, segment: segment.into() }, end)?;
        }
        self.meshes.push(MeshEntry { start, name, segments: first..self.segments.len() });
        self.check_tables()?;
        self.count_omitted(index, first)?;
        Ok(end)
    }

    fn u16(&mut self, offset: u64, what: &'static str) -> Result<u16> {
        self.walk.read_struct::<zerocopy::little_endian::U16>(offset, what).map(|number| number.get())
    }

    /// Lists of empty meshes and segments are larger than the file.
    fn check_tables(&self) -> Result<()> {
        let meshes = as_u64(self.meshes.len()).saturating_mul(size_u64::<MeshEntry>());
        let segments = as_u64(self.segments.len()).saturating_mul(size_u64::<SegmentEntry>());
        let bytes = meshes.saturating_add(segments);
        if bytes <= self.limits.max_block_bytes {
            return Ok(());
        }
        let error = FILE.error(ErrorKind::LimitExceeded, "lists of meshes and segments").at(11..15);
        let most = decimal(self.limits.max_block_bytes);
        let error = error.expected(format!("at most {most} bytes"));
        Err(error.found(decimal(bytes)))
    }

    /// Reads a segment's headers; where it ends.
    fn segment(&mut self, place: Place, start: u64) -> Result<u64> {
        let at = |error: Error| error.of(place.address());
        let (number, data_length, compression, data) = match self.file_layout {
            FileLayout::A => {
                let header: raw::SegmentHeaderA =
                    self.walk.read_struct(start, "Segment Header").map_err(at)?;
                let data = start.saturating_add(size_u64::<raw::SegmentHeaderA>());
                (header.seg_type.get(), header.data_length.get(), header.compresion_type, data)
            }
            FileLayout::B => {
                let header: raw::SegmentHeaderB =
                    self.walk.read_struct(start, "Segment Header").map_err(at)?;
                let data = start.saturating_add(size_u64::<raw::SegmentHeaderB>());
                (header.seg_type.into(), header.data_length.get().into(), header.compresion_type, data)
            }
        };
        let kind = SegmentType::of(number);
        let end = data.saturating_add(data_length);
        if self.len.is_some_and(|len| end > len) || data.checked_add(data_length).is_none() {
            let there = self.len.unwrap_or(0).saturating_sub(data);
            let error = place.error(ErrorKind::Truncated, kind.what(), data..end);
            return Err(error.expected(format!("{} bytes", decimal(data_length))).found(decimal(there)));
        }
        let mut entry = SegmentEntry {
            kind,
            compression,
            start,
            data: (data, end),
            bits: end,
            count: 0,
            widths: [0; 3],
            mask: 0,
            wrapped: false,
        };
        self.note_type(place, &entry, number);
        if entry.decoded_bytes().is_some() {
            self.content(place, &mut entry)?;
        }
        self.segments.push(entry);
        Ok(end)
    }

    fn note_type(&mut self, place: Place, entry: &SegmentEntry, number: u16) {
        match entry.kind {
            SegmentType::Invalid | SegmentType::Reserved(_) | SegmentType::Unknown(_) => {
                self.findings.add(rules::UNKNOWN_SEGMENT, || {
                    let detail = format!("type {number} is not one that is written; skipped");
                    (FILE.of(place.address()).at(entry.range()), detail)
                });
            }
            kind if kind.is_of_layout_b() && self.file_layout == FileLayout::A => {
                self.findings.add(rules::TYPE_OF_OTHER_LAYOUT, || {
                    let detail = format!("type {number} is of layout B");
                    (FILE.of(place.address()).at(entry.range()), detail)
                });
            }
            _ => {}
        }
    }

    /// Reads what precedes the bit array, and checks the array against the segment's bytes.
    fn content(&mut self, place: Place, entry: &mut SegmentEntry) -> Result<()> {
        if entry.is_omitted() {
            // The count is that of the normals, which may still follow.
            if self.file_layout == FileLayout::B {
                self.findings.add(rules::OMITTED_IN_LAYOUT_B, || {
                    let detail = "normal triangles are omitted, which layout B does not provide for";
                    (FILE.of(place.address()).at(entry.range()), detail)
                });
            }
            return Ok(());
        }
        if entry.compression != 0 {
            let at = entry.data.0.saturating_sub(1)..entry.data.0;
            let error = place.error(ErrorKind::Unsupported, "compresion_type", at);
            return Err(error.expected("0 (or 1 of normal triangles)").found(entry.compression));
        }
        let mut at = entry.data.0;
        if entry.kind.is_custom() {
            at = self.custom_name(place, entry)?;
        }
        match entry.kind {
            SegmentType::Vertex => {
                let head: raw::Vertex = self.head(place, entry, &mut at)?;
                (entry.count, entry.widths) = (head.vertex_count.get(), head.prec);
            }
            SegmentType::Normal | SegmentType::Tangent | SegmentType::CustomColorRgba => {
                let head: raw::CountPrecision = self.head(place, entry, &mut at)?;
                (entry.count, entry.widths) = (head.count.get(), [head.precision, 0, 0]);
            }
            SegmentType::CustomFloat => {
                let head: raw::CustomFloat = self.head(place, entry, &mut at)?;
                (entry.count, entry.widths) = (head.count.get(), [head.precision, 0, 0]);
            }
            _ => {
                if entry.kind == SegmentType::SharedTriangle {
                    entry.mask = self.head(place, entry, &mut at)?;
                    self.note_mask(place, entry);
                }
                let head: raw::PrecisionCount = self.head(place, entry, &mut at)?;
                (entry.count, entry.widths) = (head.count.get(), [head.precision, 0, 0]);
                if self.file_layout == FileLayout::B && entry.kind != SegmentType::Uv {
                    let _base: zerocopy::little_endian::U64 = self.head(place, entry, &mut at)?;
                }
            }
        }
        entry.bits = at;
        self.check_bits(place, entry)
    }

    /// A structure within the segment.
    fn head<T: FromBytes>(&mut self, place: Place, entry: &SegmentEntry, at: &mut u64) -> Result<T> {
        let end = at.saturating_add(size_u64::<T>());
        if end > entry.data.1 {
            let error = place.error(ErrorKind::Malformed, entry.kind.what(), entry.data.0..entry.data.1);
            let needed = decimal(end.saturating_sub(entry.data.0));
            let error = error.expected(format!("at least {needed} bytes (data_length)"));
            return Err(error.found(decimal(entry.data.1.saturating_sub(entry.data.0))));
        }
        let found = self.walk.read_struct(*at, entry.kind.what());
        *at = end;
        found.map_err(|error| error.of(place.address()))
    }

    /// Checks the name of custom data; where it ends.
    fn custom_name(&mut self, place: Place, entry: &SegmentEntry) -> Result<u64> {
        let mut at = entry.data.0;
        let len: u8 = self.head(place, entry, &mut at)?;
        let name = span(at, len.into());
        if name.end > entry.data.1 {
            let error = place.error(ErrorKind::Malformed, "name of custom data", name);
            return Err(error.expected(format!("an end at {:#x} (data_length) or before", entry.data.1)));
        }
        let bytes = self.walk.get(name.clone(), "name of custom data");
        if str::from_utf8(&bytes.map_err(|error| error.of(place.address()))?).is_err() {
            self.findings.add(rules::NAME_NOT_UTF8, || {
                let detail = "the name of custom data is not UTF-8";
                (FILE.of(place.address()).at(name.clone()), detail)
            });
        }
        Ok(name.end)
    }

    fn note_mask(&mut self, place: Place, entry: &SegmentEntry) {
        if entry.mask & 7 == 0 || entry.mask > 7 {
            self.findings.add(rules::SHARED_MASK, || {
                let detail = format!("expected 1..7, found {}", entry.mask);
                let at = span(entry.data.0, 1);
                (FILE.of(place.address()).at(at), detail)
            });
        }
    }

    fn check_bits(&mut self, place: Place, entry: &SegmentEntry) -> Result<()> {
        const WIDEST: u8 = 64;
        let range = entry.bits..entry.data.1;
        if entry.kind != SegmentType::Vertex && entry.widths.iter().any(|width| *width > WIDEST) {
            let error = place.error(ErrorKind::Malformed, "precision", entry.data.0..entry.bits);
            return Err(error.expected("at most 64 bits").found(entry.widths[0]));
        }
        let there = range.length();
        let needed = packed_len(entry.count, entry.record_bits());
        if needed.is_none_or(|needed| needed > there) {
            let error = place.error(ErrorKind::Malformed, entry.kind.what(), range);
            let needed = needed.map_or_else(|| "more than 64 bits count".to_owned(), decimal);
            let what = format!(
                "{needed} bytes for {} elements of {} bits",
                decimal(entry.count),
                entry.record_bits()
            );
            return Err(error.expected(what).found(decimal(there)));
        }
        if let Some(tail) = needed.map(|needed| range.start.saturating_add(needed)).filter(|t| *t < range.end)
        {
            self.findings.add(rules::SEGMENT_TAIL, || {
                let detail = format!("{} bytes behind the data", range.end.saturating_sub(tail));
                (FILE.of(place.address()).at(tail..range.end), detail)
            });
        }
        if entry.record_bits() == 0 {
            self.pay(place.address(), entry, entry.count)?;
        }
        self.note_no_bits(place, entry);
        Ok(())
    }

    fn note_no_bits(&mut self, place: Place, entry: &SegmentEntry) {
        let none = match entry.kind {
            SegmentType::Vertex => entry.widths.contains(&0),
            SegmentType::Uv | SegmentType::CustomColorRgba | SegmentType::CustomFloat => entry.widths[0] == 0,
            _ => false,
        };
        if none && entry.count > 0 {
            self.findings.add(rules::NO_BITS, || {
                let detail = "numbers of no bits, read as the least value there is";
                (FILE.of(place.address()).at(entry.range()), detail)
            });
        }
    }

    /// Omitted normal triangles are as many as the mesh has normals, wherever those stand.
    fn count_omitted(&mut self, mesh: u64, first: usize) -> Result<()> {
        let own = self.segments.get(first..).unwrap_or_default();
        let normals = own.iter().filter(|segment| segment.kind == SegmentType::Normal);
        let normals = normals.fold(0_u64, |sum, segment| sum.saturating_add(segment.count));
        for index in first..self.segments.len() {
            let Some(segment) = self.segments.get_mut(index).filter(|segment| segment.is_omitted()) else {
                continue;
            };
            segment.count = normals;
            let segment = *segment;
            let place = Place { mesh, segment: as_u64(index.saturating_sub(first)) };
            self.pay(place.address(), &segment, normals)?;
        }
        Ok(())
    }

    /// Elements that take up no bytes are limited all together, for there may be any number of such segments.
    fn pay(&mut self, address: Address, entry: &SegmentEntry, count: u64) -> Result<()> {
        let bytes = count.saturating_mul(entry.element_size());
        self.unpaid = self.unpaid.saturating_add(bytes);
        let error = |name: &str, most: u64, found: u64| {
            let error = FILE.error(ErrorKind::LimitExceeded, entry.kind.what()).of(address).at(entry.range());
            error.expected(format!("at most {} bytes ({name})", decimal(most))).found(decimal(found))
        };
        if bytes > self.limits.max_block_bytes {
            return Err(error("max_block_bytes", self.limits.max_block_bytes, bytes));
        }
        if self.unpaid > self.limits.max_total_bytes {
            return Err(error("max_total_bytes", self.limits.max_total_bytes, self.unpaid));
        }
        Ok(())
    }

    /// Decides how coordinates of more than 32 bits are read, for which all of them must be looked at.
    fn look_at_wide_coordinates(&mut self) -> Result<()> {
        let is_wide = |segment: &SegmentEntry| {
            segment.kind == SegmentType::Vertex && segment.widths.iter().any(|width| *width > 32)
        };
        let meshes = std::mem::take(&mut self.meshes);
        for (mesh, entry) in (0_u64..).zip(&meshes) {
            let segments = self.segments.get_mut(entry.segments.clone()).unwrap_or_default();
            for (index, segment) in (0..).zip(segments).filter(|(_, segment)| is_wide(segment)) {
                let place = Place { mesh, segment: index };
                let bytes = self.walk.get(segment.bits..segment.data.1, "VertexSegment");
                let bytes = bytes.map_err(|error| error.of(place.address()))?;
                segment.wrapped = Coordinates::are_wrapped(&bytes, segment.widths, segment.count);
                let [x, y, z] = segment.widths;
                let how = if segment.wrapped {
                    "by their writer's scale"
                } else {
                    "by the specification's formula"
                };
                let range = segment.range();
                self.findings.add(rules::WIDE_COORDINATES, || {
                    let detail = format!("{x}, {y} and {z} bits, {how}");
                    (FILE.of(place.address()).at(range), detail)
                });
            }
        }
        self.meshes = meshes;
        Ok(())
    }
}
