//! The camera of a scene, in perspective.
//!
//! Angles are ratios of whole numbers, and the angles of a turntable are sums of powers, so that they are the same on every host.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_4};

use meshmap::Axis;
use meshmap_job::texts;
use meshmap_scene::vector::dot;

/// The directions of a picture.
#[derive(Clone, Copy)]
pub(crate) struct View {
    /// In the coordinates of the file: right, up, and to the viewer.
    rows: [[f64; 3]; 3],
    /// The same in coordinates whose y points up and whose z points to the front.
    upright: [[f64; 3]; 3],
    up: Axis,
}

/// The side from which a scene is seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Viewpoint {
    /// From the front, a little from the right and from above.
    #[default]
    ThreeQuarter,
    /// From the front.
    Front,
    /// From the right of a viewer at the front.
    Side,
    /// From above, with the front below.
    Top,
}

texts!(
    Viewpoint,
    [
        ("three-quarter", Viewpoint::ThreeQuarter),
        ("front", Viewpoint::Front),
        ("side", Viewpoint::Side),
        ("top", Viewpoint::Top),
    ]
);

impl Viewpoint {
    /// The directions of the picture in coordinates whose y points up and whose z points to the front: right, up, and to the viewer.
    fn directions(self) -> [[f64; 3]; 3] {
        const NONE: [f64; 2] = [1.0, 0.0];
        const QUARTER: [f64; 2] = [0.0, 1.0];
        // The cosine and the sine of the angle from the front to the viewer, and of the angle above the horizon. Ratios of whole numbers
        // are the same on every host: the angles of three quarters are about 28 and 23 degrees.
        let (around, above) = match self {
            Self::ThreeQuarter => ([15.0 / 17.0, 8.0 / 17.0], [12.0 / 13.0, 5.0 / 13.0]),
            Self::Front => (NONE, NONE),
            Self::Side => (QUARTER, NONE),
            Self::Top => (NONE, QUARTER),
        };
        let ([ca, sa], [ce, se]) = (around, above);
        [
            [ca, 0.0, -sa],
            [-sa * se, ce, -ca * se],
            [sa * ce, se, ca * ce],
        ]
    }
}

impl View {
    /// The view of a file whose `up` axis points up, turned around that axis by an angle of this cosine and sine.
    pub(crate) fn new(up: Axis, viewpoint: Viewpoint, [cosine, sine]: [f64; 2]) -> Self {
        let upright = viewpoint.directions();
        let rows = upright.map(|[x, y, z]| {
            Axis::Y.rotate_to(up, [x * cosine - z * sine, y, x * sine + z * cosine])
        });
        Self { rows, upright, up }
    }

    pub(crate) fn apply(&self, point: [f64; 3]) -> [f64; 3] {
        self.rows
            .map(|row| row[0] * point[0] + row[1] * point[1] + row[2] * point[2])
    }

    /// A direction of coordinates whose y points up, as one of the picture.
    pub(crate) fn of_upright(&self, direction: [f64; 3]) -> [f64; 3] {
        self.apply(Axis::Y.rotate_to(self.up, direction))
    }

    /// A direction of the picture as one whose y points up and whose z points to the front.
    pub(crate) fn upright(&self, direction: [f32; 3]) -> [f32; 3] {
        #[expect(clippy::cast_possible_truncation, reason = "the nearest will do")]
        let rows = self.upright.map(|row| row.map(|number| number as f32));
        let sum = |axis: usize| {
            rows[0][axis] * direction[0]
                + rows[1][axis] * direction[1]
                + rows[2][axis] * direction[2]
        };
        [sum(0), sum(1), sum(2)]
    }

    /// A direction of the file as one of the picture.
    pub(crate) fn direction(&self, direction: [f32; 3]) -> [f32; 3] {
        #[expect(clippy::cast_possible_truncation, reason = "the nearest will do")]
        self.apply(direction.map(f64::from))
            .map(|number| number as f32)
    }
}

/// The cosine and the sine of `step / steps` of a full turn.
pub(crate) fn turn(step: u64, steps: u64) -> [f64; 2] {
    let eighths = step * 8;
    let steps = steps.max(1);
    let rest = (eighths % steps) as f64 / steps as f64 * FRAC_PI_4;
    let square = rest * rest;
    // The sums of powers, from their last members on.
    let sum = |divisors: [f64; 8]| {
        divisors
            .iter()
            .fold(1.0, |sum, divisor| 1.0 - square / divisor * sum)
    };
    let sine = rest * sum([272.0, 210.0, 156.0, 110.0, 72.0, 42.0, 20.0, 6.0]);
    let cosine = sum([240.0, 182.0, 132.0, 90.0, 56.0, 30.0, 12.0, 2.0]);
    let half = FRAC_1_SQRT_2;
    let [c, s] = match eighths / steps % 8 {
        0 => [1.0, 0.0],
        1 => [half, half],
        2 => [0.0, 1.0],
        3 => [-half, half],
        4 => [-1.0, 0.0],
        5 => [-half, -half],
        6 => [0.0, -1.0],
        _ => [half, -half],
    };
    [c * cosine - s * sine, s * cosine + c * sine]
}

