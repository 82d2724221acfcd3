//! A body as a renderer sees it.

use std::collections::HashSet;

use super::container::Container;
use super::mesh::Mesh;
use super::rules::FILE;
use crate::decode::Scratch;
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
        let Self { mesh, parts } = self;
        let absent = || {
            FILE.of(mesh.address())
                .out_of_range("attribute")
                .found(&info.semantic)
        };
        let scratch = &mut Scratch::default();
        let bytes = match parts.get(index).ok_or_else(absent)? {
            Origin::Positions => mesh.decoded_positions(meter, scratch)?.array.into_bytes(),
            Origin::Normals => {
                let normals = mesh.decoded_normals(None, meter, scratch)?;
                normals.ok_or_else(absent)?.array.into_bytes()
            }
            Origin::UvMap(index) => mesh
                .decoded_uv_map(*index, meter, scratch)?
                .array
                .into_bytes(),
            Origin::AttributeMap(index) => mesh
                .decoded_attribute_map(*index, meter, scratch)?
                .array
                .into_bytes(),
        };
        Ok(Attribute::new(info.semantic.clone(), info.format, bytes))
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
        let mesh = address
            .index_in("bodies", |_| None)
            .and_then(|index| self.mesh(index).ok());
        let absent = || {
            let error = FILE.of(address.clone()).out_of_range("mesh");
            error
                .expected(format!("bodies[i] with i below {}", self.mesh_count()))
                .found(address)
        };
        mesh.ok_or_else(absent)
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
        let [vertices, triangles] = [self.vertex_count(), self.triangle_count()].map(as_u64);
        MeshCounts {
            vertices,
            triangles,
            has_positions: true,
        }
    }

    /// The body as a renderer sees it. Decodes and checks the indices.
    ///
    /// UV maps are [`Semantic::TexCoord`], in their order. Attribute maps named `Color`, in any case, are
    /// [`Semantic::Color`]. The others are [`Semantic::Custom`] with their name, or with their address
    /// (`attribute_maps[2]`) where the name is empty or taken.
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
    let mut add =
        |semantic, format, part| attributes.push((AttributeInfo { semantic, format }, part));
    add(
        Semantic::Position,
        VertexFormat::FLOAT32X3,
        Origin::Positions,
    );
    if mesh.has_normals() {
        add(Semantic::Normal, VertexFormat::FLOAT32X3, Origin::Normals);
    }
    for (set, index) in (0..).zip(0..mesh.uv_maps().len()) {
        add(
            Semantic::TexCoord(set),
            VertexFormat::FLOAT32X2,
            Origin::UvMap(index),
        );
    }
    let mut colors = 0;
    let mut taken = HashSet::new();
    for (index, map) in mesh.attribute_maps().enumerate() {
        let (name, part) = (map.name(), Origin::AttributeMap(index));
        if name.as_bytes().eq_ignore_ascii_case(b"color") {
            add(Semantic::Color(colors), VertexFormat::FLOAT32X4, part);
            colors = colors.saturating_add(1);
            continue;
        }
        let name = name.to_string_lossy().into_owned();
        let is_free = !name.is_empty() && taken.insert(name.clone());
        let own = if is_free {
            name
        } else {
            format!("attribute_maps[{index}]")
        };
        taken.insert(own.clone());
        add(Semantic::Custom(own), VertexFormat::FLOAT32X4, part);
    }
    attributes
}
