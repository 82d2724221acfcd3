//! Vertex layouts, and vertices that are written in them.

use super::attribute::Attribute;
use super::convert::{BLOCK, Converter, Fourth, Work};
use super::place::Places;
use super::semantic::Semantic;
use super::vertex_format::VertexFormat;
use super::view::MeshView;
use super::write::{WriteResult, into_slice, written};
use crate::report::{ErrorKind, Result};

/// What a vertex buffer has for each vertex: attributes, each at an offset.
///
/// Offsets and the stride follow from the attributes, unless they are given: each attribute begins at the next multiple of
/// 4 bytes, or of its size where that is less, and the stride is a multiple of 4, as graphics APIs want it.
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
    /// Where it begins in each vertex, in bytes.
    pub offset: usize,
    /// What is written for every vertex of a mesh without the attribute; `None` where such a mesh is an error.
    pub default: Option<[f32; 4]>,
}

impl LayoutAttribute {
    fn end(&self) -> usize {
        self.offset.saturating_add(self.format.size())
    }
}

impl VertexLayout {
    /// A layout without attributes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an attribute that a mesh must have, after those that are there.
    #[must_use]
    pub fn with(self, semantic: Semantic, format: VertexFormat) -> Self {
        let offset = self.next(format);
        self.with_attribute(LayoutAttribute { semantic, format, offset, default: None })
    }

    /// Adds an attribute, after those that are there, that is `default` for every vertex of a mesh without it.
    #[must_use]
    pub fn with_default(self, semantic: Semantic, format: VertexFormat, default: [f32; 4]) -> Self {
        let offset = self.next(format);
        self.with_attribute(LayoutAttribute { semantic, format, offset, default: Some(default) })
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
        Self { stride: Some(stride), ..self }
    }

    fn with_attribute(mut self, attribute: LayoutAttribute) -> Self {
        self.attributes.push(attribute);
        self
    }

    /// Where an attribute of this format comes after those that are there.
    fn next(&self, format: VertexFormat) -> usize {
        self.end().next_multiple_of(format.size().clamp(1, 4).next_power_of_two())
    }

    /// The end of the attribute that ends last.
    fn end(&self) -> usize {
        self.attributes.iter().map(LayoutAttribute::end).max().unwrap_or(0)
    }

    /// The attributes, in the order in which they were added.
    #[must_use]
    pub fn attributes(&self) -> &[LayoutAttribute] {
        &self.attributes
    }

    /// The bytes from one vertex to the next.
    #[must_use]
    pub fn stride(&self) -> usize {
        self.stride.unwrap_or_else(|| self.end().next_multiple_of(4))
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

/// An attribute of a mesh on its way into a layout.
struct Column<'a> {
    from: Origin,
    to: &'a LayoutAttribute,
    /// Whether the next column overwrites the 4 bytes after each element.
    is_followed: bool,
}

/// Where the elements of a column come from.
enum Origin {
    Stored(Box<(Attribute, Converter)>),
    /// The same bytes for every vertex.
    Same(Vec<u8>),
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
    /// [`Mismatch`](ErrorKind::Mismatch) where the mesh does not have an attribute without a default;
    /// [`OutOfRange`](ErrorKind::OutOfRange) for a layout whose attributes overlap or are longer than its stride, and for
    /// an integer that the layout's format cannot hold; the errors of reading and decoding; and that of `write`.
    pub fn write_interleaved<R: WriteResult>(
        &self,
        layout: &VertexLayout,
        write: impl FnMut(usize, &[u8]) -> R,
    ) -> Result<()> {
        self.write_vertices(layout, write).map_err(|error| self.tell(error))
    }

    /// Like [`write_interleaved`](Self::write_interleaved), into `out`.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](ErrorKind::OutOfRange) if `out` is shorter than [`vertex_count`](Self::vertex_count) times the stride
    /// of the layout, and the errors of [`write_interleaved`](Self::write_interleaved).
    pub fn interleave_into(&self, layout: &VertexLayout, out: &mut [u8]) -> Result<()> {
        self.write_interleaved(layout, into_slice(out, self.vertex_count().saturating_mul(layout.stride()))?)
    }

