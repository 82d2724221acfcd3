//! Which triangle is seen at each sample of a picture.
//!
//! Places are whole numbers, so that triangles with a common edge leave no gap and share no sample. A picture is made in
//! bands of rows that know nothing of each other: any number of threads makes the same.

use std::ops::Range;

use super::camera::{FINE, Place};

/// The rows of a band.
pub(super) const BAND: u32 = 32;
/// The columns of a tile: a part of a band, of which it is known how near all of it is.
const TILE: u32 = 64;
/// A triangle is large where it is as wide or as high as so many pixels.
const LARGE: i32 = 48;
/// The width of a pixel.
const PIXEL: i32 = 1 << FINE;

/// No triangle.
pub(super) const NONE: u32 = u32::MAX;

/// Where in a pixel its samples are, none above or beside another.
pub(super) fn samples(count: usize) -> Vec<[i32; 2]> {
    // Of which row the sample of each column is.
    let rows: &[i32] = match count {
        0..4 => &[0],
        4..9 => &[1, 3, 0, 2],
        _ => &[0, 2, 4, 6, 8, 1, 3, 5, 7],
    };
    let count = if rows.len() == 9 {
        9
    } else if rows.len() == 4 {
        4
    } else {
        1
    };
    let middle = |part: i32| (2 * part + 1) * PIXEL / (2 * count);
    (0..).zip(rows).map(|(column, row)| [middle(column), middle(*row)]).collect()
}

/// Triangles on a picture.
pub(super) struct Triangles<'a> {
    pub(super) corners: &'a [[u32; 3]],
    pub(super) places: &'a [Place],
    /// The first and the last row of each; the first is greater where none is touched.
    rows: Vec<[u16; 2]>,
    /// Those that are large, the nearest first: what is behind them need not be looked at.
    large: Vec<u32>,
}

impl<'a> Triangles<'a> {
    pub(super) fn new(corners: &'a [[u32; 3]], places: &'a [Place]) -> Self {
        let mut triangles =
            Self { corners, places, rows: Vec::with_capacity(corners.len()), large: Vec::new() };
        let mut large: Vec<(u32, u32)> = Vec::new();
        for id in 0..corners.len() as u32 {
            let Some(places) = triangles.of(id) else {
                triangles.rows.push([1, 0]);
                continue;
            };
            let [x, y] = extent(&places);
            let row =
                |place: i32| u16::try_from(place >> FINE).unwrap_or(if place < 0 { 0 } else { u16::MAX });
            triangles.rows.push([row(y.start), row(y.end)]);
            if (x.end - x.start).max(y.end - y.start) >> FINE >= LARGE {
                let nearest = places.iter().map(|place| place.nearness.to_bits()).max().unwrap_or(0);
                large.push((nearest, id));
            }
        }
        // Of numbers that are not negative, bits are in the order of the numbers.
        large.sort_unstable_by_key(|(nearest, id)| (std::cmp::Reverse(*nearest), *id));
        for (_, id) in &large {
            // They are drawn before the others, which are in the order of the file.
            if let Some(rows) = triangles.rows.get_mut(*id as usize) {
                *rows = [1, 0];
            }
        }
        triangles.large = large.into_iter().map(|(_, id)| id).collect();
        triangles
    }

