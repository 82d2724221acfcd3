//! Views: a mesh with its own vertices and triangles, for renderers.

use std::collections::HashMap;
use std::sync::Arc;

use super::layout::Layout;
use super::model::{Mesh, Model, run};
use super::own_vertices::{OwnVertices, overlaps};
use super::rules::{self, FILE};
use super::tables::table;
use super::validate::{any_outside, index_bounds, outside_mesh};
use super::vertex_array::{VertexArray, VertexArrayType};
use crate::bytes::Array;
use crate::limits::{Limits, Meter};
use crate::mesh::{
    Attribute, AttributeInfo, AttributeList, Bounds, Indices, LoadAttribute, MeshCounts, MeshView,
    Role,
};
use crate::num::{Span, as_u64, as_usize, less_than, size_u64};
use crate::report::{Address, Finding, Result};

/// The vertex arrays of the file, and the mesh's vertices.
struct VertexArrays {
    layout: Arc<Layout>,
    /// The index of the vertex array of each attribute.
    arrays: Arc<[usize]>,
    vertices: OwnVertices,
    limits: Limits,
}

impl LoadAttribute for VertexArrays {
    fn limits(&self) -> Limits {
        self.limits
    }

    fn load(&self, index: usize, info: &AttributeInfo, meter: &Meter) -> Result<Attribute> {
        let absent = || FILE.out_of_range("attribute").found(&info.semantic);
        let array = self
            .arrays
            .get(index)
            .and_then(|index| self.layout.vertex_arrays.get(*index));
        let array = VertexArray::new(&self.layout, &array.ok_or_else(absent)?);
        let bytes =
            self.vertices
                .read(&self.layout.source, &array.range, info.format.size(), meter)?;
        Ok(Attribute::new(info.semantic.clone(), info.format, bytes))
    }
}

impl Model {
    /// A view of the mesh at an address `meshes[i]` or `meshes["name"]`.
    ///
    /// Reads and checks the triangles. The view has the mesh's own vertices: the range that the mesh declares, in place.
    /// If the mesh has triangles and another mesh declares some of the same vertices, or if triangles use vertices outside of the range (a known bug
    /// of Blender's exporter, reported as a finding), the view has copies of the vertices that its triangles use, in
    /// ascending order.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](crate::ErrorKind::OutOfRange) if the model has no such mesh,
    /// [`Malformed`](crate::ErrorKind::Malformed) if an index is not less than `num_vertexes`, and the errors of reading.
    pub fn mesh_view(&self, address: &Address) -> Result<MeshView> {
        let (index, mesh) = self.mesh_at(address)?;
        view(self, index, &mesh)
    }

    fn mesh_at(&self, address: &Address) -> Result<(usize, Mesh)> {
        let named = |name: &str| {
            self.meshes()
                .position(|mesh| mesh.name.to_string_lossy() == name)
        };
        let found = address
            .index_in("meshes", named)
            .and_then(|index| Some((index, self.mesh(index).ok()?)));
        found.ok_or_else(|| {
            let count = self.meshes().len();
            let error = FILE.out_of_range("mesh").of(address.clone());
            error.expected(format!("meshes[i] with i below {count}, or a mesh's name"))
        })
    }

    pub(crate) fn has_positions(&self) -> bool {
        self.positions_index().is_some()
    }

    fn positions_index(&self) -> Option<usize> {
        let find = || {
            self.vertex_arrays()
                .position(|array| array.kind == VertexArrayType::Position)
        };
        *self.layout().positions.get_or_init(find)
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
        Ok(self.mesh_at(address)?.1.counts(self.has_positions()))
    }

    pub(crate) fn mesh_bounds(&self, address: &Address) -> Result<Option<Bounds>> {
        let (_, mesh) = self.mesh_at(address)?;
        let Some(positions) = self.positions_index() else {
            return Ok(None);
        };
        let positions = self.vertex_array(positions)?;
        let vertices = run(mesh.first_vertex, mesh.num_vertexes);
        let own = positions.slice(as_usize(vertices.start)..as_usize(vertices.end));
        Ok(own.and_then(|own| own.bounds()))
    }
}

