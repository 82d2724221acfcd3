//! Vertex layouts, and vertices that are written in them.

use bytes::Bytes;

use super::attribute::Attribute;
use super::convert::{BLOCK, Converter, Fourth, Work};
use super::place::{Places, place};
use super::semantic::Semantic;
use super::vertex_format::VertexFormat;
use super::view::MeshView;
use super::write::{WriteResult, sized, written};
use super::write_only::WriteOnly;
use crate::limits::job;
use crate::num::decimal;
use crate::report::{Error, ErrorKind, Result};

/// The layout of one vertex in a vertex buffer: a list of attributes and their byte offsets.
///
/// Offsets and the stride follow from the attributes, unless they are given: each attribute begins at the next multiple of
/// 4 bytes, or of its size if that is less, and the stride is a multiple of 4, as graphics APIs require.
///
/// # Examples
///
/// ```
/// use meshmap::{MeshFile, Semantic, VertexFormat, VertexLayout};
///
/// let layout = VertexLayout::new()
///     .with(Semantic::Position, VertexFormat::FLOAT32X3)
///     .with_default(Semantic::Normal, VertexFormat::SNORM8X4, [0.0, 0.0, 1.0, 0.0])
///     .with_default(Semantic::TexCoord(0), VertexFormat::FLOAT32X2, [0.0; 4]);
/// assert_eq!(layout.stride(), 24);
///
/// let file = MeshFile::open("tests/data/iqm/valid/skin_multi_anim.iqm")?;
/// for entry in file.meshes()? {
///     let mesh = file.mesh(&entry.address)?;
///     let mut vertices = vec![0; mesh.vertex_count() * layout.stride()];
///     mesh.write_interleaved(&layout, |offset, bytes| {
///         vertices[offset..offset + bytes.len()].copy_from_slice(bytes);
///     })?;
/// }
/// # Ok::<(), meshmap::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VertexLayout {
    attributes: Vec<LayoutAttribute>,
    stride: Option<usize>,
}

/// An attribute of a [`VertexLayout`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LayoutAttribute {
    /// Its meaning.
    pub semantic: Semantic,
    /// The format that it is written in.
    pub format: VertexFormat,
    /// The byte offset of the attribute in each vertex.
    pub offset: usize,
    /// The value that is written for every vertex of a mesh without the attribute; `None` if such a mesh is an error.
    pub default: Option<[f32; 4]>,
}

impl LayoutAttribute {
    fn end(&self) -> usize {
        self.offset.saturating_add(self.format.size())
    }

    /// The bytes of a value.
    pub(super) fn element(&self, value: [f32; 4]) -> Result<Vec<u8>> {
        let size = self.format.size();
        let mut out = vec![0; size];
        let stored = value.map(f32::to_le_bytes);
        let converter = Converter::new(VertexFormat::FLOAT32X4, self.format, None, Fourth::Zero);
        let converted = converter.convert(
            stored.as_flattened(),
            Places::packed(&mut out, size),
            &mut Work::default(),
        );
        converted.map_err(|not_held| {
            let error = Error::new(ErrorKind::OutOfRange, "default of a vertex layout");
            error
                .expected(format!("numbers that {} can hold", self.format))
                .found(not_held.value)
        })?;
        Ok(out)
    }
}

impl VertexLayout {
    /// A layout without attributes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an attribute that a mesh must have, after the existing attributes.
    #[must_use]
    pub fn with(self, semantic: Semantic, format: VertexFormat) -> Self {
        let offset = self.next(format);
        self.with_attribute(LayoutAttribute {
            semantic,
            format,
            offset,
            default: None,
        })
    }

    /// Adds an attribute, after the existing ones, that is `default` for every vertex of a mesh without it.
    #[must_use]
    pub fn with_default(self, semantic: Semantic, format: VertexFormat, default: [f32; 4]) -> Self {
        let offset = self.next(format);
        self.with_attribute(LayoutAttribute {
            semantic,
            format,
            offset,
            default: Some(default),
        })
    }

    /// Moves the attribute that was added last to this offset, in bytes.
    #[must_use]
    pub fn at(mut self, offset: usize) -> Self {
        if let Some(last) = self.attributes.last_mut() {
            last.offset = offset;
        }
        self
    }

    /// Sets the bytes from one vertex to the next.
    #[must_use]
    pub fn with_stride(self, stride: usize) -> Self {
        Self {
            stride: Some(stride),
            ..self
        }
    }

    fn with_attribute(mut self, attribute: LayoutAttribute) -> Self {
        self.attributes.push(attribute);
        self
    }

    /// Returns the offset at which an attribute of this format follows the existing ones.
    fn next(&self, format: VertexFormat) -> usize {
        self.end()
            .next_multiple_of(format.size().clamp(1, 4).next_power_of_two())
    }

