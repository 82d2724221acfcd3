//! A body as a renderer sees it.

use std::collections::HashSet;

use super::container::Container;
use super::mesh::Mesh;
use super::rules::FILE;
use crate::decode::{Context, Scratch};
use crate::limits::{Limits, Meter};
use crate::mesh::{
    Attribute, AttributeInfo, Bounds, Indices, LoadAttribute, MeshCounts, MeshView, Role, Semantic,
    VertexFormat,
};
use crate::num::as_u64;
use crate::report::{Address, Result};

/// The origin of an attribute.
#[derive(Clone, Copy, Debug)]
enum Origin {
    Positions,
    Normals,
    UvMap(usize),
    AttributeMap(usize),
}

/// The arrays of a body, each decoded when it is needed.
struct BodyArrays {
    mesh: Mesh,
    /// The origin of each attribute of the view.
    parts: Vec<Origin>,
}

impl LoadAttribute for BodyArrays {
    fn limits(&self) -> Limits {
        self.mesh.limits()
    }

    fn load(&self, index: usize, info: &AttributeInfo, meter: &Meter) -> Result<Attribute> {
        let mesh = &self.mesh;
        let mut scratch = Scratch::default();
        let context = Context::new(meter, &mut scratch);
        let bytes = match self.parts.get(index) {
            Some(Origin::Positions) => {
                let positions = mesh.decoded_positions(context)?;
                Some(positions.array.into_bytes())
            }
            Some(Origin::Normals) => {
                let normals = mesh.decoded_normals(None, context)?;
                normals.map(|normals| normals.array.into_bytes())
            }
            Some(Origin::UvMap(index)) => {
                let coords = mesh.decoded_uv_map(*index, context)?;
                Some(coords.array.into_bytes())
            }
            Some(Origin::AttributeMap(index)) => {
                let values = mesh.decoded_attribute_map(*index, context)?;
                Some(values.array.into_bytes())
            }
            None => None,
        };
        match bytes {
            Some(bytes) => Ok(Attribute::new(info.semantic.clone(), info.format, bytes)),
            None => {
                let error = FILE.of(mesh.address()).out_of_range("attribute");
                Err(error.found(&info.semantic))
            }
        }
    }
}

impl Container {
    /// The body at an address `bodies[i]` as a renderer sees it; see [`Mesh::view`].
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](crate::ErrorKind::OutOfRange) if the file has no such body, and the errors of [`Mesh::view`].
    pub fn mesh_view(&self, address: &Address) -> Result<MeshView> {
        self.mesh_at(address)?.view()
    }

    fn mesh_at(&self, address: &Address) -> Result<&Mesh> {
        if let Some(index) = address.index_in("bodies", |_| None)
            && let Ok(mesh) = self.mesh(index)
        {
            return Ok(mesh);
        }
        let error = FILE.of(address.clone()).out_of_range("mesh");
        let expected = format!("bodies[i] with i below {}", self.mesh_count());
        Err(error.expected(expected).found(address))
    }

    pub(crate) fn mesh_counts(&self, address: &Address) -> Result<MeshCounts> {
        Ok(self.mesh_at(address)?.counts())
    }

    pub(crate) fn mesh_bounds(&self, address: &Address) -> Result<Option<Bounds>> {
        Ok(Bounds::around(self.mesh_at(address)?.positions()?.iter()))
    }
}

impl Mesh {
    /// The numbers of the header.
    pub(crate) fn counts(&self) -> MeshCounts {
        MeshCounts {
            vertices: as_u64(self.vertex_count()),
            triangles: as_u64(self.triangle_count()),
            has_positions: true,
        }
    }

    /// The body as a renderer sees it. Decodes and checks the indices.
    ///
    /// UV maps are [`Semantic::TexCoord`], in their order. Attribute maps named `Color`, in any case, are
    /// [`Semantic::Color`]. The others are [`Semantic::Custom`] with their name, or with their address
    /// (`attribute_maps[2]`) if the name is empty or taken.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`triangles`](Self::triangles).
    pub fn view(&self) -> Result<MeshView> {
        let indices = Indices::new(self.triangles()?.flatten(), 0);
        let (infos, parts) = attributes(self).into_iter().unzip();
        let arrays = BodyArrays {
            mesh: self.clone(),
            parts,
        };
        let view = MeshView::new(
            FILE,
            self.address(),
            Role::Geometry,
            self.vertex_count(),
            indices,
            infos,
            arrays,
        );
        let texture = self.uv_maps().next().map(|map| map.file());
        Ok(view
            .with_texture(texture.unwrap_or_default())
            .with_findings(self.findings().to_vec()))
    }
}

fn attributes(mesh: &Mesh) -> Vec<(AttributeInfo, Origin)> {
    let mut attributes = Vec::new();
    let position = AttributeInfo {
        semantic: Semantic::Position,
        format: VertexFormat::FLOAT32X3,
    };
    attributes.push((position, Origin::Positions));
    if mesh.has_normals() {
        let normal = AttributeInfo {
            semantic: Semantic::Normal,
            format: VertexFormat::FLOAT32X3,
        };
        attributes.push((normal, Origin::Normals));
    }
    for (set, index) in (0..).zip(0..mesh.uv_maps().len()) {
        let texcoord = AttributeInfo {
            semantic: Semantic::TexCoord(set),
            format: VertexFormat::FLOAT32X2,
        };
        attributes.push((texcoord, Origin::UvMap(index)));
    }
    let mut color_count = 0_u32;
    let mut used_names = HashSet::new();
    for (index, map) in mesh.attribute_maps().enumerate() {
        let semantic = if map.name().as_bytes().eq_ignore_ascii_case(b"color") {
            let set = color_count;
            color_count = color_count.saturating_add(1);
            Semantic::Color(set)
        } else {
            let mut name = map.name().to_string_lossy().into_owned();
            let is_free = !name.is_empty() && used_names.insert(name.clone());
            if !is_free {
                name = format!("attribute_maps[{index}]");
                used_names.insert(name.clone());
            }
            Semantic::Custom(name)
        };
        let format = VertexFormat::FLOAT32X4;
        let attribute = AttributeInfo { semantic, format };
        attributes.push((attribute, Origin::AttributeMap(index)));
    }
    attributes
}
