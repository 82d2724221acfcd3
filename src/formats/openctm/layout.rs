//! The index of a body: headers, texts, and the byte range of each array. Sizes are checked, nothing is decoded.

use std::ops::Range;

use bytes::Bytes;
use zerocopy::little_endian::U32;

use super::mg2::GridBoxes;
use super::raw;
use super::raw::MAGIC;
use super::rules::{self, FILE};
use crate::bytes::{Source, Walk};
use crate::codec::{Codec, lzma};
use crate::decode::Block;
use crate::limits::{Limits, Meter, take_block};
use crate::num::{Span, as_u64, as_usize, counted, decimal, size_u64, span};
use crate::report::{Address, ErrorKind, Finding, Findings, Place, Result};

/// The number of bytes that are read first from a lazy source: all of a typical tile.
pub(crate) const HEAD: u64 = 64 << 10;

/// The storage of the arrays of a body: `Compression method`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// As they are.
    Raw,
    /// Compressed without loss.
    Mg1,
    /// In fixed point, with the precisions that the file states, and compressed.
    Mg2,
}

impl std::fmt::Display for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Raw => "RAW",
            Self::Mg1 => "MG1",
            Self::Mg2 => "MG2",
        })
    }
}

/// The layout of a body.
#[derive(Debug)]
pub(crate) struct Layout {
    /// The bytes of the body.
    pub(crate) range: Range<u64>,
    /// Its number in the file.
    pub(crate) body: u64,
    pub(crate) header: raw::Header,
    pub(crate) method: Method,
    pub(crate) comment: Comment,
    /// MG2 only.
    pub(crate) grid: Option<Grid>,
    pub(crate) indices: Section,
    pub(crate) positions: Section,
    pub(crate) normals: Option<Section>,
    pub(crate) uv_maps: Vec<Map>,
    pub(crate) attribute_maps: Vec<Map>,
    pub(crate) findings: Vec<Finding>,
}

/// The comment.
#[derive(Debug)]
pub(crate) struct Comment {
    pub(crate) range: Range<u64>,
    /// A short comment; `None` for a long one, which each call reads again.
    pub(crate) held: Option<Bytes>,
}

/// The maximum length of a comment that is held, in bytes.
const MAX_HELD_COMMENT: usize = 4 << 10;

/// The MG2 header, and the grid indices.
#[derive(Debug)]
pub(crate) struct Grid {
    pub(crate) header: raw::Mg2Header,
    pub(crate) boxes: GridBoxes,
    pub(crate) indices: Section,
}

/// A UV map or an attribute map.
#[derive(Debug)]
pub(crate) struct Map {
    pub(crate) name: Bytes,
    /// Empty for attribute maps, which have none.
    pub(crate) file: Bytes,
    /// MG2 only.
    pub(crate) precision: Option<f32>,
    pub(crate) section: Section,
}

/// The data of an array.
#[derive(Debug)]
pub(crate) struct Section {
    /// The tag before it.
    pub(crate) what: &'static str,
    pub(crate) part: SectionKind,
    /// The array itself, or the LZMA stream.
    pub(crate) range: Range<u64>,
    /// The properties that the LZMA decoder needs; `None` for an array that is stored uncompressed.
    pub(crate) props: Option<[u8; 5]>,
    /// The number of elements.
    pub(crate) count: u64,
    /// The number of 32-bit words of an element.
    pub(crate) components: u64,
}

/// One array of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SectionKind {
    Indices,
    Positions,
    GridIndices,
    Normals,
    UvMap(u64),
    AttributeMap(u64),
}

impl SectionKind {
    pub(crate) fn address(self, body: u64) -> Address {
        let body = body_address(body);
        match self {
            Self::Indices => body.then("indices"),
            Self::Positions => body.then("positions"),
            Self::GridIndices => body.then("grid_indices"),
            Self::Normals => body.then("normals"),
            Self::UvMap(index) => body.then("uv_maps").index(index).then("coords"),
            Self::AttributeMap(index) => body.then("attribute_maps").index(index).then("values"),
        }
    }
}

pub(crate) fn body_address(body: u64) -> Address {
    Address::field("bodies").index(body)
}

impl Section {
    /// The bytes of the array, the header of its stream included.
    pub(crate) fn stored_range(&self) -> Range<u64> {
        let header = match self.props {
            Some(_) => size_u64::<raw::PackedData>(),
            None => 0,
        };
        self.range.start.saturating_sub(header)..self.range.end
    }

