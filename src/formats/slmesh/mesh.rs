//! A decoded mesh: its faces.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::face::Face;
use super::face_layout::{FaceLayout, each_face};
use super::keys::MeshKey;
use super::place::{BlockPlace, Content};
use crate::limits::Meter;
use crate::num::{as_u64, less_than};
use crate::report::Result;

/// A decoded level of detail, or the mesh for physics: its faces.
///
/// Cloning shares everything.
#[derive(Clone)]
pub struct Mesh {
    key: MeshKey,
    place: Arc<BlockPlace>,
    content: Bytes,
    faces: Arc<[FaceLayout]>,
}

/// Memory for a face in a list that grows.
const FACE: u64 = 3 * size_of::<FaceLayout>() as u64;

impl Mesh {
    /// Returns the mesh in a block; `Ok(None)` if the asset does not have the block.
    pub(crate) fn of_block(key: MeshKey, content: Content, meter: &Meter) -> Result<Option<Self>> {
        content?
            .map(|(place, content)| Self::new(key, content, place, meter))
            .transpose()
    }

    /// Finds the faces in a block's content.
    pub(crate) fn new(
        key: MeshKey,
        content: Bytes,
        place: BlockPlace,
        meter: &Meter,
    ) -> Result<Self> {
        let mut faces = Vec::new();
        each_face(&content, &place, |_, face| {
            meter.take(FACE, "faces")?.keep();
            faces.push(face);
            Ok(())
        })?;
        Ok(Self {
            key,
            place: Arc::new(place),
            content,
            faces: faces.into(),
        })
    }

    /// The number of faces.
    #[must_use]
    pub(crate) fn face_count(&self) -> usize {
        self.faces.len()
    }

    /// The face at an index, which is also the index of its texture.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](crate::ErrorKind::OutOfRange) if the mesh has no such face.
    pub fn face(&self, index: usize) -> Result<Face> {
        let layout = self.faces.get(index).ok_or_else(|| {
            let error = self
                .place
                .place()
                .of(self.place.face(index))
                .out_of_range("face");
            error.expected(less_than(self.faces.len())).found(index)
        })?;
        Ok(self.face_of(index, layout))
    }

    /// The faces, in the order of the file.
    pub fn faces(&self) -> impl ExactSizeIterator<Item = Face> + '_ {
        self.faces
            .iter()
            .enumerate()
            .map(|(index, layout)| self.face_of(index, layout))
    }

    fn face_of(&self, index: usize, layout: &FaceLayout) -> Face {
        let (place, content) = (Arc::clone(&self.place), self.content.clone());
        Face {
            role: self.key.role(),
            place,
            index,
            content,
            layout: layout.clone(),
        }
    }

    /// The number of vertices of all faces.
    #[must_use]
    pub fn vertex_count(&self) -> usize {
        self.faces
            .iter()
            .fold(0, |sum, face| face.vertex_count().saturating_add(sum))
    }

    /// The number of triangles of all faces.
    #[must_use]
    pub fn triangle_count(&self) -> usize {
        self.faces
            .iter()
            .fold(0, |sum, face| face.triangle_count().saturating_add(sum))
    }

    /// The block's bytes in the file.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.place.range.clone()
    }

    /// The memory of the content and of the list of faces, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        as_u64(self.content.len()).saturating_add(as_u64(self.faces.len()).saturating_mul(FACE))
    }

    /// The inflated block, shared: an LLSD array of maps.
    #[must_use]
    pub fn content(&self) -> &Bytes {
        &self.content
    }
}

impl fmt::Debug for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (address, faces) = (&self.place.address, self.face_count());
        let (vertices, triangles) = (self.vertex_count(), self.triangle_count());
        write!(
            f,
            "Mesh({address}: {faces} faces, {vertices} vertices, {triangles} triangles)"
        )
    }
}