    /// The end of the attribute that ends last.
    fn end(&self) -> usize {
        self.attributes
            .iter()
            .map(LayoutAttribute::end)
            .max()
            .unwrap_or(0)
    }

    /// The attributes, in the order in which they were added.
    #[must_use]
    pub fn attributes(&self) -> &[LayoutAttribute] {
        &self.attributes
    }

    /// The bytes from one vertex to the next.
    #[must_use]
    pub fn stride(&self) -> usize {
        self.stride
            .unwrap_or_else(|| self.end().next_multiple_of(4))
    }

    /// Returns `true` if there are bytes between attributes.
    pub(super) fn has_gaps(&self) -> bool {
        let sizes = self
            .attributes
            .iter()
            .map(|attribute| attribute.format.size());
        sizes.fold(0, usize::saturating_add) < self.stride()
    }

    /// Fails if attributes overlap, or are longer than the stride.
    pub(super) fn check(&self) -> Result<()> {
        let stride = self.stride();
        let wrong = |what| Error::new(ErrorKind::OutOfRange, what);
        if self.end() > stride || stride == 0 {
            let error = wrong("stride of a vertex layout");
            return Err(error
                .expected(format!("at least {} bytes", self.end().max(1)))
                .found(stride));
        }
        if let Some((before, after)) = self.overlap() {
            let error = wrong("vertex layout").expected("attributes that do not overlap");
            return Err(error.found(format_args!(
                "{} to byte {}, and {} from byte {}",
                before.semantic,
                before.end(),
                after.semantic,
                after.offset
            )));
        }
        Ok(())
    }

    /// Two attributes that have bytes in common.
    fn overlap(&self) -> Option<(&LayoutAttribute, &LayoutAttribute)> {
        let mut sorted: Vec<&LayoutAttribute> = self.attributes.iter().collect();
        sorted.sort_by_key(|attribute| (attribute.offset, attribute.end()));
        sorted.windows(2).find_map(|pair| match pair {
            [before, after] if after.offset < before.end() => Some((*before, *after)),
            _ => None,
        })
    }
}

/// The most bytes of vertices that a callback gets at a time.
///
/// Each attribute is written to all vertices of a block before the next one is. Blocks of 16 KiB, with what they are made of
/// and where they go, do not stay in a first-level cache of 32 KiB, and take 1.3 times as long.
const COPIED_BLOCK: usize = 4 << 10;

/// The most bytes of vertices that are copied straight into the caller's memory, one attribute after the other.
pub(super) const DIRECT_BLOCK: usize = 2 << 10;

/// The attributes of a mesh on their way into a layout, in the order of their offsets.
struct Columns<'a> {
    columns: Vec<Column<'a>>,
    stride: usize,
    /// `true` if there are bytes between attributes.
    has_gaps: bool,
    work: Work,
}

/// An attribute of a mesh on its way into a layout.
struct Column<'a> {
    from: Origin,
    to: &'a LayoutAttribute,
    /// `true` if the next column overwrites the 4 bytes after each element.
    is_followed: bool,
}

/// The origin of the elements of a column.
enum Origin {
    /// Elements that stay as they are.
    Copied(Bytes),
    Converted(Box<(Attribute, Converter)>),
    /// The same bytes for every vertex, as often as a block has vertices.
    Same(Vec<u8>),
}