    pub(crate) fn codec(&self) -> Codec {
        match self.props {
            Some(properties) => Codec::Lzma { properties },
            None => Codec::Stored,
        }
    }

    /// Returns the size of the array in bytes. As counts have 32 bits, it is far below 2^64.
    pub(crate) fn decoded_len(&self) -> u64 {
        self.count.saturating_mul(self.components).saturating_mul(4)
    }
}

impl Layout {
    /// Reads the body that begins at an offset. The walk goes on at its end for the next body.
    pub(crate) fn read(walk: &mut Walk, start: u64, body: u64, limits: &Limits) -> Result<Self> {
        Self::try_read(walk, start, body, limits)
            .map_err(|error| FILE.of(body_address(body)).locate(error))
    }

    fn try_read(walk: &mut Walk, start: u64, body: u64, limits: &Limits) -> Result<Self> {
        let header: raw::Header = walk.read_struct(start, "header")?;
        let method = check_identity(&header, start)?;
        let len = walk.source().len()?;
        let reader = Reader {
            walk,
            len,
            end: start.saturating_add(size_u64::<raw::Header>()),
            body,
            method,
            limits,
            findings: Findings::default(),
        };
        reader.body(header, start)
    }

    pub(crate) fn vertex_count(&self) -> usize {
        as_usize(self.header.vertex_count.get())
    }

    pub(crate) fn triangle_count(&self) -> usize {
        as_usize(self.header.triangle_count.get())
    }

    /// All arrays, in the order of the file.
    pub(crate) fn sections(&self) -> impl Iterator<Item = &Section> + Clone {
        let (first, second, third) = match &self.grid {
            Some(grid) => (&self.positions, Some(&grid.indices), &self.indices),
            None => (&self.indices, None, &self.positions),
        };
        let maps = self
            .uv_maps
            .iter()
            .chain(&self.attribute_maps)
            .map(|map| &map.section);
        [first]
            .into_iter()
            .chain(second)
            .chain([third])
            .chain(&self.normals)
            .chain(maps)
    }

    /// An array of the mesh, in the order of RAW and MG1 files for all methods, without the grid indices.
    pub(crate) fn section(&self, index: usize) -> Option<&Section> {
        let before_maps = [&self.indices, &self.positions].into_iter();
        let mut before_maps = before_maps.chain(&self.normals);
        let count = before_maps.clone().count();
        let Some(map_index) = index.checked_sub(count) else {
            return before_maps.nth(index);
        };
        let mut maps = self.uv_maps.iter().chain(&self.attribute_maps);
        let map = maps.nth(map_index)?;
        Some(&map.section)
    }

    /// The size in bytes of all arrays, decoded; grid indices are not an array of the mesh.
    pub(crate) fn decoded_len(&self) -> u64 {
        let mut sum = 0_u64;
        for section in self.sections() {
            if section.part != SectionKind::GridIndices {
                sum = sum.saturating_add(section.decoded_len());
            }
        }
        sum
    }

    pub(crate) fn block(&self, section: &Section) -> Block {
        Block::new(
            section.what,
            section.part.address(self.body),
            section.range.clone(),
            section.codec(),
            Some(section.decoded_len()),
        )
    }

    /// The body as a whole.
    pub(crate) fn place(&self) -> Place {
        FILE.of(body_address(self.body)).at(self.range.clone())
    }

    /// An array, with the header of its stream.
    pub(crate) fn place_of(&self, section: &Section) -> Place {
        FILE.of(section.part.address(self.body))
            .at(section.stored_range())
    }

    /// An element of an array.
    pub(crate) fn place_in(&self, section: &Section, element: u64) -> Place {
        FILE.of(section.part.address(self.body).index(element))
            .at(section.stored_range())
    }

    /// Returns the place of an element of an array, with the bytes of one of the array's 32-bit words if it is stored uncompressed.
    pub(crate) fn place_of_word(&self, section: &Section, element: u64, word: u64) -> Place {
        let place = self.place_in(section, element);
        match section.props {
            None => place.at(section.range.part(word.saturating_mul(4), 4)),
            Some(_) => place,
        }
    }
}

