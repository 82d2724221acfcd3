//! Compares the triangles of two meshes, whose triangles or vertices may be in another order.

use std::collections::HashMap;

use meshmap::ArrayData;

/// A kind of match between meshes that are not equal.
#[derive(Debug, PartialEq)]
pub enum Match {
    /// The triangles of the array of this address, by vertices in the same order.
    TrianglesReordered {
        /// The address of the indices.
        indices: String,
    },
    /// The triangles, by where their corners are.
    VerticesReordered {
        /// The address of the positions.
        positions: String,
        /// The address of the indices.
        indices: String,
        /// The greatest distance of two vertices on an axis.
        largest: f64,
    },
}

/// Looks for the positions and the indices among pairs of arrays; `None` if these are equal, or also differ in
/// another order.
#[must_use]
pub fn of_pairs(pairs: &[(String, ArrayData, ArrayData)], tolerance: f64) -> Option<Match> {
    let ends_with = |endings: &[&str]| {
        pairs
            .iter()
            .find(|(address, ..)| endings.iter().any(|ending| address.ends_with(ending)))
    };
    let (indices, left, right) =
        ends_with(&[".indices", ".vertex_triangles"]).filter(|(_, a, _)| !a.scalar().is_float())?;
    let (positions, a, b) = ends_with(&["positions", ".vertices"])
        .filter(|(_, a, _)| a.scalar().is_float() && a.components() == 3)?;
    if left.as_bytes() == right.as_bytes() || left.shape() != right.shape() || a.len() != b.len() {
        return None;
    }
    let left = corners(left);
    let right = corners(right);
    if sorted(&left) == sorted(&right) {
        return Some(Match::TrianglesReordered {
            indices: indices.clone(),
        });
    }
    let a = points(a);
    let b = points(b);
    let cells = Cells::new(&a, tolerance)?;
    let (classes, largest) = matched(&a, &b, &cells)?;
    let own = cells.alike(&a, &left);
    let classes: Vec<u64> = classes
        .into_iter()
        .map(|class| place_in(&own, class))
        .collect();
    let of = |triangles: &[[u64; 3]], classes: &[u64]| {
        let corner = |index: u64| place_in(classes, index);
        sorted(
            &triangles
                .iter()
                .map(|triangle| triangle.map(corner))
                .collect::<Vec<_>>(),
        )
    };
    (of(&left, &own) == of(&right, &classes)).then(|| Match::VerticesReordered {
        positions: positions.clone(),
        indices: indices.clone(),
        largest,
    })
}

fn corners(values: &ArrayData) -> Vec<[u64; 3]> {
    let numbers: Vec<u64> = values.numbers().map(|number| number as u64).collect();
    numbers.as_chunks().0.to_vec()
}

fn points(values: &ArrayData) -> Vec<[f64; 3]> {
    let numbers: Vec<f64> = values.numbers().collect();
    numbers.as_chunks().0.to_vec()
}

/// Triangles in an order of their own, each from its least corner on.
fn sorted(triangles: &[[u64; 3]]) -> Vec<[u64; 3]> {
    let turned = |[a, b, c]: &[u64; 3]| {
        [[*a, *b, *c], [*b, *c, *a], [*c, *a, *b]]
            .into_iter()
            .min()
            .unwrap_or([*a, *b, *c])
    };
    let mut triangles: Vec<[u64; 3]> = triangles.iter().map(turned).collect();
    triangles.sort_unstable();
    triangles
}

/// For each point, the first that is at the same place.
fn first_alike(points: &[[f64; 3]]) -> Vec<u64> {
    let mut seen: HashMap<[u64; 3], u64> = HashMap::new();
    (0..)
        .zip(points)
        .map(|(index, point)| *seen.entry(point.map(f64::to_bits)).or_insert(index))
        .collect()
}

/// The entry of a list for an index.
fn place_in(classes: &[u64], index: u64) -> u64 {
    usize::try_from(index)
        .ok()
        .and_then(|index| classes.get(index))
        .copied()
        .unwrap_or(u64::MAX)
}

/// Points by the cell of space that contains them; only the first of several points at one position.
struct Cells {
    tolerance: f64,
    cell: f64,
    /// For each point, the first that is at the same place.
    own: Vec<u64>,
    points: HashMap<[i64; 3], Vec<u64>>,
}

impl Cells {
    /// `None` if too many are near each other to distinguish them.
    fn new(points: &[[f64; 3]], tolerance: f64) -> Option<Self> {
        /// Places that are compared with each point; more in one cell would take a time that grows with their square.
        const MOST: usize = 64;
        let cell = tolerance.max(f64::from(f32::MIN_POSITIVE));
        let mut cells = Self {
            tolerance,
            cell,
            own: first_alike(points),
            points: HashMap::new(),
        };
        for ((index, point), first) in (0_u64..).zip(points).zip(&cells.own) {
            if index == *first && point.iter().all(|number| number.is_finite()) {
                let cell = cells
                    .points
                    .entry(point.map(|number| (number / cell).floor() as i64))
                    .or_default();
                cell.push(index);
                if cell.len() > MOST {
                    return None;
                }
            }
        }
        Some(cells)
    }

