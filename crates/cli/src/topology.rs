//! Whether two meshes have the same triangles, though these or the vertices stand in another order.

use std::collections::HashMap;

use crate::arrays::Values;

/// What is the same though it is not equal.
#[derive(Debug, PartialEq)]
pub(crate) enum Match {
    /// The triangles of the array of this address, by vertices in the same order.
    TrianglesReordered { indices: String },
    /// The triangles, by where their corners are.
    VerticesReordered { positions: String, indices: String, largest: f64 },
}

/// Looks for the positions and the indices among pairs of arrays; `None` where these are equal, or are not the same in
/// another order either.
pub(crate) fn of_pairs(pairs: &[(String, Values, Values)], tolerance: f64) -> Option<Match> {
    let ends_with = |endings: &[&str]| {
        pairs.iter().find(|(address, ..)| endings.iter().any(|ending| address.ends_with(ending)))
    };
    let (indices, left, right) =
        ends_with(&[".indices", ".vertex_triangles"]).filter(|(_, a, _)| !a.is_float())?;
    let (positions, a, b) =
        ends_with(&["positions", ".vertices"]).filter(|(_, a, _)| a.is_float() && a.components == 3)?;
    if left.bytes == right.bytes || left.count != right.count || a.count != b.count {
        return None;
    }
    let (left, right) = (corners(left), corners(right));
    if sorted(&left) == sorted(&right) {
        return Some(Match::TrianglesReordered { indices: indices.clone() });
    }
    let (a, b) = (points(a), points(b));
    let (classes, largest) = matched(&a, &b, tolerance)?;
    let own = first_alike(&a);
    let of = |triangles: &[[u64; 3]], classes: &[u64]| {
        let corner = |index: u64| {
            usize::try_from(index).ok().and_then(|index| classes.get(index)).copied().unwrap_or(u64::MAX)
        };
        sorted(&triangles.iter().map(|triangle| triangle.map(corner)).collect::<Vec<_>>())
    };
    (of(&left, &own) == of(&right, &classes)).then(|| Match::VerticesReordered {
        positions: positions.clone(),
        indices: indices.clone(),
        largest,
    })
}

fn corners(values: &Values) -> Vec<[u64; 3]> {
    let numbers: Vec<u64> = values.numbers().map(|number| number as u64).collect();
    numbers.as_chunks().0.to_vec()
}

fn points(values: &Values) -> Vec<[f64; 3]> {
    let numbers: Vec<f64> = values.numbers().collect();
    numbers.as_chunks().0.to_vec()
}

/// Triangles in an order of their own, each from its least corner on.
fn sorted(triangles: &[[u64; 3]]) -> Vec<[u64; 3]> {
    let turned = |[a, b, c]: &[u64; 3]| {
        [[*a, *b, *c], [*b, *c, *a], [*c, *a, *b]].into_iter().min().unwrap_or([*a, *b, *c])
    };
    let mut triangles: Vec<[u64; 3]> = triangles.iter().map(turned).collect();
    triangles.sort_unstable();
    triangles
}

/// For each point, the first that is at the same place.
fn first_alike(points: &[[f64; 3]]) -> Vec<u64> {
    let mut seen: HashMap<[u64; 3], u64> = HashMap::new();
    (0..).zip(points).map(|(index, point)| *seen.entry(point.map(f64::to_bits)).or_insert(index)).collect()
}

/// For each point of `b` the nearest of `a` (of those at one place the first), and the greatest distance on an axis.
/// `None` where a point has none within the tolerance, or where too many are near to tell them apart.
fn matched(a: &[[f64; 3]], b: &[[f64; 3]], tolerance: f64) -> Option<(Vec<u64>, f64)> {
    /// Places that are compared with each point; more in one cell would take a time that grows with their square.
    const MOST: usize = 64;
    let cell = tolerance.max(f64::from(f32::MIN_POSITIVE));
    let key = |point: &[f64; 3]| point.map(|number| (number / cell).floor() as i64);
    let own = first_alike(a);
    let mut cells: HashMap<[i64; 3], Vec<u64>> = HashMap::new();
    for ((index, point), first) in (0_u64..).zip(a).zip(&own) {
        if index == *first && point.iter().all(|number| number.is_finite()) {
            let cell = cells.entry(key(point)).or_default();
            cell.push(index);
            if cell.len() > MOST {
                return None;
            }
        }
    }
    let mut largest = 0.0_f64;
    let mut classes = Vec::with_capacity(b.len());
    for point in b {
        let [x, y, z] = key(point);
        let mut nearest: Option<(f64, u64)> = None;
        for step in 0..27 {
            let around = [
                x.saturating_add(step % 3 - 1),
                y.saturating_add(step / 3 % 3 - 1),
                z.saturating_add(step / 9 - 1),
            ];
            for index in cells.get(&around).into_iter().flatten() {
                let other = a.get(usize::try_from(*index).ok()?)?;
                let distance = point.iter().zip(other).map(|(p, q)| (p - q).abs()).fold(0.0, f64::max);
                if distance <= tolerance
                    && nearest.is_none_or(|(least, first)| (distance, *index) < (least, first))
                {
                    nearest = Some((distance, *index));
                }
            }
        }
        let (distance, index) = nearest?;
        largest = largest.max(distance);
        classes.push(index);
    }
    Some((classes, largest))
}

#[cfg(test)]
mod tests {
    use meshmap::Scalar;

    use super::*;

    fn pair(address: &str, a: (Scalar, Vec<u8>), b: Vec<u8>) -> (String, Values, Values) {
        let (scalar, a) = a;
        let values = |bytes: Vec<u8>| Values {
            scalar,
            components: 3,
            count: bytes.len() as u64 / 12,
            bytes: bytes.into(),
        };
        (address.to_owned(), values(a), values(b))
    }

    fn floats(numbers: &[f32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    fn ints(numbers: &[u32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    const SQUARE: [f32; 12] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0];

    #[test]
    fn triangles_in_another_order_are_the_same() {
        let positions = pair("x.positions", (Scalar::F32, floats(&SQUARE)), floats(&SQUARE));
        let indices = pair("x.indices", (Scalar::U32, ints(&[0, 1, 2, 0, 2, 3])), ints(&[2, 3, 0, 1, 2, 0]));
        let found = of_pairs(&[positions.clone(), indices], 0.0);
        assert_eq!(found, Some(Match::TrianglesReordered { indices: "x.indices".to_owned() }));
        // Turned over, one is another.
        let turned = pair("x.indices", (Scalar::U32, ints(&[0, 1, 2, 0, 2, 3])), ints(&[2, 3, 0, 2, 1, 0]));
        assert_eq!(of_pairs(&[positions, turned], 0.0), None);
    }

    #[test]
    fn vertices_in_another_order_are_found_by_their_places() {
        let moved = [1.0, 1.0004, 0.0, 0.0, 0.0, 0.0003, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0];
        let positions = pair("x.positions", (Scalar::F32, floats(&SQUARE)), floats(&moved));
        let indices = pair("x.indices", (Scalar::U32, ints(&[0, 1, 2, 0, 2, 3])), ints(&[1, 3, 0, 1, 0, 2]));
        let pairs = [positions, indices];
        let Some(Match::VerticesReordered { largest, .. }) = of_pairs(&pairs, 1e-3) else { panic!() };
        assert!((largest - 0.0004).abs() < 1e-6, "{largest}");
        assert_eq!(of_pairs(&pairs, 1e-4), None);
    }
}
