//! The triangles of the convex hull of points, which are integers: every test is exact, and nothing depends on a tolerance.
//!
//! This is the incremental algorithm of J. O'Rourke, "Computational Geometry in C" (second edition, section 4.3): a tetrahedron of four of the
//! points, to which one point after another is added. The faces that a new point sees are removed, and the edges around the hole are
//! joined to the point. A point in the plane of a face does not see it. So points on edges and in faces, if they come before
//! the corners around them, are corners of triangles, which lie in one plane then.
//!
//! The crates `chull`, `quickhull` and `convex_hull` are made for floats, and need libraries of large integers, of vectors, or for windows.

use std::collections::HashSet;

use meshmap::{Array, Charge, Meter, Result};

use crate::vector::{cross, dot, sub};

/// The memory for a face: in the list of faces, in the list of seen faces, as three edges in a set, and as a result. While a list grows, it
/// takes more than twice the memory of its elements.
const OF_FACE: u64 = 512;

/// The work of comparing a point with a face, as much as decoding this many bytes.
const COMPARED: usize = 4;

/// The work of replacing a face.
const REPLACED: usize = 64;

/// The triangles of the convex hull of points, as indices of these. They run counter-clockwise as seen from outside.
///
/// Points in one plane have the triangles of their polygon on both sides of it. Points on one line, or in one place, have none.
///
/// # Errors
///
/// Returns [`LimitExceeded`](meshmap::ErrorKind::LimitExceeded) if the meter refuses the memory, which is proportional to the number of points, or
/// the work, which is at most proportional to its square. A hull of "HullList" has at most 256 points.
pub(crate) fn triangles(points: &Array<[u16; 3]>, meter: &Meter<'_>) -> Result<Vec<[u32; 3]>> {
    let Some([first, second, third]) = find_triangle(points) else {
        return Ok(Vec::new());
    };
    let base = Face::new([first, second, third]);
    let fourth = corners(points).find(|corner| !base.contains(*corner));
    let top = fourth.unwrap_or_else(|| above(&base));
    let mut hull = Hull::new(base, top, meter)?;
    for corner in corners(points) {
        hull.add(corner)?;
    }
    let mut triangles = Vec::with_capacity(hull.faces.len());
    for face in &hull.faces {
        let [a, b, c] = face.corners.map(|corner| corner.index);
        if fourth.is_some() {
            triangles.push([a, b, c]);
        } else if ![a, b, c].contains(&NO_POINT) {
            // The hull is a pyramid on the polygon.
            triangles.push([a, b, c]);
            triangles.push([a, c, b]);
        }
    }
    Ok(triangles)
}

/// A point, and its index.
#[derive(Clone, Copy)]
struct Corner {
    index: u32,
    place: [i32; 3],
}

impl Corner {
    /// Coordinates have 16 bits, so that their differences have 17, normals 35, and the volume of a tetrahedron 54.
    fn place(self) -> [i64; 3] {
        self.place.map(i64::from)
    }
}

fn corners(points: &Array<[u16; 3]>) -> impl Iterator<Item = Corner> + '_ {
    (0..).zip(points.iter()).map(|(index, point)| Corner {
        index,
        place: point.map(i32::from),
    })
}

/// Three points that are not on one line.
fn find_triangle(points: &Array<[u16; 3]>) -> Option<[Corner; 3]> {
    let first = corners(points).next()?;
    let second = corners(points).find(|corner| corner.place != first.place)?;
    let third =
        corners(points).find(|corner| Face::new([first, second, *corner]).normal != [0; 3])?;
    Some([first, second, third])
}

/// The index of the point that is in no list: see [`above`].
const NO_POINT: u32 = u32::MAX;

/// A place outside of the plane of a face, for points in this plane: 1 away along an axis that is not in the plane.
fn above(base: &Face) -> Corner {
    let [first, ..] = base.corners;
    let [x, y, z] = first.place;
    let place = match base.normal {
        [0, 0, _] => [x, y, z + 1],
        [0, _, _] => [x, y + 1, z],
        _ => [x + 1, y, z],
    };
    let index = NO_POINT;
    Corner { index, place }
}

/// A triangle, counter-clockwise as seen from outside.
#[derive(Clone, Copy)]
struct Face {
    corners: [Corner; 3],
    /// To the outside.
    normal: [i64; 3],
    /// The dot product of the normal and any point of the plane.
    offset: i64,
}

impl Face {
    fn new(corners: [Corner; 3]) -> Self {
        let [a, b, c] = corners.map(Corner::place);
        let normal = cross(sub(b, a), sub(c, a));
        Self {
            corners,
            normal,
            offset: dot(normal, a),
        }
    }

    /// `true` if the corner is in the plane of the face.
    fn contains(&self, corner: Corner) -> bool {
        dot(self.normal, corner.place()) == self.offset
    }

    /// `true` if the face is seen from the corner: it is outside, and not in the plane of the face.
    fn is_seen_from(&self, corner: Corner) -> bool {
        dot(self.normal, corner.place()) > self.offset
    }

