//! Normals of MG2: stored as differences from normals computed from the triangles.
//!
//! The published specification leaves this section open; the rules come from the reference library's code. Every operation is
//! rounded to `f32`, in the order written here, except for one that the library makes in `f64`.

use std::f32::consts::PI;

use super::mg2::{rounded, rounded_signed};
use crate::codec::planes::{LANES, Planes};
use crate::limits::job;
use crate::num::as_usize;
use crate::report::Result;

/// One number of each of several vertices or triangles that are computed together, one to a lane of a SIMD register.
type Lanes = [f32; LANES];

/// A number for each lane. A loop, which is vectorized, where `std::array::from_fn` becomes calls.
#[inline(always)]
fn each_lane(number: impl Fn(usize) -> f32) -> Lanes {
    let mut lanes = [0.0; LANES];
    for (lane, place) in lanes.iter_mut().enumerate() {
        *place = number(lane);
    }
    lanes
}

/// Adds the normals of triangles to their vertices: to the vertices from `first` on that fit into `sums`.
///
/// A vertex's sum takes its triangles in their order, whatever the range of vertices: ranges computed apart have the
/// same bits.
///
/// Returns whether every index is less than the number of positions; otherwise the sums are of no use.
pub(crate) fn add_triangles(
    positions: &[[f32; 3]],
    triangles: &[[u32; 3]],
    first: usize,
    sums: &mut [[f32; 3]],
) -> bool {
    let mut greatest = 0;
    if first == 0 && sums.len() == positions.len() {
        for batch in triangles.chunks(LANES) {
            greatest = batch
                .as_flattened()
                .iter()
                .fold(greatest, |greatest, index| *index.max(&greatest));
            add_batch(positions, batch, first, sums);
        }
        return is_less(greatest, positions.len());
    }
    let mut batch = [[0_u32; 3]; LANES];
    let mut filled = 0;
    for triangle in triangles {
        greatest = triangle
            .iter()
            .fold(greatest, |greatest, index| *index.max(&greatest));
        if !triangle
            .iter()
            .any(|corner| place(*corner, first, sums.len()).is_some())
        {
            continue;
        }
        if let Some(slot) = batch.get_mut(filled) {
            *slot = *triangle;
            filled = filled.saturating_add(1);
        }
        if filled == LANES {
            add_batch(positions, &batch, first, sums);
            filled = 0;
        }
    }
    add_batch(
        positions,
        batch.get(..filled).unwrap_or_default(),
        first,
        sums,
    );
    is_less(greatest, positions.len())
}

/// Like [`add_triangles`], for a job that can be cancelled.
pub(crate) fn add_triangles_of_job(
    positions: &[[f32; 3]],
    triangles: &[[u32; 3]],
    first: usize,
    sums: &mut [[f32; 3]],
) -> Result<bool> {
    /// Triangles between two looks at the flag.
    const PIECE: usize = 4096 * LANES;
    let mut are_in_range = true;
    for piece in triangles.chunks(PIECE) {
        job::check("normals")?;
        are_in_range &= add_triangles(positions, piece, first, sums);
    }
    Ok(are_in_range)
}

fn is_less(index: u32, count: usize) -> bool {
    usize::try_from(index).is_ok_and(|index| index < count)
}

/// No more triangles than there are lanes.
#[expect(
    clippy::indexing_slicing,
    reason = "every index is that of a lane, and there are no more triangles"
)]
fn add_batch(positions: &[[f32; 3]], triangles: &[[u32; 3]], first: usize, sums: &mut [[f32; 3]]) {
    let position = |corner: u32| {
        let place = as_usize(corner);
        positions.get(place).copied().unwrap_or_default()
    };
    let [mut ax, mut ay, mut az, mut bx, mut by, mut bz] = [[0.0; LANES]; 6];
    for (lane, triangle) in triangles.iter().take(LANES).enumerate() {
        let [a, b, c] = triangle.map(position);
        [ax[lane], ay[lane], az[lane]] = subtract(b, a);
        [bx[lane], by[lane], bz[lane]] = subtract(c, a);
    }
    let x: Lanes = each_lane(|lane| ay[lane] * bz[lane] - az[lane] * by[lane]);
    let y: Lanes = each_lane(|lane| az[lane] * bx[lane] - ax[lane] * bz[lane]);
    let z: Lanes = each_lane(|lane| ax[lane] * by[lane] - ay[lane] * bx[lane]);
    let [x, y, z] = unit([x, y, z]);
    for (lane, triangle) in triangles.iter().take(LANES).enumerate() {
        for corner in triangle {
            let place = place(*corner, first, sums.len());
            if let Some(sum) = place.and_then(|place| sums.get_mut(place)) {
                *sum = add(*sum, [x[lane], y[lane], z[lane]]);
            }
        }
    }
}

