//! A body: its headers, and its arrays, which are decoded when they are needed.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::decode::{Decode, Decoded};
use super::layout::{self, Comment, Layout, Method, Section, SectionKind, body_address};
use super::raw;
use crate::bytes::{Source, Text, Walk};
use crate::decode::{Block, Slot};
use crate::format::Format;
use crate::limits::{FileMemory, Limits, Meter};
use crate::num::{Span, as_u64, size_u64};
use crate::options::{Options, refuse_forbidden};
use crate::report::{Address, Finding, Item, Result};

/// A mesh: one body of an OpenCTM file.
///
/// Cloning is cheap. Opening reads counts and texts, and finds the byte range of every array. RAW arrays are views of the
/// file. MG1 and MG2 arrays are decoded when they are first needed, once for all clones and threads, and cached until the last
/// clone is dropped, as far as all bodies of a file together are no larger than
/// [`max_total_bytes`](crate::Limits::max_total_bytes). The methods with `_into` decode into the caller's memory and cache
/// nothing.
///
/// That indices are less than the vertex count and numbers finite is checked by [`validate`](Self::validate), and by
/// opening with [`Strictness::Strict`](crate::Strictness::Strict); indices also by [`view`](Self::view), and for normals
/// of MG2.
#[derive(Clone)]
pub struct Mesh {
    pub(crate) layout: Arc<Layout>,
    pub(crate) source: Source,
    pub(crate) options: Options,
    pub(crate) decoded: Arc<DecodedArrays>,
}

/// The arrays that have been decoded so far.
#[derive(Clone)]
pub(crate) struct DecodedArrays {
    pub(crate) indices: Slot<Decoded<[u32; 3]>>,
    pub(crate) positions: Slot<Decoded<[f32; 3]>>,
    pub(crate) normals: Slot<Decoded<[f32; 3]>>,
    pub(crate) uv_maps: Vec<Slot<Decoded<[f32; 2]>>>,
    pub(crate) attribute_maps: Vec<Slot<Decoded<[f32; 4]>>>,
    /// The amount of decoded arrays that may be cached.
    pub(crate) kept: FileMemory,
}

impl Mesh {
    /// Reads the headers of a body at an offset of a source, and none of its arrays.
    ///
    /// The source may be a file, a file of several bodies ([`Container`](super::Container) reads all), or a larger container. Ranges
    /// count from the beginning of the source; addresses call the body `bodies[0]`. Bytes after the body are ignored; they begin
    /// at the end of [`range`](Self::range). [`Strictness::Strict`](crate::Strictness::Strict) also runs
    /// [`validate`](Self::validate).
    ///
    /// # Errors
    ///
    /// [`UnknownFormat`](crate::ErrorKind::UnknownFormat) for another magic identifier,
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for another version or compression method,
    /// [`Truncated`](crate::ErrorKind::Truncated) for a file that ends before its last array does (the reference
    /// library takes such RAW files), and [`Malformed`](crate::ErrorKind::Malformed) for counts of zero, wrong
    /// identifiers, precisions that are not above 0, an MG2 header without extent, and packed data that is too short
    /// for the array that it holds. In strict reading, returns [`Malformed`](crate::ErrorKind::Malformed) for any finding that the
    /// specification forbids, and the errors of decoding.
    pub fn at(source: &Source, offset: u64, options: &Options) -> Result<Self> {
        let mut source = source.for_format(Format::OpenCtm);
        if offset == 0 {
            source = source.with_head(size_u64::<raw::Header>(), layout::HEAD, "header")?;
        }
        Self::read(&mut source.walk(), offset, 0, options, None)
    }

    /// Reads a body, and checks it if reading is strict.
    pub(crate) fn read(
        walk: &mut Walk,
        start: u64,
        body: u64,
        options: &Options,
        kept: Option<FileMemory>,
    ) -> Result<Self> {
        let layout = Layout::read(walk, start, body, &options.limits)
            .map_err(|error| walk.without_windows().locate(error))?;
        let kept = match kept {
            Some(kept) => kept,
            None => FileMemory::new(&options.limits, layout.range.length()),
        };
        let decoded = DecodedArrays {
            indices: Slot::default(),
            positions: Slot::default(),
            normals: Slot::default(),
            uv_maps: vec![Slot::default(); layout.uv_maps.len()],
            attribute_maps: vec![Slot::default(); layout.attribute_maps.len()],
            kept,
        };
        let mesh = Self {
            layout: Arc::new(layout),
            // The walk's source holds the headers that it has read.
            source: walk.source(),
            options: *options,
            decoded: Arc::new(decoded),
        };
        refuse_forbidden(options, Format::OpenCtm, || mesh.validate())
            .map_err(|error| mesh.source.locate(error))?;
        Ok(mesh)
    }

