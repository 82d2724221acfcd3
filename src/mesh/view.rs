use std::fmt;
use std::sync::Arc;

use super::attribute::Attribute;
use super::attribute_list::AttributeList;
use super::bounds::Bounds;
use super::indices::Indices;
use super::role::Role;
use super::semantic::{AttributeInfo, Semantic};
use crate::report::{Address, Finding, Result};

/// One mesh as a renderer sees it, whatever the format: one draw with a vertex buffer and an index buffer.
///
/// Nothing is merged, reordered, flipped or scaled: order and number of vertices and triangles are the file's. Axes,
/// winding and units are those of the format (see its module). Indices are read and checked when a view is made, an
/// attribute on demand. Cloning is cheap.
///
/// # Examples
///
/// ```
/// use meshmap::{IndexFormat, MeshFile, Semantic, VertexFormat};
///
/// let file = MeshFile::open("tests/data/iqm/valid/skin_multi_anim.iqm")?;
/// let mesh = file.mesh(&file.meshes()?[0])?;
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
/// mesh.indices().write_chunks(IndexFormat::Uint32, |_, bytes| indices.extend_from_slice(bytes))?;
/// # assert_eq!(indices.len(), mesh.indices().len() * 4);
/// # Ok::<(), meshmap::Error>(())
/// ```
#[derive(Clone)]
pub struct MeshView {
    name: String,
    address: Address,
    role: Role,
    vertex_count: usize,
    indices: Indices,
    attributes: AttributeList,
    loader: Arc<dyn LoadAttribute>,
    findings: Arc<[Finding]>,
}

/// What a [`MeshView`] gets its attributes from.
pub(crate) trait LoadAttribute: Send + Sync {
    /// The attribute at an index of the list that the view was made with.
    fn load(&self, index: usize, info: &AttributeInfo) -> Result<Attribute>;

    /// The box around the attribute at an index.
    fn bounds(&self, index: usize, info: &AttributeInfo) -> Result<Option<Bounds>> {
        Ok(self.load(index, info)?.bounds())
    }
}

impl MeshView {
    /// A view without a name and without findings, of indices that have been checked.
    pub(crate) fn new(
        address: Address,
        role: Role,
        vertex_count: usize,
        indices: Indices,
        attributes: Vec<AttributeInfo>,
        loader: impl LoadAttribute + 'static,
    ) -> Self {
        let attributes = AttributeList::new(attributes);
        Self::with_list(address, role, vertex_count, indices, attributes, loader)
    }

    /// Like `new`, with a list that several views share.
    pub(crate) fn with_list(
        address: Address,
        role: Role,
        vertex_count: usize,
        indices: Indices,
        attributes: AttributeList,
        loader: impl LoadAttribute + 'static,
    ) -> Self {
        Self {
            name: String::new(),
            address,
            role,
            vertex_count,
            indices,
            attributes,
            loader: Arc::new(loader),
            findings: Arc::new([]),
        }
    }

    pub(crate) fn with_name(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    pub(crate) fn with_findings(self, findings: Vec<Finding>) -> Self {
        Self { findings: findings.into(), ..self }
    }

    /// The mesh's name, with U+FFFD in place of what is not UTF-8; empty where it has none.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the mesh is in its file.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// What the mesh is for.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// The number of vertices: elements of every attribute.
    #[must_use]
    pub fn vertex_count(&self) -> usize {
        self.vertex_count
    }

    /// The number of triangles.
    #[must_use]
    pub fn triangle_count(&self) -> usize {
        self.indices.len() / 3
    }

    /// What the mesh stores for each vertex, in the order of the file.
    #[must_use]
    pub fn attributes(&self) -> &[AttributeInfo] {
        self.attributes.as_slice()
    }

    /// One attribute of all vertices; `Ok(None)` where the mesh does not have it.
    ///
    /// # Errors
    ///
    /// Those of reading and decoding the attribute.
    pub fn attribute(&self, semantic: &Semantic) -> Result<Option<Attribute>> {
        self.attributes.find(semantic).map(|(index, info)| self.loader.load(index, info)).transpose()
    }

    /// The corners of the triangles, three for each; every index is less than
    /// [`vertex_count`](Self::vertex_count).
    #[must_use]
    pub fn indices(&self) -> &Indices {
        &self.indices
    }

    /// The smallest box around the positions, computed from them; `Ok(None)` where no position is finite.
    ///
    /// # Errors
    ///
    /// Those of reading and decoding the positions.
    pub fn bounds(&self) -> Result<Option<Bounds>> {
        let positions = self.attributes.find(&Semantic::Position);
        positions.map_or(Ok(None), |(index, info)| self.loader.bounds(index, info))
    }

    /// Where this mesh breaks rules of its format.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

impl fmt::Debug for MeshView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, vertex_count, .. } = self;
        let attributes = self.attributes();
        let triangles = self.triangle_count();
        write!(f, "MeshView({address}, {vertex_count} vertices, {triangles} triangles, {attributes:?})")
    }
}
