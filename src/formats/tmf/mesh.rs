//! Meshes: their arrays, by the names of the specification, and custom data.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::decode::{Quad, Vector};
use super::layout::MeshLayout;
use super::packed::{File, Packed, PackedElement};
use super::segment::{Segment, SegmentType};
use crate::bytes::{Array, Source, Text};
use crate::limits::Meter;
use crate::num::{as_u64, span};
use crate::report::{Address, Result};

/// A mesh of a [`Document`](super::Document).
///
/// Cloning is cheap. An array is `None` if the mesh has no segment of it.
#[derive(Clone)]
pub struct Mesh {
    pub(crate) file: Arc<File>,
    index: usize,
}

impl Mesh {
    pub(crate) fn new(file: &Arc<File>, index: usize) -> Self {
        Self {
            file: Arc::clone(file),
            index,
        }
    }

    /// Reads everything now; the result does no further I/O.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn load(&self) -> Result<Self> {
        let source = self.file.source.with_ranges(&[self.range()], "mesh")?;
        Ok(Self {
            file: Arc::new(File {
                source,
                ..(*self.file).clone()
            }),
            index: self.index,
        })
    }

    fn entry(&self) -> Option<&MeshLayout> {
        self.file.layout.meshes.get(self.index)
    }

    /// The address of the mesh: `meshes[0]`.
    #[must_use]
    pub fn address(&self) -> Address {
        Address::field("meshes").index(as_u64(self.index))
    }

    /// The name; several meshes may share one.
    #[must_use]
    pub fn name(&self) -> Text {
        match self.entry() {
            Some(mesh) => Text::new(mesh.name.clone()),
            None => Text::default(),
        }
    }

    /// The bytes of the mesh and its header, from the start of the source.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        match self.entry() {
            Some(mesh) => self.file.layout.mesh_range(mesh),
            None => 0..0,
        }
    }

    /// The segments, in the order of the file, including segments that are not read.
    pub fn segments(&self) -> impl ExactSizeIterator<Item = Segment> + '_ {
        self.own_segments().iter().cloned()
    }

    pub(crate) fn own_segments(&self) -> &[Segment] {
        match self.entry() {
            Some(mesh) => self.file.layout.segments_of(mesh),
            None => &[],
        }
    }

    /// The array in the segments that store data of a type. `meaning` distinguishes arrays whose
    /// elements have the same Rust type.
    fn array<T: PackedElement>(
        &self,
        name: &'static str,
        meaning: T::Meaning,
        segment_type: SegmentType,
    ) -> Option<Packed<T>> {
        let stores_type = |index: &usize| match self.file.layout.segments.get(*index) {
            Some(segment) => segment.stores(segment_type),
            None => false,
        };
        let segments = self.entry()?.segments.clone().filter(stores_type);
        Packed::new(&self.file, self.address().then(name), meaning, segments)
    }

    /// The positions x, y, z of the vertices.
    #[doc(alias = "vertices")]
    #[must_use]
    pub fn positions(&self) -> Option<Packed<[f32; 3]>> {
        self.array("vertices", Vector::Vertex, SegmentType::Vertex)
    }

    /// The normals x, y, z, of length 1 within their precision.
    #[must_use]
    pub fn normals(&self) -> Option<Packed<[f32; 3]>> {
        self.array("normals", Vector::Normal, SegmentType::Normal)
    }

    /// The texture coordinates u, v of a set, in 0..=1. The format stores only set 0; `None` for other sets.
    #[doc(alias = "uvs")]
    #[must_use]
    pub fn texcoords(&self, set: usize) -> Option<Packed<[f32; 2]>> {
        if set > 0 {
            return None;
        }
        self.array("uvs", (), SegmentType::Uv)
    }

    /// The tangents x, y, z, of length 1, and their handedness, 1 or -1.
    #[must_use]
    pub fn tangents(&self) -> Option<Packed<[f32; 4]>> {
        self.array("tangents", Quad::Tangent, SegmentType::Tangent)
    }

    /// The index of each corner's position; not checked.
    #[doc(alias = "vertex_triangles")]
    #[must_use]
    pub fn position_indices(&self) -> Option<Packed<u32>> {
        self.array("vertex_triangles", (), SegmentType::VertexTriangle)
    }

    /// The index of each corner's normal; not checked.
    ///
    /// They count up from 0 if the file omits them.
    #[doc(alias = "normal_triangles")]
    #[must_use]
    pub fn normal_indices(&self) -> Option<Packed<u32>> {
        self.array("normal_triangles", (), SegmentType::NormalTriangle)
    }

    /// The index of each corner's texture coordinate; not checked.
    #[doc(alias = "uv_triangles")]
    #[must_use]
    pub fn texcoord_indices(&self) -> Option<Packed<u32>> {
        self.array("uv_triangles", (), SegmentType::UvTriangle)
    }

    /// The index of each corner's tangent; not checked.
    #[doc(alias = "tangent_triangles")]
    #[must_use]
    pub fn tangent_indices(&self) -> Option<Packed<u32>> {
        self.array("tangent_triangles", (), SegmentType::TangentTriangle)
    }

    /// All indices, decoded.
    ///
    /// Index arrays that share their segments are decoded once, and share memory.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Packed::read`], whose limits hold for all of them together.
    pub fn indices(&self) -> Result<CornerIndices> {
        self.indices_within(&Meter::of_call(&self.file.options.limits))
    }

    pub(crate) fn indices_within(&self, meter: &Meter) -> Result<CornerIndices> {
        let positions = self.position_indices();
        let normals = self.normal_indices();
        let texcoords = self.texcoord_indices();
        let tangents = self.tangent_indices();
        let mut decoded = DecodedIndices {
            meter,
            arrays: Vec::new(),
        };
        Ok(CornerIndices {
            positions: decoded.decode(positions)?,
            normals: decoded.decode(normals)?,
            texcoords: decoded.decode(texcoords)?,
            tangents: decoded.decode(tangents)?,
        })
    }

    /// The custom data, in the order of the file; names may repeat. There may be thousands: [`iter_custom`](Self::iter_custom) makes no list.
    ///
    /// # Errors
    ///
    /// Returns an error if the names cannot be read.
    pub fn custom(&self) -> Result<Vec<Custom>> {
        let is_custom = |segment: &&Segment| segment.kind.is_custom();
        let count = self.own_segments().iter().filter(is_custom).count();
        // No more capacity than they need.
        let mut all = Vec::with_capacity(count);
        for custom in self.iter_custom()? {
            all.push(custom?);
        }
        Ok(all)
    }

    /// Like [`custom`](Self::custom), one after another.
    ///
    /// # Errors
    ///
    /// Returns an error if the names cannot be read.
    pub fn iter_custom(&self) -> Result<impl Iterator<Item = Result<Custom>> + '_> {
        let source = self.with_custom_names()?;
        let first = match self.entry() {
            Some(mesh) => mesh.segments.start,
            None => 0,
        };
        let segments = (first..).zip(self.own_segments());
        let custom = segments.filter(|(_, segment)| segment.kind.is_custom());
        let mut count: u64 = 0;
        Ok(custom.filter_map(move |(index, segment)| {
            let address = self.address().then("custom").index(count);
            let values = self.custom_values(address, segment.kind, index)?;
            count = count.saturating_add(1);
            match custom_name(&source, segment) {
                Ok(name) => Some(Ok(Custom { name, values })),
                Err(error) => Some(Err(error)),
            }
        }))
    }

    /// The values of the segment at `index` of the file; `None` unless its type is custom data.
    fn custom_values(
        &self,
        address: Address,
        segment_type: SegmentType,
        index: usize,
    ) -> Option<CustomValues> {
        Some(match segment_type {
            SegmentType::CustomFloat => CustomValues::Float(self.one(address, (), index)?),
            SegmentType::CustomColorRgba => {
                CustomValues::ColorRgba(self.one(address, Quad::Color, index)?)
            }
            SegmentType::CustomIndex => CustomValues::Index(self.one(address, (), index)?),
            SegmentType::CustomInteger => CustomValues::Integer(self.one(address, (), index)?),
            _ => return None,
        })
    }

    /// The source, with the names of custom data read in few requests, so that [`custom_name`] does not
    /// read each of them separately.
    fn with_custom_names(&self) -> Result<Source> {
        let source = &self.file.source;
        if source.is_in_memory() {
            return Ok(source.clone());
        }
        let mut names = Vec::new();
        for segment in self.own_segments() {
            if segment.kind.is_custom() {
                // The name is between the segment header and the packed elements.
                names.push(segment.data.start..segment.bits_start);
            }
        }
        source.with_ranges(&names, "names of custom data")
    }

    /// The array in one segment.
    fn one<T: PackedElement>(
        &self,
        address: Address,
        meaning: T::Meaning,
        segment: usize,
    ) -> Option<Packed<T>> {
        Packed::new(&self.file, address, meaning, std::iter::once(segment))
    }
}

