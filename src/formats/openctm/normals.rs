//! Normals of MG2: stored relative to normals that are predicted from the triangles.
//!
//! The predicted normal of a vertex is the sum of the normals of its triangles, scaled to length 1. Stored are the length of
//! the normal, and its direction in a frame whose z axis is the predicted normal, in spherical coordinates: the polar angle
//! and the azimuth, both in steps.
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

/// Returns a number for each lane. This loop is vectorized; `std::array::from_fn` would become calls.
#[inline(always)]
fn each_lane(number: impl Fn(usize) -> f32) -> Lanes {
    let mut lanes = [0.0; LANES];
    for (lane, out) in lanes.iter_mut().enumerate() {
        *out = number(lane);
    }
    lanes
}

/// Adds the normals of triangles to the sums of their vertices. `sums` has the vertices from `first` on; others are left
/// out.
///
/// The normals of a vertex are added in the order of the triangles, whatever the range of vertices is: ranges that are
/// computed separately have the same bits.
///
/// Returns `true` if every index is less than the number of positions; otherwise the sums are invalid.
pub(crate) fn add_triangles(
    positions: &[[f32; 3]],
    triangles: &[[u32; 3]],
    first: usize,
    sums: &mut [[f32; 3]],
) -> bool {
    let mut maximum = 0;
    if first == 0 && sums.len() == positions.len() {
        for batch in triangles.chunks(LANES) {
            for index in batch.as_flattened() {
                maximum = maximum.max(*index);
            }
            add_batch(positions, batch, first, sums);
        }
        return is_less(maximum, positions.len());
    }
    // Only triangles with a vertex in the range go into batches: most have none.
    let mut batch = [[0_u32; 3]; LANES];
    let mut filled = 0;
    for triangle in triangles {
        let mut has_vertex_in_range = false;
        for corner in triangle {
            maximum = maximum.max(*corner);
            has_vertex_in_range |= index_in_range(*corner, first, sums.len()).is_some();
        }
        if !has_vertex_in_range {
            continue;
        }
        if let Some(free) = batch.get_mut(filled) {
            *free = *triangle;
            filled = filled.saturating_add(1);
        }
        if filled == LANES {
            add_batch(positions, &batch, first, sums);
            filled = 0;
        }
    }
    let rest = batch.get(..filled).unwrap_or_default();
    add_batch(positions, rest, first, sums);
    is_less(maximum, positions.len())
}

/// Like [`add_triangles`], for a job that can be cancelled.
pub(crate) fn add_triangles_of_job(
    positions: &[[f32; 3]],
    triangles: &[[u32; 3]],
    first: usize,
    sums: &mut [[f32; 3]],
) -> Result<bool> {
    /// The number of triangles between two checks of the flag.
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

/// Adds the normals of at most [`LANES`] triangles.
///
/// The normal of a triangle is the cross product of the edges `a` and `b` from its first corner, scaled to length 1.
#[expect(
    clippy::indexing_slicing,
    reason = "every index is that of a lane, and there are no more triangles"
)]
fn add_batch(positions: &[[f32; 3]], triangles: &[[u32; 3]], first: usize, sums: &mut [[f32; 3]]) {
    let position = |corner: u32| positions.get(as_usize(corner)).copied().unwrap_or_default();
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
            let index = index_in_range(*corner, first, sums.len());
            if let Some(sum) = index.and_then(|index| sums.get_mut(index)) {
                *sum = add(*sum, [x[lane], y[lane], z[lane]]);
            }
        }
    }
}

/// The index of a corner's vertex in the range of `count` vertices from `first` on.
#[inline]
fn index_in_range(corner: u32, first: usize, count: usize) -> Option<usize> {
    let index = usize::try_from(corner).ok()?.checked_sub(first)?;
    (index < count).then_some(index)
}

fn subtract([ax, ay, az]: [f32; 3], [bx, by, bz]: [f32; 3]) -> [f32; 3] {
    [ax - bx, ay - by, az - bz]
}

fn add([ax, ay, az]: [f32; 3], [bx, by, bz]: [f32; 3]) -> [f32; 3] {
    [ax + bx, ay + by, az + bz]
}

/// Scales vectors to length 1, by the reciprocal as in the library; vectors of almost no length stay as they are.
#[expect(clippy::indexing_slicing, reason = "every index is that of a lane")]
#[inline]
fn unit([x, y, z]: [Lanes; 3]) -> [Lanes; 3] {
    let factor: Lanes = each_lane(|lane| {
        let [x, y, z] = [x[lane], y[lane], z[lane]];
        reciprocal(((x * x + y * y) + z * z).sqrt(), 1e-10)
    });
    [x, y, z].map(|lanes| each_lane(|lane| lanes[lane] * factor[lane]))
}

/// 1 / `length` if the length is more than `minimum`, otherwise 1.
#[inline]
fn reciprocal(length: f32, minimum: f32) -> f32 {
    if length > minimum { 1.0 / length } else { 1.0 }
}