/// The place of a corner's vertex among those from `first` on.
#[inline]
fn place(corner: u32, first: usize, count: usize) -> Option<usize> {
    usize::try_from(corner)
        .ok()?
        .checked_sub(first)
        .filter(|place| *place < count)
}

fn subtract(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    let ([ax, ay, az], [bx, by, bz]) = (a, b);
    [ax - bx, ay - by, az - bz]
}

fn add(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    let ([ax, ay, az], [bx, by, bz]) = (a, b);
    [ax + bx, ay + by, az + bz]
}

/// Scaled to length 1 by the reciprocal; vectors of almost no length stay as they are.
#[expect(clippy::indexing_slicing, reason = "every index is that of a lane")]
#[inline]
fn unit([x, y, z]: [Lanes; 3]) -> [Lanes; 3] {
    let factor: Lanes = each_lane(|lane| {
        let [x, y, z] = [x[lane], y[lane], z[lane]];
        reciprocal(((x * x + y * y) + z * z).sqrt(), 1e-10)
    });
    [x, y, z].map(|lanes| each_lane(|lane| lanes[lane] * factor[lane]))
}

/// 1 / length where the length is more than `least`, otherwise 1.
#[inline]
fn reciprocal(length: f32, least: f32) -> f32 {
    if length > least { 1.0 / length } else { 1.0 }
}

/// Makes normals where [`add_triangles`] has put its sums.
pub(crate) fn restore(words: &Planes<'_, 3>, precision: f32, out: &mut [[f32; 3]]) {
    let mut known = Directions::new(precision);
    words.for_each_block(out, |[magnitudes, polar, azimuth], places| {
        let sums = [0, 1, 2].map(|axis| lanes_of(places, axis));
        let normals = turned(unit(sums), known.get(polar, azimuth));
        for ((lane, place), magnitude) in places.iter_mut().enumerate().zip(magnitudes) {
            let magnitude = rounded_signed(magnitude.cast_signed()) * precision;
            *place = normals
                .each_ref()
                .map(|lanes| lanes.get(lane).copied().unwrap_or_default() * magnitude);
        }
    });
}

/// One axis of several vectors.
fn lanes_of(vectors: &[[f32; 3]], axis: usize) -> Lanes {
    let mut lanes = [0.0; LANES];
    for (lane, vector) in lanes.iter_mut().zip(vectors) {
        *lane = vector.get(axis).copied().unwrap_or_default();
    }
    lanes
}

/// Directions from the z axis, with a cache of the last ones: most normals are next to the predicted ones, few steps off
/// in either angle, and four sines take longer than all the rest.
struct Directions {
    precision: f32,
    /// By a hash of the steps: the steps, and their direction.
    known: [([u32; 2], [f32; 3]); Self::KNOWN],
}

impl Directions {
    const KNOWN: usize = 512;

    fn new(precision: f32) -> Self {
        let known = ([0; 2], direction([0; 2], precision));
        Self {
            precision,
            known: [known; Self::KNOWN],
        }
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "indices are those of lanes, or masked"
    )]
    fn get(&mut self, polar: &[u32; LANES], azimuth: &[u32; LANES]) -> [Lanes; 3] {
        let mut directions = [[0.0; LANES]; 3];
        for lane in 0..LANES {
            let steps = [polar[lane], azimuth[lane]];
            let hash = steps[0].wrapping_mul(37).wrapping_add(steps[1]);
            let known = &mut self.known[hash as usize & (Self::KNOWN - 1)];
            if known.0 != steps {
                *known = (steps, direction(steps, self.precision));
            }
            for (lanes, axis) in directions.iter_mut().zip(known.1) {
                lanes[lane] = axis;
            }
        }
        directions
    }
}

/// Returns the direction `polar` steps away from the z axis, and `azimuth` steps along the circle around the axis there.
fn direction([polar, azimuth]: [u32; 2], precision: f32) -> [f32; 3] {
    let phi = (rounded(polar) * (0.5 * PI)) * precision;
    let step = match polar {
        0 => 0.0,
        1..=4 => 0.5 * PI,
        _ => (2.0 * PI) / rounded(polar),
    };
    let theta = rounded_signed(azimuth.cast_signed()) * step - PI;
    let ((sin_phi, cos_phi), (sin_theta, cos_theta)) = (phi.sin_cos(), theta.sin_cos());
    [sin_phi * cos_theta, sin_phi * sin_theta, cos_phi]
}

