use std::fmt;

use bytes::Bytes;

use super::bounds::Bounds;
use super::convert::{Conversion, Dequant, Stored, component_to_f64};
use super::semantic::{AttributeInfo, Semantic};
use super::vertex_format::VertexFormat;
use crate::bytes::{Array, Element, Scalar};
use crate::report::{Error, ErrorKind, Result};

/// One attribute of all vertices of a mesh, tightly packed, in place or decoded. Equal where the stored bytes are.
#[derive(Clone, PartialEq, Eq)]
pub struct Attribute {
    semantic: Semantic,
    format: VertexFormat,
    bytes: Bytes,
    dequant: Option<Dequant>,
}

impl Attribute {
    pub(crate) fn new(semantic: Semantic, format: VertexFormat, bytes: Bytes) -> Self {
        Self { semantic, format, bytes, dequant: None }
    }

    /// Sets the dequantization of normalized integers.
    pub(crate) fn with_dequant(self, dequant: Dequant) -> Self {
        Self { dequant: Some(dequant), ..self }
    }

    /// The meaning of the attribute.
    #[must_use]
    pub fn semantic(&self) -> &Semantic {
        &self.semantic
    }

    /// The stored format of an element.
    #[must_use]
    pub fn format(&self) -> VertexFormat {
        self.format
    }

    pub(crate) fn info(&self) -> AttributeInfo {
        AttributeInfo { semantic: self.semantic.clone(), format: self.format }
    }

    /// The dequantization of the stored integers, where they have one.
    ///
    /// Conversions to floats apply it. Integers that are written as stored leave it to the shader.
    #[must_use]
    pub fn dequant(&self) -> Option<Dequant> {
        self.dequant
    }

