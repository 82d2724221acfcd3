//! Where everything is in a body: every section located by walking the headers, every size checked, nothing decoded.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use zerocopy::little_endian::{F32, U32};

use super::raw;
use super::rules::{self, FILE};
use crate::bytes::Walk;
use crate::codec::{Codec, lzma};
use crate::decode::Block;
use crate::limits::Limits;
use crate::num::{as_u64, as_usize, decimal, size_u64, span};
use crate::report::{Address, Error, ErrorKind, Finding, Findings, Result};

/// What is read first of a file that is read lazily, in bytes: all of a typical tile.
pub(crate) const HEAD: u64 = 64 << 10;

/// How the arrays of a body are stored: `Compression method`.
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
    pub(crate) comment: Bytes,
    /// Of MG2.
    pub(crate) grid: Option<Grid>,
    pub(crate) indices: Section,
    pub(crate) positions: Section,
    pub(crate) normals: Option<Section>,
    pub(crate) uv_maps: Vec<Map>,
    pub(crate) attribute_maps: Vec<Map>,
    pub(crate) findings: Vec<Finding>,
}

/// The MG2 header, and the grid indices.
#[derive(Debug)]
pub(crate) struct Grid {
    pub(crate) header: raw::Mg2Header,
    pub(crate) indices: Section,
}

/// A UV map or an attribute map.
#[derive(Debug)]
pub(crate) struct Map {
    pub(crate) name: Bytes,
    /// Empty for attribute maps, which have none.
    pub(crate) file: Bytes,
    /// Of MG2.
    pub(crate) precision: Option<f32>,
    pub(crate) section: Section,
}

/// The data of an array.
#[derive(Debug)]
pub(crate) struct Section {
    /// The tag before it.
    pub(crate) what: &'static str,
    pub(crate) part: Part,
    /// The array itself, or the LZMA stream.
    pub(crate) range: Range<u64>,
    /// What the LZMA decoder needs; `None` for data that is stored as it is.
    pub(crate) props: Option<[u8; 5]>,
    /// The size of the array in bytes: words of 32 bits.
    pub(crate) decoded_len: u64,
    /// Set when a stream was decoded that does not end where the array does.
    tail: AtomicBool,
}

/// Which array of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Indices,
    Positions,
    GridIndices,
    Normals,
    UvMap(u64),
    AttributeMap(u64),
}

impl Part {
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
        let header = self.props.map_or(0, |_| size_u64::<raw::PackedData>());
        self.range.start.saturating_sub(header)..self.range.end
    }

    pub(crate) fn note_tail(&self) {
        self.tail.store(true, Ordering::Relaxed);
    }

    pub(crate) fn has_tail(&self) -> bool {
        self.tail.load(Ordering::Relaxed)
    }
}

impl Layout {
    /// Reads the body that begins at an offset. The walk goes on at its end for the next body.
    pub(crate) fn read(walk: &mut Walk, start: u64, body: u64, limits: &Limits) -> Result<Self> {
        let header: raw::Header = walk.read_struct(start, "header").map_err(|error| at(error, body))?;
        let method = check_identity(&header, start).map_err(|error| at(error, body))?;
        let reader = Reader {
            len: walk.source().len()?,
            walk,
            end: start.saturating_add(size_u64::<raw::Header>()),
            body,
            is_packed: method != Method::Raw,
            findings: Findings::default(),
        };
        reader.body(header, method, start, limits).map_err(|error| at(error, body))
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
        let maps = self.uv_maps.iter().chain(&self.attribute_maps).map(|map| &map.section);
        [first].into_iter().chain(second).chain([third]).chain(&self.normals).chain(maps)
    }

    pub(crate) fn block(&self, section: &Section) -> Block {
        let codec = section.props.map_or(Codec::Stored, |properties| Codec::Lzma { properties });
        let address = section.part.address(self.body);
        Block::new(section.what, address, section.range.clone(), codec, Some(section.decoded_len))
    }
}

