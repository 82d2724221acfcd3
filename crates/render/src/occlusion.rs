//! The share of ambient light that reaches each pixel: less in corners and folds, by the surfaces near them on the picture.

use std::ops::Range;

use crate::camera::{Frame, Lens, turn};
use meshmap_scene::vector::{dot, sub};

/// Maximum distance at which a surface shades another, if half the scene is 1.
const RADIUS: f32 = 0.32;
/// Surfaces that are looked at, and the patterns of neighbouring pixels.
const LOOKS: u32 = 8;
const PATTERNS: u32 = 16;
/// Surfaces that rise less than this count as flat.
const BIAS: f32 = 0.04;
const STRENGTH: f32 = 1.7;

/// The surfaces at a picture's pixels.
pub(crate) struct Surfaces<'a> {
    pub(crate) frame: Frame,
    pub(crate) lens: Lens,
    /// Infinite at pixels without a surface.
    pub(crate) distance: &'a [f32],
    pub(crate) normals: &'a [[f32; 3]],
    /// The distance of each second pixel of each second row, which is near at hand in memory.
    pub(crate) coarse: &'a [f32],
}

/// Each second pixel of each second row.
pub(crate) fn coarse(frame: Frame, pixels: &[f32]) -> Vec<f32> {
    let rows = pixels.chunks((frame.width as usize).max(1)).step_by(2);
    rows.flat_map(|row| row.iter().step_by(2).copied())
        .collect()
}

/// Places around a pixel that are looked at, on spirals within a radius of 1: one for each pattern.
pub(crate) fn spirals() -> Vec<Vec<[f32; 2]>> {
    let spiral = |pattern: u32| {
        let place = |look: u32| {
            // Patterns lie between each other's places.
            let radius = (f64::from(look) + (f64::from(pattern) + 0.5) / f64::from(PATTERNS))
                / f64::from(LOOKS);
            let [cosine, sine] = turn(
                u64::from((look * 7 * PATTERNS + pattern * 11) % (LOOKS * PATTERNS)),
                u64::from(LOOKS * PATTERNS),
            );
            #[expect(clippy::cast_possible_truncation, reason = "the nearest will do")]
            [(cosine * radius) as f32, (sine * radius) as f32]
        };
        (0..LOOKS).map(place).collect()
    };
    (0..PATTERNS).map(spiral).collect()
}

impl Surfaces<'_> {
    /// The light that reaches the pixels of some rows, from 0 to 1.
    pub(crate) fn reached(&self, spirals: &[Vec<[f32; 2]>], rows: Range<u32>, out: &mut [f32]) {
        /// The pattern of each pixel in a square, chosen so that neighbours differ much.
        const ORDER: [usize; 16] = [0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5];
        let width = self.frame.width;
        for (line, row) in out.chunks_mut(width as usize).zip(rows) {
            for (reached, column) in line.iter_mut().zip(0..width) {
                let pattern = ORDER[(row % 4 * 4 + column % 4) as usize];
                *reached = spirals
                    .get(pattern)
                    .map_or(1.0, |spiral| self.at(column, row, spiral));
            }
        }
    }

    fn index(&self, column: u32, row: u32) -> usize {
        row as usize * self.frame.width as usize + column as usize
    }

    fn at(&self, column: u32, row: u32, spiral: &[[f32; 2]]) -> f32 {
        let index = self.index(column, row);
        let (Some(distance), Some(normal)) = (self.distance.get(index), self.normals.get(index))
        else {
            return 1.0;
        };
        if *distance == f32::INFINITY {
            return 1.0;
        }
        let x = column as f32 + 0.5;
        let y = row as f32 + 0.5;
        let point = self.lens.point(x, y, *distance);
        let radius = RADIUS * self.lens.focal / distance;
        let across = self.frame.width.div_ceil(2);
        let mut shaded = 0.0;
        for [dx, dy] in spiral {
            let there_x = x + dx * radius;
            let there_y = y + dy * radius;
            if there_x < 0.0 || there_y < 0.0 {
                continue;
            }
            // Saturates.
            let c = there_x as u32 / 2;
            let r = there_y as u32 / 2;
            if c >= across || (c * 2, r * 2) == (column, row) {
                continue;
            }
            let Some(distance) = self.coarse.get(r as usize * across as usize + c as usize) else {
                continue;
            };
            let way = sub(
                self.lens
                    .point((c * 2) as f32 + 0.5, (r * 2) as f32 + 0.5, *distance),
                point,
            );
            let square = dot(way, way);
            // Farther surfaces and empty pixels shade nothing.
            if square >= RADIUS * RADIUS || square.is_nan() {
                continue;
            }
            let rise = dot(way, *normal);
            let falloff = 1.0 - square / (RADIUS * RADIUS);
            if rise > 0.0 {
                let height = rise / (square + 1e-6).sqrt() - BIAS;
                if height > 0.0 {
                    shaded += falloff * height;
                }
            }
        }
        let reached = 1.0 - shaded * STRENGTH / spiral.len() as f32;
        if reached > 0.0 { reached } else { 0.0 }
    }

    /// The light that reaches a pixel: the mean of the pixels around it at the same distance, one of each pattern.
    pub(crate) fn smooth(&self, reached: &[f32], column: u32, row: u32) -> f32 {
        let index = self.index(column, row);
        let Some(own) = self.distance.get(index) else {
            return 1.0;
        };
        let columns = column.saturating_sub(2)..(column + 2).min(self.frame.width);
        let rows = row.saturating_sub(2)..(row + 2).min(self.frame.height);
        let mut sum = 0.0;
        let mut count = 0.0;
        for r in rows {
            let line = self.index(columns.start, r)..self.index(columns.start, r) + columns.len();
            let (Some(near), Some(reached)) = (self.distance.get(line.clone()), reached.get(line))
            else {
                continue;
            };
            for (distance, reached) in near.iter().zip(reached) {
                // Within a part of the radius in depth.
                if (distance - own).abs() < 0.03 * own {
                    sum += reached;
                    count += 1.0;
                }
            }
        }
        if count > 0.0 { sum / count } else { 1.0 }
    }
}
