//! A face as a renderer sees it.

use super::asset::Asset;
use super::face::Face;
use super::keys::MESHES;
use super::mesh::Mesh;
use super::place::BlockPlace;
use super::rules::FILE;
use crate::bytes::{Array, Scalar};
use crate::decode::Scratch;
use crate::mesh::{
    Attribute, AttributeInfo, Dequant, Indices, LoadAttribute, MeshView, Semantic, VertexFormat,
};
use crate::num::as_u64;
use crate::report::{Address, Result, Segment};

/// Three normalized integers.
const UNORM16X3: VertexFormat = VertexFormat::new(Scalar::U16, 3, true);

impl Asset {
    /// The face at an address `block.faces[i]` as a renderer sees it; see [`Face::view`].
    ///
    /// # Errors
    ///
    /// [`OutOfRange`](crate::ErrorKind::OutOfRange) where there is no such face, the errors of reading and decoding its
    /// block, and those of [`Face::view`].
    pub fn mesh_view(&self, address: &Address) -> Result<MeshView> {
        let face = match address.segments() {
            [Segment::Field(block), Segment::Field(faces), Segment::Index(index)] if faces == "faces" => {
                self.shared_mesh(block)?.and_then(|mesh| mesh.face(usize::try_from(*index).ok()?))
            }
            _ => None,
        };
        let face = face.ok_or_else(|| {
            let error = FILE.out_of_range("mesh").of(address.clone());
            error.expected("BLOCK.faces[i] of a block and a face that are there")
        })?;
        face.view()
    }

    /// A mesh for whoever asks for its faces one by one: decoded once, and kept.
    pub(crate) fn shared_mesh(&self, name: &str) -> Result<Option<Mesh>> {
        let index = MESHES.iter().position(|mesh| *mesh == name);
        let Some(cell) = index.and_then(|index| self.inner.views.get(index)) else { return Ok(None) };
        if let Some(mesh) = cell.get() {
            return mesh.clone().map(Some);
        }
        // I/O may fail now and succeed later, so it is done before the decode, which always gives the same.
        let Some((block, stored)) = self.block_from(self.source(), name)? else { return Ok(None) };
        let decode = || {
            let content = block
                .decode_stored(stored, self.options(), &mut Scratch::default())
                .map_err(|error| FILE.locate(error))?;
            let limits = self.options().limits;
            Mesh::new(
                content,
                BlockPlace { range: block.range.clone(), address: block.address.clone(), limits },
            )
        };
        cell.get_or_init(decode).clone().map(Some)
    }

    /// The addresses of the faces of all meshes. How many there are stands inside of the blocks, which are therefore
    /// decoded, and kept; those that cannot be are left out, and so are those behind more than the limit on all of them.
    pub(crate) fn mesh_addresses(&self) -> Vec<Address> {
        let mut addresses = Vec::new();
        let mut total = 0_u64;
        for name in MESHES {
            if total > self.options().limits.max_total_bytes {
                break;
            }
            let Ok(Some(mesh)) = self.shared_mesh(name) else { continue };
            total = total.saturating_add(as_u64(mesh.content().len()));
            let faces = Address::field(name).then("faces");
            addresses.extend((0..as_u64(mesh.len())).map(|face| faces.clone().index(face)));
        }
        addresses
    }
}

impl Face {
    /// The face as a renderer sees it.
    ///
    /// Positions, normals and texture coordinates are the stored integers, with their
    /// [dequantization](Attribute::dequant). Joints and weights are four each, 0 where there is none; weights are as
    /// stored.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) for an index that is not less than the number of vertices.
    pub fn view(&self) -> Result<MeshView> {
        let indices = Indices::narrow(self.checked_indices()?);
        let attributes = if self.has_geometry() { attributes(self) } else { Vec::new() };
        Ok(MeshView::new(self.address(), self.role(), self.vertex_count(), indices, attributes, self.clone()))
    }
}

fn attributes(face: &Face) -> Vec<AttributeInfo> {
    let layout = face.layout();
    let all = [
        (Semantic::Position, UNORM16X3, true),
        (Semantic::Normal, UNORM16X3, layout.has_normals()),
        (Semantic::TexCoord(0), VertexFormat::UNORM16X2, layout.has_tex_coords()),
        (Semantic::Joints(0), VertexFormat::UINT8X4, layout.has_weights()),
        (Semantic::Weights(0), VertexFormat::UNORM16X4, layout.has_weights()),
    ];
    let there = all.into_iter().filter(|(_, _, is_there)| *is_there);
    there.map(|(semantic, format, _)| AttributeInfo { semantic, format }).collect()
}

impl LoadAttribute for Face {
    fn load(&self, _: usize, info: &AttributeInfo) -> Result<Attribute> {
        let (bytes, dequant) = match info.semantic {
            Semantic::Position => {
                let domain = self.position_domain();
                (Some(self.raw_positions().into_bytes()), Some(Dequant::of_domain(domain.min, domain.max)))
            }
            Semantic::Normal => {
                (self.raw_normals().map(Array::into_bytes), Some(Dequant::of_domain([-1.0; 3], [1.0; 3])))
            }
            Semantic::TexCoord(_) => {
                let domain = self.tex_coord_domain();
                let tex_coords = self.raw_tex_coords().map(Array::into_bytes);
                (tex_coords, Some(Dequant::of_domain(domain.min, domain.max)))
            }
            Semantic::Joints(_) => {
                let joints = self.weights().map(|weights| weights.joints()).transpose()?;
                (joints.map(Array::into_bytes), None)
            }
            _ => {
                let shares = self.weights().map(|weights| weights.shares()).transpose()?;
                (shares.map(Array::into_bytes), None)
            }
        };
        let attribute = Attribute::new(info.semantic.clone(), info.format, bytes.unwrap_or_default());
        Ok(match dequant {
            Some(dequant) => attribute.with_dequant(dequant),
            None => attribute,
        })
    }
}
