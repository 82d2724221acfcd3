//! Triangles and what their corners have, from a mesh file or from what was written.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::tally::Tally;

/// A mesh whose streams may have separate indices.
#[derive(Default)]
pub(crate) struct Mesh {
    pub(crate) positions: Rc<Vec<[f32; 3]>>,
    pub(crate) corners: Vec<[u32; 3]>,
    pub(crate) normals: Option<Stream<3>>,
    /// Sets of texture coordinates.
    pub(crate) coords: Vec<Stream<2>>,
    /// Colours of vertices, by the number of their set.
    pub(crate) colors: BTreeMap<u32, Rc<Vec<[f32; 4]>>>,
    /// Joints of vertices, and their weights.
    pub(crate) weights: Option<Weights>,
    pub(crate) materials: Materials,
}

/// Points, as triangles whose corners are equal.
pub(crate) fn points(count: usize) -> Vec<[u32; 3]> {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    (0..count).map(|point| [point; 3]).collect()
}

/// The values of an attribute.
#[derive(Clone)]
pub(crate) struct Stream<const N: usize> {
    /// Shared by the parts of a mesh.
    pub(crate) values: Rc<Vec<[f32; N]>>,
    /// The corners of the positions if there are none.
    pub(crate) corners: Option<Vec<[u32; 3]>>,
}

impl<const N: usize> Stream<N> {
    /// The value of a corner; `vertex` is the index of its position.
    pub(crate) fn at(&self, triangle: usize, corner: usize, vertex: u32) -> Option<[f32; N]> {
        let index = match &self.corners {
            Some(corners) => *corners.get(triangle)?.get(corner)?,
            None => vertex,
        };
        self.values.get(index as usize).copied()
    }
}

/// Up to four joints of each vertex, and their weights.
#[derive(Clone)]
pub(crate) struct Weights {
    pub(crate) joints: Rc<Vec<[f32; 4]>>,
    pub(crate) weights: Rc<Vec<[f32; 4]>>,
    /// The joint of vertices without weights, if there is one. Weights are then shares of their sum.
    pub(crate) rest: Option<f32>,
}

impl Weights {
    /// The joints of a vertex in ascending order, each with its weight.
    fn at(&self, vertex: u32) -> Option<Vec<(f32, f64)>> {
        let joints = self.joints.get(vertex as usize)?;
        let weights = self.weights.get(vertex as usize)?;
        let is_used = |weight: f32| weight > 0.0 && weight.is_finite();
        let mut sum = 1.0;
        if self.rest.is_some() {
            let used = weights.iter().filter(|weight| is_used(**weight));
            sum = used.map(|weight| f64::from(*weight)).sum();
        }
        let mut shares: Vec<(f32, f64)> = Vec::new();
        for (joint, weight) in joints.iter().zip(weights) {
            if !is_used(*weight) {
                continue;
            }
            let share = f64::from(*weight) / sum;
            match shares.iter_mut().find(|(other, _)| other == joint) {
                Some((_, sum)) => *sum += share,
                None => shares.push((*joint, share)),
            }
        }
        if let Some(rest) = self.rest
            && shares.is_empty()
        {
            shares.push((rest, 1.0));
        }
        shares.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        Some(shares)
    }
}

/// The names of the materials of triangles.
#[derive(Clone, Default)]
pub(crate) struct Materials {
    /// Shared by the parts of a mesh.
    pub(crate) names: Rc<Vec<String>>,
    /// The index of each triangle's name; triangles beyond the end have the first name.
    pub(crate) of: Vec<u32>,
}

impl Materials {
    /// One material for all triangles.
    pub(crate) fn one(name: Option<&str>) -> Self {
        Self {
            names: Rc::new(name.map(str::to_owned).into_iter().collect()),
            of: Vec::new(),
        }
    }

