//! A mesh as a renderer sees it.

use std::collections::HashMap;
use std::ops::Range;

use super::finding;
use super::model::{Mesh, Model, VertexArray, VertexArrayType};
use super::validate::index_bounds;
use crate::bytes::{Array, Source};
use crate::format::Format;
use crate::mesh::sealed::Sealed;
use crate::mesh::{Attribute, AttributeInfo, Indices, MeshView, Semantic};
use crate::num::as_u64;
use crate::report::{Address, Error, ErrorKind, Finding, Result};

/// A mesh of a [`Model`] with its own vertices and triangles; see [`Model::mesh_view`].
#[derive(Clone, Debug)]
pub struct View {
    mesh: Mesh,
    source: Source,
    arrays: Vec<(Semantic, VertexArray)>,
    vertices: Range<usize>,
    indices: Indices,
    findings: Vec<Finding>,
}

impl View {
    pub(crate) fn new(model: &Model, index: usize, mesh: Mesh) -> Result<Self> {
        let layout = model.layout();
        let address = Address::field("meshes").index(as_u64(index));
        let size = as_u64(size_of::<[u32; 3]>());
        let start =
            layout.sections.triangles.start.saturating_add(size.saturating_mul(mesh.first_triangle.into()));
        let range = start..start.saturating_add(size.saturating_mul(mesh.num_triangles.into()));
        let triangles: Array<u32> = match range.is_empty() {
            true => Array::new(bytes::Bytes::new()),
            false => Array::new(layout.source.get(range.clone(), "iqmtriangle[]")?),
        };

        let num_vertexes = layout.header.num_vertexes.get();
        let own = mesh.first_vertex..mesh.first_vertex.saturating_add(mesh.num_vertexes);
        let mut findings = Vec::new();
        let mut vertices = own.clone();
        if let Some((least, greatest)) = index_bounds(&triangles) {
            if greatest >= num_vertexes {
                let error =
                    Error::new(ErrorKind::Malformed, "iqmtriangle.vertex").format_is(Some(Format::Iqm));
                let expected = format!("less than {num_vertexes} (num_vertexes)");
                return Err(error.of(address).at(range).expected(expected).found(greatest));
            }
            if least < own.start || greatest >= own.end {
                let detail =
                    format!("vertexes {least}..={greatest}; the mesh has {}..{}", own.start, own.end);
                findings.push(Finding::suspicious(finding::INDEX_OUTSIDE_MESH, detail).of(address).at(range));
                vertices = 0..num_vertexes;
            }
        }
        let base = vertices.start;
        let at = |vertex: u32| usize::try_from(vertex).unwrap_or(usize::MAX);
        Ok(Self {
            source: layout.source.clone(),
            arrays: arrays(model),
            vertices: at(vertices.start)..at(vertices.end),
            indices: Indices::new(triangles, base),
            mesh,
            findings,
        })
    }

    /// The mesh, as the file describes it.
    #[must_use]
    pub fn mesh(&self) -> &Mesh {
        &self.mesh
    }
}

/// The arrays that have a meaning, with the first of each: repeated texture coordinates, colours, joints and weights
/// are further sets.
fn arrays(model: &Model) -> Vec<(Semantic, VertexArray)> {
    let mut sets: HashMap<VertexArrayType, u32> = HashMap::new();
    let mut arrays = Vec::new();
    for array in model.vertex_arrays() {
        let set = sets.entry(array.kind.clone()).or_insert(0);
        let repeatable = matches!(array.semantic(0), Semantic::TexCoord(_) | Semantic::Color(_))
            || matches!(array.semantic(0), Semantic::Joints(_) | Semantic::Weights(_));
        if (*set == 0 || repeatable) && !matches!(array.kind, VertexArrayType::Reserved(_)) {
            arrays.push((array.semantic(*set), array));
        }
        *set = set.saturating_add(1);
    }
    arrays
}

impl Sealed for View {}

impl MeshView for View {
    fn name(&self) -> String {
        self.mesh.name.to_string_lossy().into_owned()
    }

    fn vertex_count(&self) -> usize {
        self.vertices.len()
    }

    fn attributes(&self) -> Vec<AttributeInfo> {
        let info = |(semantic, array): &(Semantic, VertexArray)| AttributeInfo {
            semantic: semantic.clone(),
            format: array.vertex_format(),
        };
        self.arrays.iter().map(info).collect()
    }

    fn attribute(&self, semantic: &Semantic) -> Result<Option<Attribute>> {
        let Some((semantic, array)) = self.arrays.iter().find(|(have, _)| have == semantic) else {
            return Ok(None);
        };
        let format = array.vertex_format();
        let at =
            |vertex: usize| array.range.start.saturating_add(as_u64(vertex.saturating_mul(format.size())));
        let bytes = self.source.get(at(self.vertices.start)..at(self.vertices.end), "vertex array")?;
        Ok(Some(Attribute::new(semantic.clone(), format, bytes)))
    }

    fn indices(&self) -> Result<Indices> {
        Ok(self.indices.clone())
    }

    fn findings(&self) -> &[Finding] {
        &self.findings
    }
}
