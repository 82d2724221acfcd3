//! A body: its arrays, one at a time or all at once.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use zerocopy::{FromZeros, Immutable, IntoBytes};

use super::decode::{Decode, check_room};
use super::layout::{self, Layout, Map, Method, Part, Section, body_address};
use super::raw;
use super::rules::FILE;
use crate::bytes::{Array, Element, Source, Text, Walk};
use crate::decode::{Block, Once, Scratch};
use crate::format::Format;
use crate::limits::Budget;
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
    indices: Once<Array<[u32; 3]>>,
    positions: Once<Array<[f32; 3]>>,
    pub(crate) normals: Once<Array<[f32; 3]>>,
    uv_maps: Vec<Once<Array<[f32; 2]>>>,
    attribute_maps: Vec<Once<Array<[f32; 4]>>>,
}

/// A UV map of a [`Mesh`].
#[derive(Clone, Debug)]
pub struct UvMap {
    mesh: Mesh,
    index: usize,
}

/// An attribute map of a [`Mesh`].
#[derive(Clone, Debug)]
pub struct AttributeMap {
    mesh: Mesh,
    index: usize,
}

/// All arrays of a mesh. Cloning shares them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MeshArrays {
    /// The vertices of each triangle's corners.
    pub indices: Array<[u32; 3]>,
    /// Positions.
    pub positions: Array<[f32; 3]>,
    /// Normals, where the file has them; not necessarily of length 1.
    pub normals: Option<Array<[f32; 3]>>,
    /// Texture coordinates u, v of each UV map.
    pub uv_maps: Vec<Array<[f32; 2]>>,
    /// Values of each attribute map.
    pub attribute_maps: Vec<Array<[f32; 4]>>,
}

