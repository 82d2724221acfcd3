use std::fmt;

use bytes::Bytes;
use zerocopy::{FromBytes, IntoBytes};

use super::bounds::Bounds;
use super::component::component_to_f32;
use super::convert_elements::{BLOCK, Buffers, Converter, Fourth};
use super::dequant::Dequant;
use super::interleave::Strided;
use super::semantic::{AttributeInfo, Semantic};
use super::vertex_format::VertexFormat;
use super::write_callback::{WriteResult, into_slice, written};
use crate::bytes::{Array, Element, Scalar};
use crate::limits::job;
use crate::report::{Address, Error, ErrorKind, Place, Result};

/// One attribute of all vertices of a mesh, tightly packed, in place or decoded. Equal if the stored bytes are equal.
#[derive(Clone)]
pub struct Attribute {
    semantic: Semantic,
    format: VertexFormat,
    bytes: Bytes,
    dequant: Option<Dequant>,
    /// The mesh that it is of, for errors.
    mesh: Option<Place>,
}

impl PartialEq for Attribute {
    fn eq(&self, other: &Self) -> bool {
        let is_same_dequant = match (&self.dequant, &other.dequant) {
            (Some(dequant), Some(other)) => dequant.is_same(other),
            (None, None) => true,
            _ => false,
        };
        is_same_dequant
            && self.semantic == other.semantic
            && self.format == other.format
            && self.bytes == other.bytes
    }
}

impl Eq for Attribute {}

impl Attribute {
    pub(crate) fn new(semantic: Semantic, format: VertexFormat, bytes: Bytes) -> Self {
        Self {
            semantic,
            format,
            bytes,
            dequant: None,
            mesh: None,
        }
    }

    /// An attribute with these elements, in the format of their type; `None` if it is not a vector of numbers. Integers are not
    /// normalized.
    ///
    /// # Examples
    ///
    /// ```
    /// use meshmap::{Array, Attribute, Semantic, VertexFormat};
    ///
    /// let positions = Array::from_vec(vec![[0.0_f32, 1.0, 2.0]]);
    /// let attribute = Attribute::from_array(Semantic::Position, positions).expect("a vector of floats");
    /// assert_eq!(attribute.format(), VertexFormat::FLOAT32X3);
    /// assert_eq!(attribute.to_f32::<3>(), [[0.0, 1.0, 2.0]]);
    /// ```
    #[must_use]
    pub fn from_array<T: Element>(semantic: Semantic, elements: Array<T>) -> Option<Self> {
        let (scalar, components) = T::SHAPE?;
        let format = VertexFormat::new(scalar, components, false);
        Some(Self::new(semantic, format, elements.into_bytes()))
    }

    /// Sets the dequantization of normalized integers.
    pub(crate) fn with_dequant(self, dequant: Dequant) -> Self {
        Self {
            dequant: Some(dequant),
            ..self
        }
    }

    /// This attribute with other elements in the same format.
    pub(super) fn with_bytes(&self, bytes: Bytes) -> Self {
        Self {
            bytes,
            ..self.clone()
        }
    }

    /// Sets the mesh that the attribute is of.
    pub(super) fn of_mesh(self, mesh: Place) -> Self {
        Self {
            mesh: Some(mesh),
            ..self
        }
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
        AttributeInfo {
            semantic: self.semantic.clone(),
            format: self.format,
        }
    }

    /// The dequantization of the stored integers, if they have one.
    ///
    /// Conversions to floats apply it. Integers that are written as stored leave it to the shader.
    #[must_use]
    pub fn dequant(&self) -> Option<Dequant> {
        self.dequant
    }

