//! The visible triangle at each sample of a picture.
//!
//! Places are whole numbers, so that triangles with a common edge leave no gap and share no sample. A picture is made in
//! bands of rows that know nothing of each other: any number of threads makes the same.

use std::ops::Range;

use crate::camera::{FINE, Place};

/// The rows of a band.
pub(crate) const BAND: u32 = 32;
/// The width of a pixel.
const PIXEL: i32 = 1 << FINE;

/// The cost of the beginning of a row of a triangle, in pixels: thin triangles have few pixels and many rows.
const ROW: u64 = 12;
/// Rows that are part of the cost of a triangle, which is counted elsewhere.
const FREE_ROWS: u64 = 4;

/// No triangle.
pub(crate) const NONE: u32 = u32::MAX;

/// The positions of the samples in a pixel, no two in one row or column.
pub(crate) fn samples(count: usize) -> Vec<[i32; 2]> {
    // The row of each column's sample.
    let rows: &[i32] = match count {
        0..4 => &[0],
        4..9 => &[1, 3, 0, 2],
        _ => &[0, 2, 4, 6, 8, 1, 3, 5, 7],
    };
    let middle = |part: i32| (2 * part + 1) * PIXEL / (2 * rows.len() as i32);
    (0..)
        .zip(rows)
        .map(|(column, row)| [middle(column), middle(*row)])
        .collect()
}

/// Triangles on a picture.
pub(crate) struct Triangles<'a> {
    corners: &'a [[u32; 3]],
    places: &'a [Place],
    /// The first and the last row of each; the first is greater where none is touched.
    rows: Vec<[u16; 2]>,
    /// The cost of drawing them with one sample in each pixel: their pixels, and [`ROW`] for each row.
    pub(crate) work: u64,
}

impl<'a> Triangles<'a> {
    pub(crate) fn new(corners: &'a [[u32; 3]], places: &'a [Place]) -> Self {
        let mut triangles = Self {
            corners,
            places,
            rows: Vec::with_capacity(corners.len()),
            work: 0,
        };
        // In half parts of pixels.
        let mut area = 0_u64;
        let mut rows = 0_u64;
        for id in 0..corners.len() as u32 {
            let Some(places) = triangles.of(id) else {
                triangles.rows.push([1, 0]);
                continue;
            };
            let [_, y] = extent(&places);
            let row = |place: i32| {
                u16::try_from(place >> FINE).unwrap_or(if place < 0 { 0 } else { u16::MAX })
            };
            let [first, last] = [row(y.start), row(y.end)];
            triangles.rows.push([first, last]);
            rows += u64::from(last - first).saturating_sub(FREE_ROWS);
            let [a, b, c] = places;
            area = area.saturating_add(edge(a, b, c.x.into(), c.y.into()).unsigned_abs());
        }
        let pixels = area >> (2 * FINE + 1);
        triangles.work = pixels.saturating_add(rows.saturating_mul(ROW));
        triangles
    }

    /// The positions of a triangle's corners.
    pub(crate) fn of(&self, id: u32) -> Option<[Place; 3]> {
        let [a, b, c] = self.corners.get(id as usize)?;
        let place = |corner: &u32| self.places.get(*corner as usize).copied();
        Some([place(a)?, place(b)?, place(c)?])
    }
}

/// From the least to the greatest x, and the same of y.
fn extent([a, b, c]: &[Place; 3]) -> [Range<i32>; 2] {
    [[a.x, b.x, c.x], [a.y, b.y, c.y]].map(|[a, b, c]| a.min(b).min(c)..a.max(b).max(c))
}

/// Twice the area to the right of the way from `a` to `b`, as y points down, up to a point.
pub(crate) fn edge(a: Place, b: Place, x: i64, y: i64) -> i64 {
    let [ax, ay, bx, by] = [a.x, a.y, b.x, b.y].map(i64::from);
    (bx - ax) * (y - ay) - (by - ay) * (x - ax)
}

/// One side of a triangle, and what is inside of it.
struct Side {
    from: Place,
    to: Place,
    /// The amount that a sample on the side lacks if it belongs to the next triangle: samples on the left of a triangle, or above it,
    /// belong to it.
    lacks: i64,
    /// The change of [`at`](Self::at) from one pixel to the next.
    right: i64,
    down: i64,
}