    /// The header as stored.
    #[cfg(feature = "raw")]
    #[must_use]
    pub fn header(&self) -> &raw::Header {
        &self.layout.header
    }

    /// The storage of the arrays.
    #[must_use]
    pub fn method(&self) -> Method {
        self.layout.method
    }

    /// The MG2 header: precisions and grid.
    ///
    /// `None` for the other methods, which are lossless.
    #[cfg(feature = "raw")]
    #[must_use]
    pub fn mg2_header(&self) -> Option<&raw::Mg2Header> {
        self.layout.grid.as_ref().map(|grid| &grid.header)
    }

    /// The comment; empty if the file has no comment.
    ///
    /// Not cut at a NUL, unlike the reference library's. A long comment is not held by the mesh, but read by each call.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn comment(&self) -> Result<Text> {
        let Comment { range, held } = &self.layout.comment;
        if let Some(bytes) = held {
            return Ok(Text::new(bytes.clone()));
        }
        match self.source.get(range.clone(), "comment") {
            Ok(bytes) => Ok(Text::new(bytes)),
            Err(error) => Err(self.source.locate(error)),
        }
    }

    /// The number of vertices: elements of every array but the indices.
    #[must_use]
    pub fn vertex_count(&self) -> usize {
        self.layout.vertex_count()
    }

    /// The number of triangles.
    #[must_use]
    pub fn triangle_count(&self) -> usize {
        self.layout.triangle_count()
    }

    /// Returns `true` if the mesh has normals.
    #[must_use]
    pub fn has_normals(&self) -> bool {
        self.layout.normals.is_some()
    }

    /// The bytes of the body in the source.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.layout.range.clone()
    }

    /// The source, to read other bytes of the file.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The findings that opening tolerated.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.layout.findings
    }

    /// The positions of the arrays, in the order of the file.
    ///
    /// The blocks of MG1 and MG2 are LZMA streams of words in planes of bytes, which are of use to compare decoders and to fetch
    /// ranges.
    #[must_use]
    pub fn blocks(&self) -> Vec<Block> {
        let sections = self.layout.sections();
        sections.map(|section| self.layout.block(section)).collect()
    }

    /// This mesh, read from another clone of its source.
    pub(crate) fn with_source(self, source: &Source) -> Self {
        Self {
            source: source.clone(),
            ..self
        }
    }

    /// Reads everything now; the result does no further I/O.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn load(&self) -> Result<Self> {
        let source = self.source.with_ranges(&[self.range()], "body")?;
        Ok(Self {
            source,
            ..self.clone()
        })
    }

    pub(crate) fn limits(&self) -> Limits {
        self.options.limits
    }

    /// The meter of a call on this mesh.
    pub(crate) fn meter(&self) -> Meter<'static> {
        Meter::of_call(&self.limits())
    }

    pub(crate) fn decode<'a>(&'a self, meter: &'a Meter<'a>) -> Decode<'a> {
        Decode {
            layout: &self.layout,
            source: &self.source,
            options: &self.options,
            meter,
        }
    }

    /// The body, and after it its arrays. Reads nothing.
    pub fn items(&self) -> impl Iterator<Item = Item> + '_ {
        let range = self.range();
        let body = Item {
            address: self.address(),
            counts: vec![
                ("vertices", as_u64(self.vertex_count())),
                ("triangles", as_u64(self.triangle_count())),
                ("uv_maps", as_u64(self.layout.uv_maps.len())),
                ("attribute_maps", as_u64(self.layout.attribute_maps.len())),
            ],
            stored: range.length(),
            decoded: Some(self.layout.decoded_len()),
            range,
        };
        let arrays = self.layout.sections().map(|section| self.item_of(section));
        std::iter::once(body).chain(arrays)
    }

    /// An array, as an item.
    fn item_of(&self, section: &Section) -> Item {
        let range = section.stored_range();
        let counted = match section.part {
            SectionKind::Indices => "triangles",
            _ => "vertices",
        };
        Item {
            address: section.part.address(self.layout.body),
            counts: vec![(counted, section.count)],
            stored: range.length(),
            decoded: Some(section.decoded_len()),
            range,
        }
    }

    /// The address of the body in its file.
    pub(crate) fn address(&self) -> Address {
        body_address(self.layout.body)
    }
}

impl fmt::Debug for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mesh")
            .field("method", &self.method())
            .field("vertices", &self.vertex_count())
            .field("triangles", &self.triangle_count())
            .field("range", &self.range())
            .finish_non_exhaustive()
    }
}
