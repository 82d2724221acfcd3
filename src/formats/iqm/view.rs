//! Views: a mesh with its own vertices and triangles, for renderers.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::layout::{Layout, ViewAttributes};
use super::model::{Mesh, Model, range_of};
use super::own_vertices::{OwnVertices, overlaps};
use super::rules::{self, FILE};
use super::tables::table;
use super::validate::{IndexBounds, any_outside};
use super::vertex_array::{VertexArray, VertexArrayType};
use crate::bytes::Array;
use crate::limits::{Limits, Meter};
use crate::mesh::{
    Attribute, AttributeInfo, AttributeList, Bounds, Indices, LoadAttribute, MeshCounts, MeshView,
    Role, UsedVertices,
};
use crate::num::{Span, as_u64, as_usize, less_than, size_u64};
use crate::report::{Address, Error, Finding, Place, Result};

/// The vertex arrays of the file, and the mesh's vertices.
struct VertexArrays {
    layout: Arc<Layout>,
    /// For each attribute, the index of its vertex array in the table of the file.
    arrays: Arc<[usize]>,
    vertices: OwnVertices,
    limits: Limits,
}

impl LoadAttribute for VertexArrays {
    fn limits(&self) -> Limits {
        self.limits
    }

    fn load(&self, index: usize, info: &AttributeInfo, meter: &Meter) -> Result<Attribute> {
        let raw = match self.arrays.get(index) {
            Some(array) => self.layout.vertex_arrays.get(*array),
            None => None,
        };
        let Some(raw) = raw else {
            return Err(FILE.out_of_range("attribute").found(&info.semantic));
        };
        let array = VertexArray::new(&self.layout, &raw);
        let size = info.format.size();
        let bytes = self
            .vertices
            .read(&self.layout.source, &array.range, size, meter)?;
        Ok(Attribute::new(info.semantic.clone(), info.format, bytes))
    }
}

impl Model {
    /// A view of the mesh at an address `meshes[i]` or `meshes["name"]`.
    ///
    /// Reads and checks the triangles. The view has the mesh's own vertices: the range that the mesh declares, in place.
    /// If the mesh has triangles and another mesh declares some of the same vertices, or if triangles use vertices outside
    /// of the range (a known bug of Blender's exporter, reported as a finding), the view has copies of the vertices that
    /// its triangles use, in ascending order.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](crate::ErrorKind::OutOfRange) if the model has no such mesh,
    /// [`Malformed`](crate::ErrorKind::Malformed) if an index is not less than `num_vertexes`, and the errors of reading.
    pub fn mesh_view(&self, address: &Address) -> Result<MeshView> {
        view(self, self.mesh_index(address)?)
    }

    /// The index of the mesh at an address.
    fn mesh_index(&self, address: &Address) -> Result<usize> {
        let count = self.mesh_count();
        match address.index_in("meshes", |name| self.mesh_index_by_name(name)) {
            Some(index) if index < count => Ok(index),
            _ => {
                let error = FILE.out_of_range("mesh").of(address.clone());
                Err(error.expected(format!("meshes[i] with i below {count}, or a mesh's name")))
            }
        }
    }

    fn mesh_index_by_name(&self, name: &str) -> Option<usize> {
        self.meshes()
            .position(|mesh| mesh.name.to_string_lossy() == name)
    }

    pub(crate) fn has_positions(&self) -> bool {
        self.positions_index().is_some()
    }

    /// The index of the vertex array of positions.
    fn positions_index(&self) -> Option<usize> {
        *self.layout().positions_index.get_or_init(|| {
            self.vertex_arrays()
                .position(|array| array.kind == VertexArrayType::Position)
        })
    }

    /// `true` for each mesh that declares vertices of another mesh.
    fn overlaps(&self) -> &[bool] {
        self.layout()
            .overlaps
            .get_or_init(|| overlaps(&self.layout().meshes))
    }

    pub(super) fn shares_vertices(&self, index: usize) -> bool {
        self.overlaps().get(index).copied().unwrap_or_default()
    }

    pub(crate) fn mesh_counts(&self, address: &Address) -> Result<MeshCounts> {
        let mesh = self.mesh(self.mesh_index(address)?)?;
        Ok(mesh.counts(self.has_positions()))
    }

    pub(crate) fn mesh_bounds(&self, address: &Address) -> Result<Option<Bounds>> {
        let mesh = self.mesh(self.mesh_index(address)?)?;
        let Some(array) = self.positions_index() else {
            return Ok(None);
        };
        let positions = self.vertex_array(array)?;
        let vertices = mesh.declared_vertices();
        match positions.slice(as_usize(vertices.start)..as_usize(vertices.end)) {
            Some(own) => Ok(own.bounds()),
            None => Ok(None),
        }
    }
}

impl Mesh {
    /// The vertices that the mesh declares.
    fn declared_vertices(&self) -> Range<u32> {
        range_of(self.first_vertex, self.num_vertexes)
    }

