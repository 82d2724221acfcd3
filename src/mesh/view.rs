use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::attribute::Attribute;
use super::bounds::Bounds;
use super::entry::Role;
use super::indices::Indices;
use super::semantic::{AttributeInfo, Semantic};
use crate::bytes::{Array, Source};
use crate::limits::Budget;
use crate::num::as_u64;
use crate::report::{Address, Error, Finding, Place, Result};

/// One mesh as a renderer sees it, whatever the format: one draw with a vertex buffer and an index buffer.
///
/// Nothing is merged, reordered, flipped or scaled: order and number of vertices and triangles are the file's. Axes,
/// winding and units are those of the format (see its module). Indices are read and checked when a view is made, an
/// attribute on demand. Cloning is cheap.
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
    name: String,
    material: String,
    /// The file, as errors name it.
    file: Place,
    address: Address,
    role: Role,
    vertex_count: usize,
    indices: Indices,
    materials: Materials,
    attributes: AttributeList,
    loader: Arc<dyn LoadAttribute>,
    findings: Arc<[Finding]>,
    /// Where the file's path is known, errors name it.
    source: Option<Source>,
}

/// The materials of triangles, as numbers.
#[derive(Clone)]
enum Materials {
    /// All triangles have one.
    One(u32),
    /// Each has its own.
    Each(Array<u32>),
}

/// What a [`MeshView`] gets its attributes from.
pub(crate) trait LoadAttribute: Send + Sync {
    /// The budget of a call that loads attributes.
    fn budget(&self) -> Budget;

    /// The attribute at an index of the list that the view was made with.
    fn load(&self, index: usize, info: &AttributeInfo, budget: &Budget) -> Result<Attribute>;

    /// The box around the attribute at an index.
    fn bounds(&self, index: usize, info: &AttributeInfo, budget: &Budget) -> Result<Option<Bounds>> {
        Ok(self.load(index, info, budget)?.bounds())
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
        Self::with_list(file, address, role, vertex_count, indices, attributes, loader)
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
            name: String::new(),
            material: String::new(),
            file,
            address,
            role,
            vertex_count,
            indices,
            materials: Materials::One(0),
            attributes,
            loader: Arc::new(loader),
            findings: Arc::new([]),
            source: None,
        }
    }

    /// Sets the material of all triangles, by its name.
    pub(crate) fn with_material(self, name: impl Into<String>) -> Self {
        Self { material: name.into(), ..self }
    }

    /// Sets the material of all triangles, by its number.
    pub(crate) fn with_material_id(self, material: u32) -> Self {
        Self { materials: Materials::One(material), ..self }
    }

    /// Sets the material of each triangle.
    pub(crate) fn with_material_ids(self, materials: Array<u32>) -> Self {
        Self { materials: Materials::Each(materials), ..self }
    }

    pub(crate) fn with_name(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    pub(crate) fn with_source(self, source: Source) -> Self {
        Self { source: Some(source), ..self }
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

    /// The mesh, as errors name it.
    pub(super) fn place(&self) -> Place {
        self.file.clone().of(self.address.clone())
    }

    /// The name of the mesh's material, with U+FFFD in place of what is not UTF-8; `None` where the file has none. Of
    /// IQM, where it is often the path of a texture.
    #[must_use]
    pub fn material(&self) -> Option<&str> {
        Some(self.material.as_str()).filter(|name| !name.is_empty())
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
        self.attribute_within(semantic, &self.budget())
    }

    /// Whether the mesh has an attribute.
    #[must_use]
    pub fn has(&self, semantic: &Semantic) -> bool {
        self.attributes.find(semantic).is_some()
    }

    /// An error of this mesh, with the path of its file where that is known.
    pub(super) fn tell(&self, error: Error) -> Error {
        match &self.source {
            Some(source) => source.tell(error),
            None => error,
        }
    }

    /// The budget of a call that loads attributes.
    pub(super) fn budget(&self) -> Budget {
        self.loader.budget()
    }

    pub(super) fn attribute_within(&self, semantic: &Semantic, budget: &Budget) -> Result<Option<Attribute>> {
        let Some((index, info)) = self.attributes.find(semantic) else { return Ok(None) };
        let attribute = self.loader.load(index, info, budget).map_err(|error| self.tell(error))?;
        Ok(Some(attribute.of_mesh(self.place())))
    }

    /// The corners of the triangles, three for each; every index is less than
    /// [`vertex_count`](Self::vertex_count).
    #[must_use]
    pub fn indices(&self) -> &Indices {
        &self.indices
    }

    /// The material of each triangle, as a number of the file's; `None` where it has none.
    #[must_use]
    pub fn material_ids(&self) -> Option<&Array<u32>> {
        match &self.materials {
            Materials::One(_) => None,
            Materials::Each(materials) => Some(materials),
        }
    }

    /// The runs of triangles of one material, in the order of the file: each a draw call.
    ///
    /// Where triangles of several materials alternate, there are many runs: [`by_material`](Self::by_material) has one for
    /// each material. A mesh without triangles has none.
    pub fn groups(&self) -> impl Iterator<Item = MaterialGroup> + '_ {
        let mut start = 0_usize;
        std::iter::from_fn(move || {
            let all = start..self.triangle_count();
            if all.is_empty() {
                return None;
            }
            let (material, end) = match &self.materials {
                Materials::One(material) => (*material, all.end),
                Materials::Each(materials) => {
                    let rest = materials.as_slice().get(start..).unwrap_or_default();
                    let first = rest.first()?;
                    let length = rest.iter().take_while(|material| *material == first).count();
                    (first.get(), start.saturating_add(length).min(all.end))
                }
            };
            let group = MaterialGroup::new(material, start..end, self.indices.corners(start..end));
            start = end;
            Some(group)
        })
    }

    /// This mesh with its triangles ordered by material, so that [`groups`](Self::groups) has one for each.
    ///
    /// Materials ascend; triangles of one stay in their order. Vertices stay as they are.
    ///
    /// # Errors
    ///
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) where there is no memory for the new indices.
    pub fn by_material(&self) -> Result<Self> {
        let Materials::Each(materials) = &self.materials else { return Ok(self.clone()) };
        if materials.as_slice().is_sorted_by_key(|material| material.get()) {
            return Ok(self.clone());
        }
        // Of each triangle, its material and its corners: as they are sorted, with half of them beside, and as arrays.
        let memory = as_u64(self.triangle_count()).saturating_mul(16 + 8 + 16);
        let spent = self.budget().spend_all(memory, "triangles by material");
        spent.map_err(|error| self.place().locate(error))?;
        let mut triangles: Vec<(u32, [u32; 3])> = materials.iter().zip(self.indices.triangles()).collect();
        triangles.sort_by_key(|(material, _)| *material);
        let (materials, corners): (Vec<u32>, Vec<[u32; 3]>) = triangles.into_iter().unzip();
        let indices = Indices::new(Array::from_vec(corners.into_flattened()), 0);
        let view = Self { indices, ..self.clone() };
        Ok(view.with_material_ids(Array::from_vec(materials)))
    }

    /// The smallest box around the positions, computed from them; `Ok(None)` where no position is finite.
    ///
    /// # Errors
    ///
    /// Those of reading and decoding the positions.
    pub fn bounds(&self) -> Result<Option<Bounds>> {
        let positions = self.attributes.find(&Semantic::Position);
        positions.map_or(Ok(None), |(index, info)| {
            self.loader.bounds(index, info, &self.budget()).map_err(|error| self.tell(error))
        })
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

/// The triangles of one material: one draw call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MaterialGroup {
    /// The material: of CGeo, the number that the file has for each triangle; of a Second Life mesh, the number of the
    /// face, which is that of its texture; 0 otherwise.
    pub material: u32,
    /// The triangles, in the order of the mesh or remap; three indices each.
    pub triangles: Range<usize>,
    /// A range of vertices that contains all that the triangles use.
    pub vertices: Range<u32>,
}