    /// The edges in the direction of the face: the face on the other side has each in the other direction.
    fn edges(&self) -> [[Corner; 2]; 3] {
        let [a, b, c] = self.corners;
        [[a, b], [b, c], [c, a]]
    }
}

/// The hull of the points so far.
struct Hull<'a> {
    faces: Vec<Face>,
    /// Used by [`add`](Self::add).
    seen: Vec<Face>,
    /// The edges of the faces that are seen, by the indices of their ends.
    edges: HashSet<[u32; 2]>,
    meter: &'a Meter<'a>,
    charge: Charge<'a>,
}

impl<'a> Hull<'a> {
    /// A tetrahedron.
    fn new(base: Face, top: Corner, meter: &'a Meter<'a>) -> Result<Self> {
        let charge = meter.take(4 * OF_FACE, "convex hull")?;
        let [a, mut b, mut c] = base.corners;
        if base.is_seen_from(top) {
            std::mem::swap(&mut b, &mut c);
        }
        let faces = [[a, b, c], [b, a, top], [c, b, top], [a, c, top]];
        Ok(Self {
            faces: faces.map(Face::new).to_vec(),
            seen: Vec::new(),
            edges: HashSet::new(),
            meter,
            charge,
        })
    }

    /// Adds a point, which changes nothing if it is inside.
    fn add(&mut self, corner: Corner) -> Result<()> {
        let is_seen = |face: &mut Face| face.is_seen_from(corner);
        self.seen.clear();
        self.seen.extend(self.faces.extract_if(.., is_seen));
        let work = self.faces.len() * COMPARED + self.seen.len() * REPLACED;
        self.meter.work(work as u64, "convex hull")?;
        if self.seen.is_empty() {
            return Ok(());
        }
        // By Euler's formula, a further corner makes two faces more.
        self.charge.grow(2 * OF_FACE, "convex hull")?;
        self.edges.clear();
        for face in &self.seen {
            for [from, to] in face.edges() {
                self.edges.insert([from.index, to.index]);
            }
        }
        for face in &self.seen {
            for [from, to] in face.edges() {
                let is_around_the_hole = !self.edges.contains(&[to.index, from.index]);
                if is_around_the_hole {
                    self.faces.push(Face::new([from, to, corner]));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn hull(points: &[[u16; 3]]) -> Vec<[u32; 3]> {
        let meter = Meter::new(&meshmap::Limits::default(), 0);
        let found = triangles(&Array::from_vec(points.to_vec()), &meter).unwrap();
        assert_eq!(meter.held(), 0);
        found
    }

    fn face(points: &[[u16; 3]], triangle: [u32; 3]) -> Face {
        let points = Array::from_vec(points.to_vec());
        let corner = |index: u32| corners(&points).nth(index as usize).unwrap();
        Face::new(triangle.map(corner))
    }

    /// Checks a hull with a volume: it is closed, each point is inside or on each face, and corners are points.
    fn check(points: &[[u16; 3]]) -> Vec<[u32; 3]> {
        let triangles = hull(points);
        let mut edges = BTreeSet::new();
        let mut used = BTreeSet::new();
        for triangle in &triangles {
            let face = face(points, *triangle);
            assert_ne!(face.normal, [0; 3], "{triangle:?} has no area");
            let points = Array::from_vec(points.to_vec());
            assert!(corners(&points).all(|corner| !face.is_seen_from(corner)));
            for [from, to] in face.edges() {
                assert!(edges.insert([from.index, to.index]), "an edge twice");
                used.insert(from.index);
            }
        }
        assert!(edges.iter().all(|[from, to]| edges.contains(&[*to, *from])));
        // Euler: V - E + F = 2
        assert_eq!(used.len() + triangles.len(), edges.len() / 2 + 2);
        triangles
    }

    /// Each triangle beginning with its least corner, in order.
    fn sorted(mut triangles: Vec<[u32; 3]>) -> Vec<[u32; 3]> {
        for triangle in &mut triangles {
            while triangle[0] > triangle[1] || triangle[0] > triangle[2] {
                triangle.rotate_left(1);
            }
        }
        triangles.sort_unstable();
        triangles
    }

    const END: u16 = u16::MAX;

    #[test]
    fn tetrahedron_has_its_four_faces() {
        let points = [[0, 0, 0], [END, 0, 0], [0, END, 0], [0, 0, END]];
        let faces = [[0, 1, 3], [0, 2, 1], [0, 3, 2], [1, 2, 3]];
        assert_eq!(sorted(check(&points)), faces);
        // In another order, with a point inside.
        let points = [[0, 0, 0], [5, 5, 5], [0, 0, END], [0, END, 0], [END, 0, 0]];
        let faces = [[0, 2, 3], [0, 3, 4], [0, 4, 2], [2, 4, 3]];
        assert_eq!(sorted(check(&points)), faces);
    }

    #[test]
    fn cube_has_two_triangles_on_each_side() {
        let mut points = Vec::new();
        for corner in 0..8_u16 {
            points.push([corner >> 2 & 1, corner >> 1 & 1, corner & 1].map(|bit| bit * END));
        }
        let expected = [
            [0, 1, 2],
            [0, 2, 4],
            [0, 4, 1],
            [1, 3, 2],
            [1, 4, 5],
            [1, 5, 3],
            [2, 3, 6],
            [2, 6, 4],
            [3, 5, 7],
            [3, 7, 6],
            [4, 6, 5],
            [5, 6, 7],
        ];
        assert_eq!(sorted(check(&points)), expected);
        // Each twice, and with the middle of the cube.
        let mut doubled = [points.clone(), points].concat();
        doubled.push([END / 2; 3]);
        assert_eq!(sorted(check(&doubled)), expected);
    }

    #[test]
    fn points_on_edges_and_in_faces_leave_no_gaps() {
        let mut points = Vec::new();
        for number in 0..125 {
            points.push([number / 25, number / 5 % 5, number % 5].map(|step: u16| step * 16_000));
        }
        check(&points);
        points.reverse();
        check(&points);
        // Every seventh, from one end to the other and again.
        let shuffled: Vec<[u16; 3]> = (0..125).map(|place| points[place * 7 % 125]).collect();
        check(&shuffled);
    }

    /// Numbers that are the same in each run.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u16 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 48) as u16
        }

        fn point(&mut self) -> [u16; 3] {
            [self.next(), self.next(), self.next()]
        }
    }

    #[test]
    fn random_points_are_inside() {
        let mut random = Random(1);
        for count in [4, 5, 6, 7, 8, 16, 100, 256, 256, 256] {
            let points: Vec<[u16; 3]> = (0..count).map(|_| random.point()).collect();
            check(&points);
            // On a coarse grid, of which many points are in one plane or in one place.
            let coarse: Vec<[u16; 3]> = points
                .iter()
                .map(|point| point.map(|number| number >> 14))
                .collect();
            if count > 50 {
                check(&coarse);
            }
        }
    }

    #[test]
    fn all_corners_of_a_ball_are_corners() {
        let mut random = Random(7);
        let mut points = Vec::new();
        for _ in 0..256 {
            let place = [(); 3].map(|()| f64::from(random.next()) - 32_767.5);
            let length = dot(place, place).sqrt();
            points.push(place.map(|number| (number / length * 32_000.0 + 32_768.0) as u16));
        }
        let triangles = check(&points);
        assert_eq!(triangles.len(), 2 * 256 - 4);
    }

    #[test]
    fn points_in_a_plane_are_a_polygon_of_two_sides() {
        let square = [[0, 0, 9], [END, 0, 9], [END, END, 9], [0, END, 9]];
        let expected = [[0, 1, 2], [0, 2, 1], [0, 2, 3], [0, 3, 2]];
        assert_eq!(sorted(hull(&square)), expected);
        // Upright, slanted, and at the end of the coordinates.
        for turn in [
            |[x, y, z]: [u16; 3]| [z, x, y],
            |[x, y, z]: [u16; 3]| [y, z, x],
            |[x, y, _]: [u16; 3]| [x, y, x],
            |[x, y, _]: [u16; 3]| [END, x, y],
            |[x, y, _]: [u16; 3]| [x, END, y],
            |[x, y, _]: [u16; 3]| [x, y, END],
        ] {
            let triangles = hull(&square.map(turn));
            assert_eq!(triangles.len(), 4);
            let normals = triangles
                .iter()
                .map(|triangle| face(&square.map(turn), *triangle).normal);
            let sum = normals.fold([0; 3], |sum: [i64; 3], normal| {
                [sum[0] + normal[0], sum[1] + normal[1], sum[2] + normal[2]]
            });
            assert_eq!(sum, [0; 3]);
        }
        // The middle is inside.
        let with_middle = [square.to_vec(), vec![[END / 2, END / 2, 9]]].concat();
        assert_eq!(sorted(hull(&with_middle)), expected);
    }

    #[test]
    fn points_on_a_line_or_in_a_place_have_no_triangles() {
        assert!(hull(&[]).is_empty());
        assert!(hull(&[[1, 2, 3]]).is_empty());
        assert!(hull(&[[1, 2, 3], [4, 5, 6]]).is_empty());
        assert!(hull(&[[END; 3]; 256]).is_empty());
        let line: Vec<[u16; 3]> = (0..256).map(|step| [step, 2 * step, END - step]).collect();
        assert!(hull(&line).is_empty());
    }

    /// Each point is a corner: no other order is as much work.
    #[test]
    fn work_and_memory_have_limits() {
        let mut points = Vec::new();
        for step in 0..40_000_u32 {
            // Along a curve that no plane meets in more than three places.
            let x = step as f64 / 40_000.0;
            points.push([x, x * x, x * x * x].map(|number| (number * 65_535.0) as u16));
        }
        let points = Array::from_vec(points);
        let limits = meshmap::Limits::default().with_max_total_bytes(1 << 20);
        let error = triangles(&points, &Meter::new(&limits, 0)).unwrap_err();
        assert_eq!(error.kind(), meshmap::ErrorKind::LimitExceeded);
    }
}