    fn write_vertices<R: WriteResult>(
        &self,
        layout: &VertexLayout,
        mut write: impl FnMut(usize, &[u8]) -> R,
    ) -> Result<()> {
        let stride = layout.stride();
        self.check_layout(layout)?;
        let columns = self.columns(layout)?;
        if let [Column { from: Origin::Stored(only), to, .. }] = columns.as_slice()
            && only.1.is_copy()
            && to.format.size() == stride
        {
            if !only.0.is_empty() {
                written(write(0, only.0.as_bytes()))?;
            }
            return Ok(());
        }
        let most = BLOCK.checked_div(stride).unwrap_or(0).max(1);
        let mut block = vec![0; most.min(self.vertex_count()).saturating_mul(stride)];
        let mut work = Work::default();
        for first in (0..self.vertex_count()).step_by(most) {
            let count = most.min(self.vertex_count().saturating_sub(first));
            let length = count.saturating_mul(stride);
            let vertices = block.get_mut(..length).unwrap_or_default();
            for Column { from, to, is_followed } in &columns {
                match from {
                    Origin::Stored(stored) => {
                        let (attribute, converter) = &**stored;
                        let out = vertices.get_mut(to.offset..).unwrap_or_default();
                        let places = Places { out, stride, is_followed: *is_followed };
                        attribute.convert_part(converter, first, count, places, &mut work)?;
                    }
                    // They stay in the block.
                    Origin::Same(bytes) if first == 0 => {
                        for vertex in vertices.chunks_mut(stride.max(1)) {
                            if let Some(place) = vertex.get_mut(to.offset..to.end()) {
                                place.copy_from_slice(bytes);
                            }
                        }
                    }
                    Origin::Same(_) => {}
                }
            }
            written(write(first.saturating_mul(stride), vertices))?;
        }
        Ok(())
    }

    fn check_layout(&self, layout: &VertexLayout) -> Result<()> {
        let stride = layout.stride();
        let wrong = |what| self.place().error(ErrorKind::OutOfRange, what);
        if layout.end() > stride || stride == 0 {
            let error = wrong("stride of a vertex layout");
            return Err(error.expected(format!("at least {} bytes", layout.end().max(1))).found(stride));
        }
        if let Some((before, after)) = layout.overlap() {
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

    /// The columns of a layout, in the order of their offsets.
    fn columns<'a>(&self, layout: &'a VertexLayout) -> Result<Vec<Column<'a>>> {
        let budget = self.budget();
        let mut columns = Vec::new();
        for to in &layout.attributes {
            let from = match (self.attribute_within(&to.semantic, &budget)?, to.default) {
                (Some(attribute), _) if attribute.len() != self.vertex_count() => {
                    let error = self.place().malformed("attribute of a mesh");
                    let expected = format!("{} elements of {}", self.vertex_count(), to.semantic);
                    return Err(error.expected(expected).found(attribute.len()));
                }
                (Some(attribute), _) => {
                    let converter = attribute.converter(to.format);
                    Origin::Stored(Box::new((attribute, converter)))
                }
                (None, Some(default)) => Origin::Same(self.one_element(default, to)?),
                (None, None) => {
                    let error = self.place().error(ErrorKind::Mismatch, "mesh and vertex layout");
                    let expected = format!("the attribute {}, which has no default", to.semantic);
                    return Err(error.expected(expected).found("none"));
                }
            };
            columns.push(Column { from, to, is_followed: false });
        }
        columns.sort_by_key(|column| column.to.offset);
        let next = columns.iter().skip(1).map(|next| match &next.from {
            Origin::Stored(_) if next.to.format.size() >= 4 => Some(next.to.offset),
            _ => None,
        });
        let next: Vec<Option<usize>> = next.collect();
        for (column, next) in columns.iter_mut().zip(next) {
            column.is_followed = next == Some(column.to.end());
        }
        Ok(columns)
    }

    /// The bytes of a default.
    fn one_element(&self, default: [f32; 4], to: &LayoutAttribute) -> Result<Vec<u8>> {
        let size = to.format.size();
        let mut out = vec![0; size];
        let stored = default.map(f32::to_le_bytes);
        let converter = Converter::new(VertexFormat::FLOAT32X4, to.format, None, Fourth::Zero);
        let converted =
            converter.convert(stored.as_flattened(), Places::packed(&mut out, size), &mut Work::default());
        converted.map_err(|not_held| {
            let error = self.place().error(ErrorKind::OutOfRange, "default of a vertex layout");
            error.expected(format!("numbers that {} can hold", to.format)).found(not_held.value)
        })?;
        Ok(out)
    }
}
