//! A body: its headers, and where its arrays lie.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::layout::{self, Layout, Method, Part, Section, body_address};
use super::raw;
use crate::bytes::{Array, Source, Text, Walk};
use crate::decode::{Block, Once};
use crate::format::Format;
use crate::num::{Span, as_u64, size_u64};
use crate::options::{Options, refuse_forbidden};
use crate::report::{Address, Finding, Item, Result};

/// A mesh: one body of an OpenCTM file.
///
/// Cloning is cheap. Counts, texts and the places of all arrays are at hand. Of RAW, arrays are views of the file; of
/// MG1 and MG2 each is decoded when it is first asked for, once for all clones and threads, and kept until the last
/// clone is gone. The methods with `_into` decode into the caller's memory and keep nothing.
///
/// That indices are less than the vertex count and numbers finite is checked by [`validate`](Self::validate), by
/// opening with [`Strictness::Strict`](crate::Strictness::Strict), and (indices alone) by a [`View`] and for normals of MG2.
#[derive(Clone)]
pub struct Mesh {
    pub(crate) layout: Arc<Layout>,
    pub(crate) source: Source,
    pub(crate) options: Options,
    pub(crate) arrays: Arc<Arrays>,
}

/// Arrays that have been decoded.
#[derive(Clone, Default)]
pub(crate) struct Arrays {
    pub(crate) indices: Once<Array<[u32; 3]>>,
    pub(crate) positions: Once<Array<[f32; 3]>>,
    pub(crate) normals: Once<Array<[f32; 3]>>,
    pub(crate) uv_maps: Vec<Once<Array<[f32; 2]>>>,
    pub(crate) attribute_maps: Vec<Once<Array<[f32; 4]>>>,
}