    /// The numbers of the table of meshes.
    pub(crate) fn counts(&self, has_positions: bool) -> MeshCounts {
        MeshCounts {
            vertices: self.num_vertexes.into(),
            triangles: self.num_triangles.into(),
            has_positions,
        }
    }
}

fn view(model: &Model, index: usize) -> Result<MeshView> {
    let mesh = model.mesh(index)?;
    let layout = model.layout();
    let limits = model.options.limits;
    let address = Address::field("meshes").index(as_u64(index));
    let triangle_range = triangle_bytes(layout, &mesh);
    let corners: Array<u32> = if triangle_range.is_empty() {
        Array::new(bytes::Bytes::new())
    } else {
        table(&layout.source, &triangle_range, "iqmtriangle[]")?
    };

    let declared = mesh.declared_vertices();
    let mut findings = Vec::new();
    let uses_others = any_outside(&corners, &declared);
    if uses_others && let Some(bounds) = IndexBounds::of(&corners) {
        let place = FILE.of(address.clone()).at(triangle_range.clone());
        if bounds.max >= layout.header.num_vertexes.get() {
            return Err(index_out_of_range(layout, &corners, place, &triangle_range));
        }
        let detail = bounds.outside_mesh(&declared);
        findings.push(Finding::new(rules::INDEX_OUTSIDE_MESH, place, detail));
    }

    let needs_copies = uses_others || (!corners.is_empty() && model.shares_vertices(index));
    let vertices;
    let indices;
    if needs_copies {
        let stored = as_u64(corners.as_bytes().len());
        let meter = Meter::of_part(&limits, &triangle_range);
        let used = UsedVertices::of(corners.iter(), corners.len_u64(), stored, &meter)?;
        vertices = OwnVertices::List(used.vertices.into());
        indices = Indices::new(Array::from_vec(used.indices), 0);
    } else {
        indices = Indices::new(corners, declared.start);
        vertices = OwnVertices::Range(declared);
    }
    let attributes = layout.attributes.get_or_init(|| attributes(model));
    let view = MeshView::with_list(
        FILE,
        address,
        Role::Geometry,
        vertices.len(),
        indices,
        attributes.list.clone(),
        VertexArrays {
            layout: Arc::clone(&model.layout),
            arrays: Arc::clone(&attributes.arrays),
            vertices,
            limits,
        },
    );
    Ok(view
        .with_name(mesh.name)
        .with_material(mesh.material)
        .with_findings(findings))
}

/// The bytes of a mesh's triangles.
fn triangle_bytes(layout: &Layout, mesh: &Mesh) -> Range<u64> {
    let size = size_u64::<[u32; 3]>();
    let start = size.saturating_mul(mesh.first_triangle.into());
    let length = size.saturating_mul(mesh.num_triangles.into());
    layout.sections.triangles.part(start, length)
}

/// The error of the first index that is not less than `num_vertexes`. `range` are the bytes of the
/// triangles, whose corners are `corners`.
fn index_out_of_range(
    layout: &Layout,
    corners: &Array<u32>,
    place: Place,
    range: &Range<u64>,
) -> Error {
    let num_vertexes = layout.header.num_vertexes.get();
    let corner = corners
        .iter()
        .position(|index| index >= num_vertexes)
        .unwrap_or_default();
    let index = corners.get(corner).unwrap_or(num_vertexes);
    let offset = as_u64(corner).saturating_mul(size_u64::<u32>());
    let place = place.at(range.part(offset, size_u64::<u32>()));
    let error = place.malformed(rules::INDEX_OUT_OF_RANGE.name);
    let expected = format!("{} (num_vertexes)", less_than(num_vertexes));
    error.expected(expected).found(index)
}

/// The attributes of views: the first vertex array of each type, and further sets of texture
/// coordinates, colours, joints and weights. Reserved types have none.
fn attributes(model: &Model) -> ViewAttributes {
    use VertexArrayType::{BlendIndexes, BlendWeights, Color, TexCoord};
    let mut sets: HashMap<VertexArrayType, u32> = HashMap::new();
    let mut infos = Vec::new();
    let mut arrays = Vec::new();
    for (index, array) in model.vertex_arrays().enumerate() {
        let set = sets.entry(array.kind.clone()).or_insert(0);
        let is_repeatable = matches!(array.kind, TexCoord | Color | BlendIndexes | BlendWeights);
        let is_reserved = matches!(array.kind, VertexArrayType::Reserved(_));
        let is_first = *set == 0;
        if (is_first || is_repeatable) && !is_reserved {
            infos.push(AttributeInfo {
                semantic: array.semantic(*set),
                format: array.vertex_format(),
            });
            arrays.push(index);
        }
        *set = set.saturating_add(1);
    }
    ViewAttributes {
        list: AttributeList::new(infos),
        arrays: arrays.into(),
    }
}