fn check_identity(header: &raw::Header, start: u64) -> Result<Method> {
    let place = |field: u64| FILE.at(span(start.saturating_add(field), 4));
    let quoted = |bytes: [u8; 4]| format!("\"{}\"", bytes.escape_ascii());
    if header.magic != raw::MAGIC {
        let error = place(0).error(ErrorKind::UnknownFormat, "magic identifier");
        return Err(error.expected("\"OCTM\"").found(quoted(header.magic)));
    }
    if header.version.get() != raw::VERSION {
        let error = place(4).error(ErrorKind::Unsupported, "file format version");
        return Err(error.expected("5").found(header.version));
    }
    let method = match header.method {
        raw::METHOD_RAW => Method::Raw,
        raw::METHOD_MG1 => Method::Mg1,
        raw::METHOD_MG2 => Method::Mg2,
        other => {
            let error = place(8).error(ErrorKind::Unsupported, "compression method");
            return Err(error
                .expected("\"RAW\\0\", \"MG1\\0\" or \"MG2\\0\"")
                .found(quoted(other)));
        }
    };
    let counts = [
        (header.vertex_count, "vertex count", 12),
        (header.triangle_count, "triangle count", 16),
    ];
    for (count, what, field) in counts {
        if count.get() == 0 {
            return Err(place(field).malformed(what).expected("at least 1").found(0));
        }
    }
    Ok(method)
}

/// Reads a body section by section.
struct Reader<'a> {
    walk: &'a mut Walk,
    /// The length of the source, if it is known.
    len: Option<u64>,
    /// The start of the next structure.
    end: u64,
    body: u64,
    method: Method,
    limits: &'a Limits,
    findings: Findings,
}