    /// The number of elements, one for each vertex.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes
            .len()
            .checked_div(self.format.size())
            .unwrap_or(0)
    }

    /// Returns `true` if the attribute has no elements.
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

    /// The elements as a typed array, shared; `None` if `T` is not the stored type.
    ///
    /// `Array<[f32; 3]>` for a format of three `f32`, `Array<[u8; 4]>` for four `u8`, normalized or not.
    #[must_use]
    pub fn array<T: Element>(&self) -> Option<Array<T>> {
        if T::SHAPE != Some((self.format.scalar, self.format.components)) {
            return None;
        }
        Some(Array::new(self.bytes.clone()))
    }

    /// The elements of a range of vertices, shared; `None` if the range reaches beyond the end.
    #[must_use]
    pub fn slice(&self, vertices: std::ops::Range<usize>) -> Option<Self> {
        if vertices.start > vertices.end || vertices.end > self.len() {
            return None;
        }
        let size = self.format.size();
        let start = vertices.start.checked_mul(size)?;
        let end = vertices.end.checked_mul(size)?;
        Some(self.with_bytes(self.bytes.slice(start..end)))
    }

    /// Converts the elements to `[f32; N]`.
    ///
    /// Normalized integers are scaled and [dequantized](Self::dequant). If components are not stored, the fourth of positions and
    /// colours is 1, and others are 0. Components beyond `N` are left out.
    #[must_use]
    pub fn to_f32<const N: usize>(&self) -> Vec<[f32; N]> {
        let mut out = vec![[0.0; N]; self.len()];
        // Every number is a float.
        let _ = self.convert_all(VertexFormat::FLOAT32, &mut out);
        out
    }

    /// Converts the elements to `[u32; N]`: joint indices, for example.
    ///
    /// Integers keep their value, also normalized ones. Floats become the nearest integer, the even one of two. Of
    /// components that are not stored, the fourth of positions and colours is 1, and others are 0; those beyond `N` are left
    /// out.
    ///
    /// # Examples
    ///
    /// ```
    /// use meshmap::{MeshFile, Semantic};
    ///
    /// let file = MeshFile::open("tests/data/iqm/valid/skin_multi_anim.iqm")?;
    /// let mesh = file.mesh(&"meshes[0]".parse()?)?;
    /// let joints = mesh.attribute(&Semantic::Joints(0))?.expect("this mesh has joints");
    /// let joint_count = file.as_iqm().expect("an IQM file").joints().len();
    /// assert!(joints.to_uint::<4>()?.as_flattened().iter().all(|joint| (*joint as usize) < joint_count));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](ErrorKind::OutOfRange) for a number that is negative, NaN, infinite or too large.
    pub fn to_uint<const N: usize>(&self) -> Result<Vec<[u32; N]>> {
        let mut out = vec![[0; N]; self.len()];
        self.convert_all(VertexFormat::UINT32, &mut out)?;
        Ok(out)
    }

    /// Converts all elements to `N` components of the type of `component`.
    fn convert_all<T: IntoBytes + FromBytes, const N: usize>(
        &self,
        component: VertexFormat,
        out: &mut [[T; N]],
    ) -> Result<()> {
        let format = VertexFormat {
            components: u32::try_from(N).unwrap_or(u32::MAX),
            ..component
        };
        let converter = self.converter(format);
        let per_block = self.per_block(format.size());
        let mut buffers = Buffers::default();
        for (block, first) in out.chunks_mut(per_block).zip((0..).step_by(per_block)) {
            let count = block.len();
            let out = block.as_flattened_mut().as_mut_bytes();
            self.convert_part(
                &converter,
                first,
                count,
                Strided::new(out, format.size()),
                &mut buffers,
            )?;
        }
        Ok(())
    }

    /// Iterates over the elements as [`to_f32`](Self::to_f32) converts them.
    pub fn iter_f32<const N: usize>(&self) -> impl ExactSizeIterator<Item = [f32; N]> + '_ {
        self.bytes
            .chunks_exact(self.format.size().max(1))
            .map(|element| self.element_to_f32(element))
    }

    /// An element as [`to_f32`](Self::to_f32) converts it; `None` if the vertex does not exist.
    pub(super) fn f32_at<const N: usize>(&self, vertex: usize) -> Option<[f32; N]> {
        let size = self.format.size();
        let start = vertex.checked_mul(size)?;
        let element = self.bytes.get(start..start.checked_add(size)?)?;
        Some(self.element_to_f32(element))
    }

    fn element_to_f32<const N: usize>(&self, element: &[u8]) -> [f32; N] {
        let mut components = [0.0; N];
        if Fourth::of(&self.semantic) == Fourth::One
            && let Some(fourth) = components.get_mut(3)
        {
            *fourth = 1.0;
        }
        if self.format.scalar == Scalar::F32 && self.dequant.is_none() {
            // The usual case, in modules that have only this way.
            let stored = element.as_chunks::<4>().0;
            for (value, component) in components.iter_mut().zip(stored) {
                *value = f32::from_le_bytes(*component);
            }
            return components;
        }
        let stored = element.chunks_exact(self.format.scalar.size());
        for (index, (value, component)) in components.iter_mut().zip(stored).enumerate() {
            let number = component_to_f32(self.format, component);
            *value = self
                .dequant
                .map_or(number, |dequant| dequant.apply(index, number));
        }
        components
    }

    /// The smallest box around the first three components; `None` if no element is finite.
    #[must_use]
    pub fn bounds(&self) -> Option<Bounds> {
        if cfg!(meshmap_small) {
            return Bounds::around(self.iter_f32());
        }
        let mut bounds = Bounds::default();
        // Every number is a float.
        let always = || Ok(());
        let _ = self.write_blocks(
            VertexFormat::FLOAT32X3,
            VertexFormat::FLOAT32X3.size(),
            always,
            |_, bytes| {
                let (points, _) = bytes.as_chunks::<4>().0.as_chunks::<3>();
                bounds.add(points.iter().map(|point| point.map(f32::from_ne_bytes)));
            },
        );
        if bounds.is_empty() {
            return None;
        }
        Some(bounds)
    }

    /// Converts the attribute for a GPU and writes it piece by piece.
    ///
    /// `write(offset, bytes)` is called with whole elements at ascending offsets, each byte once. Nothing is read back, so
    /// mapped GPU memory can be written to. Elements are `stride` bytes apart, from offset 0; bytes between them are not
    /// written ([`MeshView::write_interleaved`](super::MeshView::write_interleaved) fills them with other attributes).
    /// Numbers are in the byte order of the host.
    ///
    /// Any format converts to any other, through single precision:
    ///
    /// * To floats: normalized integers are scaled and [dequantized](Self::dequant), others keep their value. Halves are
    ///   rounded to the nearest, the even one of two, and are infinite from 65,520 on.
    /// * From floats, and between normalized integers: normalized integers are the nearest, the even one of two, after
    ///   numbers outside 0..=1 or -1..=1 are moved to its ends; NaN becomes 0. Plain integers are also the nearest.
    /// * Between plain integers, and between plain and normalized ones: the integer itself is kept.
    /// * To the stored type: the stored bits. Dequantization is then left to the shader.
    ///
    /// * To a [packed](VertexFormat::packed) format: as to normalized integers, each with its own number of bits.
    ///
    /// Components beyond the target's are left out. If components are not stored, the fourth of positions and colours is 1, and
    /// others are 0.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](ErrorKind::OutOfRange) if the stride is less than an element or the target cannot hold an integer,
    /// and the error of `write`, if it returns one.
    pub fn write_chunks<R: WriteResult>(
        &self,
        target: VertexFormat,
        stride: usize,
        write: impl FnMut(usize, &[u8]) -> R,
    ) -> Result<()> {
        self.write_blocks(target, stride, || job::check("attribute"), write)
    }

    /// Writes block by block, and asks before each whether to go on.
    fn write_blocks<R: WriteResult>(
        &self,
        target: VertexFormat,
        stride: usize,
        goes_on: impl Fn() -> Result<()>,
        mut write: impl FnMut(usize, &[u8]) -> R,
    ) -> Result<()> {
        let size = target.size();
        if stride < size {
            let error = self.error("stride");
            return Err(error
                .expected(format!("at least {size} bytes"))
                .found(stride));
        }
        if self.is_empty() {
            // A file without elements may declare any element size.
            return Ok(());
        }
        let converter = self.converter(target);
        if converter.is_copy() && stride == size {
            return written(write(0, &self.bytes));
        }
        let per_block = self.per_block(size);
        let mut block = vec![0; per_block.min(self.len()).saturating_mul(size)];
        let mut buffers = Buffers::default();
        for first in (0..self.len()).step_by(per_block) {
            goes_on()?;
            let count = per_block.min(self.len().saturating_sub(first));
            let out = block
                .get_mut(..count.saturating_mul(size))
                .unwrap_or_default();
            self.convert_part(
                &converter,
                first,
                count,
                Strided::new(out, size),
                &mut buffers,
            )?;
            let offset = first.saturating_mul(stride);
            if stride == size {
                written(write(offset, out))?;
            } else {
                let offsets = (offset..).step_by(stride);
                for (element, offset) in out.chunks_exact(size.max(1)).zip(offsets) {
                    written(write(offset, element))?;
                }
            }
        }
        Ok(())
    }

    /// Like [`write_chunks`](Self::write_chunks), into `out`; bytes between the elements stay as they are.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](ErrorKind::OutOfRange) if `out` is shorter than the last element's end, and the errors of
    /// [`write_chunks`](Self::write_chunks).
    pub fn write_into(&self, target: VertexFormat, stride: usize, out: &mut [u8]) -> Result<()> {
        let needed = match self.len().checked_sub(1) {
            Some(last) => last.saturating_mul(stride).saturating_add(target.size()),
            None => 0,
        };
        self.write_chunks(target, stride, into_slice(out, needed)?)
    }

    /// Returns the number of elements in a block, if each converts to `size` bytes.
    fn per_block(&self, size: usize) -> usize {
        BLOCK
            .checked_div(size.max(self.format.size()))
            .unwrap_or(0)
            .max(1)
    }

    /// The conversion of the elements to another format.
    pub(super) fn converter(&self, target: VertexFormat) -> Converter {
        Converter::new(
            self.format,
            target,
            self.dequant,
            Fourth::of(&self.semantic),
        )
    }

    /// Converts `count` elements from `first` on.
    pub(super) fn convert_part(
        &self,
        converter: &Converter,
        first: usize,
        count: usize,
        out: Strided<'_>,
        buffers: &mut Buffers,
    ) -> Result<()> {
        let size = self.format.size();
        let end = first.saturating_add(count).saturating_mul(size);
        let elements = self
            .bytes
            .get(first.saturating_mul(size)..end)
            .unwrap_or_default();
        let converted = converter.convert(elements, out, buffers);
        converted.map_err(|not_held| {
            let error = self.error("number of a vertex attribute");
            not_held.add_to(error, converter, first)
        })
    }

    /// An error about this attribute.
    fn error(&self, what: &'static str) -> Error {
        let error = Error::new(ErrorKind::OutOfRange, what);
        let Some(mesh) = &self.mesh else { return error };
        let address = mesh
            .address()
            .cloned()
            .unwrap_or_else(|| Address::field("mesh"));
        mesh.locate(error.of(self.semantic.address_in(address)))
    }
}

impl fmt::Debug for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Attribute({} {}, {} elements)",
            self.semantic,
            self.format,
            self.len()
        )
    }
}