impl Side {
    fn new(from: Place, to: Place) -> Self {
        let is_own = to.y < from.y || to.y == from.y && to.x > from.x;
        let right = i64::from(from.y - to.y) << FINE;
        let down = i64::from(to.x - from.x) << FINE;
        Self {
            from,
            to,
            lacks: i64::from(!is_own),
            right,
            down,
        }
    }

    /// Not negative for what is inside.
    fn at(&self, x: i64, y: i64) -> i64 {
        edge(self.from, self.to, x, y) - self.lacks
    }
}

/// A triangle at a sample.
pub(crate) struct Fragment {
    pub(crate) id: u32,
    /// The index of the sample in the band.
    pub(crate) sample: usize,
    pub(crate) nearness: f32,
    /// The place of the sample, in parts of a pixel.
    pub(crate) x: i64,
    pub(crate) y: i64,
}

/// The triangles that a band draws.
pub(crate) trait Pass {
    /// `true` for triangles that are drawn.
    fn takes(&self, id: u32) -> bool;

    /// `true` for samples that a triangle covers, of those inside of it.
    fn covers(&self, fragment: &Fragment) -> bool;
}

/// The triangles next behind a layer, and in front of what is solid.
pub(crate) struct Behind<'a> {
    pub(crate) solid: &'a Band<'a>,
    /// `None` for the first layer.
    pub(crate) layer: Option<&'a Band<'a>>,
}

impl Behind<'_> {
    pub(crate) fn covers(&self, fragment: &Fragment) -> bool {
        let index = fragment.sample;
        let is_hidden = self
            .solid
            .nearness
            .get(index)
            .is_none_or(|solid| fragment.nearness <= *solid);
        if is_hidden {
            return false;
        }
        let Some(layer) = self.layer else { return true };
        let (Some(nearness), Some(id)) = (layer.nearness.get(index), layer.ids.get(index)) else {
            return false;
        };
        // If triangles are at the same place, the first is in front, as it is among solid ones.
        let is_behind =
            fragment.nearness < *nearness || fragment.nearness == *nearness && fragment.id > *id;
        *id != NONE && is_behind
    }
}

/// Some rows of a picture: for each sample of each pixel, how near it is, and the triangle there.
pub(crate) struct Band<'a> {
    width: u32,
    rows: Range<u32>,
    samples: &'a [[i32; 2]],
    nearness: Vec<f32>,
    ids: Vec<u32>,
}

impl<'a> Band<'a> {
    pub(crate) fn draw(
        triangles: &Triangles<'_>,
        width: u32,
        rows: Range<u32>,
        samples: &'a [[i32; 2]],
        pass: &impl Pass,
    ) -> Self {
        let count = width as usize * rows.len() * samples.len();
        let mut band = Self {
            width,
            samples,
            nearness: vec![0.0; count],
            ids: vec![NONE; count],
            rows,
        };
        for (id, [first, last]) in (0..).zip(&triangles.rows) {
            if first <= last
                && u32::from(*first) < band.rows.end
                && u32::from(*last) >= band.rows.start
                && pass.takes(id)
                && let Some(places) = triangles.of(id)
            {
                band.triangle(id, &places, pass);
            }
        }
        band
    }

    /// `true` if no triangle is drawn.
    pub(crate) fn is_empty(&self) -> bool {
        self.ids.iter().all(|id| *id == NONE)
    }

    /// The nearness of each sample, 0 if nothing is drawn.
    pub(crate) fn nearness(&self) -> &[f32] {
        &self.nearness
    }

    /// The triangles of the samples of a pixel.
    pub(crate) fn pixel(&self, column: u32, row: u32) -> &[u32] {
        let first = ((row - self.rows.start) * self.width + column) as usize * self.samples.len();
        self.ids
            .get(first..first + self.samples.len())
            .unwrap_or_default()
    }