/// Replaces the sums of [`add_triangles`] by normals.
pub(crate) fn restore(words: &Planes<'_, 3>, precision: f32, out: &mut [[f32; 3]]) {
    let mut directions = Directions::new(precision);
    words.for_each_block(out, |[magnitudes, polar, azimuth], vertices| {
        let sums = [0, 1, 2].map(|axis| lanes_of(vertices, axis));
        let normals = rotate_to(unit(sums), directions.get(polar, azimuth));
        for ((lane, vertex), magnitude) in vertices.iter_mut().enumerate().zip(magnitudes) {
            let magnitude = rounded_signed(magnitude.cast_signed()) * precision;
            let normal = normals
                .each_ref()
                .map(|lanes| lanes.get(lane).copied().unwrap_or_default());
            *vertex = normal.map(|component| component * magnitude);
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

/// Directions in the frame of the predicted normal, with a cache of the last ones: most normals are near the predicted
/// ones, a few steps away in either angle, and four sines and cosines take longer than all other operations together.
struct Directions {
    precision: f32,
    /// A direct-mapped cache: each entry is at the hash of its steps, and replaces the entry that was there.
    cache: [CachedDirection; Self::CACHE_SIZE],
}

#[derive(Clone, Copy)]
struct CachedDirection {
    polar: u32,
    azimuth: u32,
    direction: [f32; 3],
}

impl CachedDirection {
    fn new(polar: u32, azimuth: u32, precision: f32) -> Self {
        Self {
            polar,
            azimuth,
            direction: direction(polar, azimuth, precision),
        }
    }
}

impl Directions {
    const CACHE_SIZE: usize = 512;

    fn new(precision: f32) -> Self {
        Self {
            precision,
            cache: [CachedDirection::new(0, 0, precision); Self::CACHE_SIZE],
        }
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "indices are those of lanes, or masked"
    )]
    fn get(&mut self, polar: &[u32; LANES], azimuth: &[u32; LANES]) -> [Lanes; 3] {
        let mut directions = [[0.0; LANES]; 3];
        for lane in 0..LANES {
            let polar = polar[lane];
            let azimuth = azimuth[lane];
            let hash = polar.wrapping_mul(37).wrapping_add(azimuth);
            let cached = &mut self.cache[hash as usize & (Self::CACHE_SIZE - 1)];
            if cached.polar != polar || cached.azimuth != azimuth {
                *cached = CachedDirection::new(polar, azimuth, self.precision);
            }
            for (lanes, axis) in directions.iter_mut().zip(cached.direction) {
                lanes[lane] = axis;
            }
        }
        directions
    }
}

/// Returns the direction `polar` steps away from the z axis, and `azimuth` steps along the circle around the axis there,
/// which has more steps the longer it is.
fn direction(polar: u32, azimuth: u32, precision: f32) -> [f32; 3] {
    let phi = (rounded(polar) * (0.5 * PI)) * precision;
    let azimuth_step = match polar {
        0 => 0.0,
        1..=4 => 0.5 * PI,
        _ => (2.0 * PI) / rounded(polar),
    };
    let theta = rounded_signed(azimuth.cast_signed()) * azimuth_step - PI;
    let (sin_phi, cos_phi) = phi.sin_cos();
    let (sin_theta, cos_theta) = theta.sin_cos();
    [sin_phi * cos_theta, sin_phi * sin_theta, cos_phi]
}

/// Rotates directions from a common frame to the frame of each vertex, whose z axis is its predicted normal.
///
/// The x axis is perpendicular to the z axis and to (1, 0, 1); the y axis is their cross product.
#[expect(clippy::indexing_slicing, reason = "every index is that of a lane")]
fn rotate_to([zx, zy, zz]: [Lanes; 3], [q0, q1, q2]: [Lanes; 3]) -> [Lanes; 3] {
    let mut rotated = [[0.0; LANES]; 3];
    for lane in 0..LANES {
        let [zx, zy, zz] = [zx[lane], zy[lane], zz[lane]];
        let [q0, q1, q2] = [q0[lane], q1[lane], q2[lane]];
        let [x0, x1, x2] = [-zy, zx - zz, zy];
        // The vector is 0 if the z axis is parallel to (1, 0, 1). The library then leaves the x and y axes at 0.
        let factor = reciprocal(long_sum(x0, x1).sqrt(), 1e-20);
        let [x0, x1, x2] = [x0 * factor, x1 * factor, x2 * factor];
        let [y0, y1, y2] = [zy * x2 - zz * x1, zz * x0 - zx * x2, zx * x1 - zy * x0];
        rotated[0][lane] = (x0 * q0 + y0 * q1) + zx * q2;
        rotated[1][lane] = (x1 * q0 + y1 * q1) + zy * q2;
        rotated[2][lane] = (x2 * q0 + y2 * q1) + zz * q2;
    }
    rotated
}

/// `2.0 * x0 * x0 + x1 * x1` as C computes it: the first product and the sum in `f64`, because `2.0` is a `double`; the
/// second product in `f32`.
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
        let direction = all(direction(0, 0, 0.25));
        assert_eq!(
            first(rotate_to(axis, direction)).map(f32::abs),
            first(axis).map(f32::abs)
        );
    }

    #[test]
    fn singular_axis_keeps_its_own_part_alone() {
        let axis = [0.5, 0.0, 0.5];
        let direction = direction(3, 1, 0.1);
        let [_, _, along] = direction;
        let direction = all(direction);
        assert_eq!(
            first(rotate_to(all(axis), direction)),
            axis.map(|lane| lane * along)
        );
    }
}
