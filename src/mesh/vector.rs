//! Vectors of three numbers.

pub(crate) fn difference([x, y, z]: [f64; 3], [p, q, r]: [f64; 3]) -> [f64; 3] {
    [x - p, y - q, z - r]
}

pub(crate) fn cross([a, b, c]: [f64; 3], [x, y, z]: [f64; 3]) -> [f64; 3] {
    [b * z - c * y, c * x - a * z, a * y - b * x]
}

pub(crate) fn dot([a, b, c]: [f64; 3], [x, y, z]: [f64; 3]) -> f64 {
    a * x + b * y + c * z
}