    /// Draws the part of a triangle that is in these rows.
    fn triangle(&mut self, id: u32, places: &[Place; 3], pass: &impl Pass) {
        let [a, mut b, mut c] = *places;
        let mut area = edge(a, b, c.x.into(), c.y.into());
        if area < 0 {
            (b, c, area) = (c, b, -area);
        }
        if area == 0 {
            return;
        }
        let [x, y] = extent(places);
        let first = |place: i32, least: u32| {
            u32::try_from(place >> FINE).map_or(least, |place| place.max(least))
        };
        let end = |place: i32, most: u32| {
            u32::try_from((place >> FINE) + 1).map_or(0, |place| place.min(most))
        };
        let columns = first(x.start, 0)..end(x.end, self.width);
        let rows = first(y.start, self.rows.start)..end(y.end, self.rows.end);
        if columns.is_empty() || rows.is_empty() {
            return;
        }
        let sides = [Side::new(b, c), Side::new(c, a), Side::new(a, b)];
        // The change of nearness from one part of a pixel to the next.
        let ab = f64::from(b.nearness) - f64::from(a.nearness);
        let ac = f64::from(c.nearness) - f64::from(a.nearness);
        let dx = f64::from(b.x - a.x);
        let dy = f64::from(b.y - a.y);
        let ex = f64::from(c.x - a.x);
        let ey = f64::from(c.y - a.y);
        let along_x = (ab * ey - ac * dy) / area as f64;
        let along_y = (ac * dx - ab * ex) / area as f64;
        let step = along_x * f64::from(PIXEL);
        let count = self.samples.len();
        for (sample, [sx, sy]) in self.samples.iter().enumerate() {
            let x = (i64::from(columns.start) << FINE) + i64::from(*sx);
            let mut y = (i64::from(rows.start) << FINE) + i64::from(*sy);
            let mut line = [sides[0].at(x, y), sides[1].at(x, y), sides[2].at(x, y)];
            for row in rows.clone() {
                let start = f64::from(a.nearness)
                    + along_y * (y - i64::from(a.y)) as f64
                    + along_x * (x - i64::from(a.x)) as f64;
                let inside = inside(&sides, line, columns.len());
                let first =
                    (row - self.rows.start) as usize * self.width as usize + columns.start as usize;
                let pixels = (first + inside.start) * count..(first + inside.end) * count;
                let index = pixels.start + sample;
                let across = x + ((inside.start as i64) << FINE);
                if let (Some(ids), Some(nearness)) = (
                    self.ids.get_mut(pixels.clone()),
                    self.nearness.get_mut(pixels),
                ) {
                    let pixels = ids
                        .chunks_exact_mut(count)
                        .zip(nearness.chunks_exact_mut(count));
                    let mut passed = inside.start as f64;
                    for (number, (ids, near)) in pixels.enumerate() {
                        #[expect(clippy::cast_possible_truncation, reason = "the nearest will do")]
                        let nearness = (start + step * passed) as f32;
                        passed += 1.0;
                        // Most samples of crowded scenes are hidden, and need nothing else.
                        let is_nearer = nearness > near[sample];
                        if !is_nearer {
                            continue;
                        }
                        let fragment = Fragment {
                            id,
                            sample: index + number * count,
                            nearness,
                            x: across + ((number as i64) << FINE),
                            y,
                        };
                        if pass.covers(&fragment) {
                            (ids[sample], near[sample]) = (id, nearness);
                        }
                    }
                }
                y += i64::from(PIXEL);
                line = [
                    line[0] + sides[0].down,
                    line[1] + sides[1].down,
                    line[2] + sides[2].down,
                ];
            }
        }
    }
}