    /// A material for each triangle, by its ID.
    pub(crate) fn by_id(ids: impl Iterator<Item = u32>, name: impl Fn(u32) -> String) -> Self {
        let mut names = Vec::new();
        let mut known = BTreeMap::new();
        let mut of = Vec::new();
        for id in ids {
            let index = *known.entry(id).or_insert_with(|| {
                names.push(name(id));
                u32::try_from(names.len() - 1).unwrap_or(u32::MAX)
            });
            of.push(index);
        }
        Self {
            names: Rc::new(names),
            of,
        }
    }

    /// The name of the material of the first triangle.
    pub(crate) fn first(&self) -> Option<&str> {
        Some(self.at(0)).filter(|name| !name.is_empty())
    }

    /// The materials of some triangles.
    pub(crate) fn pick(&self, triangles: &[usize]) -> Self {
        let of = triangles.iter();
        Self {
            names: Rc::clone(&self.names),
            of: of
                .filter_map(|triangle| self.of.get(*triangle).copied())
                .collect(),
        }
    }

    /// The name of the material of a triangle; empty without one.
    pub(crate) fn at(&self, triangle: usize) -> &str {
        let index = self.of.get(triangle).copied().unwrap_or_default();
        self.names.get(index as usize).map_or("", String::as_str)
    }
}

/// Compares the corners of all triangles.
pub(crate) fn compare(name: &str, expected: &Mesh, found: &Mesh, tally: &mut Tally) {
    if !compare_parts(name, expected, found, tally) {
        return;
    }
    for triangle in 0..expected.corners.len() {
        let a = expected.materials.at(triangle);
        let b = found.materials.at(triangle);
        if a == b {
            tally.equal("materials of triangles");
        } else {
            tally.differs(|| {
                format!("{name}, triangle {triangle}: the material {b:?}, where the file has {a:?}")
            });
        }
        for corner in 0..3 {
            compare_corner(name, expected, found, triangle, corner, tally);
        }
    }
}

/// Compares what meshes have; `false` if their triangles cannot be compared one by one.
fn compare_parts(name: &str, expected: &Mesh, found: &Mesh, tally: &mut Tally) -> bool {
    let count = expected.corners.len();
    let found_count = found.corners.len();
    if count != found_count {
        tally.differs(|| format!("{name} has {found_count} triangles, where the file has {count}"));
        return false;
    }
    if found.normals.is_some() && expected.normals.is_none() {
        tally.differs(|| format!("{name} has normals, which the file has not"));
    }
    if expected.weights.is_some() != found.weights.is_some() {
        let has = if found.weights.is_some() {
            "has"
        } else {
            "lacks"
        };
        tally.differs(|| format!("{name} {has} joints and weights, unlike the file"));
    }
    for set in expected.colors.keys().chain(found.colors.keys()) {
        if !expected.colors.contains_key(set) || !found.colors.contains_key(set) {
            tally.differs(|| {
                format!("{name} has other sets of colours than the file: color[{set}]")
            });
        }
    }
    true
}

/// Compares what a corner of a triangle has.
fn compare_corner(
    name: &str,
    expected: &Mesh,
    found: &Mesh,
    triangle: usize,
    corner: usize,
    tally: &mut Tally,
) {
    let place = || format!("{name}, triangle {triangle}, corner {corner}");
    let vertex_of = |mesh: &Mesh| mesh.corners.get(triangle).map_or(0, |all| all[corner]);
    let from = vertex_of(expected);
    let to = vertex_of(found);
    let a = expected.positions.get(from as usize).copied();
    let b = found.positions.get(to as usize).copied();
    same("positions of corners", a, b, place, tally);
    if let (Some(normals), Some(others)) = (&expected.normals, &found.normals) {
        let a = normals.at(triangle, corner, from);
        let b = others.at(triangle, corner, to);
        compare_normals(a, b, place, tally);
    }
    for (coords, others) in expected.coords.iter().zip(&found.coords) {
        let a = coords.at(triangle, corner, from);
        let b = others.at(triangle, corner, to);
        same("texture coordinates of corners", a, b, place, tally);
    }
    for (set, colors) in &expected.colors {
        let Some(others) = found.colors.get(set) else {
            continue;
        };
        let a = colors.get(from as usize).copied();
        let b = others.get(to as usize).copied();
        same("colours of corners", a, b, place, tally);
    }
    if let (Some(weights), Some(others)) = (&expected.weights, &found.weights) {
        compare_weights(weights.at(from), others.at(to), place, tally);
    }
}

