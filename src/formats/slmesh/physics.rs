//! The convex hulls for physics.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::face_layout::{Domain, Quantized, bytes};
use super::fields::Value;
use super::keys::PHYSICS_CONVEX;
use super::place::{BlockPlace, Content};
use crate::bytes::Array;
use crate::num::decimal;
use crate::report::{Error, Result};

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

/// The bytes of a point: three integers.
const POINT: usize = 6;

const KEYS: [&str; 5] = ["HullList", "Positions", "BoundingVerts", "Min", "Max"];

impl PhysicsConvex {
    /// Reads the content of the block; `Ok(None)` if the content is undefined, as in sub-models.
    pub(crate) fn new(content: Content) -> Result<Option<Self>> {
        let Some(block) = content? else {
            return Ok(None);
        };
        let place = Arc::new(block.place);
        Self::read(&block.content, &place).map_err(|error| place.locate(error))
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
            hull_list: match hull_list {
                Some(value) => Some(value.binary()?),
                None => None,
            },
            positions: match positions {
                Some(value) => Some(value.binary_of(POINT)?),
                None => None,
            },
            bounding_verts: match bounding_verts {
                Some(value) => Some(value.binary_of(POINT)?),
                None => None,
            },
            domain,
            place: Arc::clone(place),
            surplus: 0,
        };
        let expected: usize = convex.sizes().sum();
        let found = match &convex.positions {
            Some(span) => span.len() / POINT,
            None => 0,
        };
        if let Some(hull_list) = hull_list
            && found < expected
        {
            return Err(too_few_points(hull_list, positions, expected, found));
        }
        convex.surplus = found.saturating_sub(expected);
        Ok(Some(convex))
    }

    /// The numbers of points of the hulls; 0 stands for 256, which a byte cannot store.
    fn sizes(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        let stored = bytes(&self.content, self.hull_list.as_ref());
        stored.iter().map(|size| match size {
            0 => 256,
            size => usize::from(*size),
        })
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
        let points = Quantized {
            stored: bytes(&self.content, span),
            domain: self.domain,
        };
        let mut out = Vec::new();
        points
            .decode_into(&mut out, &self.place.meter())
            .map_err(|error| self.place.locate(error))?;
        if span.is_none() {
            return Ok(None);
        }
        Ok(Some(Array::from_vec(out)))
    }
}

/// The error for fewer points in "Positions" than "HullList" has.
fn too_few_points(
    hull_list: Value<'_>,
    positions: Option<Value<'_>>,
    expected: usize,
    found: usize,
) -> Error {
    let points = format!("the {} points of HullList", decimal(expected));
    let Some(positions) = positions else {
        let error = hull_list.error();
        return error
            .expected(format!("Positions of {points}"))
            .found("none");
    };
    let needed = decimal(expected.saturating_mul(POINT));
    let stored = decimal(found.saturating_mul(POINT));
    let error = positions.wrong_count();
    error
        .expected(format!("{needed} bytes, for {points}"))
        .found(format_args!("{stored} bytes"))
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
