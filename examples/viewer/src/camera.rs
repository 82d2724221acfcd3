//! A camera that has a box in view.

use meshmap::{Axis, Bounds};

/// The fields of the shader's `Camera`.
pub struct Camera {
    /// Columns.
    to_clip: [[f32; 4]; 4],
    eye: [f32; 3],
    centre: [f32; 3],
    scale: f32,
}

impl Camera {
    /// Looks at a box from the front, the right and above, with all of it in view.
    ///
    /// The box is moved to the origin and scaled so that the sphere around it has the radius 1.
    pub fn framing(bounds: Bounds, up: Axis, [width, height]: [u32; 2]) -> Self {
        let between =
            |axis: usize| f64::from(bounds.min[axis]) / 2.0 + f64::from(bounds.max[axis]) / 2.0;
        let half =
            |axis: usize| f64::from(bounds.max[axis]) / 2.0 - f64::from(bounds.min[axis]) / 2.0;
        let radius = [0, 1, 2]
            .map(|axis| half(axis).powi(2))
            .iter()
            .sum::<f64>()
            .sqrt();

        const DISTANCE: f32 = 4.0;
        // To the right, to the front and up. The front is -Y where Z is up, and Z where Y is; models may look elsewhere.
        let view = [0.55, 0.8, 0.45];
        let towards_eye = normalize(match up {
            Axis::X => [view[2], -view[1], view[0]],
            Axis::NegX => [-view[2], view[1], view[0]],
            Axis::Z => [view[0], -view[1], view[2]],
            Axis::NegZ => [view[0], view[1], -view[2]],
            Axis::NegY => [view[0], -view[2], -view[1]],
            _ => [view[0], view[2], view[1]],
        });
        let up = match up {
            Axis::X => [1.0, 0.0, 0.0],
            Axis::NegX => [-1.0, 0.0, 0.0],
            Axis::Z => [0.0, 0.0, 1.0],
            Axis::NegZ => [0.0, 0.0, -1.0],
            Axis::NegY => [0.0, -1.0, 0.0],
            _ => [0.0, 1.0, 0.0],
        };
        let right = normalize(cross(up, towards_eye));
        let above = cross(towards_eye, right);

        // The sphere touches the sides of the picture that are nearer to each other.
        let focal = (DISTANCE * DISTANCE - 1.0).sqrt();
        let (across, down) = (width as f32, height as f32);
        let (x, y) = (
            focal * (down / across).min(1.0),
            focal * (across / down).min(1.0),
        );
        let (near, far) = (DISTANCE - 1.01, DISTANCE + 1.01);
        let depth = far / (near - far);
        let column = |axis: usize| {
            [
                x * right[axis],
                y * above[axis],
                depth * towards_eye[axis],
                -towards_eye[axis],
            ]
        };
        Self {
            to_clip: [
                column(0),
                column(1),
                column(2),
                [0.0, 0.0, depth * (near - DISTANCE), DISTANCE],
            ],
            eye: towards_eye.map(|part| part * DISTANCE),
            centre: [0, 1, 2].map(|axis| between(axis) as f32),
            scale: if radius > 0.0 {
                (1.0 / radius) as f32
            } else {
                1.0
            },
        }
    }

    /// As WGSL lays out the struct.
    pub fn bytes(&self) -> Vec<u8> {
        let Self {
            to_clip,
            eye: [a, b, c],
            centre: [x, y, z],
            scale,
        } = self;
        let numbers = to_clip
            .as_flattened()
            .iter()
            .chain([a, b, c, &0.0, x, y, z, scale]);
        numbers.flat_map(|number| number.to_ne_bytes()).collect()
    }
}

fn cross([a, b, c]: [f32; 3], [x, y, z]: [f32; 3]) -> [f32; 3] {
    [b * z - c * y, c * x - a * z, a * y - b * x]
}

fn normalize([x, y, z]: [f32; 3]) -> [f32; 3] {
    let length = (x * x + y * y + z * z).sqrt();
    [x / length, y / length, z / length]
}