/// All arrays of a mesh in memory that is used again for the next one.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct MeshBuffer {
    /// The vertices of each triangle's corners.
    pub indices: Vec<[u32; 3]>,
    /// Positions.
    pub positions: Vec<[f32; 3]>,
    /// Normals; none where the file has none.
    pub normals: Vec<[f32; 3]>,
    /// Texture coordinates u, v of each UV map.
    pub uv_maps: Vec<Vec<[f32; 2]>>,
    /// Values of each attribute map.
    pub attribute_maps: Vec<Vec<[f32; 4]>>,
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

    /// The vertices of each triangle's corners.
    ///
    /// # Errors
    ///
    /// [`Malformed`](ErrorKind::Malformed) or [`Truncated`](ErrorKind::Truncated) for a damaged stream,
    /// [`LimitExceeded`](ErrorKind::LimitExceeded), and the errors of reading. That indices are less than the vertex
    /// count is not checked.
    pub fn indices(&self) -> Result<Array<[u32; 3]>> {
        self.indices_with(&mut Scratch::default())
    }

    pub(crate) fn indices_with(&self, scratch: &mut Scratch) -> Result<Array<[u32; 3]>> {
        let decode = |out: &mut [_], scratch: &mut _| self.decode().indices(out, scratch);
        self.array(&self.arrays.indices, &self.layout.indices, self.triangle_count(), scratch, decode)
    }

    /// The same, decoded into `out`, which has room for them and no more.
    ///
    /// # Errors
    ///
    /// Those of [`indices`](Self::indices), and [`OutOfRange`](ErrorKind::OutOfRange) where `out` has another length.
    pub fn indices_into(&self, out: &mut [[u32; 3]], scratch: &mut Scratch) -> Result<()> {
        check_room(out.len(), self.triangle_count(), "indices")?;
        self.decode().indices(out, scratch)
    }

    /// Positions.
    ///
    /// # Errors
    ///
    /// Those of decoding and reading, as [`indices`](Self::indices) has them.
    pub fn positions(&self) -> Result<Array<[f32; 3]>> {
        self.positions_with(&mut Scratch::default())
    }

    pub(crate) fn positions_with(&self, scratch: &mut Scratch) -> Result<Array<[f32; 3]>> {
        let decode = |out: &mut [_], scratch: &mut _| self.decode().positions(out, scratch);
        self.array(&self.arrays.positions, &self.layout.positions, self.vertex_count(), scratch, decode)
    }

    /// The same, decoded into `out`, which has room for them and no more.
    ///
    /// # Errors
    ///
    /// Those of [`positions`](Self::positions), and [`OutOfRange`](ErrorKind::OutOfRange) where `out` has another
    /// length.
    pub fn positions_into(&self, out: &mut [[f32; 3]], scratch: &mut Scratch) -> Result<()> {
        check_room(out.len(), self.vertex_count(), "positions")?;
        self.decode().positions(out, scratch)
    }

    /// Normals, not necessarily of length 1; `Ok(None)` where the file has none.
    ///
    /// Those of MG2 are stored as differences from what the triangles suggest, so that they need
    /// [`positions`](Self::positions) and [`indices`](Self::indices), which are then decoded and kept, too. Bit for bit
    /// those of the reference library where the host's `sinf` and `cosf` are glibc's, as on Linux; elsewhere a
    /// normal may differ from them by 2^-22 of its length.
    ///
    /// # Errors
    ///
    /// Those of [`positions`](Self::positions); for MG2, also those of [`indices`](Self::indices), and
    /// [`Malformed`](ErrorKind::Malformed) where an index is not less than the vertex count.
    pub fn normals(&self) -> Result<Option<Array<[f32; 3]>>> {
        self.normals_with(&mut Scratch::default())
    }

    pub(crate) fn normals_with(&self, scratch: &mut Scratch) -> Result<Option<Array<[f32; 3]>>> {
        let Some(section) = &self.layout.normals else { return Ok(None) };
        let decode = |out: &mut [_], scratch: &mut _| {
            if self.layout.grid.is_none() {
                return self.decode().numbers(section, None, out, scratch);
            }
            let positions = self.positions_with(scratch)?;
            let triangles = self.indices_with(scratch)?;
            let mesh = (&*positions.to_native(), &*triangles.to_native());
            self.decode().predicted_normals(section, mesh, out, scratch)
        };
        self.array(&self.arrays.normals, section, self.vertex_count(), scratch, decode).map(Some)
    }

    /// The same, decoded into `out`, which has room for them and no more; `Ok(false)` where the file has none.
    ///
    /// Of MG2, positions and indices that have been decoded are used; otherwise they are decoded into the scratch.
    /// [`arrays_into`](Self::arrays_into) decodes nothing twice.
    ///
    /// # Errors
    ///
    /// Those of [`normals`](Self::normals), and [`OutOfRange`](ErrorKind::OutOfRange) where `out` has another length.
    pub fn normals_into(&self, out: &mut [[f32; 3]], scratch: &mut Scratch) -> Result<bool> {
        let Some(section) = &self.layout.normals else { return Ok(false) };
        check_room(out.len(), self.vertex_count(), "normals")?;
        if self.layout.grid.is_none() {
            return self.decode().numbers(section, None, out, scratch).map(|()| true);
        }
        // Out of the scratch while the rest of it is at work.
        let mut positions = std::mem::take(&mut scratch.positions);
        let mut triangles = std::mem::take(&mut scratch.triangles);
        let result = self.normals_from(section, (&mut positions, &mut triangles), out, scratch);
        (scratch.positions, scratch.triangles) = (positions, triangles);
        result.map(|()| true)
    }

    fn normals_from(
        &self,
        section: &Section,
        (own_positions, own_triangles): (&mut Vec<[f32; 3]>, &mut Vec<[u32; 3]>),
        out: &mut [[f32; 3]],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let positions = match self.arrays.positions.get() {
            Some(positions) => positions.to_native(),
            None => {
                self.resize(own_positions, self.vertex_count(), &self.layout.positions)?;
                self.decode().positions(own_positions, scratch)?;
                Cow::Borrowed(&**own_positions)
            }
        };
        let triangles = match self.arrays.indices.get() {
            Some(indices) => indices.to_native(),
            None => {
                self.resize(own_triangles, self.triangle_count(), &self.layout.indices)?;
                self.decode().indices(own_triangles, scratch)?;
                Cow::Borrowed(&**own_triangles)
            }
        };
        self.decode().predicted_normals(section, (&positions, &triangles), out, scratch)
    }

    /// The UV maps.
    pub fn uv_maps(&self) -> impl ExactSizeIterator<Item = UvMap> + '_ {
        (0..self.layout.uv_maps.len()).map(|index| UvMap { mesh: self.clone(), index })
    }

    /// The UV map at an index.
    #[must_use]
    pub fn uv_map(&self, index: usize) -> Option<UvMap> {
        self.uv_maps().nth(index)
    }

    /// The attribute maps.
    pub fn attribute_maps(&self) -> impl ExactSizeIterator<Item = AttributeMap> + '_ {
        (0..self.layout.attribute_maps.len()).map(|index| AttributeMap { mesh: self.clone(), index })
    }

    /// The attribute map at an index.
    #[must_use]
    pub fn attribute_map(&self, index: usize) -> Option<AttributeMap> {
        self.attribute_maps().nth(index)
    }

    /// All arrays: of MG1 and MG2 decoded in parallel where that pays (see [`Parallelism`](crate::Parallelism)), each
    /// block once. What has been decoded before is not decoded again.
    ///
    /// The values do not depend on the number of threads.
    ///
    /// # Errors
    ///
    /// Those of the accessors of the arrays, the first one in the order of this structure, and
    /// [`LimitExceeded`](ErrorKind::LimitExceeded) where all of them together are larger than
    /// [`max_total_bytes`](crate::Limits::max_total_bytes).
    pub fn arrays(&self) -> Result<MeshArrays> {
        self.check_total()?;
        let mesh = self.load()?;
        #[cfg(feature = "rayon")]
        super::parallel::decode(&mesh);
        let mut scratch = Scratch::default();
        let maps = 0..self.layout.uv_maps.len();
        let attributes = 0..self.layout.attribute_maps.len();
        Ok(MeshArrays {
            // Mostly the largest block, so that what it takes of the scratch is enough for all.
            indices: mesh.indices_with(&mut scratch)?,
            positions: mesh.positions_with(&mut scratch)?,
            normals: mesh.normals_with(&mut scratch)?,
            uv_maps: maps.map(|index| mesh.uv_map_with(index, &mut scratch)).collect::<Result<_>>()?,
            attribute_maps: attributes
                .map(|index| mesh.attribute_map_with(index, &mut scratch))
                .collect::<Result<_>>()?,
        })
    }

    /// All arrays, decoded on the calling thread into memory that is used again, as is the scratch: nothing is
    /// allocated once both are large enough.
    ///
    /// # Errors
    ///
    /// Those of [`arrays`](Self::arrays). What is in the buffer after an error is unspecified.
    pub fn arrays_into(&self, out: &mut MeshBuffer, scratch: &mut Scratch) -> Result<()> {
        self.check_total()?;
        let mesh = if self.source.is_in_memory() { self } else { &self.load()? };
        let (decode, layout) = (mesh.decode(), &self.layout);
        let vertices = self.vertex_count();
        self.resize(&mut out.positions, vertices, &layout.positions)?;
        decode.positions(&mut out.positions, scratch)?;
        self.resize(&mut out.indices, self.triangle_count(), &layout.indices)?;
        decode.indices(&mut out.indices, scratch)?;
        match &layout.normals {
            None => out.normals.clear(),
            Some(section) => {
                self.resize(&mut out.normals, vertices, section)?;
                if layout.grid.is_some() {
                    let mesh = (&*out.positions, &*out.indices);
                    decode.predicted_normals(section, mesh, &mut out.normals, scratch)?;
                } else {
                    decode.numbers(section, None, &mut out.normals, scratch)?;
                }
            }
        }
        self.maps_into(&layout.uv_maps, &mut out.uv_maps, decode, scratch)?;
        self.maps_into(&layout.attribute_maps, &mut out.attribute_maps, decode, scratch)
    }

    fn maps_into<const N: usize>(
        &self,
        maps: &[Map],
        out: &mut Vec<Vec<[f32; N]>>,
        decode: Decode<'_>,
        scratch: &mut Scratch,
    ) -> Result<()>
    where
        [f32; N]: Element + FromZeros,
    {
        out.resize_with(maps.len(), Vec::new);
        for (map, out) in maps.iter().zip(out) {
            self.resize(out, self.vertex_count(), &map.section)?;
            decode.map(map, out, scratch)?;
        }
        Ok(())
    }

    pub(crate) fn uv_map_with(&self, index: usize, scratch: &mut Scratch) -> Result<Array<[f32; 2]>> {
        self.map_with(&self.layout.uv_maps, &self.arrays.uv_maps, index, scratch)
    }

    pub(crate) fn attribute_map_with(&self, index: usize, scratch: &mut Scratch) -> Result<Array<[f32; 4]>> {
        self.map_with(&self.layout.attribute_maps, &self.arrays.attribute_maps, index, scratch)
    }

    fn map_with<const N: usize>(
        &self,
        maps: &[Map],
        arrays: &[Once<Array<[f32; N]>>],
        index: usize,
        scratch: &mut Scratch,
    ) -> Result<Array<[f32; N]>>
    where
        [f32; N]: Element + FromZeros + IntoBytes + Immutable,
    {
        // Whoever has an index has it from the list.
        let (Some(map), Some(once)) = (maps.get(index), arrays.get(index)) else {
            return Ok(Array::from_vec(Vec::new()));
        };
        let decode = |out: &mut [_], scratch: &mut _| self.decode().map(map, out, scratch);
        self.array(once, &map.section, self.vertex_count(), scratch, decode)
    }

    pub(crate) fn decode(&self) -> Decode<'_> {
        Decode { layout: &self.layout, source: &self.source, options: &self.options }
    }

    /// An array: of RAW as it lies in the file, otherwise decoded, unless it has been.
    fn array<T: Element + FromZeros + IntoBytes + Immutable>(
        &self,
        once: &Once<Array<T>>,
        section: &Section,
        count: usize,
        scratch: &mut Scratch,
        decode: impl FnOnce(&mut [T], &mut Scratch) -> Result<()>,
    ) -> Result<Array<T>> {
        if self.layout.method == Method::Raw {
            return self.decode().view(section);
        }
        let make = || {
            let mut out = Vec::new();
            self.resize(&mut out, count, section)?;
            decode(&mut out, scratch)?;
            Ok(Array::from_vec(out))
        };
        once.get_or_try_make(make).cloned()
    }

    /// Makes room for the elements of an array.
    fn resize<T: FromZeros + Clone>(&self, out: &mut Vec<T>, count: usize, section: &Section) -> Result<()> {
        Budget::new(&self.options.limits)
            .resize(out, as_u64(count), section.what)
            .map_err(|error| error.of(section.part.address(self.layout.body)).at(section.stored_range()))
    }

    /// Fails where all arrays, decoded, are more than a call may decode; views of RAW are never too much.
    fn check_total(&self) -> Result<()> {
        let total = self.decoded_bytes();
        if self.layout.method == Method::Raw {
            return Ok(());
        }
        Budget::new(&self.options.limits)
            .spend_all(total, "body")
            .map_err(|error| FILE.of(body_address(self.layout.body)).at(self.range()).locate(error))
    }

    /// The size of all arrays, decoded; grid indices are not an array of the mesh.
    fn decoded_bytes(&self) -> u64 {
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

impl UvMap {
    fn map(&self) -> Option<&Map> {
        self.mesh.layout.uv_maps.get(self.index)
    }

    /// The name; empty where it has none.
    #[must_use]
    pub fn name(&self) -> Text {
        Text::new(self.map().map(|map| map.name.clone()).unwrap_or_default())
    }

    /// The file name reference: of the texture, usually; empty where there is none.
    #[must_use]
    pub fn file(&self) -> Text {
        Text::new(self.map().map(|map| map.file.clone()).unwrap_or_default())
    }

    /// The step between two coordinates that can be told apart; `None` where coordinates are stored without loss.
    #[must_use]
    pub fn precision(&self) -> Option<f32> {
        self.map()?.precision
    }

    /// Texture coordinates u, v, one for each vertex.
    ///
    /// # Errors
    ///
    /// Those of decoding and reading, as [`Mesh::indices`] has them.
    pub fn coords(&self) -> Result<Array<[f32; 2]>> {
        self.mesh.uv_map_with(self.index, &mut Scratch::default())
    }

    /// The same, decoded into `out`, which has room for them and no more.
    ///
    /// # Errors
    ///
    /// Those of [`coords`](Self::coords), and [`OutOfRange`](ErrorKind::OutOfRange) where `out` has another length.
    pub fn coords_into(&self, out: &mut [[f32; 2]], scratch: &mut Scratch) -> Result<()> {
        check_room(out.len(), self.mesh.vertex_count(), "uv map")?;
        self.map().map_or(Ok(()), |map| self.mesh.decode().map(map, out, scratch))
    }
}

impl AttributeMap {
    fn map(&self) -> Option<&Map> {
        self.mesh.layout.attribute_maps.get(self.index)
    }

    /// The name; empty where it has none. Colours are mostly named `Color`.
    #[must_use]
    pub fn name(&self) -> Text {
        Text::new(self.map().map(|map| map.name.clone()).unwrap_or_default())
    }

    /// The step between two values that can be told apart; `None` where values are stored without loss.
    #[must_use]
    pub fn precision(&self) -> Option<f32> {
        self.map()?.precision
    }

    /// Values a, b, c, d, one quadruple for each vertex.
    ///
    /// # Errors
    ///
    /// Those of decoding and reading, as [`Mesh::indices`] has them.
    pub fn values(&self) -> Result<Array<[f32; 4]>> {
        self.mesh.attribute_map_with(self.index, &mut Scratch::default())
    }

    /// The same, decoded into `out`, which has room for them and no more.
    ///
    /// # Errors
    ///
    /// Those of [`values`](Self::values), and [`OutOfRange`](ErrorKind::OutOfRange) where `out` has another length.
    pub fn values_into(&self, out: &mut [[f32; 4]], scratch: &mut Scratch) -> Result<()> {
        check_room(out.len(), self.mesh.vertex_count(), "attribute map")?;
        self.map().map_or(Ok(()), |map| self.mesh.decode().map(map, out, scratch))
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
