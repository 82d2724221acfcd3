//! Points and directions.

use std::ops::{Add, Mul, Sub};

/// The difference `a - b`.
#[must_use]
pub fn sub<T: Sub<Output = T>>([a, b, c]: [T; 3], [x, y, z]: [T; 3]) -> [T; 3] {
    [a - x, b - y, c - z]
}

/// The dot product.
#[must_use]
pub fn dot<T: Add<Output = T> + Mul<Output = T>>([a, b, c]: [T; 3], [x, y, z]: [T; 3]) -> T {
    a * x + b * y + c * z
}

/// The cross product.
#[must_use]
pub fn cross<T>(u: [T; 3], v: [T; 3]) -> [T; 3]
where
    T: Copy + Sub<Output = T> + Mul<Output = T>,
{
    [
        u[1] * v[2] - u[2] * v[1],
        u[2] * v[0] - u[0] * v[2],
        u[0] * v[1] - u[1] * v[0],
    ]
}

/// A vector, longer by a factor.
#[must_use]
pub fn scaled(a: [f32; 3], by: f32) -> [f32; 3] {
    a.map(|number| number * by)
}

/// The width of the dots that points are shown as: a part of the diagonal of the box around them.
#[must_use]
pub fn dot_width(points: &[[f32; 3]]) -> f32 {
    /// The number of dots on the diagonal.
    const DOTS: f32 = 150.0;
    let bounds = meshmap::Bounds::around(points.iter().copied()).unwrap_or_default();
    let diagonal: f32 = (0..3)
        .map(|axis| (bounds.max[axis] - bounds.min[axis]).powi(2))
        .sum();
    (diagonal.sqrt() / DOTS).clamp(f32::MIN_POSITIVE, f32::MAX)
}

/// The direction of a vector, of length 1; `None` of one that has no direction.
#[must_use]
pub fn unit(a: [f32; 3]) -> Option<[f32; 3]> {
    let length = dot(a, a).sqrt();
    (length > 0.0 && length.is_finite()).then(|| scaled(a, 1.0 / length))
}

/// Like [`unit()`], of numbers whose squares no `f32` can hold.
#[must_use]
pub fn unit_of_f64(a: [f64; 3]) -> Option<[f32; 3]> {
    let length = dot(a, a).sqrt();
    #[expect(clippy::cast_possible_truncation, reason = "not greater than 1")]
    (length > 0.0 && length.is_finite()).then(|| a.map(|number| (number / length) as f32))
}

/// The normal of a triangle, as long as twice its area.
#[must_use]
pub fn face_normal(corners: [[f32; 3]; 3]) -> [f64; 3] {
    let [a, b, c] = corners.map(|corner| corner.map(f64::from));
    cross(sub(b, a), sub(c, a))
}

/// `true` if two corners of a triangle are one vertex.
#[must_use]
pub fn is_degenerate([a, b, c]: [u32; 3]) -> bool {
    a == b || b == c || c == a
}