    /// The points within the tolerance of a point, with their greatest distance on an axis.
    fn near(&self, points: &[[f64; 3]], point: [f64; 3]) -> impl Iterator<Item = (f64, u64)> {
        let [x, y, z] = point.map(|number| (number / self.cell).floor() as i64);
        let around = (0..27).map(move |step| {
            [
                x.saturating_add(step % 3 - 1),
                y.saturating_add(step / 3 % 3 - 1),
                z.saturating_add(step / 9 - 1),
            ]
        });
        let indices = around.filter_map(|cell| self.points.get(&cell)).flatten();
        indices.filter_map(move |index| {
            let other = points.get(usize::try_from(*index).ok()?)?;
            let distance = point
                .iter()
                .zip(other)
                .map(|(p, q)| (p - q).abs())
                .fold(0.0, f64::max);
            (distance <= self.tolerance).then_some((distance, *index))
        })
    }

    /// For each point, the first point that is considered equal: at the same position or, unless an edge of a triangle is
    /// as short as that, within the tolerance. Ends of a seam may differ by less than another file stores.
    fn alike(&self, points: &[[f64; 3]], triangles: &[[u64; 3]]) -> Vec<u64> {
        let first = |(index, point): (u64, &[f64; 3])| {
            self.near(points, *point)
                .map(|(_, near)| near)
                .min()
                .unwrap_or(index)
        };
        let near: Vec<u64> = (0..).zip(points).map(first).collect();
        let joined: Vec<u64> = near.iter().map(|index| place_in(&near, *index)).collect();
        let collapses = |[a, b, c]: &[u64; 3]| {
            [(a, b), (b, c), (c, a)].into_iter().any(|(p, q)| {
                place_in(&joined, *p) == place_in(&joined, *q)
                    && place_in(&self.own, *p) != place_in(&self.own, *q)
            })
        };
        if triangles.iter().any(collapses) {
            self.own.clone()
        } else {
            joined
        }
    }
}

/// For each point of `b` the nearest of `a` (of those at one place the first), and the greatest distance on an axis.
/// `None` if a point has no match within the tolerance.
fn matched(a: &[[f64; 3]], b: &[[f64; 3]], cells: &Cells) -> Option<(Vec<u64>, f64)> {
    let mut largest = 0.0_f64;
    let mut classes = Vec::with_capacity(b.len());
    for point in b {
        let nearest = cells
            .near(a, *point)
            .min_by(|p, q| p.0.total_cmp(&q.0).then(p.1.cmp(&q.1)));
        let (distance, index) = nearest?;
        largest = largest.max(distance);
        classes.push(index);
    }
    Some((classes, largest))
}

#[cfg(test)]
mod tests {
    use meshmap::{Array, Element};

    use super::*;

    fn pair<T: Element>(address: &str, a: Vec<T>, b: Vec<T>) -> (String, ArrayData, ArrayData) {
        (
            address.to_owned(),
            ArrayData::new(Array::from_vec(a)),
            ArrayData::new(Array::from_vec(b)),
        )
    }

    fn floats(numbers: &[f32]) -> Vec<[f32; 3]> {
        numbers.as_chunks().0.to_vec()
    }

    fn ints(numbers: &[u32]) -> Vec<[u32; 3]> {
        numbers.as_chunks().0.to_vec()
    }

    const SQUARE: [f32; 12] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0];

    #[test]
    fn triangles_in_another_order_are_the_same() {
        let positions = pair("x.positions", floats(&SQUARE), floats(&SQUARE));
        let indices = pair(
            "x.indices",
            ints(&[0, 1, 2, 0, 2, 3]),
            ints(&[2, 3, 0, 1, 2, 0]),
        );
        let found = of_pairs(&[positions.clone(), indices], 0.0);
        assert_eq!(
            found,
            Some(Match::TrianglesReordered {
                indices: "x.indices".to_owned()
            })
        );
        // Turned over, one is another.
        let turned = pair(
            "x.indices",
            ints(&[0, 1, 2, 0, 2, 3]),
            ints(&[2, 3, 0, 2, 1, 0]),
        );
        assert_eq!(of_pairs(&[positions, turned], 0.0), None);
    }

    /// The ends of a seam, which another file stores at one place.
    #[test]
    fn vertices_closer_than_the_tolerance_are_one_place() {
        let seam = [
            0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0000001, 0.0, 0.0, 1.0, 0.0,
        ];
        let other = [
            0.0, 0.0002, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0002, 0.0, 0.0, 1.0, 0.0,
        ];
        let positions = pair("x.positions", floats(&seam), floats(&other));
        let indices = pair(
            "x.indices",
            ints(&[0, 1, 2, 3, 2, 4]),
            ints(&[0, 2, 4, 3, 1, 2]),
        );
        assert!(matches!(
            of_pairs(&[positions, indices], 1e-3),
            Some(Match::VerticesReordered { .. })
        ));
    }

    #[test]
    fn vertices_in_another_order_are_found_by_their_places() {
        let moved = [
            1.0, 1.0004, 0.0, 0.0, 0.0, 0.0003, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0,
        ];
        let positions = pair("x.positions", floats(&SQUARE), floats(&moved));
        let indices = pair(
            "x.indices",
            ints(&[0, 1, 2, 0, 2, 3]),
            ints(&[1, 3, 0, 1, 0, 2]),
        );
        let pairs = [positions, indices];
        let Some(Match::VerticesReordered { largest, .. }) = of_pairs(&pairs, 1e-3) else {
            panic!()
        };
        assert!((largest - 0.0004).abs() < 1e-6, "{largest}");
        assert_eq!(of_pairs(&pairs, 1e-4), None);
    }
}