/// The size of a picture in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl Frame {
    pub(crate) fn pixels(self) -> usize {
        self.width as usize * self.height as usize
    }

    /// The tangents of half the angles of view.
    fn tangents(self) -> [f64; 2] {
        /// That of 15 degrees, of the shorter side.
        const TANGENT: f64 = 0.268;
        let shorter = f64::from(self.width.min(self.height));
        [self.width, self.height].map(|side| TANGENT * f64::from(side) / shorter)
    }
}

/// The extent of the points that a picture has to hold, seen in a direction.
#[derive(Clone, Copy)]
pub(crate) struct Reach {
    origin: [f64; 3],
    tangents: [f64; 2],
    /// The greatest x + z t, -x + z t, y + z t, -y + z t, where t is the tangent of half the angle of view.
    sides: [f64; 4],
    least: [f64; 3],
    greatest: [f64; 3],
    /// The height of the lowest point above the origin.
    lowest: f64,
}

impl Reach {
    /// The extent of no points; further points are counted from `origin`.
    pub(crate) fn new(frame: Frame, origin: [f64; 3]) -> Self {
        let least = [f64::INFINITY; 3];
        let greatest = [f64::NEG_INFINITY; 3];
        Self {
            origin,
            tangents: frame.tangents(),
            sides: [f64::NEG_INFINITY; 4],
            least,
            greatest,
            lowest: f64::INFINITY,
        }
    }

    pub(crate) fn add(&mut self, view: &View, points: &[[f32; 3]]) {
        let [up_x, up_y, up_z] = view.of_upright([0.0, 1.0, 0.0]);
        for point in points {
            let [x, y, z] = view.apply(from(*point, self.origin));
            let height = up_x * x + up_y * y + up_z * z;
            if height < self.lowest {
                self.lowest = height;
            }
            let [tx, ty] = self.tangents;
            for (side, reach) in
                self.sides
                    .iter_mut()
                    .zip([x + z * tx, z * tx - x, y + z * ty, z * ty - y])
            {
                if reach > *side {
                    *side = reach;
                }
            }
            for ((least, greatest), number) in
                self.least.iter_mut().zip(&mut self.greatest).zip([x, y, z])
            {
                if number < *least {
                    *least = number;
                }
                if number > *greatest {
                    *greatest = number;
                }
            }
        }
    }

    /// The camera that has all points in its picture, as large as may be.
    ///
    /// One that `turns` around the origin looks at this axis, so that it stays in the middle.
    pub(crate) fn camera(&self, view: View, frame: Frame, turns: bool) -> Camera {
        /// The share of half a picture that points may fill.
        const FILLED: f64 = 0.9;
        let Self {
            sides: [right, left, top, bottom],
            tangents: [tx, ty],
            least,
            greatest,
            ..
        } = *self;
        let size: f64 = least
            .iter()
            .zip(greatest)
            .map(|(least, greatest)| (greatest - least) * (greatest - least))
            .sum();
        let radius = Some(size.sqrt() / 2.0)
            .filter(|radius| *radius > 0.0 && radius.is_finite())
            .unwrap_or(1.0);
        let across = if turns { 0.0 } else { (right - left) / 2.0 };
        let widest = if turns && left > right { left } else { right };
        let along_x = if turns {
            widest / tx
        } else {
            (right + left) / (2.0 * tx)
        };
        let along_y = (top + bottom) / (2.0 * ty);
        // However thin a scene is, the eye is not in it.
        let [_, _, nearest] = greatest;
        let away = [along_x, along_y]
            .into_iter()
            .fold(
                nearest + radius / 2.0,
                |far, next| if next > far { next } else { far },
            );
        let shorter = f64::from(frame.width.min(frame.height));
        Camera {
            view,
            origin: self.origin,
            eye: [across, (top - bottom) / 2.0, away],
            radius,
            // The shorter side has the smaller tangent of the two.
            focal: shorter / 2.0 * FILLED / if tx < ty { tx } else { ty },
            middle: [frame.width, frame.height].map(|side| f64::from(side) / 2.0),
            ground: self.lowest,
        }
    }
}