/// An error of a part of the body, or of the body.
fn at(error: Error, body: u64) -> Error {
    if error.address().is_some() { error } else { error.of(body_address(body)) }
}

fn check_identity(header: &raw::Header, start: u64) -> Result<Method> {
    let error = |kind, what, place: u64| {
        let place = start.saturating_add(place);
        FILE.error(kind, what).at(span(place, 4))
    };
    let quoted = |bytes: [u8; 4]| format!("\"{}\"", bytes.escape_ascii());
    if header.magic != raw::MAGIC {
        let error = error(ErrorKind::UnknownFormat, "magic identifier", 0);
        return Err(error.expected("\"OCTM\"").found(quoted(header.magic)));
    }
    if header.version.get() != raw::VERSION {
        let error = error(ErrorKind::Unsupported, "file format version", 4);
        return Err(error.expected("5").found(header.version));
    }
    let method = match header.method {
        raw::METHOD_RAW => Method::Raw,
        raw::METHOD_MG1 => Method::Mg1,
        raw::METHOD_MG2 => Method::Mg2,
        other => {
            let error = error(ErrorKind::Unsupported, "compression method", 8);
            return Err(error.expected("\"RAW\\0\", \"MG1\\0\" or \"MG2\\0\"").found(quoted(other)));
        }
    };
    for (count, what, place) in
        [(header.vertex_count, "vertex count", 12), (header.triangle_count, "triangle count", 16)]
    {
        if count.get() == 0 {
            return Err(error(ErrorKind::Malformed, what, place).expected("at least 1").found(0));
        }
    }
    Ok(method)
}

/// Walks from section to section.
struct Reader<'a> {
    walk: &'a mut Walk,
    len: Option<u64>,
    /// Where the next structure begins.
    end: u64,
    body: u64,
    is_packed: bool,
    findings: Findings,
}

