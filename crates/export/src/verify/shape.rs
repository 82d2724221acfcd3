//! Triangles and what their corners have, from a mesh file or from what was written.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::tally::Tally;

/// A mesh whose streams may have indices of their own.
#[derive(Default)]
pub(super) struct Shape {
    pub(super) positions: Rc<Vec<[f32; 3]>>,
    pub(super) corners: Vec<[u32; 3]>,
    pub(super) normals: Option<Stream<3>>,
    pub(super) coords: Vec<Stream<2>>,
    /// Colours of vertices, by the number of their set.
    pub(super) colors: BTreeMap<u32, Rc<Vec<[f32; 4]>>>,
    /// Joints of vertices, and their weights.
    pub(super) influences: Option<Influences>,
    pub(super) materials: Materials,
}

/// Points, as triangles whose corners are equal.
pub(super) fn points(count: usize) -> Vec<[u32; 3]> {
    (0..u32::try_from(count).unwrap_or(u32::MAX))
        .map(|point| [point; 3])
        .collect()
}

#[derive(Clone)]
pub(super) struct Stream<const N: usize> {
    /// Shared by the parts of a mesh.
    pub(super) values: Rc<Vec<[f32; N]>>,
    /// The corners of the positions if there are none.
    pub(super) corners: Option<Vec<[u32; 3]>>,
}

/// Up to four joints of each vertex, and their weights.
#[derive(Clone)]
pub(super) struct Influences {
    pub(super) joints: Rc<Vec<[f32; 4]>>,
    pub(super) weights: Rc<Vec<[f32; 4]>>,
    /// The joint of vertices without weights, if there is one. Weights are then shares of their sum.
    pub(super) rest: Option<f32>,
}

impl Influences {
    /// The joints of a vertex in ascending order, with their weights.
    fn at(&self, vertex: u32) -> Option<Vec<(f32, f64)>> {
        let (joints, weights) = (
            self.joints.get(vertex as usize)?,
            self.weights.get(vertex as usize)?,
        );
        let usable = |weight: f32| weight > 0.0 && weight.is_finite();
        let pairs = joints
            .iter()
            .zip(weights)
            .filter(|(_, weight)| usable(**weight));
        let all = || pairs.clone().map(|(_, weight)| f64::from(*weight)).sum();
        let sum: f64 = if self.rest.is_some() { all() } else { 1.0 };
        let mut shares: Vec<(f32, f64)> = Vec::new();
        for (joint, weight) in pairs {
            let share = f64::from(*weight) / sum;
            match shares.iter_mut().find(|(other, _)| other == joint) {
                Some((_, sum)) => *sum += share,
                None => shares.push((*joint, share)),
            }
        }
        if shares.is_empty() {
            shares.extend(self.rest.map(|rest| (rest, 1.0)));
        }
        shares.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        Some(shares)
    }
}

/// The names of the materials of triangles.
#[derive(Clone, Default)]
pub(super) struct Materials {
    /// Shared by the parts of a mesh.
    pub(super) names: Rc<Vec<String>>,
    /// The number of the name of each triangle; the first name for triangles beyond the end.
    pub(super) of: Vec<u32>,
}

impl Materials {
    /// One material for all triangles.
    pub(super) fn one(name: Option<&str>) -> Self {
        Self {
            names: Rc::new(name.map(str::to_owned).into_iter().collect()),
            of: Vec::new(),
        }
    }

    /// A material for each triangle, by its ID.
    pub(super) fn by_id(ids: impl Iterator<Item = u32>, name: impl Fn(u32) -> String) -> Self {
        let (mut names, mut numbers) = (Vec::new(), BTreeMap::new());
        let number = |id| {
            *numbers.entry(id).or_insert_with(|| {
                names.push(name(id));
                u32::try_from(names.len() - 1).unwrap_or(u32::MAX)
            })
        };
        let of = ids.map(number).collect();
        Self {
            names: Rc::new(names),
            of,
        }
    }

    /// The name of the material of the first triangle.
    pub(super) fn first(&self) -> Option<&str> {
        Some(self.at(0)).filter(|name| !name.is_empty())
    }

