//! Vertex arrays: in place, by index, by type and by name, and as numbers.

use std::ops::Range;

use super::layout::Layout;
use super::model::Model;
use super::raw;
use super::rules::FILE;
use super::tables::scalar;
use crate::bytes::{Array, Element, Scalar, Text};
use crate::mesh::{Attribute, Semantic, VertexFormat};
use crate::num::less_than;
use crate::report::{Address, ErrorKind, Result};

impl Model {
    /// The vertex arrays, in the order of the file. Reads nothing.
    pub fn vertex_arrays(&self) -> impl ExactSizeIterator<Item = VertexArray> + '_ {
        self.layout
            .vertex_arrays
            .iter()
            .map(|array| VertexArray::new(&self.layout, &array))
    }

    /// The vertex array at an index, in place, whatever its type, format and size.
    ///
    /// Integers are marked as normalized, except in blend indexes and in custom and reserved arrays.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](crate::ErrorKind::OutOfRange) if the model has no such array, and the errors of reading.
    pub fn vertex_array(&self, index: usize) -> Result<Attribute> {
        match self.layout.vertex_arrays.get(index) {
            Some(array) => self.read_array(&VertexArray::new(&self.layout, &array)),
            None => {
                let error = FILE.out_of_range("vertex array");
                let count = self.layout.vertex_arrays.len();
                Err(error.expected(less_than(count)).found(index))
            }
        }
    }

    fn read_array(&self, array: &VertexArray) -> Result<Attribute> {
        let bytes = self
            .layout
            .source
            .get(array.range.clone(), "vertex array")?;
        Ok(Attribute::new(
            array.semantic(0),
            array.vertex_format(),
            bytes,
        ))
    }

    /// The first vertex array of a type, in place; `Ok(None)` if the file has none.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn vertex_array_of(&self, kind: &VertexArrayType) -> Result<Option<Attribute>> {
        match self.vertex_arrays().find(|array| array.kind == *kind) {
            Some(array) => self.read_array(&array).map(Some),
            None => Ok(None),
        }
    }

    /// The first custom vertex array with this name, in place; `Ok(None)` without one.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn custom_array(&self, name: impl AsRef<[u8]>) -> Result<Option<Attribute>> {
        for array in self.layout.vertex_arrays.iter() {
            let Some(offset) = array.type_.get().checked_sub(raw::IQM_CUSTOM) else {
                continue;
            };
            if self.layout.text.is_at(offset, name.as_ref()) {
                let array = VertexArray::new(&self.layout, &array);
                return self.read_array(&array).map(Some);
            }
        }
        Ok(None)
    }

    /// Positions x, y, z, in place; `Ok(None)` if the file has none.
    ///
    /// # Errors
    ///
    /// Returns [`Unsupported`](crate::ErrorKind::Unsupported) if they are not stored in the recommended format
    /// ([`vertex_array`](Self::vertex_array) and [`MeshView`](crate::MeshView) read any), and the errors of reading.
    pub fn positions(&self) -> Result<Option<Array<[f32; 3]>>> {
        self.recommended(&VertexArrayType::Position, 0)
    }

    /// Texture coordinates u, v of a set, borrowed from the source; `Ok(None)` if the file does not have the set.
    ///
    /// Set `n` is vertex array `n` of the type [`TexCoord`](VertexArrayType::TexCoord), counted from 0.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`positions`](Self::positions).
    #[doc(alias = "uv")]
    pub fn texcoords(&self, set: usize) -> Result<Option<Array<[f32; 2]>>> {
        self.recommended(&VertexArrayType::TexCoord, set)
    }

    /// Normals x, y, z, in place; `Ok(None)` if the file has none.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`positions`](Self::positions).
    pub fn normals(&self) -> Result<Option<Array<[f32; 3]>>> {
        self.recommended(&VertexArrayType::Normal, 0)
    }

    /// Array `set` of a type, in the recommended format.
    fn recommended<T: Element>(
        &self,
        kind: &VertexArrayType,
        set: usize,
    ) -> Result<Option<Array<T>>> {
        let mut arrays = (0..)
            .zip(self.vertex_arrays())
            .filter(|(_, array)| array.kind == *kind);
        let Some((index, array)) = arrays.nth(set) else {
            return Ok(None);
        };
        let attribute = self.read_array(&array)?;
        if let Some(elements) = attribute.array() {
            return Ok(Some(elements));
        }
        let place = FILE
            .of(Address::field("vertex_arrays").index(index))
            .at(array.range);
        let field = "iqmvertexarray.format as a typed array";
        let error = place.error(ErrorKind::Unsupported, field);
        let expected = match T::SHAPE {
            Some((scalar, components)) => format!("{scalar}x{components}"),
            None => String::new(),
        };
        Err(error.expected(expected).found(attribute.format()))
    }
}