/// Directions turned from the z axis to each vertex's own one.
#[expect(clippy::indexing_slicing, reason = "every index is that of a lane")]
fn turned([zx, zy, zz]: [Lanes; 3], [q0, q1, q2]: [Lanes; 3]) -> [Lanes; 3] {
    let mut turned = [[0.0; LANES]; 3];
    for lane in 0..LANES {
        let [zx, zy, zz] = [zx[lane], zy[lane], zz[lane]];
        let [q0, q1, q2] = [q0[lane], q1[lane], q2[lane]];
        let [x0, x1, x2] = [-zy, zx - zz, zy];
        // No vector across (1, 0, 1) is found this way; the library leaves x and y of such a frame empty.
        let factor = reciprocal(long_sum(x0, x1).sqrt(), 1e-20);
        let [x0, x1, x2] = [x0 * factor, x1 * factor, x2 * factor];
        let [y0, y1, y2] = [zy * x2 - zz * x1, zz * x0 - zx * x2, zx * x1 - zy * x0];
        turned[0][lane] = (x0 * q0 + y0 * q1) + zx * q2;
        turned[1][lane] = (x1 * q0 + y1 * q1) + zy * q2;
        turned[2][lane] = (x2 * q0 + y2 * q1) + zz * q2;
    }
    turned
}

/// `2.0 * x0 * x0 + x1 * x1` as C computes it: the first product and the sum in `f64`, the second product in `f32`.
#[expect(
    clippy::cast_possible_truncation,
    reason = "rounding to f32 is what the library does"
)]
#[inline]
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
        let triangles = (0..197)
            .map(|i| [i, (i + 1) % 199, (i * 7 + 2) % 199])
            .chain([[5, 5, 9], [9, 9, 9]]);
        (positions, triangles.collect())
    }

    fn bits(sums: &[[f32; 3]]) -> Vec<[u32; 3]> {
        sums.iter().map(|sum| sum.map(f32::to_bits)).collect()
    }

    #[test]
    fn sums_do_not_depend_on_the_ranges_they_are_computed_in() {
        let (positions, triangles) = mesh();
        let mut whole = vec![[0.0; 3]; positions.len()];
        assert!(add_triangles(&positions, &triangles, 0, &mut whole));
        assert!(whole[199] == [0.0; 3] && whole[0] != [0.0; 3]);
        // Each range goes through all triangles, at which Miri takes its time.
        let parts: &[usize] = if cfg!(miri) { &[150] } else { &[1, 3, 64, 199] };
        for &part in parts {
            let mut sums = vec![[0.0; 3]; positions.len()];
            for (index, sums) in sums.chunks_mut(part).enumerate() {
                assert!(add_triangles(&positions, &triangles, index * part, sums));
            }
            assert_eq!(bits(&sums), bits(&whole), "{part} vertices at a time");
        }
    }

    #[test]
    fn index_of_no_position_is_told_for_any_range() {
        let (positions, mut triangles) = mesh();
        triangles[150][1] = 200;
        let mut sums = vec![[0.0; 3]; positions.len()];
        assert!(!add_triangles(&positions, &triangles, 0, &mut sums));
        assert!(!add_triangles(&positions, &triangles, 0, &mut sums[..5]));
        assert!(!add_triangles(
            &positions,
            &triangles,
            190,
            &mut sums[190..]
        ));
    }

    /// The first lane of vectors that are all the same.
    fn first<const N: usize>(lanes: [Lanes; N]) -> [f32; N] {
        lanes.map(|lanes| lanes[0])
    }

    fn all(vector: [f32; 3]) -> [Lanes; 3] {
        vector.map(|lane| [lane; LANES])
    }

    #[test]
    fn what_is_next_to_nothing_is_not_scaled() {
        assert_eq!(first(unit(all([1e-11, 0.0, 0.0]))), [1e-11, 0.0, 0.0]);
        assert_eq!(first(unit(all([0.0, 0.0, 4.0]))), [0.0, 0.0, 1.0]);
        // The square is too great for an f32; the reciprocal of infinity is 0.
        assert_eq!(first(unit(all([1e30, 0.0, 0.0]))), [0.0, 0.0, 0.0]);
    }

    #[test]
    fn no_step_off_the_axis_is_the_axis() {
        let axis = unit(all([1.0, 2.0, -3.0]));
        let direction = all(direction([0, 0], 0.25));
        assert_eq!(
            first(turned(axis, direction)).map(f32::abs),
            first(axis).map(f32::abs)
        );
    }

    #[test]
    fn singular_axis_keeps_its_own_part_alone() {
        let axis = [0.5, 0.0, 0.5];
        let direction = direction([3, 1], 0.1);
        let [_, _, along] = direction;
        let direction = all(direction);
        assert_eq!(
            first(turned(all(axis), direction)),
            axis.map(|lane| lane * along)
        );
    }
}
