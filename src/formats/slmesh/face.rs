//! Faces: what has one texture. Their arrays are views of the inflated block.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use super::face_layout::{Domain, FaceLayout, Part};
use super::llsd::{Event, Reader};
use super::place::BlockPlace;
use super::rules::FILE;
use super::weights::Weights;
use crate::bytes::Array;
use crate::limits::{Budget, Limits};
use crate::mesh::{Role, scan};
use crate::num::{as_u64, span};
use crate::report::{Address, Result};

/// A face of a [`Mesh`](crate::Mesh): a part that has one texture. Cloning shares everything.
///
/// `raw_*` are views of the inflated block: integers of which 0 and 65,535 are the ends of a domain. The others are
/// decoded, bit for bit as the viewer does it: `stored / 65535 * (max - min) + min`, each operation rounded to single
/// precision.
#[derive(Clone)]
pub struct Face {
    pub(super) place: Arc<BlockPlace>,
    pub(super) index: usize,
    pub(super) content: Bytes,
    pub(super) layout: FaceLayout,
}

impl Face {
    pub(crate) fn role(&self) -> Role {
        self.place.role()
    }

    /// The index in the mesh.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Where it stands: `high_lod.faces[0]`.
    #[must_use]
    pub fn address(&self) -> Address {
        self.place.face(self.index)
    }

    /// Whether there is geometry. Otherwise ("NoGeometry") the face just keeps the place of a texture, and has neither
    /// vertices nor triangles.
    #[must_use]
    pub fn has_geometry(&self) -> bool {
        self.layout.has_geometry()
    }

    /// The number of vertices.
    #[must_use]
    pub fn vertex_count(&self) -> usize {
        self.layout.vertex_count()
    }

    /// "Position": three integers a vertex, in [`position_domain`](Self::position_domain).
    #[must_use]
    pub fn raw_positions(&self) -> Array<[u16; 3]> {
        self.array(self.layout.positions)
    }

    /// "PositionDomain"; where there is none, -0.5 to 0.5.
    #[must_use]
    pub fn position_domain(&self) -> Domain<3> {
        self.layout.position_domain()
    }

