//! Views: a mesh with its own vertices and triangles, for renderers.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::layout::Layout;
use super::model::{Mesh, Model, run};
use super::rules::{self, FILE};
use super::tables::table;
use super::validate::{index_bounds, outside_mesh};
use super::vertex_array::{VertexArray, VertexArrayType};
use crate::bytes::Array;
use crate::limits::{Budget, Limits};
use crate::mesh::{Attribute, AttributeInfo, AttributeList, Indices, LoadAttribute, MeshView, Role};
use crate::num::{Span, as_u64, as_usize, size_u64};
use crate::report::{Address, Finding, Result};

/// The vertex arrays of the file, and the range of the mesh's vertices.
struct Arrays {
    layout: Arc<Layout>,
    /// Of each attribute, the index of its array.
    arrays: Arc<[usize]>,
    vertices: Range<u32>,
    limits: Limits,
}

impl LoadAttribute for Arrays {
    fn budget(&self) -> Budget {
        Budget::new(&self.limits)
    }

    fn load(&self, index: usize, info: &AttributeInfo, _: &Budget) -> Result<Attribute> {
        let absent = || FILE.out_of_range("attribute").found(&info.semantic);
        let array = self.arrays.get(index).and_then(|index| self.layout.vertex_arrays.get(*index));
        let array = VertexArray::new(&self.layout, &array.ok_or_else(absent)?);
        let [first, end] = [self.vertices.start, self.vertices.end]
            .map(|vertex| u64::from(vertex).saturating_mul(as_u64(info.format.size())));
        let range = array.range.part(first, end.saturating_sub(first));
        let bytes = self.layout.source.get(range, "vertex array")?;
        Ok(Attribute::new(info.semantic.clone(), info.format, bytes))
    }
}

impl Model {
    /// A view of the mesh at an address `meshes[i]` or `meshes["name"]`.
    ///
    /// It has the mesh's own vertices and triangles; reads and checks the triangles. Where they use vertices outside
    /// the mesh's range (a known bug of Blender's exporter), the view has all vertices of the file, and a finding.
    ///
    /// # Errors
    ///
    /// [`OutOfRange`](crate::ErrorKind::OutOfRange) where there is no such mesh,
    /// [`Malformed`](crate::ErrorKind::Malformed) where an index is not less than `num_vertexes`, and the errors of
    /// reading.
    pub fn mesh_view(&self, address: &Address) -> Result<MeshView> {
        let named = |name: &str| self.meshes().position(|mesh| mesh.name.to_string_lossy() == name);
        let found = address.index_in("meshes", named).and_then(|index| Some((index, self.mesh(index)?)));
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
    let corners =
        [mesh.first_triangle, mesh.num_triangles].map(|n| size_u64::<[u32; 3]>().saturating_mul(n.into()));
    let [first, length] = corners;
    let range = layout.sections.triangles.part(first, length);
    let triangles: Array<u32> = match range.is_empty() {
        true => Array::new(bytes::Bytes::new()),
        false => table(&layout.source, &range, "iqmtriangle[]")?,
    };

    let num_vertexes = layout.header.num_vertexes.get();
    let own = run(mesh.first_vertex, mesh.num_vertexes);
    let mut findings = Vec::new();
    let mut vertices = own.clone();
    if let Some((least, greatest)) = index_bounds(&triangles) {
        let place = FILE.of(address.clone()).at(range.clone());
        if greatest >= num_vertexes {
            let first = triangles.iter().position(|index| index >= num_vertexes).unwrap_or_default();
            let index = triangles.get(first).unwrap_or(greatest);
            let place = place.at(range.part(as_u64(first).saturating_mul(4), 4));
            let error = place.malformed(rules::INDEX_OUT_OF_RANGE.name);
            return Err(error.expected(format!("less than {num_vertexes} (num_vertexes)")).found(index));
        }
        if least < own.start || greatest >= own.end {
            let detail = outside_mesh(least, greatest, &own);
            findings.push(Finding::new(rules::INDEX_OUTSIDE_MESH, place, detail));
            vertices = 0..num_vertexes;
        }
    }
    let indices = Indices::new(triangles, vertices.start);
    let vertex_count = as_usize(vertices.end.saturating_sub(vertices.start));
    let (infos, arrays) = layout.attributes.get_or_init(|| attributes(model)).clone();
    let arrays = Arrays { layout: Arc::clone(&model.layout), arrays, vertices, limits: model.options.limits };
    let view = MeshView::with_list(FILE, address, Role::Geometry, vertex_count, indices, infos, arrays);
    let view = view.with_name(mesh.name.to_string_lossy()).with_material(mesh.material.to_string_lossy());
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
            infos.push(AttributeInfo { semantic: array.semantic(*set), format: array.vertex_format() });
            arrays.push(index);
        }
        *set = set.saturating_add(1);
    }
    (AttributeList::new(infos), arrays.into())
}
