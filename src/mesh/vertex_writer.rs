//! Writes whole vertices in a `VertexLayout`: block by block, and in each block one attribute after the other.
//!
//! A block stays in the nearest cache of the processor until its last attribute is written.

use bytes::Bytes;

use super::attribute::Attribute;
use super::convert_elements::{BLOCK, Buffers, Converter, Fourth};
use super::interleave::{Strided, WriteOnly, interleave};
use super::layout::{LayoutAttribute, VertexLayout};
use super::vertex_format::VertexFormat;
use super::view::MeshView;
use super::write_callback::{WriteResult, sized, written};
use crate::limits::{Meter, job};
use crate::num::decimal;
use crate::report::{Error, ErrorKind, Result};

/// The maximum number of bytes of vertices that a callback gets at a time.
///
/// Blocks of 16 KiB, with the stored attributes and the memory that they are copied to, do not stay in a first-level
/// cache of 32 KiB, and take 1.3 times as long.
const COPIED_BLOCK: usize = 4 << 10;

/// The maximum size of a block of vertices that are copied straight into the caller's memory.
pub(super) const DIRECT_BLOCK: usize = 2 << 10;

/// The attributes of a mesh that are written in a layout.
struct VertexWriter<'a> {
    /// In the order of their offsets.
    columns: Vec<Column<'a>>,
    stride: usize,
    /// `true` if there are bytes between attributes.
    has_gaps: bool,
    buffers: Buffers,
}

/// An attribute of a mesh, and the attribute of the layout that it becomes.
struct Column<'a> {
    from: Elements,
    to: &'a LayoutAttribute,
    may_overrun: bool,
}

/// The elements of a column.
enum Elements {
    /// Stored elements in the format of the layout.
    Copied(Bytes),
    /// Stored elements in another format.
    Converted(Box<ConvertedAttribute>),
    /// The default of the layout, repeated as often as a block has vertices.
    Repeated(Vec<u8>),
}

struct ConvertedAttribute {
    attribute: Attribute,
    converter: Converter,
}

impl VertexWriter<'_> {
    /// Returns the number of vertices in a block: of at most `copied` bytes if all attributes are copied, and otherwise of
    /// at most `BLOCK`, as in conversions of single attributes.
    fn per_block(&self, copied: usize) -> usize {
        let is_converted = |column: &Column<'_>| matches!(column.from, Elements::Converted(_));
        let bytes = if self.columns.iter().any(is_converted) {
            BLOCK
        } else {
            copied
        };
        vertices_per_block(bytes, self.stride)
    }

    /// Returns the bytes of all vertices if they are the stored bytes of the only attribute.
    fn as_stored(&self) -> Option<&[u8]> {
        let [column] = self.columns.as_slice() else {
            return None;
        };
        match &column.from {
            Elements::Copied(bytes) if column.to.format.size() == self.stride => Some(bytes),
            _ => None,
        }
    }

    /// Writes a block of whole vertices, `vertices`, which begins at the vertex `first` of the mesh.
    fn write_block(&mut self, first: usize, vertices: &mut [u8]) -> Result<()> {
        let vertices = WriteOnly::of(vertices);
        let count = vertices.len().checked_div(self.stride).unwrap_or(0);
        if self.has_gaps {
            WriteOnly::clear(vertices);
        }
        for column in &self.columns {
            let out = Strided {
                out: vertices.get_mut(column.to.offset..).unwrap_or_default(),
                stride: self.stride,
                may_overrun: column.may_overrun,
            };
            let size = column.to.format.size();
            let elements = match &column.from {
                Elements::Copied(bytes) => bytes.get(first.saturating_mul(size)..),
                Elements::Repeated(bytes) => Some(bytes.as_slice()),
                Elements::Converted(conversion) => {
                    let ConvertedAttribute {
                        attribute,
                        converter,
                    } = conversion.as_ref();
                    attribute.convert_part(converter, first, count, out, &mut self.buffers)?;
                    continue;
                }
            };
            let elements = elements.and_then(|elements| elements.get(..count.saturating_mul(size)));
            interleave(elements.unwrap_or_default(), size, size, &[], out);
        }
        Ok(())
    }
}

impl MeshView {
    /// Writes all vertices in a layout, for a vertex buffer.
    ///
    /// `write(offset, bytes)` is called with many whole vertices at a time, at ascending offsets, each byte once, bytes
    /// between attributes (0) included. Nothing is read back, so mapped GPU memory can be written to. Numbers are in the
    /// byte order of the host. Attributes convert as in [`Attribute::write_chunks`].
    ///
    /// # Errors
    ///
    /// Returns [`Mismatch`](ErrorKind::Mismatch) if the mesh lacks an attribute that has no default;
    /// [`OutOfRange`](ErrorKind::OutOfRange) if the layout's attributes overlap or are longer than its stride, and if an integer
    /// does not fit the layout's format; the errors of reading and decoding; and the error that `write` returns.
    pub fn write_interleaved<R: WriteResult>(
        &self,
        layout: &VertexLayout,
        write: impl FnMut(usize, &[u8]) -> R,
    ) -> Result<()> {
        self.write_vertices(layout, write)
            .map_err(|error| self.locate_in_file(error))
    }

    /// Writes all vertices in a layout, straight into `out`: faster than [`write_interleaved`](Self::write_interleaved), which
    /// writes the same bytes.
    ///
    /// Attributes are written one after the other, a few KiB of vertices at a time. Memory that is slow unless it is written
    /// in ascending order, such as write-combined GPU memory, is better filled by `write_interleaved`. Bytes of `out` after
    /// the vertices stay as they are; after an error, the vertices are undefined.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](ErrorKind::OutOfRange) if `out` is shorter than [`vertex_count`](Self::vertex_count) times the stride
    /// of the layout, and the errors of [`write_interleaved`](Self::write_interleaved).
    pub fn interleave_into(&self, layout: &VertexLayout, out: &mut [u8]) -> Result<()> {
        let out = sized(out, self.vertex_count().saturating_mul(layout.stride()))?;
        self.fill_vertices(layout, out)
            .map_err(|error| self.locate_in_file(error))
    }