/// The projection of points onto a picture.
#[derive(Clone, Copy)]
pub(crate) struct Camera {
    pub(crate) view: View,
    origin: [f64; 3],
    /// In the directions of the picture, from the origin.
    eye: [f64; 3],
    /// A length of the scene that counts as 1.
    radius: f64,
    /// The pixels of what is as long as it is far away.
    focal: f64,
    /// The middle of the picture in pixels.
    middle: [f64; 2],
    /// The height of the ground above the origin.
    ground: f64,
}

/// Parts of a pixel that places on the picture are counted in, by their logarithm.
pub(crate) const FINE: u32 = 8;

/// A point on the picture.
#[derive(Clone, Copy, Default)]
pub(crate) struct Place {
    /// In parts of a pixel, from the left upper corner.
    pub(crate) x: i32,
    pub(crate) y: i32,
    /// One by the distance from the eye: what changes evenly over a picture.
    pub(crate) nearness: f32,
}

impl Camera {
    /// A point in the directions of the picture, from the eye, and its place on the picture.
    pub(crate) fn see(&self, point: [f32; 3]) -> ([f32; 3], Place) {
        let [x, y, z] = self.view.apply(from(point, self.origin));
        let [x, y, z] = [
            (x - self.eye[0]) / self.radius,
            (y - self.eye[1]) / self.radius,
            (self.eye[2] - z) / self.radius,
        ];
        /// Far outside of any picture, and far from where numbers end.
        const FARTHEST: f64 = (1 << 28) as f64;
        let fine = |pixels: f64| {
            (pixels * f64::from(1 << FINE))
                .round()
                .clamp(-FARTHEST, FARTHEST)
        };
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the nearest will do, and places are not too far away"
        )]
        let (point, place) = (
            [x as f32, y as f32, -z as f32],
            Place {
                x: fine(self.middle[0] + self.focal * x / z) as i32,
                y: fine(self.middle[1] - self.focal * y / z) as i32,
                nearness: (1.0 / z) as f32,
            },
        );
        (point, place)
    }

    /// A point in upright coordinates, from the origin at the height of the ground: y is the height above it.
    pub(crate) fn above_ground(&self, point: [f32; 3]) -> [f64; 3] {
        let [x, y, z] = self.view.up.rotate_to(Axis::Y, from(point, self.origin));
        [x, y - self.ground, z]
    }

    /// The ground as it is seen.
    pub(crate) fn ground(&self) -> Ground {
        let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
            .map(|axis| self.view.of_upright(axis));
        let [x, y, z] = axes.map(|axis| dot(axis, self.eye));
        Ground {
            axes,
            eye: [x, y - self.ground, z],
            focal: self.focal,
            middle: self.middle,
        }
    }

    /// The pixels of what is as long as it is far away, and the middle of the picture.
    pub(crate) fn lens(&self) -> Lens {
        #[expect(clippy::cast_possible_truncation, reason = "the nearest will do")]
        Lens {
            focal: self.focal as f32,
            step: (1.0 / self.focal) as f32,
            middle: self.middle.map(|number| number as f32),
        }
    }
}

/// The ground as a camera sees it.
#[derive(Clone, Copy)]
pub(crate) struct Ground {
    /// The directions of upright coordinates, as directions of the picture.
    axes: [[f64; 3]; 3],
    /// In upright coordinates, from the origin at the height of the ground.
    eye: [f64; 3],
    focal: f64,
    middle: [f64; 2],
}

impl Ground {
    /// The distances of a place in pixels from the nearer sides of the picture, as shares of half its shorter side.
    pub(crate) fn inside(&self, x: f64, y: f64) -> [f64; 2] {
        let [width, height] = self.middle;
        let half = if width < height { width } else { height };
        [
            (width - (x - width).abs()) / half,
            (height - (y - height).abs()) / half,
        ]
    }

    /// The point on the ground that is seen at a place in pixels, as [`Camera::above_ground`] has it without the height; `None` above the
    /// horizon.
    pub(crate) fn at(&self, x: f64, y: f64) -> Option<[f64; 2]> {
        let way = [
            (x - self.middle[0]) / self.focal,
            (self.middle[1] - y) / self.focal,
            -1.0,
        ];
        let [across, up, along] = self.axes.map(|axis| dot(axis, way));
        let distance = -self.eye[1] / up;
        let is_below = distance > 0.0 && distance.is_finite();
        is_below.then_some([
            self.eye[0] + distance * across,
            self.eye[2] + distance * along,
        ])
    }
}

/// The inverse projection, from a pixel to a point.
#[derive(Clone, Copy)]
pub(crate) struct Lens {
    pub(crate) focal: f32,
    /// The length of a pixel at the distance 1.
    step: f32,
    middle: [f32; 2],
}

