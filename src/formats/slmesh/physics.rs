//! The convex hulls for physics.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::face_layout::{Domain, Quantized, bytes};
use super::fields::Value;
use super::keys::PHYSICS_CONVEX;
use super::place::{BlockPlace, Content};
use super::rules::FILE;
use crate::bytes::Array;
use crate::limits::reserve_vec;
use crate::num::{as_u64, as_usize, decimal};
use crate::report::{Address, Error, Result, Segment};

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

/// A hull of a [`PhysicsConvex`]: its points, of which the file stores no triangles.
///
/// Cloning shares everything.
#[derive(Clone)]
pub struct Hull {
    /// The index in "HullList"; `None` for the hull around everything.
    pub(super) index: Option<usize>,
    pub(super) points: Array<[u16; 3]>,
    pub(super) domain: Domain<3>,
    pub(super) place: Arc<BlockPlace>,
}

impl Hull {
    /// The index in "HullList"; `None` for "BoundingVerts", the hull around everything.
    #[must_use]
    pub fn index(&self) -> Option<usize> {
        self.index
    }

    /// The address of the hull: `physics_convex.hulls[0]`, or `physics_convex.bounding_verts`.
    #[must_use]
    pub fn address(&self) -> Address {
        let block = Address::field(PHYSICS_CONVEX);
        match self.index {
            Some(index) => block.then(HULLS).index(as_u64(index)),
            None => block.then(BOUNDING_VERTS),
        }
    }

    /// The points as stored: three integers each, in the [`domain`](Self::domain).
    #[must_use]
    pub fn raw_points(&self) -> &Array<[u16; 3]> {
        &self.points
    }

    /// "Min" and "Max" of the block; -0.5 to 0.5 if they are absent.
    #[must_use]
    pub fn domain(&self) -> Domain<3> {
        self.domain
    }
}

/// The bytes of a point: three integers.
const POINT: usize = 6;

/// The hulls of "HullList", in addresses.
const HULLS: &str = "hulls";
/// The hull around everything, in addresses.
const BOUNDING_VERTS: &str = "bounding_verts";

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

    /// The hulls at an address of the block:
    ///
    /// | address | hulls |
    /// |---|---|
    /// | `physics_convex.hulls[1]` | this one of "HullList" |
    /// | `physics_convex.hulls` | all of "HullList" |
    /// | `physics_convex.bounding_verts` | the hull around everything |
    /// | `physics_convex` | all of these |
    ///
    /// The address of a part of a hull is also an address of the hull.
    ///
    /// # Examples
    ///
    /// ```
    /// use meshmap::slmesh::Asset;
    ///
    /// let asset = Asset::open("tests/data/slmesh/valid/ours_hulls_a.slmesh")?;
    /// let convex = asset.physics_convex()?.expect("this asset has hulls");
    /// let hulls = convex.hulls_at(&"physics_convex.hulls".parse()?)?;
    /// let sizes = hulls.iter().map(|hull| hull.raw_points().len());
    /// assert!(sizes.eq(convex.hull_sizes().expect("there is a list")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](crate::ErrorKind::OutOfRange) if the block has no such hull, and
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if it has more hulls than the limits allow.
    pub fn hulls_at(&self, address: &Address) -> Result<Vec<Hull>> {
        let mut hulls = Vec::new();
        match address.segments() {
            [Segment::Field(block)] if block == PHYSICS_CONVEX => {
                self.add_hulls(&mut hulls)?;
                hulls.extend(self.bounding_hull());
            }
            [Segment::Field(block), Segment::Field(field)]
                if block == PHYSICS_CONVEX && field == HULLS =>
            {
                self.add_hulls(&mut hulls)?;
            }
            [
                Segment::Field(block),
                Segment::Field(field),
                Segment::Index(index),
                ..,
            ] if block == PHYSICS_CONVEX && field == HULLS => {
                hulls.extend(self.hull(as_usize(*index)));
            }
            [Segment::Field(block), Segment::Field(field), ..]
                if block == PHYSICS_CONVEX && field == BOUNDING_VERTS =>
            {
                hulls.extend(self.bounding_hull());
            }
            _ => {}
        }
        if hulls.is_empty() {
            return Err(self.no_hull(address));
        }
        Ok(hulls)
    }

    /// Adds all hulls of "HullList".
    fn add_hulls(&self, hulls: &mut Vec<Hull>) -> Result<()> {
        let count = as_u64(self.sizes().len());
        let meter = self.place.meter();
        reserve_vec(&meter, hulls, meter.read(), count, PHYSICS_CONVEX)
            .map_err(|error| self.place.locate(error))?;
        let mut start = 0_usize;
        for (index, size) in self.sizes().enumerate() {
            hulls.extend(self.hull_of(index, start, size));
            start = start.saturating_add(size);
        }
        Ok(())
    }

    /// The hull at an index of "HullList".
    fn hull(&self, index: usize) -> Option<Hull> {
        let size = self.sizes().nth(index)?;
        let start = self.sizes().take(index).sum();
        self.hull_of(index, start, size)
    }

    /// The hull of `size` points from the point `start` on.
    fn hull_of(&self, index: usize, start: usize, size: usize) -> Option<Hull> {
        let points = self.raw_hull_points()?;
        let points = points.slice(start..start.checked_add(size)?)?;
        Some(self.hull_of_points(Some(index), points))
    }

    fn bounding_hull(&self) -> Option<Hull> {
        Some(self.hull_of_points(None, self.raw_bounding_verts()?))
    }

    fn hull_of_points(&self, index: Option<usize>, points: Array<[u16; 3]>) -> Hull {
        Hull {
            index,
            points,
            domain: self.domain,
            place: Arc::clone(&self.place),
        }
    }

    /// The error of an address that names no hull of the block.
    fn no_hull(&self, address: &Address) -> Error {
        let mut there = Vec::new();
        match self.sizes().len() {
            0 => {}
            1 => there.push(format!("{PHYSICS_CONVEX}.{HULLS}[0]")),
            count => {
                let last = count.saturating_sub(1);
                there.push(format!(
                    "{PHYSICS_CONVEX}.{HULLS}[i] with i from 0 to {last}"
                ));
            }
        }
        if self.bounding_verts.is_some() {
            there.push(format!("{PHYSICS_CONVEX}.{BOUNDING_VERTS}"));
        }
        let expected = if there.is_empty() {
            "a block with hulls".to_owned()
        } else {
            there.join(" or ")
        };
        let error = FILE.of(address.clone()).out_of_range("hull");
        let error = error.expected(expected).found(address);
        error.in_file(self.place.path.as_ref())
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

impl fmt::Debug for Hull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hull({}: {} points)", self.address(), self.points.len())
    }
}
