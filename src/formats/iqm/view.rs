//! A mesh as a renderer sees it.

use std::collections::HashMap;
use std::ops::Range;

use super::model::{Mesh, Model, VertexArray, VertexArrayType};
use super::rules::{self, FILE};
use super::validate::index_bounds;
use crate::bytes::{Array, Source};
use crate::mesh::{Attribute, AttributeInfo, Indices, LoadAttribute, MeshView, Role, Semantic};
use crate::num::{Span, as_u64, as_usize, size_u64};
use crate::report::{Address, Finding, Result};

/// The vertex arrays of a mesh, of which each attribute is a part.
struct Arrays {
    source: Source,
    arrays: Vec<VertexArray>,
    vertices: Range<u32>,
}

impl LoadAttribute for Arrays {
    fn load(&self, index: usize, info: &AttributeInfo) -> Result<Attribute> {
        let array = self.arrays.get(index).map(|array| array.range.clone()).unwrap_or_default();
        let size = as_u64(info.format.size());
        let at = |vertex: u32| u64::from(vertex).saturating_mul(size);
        let range =
            array.part(at(self.vertices.start), at(self.vertices.end.saturating_sub(self.vertices.start)));
        let bytes = self.source.get(range, "vertex array")?;
        Ok(Attribute::new(info.semantic.clone(), info.format, bytes))
    }
}

impl Model {
    /// The mesh at an address `meshes[i]` or `meshes["name"]` as a renderer sees it: its own vertices and triangles.
    ///
    /// Reads and checks the mesh's triangles. Where they use vertices outside the mesh's range (a known fault of
    /// Blender's exporter), the view has all vertices of the file, and a finding.
    ///
    /// # Errors
    ///
    /// [`OutOfRange`](crate::ErrorKind::OutOfRange) where there is no such mesh, [`Malformed`](crate::ErrorKind::Malformed) where an
    /// index is not less than `num_vertexes`, and the errors of reading.
    pub fn mesh_view(&self, address: &Address) -> Result<MeshView> {
        let named = |name: &str| self.meshes().position(|mesh| mesh.name.to_string_lossy() == name);
        let found =
            address.index_in("meshes", named).and_then(|index| Some((index, self.meshes().nth(index)?)));
        let (index, mesh) = found.ok_or_else(|| {
            let count = self.meshes().len();
            let error = FILE.out_of_range("mesh").of(address.clone());
            error.expected(format!("meshes[i] with i below {count}, or a mesh's name"))
        })?;
        view(self, Address::field("meshes").index(as_u64(index)), &mesh)
    }
}

fn view(model: &Model, address: Address, mesh: &Mesh) -> Result<MeshView> {
    let layout = model.layout();
    let size = size_u64::<[u32; 3]>();
    let start = size.saturating_mul(mesh.first_triangle.into());
    let range = layout.sections.triangles.part(start, size.saturating_mul(mesh.num_triangles.into()));
    let triangles: Array<u32> = match range.is_empty() {
        true => Array::new(bytes::Bytes::new()),
        false => Array::new(layout.source.get(range.clone(), "iqmtriangle[]")?),
    };

    let num_vertexes = model.num_vertexes();
    let own = mesh.first_vertex..mesh.first_vertex.saturating_add(mesh.num_vertexes);
    let mut findings = Vec::new();
    let mut vertices = own.clone();
    if let Some((least, greatest)) = index_bounds(&triangles) {
        let place = FILE.of(address.clone()).at(range);
        if greatest >= num_vertexes {
            let error = place.malformed("iqmtriangle.vertex");
            return Err(error.expected(format!("less than {num_vertexes} (num_vertexes)")).found(greatest));
        }
        if least < own.start || greatest >= own.end {
            let detail = format!("vertexes {least}..={greatest}; the mesh has {}..{}", own.start, own.end);
            findings.push(Finding::new(rules::INDEX_OUTSIDE_MESH, place, detail));
            vertices = 0..num_vertexes;
        }
    }
    let indices = Indices::new(triangles, vertices.start);
    let vertex_count = as_usize(vertices.end.saturating_sub(vertices.start));
    let (infos, arrays) = arrays(model).into_iter().unzip();
    let arrays = Arrays { source: layout.source.clone(), arrays, vertices };
    let view = MeshView::new(address, Role::Geometry, vertex_count, indices, infos, arrays);
    Ok(view.with_name(mesh.name.to_string_lossy()).with_findings(findings))
}

/// The arrays that have a meaning, with the first of each: repeated texture coordinates, colours, joints and weights
/// are further sets.
fn arrays(model: &Model) -> Vec<(AttributeInfo, VertexArray)> {
    let mut sets: HashMap<VertexArrayType, u32> = HashMap::new();
    let mut arrays = Vec::new();
    for array in model.vertex_arrays() {
        let set = sets.entry(array.kind.clone()).or_insert(0);
        let repeatable = matches!(array.semantic(0), Semantic::TexCoord(_) | Semantic::Color(_))
            || matches!(array.semantic(0), Semantic::Joints(_) | Semantic::Weights(_));
        if (*set == 0 || repeatable) && !matches!(array.kind, VertexArrayType::Reserved(_)) {
            let info = AttributeInfo { semantic: array.semantic(*set), format: array.vertex_format() };
            arrays.push((info, array));
        }
        *set = set.saturating_add(1);
    }
    arrays
}
