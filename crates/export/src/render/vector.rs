//! Points and directions.

pub(super) fn sub(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

pub(super) fn scaled(a: [f32; 3], by: f32) -> [f32; 3] {
    [a[0] * by, a[1] * by, a[2] * by]
}

pub(super) fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(super) fn cross(u: [f32; 3], v: [f32; 3]) -> [f32; 3] {
    [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
}

/// The direction of a vector, of length 1; `None` of one that has no direction.
pub(super) fn unit(a: [f32; 3]) -> Option<[f32; 3]> {
    let length = dot(a, a).sqrt();
    (length > 0.0 && length.is_finite()).then(|| scaled(a, 1.0 / length))
}

/// Like [`unit`], of numbers whose squares no `f32` can hold.
pub(super) fn unit_of_f64(a: [f64; 3]) -> Option<[f32; 3]> {
    let length = (a[0] * a[0] + a[1] * a[1] + a[2] * a[2]).sqrt();
    #[expect(clippy::cast_possible_truncation, reason = "not greater than 1")]
    (length > 0.0 && length.is_finite()).then(|| a.map(|number| (number / length) as f32))
}

/// The normal of a triangle, as long as twice its area.
pub(super) fn face_normal([a, b, c]: [[f32; 3]; 3]) -> [f64; 3] {
    let wide = |p: [f32; 3], q: [f32; 3]| -> [f64; 3] {
        std::array::from_fn(|axis| f64::from(p[axis]) - f64::from(q[axis]))
    };
    let (u, v) = (wide(b, a), wide(c, a));
    [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
}