/// Index arrays that are decoded together: arrays that share their segments are decoded once.
struct DecodedIndices<'a> {
    meter: &'a Meter<'a>,
    arrays: Vec<DecodedArray>,
}

struct DecodedArray {
    stored: Packed<u32>,
    decoded: Array<u32>,
}

impl DecodedIndices<'_> {
    fn decode(&mut self, stored: Option<Packed<u32>>) -> Result<Option<Array<u32>>> {
        let Some(stored) = stored else {
            return Ok(None);
        };
        for array in &self.arrays {
            if array.stored.shares(&stored) {
                return Ok(Some(array.decoded.clone()));
            }
        }
        let decoded = stored.read_within(self.meter)?;
        self.arrays.push(DecodedArray {
            stored,
            decoded: decoded.clone(),
        });
        Ok(Some(decoded))
    }
}

/// The name of custom data; the layout has checked that it is within the segment.
fn custom_name(source: &Source, segment: &Segment) -> Result<Text> {
    let start = segment.data.start.saturating_add(1);
    let len = source.get(segment.data.start..start, "name of custom data")?;
    let len = len.first().copied().unwrap_or(0);
    let name = source.get(span(start, len.into()), "name of custom data")?;
    if source.is_in_memory() {
        return Ok(Text::new(name));
    }
    // A copy, so that the bytes that were read around the name are not retained with it.
    Ok(Text::new(Bytes::copy_from_slice(&name)))
}