/// The meaning of a vertex array: `iqmvertexarray.type`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum VertexArrayType {
    /// `IQM_POSITION`.
    Position,
    /// `IQM_TEXCOORD`.
    TexCoord,
    /// `IQM_NORMAL`.
    Normal,
    /// `IQM_TANGENT`.
    Tangent,
    /// `IQM_BLENDINDEXES`.
    BlendIndexes,
    /// `IQM_BLENDWEIGHTS`.
    BlendWeights,
    /// `IQM_COLOR`.
    Color,
    /// A reserved type, 7 to 15.
    Reserved(u32),
    /// `IQM_CUSTOM`: a name, which may be empty.
    Custom(Text),
}

/// A vertex array: its place in the file, and how its elements are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VertexArray {
    /// The meaning of the array.
    pub kind: VertexArrayType,
    /// `iqmvertexarray.flags`, which the specification leaves open.
    pub flags: u32,
    /// The type of a component.
    pub format: Scalar,
    /// The number of components of an element; at least 1.
    pub size: u32,
    /// The bytes, from the beginning of the file: one element for each vertex, packed.
    pub range: Range<u64>,
}

impl VertexArray {
    pub(crate) fn new(layout: &Layout, raw: &raw::VertexArray) -> Self {
        let kind = match raw.type_.get() {
            raw::IQM_POSITION => VertexArrayType::Position,
            raw::IQM_TEXCOORD => VertexArrayType::TexCoord,
            raw::IQM_NORMAL => VertexArrayType::Normal,
            raw::IQM_TANGENT => VertexArrayType::Tangent,
            raw::IQM_BLENDINDEXES => VertexArrayType::BlendIndexes,
            raw::IQM_BLENDWEIGHTS => VertexArrayType::BlendWeights,
            raw::IQM_COLOR => VertexArrayType::Color,
            kind => match kind.checked_sub(raw::IQM_CUSTOM) {
                Some(name) => VertexArrayType::Custom(layout.text_at(name)),
                None => VertexArrayType::Reserved(kind),
            },
        };
        Self {
            kind,
            flags: raw.flags.get(),
            // Opening has checked the format.
            format: scalar(raw.format.get()).unwrap_or(Scalar::U8),
            size: raw.size.get(),
            range: layout.array_range(raw).unwrap_or_default(),
        }
    }

    /// The meaning, common to all formats; `set` counts earlier arrays of the type.
    pub(crate) fn semantic(&self, set: u32) -> Semantic {
        match &self.kind {
            VertexArrayType::Position => Semantic::Position,
            VertexArrayType::TexCoord => Semantic::TexCoord(set),
            VertexArrayType::Normal => Semantic::Normal,
            VertexArrayType::Tangent => Semantic::Tangent,
            VertexArrayType::BlendIndexes => Semantic::Joints(set),
            VertexArrayType::BlendWeights => Semantic::Weights(set),
            VertexArrayType::Color => Semantic::Color(set),
            VertexArrayType::Reserved(kind) => Semantic::Custom(format!("reserved {kind}")),
            VertexArrayType::Custom(name) => Semantic::Custom(name.to_string_lossy().into_owned()),
        }
    }

    /// The stored format of an element.
    #[must_use]
    pub fn vertex_format(&self) -> VertexFormat {
        use VertexArrayType::{BlendIndexes, Custom, Reserved};
        let numbers = matches!(self.kind, BlendIndexes | Custom(_) | Reserved(_));
        VertexFormat::new(self.format, self.size, !numbers && !self.format.is_float())
    }
}