impl Mesh {
    /// Opens a file lazily: its first body.
    ///
    /// # Errors
    ///
    /// Those of [`Source::open`] and [`from_source`](Self::from_source).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_source(Source::open(path)?)
    }

    /// Reads the layout of the first body of a file: the headers, and none of the arrays. Bytes behind it are ignored;
    /// [`range`](Self::range) tells where they begin.
    ///
    /// # Errors
    ///
    /// [`UnknownFormat`](ErrorKind::UnknownFormat) for another magic identifier, [`Unsupported`](ErrorKind::Unsupported)
    /// for another version or compression method, [`Truncated`](ErrorKind::Truncated) for a file that ends before its
    /// last array does (the reference library takes such RAW files), and [`Malformed`](ErrorKind::Malformed) for counts
    /// of zero, other identifiers than those that must follow, precisions that are not above 0, an MG2 header without
    /// extent, and packed data that is too short for what it is to hold.
    pub fn from_source(source: Source) -> Result<Self> {
        Self::from_source_with(source, &Options::default())
    }

    /// The same with options; [`Strictness::Strict`](crate::Strictness::Strict) also runs [`validate`](Self::validate).
    ///
    /// # Errors
    ///
    /// Those of [`from_source`](Self::from_source); strictly, [`Malformed`](ErrorKind::Malformed) for any finding
    /// that the specification forbids, and the errors of decoding.
    pub fn from_source_with(source: Source, options: &Options) -> Result<Self> {
        let header_size = size_u64::<raw::Header>();
        let source = source.for_format(Format::OpenCtm).with_head(header_size, layout::HEAD, "header")?;
        Self::at(&source, 0, options)
    }

    /// Reads the layout of a body that begins at an offset of a larger source: a container, or a file of many bodies.
    /// Addresses call it `bodies[0]`.
    ///
    /// # Errors
    ///
    /// Those of [`from_source_with`](Self::from_source_with).
    pub fn at(source: &Source, offset: u64, options: &Options) -> Result<Self> {
        let mut walk = source.for_format(Format::OpenCtm).walk();
        Self::read(&mut walk, offset, 0, options)
    }

    /// Reads a body, and checks it where reading is strict.
    pub(crate) fn read(walk: &mut Walk, start: u64, body: u64, options: &Options) -> Result<Self> {
        let layout = Layout::read(walk, start, body, &options.limits)?;
        let arrays = Arrays {
            uv_maps: layout.uv_maps.iter().map(|_| Once::default()).collect(),
            attribute_maps: layout.attribute_maps.iter().map(|_| Once::default()).collect(),
            ..Arrays::default()
        };
        let (layout, arrays) = (Arc::new(layout), Arc::new(arrays));
        // With the headers at hand.
        let mesh = Self { layout, source: walk.source(), options: *options, arrays };
        refuse_forbidden(options, Format::OpenCtm, || mesh.validate())?;
        Ok(mesh)
    }

    /// The header as stored.
    #[must_use]
    pub fn header(&self) -> &raw::Header {
        &self.layout.header
    }

    /// How the arrays are stored.
    #[must_use]
    pub fn method(&self) -> Method {
        self.layout.method
    }

    /// The MG2 header, which has the precisions and the grid; `None` for the other methods, which are lossless.
    #[must_use]
    pub fn mg2_header(&self) -> Option<&raw::Mg2Header> {
        self.layout.grid.as_ref().map(|grid| &grid.header)
    }

    /// The comment; empty where there is none. Not cut at a NUL, unlike the reference library's.
    #[must_use]
    pub fn comment(&self) -> Text {
        Text::new(self.layout.comment.clone())
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

    /// Whether the mesh has normals.
    #[must_use]
    pub fn has_normals(&self) -> bool {
        self.layout.normals.is_some()
    }

    /// The bytes of the body in the source; what follows is not of it.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.layout.range.clone()
    }

    /// The source, for reading what else lies in the file.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// What was tolerated when opening.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.layout.findings
    }

    /// Where the arrays lie, in the order of the file: the LZMA streams of MG1 and MG2. What they decode to are words
    /// in planes of bytes, which is of use to compare decoders and to fetch ranges.
    #[must_use]
    pub fn blocks(&self) -> Vec<Block> {
        self.layout.sections().map(|section| self.layout.block(section)).collect()
    }

    /// This mesh with all its bytes at hand: of a source that is read lazily, they are read at once, and what is asked
    /// of the mesh that is returned reads nothing more.
    ///
    /// # Errors
    ///
    /// Those of reading.
    pub fn load(&self) -> Result<Self> {
        let source = self.source.with_ranges(&[self.range()], "body")?;
        Ok(Self { source, ..self.clone() })
    }

    /// This mesh with what has been decoded so far: what is decoded of the mesh that is returned is kept by that alone.
    pub(crate) fn apart(&self) -> Self {
        Self { arrays: Arc::new((*self.arrays).clone()), ..self.clone() }
    }

    /// The size of all arrays, decoded; grid indices are not an array of the mesh.
    pub(crate) fn decoded_bytes(&self) -> u64 {
        let arrays = self.layout.sections().filter(|section| section.part != Part::GridIndices);
        arrays.fold(0, |sum, section| sum.saturating_add(section.decoded_len))
    }

    /// The body, and behind it its arrays. Reads nothing.
    #[must_use]
    pub fn items(&self) -> Vec<Item> {
        let range = self.range();
        let body = Item {
            address: body_address(self.layout.body),
            counts: vec![
                ("vertices", as_u64(self.vertex_count())),
                ("triangles", as_u64(self.triangle_count())),
                ("uv_maps", as_u64(self.layout.uv_maps.len())),
                ("attribute_maps", as_u64(self.layout.attribute_maps.len())),
            ],
            stored: range.length(),
            decoded: Some(self.decoded_bytes()),
            range,
        };
        let array = |section: &Section| {
            let range = section.stored_range();
            let (what, count) = match section.part {
                Part::Indices => ("triangles", self.triangle_count()),
                _ => ("vertices", self.vertex_count()),
            };
            Item {
                address: section.part.address(self.layout.body),
                counts: vec![(what, as_u64(count))],
                stored: range.length(),
                decoded: Some(section.decoded_len),
                range,
            }
        };
        std::iter::once(body).chain(self.layout.sections().map(array)).collect()
    }

    /// Where the body is in its file.
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