impl Reader<'_> {
    fn body(mut self, header: raw::Header, start: u64) -> Result<Layout> {
        self.note_flags(&header, start);
        let vertices = u64::from(header.vertex_count.get());
        let triangles = u64::from(header.triangle_count.get());
        let comment = self.comment()?;
        let grid;
        let positions;
        let indices;
        if self.method == Method::Mg2 {
            // In MG2, the positions are before the indices.
            let (grid_header, boxes) = self.grid_header(&header)?;
            positions = self.section("VERT", SectionKind::Positions, vertices, 3)?;
            grid = Some(Grid {
                header: grid_header,
                boxes,
                indices: self.section("GIDX", SectionKind::GridIndices, vertices, 1)?,
            });
            indices = self.section("INDX", SectionKind::Indices, triangles, 3)?;
        } else {
            grid = None;
            indices = self.section("INDX", SectionKind::Indices, triangles, 3)?;
            positions = self.section("VERT", SectionKind::Positions, vertices, 3)?;
        }
        let mut normals = None;
        if header.flags.get() & raw::FLAG_NORMALS != 0 {
            normals = Some(self.section("NORM", SectionKind::Normals, vertices, 3)?);
        }
        let uv_maps = self.maps(header.uv_map_count, |reader, index| {
            reader.map("TEXC", SectionKind::UvMap(index), vertices, 2)
        })?;
        let attribute_maps = self.maps(header.attribute_map_count, |reader, index| {
            reader.map("ATTR", SectionKind::AttributeMap(index), vertices, 4)
        })?;
        self.check_end()?;
        self.note_repeated_names(&uv_maps, "uv_maps");
        self.note_repeated_names(&attribute_maps, "attribute_maps");
        Ok(Layout {
            range: start..self.end,
            body: self.body,
            header,
            method: self.method,
            comment,
            grid,
            indices,
            positions,
            normals,
            uv_maps,
            attribute_maps,
            findings: self.findings.into_vec(),
        })
    }

    /// Bytes of this body, for findings.
    fn place(&self, range: Range<u64>) -> Place {
        FILE.of(body_address(self.body)).at(range)
    }

    fn note_flags(&mut self, header: &raw::Header, start: u64) {
        if header.flags.get() & !raw::FLAG_NORMALS != 0 {
            let place = self.place(span(start.saturating_add(28), 4));
            let detail = format!("expected 0 or 1, found {:#x}", header.flags.get());
            self.findings.add(rules::UNKNOWN_FLAGS, || (place, detail));
        }
    }

    /// The range of the next `len` bytes, which must be there.
    fn take(&mut self, len: u64, what: &'static str) -> Result<Range<u64>> {
        let range = span(self.end, len);
        // A source that does not know its length is checked by `check_end`.
        let source_end = self.len.unwrap_or(u64::MAX);
        if range.end > source_end || self.end.checked_add(len).is_none() {
            let available = source_end.saturating_sub(self.end);
            let error = FILE.at(range).error(ErrorKind::Truncated, what);
            return Err(error.truncated(len, available));
        }
        self.end = range.end;
        Ok(range)
    }

    /// Returns an error if a source that does not know its length ends before the body does.
    fn check_end(&mut self) -> Result<()> {
        if self.len.is_none() {
            let last_byte = self.end.saturating_sub(1)..self.end;
            self.walk.get(last_byte, "last array")?;
        }
        Ok(())
    }

    fn u32(&mut self, what: &'static str) -> Result<u32> {
        let number: U32 = self.walk.read_struct(self.end, what)?;
        self.end = self.end.saturating_add(4);
        Ok(number.get())
    }

    fn tag(&mut self, tag: &'static str) -> Result<()> {
        let start = self.end;
        let found = self.u32(tag)?.to_le_bytes();
        if found == tag.as_bytes() {
            return Ok(());
        }
        let error = FILE.at(start..self.end).malformed("identifier");
        Err(error
            .expected(format!("\"{tag}\""))
            .found(format_args!("\"{}\"", found.escape_ascii())))
    }

    fn comment(&mut self) -> Result<Comment> {
        let text = self.text("comment")?;
        let len = as_u64(text.len());
        let range = self.end.saturating_sub(len)..self.end;
        Ok(Comment {
            range,
            held: (text.len() <= MAX_HELD_COMMENT).then_some(text),
        })
    }

    fn text(&mut self, what: &'static str) -> Result<Bytes> {
        let len = self.u32(what)?;
        let range = self.take(len.into(), what)?;
        let text = self.walk.get(range.clone(), what)?;
        if str::from_utf8(&text).is_err() {
            let place = self.place(range);
            self.findings.add(rules::TEXT_NOT_UTF8, || {
                (place, format!("the {what} is not UTF-8"))
            });
        }
        Ok(text)
    }

    fn grid_header(&mut self, header: &raw::Header) -> Result<(raw::Mg2Header, GridBoxes)> {
        let start = self.end;
        self.tag("MG2H")?;
        let grid: raw::Mg2Header = self.walk.read_struct(start, "MG2 header")?;
        self.end = start.saturating_add(size_u64::<raw::Mg2Header>());
        let field = |offset: u64, len: u64| span(start.saturating_add(offset), len);
        let precisions = [
            (grid.vertex_precision, "vertex precision", 4),
            (grid.normal_precision, "normal precision", 8),
        ];
        for (precision, what, offset) in precisions {
            if precision.get() <= 0.0 {
                let error = FILE.at(field(offset, 4)).malformed(what);
                return Err(error.expected("more than 0").found(precision));
            }
        }
        let bounds = grid.lower_bound.iter().zip(&grid.higher_bound);
        for ((low, high), offset) in bounds.zip((24..).step_by(4)) {
            if high.get() < low.get() {
                let error = FILE.at(field(offset, 4)).malformed("higher bound");
                let expected = format!("at least the lower bound {}", low.get());
                return Err(error.expected(expected).found(high.get()));
            }
        }
        let [x, y, z] = grid.div.map(U32::get);
        for (div, what, offset) in [(x, "div_x", 36), (y, "div_y", 40), (z, "div_z", 44)] {
            if div == 0 {
                let error = FILE.at(field(offset, 4)).malformed(what);
                return Err(error.expected("at least 1").found(0));
            }
        }
        let Some(boxes) = GridBoxes::new(&grid) else {
            let error = FILE.at(field(36, 4)).malformed("div_x");
            let expected = format!(
                "a product with div_y, {}, that is no multiple of 2^32",
                decimal(y)
            );
            return Err(error.expected(expected).found(x));
        };
        let cells = u128::from(x)
            .saturating_mul(y.into())
            .saturating_mul(z.into());
        if cells > 1 << 32 {
            let place = self.place(field(36, 12));
            let detail = format!("{cells} cells, which take more than 32 bits");
            self.findings.add(rules::GRID_TOO_FINE, || (place, detail));
        }
        if grid.normal_precision.get().is_nan() && header.flags.get() & raw::FLAG_NORMALS == 0 {
            let place = self.place(field(8, 4));
            self.findings
                .add(rules::NAN_PRECISION, || (place, "not a number"));
        }
        Ok((grid, boxes))
    }

    /// An array of `count` times `components` words, with the tag before it.
    fn section(
        &mut self,
        what: &'static str,
        part: SectionKind,
        count: u64,
        components: u64,
    ) -> Result<Section> {
        self.try_section(what, part, count, components)
            .map_err(|error| FILE.of(part.address(self.body)).locate(error))
    }

    fn try_section(
        &mut self,
        what: &'static str,
        part: SectionKind,
        count: u64,
        components: u64,
    ) -> Result<Section> {
        self.tag(what)?;
        self.data(what, part, count, components)
    }

    /// The data of an array of `count` times `components` words.
    fn data(
        &mut self,
        what: &'static str,
        part: SectionKind,
        count: u64,
        components: u64,
    ) -> Result<Section> {
        let section = Section {
            what,
            part,
            range: 0..0,
            props: None,
            count,
            components,
        };
        let decoded_len = section.decoded_len();
        if self.method == Method::Raw {
            return Ok(Section {
                range: self.take(decoded_len, what)?,
                ..section
            });
        }
        let start = self.end;
        let header: raw::PackedData = self.walk.read_struct(start, "packed data")?;
        self.end = start.saturating_add(size_u64::<raw::PackedData>());
        let [lc_lp_pb, ..] = header.props;
        if lc_lp_pb >= 225 {
            let error = FILE
                .at(span(start.saturating_add(4), 1))
                .malformed("LZMA props");
            return Err(error.expected("less than 225").found(lc_lp_pb));
        }
        let packed = u64::from(header.packed_size.get());
        let range = self.take(packed, what)?;
        if lzma::check_length(decoded_len, packed).is_err() {
            let error = FILE.at(span(start, 4)).malformed("packed size");
            let expected = format!("a stream that can hold {} bytes", decimal(decoded_len));
            return Err(error.expected(expected).found(counted(packed, "byte")));
        }
        Ok(Section {
            range,
            props: Some(header.props),
            ..section
        })
    }

    fn maps(
        &mut self,
        count: U32,
        mut read: impl FnMut(&mut Self, u64) -> Result<Map>,
    ) -> Result<Vec<Map>> {
        let start = self.end;
        let mut maps = Vec::new();
        for index in 0..u64::from(count.get()) {
            maps.push(read(self, index)?);
            // The list is larger than the few bytes that a map of few vertices takes up in the file.
            let stored = self.end.saturating_sub(start);
            let memory = as_u64(size_of_val(&maps[..]));
            let meter = Meter::of_part(self.limits, &(start..self.end));
            take_block(&meter, stored, memory, "list of maps")
                .map_err(|error| FILE.at(start..self.end).locate(error))?
                .keep();
        }
        Ok(maps)
    }

    fn map(
        &mut self,
        what: &'static str,
        part: SectionKind,
        count: u64,
        components: u64,
    ) -> Result<Map> {
        self.try_map(what, part, count, components)
            .map_err(|error| FILE.of(part.address(self.body)).locate(error))
    }

    fn try_map(
        &mut self,
        what: &'static str,
        part: SectionKind,
        count: u64,
        components: u64,
    ) -> Result<Map> {
        self.tag(what)?;
        let name = self.text("name of a map")?;
        let file = match part {
            SectionKind::UvMap(_) => self.text("file name reference")?,
            _ => Bytes::new(),
        };
        let precision = match self.method {
            Method::Mg2 => Some(self.precision()?),
            Method::Raw | Method::Mg1 => None,
        };
        Ok(Map {
            name,
            file,
            precision,
            section: self.data(what, part, count, components)?,
        })
    }

    fn precision(&mut self) -> Result<f32> {
        let start = self.end;
        let precision = f32::from_bits(self.u32("precision")?);
        if precision <= 0.0 {
            let error = FILE.at(start..self.end).malformed("precision");
            return Err(error.expected("more than 0").found(precision));
        }
        Ok(precision)
    }

    fn note_repeated_names(&mut self, maps: &[Map], field: &'static str) {
        let mut names: Vec<&[u8]> = maps.iter().map(|map| &map.name[..]).collect();
        names.sort_unstable();
        let mut neighbours = names.iter().zip(names.iter().skip(1));
        if let Some((name, _)) = neighbours.find(|(name, next)| name == next) {
            let shown = name.get(..name.len().min(40)).unwrap_or_default();
            let detail = format!("several {field} are named \"{}\"", shown.escape_ascii());
            let place = FILE.of(body_address(self.body).then(field));
            self.findings.add(rules::REPEATED_NAME, || (place, detail));
        }
    }
}

/// Returns `true` if a source that begins with `head` is an OpenCTM file.
pub(crate) fn detect(_: &Source, head: &[u8]) -> Result<bool> {
    Ok(head.starts_with(&MAGIC))
}