/// Joints must be the same; weights may be rounded.
fn compare_weights(
    expected: Option<Vec<(f32, f64)>>,
    found: Option<Vec<(f32, f64)>>,
    place: impl Fn() -> String,
    tally: &mut Tally,
) {
    /// A weight is rounded when it is divided by the sum, and once more in the sum of what is read.
    const ROUNDED: f64 = 1e-6;
    const WHAT: &str = "joints and weights of corners";
    let (Some(a), Some(b)) = (expected, found) else {
        tally.differs(|| format!("{}: a joint without an element", place()));
        return;
    };
    let mut are_same = a.len() == b.len();
    let mut apart = 0.0;
    for ((joint, weight), (other_joint, other_weight)) in a.iter().zip(&b) {
        are_same &= joint == other_joint;
        apart = f64::max(apart, (weight - other_weight).abs());
    }
    if are_same && apart == 0.0 {
        tally.equal(WHAT);
    } else if are_same && apart <= ROUNDED {
        tally.rounded(WHAT, apart);
    } else {
        tally.differs(|| {
            let place = place();
            format!("{place}: the joints and weights {b:?}, where the file has {a:?}")
        });
    }
}

/// Numbers that must be the same bits; 0 may have lost its sign.
pub(crate) fn same<const N: usize>(
    what: &'static str,
    expected: Option<[f32; N]>,
    found: Option<[f32; N]>,
    place: impl Fn() -> String,
    tally: &mut Tally,
) {
    let (Some(a), Some(b)) = (expected, found) else {
        tally.differs(|| format!("{}: an index without an element", place()));
        return;
    };
    if are_same(&a, &b) {
        tally.equal(what);
    } else {
        tally.differs(|| format!("{}: {b:?}, where the file has {a:?}", place()));
    }
}

/// `true` if numbers have the same bits; 0 may have lost its sign.
pub(crate) fn are_same(a: &[f32], b: &[f32]) -> bool {
    let mut pairs = a.iter().zip(b);
    pairs.all(|(a, b)| a.to_bits() == b.to_bits() || *a == 0.0 && *b == 0.0)
}

/// Normals have their bits, or the same direction with unit length; where the origin has no direction, any.
fn compare_normals(
    expected: Option<[f32; 3]>,
    found: Option<[f32; 3]>,
    place: impl Fn() -> String,
    tally: &mut Tally,
) {
    /// The tolerance of the direction of a normal that was normalized.
    const TOLERANCE: f64 = 1e-6;
    const WHAT: &str = "normals of corners";
    let (Some(a), Some(b)) = (expected, found) else {
        tally.differs(|| format!("{}: a normal without an element", place()));
        return;
    };
    if a.map(f32::to_bits) == b.map(f32::to_bits) {
        tally.equal(WHAT);
        return;
    }
    let wide = a.map(f64::from);
    let squares = wide.map(|number| number * number);
    let length = squares.iter().sum::<f64>().sqrt();
    let mut difference = 0.0;
    for (number, other) in wide.iter().zip(b) {
        difference = f64::max(difference, (number / length - f64::from(other)).abs());
    }
    if length == 0.0 || !length.is_finite() || difference <= TOLERANCE {
        let is_known = difference.is_finite();
        tally.rounded(WHAT, if is_known { difference } else { 0.0 });
    } else {
        tally.differs(|| format!("{}: the normal {b:?}, where the file has {a:?}", place()));
    }
}
