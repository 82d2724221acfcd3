//! A face: a part of a mesh with one texture.
//!
//! Its arrays are views of the inflated block.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::face_layout::{Domain, FaceLayout};
use super::llsd::{Event, Reader};
use super::place::BlockPlace;
use super::rules::FILE;
use super::weights::Weights;
use crate::bytes::{Array, Element};
use crate::codec::Codec;
use crate::limits::Limits;
use crate::mesh::{Role, scan};
use crate::num::{as_u64, as_usize, less_than, size_u64, span};
use crate::report::{Address, Result};

/// A face of a [`Mesh`](super::Mesh): a part with one texture. Cloning shares everything.
///
/// `raw_*` are views of the inflated block: integers, with 0 and 65,535 for the ends of a [`Domain`]. The others are
/// decoded, bit for bit as the viewer does it: `stored / 65535 * (max - min) + min`, each operation rounded to single
/// precision.
#[derive(Clone)]
pub struct Face {
    pub(super) role: Role,
    pub(super) place: Arc<BlockPlace>,
    pub(super) index: usize,
    pub(super) content: Bytes,
    pub(super) layout: FaceLayout,
}

/// An index that is not less than the number of vertices.
pub(crate) struct WrongIndex {
    pub(crate) corner: u64,
    pub(crate) index: u16,
}

impl Face {
    /// The index in the mesh.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The address of the face: `high_lod.faces[0]`.
    #[must_use]
    pub fn address(&self) -> Address {
        self.place.face(self.index)
    }

    /// Returns `true` if the face has geometry.
    ///
    /// Otherwise ("NoGeometry") it only reserves the number of a texture, and has neither vertices nor triangles.
    #[must_use]
    pub fn has_geometry(&self) -> bool {
        self.layout.has_geometry()
    }

    /// The number of vertices.
    #[must_use]
    pub fn vertex_count(&self) -> usize {
        self.layout.vertex_count()
    }

    /// The number of triangles.
    #[must_use]
    pub fn triangle_count(&self) -> usize {
        self.layout.triangle_count()
    }

    /// "Position": three integers per vertex, in [`position_domain`](Self::position_domain).
    #[must_use]
    pub fn raw_positions(&self) -> Array<[u16; 3]> {
        self.array(&self.layout.positions)
    }

    /// "PositionDomain"; if absent, -0.5 to 0.5.
    #[must_use]
    pub fn position_domain(&self) -> Domain<3> {
        self.layout.position_domain()
    }

    /// The positions, in the unit cube that the object's size scales.
    ///
    /// # Errors
    ///
    /// Returns [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if they are larger than the limits allow.
    pub fn positions(&self) -> Result<Array<[f32; 3]>> {
        let stored = self.layout.positions(&self.content);
        let mut positions = Vec::new();
        self.located(stored.decode_into(&mut positions, &self.place.meter()))?;
        Ok(Array::from_vec(positions))
    }

    /// "Normal": three integers per vertex, from -1 to 1; `None` if the face has no normals.
    #[must_use]
    pub fn raw_normals(&self) -> Option<Array<[u16; 3]>> {
        self.layout.normals.as_ref().map(|span| self.array(span))
    }

    /// The normals, not exactly of length 1; `Ok(None)` if the face has none.
    ///
    /// # Errors
    ///
    /// Returns [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if they are larger than the limits allow.
    pub fn normals(&self) -> Result<Option<Array<[f32; 3]>>> {
        let stored = self.layout.normals(&self.content);
        let mut normals = Vec::new();
        self.located(stored.decode_into(&mut normals, &self.place.meter()))?;
        if self.layout.normals.is_none() {
            return Ok(None);
        }
        Ok(Some(Array::from_vec(normals)))
    }

    /// "TexCoord0": two integers per vertex, in [`texcoord_domain`](Self::texcoord_domain).
    ///
    /// `None` if the face has no texture coordinates.
    #[must_use]
    pub fn raw_texcoords(&self) -> Option<Array<[u16; 2]>> {
        self.layout.texcoords.as_ref().map(|span| self.array(span))
    }

    /// "TexCoord0Domain"; 0 to 0 if it is absent, as in the viewer.
    #[must_use]
    pub fn texcoord_domain(&self) -> Domain<2> {
        self.layout.uv_domain()
    }

