use std::fmt;
use std::sync::{Arc, OnceLock};

use super::attribute::Attribute;
use super::attribute_list::{AttributeList, Attributes, LoadAttribute};
use super::bounds::Bounds;
use super::entry::Role;
use super::indices::{Indices, is_degenerate};
use super::materials::Materials;
use super::semantic::{AttributeInfo, Semantic};
use crate::bytes::{Array, Source, Text};
use crate::limits::Meter;
use crate::report::{Address, Error, Finding, Place, Result};

/// One mesh as a renderer sees it, whatever the format: one draw with a vertex buffer and an index buffer.
///
/// Nothing is merged, reordered, flipped or scaled: order and number of vertices and triangles are as in the file. Axes, winding
/// and units are as in the format (see its module). Indices are read and checked when a view is made, attributes on demand: see
/// [`attribute`](Self::attribute) for the cost. Cloning is cheap.
///
/// Other views of the same mesh, which can be combined:
///
/// * [`load`](Self::load) reads and decodes all attributes once.
/// * [`by_material`](Self::by_material) orders triangles by material.
/// * [`group`](Self::group) has the triangles of one material, with their own vertices.
/// * [`turned`](Self::turned) has another up axis, winding or texture origin.
///
/// # Examples
///
/// ```
/// use meshmap::{MeshFile, Semantic, VertexFormat, VertexLayout};
///
/// let file = MeshFile::open("tests/data/iqm/valid/skin_multi_anim.iqm")?;
/// let entry = file.meshes()?.next().expect("this model has meshes");
/// let mesh = file.mesh(&entry.address)?;
///
/// let layout = VertexLayout::new()
///     .with(Semantic::Position, VertexFormat::FLOAT32X3)
///     .with_default(Semantic::TexCoord(0), VertexFormat::FLOAT32X2, [0.0; 4]);
/// let (mut vertices, mut indices) = (Vec::new(), Vec::new());
/// mesh.write_interleaved(&layout, |_, bytes| vertices.extend_from_slice(bytes))?;
/// let format = mesh.indices().write_narrowest(|_, bytes| indices.extend_from_slice(bytes))?;
/// for group in mesh.groups() {
///     println!("material {}: triangles {:?}", group.material, group.triangles);
/// }
/// # assert_eq!((vertices.len(), format), (mesh.vertex_count() * 20, meshmap::IndexFormat::Uint16));
/// # Ok::<(), meshmap::Error>(())
/// ```
#[derive(Clone)]
pub struct MeshView {
    name: Name,
    material: Name,
    /// The image of the first texture coordinates, if it is not the material's name.
    texture: Name,
    /// The file, as errors name it.
    file: Place,
    address: Address,
    role: Role,
    vertex_count: usize,
    indices: Indices,
    materials: Materials,
    attributes: Attributes,
    findings: Arc<[Finding]>,
    /// The source, for errors: they name the path of the file if it is known.
    source: Option<Source>,
}

/// A name as it is stored, and as text once a caller asks for it.
///
/// Thousands of views of one file may have the same long name, for example the snapshots of a proxy: none copies it.
#[derive(Clone, Default)]
struct Name {
    stored: Text,
    text: OnceLock<Box<str>>,
}

impl Name {
    fn new(stored: Text) -> Self {
        Self {
            stored,
            text: OnceLock::new(),
        }
    }

    fn as_str(&self) -> &str {
        self.text
            .get_or_init(|| self.stored.to_string_lossy().into())
    }
}

impl MeshView {
    /// A view without a name, materials and findings, of indices that have been checked.
    pub(crate) fn new(
        file: Place,
        address: Address,
        role: Role,
        vertex_count: usize,
        indices: Indices,
        attributes: Vec<AttributeInfo>,
        loader: impl LoadAttribute + 'static,
    ) -> Self {
        let attributes = AttributeList::new(attributes);
        Self::with_list(
            file,
            address,
            role,
            vertex_count,
            indices,
            attributes,
            loader,
        )
    }

