//! The convex hulls for physics.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::face_layout::{Domain, bytes, floats_into};
use super::keys::PHYSICS_CONVEX;
use super::place::{BlockPlace, Content};
use crate::bytes::Array;
use crate::num::{as_u64, decimal};
use crate::report::Result;

/// "physics_convex": a hull around the mesh, and hulls that have its shape.
///
/// Cloning shares everything.
///
/// Points are integers in a [`domain`](Self::domain), decoded as the positions of a [`Face`](super::Face) are.
#[derive(Clone)]
pub struct PhysicsConvex {
    content: Bytes,
    hull_list: Option<Range<usize>>,
    positions: Option<Range<usize>>,
    bounding_verts: Option<Range<usize>>,
    domain: Domain<3>,
    place: Arc<BlockPlace>,
    /// The number of points after the points of the hulls.
    pub(crate) surplus: usize,
}

const KEYS: [&str; 5] = ["HullList", "Positions", "BoundingVerts", "Min", "Max"];

impl PhysicsConvex {
    /// Reads the content of the block; `Ok(None)` if the content is undefined, as in sub-models.
    pub(crate) fn new(content: Content) -> Result<Option<Self>> {
        let Some((place, content)) = content? else {
            return Ok(None);
        };
        let place = Arc::new(place);
        Self::read(&content, &place).map_err(|error| place.locate(error))
    }

    fn read(content: &Bytes, place: &Arc<BlockPlace>) -> Result<Option<Self>> {
        let Some(value) = place.value(content, PHYSICS_CONVEX)? else {
            return Ok(None);
        };
        let [hull_list, positions, bounding_verts, min, max] = value.fields(&KEYS)?.values;
        let domain = match (min, max) {
            (None, None) => Domain::HALF,
            (min, max) => Domain::read(min, max, value)?,
        };
        let mut convex = Self {
            content: content.clone(),
            hull_list: hull_list.map(|value| value.binary()).transpose()?,
            positions: positions.map(|value| value.binary_of(6)).transpose()?,
            bounding_verts: bounding_verts.map(|value| value.binary_of(6)).transpose()?,
            domain,
            place: Arc::clone(place),
            surplus: 0,
        };
        let expected: usize = convex.sizes().sum();
        let found = convex.positions.as_ref().map_or(0, |span| span.len() / 6);
        match (hull_list, found.checked_sub(expected)) {
            (Some(list), None) => {
                let [expected, found] = [expected, found].map(as_u64);
                let points = format!("the {} points of HullList", decimal(expected));
                let Some(positions) = positions else {
                    return Err(list
                        .error()
                        .expected(format!("Positions of {points}"))
                        .found("none"));
                };
                let [needed, found] =
                    [expected, found].map(|points| decimal(points.saturating_mul(6)));
                let error = positions
                    .wrong_count()
                    .expected(format!("{needed} bytes, for {points}"));
                return Err(error.found(format_args!("{found} bytes")));
            }
            (_, surplus) => convex.surplus = surplus.unwrap_or(0),
        }
        Ok(Some(convex))
    }

    fn sizes(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        let size = |count: &u8| {
            if *count == 0 {
                256
            } else {
                usize::from(*count)
            }
        };
        bytes(&self.content, self.hull_list.as_ref())
            .iter()
            .map(size)
    }

    /// "Min" and "Max"; -0.5 to 0.5 if they are absent.
    #[must_use]
    pub fn domain(&self) -> Domain<3> {
        self.domain
    }

    /// "HullList": the number of points of each hull, 1 to 256 (which is stored as 0).
    ///
    /// `None` if the field is absent.
    #[must_use]
    pub fn hull_sizes(&self) -> Option<impl ExactSizeIterator<Item = usize> + '_> {
        self.hull_list.as_ref().map(|_| self.sizes())
    }

    /// "Positions": the points of all hulls, one after the other, as stored.
    ///
    /// `None` if the field is absent.
    #[must_use]
    pub fn raw_hull_points(&self) -> Option<Array<[u16; 3]>> {
        self.positions
            .clone()
            .map(|span| Array::new(self.content.slice(span)))
    }

    /// The points of all hulls, one after the other; `Ok(None)` if the block has no such points.
    ///
    /// # Errors
    ///
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded).
    pub fn hull_points(&self) -> Result<Option<Array<[f32; 3]>>> {
        self.decode(self.positions.as_ref())
    }

    /// "BoundingVerts": the points of the hull around everything, as stored.
    ///
    /// `None` if the field is absent.
    #[must_use]
    pub fn raw_bounding_verts(&self) -> Option<Array<[u16; 3]>> {
        self.bounding_verts
            .clone()
            .map(|span| Array::new(self.content.slice(span)))
    }

    /// The points of the hull around everything; `Ok(None)` if the block has no such points.
    ///
    /// # Errors
    ///
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded).
    pub fn bounding_verts(&self) -> Result<Option<Array<[f32; 3]>>> {
        self.decode(self.bounding_verts.as_ref())
    }

    fn decode(&self, span: Option<&Range<usize>>) -> Result<Option<Array<[f32; 3]>>> {
        let mut out = Vec::new();
        floats_into(
            (bytes(&self.content, span), self.domain),
            &mut out,
            &self.place.meter(),
        )
        .map_err(|error| self.place.locate(error))?;
        Ok(span.map(|_| Array::from_vec(out)))
    }
}

impl fmt::Debug for PhysicsConvex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PhysicsConvex")
            .field("hulls", &self.sizes().len())
            .field("points", &self.raw_hull_points().map(|points| points.len()))
            .field(
                "bounding_verts",
                &self.raw_bounding_verts().map(|points| points.len()),
            )
            .field("domain", &self.domain)
            .finish()
    }
}