    /// The texture coordinates u, v of a set; V points up. The format stores only set 0; `Ok(None)` for other sets, or if the face has none.
    ///
    /// # Errors
    ///
    /// Returns [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if they are larger than the limits allow.
    #[doc(alias = "TexCoord0")]
    #[doc(alias = "uv")]
    pub fn texcoords(&self, set: usize) -> Result<Option<Array<[f32; 2]>>> {
        if set > 0 {
            return Ok(None);
        }
        let stored = self.layout.texcoords(&self.content);
        let mut texcoords = Vec::new();
        self.located(stored.decode_into(&mut texcoords, &self.place.meter()))?;
        if self.layout.texcoords.is_none() {
            return Ok(None);
        }
        Ok(Some(Array::from_vec(texcoords)))
    }

    /// "TriangleList" as stored: three vertex indices per triangle, which may be out of range.
    ///
    /// Indices after the last whole triangle are left out.
    #[must_use]
    pub fn raw_indices(&self) -> Array<u16> {
        self.array(&self.layout.triangles)
    }

    pub(crate) fn raw_triangles(&self) -> Array<[u16; 3]> {
        self.array(&self.layout.triangles)
    }

    /// "TriangleList": three vertex indices per triangle, each less than [`vertex_count`](Self::vertex_count).
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`](crate::ErrorKind::Malformed) if an index is out of range.
    pub fn triangles(&self) -> Result<Array<[u16; 3]>> {
        self.indices()
            .map(|indices| Array::new(indices.into_bytes()))
    }

    /// "TriangleList" as a flat list: three vertex indices per triangle, each less than [`vertex_count`](Self::vertex_count).
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`](crate::ErrorKind::Malformed) if an index is out of range.
    pub fn indices(&self) -> Result<Array<u16>> {
        let Some(wrong) = self.wrong_index() else {
            return Ok(self.raw_indices());
        };
        let offset = wrong.corner.saturating_mul(size_u64::<u16>());
        let start = as_u64(self.layout.triangles.start).saturating_add(offset);
        let place = FILE.at(span(start, size_u64::<u16>()));
        let error = place.malformed("TriangleList");
        let expected = less_than(self.vertex_count());
        let error = error.expected(expected).found(wrong.index);
        let address = self.address().then("indices").index(wrong.corner);
        Err(self.place.locate_at(error, address))
    }

    /// The first index that is not less than the number of vertices.
    pub(crate) fn wrong_index(&self) -> Option<WrongIndex> {
        let indices = self.layout.indices(&self.content);
        let numbers = indices.iter().map(|index| index.get().into());
        let found = scan::out_of_range(numbers, self.vertex_count())?;
        let index = indices.get(as_usize(found.first))?;
        Some(WrongIndex {
            corner: found.first,
            index: index.get(),
        })
    }

    /// "Weights": the joints that move each vertex, and their weights.
    ///
    /// `None` if the face has no weights.
    #[must_use]
    pub fn weights(&self) -> Option<Weights> {
        let bytes = self.slice(self.layout.weights.as_ref()?);
        Some(Weights::new(
            bytes,
            self.vertex_count(),
            Arc::clone(&self.place),
            self.index,
        ))
    }

    /// "NormalizedScale": the factor of positions before tangents are computed.
    ///
    /// `None` if the face has none, which means 1.
    #[must_use]
    pub fn normalized_scale(&self) -> Option<[f32; 3]> {
        self.layout.normalized_scale
    }

    /// The first field of this name as LLSD, for [`llsd::Reader`](super::llsd::Reader).
    ///
    /// `None` if the face has no such field.
    #[must_use]
    pub fn raw_field(&self, key: &str) -> Option<Bytes> {
        let map = self.slice(&self.layout.map);
        let limits = Limits::default().with_max_depth(u32::MAX);
        let mut reader = Reader::new(&map, &limits);
        reader.next_event().ok()?;
        while let Some(Event::Key(found)) = reader.next_event().ok()? {
            let start = reader.position();
            reader.skip_value().ok()?;
            if found == *key {
                return Some(map.slice(start..reader.position()));
            }
        }
        None
    }

    pub(crate) fn layout(&self) -> &FaceLayout {
        &self.layout
    }

    /// The compression of the face's block.
    pub(crate) fn codec(&self) -> Codec {
        self.place.codec
    }

    /// The bytes of the block in the file.
    pub(crate) fn range(&self) -> Range<u64> {
        self.place.range.clone()
    }

    /// Adds the address and the bytes of the face to an error.
    fn located<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| self.place.locate_face(error, self.index))
    }

    fn slice(&self, span: &Range<usize>) -> Bytes {
        self.content.slice(span.clone())
    }

    fn array<T: Element>(&self, span: &Range<usize>) -> Array<T> {
        Array::new(self.slice(span))
    }
}

impl fmt::Debug for Face {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Face({}: {} vertices, {} triangles)",
            self.address(),
            self.vertex_count(),
            self.triangle_count()
        )
    }
}