    fn fill_vertices(&self, layout: &VertexLayout, out: &mut [u8]) -> Result<()> {
        let mut writer = self.vertex_writer(layout)?;
        if let Some(stored) = writer.as_stored() {
            if let Some(out) = out.get_mut(..stored.len()) {
                out.copy_from_slice(stored);
            }
            return Ok(());
        }
        let per_block = writer.per_block(DIRECT_BLOCK);
        let blocks = out.chunks_mut(per_block.saturating_mul(writer.stride).max(1));
        for (first, vertices) in (0..).step_by(per_block).zip(blocks) {
            job::check("vertices")?;
            writer.write_block(first, vertices)?;
        }
        Ok(())
    }

    fn write_vertices<R: WriteResult>(
        &self,
        layout: &VertexLayout,
        mut write: impl FnMut(usize, &[u8]) -> R,
    ) -> Result<()> {
        let mut writer = self.vertex_writer(layout)?;
        if let Some(stored) = writer.as_stored() {
            if !stored.is_empty() {
                written(write(0, stored))?;
            }
            return Ok(());
        }
        let stride = writer.stride;
        let per_block = writer.per_block(COPIED_BLOCK);
        let mut block = vec![0; per_block.min(self.vertex_count()).saturating_mul(stride)];
        for first in (0..self.vertex_count()).step_by(per_block) {
            job::check("vertices")?;
            let count = per_block.min(self.vertex_count().saturating_sub(first));
            let vertices = block
                .get_mut(..count.saturating_mul(stride))
                .unwrap_or_default();
            writer.write_block(first, vertices)?;
            written(write(first.saturating_mul(stride), vertices))?;
        }
        Ok(())
    }

    /// Checks the layout, and loads its attributes.
    fn vertex_writer<'a>(&self, layout: &'a VertexLayout) -> Result<VertexWriter<'a>> {
        layout.check().map_err(|error| self.place().locate(error))?;
        let meter = self.meter();
        let mut columns = Vec::new();
        for to in layout.attributes() {
            columns.push(Column {
                from: self.elements(to, layout.stride(), &meter)?,
                to,
                may_overrun: false,
            });
        }
        columns.sort_by_key(|column| column.to.offset);
        let mut next = None;
        for column in columns.iter_mut().rev() {
            column.may_overrun = may_overrun(column.to, next);
            next = Some(column.to);
        }
        Ok(VertexWriter {
            columns,
            stride: layout.stride(),
            has_gaps: layout.has_gaps(),
            buffers: Buffers::default(),
        })
    }

    /// The elements of this mesh for an attribute of a layout.
    fn elements(&self, to: &LayoutAttribute, stride: usize, meter: &Meter) -> Result<Elements> {
        let Some(attribute) = self.attribute_within(&to.semantic, meter)? else {
            let Some(default) = to.default else {
                let error = self
                    .place()
                    .error(ErrorKind::Mismatch, "mesh and vertex layout");
                return Err(without_default(error, to));
            };
            let element =
                default_element(to, default).map_err(|error| self.place().locate(error))?;
            let count = vertices_per_block(BLOCK, stride).min(self.vertex_count());
            return Ok(Elements::Repeated(element.repeat(count)));
        };
        if attribute.len() != self.vertex_count() {
            let error = self.place().malformed("attribute of a mesh");
            let expected = format!(
                "{} elements of {}",
                decimal(self.vertex_count()),
                to.semantic
            );
            return Err(error.expected(expected).found(attribute.len()));
        }
        let converter = attribute.converter(to.format);
        if converter.is_copy() {
            return Ok(Elements::Copied(attribute.into_bytes()));
        }
        Ok(Elements::Converted(Box::new(ConvertedAttribute {
            attribute,
            converter,
        })))
    }
}

/// Returns the number of vertices of `stride` bytes in a block of `bytes`; at least one.
pub(super) fn vertices_per_block(bytes: usize, stride: usize) -> usize {
    bytes.checked_div(stride).unwrap_or(0).max(1)
}

/// Returns `true` if the attribute with the next higher offset overwrites the 4 bytes after this one.
pub(super) fn may_overrun(this: &LayoutAttribute, next: Option<&LayoutAttribute>) -> bool {
    match next {
        Some(next) => next.offset == this.end() && next.format.size() >= 4,
        None => false,
    }
}

/// The bytes of a default value.
pub(super) fn default_element(to: &LayoutAttribute, value: [f32; 4]) -> Result<Vec<u8>> {
    let stored = value.map(f32::to_le_bytes);
    let converter = Converter::new(VertexFormat::FLOAT32X4, to.format, None, Fourth::Zero);
    let mut element = vec![0; to.format.size()];
    let converted = converter.convert(
        stored.as_flattened(),
        Strided::new(&mut element, to.format.size()),
        &mut Buffers::default(),
    );
    if let Err(not_held) = converted {
        let error = Error::new(ErrorKind::OutOfRange, "default of a vertex layout");
        let expected = format!("numbers that {} can hold", to.format);
        return Err(error.expected(expected).found(not_held.value));
    }
    Ok(element)
}

/// Adds to an error that a mesh lacks an attribute for which the layout has no default.
pub(super) fn without_default(error: Error, to: &LayoutAttribute) -> Error {
    let expected = format!("the attribute {}, which has no default", to.semantic);
    error.expected(expected).found("none")
}
