//! Normals of MG2: stored as what is left of them when the normal that the triangles suggest is taken away.
//!
//! The published specification leaves this section open; the rules are those of the reference library's code. Every
//! operation is rounded to `f32`, in the order written here, but for one that the library makes in `f64`.

use std::f32::consts::PI;

use super::mg2::{rounded, rounded_signed};
use crate::codec::planes::Planes;

/// Triangles whose normals are computed together: independent of one another, so that square roots and divisions
/// overlap.
const BATCH: usize = 32;

/// Adds the normals of triangles to those of their vertices: of the vertices `first..` that `sums` has room for.
///
/// A vertex's sum takes its triangles in their order, whatever range of vertices is asked for: so ranges may be
/// computed apart from one another, with the same bits. All indices are less than the number of positions.
pub(crate) fn add_triangles(
    positions: &[[f32; 3]],
    triangles: &[[u32; 3]],
    first: usize,
    sums: &mut [[f32; 3]],
) {
    let mut batch = [[0_u32; 3]; BATCH];
    let mut filled = 0;
    let is_whole = first == 0 && sums.len() == positions.len();
    for triangle in triangles {
        let touches = |corner: &u32| place(*corner, first, sums.len()).is_some();
        if !is_whole && !triangle.iter().any(touches) {
            continue;
        }
        if let Some(slot) = batch.get_mut(filled) {
            *slot = *triangle;
            filled = filled.saturating_add(1);
        }
        if filled == BATCH {
            add_batch(positions, &batch, first, sums);
            filled = 0;
        }
    }
    add_batch(positions, batch.get(..filled).unwrap_or_default(), first, sums);
}

fn add_batch(positions: &[[f32; 3]], triangles: &[[u32; 3]], first: usize, sums: &mut [[f32; 3]]) {
    let mut normals = [[0.0; 3]; BATCH];
    for (normal, triangle) in normals.iter_mut().zip(triangles) {
        *normal = cross_product(positions, *triangle);
    }
    for normal in &mut normals {
        *normal = unit(*normal);
    }
    for (normal, triangle) in normals.iter().zip(triangles) {
        for corner in triangle {
            let place = place(*corner, first, sums.len());
            if let Some(sum) = place.and_then(|place| sums.get_mut(place)) {
                *sum = add(*sum, *normal);
            }
        }
    }
}

/// The place of a corner's vertex among those from `first` on.
fn place(corner: u32, first: usize, count: usize) -> Option<usize> {
    usize::try_from(corner).ok()?.checked_sub(first).filter(|place| *place < count)
}

fn cross_product(positions: &[[f32; 3]], triangle: [u32; 3]) -> [f32; 3] {
    let position = |corner: u32| {
        let place = usize::try_from(corner).unwrap_or(usize::MAX);
        positions.get(place).copied().unwrap_or_default()
    };
    let [a, b, c] = triangle.map(position);
    let ([ax, ay, az], [bx, by, bz]) = (subtract(b, a), subtract(c, a));
    [ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx]
}

fn subtract(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    let ([ax, ay, az], [bx, by, bz]) = (a, b);
    [ax - bx, ay - by, az - bz]
}

fn add(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    let ([ax, ay, az], [bx, by, bz]) = (a, b);
    [ax + bx, ay + by, az + bz]
}

fn times(a: [f32; 3], factor: f32) -> [f32; 3] {
    a.map(|lane| lane * factor)
}

/// Scaled to length 1: multiplied by the reciprocal; what is next to nothing stays as it is.
fn unit(vector: [f32; 3]) -> [f32; 3] {
    let [x, y, z] = vector;
    let length = ((x * x + y * y) + z * z).sqrt();
    times(vector, if length > 1e-10 { 1.0 / length } else { 1.0 })
}

/// Makes normals where [`add_triangles`] has put its sums.
pub(crate) fn restore(words: &Planes<'_, 3>, precision: f32, out: &mut [[f32; 3]]) {
    words.for_each_into(out, |[magnitude, polar, azimuth], place| {
        let magnitude = rounded_signed(magnitude.cast_signed()) * precision;
        let direction = direction(polar, azimuth.cast_signed(), precision);
        *place = normal(unit(*place), direction, magnitude);
    });
}

