use std::fmt;

use super::attribute::Attribute;
use super::bounds::Bounds;
use super::indices::Indices;
use super::semantic::{AttributeInfo, Semantic};
use crate::report::{Finding, Result};

/// One mesh as a renderer sees it, whatever the format: one draw with a vertex buffer and an index buffer.
///
/// Nothing is merged, reordered, flipped or scaled: order and number of vertices and triangles are the file's, and
/// axes, winding and units are those of the format (see its module).
///
/// # Examples
///
/// ```
/// use meshmap::{IndexFormat, MeshFile, Semantic, VertexFormat};
///
/// let file = MeshFile::open("tests/data/iqm/valid/skin_multi_anim.iqm")?;
/// let mesh = file.mesh(&file.meshes()[0])?;
///
/// // An interleaved vertex buffer: position (12 bytes) and texture coordinate (8 bytes).
/// let stride = 20;
/// let mut vertices = vec![0; mesh.vertex_count() * stride];
/// for (semantic, format, at) in [
///     (Semantic::Position, VertexFormat::FLOAT32X3, 0),
///     (Semantic::TexCoord(0), VertexFormat::FLOAT32X2, 12),
/// ] {
///     let attribute = mesh.attribute(&semantic)?.expect("this model has both");
///     attribute.write_chunks(format, stride, |offset, bytes| {
///         vertices[at + offset..][..bytes.len()].copy_from_slice(bytes);
///     })?;
/// }
/// let mut indices = Vec::new();
/// mesh.indices()?.write_chunks(IndexFormat::Uint32, |_, bytes| indices.extend_from_slice(bytes))?;
/// # assert_eq!(indices.len(), mesh.indices()?.len() * 4);
/// # Ok::<(), meshmap::Error>(())
/// ```
pub trait MeshView: fmt::Debug + Send + Sync + sealed::Sealed {
    /// The mesh's name, with U+FFFD in place of what is not UTF-8; empty where it has none.
    fn name(&self) -> String;

    /// The number of vertices: elements of every attribute.
    fn vertex_count(&self) -> usize;

    /// What the mesh stores of each vertex, in the order of the file.
    fn attributes(&self) -> Vec<AttributeInfo>;

    /// One attribute of all vertices; `Ok(None)` where the mesh does not have it.
    ///
    /// # Errors
    ///
    /// Those of reading and decoding the attribute.
    fn attribute(&self, semantic: &Semantic) -> Result<Option<Attribute>>;

    /// The corners of the triangles, three after three; every index is less than
    /// [`vertex_count`](Self::vertex_count).
    ///
    /// # Errors
    ///
    /// Those of reading and decoding the indices, and [`Malformed`](ErrorKind::Malformed) for one that is too large.
    fn indices(&self) -> Result<Indices>;

    /// The smallest box around the positions, computed from them; `Ok(None)` where there is no position that is
    /// finite.
    ///
    /// # Errors
    ///
    /// Those of reading and decoding the positions.
    fn bounds(&self) -> Result<Option<Bounds>> {
        Ok(self.attribute(&Semantic::Position)?.and_then(|positions| positions.bounds()))
    }

    /// What this mesh deviates in from its format's specification.
    fn findings(&self) -> &[Finding];
}

pub(crate) mod sealed {
    pub trait Sealed {}
}