impl Columns<'_> {
    /// Returns the number of vertices in a block: at most `copied` bytes if all are copied, and more if some are converted.
    fn per_block(&self, copied: usize) -> usize {
        let is_converted = |column: &Column<'_>| matches!(column.from, Origin::Converted(_));
        let most = if self.columns.iter().any(is_converted) {
            BLOCK
        } else {
            copied
        };
        most.checked_div(self.stride).unwrap_or(0).max(1)
    }

    /// Returns the bytes of all vertices, if they are the stored bytes of the only attribute.
    fn as_stored(&self) -> Option<&[u8]> {
        match self.columns.as_slice() {
            [
                Column {
                    from: Origin::Copied(bytes),
                    to,
                    ..
                },
            ] if to.format.size() == self.stride => Some(bytes),
            _ => None,
        }
    }

    /// Writes whole vertices from `first` on, at most one block and no more than fit into `out`.
    fn write(&mut self, first: usize, out: &mut [u8]) -> Result<()> {
        let Self {
            columns,
            stride,
            has_gaps,
            work,
        } = self;
        let out = WriteOnly::of(out);
        let count = out.len().checked_div(*stride).unwrap_or(0);
        if *has_gaps {
            WriteOnly::clear(out);
        }
        for Column {
            from,
            to,
            is_followed,
        } in columns
        {
            let out = out.get_mut(to.offset..).unwrap_or_default();
            let places = Places {
                out,
                stride: *stride,
                is_followed: *is_followed,
            };
            let size = to.format.size();
            let elements = match from {
                Origin::Copied(bytes) => bytes.get(first.saturating_mul(size)..),
                Origin::Same(bytes) => Some(bytes.as_slice()),
                Origin::Converted(stored) => {
                    let (attribute, converter) = &**stored;
                    attribute.convert_part(converter, first, count, places, work)?;
                    continue;
                }
            };
            let elements = elements.and_then(|elements| elements.get(..count.saturating_mul(size)));
            place(elements.unwrap_or_default(), size, size, &[], places);
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
            .map_err(|error| self.locate(error))
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
            .map_err(|error| self.locate(error))
    }

    fn fill_vertices(&self, layout: &VertexLayout, out: &mut [u8]) -> Result<()> {
        let mut columns = self.columns(layout)?;
        if let Some(stored) = columns.as_stored() {
            if let Some(out) = out.get_mut(..stored.len()) {
                out.copy_from_slice(stored);
            }
            return Ok(());
        }
        let most = columns.per_block(DIRECT_BLOCK);
        let blocks = out.chunks_mut(most.saturating_mul(columns.stride).max(1));
        for (first, vertices) in (0..).step_by(most).zip(blocks) {
            job::check("vertices")?;
            columns.write(first, vertices)?;
        }
        Ok(())
    }

    fn write_vertices<R: WriteResult>(
        &self,
        layout: &VertexLayout,
        mut write: impl FnMut(usize, &[u8]) -> R,
    ) -> Result<()> {
        let mut columns = self.columns(layout)?;
        let stride = columns.stride;
        if let Some(stored) = columns.as_stored() {
            if !stored.is_empty() {
                written(write(0, stored))?;
            }
            return Ok(());
        }
        let most = columns.per_block(COPIED_BLOCK);
        let mut block = vec![0; most.min(self.vertex_count()).saturating_mul(stride)];
        for first in (0..self.vertex_count()).step_by(most) {
            job::check("vertices")?;
            let count = most.min(self.vertex_count().saturating_sub(first));
            let vertices = block
                .get_mut(..count.saturating_mul(stride))
                .unwrap_or_default();
            columns.write(first, vertices)?;
            written(write(first.saturating_mul(stride), vertices))?;
        }
        Ok(())
    }

    /// The columns of a layout, which is checked.
    fn columns<'a>(&self, layout: &'a VertexLayout) -> Result<Columns<'a>> {
        let located = |error| self.place().locate(error);
        layout.check().map_err(located)?;
        let stride = layout.stride();
        let meter = self.meter();
        let mut columns = Vec::new();
        for to in &layout.attributes {
            let from = match (self.attribute_within(&to.semantic, &meter)?, to.default) {
                (Some(attribute), _) if attribute.len() != self.vertex_count() => {
                    let error = self.place().malformed("attribute of a mesh");
                    let expected = format!(
                        "{} elements of {}",
                        decimal(self.vertex_count()),
                        to.semantic
                    );
                    return Err(error.expected(expected).found(attribute.len()));
                }
                (Some(attribute), _) => {
                    let converter = attribute.converter(to.format);
                    if converter.is_copy() {
                        Origin::Copied(attribute.into_bytes())
                    } else {
                        Origin::Converted(Box::new((attribute, converter)))
                    }
                }
                (None, Some(default)) => {
                    let count = BLOCK
                        .checked_div(stride)
                        .unwrap_or(0)
                        .max(1)
                        .min(self.vertex_count());
                    Origin::Same(to.element(default).map_err(located)?.repeat(count))
                }
                (None, None) => {
                    let error = self
                        .place()
                        .error(ErrorKind::Mismatch, "mesh and vertex layout");
                    let expected = format!("the attribute {}, which has no default", to.semantic);
                    return Err(error.expected(expected).found("none"));
                }
            };
            columns.push(Column {
                from,
                to,
                is_followed: false,
            });
        }
        columns.sort_by_key(|column| column.to.offset);
        let followers = followers(columns.iter().map(|column| column.to));
        columns
            .iter_mut()
            .zip(followers)
            .for_each(|(column, is_followed)| column.is_followed = is_followed);
        Ok(Columns {
            columns,
            stride,
            has_gaps: layout.has_gaps(),
            work: Work::default(),
        })
    }
}

/// For each attribute, in the order of their offsets: whether the next one overwrites the 4 bytes after it.
pub(super) fn followers<'a>(attributes: impl Iterator<Item = &'a LayoutAttribute>) -> Vec<bool> {
    let attributes: Vec<&LayoutAttribute> = attributes.collect();
    let next = attributes
        .iter()
        .skip(1)
        .map(|next| (next.format.size() >= 4).then_some(next.offset));
    attributes
        .iter()
        .zip(next.chain([None]))
        .map(|(this, next)| next == Some(this.end()))
        .collect()
}
