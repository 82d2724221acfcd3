//! A decoded mesh: its faces.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::face::Face;
use super::face_layout::{FaceLayout, each_face};
use super::place::BlockPlace;
use crate::report::Result;

/// A decoded level of detail, or the mesh for physics: its faces. Cloning shares everything.
#[derive(Clone)]
pub struct Mesh {
    place: Arc<BlockPlace>,
    content: Bytes,
    faces: Arc<[FaceLayout]>,
}

impl Mesh {
    /// Finds the faces in a block's content.
    pub(crate) fn new(content: Bytes, place: BlockPlace) -> Result<Self> {
        let mut faces = Vec::new();
        each_face(&content, &place, |_, face| {
            faces.push(face);
            Ok(())
        })?;
        Ok(Self { place: Arc::new(place), content, faces: faces.into() })
    }

    /// The number of faces.
    #[must_use]
    pub fn len(&self) -> usize {
        self.faces.len()
    }

    /// Whether there are no faces.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.faces.is_empty()
    }

    /// The face at an index: the number of its texture.
    #[must_use]
    pub fn face(&self, index: usize) -> Option<Face> {
        let layout = *self.faces.get(index)?;
        Some(Face { place: Arc::clone(&self.place), index, content: self.content.clone(), layout })
    }

    /// The faces, in the order of the file.
    pub fn faces(&self) -> impl ExactSizeIterator<Item = Face> + '_ {
        self.faces.iter().enumerate().map(|(index, layout)| Face {
            place: Arc::clone(&self.place),
            index,
            content: self.content.clone(),
            layout: *layout,
        })
    }

    /// The numbers of vertices and triangles of all faces.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        self.faces.iter().fold((0, 0), |(vertices, triangles), face| {
            let own = face.indices(&self.content).len() / 3;
            (face.vertex_count().saturating_add(vertices), own.saturating_add(triangles))
        })
    }

    /// The block's bytes in the file.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.place.range.clone()
    }

    /// The inflated block, shared: an LLSD array of maps.
    #[must_use]
    pub fn content(&self) -> &Bytes {
        &self.content
    }
}

impl fmt::Debug for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (vertices, triangles) = self.counts();
        write!(
            f,
            "Mesh({}: {} faces, {vertices} vertices, {triangles} triangles)",
            self.place.address,
            self.len()
        )
    }
}