/// The pixels of a row that are inside of all sides, which have these values at the first pixel.
fn inside(sides: &[Side; 3], line: [i64; 3], pixels: usize) -> Range<usize> {
    /// As many are looked at one by one, which is faster than a division.
    const FEW: usize = 12;
    let mut first = 0;
    let mut end = pixels as i64;
    if pixels <= FEW {
        let is_inside = |pixel: &i64| {
            let at = |side: usize| line[side] + sides[side].right * pixel;
            at(0) | at(1) | at(2) >= 0
        };
        first = (0..end).find(is_inside).unwrap_or(end);
        end = (first..end)
            .rev()
            .find(is_inside)
            .map_or(first, |last| last + 1);
    } else {
        for (side, value) in sides.iter().zip(line) {
            match side.right {
                0 if value >= 0 => {}
                0 => end = 0,
                right if right > 0 => {
                    first = first
                        .max((-value).div_euclid(right) + i64::from((-value).rem_euclid(right) > 0))
                }
                right => end = end.min(value.div_euclid(-right) + 1),
            }
        }
    }
    if first < end {
        first as usize..end as usize
    } else {
        0..0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All triangles, as if they were solid.
    struct Solid;

    impl Pass for Solid {
        fn takes(&self, _: u32) -> bool {
            true
        }

        fn covers(&self, _: &Fragment) -> bool {
            true
        }
    }

    fn at(x: i32, y: i32, nearness: f32) -> Place {
        Place { x, y, nearness }
    }

    fn ids(corners: &[[u32; 3]], places: &[Place], side: u32, samples: &[[i32; 2]]) -> Vec<u32> {
        let triangles = Triangles::new(corners, places);
        let bands = (0..side.div_ceil(BAND)).map(|band| band * BAND..((band + 1) * BAND).min(side));
        bands
            .flat_map(|rows| Band::draw(&triangles, side, rows, samples, &Solid).ids)
            .collect()
    }

    /// A fan around a point, of whatever size: each sample inside is of one triangle and no more, whatever the order.
    #[test]
    fn triangles_with_common_edges_leave_no_gap_and_share_nothing() {
        for size in [20, 90] {
            let middle = at(size * 128 + 37, size * 128 - 11, 1.0);
            let rim = [
                (3, 5),
                (size * 256 - 9, 40),
                (size * 256 - 300, size * 256 - 1),
                (128, size * 256 - 128),
            ];
            let mut places = vec![middle];
            places.extend(rim.map(|(x, y)| at(x, y, 1.0)));
            let fan = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1]];
            let samples = samples(9);
            let all = ids(&fan, &places, size as u32, &samples);
            let each: Vec<Vec<u32>> = fan
                .iter()
                .map(|one| ids(&[*one], &places, size as u32, &samples))
                .collect();
            let outline = ids(&[[1, 2, 3], [1, 3, 4]], &places, size as u32, &samples);
            for (sample, id) in all.iter().enumerate() {
                let covering = each.iter().filter(|ids| ids[sample] != NONE).count();
                assert_eq!(covering, usize::from(*id != NONE), "{sample}");
                assert_eq!(*id != NONE, outline[sample] != NONE, "{sample}");
            }
            assert!(all.iter().filter(|id| **id != NONE).count() > all.len() / 2);
        }
    }

    #[test]
    fn the_inside_of_a_row_is_found_by_division_as_it_is_one_by_one() {
        let mut state = 1_u32;
        let mut random = |most: i32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as i32 % most
        };
        for _ in 0..20_000 {
            let [a, mut b, mut c] = [0; 3].map(|_| at(random(20_000), random(2000), 1.0));
            if edge(a, b, c.x.into(), c.y.into()) < 0 {
                (b, c) = (c, b);
            }
            let sides = [Side::new(b, c), Side::new(c, a), Side::new(a, b)];
            let x = i64::from(random(2560));
            let y = i64::from(random(2000));
            let line = [sides[0].at(x, y), sides[1].at(x, y), sides[2].at(x, y)];
            let found = inside(&sides, line, 60);
            for pixel in 0..60 {
                let is_inside = sides.iter().all(|side| side.at(x + pixel * 256, y) >= 0);
                assert_eq!(
                    found.contains(&(pixel as usize)),
                    is_inside,
                    "{pixel} {found:?}"
                );
            }
        }
    }

    #[test]
    fn the_nearer_of_two_is_seen_in_any_order() {
        let square = |nearness| {
            [
                at(0, 0, nearness),
                at(99 * 256, 0, nearness),
                at(0, 99 * 256, nearness),
            ]
        };
        let places: Vec<Place> = square(0.5).into_iter().chain(square(0.6)).collect();
        for corners in [[[0, 1, 2], [3, 4, 5]], [[3, 4, 5], [0, 1, 2]]] {
            let nearer = if corners[0][0] == 3 { 0 } else { 1 };
            let seen = ids(&corners, &places, 100, &samples(1));
            assert!(seen.iter().all(|id| *id == nearer || *id == NONE));
            assert_eq!(seen[0], nearer);
        }
    }

    #[test]
    fn places_outside_of_the_picture_are_cut_off() {
        let places = [
            at(i32::MIN / 4, -999_999, 0.5),
            at(999_999, -5, 0.5),
            at(300, i32::MAX / 4, 0.5),
        ];
        let seen = ids(&[[0, 1, 2], [0, 1, 9]], &places, 50, &samples(4));
        assert_eq!(seen.len(), 50 * 50 * 4);
        assert!(seen.contains(&0));
    }

    #[test]
    fn samples_are_spread_over_a_pixel() {
        for count in [1, 4, 9] {
            let samples = samples(count);
            assert_eq!(samples.len(), count);
            let mut columns: Vec<_> = samples.iter().map(|[x, _]| x).collect();
            columns.dedup();
            assert_eq!(columns.len(), count);
            assert!(
                samples
                    .as_flattened()
                    .iter()
                    .all(|part| (0..PIXEL).contains(part))
            );
        }
    }
}
