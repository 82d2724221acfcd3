//! A decoded mesh: its faces.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::face::Face;
use super::face_layout::{FaceLayout, Faces};
use super::keys::MeshKey;
use super::place::{BlockPlace, Content, InflatedBlock};
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
        match content? {
            Some(block) => Self::new(key, block, meter).map(Some),
            None => Ok(None),
        }
    }

    /// Finds the faces in a block's content.
    pub(crate) fn new(key: MeshKey, block: InflatedBlock, meter: &Meter) -> Result<Self> {
        let InflatedBlock { place, content } = block;
        let mut faces = Vec::new();
        let mut reader = Faces::new(&content, &place)?;
        while let Some(face) = reader.next()? {
            let charge = meter.take(FACE, "faces");
            charge
                .map_err(|error| place.locate_face(error, faces.len()))?
                .keep();
            faces.push(face);
        }
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
        if let Some(layout) = self.faces.get(index) {
            return Ok(self.face_of(index, layout));
        }
        let place = self.place.place().of(self.place.face(index));
        let error = place.out_of_range("face");
        Err(error.expected(less_than(self.faces.len())).found(index))
    }

    /// The faces, in the order of the file.
    pub fn faces(&self) -> impl ExactSizeIterator<Item = Face> + '_ {
        self.faces
            .iter()
            .enumerate()
            .map(|(index, layout)| self.face_of(index, layout))
    }

    fn face_of(&self, index: usize, layout: &FaceLayout) -> Face {
        Face {
            role: self.key.role(),
            place: Arc::clone(&self.place),
            index,
            content: self.content.clone(),
            layout: layout.clone(),
        }
    }

    /// The number of vertices of all faces.
    #[must_use]
    pub fn vertex_count(&self) -> usize {
        let mut count = 0_usize;
        for face in &*self.faces {
            count = count.saturating_add(face.vertex_count());
        }
        count
    }

    /// The number of triangles of all faces.
    #[must_use]
    pub fn triangle_count(&self) -> usize {
        let mut count = 0_usize;
        for face in &*self.faces {
            count = count.saturating_add(face.triangle_count());
        }
        count
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
        write!(
            f,
            "Mesh({}: {} faces, {} vertices, {} triangles)",
            self.place.address,
            self.face_count(),
            self.vertex_count(),
            self.triangle_count()
        )
    }
}