/// A direction beside the z axis: `polar` steps away from it, and `azimuth` of as many steps as that circle has.
fn direction(polar: u32, azimuth: i32, precision: f32) -> [f32; 3] {
    let phi = (rounded(polar) * (0.5 * PI)) * precision;
    let step = match polar {
        0 => 0.0,
        1..=4 => 0.5 * PI,
        _ => (2.0 * PI) / rounded(polar),
    };
    let theta = rounded_signed(azimuth) * step - PI;
    let ((sin_phi, cos_phi), (sin_theta, cos_theta)) = (phi.sin_cos(), theta.sin_cos());
    [sin_phi * cos_theta, sin_phi * sin_theta, cos_phi]
}

/// A direction turned from the z axis to a vertex's own one.
fn normal(axis: [f32; 3], direction: [f32; 3], magnitude: f32) -> [f32; 3] {
    let [zx, zy, zz] = axis;
    let mut x = [-zy, zx - zz, zy];
    let [x0, x1, _] = x;
    let length = long_sum(x0, x1).sqrt();
    // No vector across (1, 0, 1) is found this way; the library leaves x and y of such a frame empty.
    if length > 1e-20 {
        x = times(x, 1.0 / length);
    }
    let [x0, x1, x2] = x;
    let y = [zy * x2 - zz * x1, zz * x0 - zx * x2, zx * x1 - zy * x0];
    let [y0, y1, y2] = y;
    let [q0, q1, q2] = direction;
    let turned =
        [(x0 * q0 + y0 * q1) + zx * q2, (x1 * q0 + y1 * q1) + zy * q2, (x2 * q0 + y2 * q1) + zz * q2];
    times(turned, magnitude)
}

/// `2.0 * x0 * x0 + x1 * x1` as C computes it: the first product and the sum in `f64`, the second product in `f32`.
#[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is what the library does")]
fn long_sum(x0: f32, x1: f32) -> f32 {
    ((2.0 * f64::from(x0)) * f64::from(x0) + f64::from(x1 * x1)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A closed strip around an axis, with a vertex that no triangle has, and a triangle of one vertex.
    fn mesh() -> (Vec<[f32; 3]>, Vec<[u32; 3]>) {
        let positions: Vec<[f32; 3]> = (0..200_i16)
            .map(|i| {
                let t = f32::from(i);
                [(t * 0.37).sin() * 3.0, (t * 0.11).cos() * t, t * 0.25]
            })
            .collect();
        let triangles = (0..197).map(|i| [i, (i + 1) % 199, (i * 7 + 2) % 199]).chain([[5, 5, 9], [9, 9, 9]]);
        (positions, triangles.collect())
    }

    fn bits(sums: &[[f32; 3]]) -> Vec<[u32; 3]> {
        sums.iter().map(|sum| sum.map(f32::to_bits)).collect()
    }

    #[test]
    fn sums_do_not_depend_on_the_ranges_they_are_computed_in() {
        let (positions, triangles) = mesh();
        let mut whole = vec![[0.0; 3]; positions.len()];
        add_triangles(&positions, &triangles, 0, &mut whole);
        assert!(whole[199] == [0.0; 3] && whole[0] != [0.0; 3]);
        for part in [1, 3, 64, 199] {
            let mut sums = vec![[0.0; 3]; positions.len()];
            for (index, sums) in sums.chunks_mut(part).enumerate() {
                add_triangles(&positions, &triangles, index * part, sums);
            }
            assert_eq!(bits(&sums), bits(&whole), "{part} vertices at a time");
        }
    }

    #[test]
    fn what_is_next_to_nothing_is_not_scaled() {
        assert_eq!(unit([1e-11, 0.0, 0.0]), [1e-11, 0.0, 0.0]);
        assert_eq!(unit([0.0, 0.0, 4.0]), [0.0, 0.0, 1.0]);
        // The square is too great for an f32; the reciprocal of infinity is 0.
        assert_eq!(unit([1e30, 0.0, 0.0]), [0.0, 0.0, 0.0]);
    }

    #[test]
    fn no_step_off_the_axis_is_the_axis() {
        let axis = unit([1.0, 2.0, -3.0]);
        assert_eq!(normal(axis, direction(0, 0, 0.25), 1.0).map(f32::abs), axis.map(f32::abs));
    }

    #[test]
    fn singular_axis_keeps_its_own_part_alone() {
        let axis = [0.5, 0.0, 0.5];
        let [_, _, along] = direction(3, 1, 0.1);
        assert_eq!(normal(axis, direction(3, 1, 0.1), 2.0), axis.map(|lane| (lane * along) * 2.0));
    }
}