    /// Where the corners of a triangle are.
    pub(super) fn of(&self, id: u32) -> Option<[Place; 3]> {
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
pub(super) fn edge(a: Place, b: Place, x: i64, y: i64) -> i64 {
    let [ax, ay, bx, by] = [a.x, a.y, b.x, b.y].map(i64::from);
    (bx - ax) * (y - ay) - (by - ay) * (x - ax)
}

/// One side of a triangle, and what is inside of it.
struct Side {
    from: Place,
    to: Place,
    /// What a sample on it lacks where it belongs to the triangle beyond: those on the left of a triangle, or above it,
    /// belong to it.
    lacks: i64,
    /// How [`at`](Self::at) changes from one pixel to the next.
    right: i64,
    down: i64,
}

impl Side {
    fn new(from: Place, to: Place) -> Self {
        let is_own = to.y < from.y || to.y == from.y && to.x > from.x;
        let (right, down) = (i64::from(from.y - to.y) << FINE, i64::from(to.x - from.x) << FINE);
        Self { from, to, lacks: i64::from(!is_own), right, down }
    }

    /// Not negative for what is inside.
    fn at(&self, x: i64, y: i64) -> i64 {
        edge(self.from, self.to, x, y) - self.lacks
    }
}

/// Some rows of a picture: for each sample of each pixel, how near it is, and the triangle there.
pub(super) struct Band<'a> {
    width: u32,
    rows: Range<u32>,
    samples: &'a [[i32; 2]],
    nearness: Vec<f32>,
    ids: Vec<u32>,
    /// Of each tile, the nearness of its farthest sample.
    farthest: Vec<f32>,
}

impl<'a> Band<'a> {
    pub(super) fn draw(
        triangles: &Triangles<'_>,
        width: u32,
        rows: Range<u32>,
        samples: &'a [[i32; 2]],
    ) -> Self {
        let count = width as usize * rows.len() * samples.len();
        let mut band = Self {
            width,
            samples,
            nearness: vec![0.0; count],
            ids: vec![NONE; count],
            farthest: vec![0.0; width.div_ceil(TILE) as usize],
            rows,
        };
        for id in &triangles.large {
            if let Some(places) = triangles.of(*id) {
                band.large(*id, &places);
            }
        }
        for (id, [first, last]) in (0..).zip(&triangles.rows) {
            if first <= last
                && u32::from(*first) < band.rows.end
                && u32::from(*last) >= band.rows.start
                && let Some(places) = triangles.of(id)
            {
                let columns = 0..band.width;
                band.triangle(id, &places, columns);
            }
        }
        band
    }

    /// The triangles of the samples of a pixel.
    pub(super) fn pixel(&self, column: u32, row: u32) -> &[u32] {
        let first = ((row - self.rows.start) * self.width + column) as usize * self.samples.len();
        self.ids.get(first..first + self.samples.len()).unwrap_or_default()
    }

    /// A triangle that may cover many tiles.
    fn large(&mut self, id: u32, places: &[Place; 3]) {
        let [x, y] = extent(places);
        let top = i64::from(self.rows.start) << FINE;
        if i64::from(y.end) < top || i64::from(y.start) >= i64::from(self.rows.end) << FINE {
            return;
        }
        let nearest = places.iter().map(|place| place.nearness).fold(0.0, |a, b| if b > a { b } else { a });
        let tile =
            |x: i32| (x >> FINE).clamp(0, i32::try_from(self.width).unwrap_or(i32::MAX) - 1) as u32 / TILE;
        for tile in tile(x.start)..=tile(x.end) {
            if self.farthest.get(tile as usize).is_some_and(|farthest| nearest <= *farthest) {
                continue;
            }
            let columns = tile * TILE..((tile + 1) * TILE).min(self.width);
            if self.triangle(id, places, columns.clone()) {
                self.look(tile, columns);
            }
        }
    }

    /// Finds how far away the farthest sample of a tile is.
    fn look(&mut self, tile: u32, columns: Range<u32>) {
        let samples = self.samples.len();
        let mut least = f32::INFINITY;
        for row in 0..self.rows.len() {
            let first = row * self.width as usize;
            let range = (first + columns.start as usize) * samples..(first + columns.end as usize) * samples;
            for nearness in self.nearness.get(range).unwrap_or_default() {
                least = if *nearness < least { *nearness } else { least };
            }
        }
        if let Some(farthest) = self.farthest.get_mut(tile as usize) {
            *farthest = least;
        }
    }

