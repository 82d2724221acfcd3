//! Decoded meshes, in memory that is used again for the next one.

use super::face_layout::FaceLayout;
use super::layout::ARRAY;
use super::weights::{self, WeightScale};
use crate::limits::{Meter, resize_vec};
use crate::num::as_u64;
use crate::report::Result;

/// A decoded mesh, in memory that is used again for the next.
///
/// See [`Asset::lod_into`](super::Asset::lod_into).
#[derive(Debug, Default)]
pub struct MeshBuffer {
    /// More than `count`, where an earlier mesh had more.
    faces: Vec<FaceBuffer>,
    count: usize,
}

/// A decoded face, in memory that is used again.
///
/// Arrays that the face does not have are empty.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct FaceBuffer {
    /// Positions.
    pub positions: Vec<[f32; 3]>,
    /// Normals, not exactly of length 1.
    pub normals: Vec<[f32; 3]>,
    /// Texture coordinates.
    pub texcoords: Vec<[f32; 2]>,
    /// Three indices a triangle, as stored.
    ///
    /// Not checked against the number of positions: check the maximum before drawing, or use
    /// [`Face::triangles`](super::Face::triangles), which returns an error for an index out of range.
    pub indices: Vec<u16>,
    /// Joints; 255 for unused influences.
    pub joints: Vec<[u8; 4]>,
    /// Weights of the joints, from 0 to 1: the stored integer divided by 65,535. Their sum is not made 1.
    pub weights: Vec<[f32; 4]>,
    /// `true` if the face has geometry; otherwise it only reserves the number of a texture.
    pub has_geometry: bool,
}

impl MeshBuffer {
    /// The faces of the mesh that was decoded last.
    #[must_use]
    pub fn faces(&self) -> &[FaceBuffer] {
        self.faces.get(..self.count).unwrap_or_default()
    }

    pub(crate) fn clear(&mut self) {
        self.count = 0;
    }

    /// The next face, to be filled.
    pub(crate) fn next(&mut self) -> &mut FaceBuffer {
        let index = self.count;
        self.count = self.count.saturating_add(1);
        if self.faces.len() < self.count {
            self.faces.push(FaceBuffer::default());
        }
        #[expect(
            clippy::indexing_slicing,
            reason = "made a moment ago, where it was not there"
        )]
        &mut self.faces[index]
    }
}

impl FaceBuffer {
    /// Decodes a face of this content.
    pub(crate) fn fill(&mut self, content: &[u8], face: &FaceLayout, meter: &Meter) -> Result<()> {
        self.has_geometry = face.has_geometry();
        let positions = face.positions(content);
        positions.decode_into(&mut self.positions, meter)?;
        let normals = face.normals(content);
        normals.decode_into(&mut self.normals, meter)?;
        let texcoords = face.texcoords(content);
        texcoords.decode_into(&mut self.texcoords, meter)?;
        let indices = face.indices(content);
        resize_vec(
            meter,
            &mut self.indices,
            meter.read(),
            as_u64(indices.len()),
            ARRAY,
        )?;
        for (index, stored) in self.indices.iter_mut().zip(indices) {
            *index = stored.get();
        }
        let (bytes, vertices) = match face.weights(content) {
            Some(bytes) => (bytes, face.vertex_count()),
            None => (&[][..], 0),
        };
        weights::unpack(
            bytes,
            vertices,
            WeightScale::Stored,
            meter,
            &mut self.joints,
            &mut self.weights,
        )
    }
}