    /// Like `new`, with a list that several views share.
    pub(crate) fn with_list(
        file: Place,
        address: Address,
        role: Role,
        vertex_count: usize,
        indices: Indices,
        attributes: AttributeList,
        loader: impl LoadAttribute + 'static,
    ) -> Self {
        Self {
            name: Name::default(),
            material: Name::default(),
            texture: Name::default(),
            file,
            address,
            role,
            vertex_count,
            indices,
            materials: Materials::One(0),
            attributes: Attributes::new(attributes, loader),
            findings: Arc::new([]),
            source: None,
        }
    }

    /// Sets the material of all triangles, by its name.
    pub(crate) fn with_material(self, name: Text) -> Self {
        Self {
            material: Name::new(name),
            ..self
        }
    }

    /// Sets the image of the first texture coordinates, by its name.
    pub(crate) fn with_texture(self, name: Text) -> Self {
        Self {
            texture: Name::new(name),
            ..self
        }
    }

    /// Sets the material of all triangles, by its number.
    pub(crate) fn with_material_id(self, material: u32) -> Self {
        Self {
            materials: Materials::One(material),
            ..self
        }
    }

    /// Sets the material of each triangle.
    pub(crate) fn with_material_ids(self, materials: Array<u32>) -> Self {
        Self {
            materials: Materials::each(materials),
            ..self
        }
    }

    pub(crate) fn with_name(self, name: Text) -> Self {
        Self {
            name: Name::new(name),
            ..self
        }
    }

    pub(crate) fn with_source(self, source: Source) -> Self {
        Self {
            source: Some(source),
            ..self
        }
    }

    /// Sets the triangles, without a change to their number.
    pub(super) fn with_indices(self, indices: Indices) -> Self {
        Self { indices, ..self }
    }

    /// Sets the vertices: their number and their attributes.
    pub(super) fn with_vertices(self, vertex_count: usize, attributes: Attributes) -> Self {
        Self {
            vertex_count,
            attributes,
            ..self
        }
    }

    /// The attributes, and their origin.
    pub(super) fn stored(&self) -> &Attributes {
        &self.attributes
    }

    pub(super) fn materials(&self) -> &Materials {
        &self.materials
    }

    pub(crate) fn with_findings(self, findings: Vec<Finding>) -> Self {
        Self {
            findings: findings.into(),
            ..self
        }
    }

    /// The mesh's name, with U+FFFD in place of invalid UTF-8; empty if the mesh has no name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// The mesh's address, as accepted by [`MeshFile::mesh`](crate::MeshFile::mesh).
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The mesh, as errors name it.
    pub(super) fn place(&self) -> Place {
        self.file.clone().of(self.address.clone())
    }

    /// The name of the mesh's material, with U+FFFD in place of invalid UTF-8; `None` if the file stores no name. In IQM files this
    /// is often a texture path.
    #[must_use]
    pub fn material(&self) -> Option<&str> {
        Some(self.material.as_str()).filter(|name| !name.is_empty())
    }

    /// The name of the image for the first texture coordinates, with U+FFFD in place of invalid UTF-8: the file of an OpenCTM UV map,
    /// or the material of an IQM mesh, which is often the path of an image, with or without ending. Pass it to
    /// [`texture_paths`](crate::texture_paths); `None` if the file stores no name.
    #[must_use]
    pub fn texture(&self) -> Option<&str> {
        Some(self.texture.as_str())
            .filter(|name| !name.is_empty())
            .or(self.material())
    }

    /// The purpose of the mesh.
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

    /// Returns `true` if the vertices are drawn as points: the mesh has no triangles, or most vertices are in no triangle and all
    /// triangles have equal corners. Programs that save point clouds in a format of triangles write one such triangle.
    #[must_use]
    pub fn is_point_cloud(&self) -> bool {
        if self.indices.is_empty() {
            return true;
        }
        let is_sparse = self.indices.len() < self.vertex_count;
        is_sparse && self.indices.triangles().all(is_degenerate)
    }