    /// Draws the part of a triangle that is in some columns; returns whether any of it is seen.
    fn triangle(&mut self, id: u32, places: &[Place; 3], columns: Range<u32>) -> bool {
        let [a, mut b, mut c] = *places;
        let mut area = edge(a, b, c.x.into(), c.y.into());
        if area < 0 {
            (b, c, area) = (c, b, -area);
        }
        if area == 0 {
            return false;
        }
        let [x, y] = extent(places);
        let first =
            |place: i32, least: u32| u32::try_from(place >> FINE).map_or(least, |place| place.max(least));
        let end =
            |place: i32, most: u32| u32::try_from((place >> FINE) + 1).map_or(0, |place| place.min(most));
        let (columns, rows) = (
            first(x.start, columns.start)..end(x.end, columns.end),
            first(y.start, self.rows.start)..end(y.end, self.rows.end),
        );
        if columns.is_empty() || rows.is_empty() {
            return false;
        }
        let sides = [Side::new(b, c), Side::new(c, a), Side::new(a, b)];
        // How nearness changes from one part of a pixel to the next.
        let (ab, ac) =
            (f64::from(b.nearness) - f64::from(a.nearness), f64::from(c.nearness) - f64::from(a.nearness));
        let (dx, dy) = (f64::from(b.x - a.x), f64::from(b.y - a.y));
        let (ex, ey) = (f64::from(c.x - a.x), f64::from(c.y - a.y));
        let along_x = (ab * ey - ac * dy) / area as f64;
        let along_y = (ac * dx - ab * ex) / area as f64;
        let step = along_x * f64::from(PIXEL);
        let count = self.samples.len();
        let mut is_seen = false;
        for (sample, [sx, sy]) in self.samples.iter().enumerate() {
            let x = (i64::from(columns.start) << FINE) + i64::from(*sx);
            let mut y = (i64::from(rows.start) << FINE) + i64::from(*sy);
            let mut line = [sides[0].at(x, y), sides[1].at(x, y), sides[2].at(x, y)];
            for row in rows.clone() {
                let [mut e, mut f, mut g] = line;
                let start = f64::from(a.nearness)
                    + along_y * (y - i64::from(a.y)) as f64
                    + along_x * (x - i64::from(a.x)) as f64;
                let first = ((row - self.rows.start) * self.width + columns.start) as usize * count;
                let pixels = first..first + columns.len() * count;
                if let (Some(ids), Some(nearness)) =
                    (self.ids.get_mut(pixels.clone()), self.nearness.get_mut(pixels))
                {
                    let mut passed = 0.0;
                    for (ids, near) in ids.chunks_exact_mut(count).zip(nearness.chunks_exact_mut(count)) {
                        if e | f | g >= 0 {
                            #[expect(clippy::cast_possible_truncation, reason = "the nearest will do")]
                            let nearness = (start + step * passed) as f32;
                            if nearness > near[sample] {
                                (ids[sample], near[sample]) = (id, nearness);
                                is_seen = true;
                            }
                        }
                        e += sides[0].right;
                        f += sides[1].right;
                        g += sides[2].right;
                        passed += 1.0;
                    }
                }
                y += i64::from(PIXEL);
                line = [line[0] + sides[0].down, line[1] + sides[1].down, line[2] + sides[2].down];
            }
        }
        is_seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(x: i32, y: i32, nearness: f32) -> Place {
        Place { x, y, nearness }
    }

    fn ids(corners: &[[u32; 3]], places: &[Place], side: u32, samples: &[[i32; 2]]) -> Vec<u32> {
        let triangles = Triangles::new(corners, places);
        let bands = (0..side.div_ceil(BAND)).map(|band| band * BAND..((band + 1) * BAND).min(side));
        bands.flat_map(|rows| Band::draw(&triangles, side, rows, samples).ids).collect()
    }

    /// A fan around a point, of whatever size: each sample inside is of one triangle and no more, whatever the order.
    #[test]
    fn triangles_with_common_edges_leave_no_gap_and_share_nothing() {
        for size in [20, 90] {
            let middle = at(size * 128 + 37, size * 128 - 11, 1.0);
            let rim =
                [(3, 5), (size * 256 - 9, 40), (size * 256 - 300, size * 256 - 1), (128, size * 256 - 128)];
            let mut places = vec![middle];
            places.extend(rim.map(|(x, y)| at(x, y, 1.0)));
            let fan = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1]];
            let samples = samples(9);
            let all = ids(&fan, &places, size as u32, &samples);
            let each: Vec<Vec<u32>> =
                fan.iter().map(|one| ids(&[*one], &places, size as u32, &samples)).collect();
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
    fn the_nearer_of_two_is_seen_in_any_order() {
        let square = |nearness| [at(0, 0, nearness), at(99 * 256, 0, nearness), at(0, 99 * 256, nearness)];
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
        let places = [at(i32::MIN / 4, -999_999, 0.5), at(999_999, -5, 0.5), at(300, i32::MAX / 4, 0.5)];
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
            assert!(samples.as_flattened().iter().all(|part| (0..PIXEL).contains(part)));
        }
    }
}
