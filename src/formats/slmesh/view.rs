//! A face as a renderer sees it.

use super::face::Face;
use crate::bytes::{Array, Scalar};
use crate::mesh::sealed::Sealed;
use crate::mesh::{Attribute, AttributeInfo, Dequant, Indices, MeshView, Semantic, VertexFormat};
use crate::report::{Finding, Result};

/// Three integers from 0 to 1, in a domain.
const UNORM16X3: VertexFormat = VertexFormat::new(Scalar::U16, 3, true);

/// A face, of which every index has been checked; see [`Face::view`].
#[derive(Clone, Debug)]
pub struct View {
    face: Face,
    indices: Array<u16>,
}

impl Face {
    /// The face as a renderer sees it, whatever the format.
    ///
    /// Positions, normals and texture coordinates are the stored integers, with the domain that they lie in
    /// ([`Attribute::dequant`]); joints and weights are four each, 0 where there is none, weights as stored.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) for an index that is not less than the number of vertices.
    pub fn view(&self) -> Result<View> {
        Ok(View { face: self.clone(), indices: self.indices_checked()? })
    }
}

impl View {
    /// The face.
    #[must_use]
    pub fn face(&self) -> &Face {
        &self.face
    }
}

impl Sealed for View {}

impl MeshView for View {
    /// Faces have no names.
    fn name(&self) -> String {
        String::new()
    }

    fn vertex_count(&self) -> usize {
        self.face.vertex_count()
    }

    fn attributes(&self) -> Vec<AttributeInfo> {
        if !self.face.has_geometry() {
            return Vec::new();
        }
        let layout = self.face.layout();
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

    fn attribute(&self, semantic: &Semantic) -> Result<Option<Attribute>> {
        let Some(info) = self.attributes().into_iter().find(|info| info.semantic == *semantic) else {
            return Ok(None);
        };
        let (bytes, dequant) = match semantic {
            Semantic::Position => {
                let domain = self.face.position_domain();
                (self.face.raw_positions().into_bytes(), Some(Dequant::of_domain(domain.min, domain.max)))
            }
            Semantic::Normal => {
                let normals = self.face.raw_normals().map(Array::into_bytes).unwrap_or_default();
                (normals, Some(Dequant::of_domain([-1.0; 3], [1.0; 3])))
            }
            Semantic::TexCoord(_) => {
                let domain = self.face.tex_coord_domain();
                let tex_coords = self.face.raw_tex_coords().map(Array::into_bytes).unwrap_or_default();
                (tex_coords, Some(Dequant::of_domain(domain.min, domain.max)))
            }
            joints_or_weights => {
                let Some(weights) = self.face.weights() else { return Ok(None) };
                match joints_or_weights {
                    Semantic::Joints(_) => (weights.joints()?.into_bytes(), None),
                    _ => (weights.shares()?.into_bytes(), None),
                }
            }
        };
        let attribute = Attribute::new(info.semantic, info.format, bytes);
        Ok(Some(match dequant {
            Some(dequant) => attribute.with_dequant(dequant),
            None => attribute,
        }))
    }

    fn indices(&self) -> Result<Indices> {
        Ok(Indices::narrow(self.indices.clone()))
    }

    fn findings(&self) -> &[Finding] {
        &[]
    }
}