    /// Returns `true` if there is nothing to draw: no triangles, or no positions.
    ///
    /// A [point cloud](Self::is_point_cloud) without triangles counts as empty. Reads nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty() || !self.has(&Semantic::Position)
    }

    /// The attributes that the mesh stores, in the order of the file.
    #[must_use]
    pub fn attributes(&self) -> &[AttributeInfo] {
        self.attributes.list().as_slice()
    }

    /// One attribute of all vertices; `Ok(None)` if the mesh does not have it.
    ///
    /// The cost of a call depends on the format:
    ///
    /// | format | file in memory ([`Source::map`], [`Source::from_bytes`]) | file read on demand ([`Source::open`], [`Source::ranged`]) |
    /// |---|---|---|
    /// | CGeo | free: decoded when the view was made | free |
    /// | IQM | free: a view of the file | reads the vertices of the mesh |
    /// | IQM, vertices shared with another mesh | copies the vertices of the mesh | reads and copies them |
    /// | OpenCTM, RAW | free: a view of the file | reads the array |
    /// | OpenCTM, MG1 and MG2 | the first call decodes, later calls are free | the first call reads and decodes, later calls are free |
    /// | Second Life mesh | free, except joints and weights: each call decodes them | the same |
    /// | TMF | each call decodes | each call reads and decodes |
    ///
    /// An OpenCTM file caches decoded arrays up to [`max_total_bytes`](crate::Limits::max_total_bytes), and decodes the
    /// rest in each call. A [group](Self::group) also copies its vertices in each call, and a [turned](Self::turned) mesh
    /// converts what differs. After [`load`](Self::load), calls are free for every format.
    ///
    /// # Errors
    ///
    /// Returns an error if the attribute cannot be read or decoded.
    pub fn attribute(&self, semantic: &Semantic) -> Result<Option<Attribute>> {
        self.attribute_within(semantic, &self.meter())
    }

    /// Returns `true` if the mesh has an attribute.
    #[must_use]
    pub fn has(&self, semantic: &Semantic) -> bool {
        self.attributes.list().find(semantic).is_some()
    }

    /// Adds the format and the path of the file to an error of this mesh, if they are known.
    pub(super) fn locate_in_file(&self, error: Error) -> Error {
        match &self.source {
            Some(source) => source.locate(error),
            None => error,
        }
    }

    /// The meter of a call that loads attributes.
    pub(super) fn meter(&self) -> Meter<'static> {
        Meter::of_call(&self.attributes.limits())
    }

    /// Checks that the limits leave this memory. The charge ends at once.
    pub(super) fn check_memory(&self, bytes: u64, what: &'static str) -> Result<()> {
        let charge = self.meter().take(bytes, what).map(drop);
        charge.map_err(|error| self.place().locate(error))
    }

    pub(super) fn attribute_within(
        &self,
        semantic: &Semantic,
        meter: &Meter,
    ) -> Result<Option<Attribute>> {
        let Some(index) = self.attributes.list().find(semantic) else {
            return Ok(None);
        };
        let attribute = self
            .attributes
            .load(index, meter)
            .map_err(|error| self.locate_in_file(error))?;
        Ok(Some(attribute.of_mesh(self.place())))
    }

    /// The corners of the triangles, three for each; every index is less than
    /// [`vertex_count`](Self::vertex_count).
    #[must_use]
    pub fn indices(&self) -> &Indices {
        &self.indices
    }

    /// The material ID of each triangle, as stored in the file; `None` if the file stores no material IDs.
    #[must_use]
    pub fn material_ids(&self) -> Option<&Array<u32>> {
        self.materials.of_triangles()
    }

    /// The smallest box around the positions, computed from them; `Ok(None)` if no position is finite.
    ///
    /// # Errors
    ///
    /// Returns an error if the positions cannot be read or decoded.
    pub fn bounds(&self) -> Result<Option<Bounds>> {
        let Some(positions) = self.attributes.list().find(&Semantic::Position) else {
            return Ok(None);
        };
        self.attributes
            .bounds(positions, &self.meter())
            .map_err(|error| self.locate_in_file(error))
    }

    /// The findings of this mesh: the rules of its format that it breaks.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

impl fmt::Debug for MeshView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            address,
            vertex_count,
            ..
        } = self;
        let attributes = self.attributes();
        let triangles = self.triangle_count();
        write!(
            f,
            "MeshView({address}, {vertex_count} vertices, {triangles} triangles, {attributes:?})"
        )
    }
}