    /// The positions, in the unit cube that the object's size scales.
    ///
    /// # Errors
    ///
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded).
    pub fn positions(&self) -> Result<Array<[f32; 3]>> {
        let mut out = Vec::new();
        self.positions_into(&mut out)?;
        Ok(Array::from_vec(out))
    }

    /// The same into memory that is used again.
    ///
    /// # Errors
    ///
    /// Those of [`positions`](Self::positions).
    pub fn positions_into(&self, out: &mut Vec<[f32; 3]>) -> Result<()> {
        self.layout.positions_into(&self.content, out, &mut Budget::new(&self.place.limits))
    }

    /// "Normal": three integers a vertex, from -1 to 1; `None` where the face has none.
    #[must_use]
    pub fn raw_normals(&self) -> Option<Array<[u16; 3]>> {
        self.layout.normals.map(|span| self.array(span))
    }

    /// The normals, not exactly of length 1; `Ok(None)` where the face has none.
    ///
    /// # Errors
    ///
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded).
    pub fn normals(&self) -> Result<Option<Array<[f32; 3]>>> {
        let mut out = Vec::new();
        Ok(self.normals_into(&mut out)?.then(|| Array::from_vec(out)))
    }

    /// The same into memory that is used again; `Ok(false)`, and nothing in it, where the face has none.
    ///
    /// # Errors
    ///
    /// Those of [`normals`](Self::normals).
    pub fn normals_into(&self, out: &mut Vec<[f32; 3]>) -> Result<bool> {
        self.layout.normals_into(&self.content, out, &mut Budget::new(&self.place.limits))?;
        Ok(self.layout.normals.is_some())
    }

    /// "TexCoord0": two integers a vertex, in [`tex_coord_domain`](Self::tex_coord_domain); `None` where the face has
    /// none.
    #[must_use]
    pub fn raw_tex_coords(&self) -> Option<Array<[u16; 2]>> {
        self.layout.tex_coords.map(|span| self.array(span))
    }

    /// "TexCoord0Domain"; 0 to 0 where there is none, as in the viewer.
    #[must_use]
    pub fn tex_coord_domain(&self) -> Domain<2> {
        self.layout.uv_domain()
    }

    /// The texture coordinates, V up; `Ok(None)` where the face has none.
    ///
    /// # Errors
    ///
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded).
    pub fn tex_coords(&self) -> Result<Option<Array<[f32; 2]>>> {
        let mut out = Vec::new();
        Ok(self.tex_coords_into(&mut out)?.then(|| Array::from_vec(out)))
    }

    /// The same into memory that is used again; `Ok(false)`, and nothing in it, where the face has none.
    ///
    /// # Errors
    ///
    /// Those of [`tex_coords`](Self::tex_coords).
    pub fn tex_coords_into(&self, out: &mut Vec<[f32; 2]>) -> Result<bool> {
        self.layout.tex_coords_into(&self.content, out, &mut Budget::new(&self.place.limits))?;
        Ok(self.layout.tex_coords.is_some())
    }

    /// "TriangleList": three indices a triangle, as stored. Whether they are less than the number of vertices is not
    /// checked. What does not make up a triangle, at the end, is left out.
    #[must_use]
    pub fn indices(&self) -> Array<u16> {
        self.array(self.layout.triangles)
    }

    /// The same indices, three at a time.
    #[must_use]
    pub fn triangles(&self) -> Array<[u16; 3]> {
        self.array(self.layout.triangles)
    }

    /// The indices, each less than the number of vertices.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) for one that is not.
    pub fn checked_indices(&self) -> Result<Array<u16>> {
        let vertices = self.vertex_count();
        match self.wrong_index() {
            None => Ok(self.indices()),
            Some((corner, index)) => {
                let start = as_u64(self.layout.triangles.start.saturating_add(corner.saturating_mul(2)));
                let error = FILE.malformed("TriangleList").at(span(start, 2));
                let error = error.expected(format!("less than {vertices}")).found(index);
                let address = self.address().then("indices").index(as_u64(corner));
                Err(self.place.decoded(error).of(address))
            }
        }
    }

    /// The first index that no vertex has, and its place.
    pub(crate) fn wrong_index(&self) -> Option<(usize, u16)> {
        let indices = self.layout.indices(&self.content);
        let numbers = indices.iter().map(|index| index.get().into());
        let found = scan::out_of_range(numbers, self.vertex_count())?;
        let corner = usize::try_from(found.first).ok()?;
        Some((corner, indices.get(corner)?.get()))
    }

    /// "Weights": which joints move each vertex; `None` where the face has none.
    #[must_use]
    pub fn weights(&self) -> Option<Weights> {
        let span = self.layout.weights?;
        Some(Weights::new(self.slice(span), self.vertex_count(), self.place.limits))
    }

    /// "NormalizedScale": what positions are multiplied by before tangents are computed; `None` where the face has
    /// none, which stands for 1.
    #[must_use]
    pub fn normalized_scale(&self) -> Option<[f32; 3]> {
        self.layout.normalized_scale
    }

    /// The value of any field of the face as LLSD, for [`llsd::Reader`](super::llsd::Reader); the first one of that
    /// name. `None` where the face has none.
    #[must_use]
    pub fn raw_field(&self, key: &str) -> Option<Bytes> {
        let map = self.content.slice(self.layout.start..self.layout.end);
        let limits = Limits::default().with_max_depth(u32::MAX);
        let mut reader = Reader::with_limits(&map, &limits);
        reader.next_event().ok()?;
        while let Some(Event::Key(found)) = reader.next_event().ok()? {
            let start = reader.position();
            reader.skip_value().ok()?;
            if found == key {
                return Some(map.slice(start..reader.position()));
            }
        }
        None
    }

    pub(crate) fn layout(&self) -> &FaceLayout {
        &self.layout
    }

    pub(crate) fn place(&self) -> &BlockPlace {
        &self.place
    }

    fn slice(&self, span: Part) -> Bytes {
        self.content.slice(span.start..span.end)
    }

    fn array<T: crate::bytes::Element>(&self, span: Part) -> Array<T> {
        Array::new(self.slice(span))
    }
}

impl fmt::Debug for Face {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let triangles = self.layout.indices(&self.content).len() / 3;
        write!(f, "Face({}: {} vertices, {triangles} triangles)", self.address(), self.vertex_count())
    }
}