impl MaterialGroup {
    /// The indices of the triangles, as a draw call counts them: three for each.
    #[must_use]
    pub fn indices(&self) -> Range<usize> {
        self.triangles.start.saturating_mul(3)..self.triangles.end.saturating_mul(3)
    }

    /// A group whose triangles have these corners.
    pub(super) fn new(material: u32, triangles: Range<usize>, corners: impl Iterator<Item = u32>) -> Self {
        let bounds = corners.fold(None, |bounds: Option<(u32, u32)>, corner| {
            Some(bounds.map_or((corner, corner), |(least, most)| (least.min(corner), most.max(corner))))
        });
        let vertices = bounds.map_or(0..0, |(least, most)| least..most.saturating_add(1));
        Self { material, triangles, vertices }
    }
}

/// What a mesh stores for each vertex, in the order of the file, each found by its meaning. Cloning is cheap.
#[derive(Clone, Debug)]
pub(crate) struct AttributeList {
    infos: Arc<[AttributeInfo]>,
    /// The places of all, by meaning; of equal ones, as they stand.
    sorted: Arc<[usize]>,
}

impl AttributeList {
    pub(crate) fn new(infos: Vec<AttributeInfo>) -> Self {
        let infos: Arc<[AttributeInfo]> = infos.into();
        let mut sorted: Vec<usize> = (0..infos.len()).collect();
        sorted.sort_by(|a, b| meaning(&infos, *a).cmp(&meaning(&infos, *b)));
        Self { infos, sorted: sorted.into() }
    }

    pub(crate) fn as_slice(&self) -> &[AttributeInfo] {
        &self.infos
    }

    /// The first attribute with this meaning, and its place.
    pub(crate) fn find(&self, semantic: &Semantic) -> Option<(usize, &AttributeInfo)> {
        let first = self.sorted.partition_point(|place| meaning(&self.infos, *place) < Some(semantic));
        let place = *self.sorted.get(first)?;
        self.infos.get(place).filter(|info| info.semantic == *semantic).map(|info| (place, info))
    }
}

fn meaning(infos: &[AttributeInfo], place: usize) -> Option<&Semantic> {
    infos.get(place).map(|info| &info.semantic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::VertexFormat;

    #[test]
    fn first_of_equal_meanings_is_found() {
        let names = ["b", "a", "b", "", "a"].map(|name| Semantic::Custom(name.to_owned()));
        let info =
            |semantic: &Semantic| AttributeInfo { semantic: semantic.clone(), format: VertexFormat::FLOAT32 };
        let list = AttributeList::new(names.iter().chain([&Semantic::Position]).map(info).collect());
        let place = |semantic: &Semantic| list.find(semantic).map(|(place, _)| place);
        assert_eq!(names.each_ref().map(place), [Some(0), Some(1), Some(0), Some(3), Some(1)]);
        assert_eq!((place(&Semantic::Position), place(&Semantic::Normal)), (Some(5), None));
    }
}
