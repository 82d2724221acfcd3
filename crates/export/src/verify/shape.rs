//! Triangles and what their corners have, from a mesh file or from what was written.

use std::rc::Rc;

use super::tally::Tally;

/// A mesh whose streams may have indices of their own.
#[derive(Default)]
pub(super) struct Shape {
    pub(super) positions: Rc<Vec<[f32; 3]>>,
    pub(super) corners: Vec<[u32; 3]>,
    pub(super) normals: Option<Stream<3>>,
    pub(super) coords: Vec<Stream<2>>,
    /// How far positions and normals may be from those that are expected, where they were computed.
    pub(super) tolerance: Option<[f64; 2]>,
}

#[derive(Clone)]
pub(super) struct Stream<const N: usize> {
    /// Shared by the parts of a mesh.
    pub(super) values: Rc<Vec<[f32; N]>>,
    /// Those of the positions where there are none.
    pub(super) corners: Option<Vec<[u32; 3]>>,
}

impl<const N: usize> Stream<N> {
    fn at(&self, triangle: usize, corner: usize, shared: u32) -> Option<[f32; N]> {
        let index = match &self.corners {
            Some(corners) => *corners.get(triangle)?.get(corner)?,
            None => shared,
        };
        self.values.get(index as usize).copied()
    }
}

/// How far from the origin's direction a normal may be that was made one of unit length.
const TOLERANCE: f64 = 1e-6;

/// Compares the corners of all triangles.
pub(super) fn compare(name: &str, expected: &Shape, found: &Shape, tally: &mut Tally) {
    if expected.corners.len() != found.corners.len() {
        let [expected, found] = [expected, found].map(|shape| shape.corners.len());
        return tally.differs(|| format!("{name} has {found} triangles, where the file has {expected}"));
    }
    if found.normals.is_some() && expected.normals.is_none() {
        tally.differs(|| format!("{name} has normals, which the file has not"));
    }
    for (triangle, (from, to)) in expected.corners.iter().zip(&found.corners).enumerate() {
        for corner in 0..3 {
            let (from, to) = (from[corner], to[corner]);
            let place = || format!("{name}, triangle {triangle}, corner {corner}");
            let [a, b] = [(&expected.positions, from), (&found.positions, to)]
                .map(|(positions, index)| positions.get(index as usize).copied());
            match expected.tolerance {
                Some([tolerance, _]) => near("positions of corners", a, b, tolerance, place, tally),
                None => same("positions of corners", a, b, place, tally),
            }
            if let (Some(normals), Some(others)) = (&expected.normals, &found.normals) {
                let (a, b) = (normals.at(triangle, corner, from), others.at(triangle, corner, to));
                let tolerance = expected.tolerance.map_or(TOLERANCE, |[_, tolerance]| tolerance);
                normal(a, b, tolerance, place, tally);
            }
            for (expected, found) in expected.coords.iter().zip(&found.coords) {
                let [a, b] = [expected.at(triangle, corner, from), found.at(triangle, corner, to)];
                same("texture coordinates of corners", a, b, place, tally);
            }
        }
    }
}

/// Numbers that must be the same bits; 0 may have lost its sign.
pub(super) fn same<const N: usize>(
    what: &'static str,
    expected: Option<[f32; N]>,
    found: Option<[f32; N]>,
    place: impl Fn() -> String,
    tally: &mut Tally,
) {
    let (Some(a), Some(b)) = (expected, found) else {
        return tally.differs(|| format!("{}: an index without an element", place()));
    };
    if a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits() || *a == 0.0 && b == 0.0) {
        tally.equal(what);
    } else {
        tally.differs(|| format!("{}: {b:?}, where the file has {a:?}", place()));
    }
}

/// Numbers that were computed in two ways.
fn near(
    what: &'static str,
    expected: Option<[f32; 3]>,
    found: Option<[f32; 3]>,
    tolerance: f64,
    place: impl Fn() -> String,
    tally: &mut Tally,
) {
    let (Some(a), Some(b)) = (expected, found) else {
        return tally.differs(|| format!("{}: an index without an element", place()));
    };
    let apart = a.iter().zip(b).map(|(a, b)| (f64::from(*a) - f64::from(b)).abs()).fold(0.0, f64::max);
    if a == b {
        tally.equal(what);
    } else if apart <= tolerance {
        tally.rounded(what, apart);
    } else {
        tally.differs(|| format!("{}: {b:?}, where the frame has {a:?}", place()));
    }
}

/// Normals have their bits, or the same direction with unit length; where the origin has no direction, any.
fn normal(
    expected: Option<[f32; 3]>,
    found: Option<[f32; 3]>,
    tolerance: f64,
    place: impl Fn() -> String,
    tally: &mut Tally,
) {
    const WHAT: &str = "normals of corners";
    let (Some(a), Some(b)) = (expected, found) else {
        return tally.differs(|| format!("{}: a normal without an element", place()));
    };
    if a.map(f32::to_bits) == b.map(f32::to_bits) {
        return tally.equal(WHAT);
    }
    let wide = a.map(f64::from);
    let length = wide.iter().map(|number| number * number).sum::<f64>().sqrt();
    let apart = |(a, b): (f64, f32)| (a / length - f64::from(b)).abs();
    let difference = wide.into_iter().zip(b).map(apart).fold(0.0, f64::max);
    if length == 0.0 || !length.is_finite() || difference <= tolerance {
        tally.rounded(WHAT, if difference.is_finite() { difference } else { 0.0 });
    } else {
        tally.differs(|| format!("{}: the normal {b:?}, where the file has {a:?}", place()));
    }
}