impl Mesh {
    /// The numbers of the table of meshes.
    pub(crate) fn counts(&self, has_positions: bool) -> MeshCounts {
        let (vertices, triangles) = (self.num_vertexes.into(), self.num_triangles.into());
        MeshCounts {
            vertices,
            triangles,
            has_positions,
        }
    }
}

fn view(model: &Model, index: usize, mesh: &Mesh) -> Result<MeshView> {
    let (layout, limits) = (model.layout(), model.options.limits);
    let address = Address::field("meshes").index(as_u64(index));
    let corners = [mesh.first_triangle, mesh.num_triangles]
        .map(|n| size_u64::<[u32; 3]>().saturating_mul(n.into()));
    let [first, length] = corners;
    let range = layout.sections.triangles.part(first, length);
    let triangles: Array<u32> = match range.is_empty() {
        true => Array::new(bytes::Bytes::new()),
        false => table(&layout.source, &range, "iqmtriangle[]")?,
    };

    let num_vertexes = layout.header.num_vertexes.get();
    let own = run(mesh.first_vertex, mesh.num_vertexes);
    let mut findings = Vec::new();
    let mut is_listed = !triangles.is_empty() && model.shares_vertices(index);
    if any_outside(&triangles, &own)
        && let Some((least, greatest)) = index_bounds(&triangles)
    {
        let place = FILE.of(address.clone()).at(range.clone());
        if greatest >= num_vertexes {
            let first = triangles
                .iter()
                .position(|index| index >= num_vertexes)
                .unwrap_or_default();
            let index = triangles.get(first).unwrap_or(greatest);
            let place = place.at(range.part(as_u64(first).saturating_mul(4), 4));
            let error = place.malformed(rules::INDEX_OUT_OF_RANGE.name);
            return Err(error
                .expected(format!("{} (num_vertexes)", less_than(num_vertexes)))
                .found(index));
        }
        let detail = outside_mesh(least, greatest, &own);
        findings.push(Finding::new(rules::INDEX_OUTSIDE_MESH, place, detail));
        is_listed = true;
    }
    let (vertices, indices) = if is_listed {
        let (vertices, indices) =
            OwnVertices::used_by(&triangles, &Meter::of_part(&limits, &range))?;
        (vertices, Indices::new(indices, 0))
    } else {
        let first = own.start;
        (OwnVertices::Range(own), Indices::new(triangles, first))
    };
    let vertex_count = vertices.len();
    let (infos, arrays) = layout.attributes.get_or_init(|| attributes(model)).clone();
    let arrays = VertexArrays {
        layout: Arc::clone(&model.layout),
        arrays,
        vertices,
        limits,
    };
    let view = MeshView::with_list(
        FILE,
        address,
        Role::Geometry,
        vertex_count,
        indices,
        infos,
        arrays,
    );
    let view = view
        .with_name(mesh.name.clone())
        .with_material(mesh.material.clone());
    Ok(view.with_findings(findings))
}

/// The attributes of views, and which vertex array each is.
///
/// The first of each type, and further sets of texture coordinates, colours, joints and weights.
fn attributes(model: &Model) -> (AttributeList, Arc<[usize]>) {
    let mut sets: HashMap<VertexArrayType, u32> = HashMap::new();
    let (mut infos, mut arrays) = (Vec::new(), Vec::new());
    for (index, array) in model.vertex_arrays().enumerate() {
        let set = sets.entry(array.kind.clone()).or_insert(0);
        use VertexArrayType::{BlendIndexes, BlendWeights, Color, TexCoord};
        let repeatable = matches!(array.kind, TexCoord | Color | BlendIndexes | BlendWeights);
        if (*set == 0 || repeatable) && !matches!(array.kind, VertexArrayType::Reserved(_)) {
            infos.push(AttributeInfo {
                semantic: array.semantic(*set),
                format: array.vertex_format(),
            });
            arrays.push(index);
        }
        *set = set.saturating_add(1);
    }
    (AttributeList::new(infos), arrays.into())
}
