//! Descriptions of vertex buffers. `vertex_writer` writes vertices in them.

use super::semantic::Semantic;
use super::vertex_format::VertexFormat;
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
    pub(super) fn end(&self) -> usize {
        self.offset.saturating_add(self.format.size())
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
        let ends = self.attributes.iter().map(LayoutAttribute::end);
        ends.max().unwrap_or(0)
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
        let mut used = 0_usize;
        for attribute in &self.attributes {
            used = used.saturating_add(attribute.format.size());
        }
        used < self.stride()
    }

    /// Fails if attributes overlap, or are longer than the stride.
    pub(super) fn check(&self) -> Result<()> {
        let stride = self.stride();
        if self.end() > stride || stride == 0 {
            let error = Error::new(ErrorKind::OutOfRange, "stride of a vertex layout");
            let expected = format!("at least {} bytes", self.end().max(1));
            return Err(error.expected(expected).found(stride));
        }

        let mut sorted: Vec<&LayoutAttribute> = self.attributes.iter().collect();
        sorted.sort_by_key(|attribute| (attribute.offset, attribute.end()));
        for (before, after) in sorted.iter().zip(sorted.iter().skip(1)) {
            if after.offset < before.end() {
                let error = Error::new(ErrorKind::OutOfRange, "vertex layout");
                let error = error.expected("attributes that do not overlap");
                return Err(error.found(format_args!(
                    "{} to byte {}, and {} from byte {}",
                    before.semantic,
                    before.end(),
                    after.semantic,
                    after.offset
                )));
            }
        }
        Ok(())
    }
}
