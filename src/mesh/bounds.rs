/// An axis-aligned box, in the units of the file.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Bounds {
    /// The least x, y and z.
    pub min: [f32; 3],
    /// The greatest x, y and z.
    pub max: [f32; 3],
}

impl Bounds {
    /// The box around these points, leaving out numbers that are not finite.
    pub(crate) fn around(points: impl Iterator<Item = [f32; 3]>) -> Option<Self> {
        let mut bounds = Self { min: [f32::INFINITY; 3], max: [f32::NEG_INFINITY; 3] };
        for point in points {
            for ((value, min), max) in point.into_iter().zip(&mut bounds.min).zip(&mut bounds.max) {
                if value.is_finite() {
                    *min = min.min(value);
                    *max = max.max(value);
                }
            }
        }
        bounds.min.iter().chain(&bounds.max).all(|value| value.is_finite()).then_some(bounds)
    }
}