impl Lens {
    /// The point that is seen at a place in pixels, at a distance.
    pub(crate) fn point(self, x: f32, y: f32, distance: f32) -> [f32; 3] {
        let step = distance * self.step;
        [
            (x - self.middle[0]) * step,
            (self.middle[1] - y) * step,
            -distance,
        ]
    }
}

fn from(point: [f32; 3], origin: [f64; 3]) -> [f64; 3] {
    let [x, y, z] = point.map(f64::from);
    [x - origin[0], y - origin[1], z - origin[2]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshmap_job::Turn;

    #[test]
    fn turns_are_those_of_the_host_within_its_rounding() {
        for steps in [1, 2, 3, 7, 8, 36, 1000] {
            for step in 0..steps {
                let (sine, cosine) = (step as f64 / steps as f64 * std::f64::consts::TAU).sin_cos();
                let [c, s] = turn(step, steps);
                assert!(
                    (c - cosine).abs() < 1e-14 && (s - sine).abs() < 1e-14,
                    "{step}/{steps}"
                );
            }
        }
        assert_eq!(turn(1, 4), [0.0, 1.0]);
    }

    #[test]
    fn quarters_of_a_turn_are_exact() {
        for (up, turn_by) in Axis::ALL.into_iter().zip(
            [Turn::Quarter, Turn::Half, Turn::ThreeQuarters]
                .into_iter()
                .cycle(),
        ) {
            let point = [1.0, 2.0, 3.0];
            let angle = turn(turn_by.quarters().into(), 4);
            let expected =
                View::new(up, Viewpoint::default(), turn(0, 1)).apply(turn_by.about(up, point));
            let seen = View::new(up, Viewpoint::default(), angle).apply(point);
            assert!(
                seen.iter()
                    .zip(expected)
                    .all(|(a, b)| (a - b).abs() < 1e-15),
                "{up}, {turn_by}"
            );
        }
    }

    #[test]
    fn every_point_is_in_the_picture_and_some_are_at_its_edge() {
        let frame = Frame {
            width: 300,
            height: 200,
        };
        let points: Vec<[f32; 3]> = (0..8)
            .map(|corner| [0, 1, 2].map(|axis| if corner >> axis & 1 == 0 { -1e30 } else { 3e30 }))
            .collect();
        for up in Axis::ALL {
            let view = View::new(up, Viewpoint::default(), turn(0, 1));
            let mut reach = Reach::new(frame, [0.0; 3]);
            reach.add(&view, &points);
            let camera = reach.camera(view, frame, false);
            let seen: Vec<Place> = points.iter().map(|point| camera.see(*point).1).collect();
            let inside = |number: i32, side: u32| {
                (0.049..0.951).contains(&(f64::from(number) / 256.0 / f64::from(side)))
            };
            assert!(
                seen.iter()
                    .all(|place| inside(place.x, 300) && inside(place.y, 200)),
                "{up:?}"
            );
            let top = seen.iter().map(|place| place.y).min();
            let bottom = seen.iter().map(|place| place.y).max();
            assert!(
                (bottom.unwrap() - top.unwrap() - 200 * 256 * 9 / 10).abs() <= 2
                    || matches!(up, Axis::X | Axis::NegX)
            );
        }
    }

    #[test]
    fn points_of_one_place_or_one_line_are_in_front_of_the_eye() {
        let frame = Frame {
            width: 64,
            height: 64,
        };
        let view = View::new(Axis::Y, Viewpoint::default(), turn(0, 1));
        for points in [
            vec![[1.0; 3]],
            vec![[0.0; 3], [8.0 * 12.0, 5.0 * 17.0, 15.0 * 12.0]],
        ] {
            let mut reach = Reach::new(frame, [0.0; 3]);
            reach.add(&view, &points);
            let camera = reach.camera(view, frame, false);
            for point in points {
                let (seen, place) = camera.see(point);
                assert!(seen[2] < -0.4 && place.nearness > 0.0, "{seen:?}");
            }
        }
    }

    #[test]
    fn what_points_up_in_the_file_points_up_in_the_picture() {
        for (up, axis) in Axis::ALL.into_iter().zip([0, 1, 2].into_iter().cycle()) {
            let mut point = [0.0; 3];
            point[axis] = if up.name().starts_with('-') {
                -1.0
            } else {
                1.0
            };
            let view = View::new(up, Viewpoint::default(), turn(0, 1));
            let seen = view.direction(point);
            assert!(seen[0].abs() < 1e-6 && seen[1] > 0.9);
            let upright = view.upright(seen);
            assert!(
                upright
                    .iter()
                    .zip([0.0, 1.0, 0.0])
                    .all(|(a, b)| (a - b).abs() < 1e-6),
                "{upright:?}"
            );
        }
    }
}
