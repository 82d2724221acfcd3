//! The edges of the triangles that are seen at a pixel and next to it, as lines of one width.
//!
//! A line that only its own triangle drew would have half the width where the triangle has no neighbour, such as at outlines.

use crate::camera::{FINE, Place};
use crate::raster::NONE;
use crate::shading::Seen;

/// Half the width of lines, in pixels.
const HALF: f32 = 0.6;
/// Triangles of this height in pixels have lines of full strength; lines of smaller ones would hide the surface.
const FULL: f32 = 6.0;
/// The strength of the lines of triangles that are too small to be seen one by one.
const LEAST: f32 = 0.12;

/// The share of a pixel that lines cover: of the triangles of its samples and of its neighbours.
pub(crate) fn coverage(seen: &Seen<'_>, ids: &[u32], column: u32, row: u32) -> f32 {
    let middle = [column, row].map(|pixel| pixel as f32 + 0.5);
    let mut covered = 0.0;
    let mut before = NONE;
    for id in ids {
        if *id == NONE || *id == before {
            continue;
        }
        before = *id;
        let Some(places) = seen.places_of(*id) else {
            continue;
        };
        let corners = places.map(in_pixels);
        let share = strength(corners) * line(corners, middle);
        if share > covered {
            covered = share;
        }
    }
    covered
}

fn in_pixels(place: Place) -> [f32; 2] {
    #[expect(clippy::cast_possible_truncation, reason = "the nearest will do")]
    [place.x, place.y].map(|number| (f64::from(number) / f64::from(1 << FINE)) as f32)
}

/// The coverage of a pixel by the nearest of the three sides.
fn line([a, b, c]: [[f32; 2]; 3], pixel: [f32; 2]) -> f32 {
    let mut nearest = f32::INFINITY;
    for [from, to] in [[a, b], [b, c], [c, a]] {
        let distance = distance(from, to, pixel);
        if distance < nearest {
            nearest = distance;
        }
    }
    (HALF + 0.5 - nearest).clamp(0.0, 1.0)
}

/// The distance of a pixel from a side.
fn distance(from: [f32; 2], to: [f32; 2], pixel: [f32; 2]) -> f32 {
    let way = [to[0] - from[0], to[1] - from[1]];
    let there = [pixel[0] - from[0], pixel[1] - from[1]];
    let square = way[0] * way[0] + way[1] * way[1];
    let share = (there[0] * way[0] + there[1] * way[1]) / square;
    // The first corner of a side without a length.
    let share = if share > 0.0 { share.min(1.0) } else { 0.0 };
    let [x, y] = [there[0] - share * way[0], there[1] - share * way[1]];
    (x * x + y * y).sqrt()
}

/// The strength of the lines of a triangle, by its least height in pixels.
fn strength([a, b, c]: [[f32; 2]; 3]) -> f32 {
    let length = |from: [f32; 2], to: [f32; 2]| {
        let [x, y] = [to[0] - from[0], to[1] - from[1]];
        (x * x + y * y).sqrt()
    };
    let area = ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])).abs();
    let longest = length(a, b).max(length(b, c)).max(length(c, a));
    let height = area / longest;
    // Not a number in one place.
    if height > 0.0 {
        (height / FULL).clamp(LEAST, 1.0)
    } else {
        LEAST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_one_width_on_both_sides() {
        let triangle = [[10.0, 10.0], [90.0, 10.0], [10.0, 90.0]];
        let above = line(triangle, [40.0, 9.5]);
        assert_eq!(above, line(triangle, [40.0, 10.5]));
        assert!((above - 0.6).abs() < 1e-6);
        assert_eq!(line(triangle, [40.0, 20.0]), 0.0);
        assert_eq!(line([[1.0; 2]; 3], [1.0; 2]), 1.0);
    }

    #[test]
    fn lines_of_small_triangles_are_weak() {
        assert_eq!(strength([[0.0; 2], [90.0, 0.0], [0.0, 90.0]]), 1.0);
        assert_eq!(strength([[0.0; 2], [1.0, 0.0], [0.0, 0.5]]), LEAST);
        assert_eq!(strength([[3.0; 2]; 3]), LEAST);
    }
}