    /// The name of the material of a triangle; empty without one.
    fn at(&self, triangle: usize) -> &str {
        let number = self.of.get(triangle).copied().unwrap_or_default();
        self.names.get(number as usize).map_or("", String::as_str)
    }
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

/// The tolerance of the direction of a normal that was normalized.
const TOLERANCE: f64 = 1e-6;

/// Compares the corners of all triangles.
pub(super) fn compare(name: &str, expected: &Shape, found: &Shape, tally: &mut Tally) {
    if expected.corners.len() != found.corners.len() {
        let [expected, found] = [expected, found].map(|shape| shape.corners.len());
        return tally
            .differs(|| format!("{name} has {found} triangles, where the file has {expected}"));
    }
    if found.normals.is_some() && expected.normals.is_none() {
        tally.differs(|| format!("{name} has normals, which the file has not"));
    }
    let have_weights = [expected, found].map(|shape| shape.influences.is_some());
    if have_weights[0] != have_weights[1] {
        let has = if have_weights[1] { "has" } else { "lacks" };
        tally.differs(|| format!("{name} {has} joints and weights, unlike the file"));
    }
    for set in expected.colors.keys().chain(found.colors.keys()) {
        if !(expected.colors.contains_key(set) && found.colors.contains_key(set)) {
            tally.differs(|| {
                format!("{name} has other sets of colours than the file: color[{set}]")
            });
        }
    }
    for (triangle, (from, to)) in expected.corners.iter().zip(&found.corners).enumerate() {
        let [a, b] = [expected, found].map(|shape| shape.materials.at(triangle));
        if a == b {
            tally.equal("materials of triangles");
        } else {
            tally.differs(|| {
                format!("{name}, triangle {triangle}: the material {b:?}, where the file has {a:?}")
            });
        }
        for corner in 0..3 {
            let (from, to) = (from[corner], to[corner]);
            let place = || format!("{name}, triangle {triangle}, corner {corner}");
            let [a, b] = [(&expected.positions, from), (&found.positions, to)]
                .map(|(positions, index)| positions.get(index as usize).copied());
            same("positions of corners", a, b, place, tally);
            if let (Some(normals), Some(others)) = (&expected.normals, &found.normals) {
                let (a, b) = (
                    normals.at(triangle, corner, from),
                    others.at(triangle, corner, to),
                );
                normal(a, b, place, tally);
            }
            for (expected, found) in expected.coords.iter().zip(&found.coords) {
                let [a, b] = [
                    expected.at(triangle, corner, from),
                    found.at(triangle, corner, to),
                ];
                same("texture coordinates of corners", a, b, place, tally);
            }
            for (set, colors) in &expected.colors {
                let Some(others) = found.colors.get(set) else {
                    continue;
                };
                let [a, b] =
                    [(colors, from), (others, to)].map(|(all, at)| all.get(at as usize).copied());
                same("colours of corners", a, b, place, tally);
            }
            if let (Some(influences), Some(others)) = (&expected.influences, &found.influences) {
                weights(influences.at(from), others.at(to), place, tally);
            }
        }
    }
}

/// Joints must be the same; shares of the sum may be rounded.
fn weights(
    expected: Option<Vec<(f32, f64)>>,
    found: Option<Vec<(f32, f64)>>,
    place: impl Fn() -> String,
    tally: &mut Tally,
) {
    /// A weight is rounded when it is divided by the sum, and once more in the sum of what is read.
    const ROUNDED: f64 = 1e-6;
    const WHAT: &str = "joints and weights of corners";
    let (Some(a), Some(b)) = (expected, found) else {
        return tally.differs(|| format!("{}: a joint without an element", place()));
    };
    let apart = a
        .iter()
        .zip(&b)
        .map(|((_, a), (_, b))| (a - b).abs())
        .fold(0.0, f64::max);
    let are_same = a.len() == b.len() && a.iter().zip(&b).all(|((a, _), (b, _))| a == b);
    match () {
        () if are_same && apart == 0.0 => tally.equal(WHAT),
        () if are_same && apart <= ROUNDED => tally.rounded(WHAT, apart),
        () => tally.differs(|| {
            format!(
                "{}: the joints and weights {b:?}, where the file has {a:?}",
                place()
            )
        }),
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
    if a.iter()
        .zip(b)
        .all(|(a, b)| a.to_bits() == b.to_bits() || *a == 0.0 && b == 0.0)
    {
        tally.equal(what);
    } else {
        tally.differs(|| format!("{}: {b:?}, where the file has {a:?}", place()));
    }
}

/// Normals have their bits, or the same direction with unit length; where the origin has no direction, any.
fn normal(
    expected: Option<[f32; 3]>,
    found: Option<[f32; 3]>,
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
    let length = wide
        .iter()
        .map(|number| number * number)
        .sum::<f64>()
        .sqrt();
    let apart = |(a, b): (f64, f32)| (a / length - f64::from(b)).abs();
    let difference = wide.into_iter().zip(b).map(apart).fold(0.0, f64::max);
    if length == 0.0 || !length.is_finite() || difference <= TOLERANCE {
        tally.rounded(
            WHAT,
            if difference.is_finite() {
                difference
            } else {
                0.0
            },
        );
    } else {
        tally.differs(|| format!("{}: the normal {b:?}, where the file has {a:?}", place()));
    }
}
