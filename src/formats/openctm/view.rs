//! A body as a renderer sees it.

use super::mesh::Mesh;
use crate::bytes::{Array, Text};
use crate::mesh::sealed::Sealed;
use crate::mesh::{Attribute, AttributeInfo, Indices, MeshView, Semantic, VertexFormat};
use crate::report::{Finding, Result};

/// A [`Mesh`] as a [`MeshView`]: the arrays of the file, with one index for each corner as the format has it.
///
/// UV maps are [`Semantic::TexCoord`], in their order. Attribute maps that are named `Color`, in any case, are
/// [`Semantic::Color`]; the others are [`Semantic::Custom`] of their name or, where they have none that is theirs alone,
/// of their address: `attribute_maps[2]`.
#[derive(Clone, Debug)]
pub struct View {
    mesh: Mesh,
    indices: Array<u32>,
    attributes: Vec<(Semantic, Source)>,
}

/// Where an attribute comes from.
#[derive(Clone, Copy, Debug)]
enum Source {
    Positions,
    Normals,
    UvMap(usize),
    AttributeMap(usize),
}

impl View {
    pub(crate) fn new(mesh: &Mesh) -> Result<Self> {
        let triangles = mesh.indices()?;
        mesh.decode().check_indices(&triangles.to_native())?;
        Ok(Self { mesh: mesh.clone(), indices: triangles.flatten(), attributes: attributes(mesh) })
    }

    /// The mesh, as the file stores it.
    #[must_use]
    pub fn mesh(&self) -> &Mesh {
        &self.mesh
    }
}

fn attributes(mesh: &Mesh) -> Vec<(Semantic, Source)> {
    let mut attributes = vec![(Semantic::Position, Source::Positions)];
    if mesh.has_normals() {
        attributes.push((Semantic::Normal, Source::Normals));
    }
    let coordinates = (0..).zip(0..mesh.uv_maps().len());
    attributes.extend(coordinates.map(|(set, index)| (Semantic::TexCoord(set), Source::UvMap(index))));
    let mut colors = 0_u32;
    for (index, map) in mesh.attribute_maps().enumerate() {
        attributes
            .push((semantic(&map.name(), index, &mut colors, &attributes), Source::AttributeMap(index)));
    }
    attributes
}

fn semantic(name: &Text, index: usize, colors: &mut u32, others: &[(Semantic, Source)]) -> Semantic {
    if name.as_bytes().eq_ignore_ascii_case(b"color") {
        *colors = colors.saturating_add(1);
        return Semantic::Color(colors.saturating_sub(1));
    }
    let named = Semantic::Custom(name.to_string_lossy().into_owned());
    if name.is_empty() || others.iter().any(|(other, _)| *other == named) {
        return Semantic::Custom(format!("attribute_maps[{index}]"));
    }
    named
}

impl Source {
    fn format(self) -> VertexFormat {
        match self {
            Self::Positions | Self::Normals => VertexFormat::FLOAT32X3,
            Self::UvMap(_) => VertexFormat::FLOAT32X2,
            Self::AttributeMap(_) => VertexFormat::FLOAT32X4,
        }
    }
}

impl Sealed for View {}

impl MeshView for View {
    /// OpenCTM has no names for meshes.
    fn name(&self) -> String {
        String::new()
    }

    fn vertex_count(&self) -> usize {
        self.mesh.vertex_count()
    }

    fn attributes(&self) -> Vec<AttributeInfo> {
        let info = |(semantic, source): &(Semantic, Source)| AttributeInfo {
            semantic: semantic.clone(),
            format: source.format(),
        };
        self.attributes.iter().map(info).collect()
    }

    fn attribute(&self, semantic: &Semantic) -> Result<Option<Attribute>> {
        let Some((semantic, source)) = self.attributes.iter().find(|(have, _)| have == semantic) else {
            return Ok(None);
        };
        let bytes = match *source {
            Source::Positions => Some(self.mesh.positions()?.into_bytes()),
            Source::Normals => self.mesh.normals()?.map(Array::into_bytes),
            Source::UvMap(index) => {
                let map = self.mesh.uv_map(index).map(|map| map.coords()).transpose()?;
                map.map(Array::into_bytes)
            }
            Source::AttributeMap(index) => {
                let map = self.mesh.attribute_map(index).map(|map| map.values()).transpose()?;
                map.map(Array::into_bytes)
            }
        };
        Ok(bytes.map(|bytes| Attribute::new(semantic.clone(), source.format(), bytes)))
    }

    fn indices(&self) -> Result<Indices> {
        Ok(Indices::new(self.indices.clone(), 0))
    }

    fn findings(&self) -> &[Finding] {
        self.mesh.findings()
    }
}
