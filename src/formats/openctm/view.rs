//! A body as a renderer sees it.

use super::bodies::Bodies;
use super::mesh::Mesh;
use super::rules::FILE;
use crate::bytes::{Array, Text};
use crate::mesh::{Attribute, AttributeInfo, Indices, LoadAttribute, MeshView, Role, Semantic, VertexFormat};
use crate::report::{Address, Result};

/// Where an attribute comes from.
#[derive(Clone, Copy, Debug)]
enum Source {
    Positions,
    Normals,
    UvMap(usize),
    AttributeMap(usize),
}

/// The arrays of a body, each decoded when it is asked for.
struct Arrays {
    mesh: Mesh,
    sources: Vec<Source>,
}

impl LoadAttribute for Arrays {
    fn load(&self, index: usize, info: &AttributeInfo) -> Result<Attribute> {
        let absent = || FILE.out_of_range("attribute").found(&info.semantic);
        let bytes = match self.sources.get(index).ok_or_else(absent)? {
            Source::Positions => Some(self.mesh.positions()?.into_bytes()),
            Source::Normals => self.mesh.normals()?.map(Array::into_bytes),
            Source::UvMap(index) => {
                let map = self.mesh.uv_map(*index).map(|map| map.coords()).transpose()?;
                map.map(Array::into_bytes)
            }
            Source::AttributeMap(index) => {
                let map = self.mesh.attribute_map(*index).map(|map| map.values()).transpose()?;
                map.map(Array::into_bytes)
            }
        };
        Ok(Attribute::new(info.semantic.clone(), info.format, bytes.ok_or_else(absent)?))
    }
}

impl Bodies {
    /// The body at an address `bodies[i]` as a renderer sees it; see [`Mesh::view`].
    ///
    /// # Errors
    ///
    /// [`OutOfRange`](ErrorKind::OutOfRange) where there is no such body, and those of [`Mesh::view`].
    pub fn mesh_view(&self, address: &Address) -> Result<MeshView> {
        let mesh = address.index_in("bodies", |_| None).and_then(|index| self.get(index));
        let mesh = mesh.ok_or_else(|| {
            let error = FILE.out_of_range("mesh").of(address.clone());
            error.expected(format!("bodies[i] with i below {}", self.len()))
        })?;
        mesh.view()
    }
}

impl Mesh {
    /// The body as a renderer sees it. Decodes and checks the indices.
    ///
    /// UV maps are [`Semantic::TexCoord`], in their order. Attribute maps named `Color`, in any case, are
    /// [`Semantic::Color`]. The others are [`Semantic::Custom`] with their name or, where they have none of their own,
    /// with their address: `attribute_maps[2]`.
    ///
    /// # Errors
    ///
    /// Those of [`indices`](Self::indices), and [`Malformed`](ErrorKind::Malformed) where an index is not less than the
    /// vertex count.
    pub fn view(&self) -> Result<MeshView> {
        let triangles = self.indices()?;
        self.decode().check_indices(&triangles.to_native())?;
        let indices = Indices::new(triangles.flatten(), 0);
        let attributes = attributes(self);
        let info = |(semantic, source): &(Semantic, Source)| AttributeInfo {
            semantic: semantic.clone(),
            format: source.format(),
        };
        let infos = attributes.iter().map(info).collect();
        let arrays = Arrays {
            mesh: self.clone(),
            sources: attributes.into_iter().map(|(_, source)| source).collect(),
        };
        let view = MeshView::new(self.address(), Role::Geometry, self.vertex_count(), indices, infos, arrays);
        Ok(view.with_findings(self.findings().to_vec()))
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