impl Reader<'_> {
    fn body(mut self, header: raw::Header, method: Method, start: u64, limits: &Limits) -> Result<Layout> {
        self.note_flags(&header, start);
        let vertices = u64::from(header.vertex_count.get());
        let triangles = u64::from(header.triangle_count.get());
        let comment = self.text("comment")?;
        // MG2 has the positions before the indices.
        let (grid, positions, indices) = if method == Method::Mg2 {
            let grid_header = self.grid_header(&header)?;
            let positions = self.section("VERT", Part::Positions, vertices, 3)?;
            let grid_indices = self.section("GIDX", Part::GridIndices, vertices, 1)?;
            let indices = self.section("INDX", Part::Indices, triangles, 3)?;
            (Some(Grid { header: grid_header, indices: grid_indices }), positions, indices)
        } else {
            let indices = self.section("INDX", Part::Indices, triangles, 3)?;
            (None, self.section("VERT", Part::Positions, vertices, 3)?, indices)
        };
        let has_normals = header.flags.get() & raw::FLAG_NORMALS != 0;
        let normals = has_normals.then(|| self.section("NORM", Part::Normals, vertices, 3)).transpose()?;
        let mut uv_maps = Vec::new();
        for index in 0..u64::from(header.uv_map_count.get()) {
            uv_maps.push(self.map("TEXC", Part::UvMap(index), vertices, 2, method)?);
            check_list(&uv_maps, limits)?;
        }
        let mut attribute_maps = Vec::new();
        for index in 0..u64::from(header.attribute_map_count.get()) {
            attribute_maps.push(self.map("ATTR", Part::AttributeMap(index), vertices, 4, method)?);
            check_list(&attribute_maps, limits)?;
        }
        self.check_end()?;
        self.note_repeated_names(&uv_maps, "uv_maps");
        self.note_repeated_names(&attribute_maps, "attribute_maps");
        Ok(Layout {
            range: start..self.end,
            body: self.body,
            header,
            method,
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

    fn note_flags(&mut self, header: &raw::Header, start: u64) {
        if header.flags.get() & !raw::FLAG_NORMALS != 0 {
            self.findings.add(rules::UNKNOWN_FLAGS, || {
                let detail = format!("expected 0 or 1, found {:#x}", header.flags.get());
                let place = start.saturating_add(28);
                (FILE.of(body_address(self.body)).at(span(place, 4)), detail)
            });
        }
    }

    /// The range of the next `len` bytes, which must be there.
    fn take(&mut self, len: u64, what: &'static str) -> Result<Range<u64>> {
        let range = span(self.end, len);
        if self.len.is_some_and(|end| range.end > end) || self.end.checked_add(len).is_none() {
            let there = self.len.unwrap_or(u64::MAX).saturating_sub(self.end);
            let error = FILE.error(ErrorKind::Truncated, what).at(range);
            return Err(error.expected(format!("{} bytes", decimal(len))).found(decimal(there)));
        }
        self.end = range.end;
        Ok(range)
    }

    /// Fails where a source that does not know its length ends before the body does.
    fn check_end(&mut self) -> Result<()> {
        match self.len {
            Some(_) => Ok(()),
            None => self.walk.get(self.end.saturating_sub(1)..self.end, "last array").map(drop),
        }
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
        let error = FILE.malformed("identifier").at(start..self.end);
        let found = format!("\"{}\"", found.escape_ascii());
        Err(error.expected(format!("\"{tag}\"")).found(found))
    }

    fn text(&mut self, what: &'static str) -> Result<Bytes> {
        let len = self.u32(what)?;
        let range = self.take(len.into(), what)?;
        let text = self.walk.get(range.clone(), what)?;
        if str::from_utf8(&text).is_err() {
            self.findings.add(rules::TEXT_NOT_UTF8, || {
                (FILE.of(body_address(self.body)).at(range), format!("the {what} is not UTF-8"))
            });
        }
        Ok(text)
    }

    fn grid_header(&mut self, header: &raw::Header) -> Result<raw::Mg2Header> {
        let start = self.end;
        self.tag("MG2H")?;
        let grid: raw::Mg2Header = self.walk.read_struct(start, "MG2 header")?;
        self.end = start.saturating_add(size_u64::<raw::Mg2Header>());
        let wrong = |what, place: u64, len: u64| {
            let place = start.saturating_add(place);

            FILE.malformed(what).at(span(place, len))
        };
        let precisions =
            [(grid.vertex_precision, "vertex precision", 4), (grid.normal_precision, "normal precision", 8)];
        for (precision, what, place) in precisions {
            if precision.get() <= 0.0 {
                return Err(wrong(what, place, 4).expected("more than 0").found(precision));
            }
        }
        for (axis, place) in (0_usize..3).zip((24..).step_by(4)) {
            let bound = |bounds: &[F32; 3]| bounds.get(axis).map_or(0.0, |bound| bound.get());
            let (low, high) = (bound(&grid.lower_bound), bound(&grid.higher_bound));
            if high < low {
                let expected = format!("at least the lower bound {low}");
                return Err(wrong("higher bound", place, 4).expected(expected).found(high));
            }
        }
        // The cell's number is divided by this product, which wraps in the reference library.
        let [x, y, z] = grid.div.map(U32::get);
        if x == 0 || y == 0 || z == 0 || x.wrapping_mul(y) == 0 {
            let expected = "at least 1 each, and a product of the first two that is no multiple of 2^32";
            return Err(wrong(rules::GRID_TOO_FINE.name, 36, 12)
                .expected(expected)
                .found(format!("{x} {y} {z}")));
        }
        let cells = u128::from(x).saturating_mul(y.into()).saturating_mul(z.into());
        if cells > 1 << 32 {
            self.findings.add(rules::GRID_TOO_FINE, || {
                let detail = format!("{cells} cells are more than 32 bits can number");
                let place = start.saturating_add(36);
                (FILE.of(body_address(self.body)).at(span(place, 12)), detail)
            });
        }
        if grid.normal_precision.get().is_nan() && header.flags.get() & raw::FLAG_NORMALS == 0 {
            self.findings.add(rules::NAN_PRECISION, || {
                let place = start.saturating_add(8);
                (FILE.of(body_address(self.body)).at(span(place, 4)), "not a number")
            });
        }
        Ok(grid)
    }

    /// An array of `count` times `size` words, behind its tag.
    fn section(&mut self, what: &'static str, part: Part, count: u64, size: u64) -> Result<Section> {
        let body = self.body;
        let read = |this: &mut Self| {
            this.tag(what)?;
            this.data(what, part, count, size)
        };
        read(self).map_err(|error| error.of(part.address(body)))
    }

    /// The data of an array of `count` times `size` words.
    fn data(&mut self, what: &'static str, part: Part, count: u64, size: u64) -> Result<Section> {
        // Both are far below 2^32.
        let decoded_len = count.saturating_mul(size).saturating_mul(4);
        if !self.is_packed {
            let range = self.take(decoded_len, what)?;
            return Ok(Section { what, part, range, props: None, decoded_len, tail: AtomicBool::new(false) });
        }
        let start = self.end;
        let header: raw::PackedData = self.walk.read_struct(start, "packed data")?;
        self.end = start.saturating_add(size_u64::<raw::PackedData>());
        let packed = u64::from(header.packed_size.get());
        let error = |kind, what, range| FILE.error(kind, what).at(range);
        let [props, ..] = header.props;
        if props >= 225 {
            let place = start.saturating_add(4);
            let error = error(ErrorKind::Malformed, "LZMA props", span(place, 1));
            return Err(error.expected("less than 225").found(props));
        }
        let range = self.take(packed, what)?;
        if lzma::check_length(decoded_len, packed).is_err() {
            let error = error(ErrorKind::Malformed, "packed size", span(start, 4));
            let expected = format!("a stream that can hold {} bytes", decimal(decoded_len));
            return Err(error.expected(expected).found(format!("{} bytes", decimal(packed))));
        }
        let (props, tail) = (Some(header.props), AtomicBool::new(false));
        Ok(Section { what, part, range, props, decoded_len, tail })
    }

    fn map(&mut self, what: &'static str, part: Part, count: u64, size: u64, method: Method) -> Result<Map> {
        let body = self.body;
        let read = |this: &mut Self| {
            this.tag(what)?;
            let name = this.text("name of a map")?;
            let file = match part {
                Part::UvMap(_) => this.text("file name reference")?,
                _ => Bytes::new(),
            };
            let precision = (method == Method::Mg2).then(|| this.precision()).transpose()?;
            let section = this.data(what, part, count, size)?;
            Ok(Map { name, file, precision, section })
        };
        read(self).map_err(|error: Error| error.of(part.address(body)))
    }

    fn precision(&mut self) -> Result<f32> {
        let start = self.end;
        let precision = f32::from_bits(self.u32("precision")?);
        if precision <= 0.0 {
            let error = FILE.malformed("precision").at(start..self.end);
            return Err(error.expected("more than 0").found(precision));
        }
        Ok(precision)
    }

    fn note_repeated_names(&mut self, maps: &[Map], field: &'static str) {
        let mut names: Vec<&[u8]> = maps.iter().map(|map| &map.name[..]).collect();
        names.sort_unstable();
        let repeated = names.iter().zip(names.iter().skip(1)).find(|(a, b)| a == b);
        if let Some((name, _)) = repeated {
            let shown = name.get(..name.len().min(40)).unwrap_or_default();
            let detail = format!("several {field} are named \"{}\"", shown.escape_ascii());
            self.findings
                .add(rules::REPEATED_NAME, || (FILE.of(body_address(self.body).then(field)), detail));
        }
    }
}

/// A list of maps is larger than the few bytes that a map of few vertices takes up in the file.
fn check_list(maps: &[Map], limits: &Limits) -> Result<()> {
    let bytes = as_u64(size_of_val(maps));
    if bytes <= limits.max_block_bytes {
        return Ok(());
    }
    let expected = format!("at most {} bytes (max_block_bytes)", decimal(limits.max_block_bytes));
    let error = FILE.error(ErrorKind::LimitExceeded, "list of maps");
    Err(error.expected(expected).found(decimal(bytes)))
}