impl fmt::Debug for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mesh")
            .field("address", &self.address())
            .field("name", &self.name())
            .field("segments", &self.own_segments().len())
            .finish_non_exhaustive()
    }
}

/// The indices of a mesh, decoded: flat lists, one index per corner of each triangle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CornerIndices {
    /// Indices into the positions.
    pub positions: Option<Array<u32>>,
    /// Indices into the normals.
    pub normals: Option<Array<u32>>,
    /// Indices into the texture coordinates.
    pub texcoords: Option<Array<u32>>,
    /// Indices into the tangents.
    pub tangents: Option<Array<u32>>,
}

/// Named data, whose meaning the format does not specify.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Custom {
    /// The name, of at most 255 bytes.
    pub name: Text,
    /// The data.
    pub values: CustomValues,
}

/// The kinds of custom data.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CustomValues {
    /// Indices.
    Index(Packed<u32>),
    /// Integers, stored like indices.
    Integer(Packed<u32>),
    /// Floats.
    Float(Packed<f32>),
    /// Colours red, green, blue, alpha, in 0..=1.
    ColorRgba(Packed<[f32; 4]>),
}

impl CustomValues {
    /// The number of elements.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Index(values) | Self::Integer(values) => values.len(),
            Self::Float(values) => values.len(),
            Self::ColorRgba(values) => values.len(),
        }
    }
}