    /// The number of elements, one for each vertex.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len().checked_div(self.format.size()).unwrap_or(0)
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements as stored: packed, little-endian, at any address.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The elements as stored, shared.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }

    /// The elements as a typed array, shared; `None` where `T` is not what is stored.
    ///
    /// `Array<[f32; 3]>` for a format of three `f32`, `Array<[u8; 4]>` for four `u8`, normalized or not.
    #[must_use]
    pub fn array<T: Element>(&self) -> Option<Array<T>> {
        (T::SHAPE == Some((self.format.scalar, self.format.components)))
            .then(|| Array::new(self.bytes.clone()))
    }

    /// The elements of a range of vertices, shared; `None` where it reaches beyond the end.
    #[must_use]
    pub fn slice(&self, vertices: std::ops::Range<usize>) -> Option<Self> {
        if vertices.start > vertices.end || vertices.end > self.len() {
            return None;
        }
        let size = self.format.size();
        let bytes = self.bytes.slice(vertices.start.checked_mul(size)?..vertices.end.checked_mul(size)?);
        Some(Self { bytes, ..self.clone() })
    }

    /// Converts the elements to `[f32; N]`.
    ///
    /// Normalized integers are scaled and [dequantized](Self::dequant). Components that are not stored are 0; those beyond
    /// `N` are left out.
    #[must_use]
    pub fn to_f32<const N: usize>(&self) -> Vec<[f32; N]> {
        self.iter_f32().collect()
    }

    /// Iterates over the elements as [`to_f32`](Self::to_f32) converts them.
    pub fn iter_f32<const N: usize>(&self) -> impl ExactSizeIterator<Item = [f32; N]> + '_ {
        let convert = |element: &[u8]| {
            let mut components = [0.0; N];
            let stored = element.chunks_exact(self.format.scalar.size());
            for (index, (value, component)) in components.iter_mut().zip(stored).enumerate() {
                *value = self.stored().to_f32(index, component);
            }
            components
        };
        self.bytes.chunks_exact(self.format.size().max(1)).map(convert)
    }

    fn stored(&self) -> Stored {
        Stored { format: self.format, dequant: self.dequant }
    }

    /// Every component of every element, exactly, not normalized.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = f64> + '_ {
        let scalar = self.format.scalar;
        self.bytes.chunks_exact(scalar.size()).map(move |component| component_to_f64(scalar, component))
    }

    /// Converts the elements to `[f32; 3]`, as positions and normals are used.
    #[must_use]
    pub fn to_f32x3(&self) -> Vec<[f32; 3]> {
        self.array::<[f32; 3]>().map_or_else(|| self.to_f32(), |array| array.to_vec())
    }

    /// The smallest box around the first three components; `None` where no element is finite.
    #[must_use]
    pub fn bounds(&self) -> Option<Bounds> {
        match self.array::<[f32; 3]>() {
            Some(array) => Bounds::around(array.iter()),
            None => Bounds::around(self.iter_f32()),
        }
    }

    /// Converts the attribute for a GPU and writes it piece by piece.
    ///
    /// `write(offset, bytes)` is called with whole elements at ascending offsets, each byte once. Nothing is read back, so
    /// mapped GPU memory can be written to. Elements are `stride` bytes apart, from offset 0; bytes between them are not
    /// written. Numbers are in the byte order of the host.
    ///
    /// Any format converts to floats: normalized integers are scaled and [dequantized](Self::dequant). Integers convert to
    /// other integers that can hold them, and any format to itself with more components. New components are 0; a new
    /// fourth one is 1.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](ErrorKind::Unsupported) for other conversions, [`OutOfRange`](ErrorKind::OutOfRange) for a
    /// stride less than an element, or an integer that the target cannot hold.
    pub fn write_chunks(
        &self,
        target: VertexFormat,
        stride: usize,
        mut write: impl FnMut(usize, &[u8]),
    ) -> Result<()> {
        if stride < target.size() {
            let error = Error::new(ErrorKind::OutOfRange, "stride");
            return Err(error.expected(format!("at least {} bytes", target.size())).found(stride));
        }
        let conversion = self.conversion(target)?;
        let scalar_size = self.format.scalar.size();
        let elements = self.bytes.chunks_exact(self.format.size().max(1));
        if self.format == target && cfg!(target_endian = "little") {
            if stride == target.size() {
                write(0, &self.bytes);
            } else {
                elements.enumerate().for_each(|(i, element)| write(i.saturating_mul(stride), element));
            }
            return Ok(());
        }
        if self.is_empty() {
            // A file may announce elements of any size where it has none of them.
            return Ok(());
        }
        let one = target.one();
        let mut out = Vec::with_capacity(target.size());
        for (index, element) in elements.enumerate() {
            for (index, component) in element.chunks_exact(scalar_size).enumerate() {
                conversion.append(self.stored(), index, component, &mut out)?;
            }
            for component in self.format.components..target.components {
                out.extend_from_slice(if component == 3 { &one } else { target.zero() });
            }
            write(index.saturating_mul(stride), &out);
            out.clear();
        }
        Ok(())
    }

    fn conversion(&self, target: VertexFormat) -> Result<Conversion> {
        let VertexFormat { scalar, components, normalized } = self.format;
        let integers = |format: VertexFormat| !format.scalar.is_float() && !format.normalized;
        if target.components < components {
            Err(())
        } else if scalar == target.scalar && normalized == target.normalized {
            Ok(Conversion::Copy)
        } else if target.scalar == Scalar::F32 {
            Ok(Conversion::ToF32)
        } else if integers(self.format) && integers(target) {
            Ok(Conversion::ToInteger { from: scalar, to: target.scalar })
        } else {
            Err(())
        }
        .map_err(|()| {
            let error = Error::new(ErrorKind::Unsupported, "conversion of a vertex attribute");
            error.expected(format!("{} or one that holds it", self.format)).found(target)
        })
    }
}

impl fmt::Debug for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Attribute({} {}, {} elements)", self.semantic, self.format, self.len())
    }
}
