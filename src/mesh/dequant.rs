/// Dequantization: `value * scale + offset` for each component.
///
/// `value` is the normalized integer, in 0..1 or -1..1. Both operations are rounded to single precision, as in a
/// shader.
///
/// Equal if all bits are equal, except for the bits of NaN: a file may have domains that are NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Dequant {
    /// The scale of each component; 1 for components that are not stored.
    pub scale: [f32; 4],
    /// The offset of each component; 0 for components that are not stored.
    pub offset: [f32; 4],
}

impl Dequant {
    /// Returns `true` if all numbers have the same bits, or are NaN in both.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let pairs = self.scale.iter().zip(&other.scale);
        let mut pairs = pairs.chain(self.offset.iter().zip(&other.offset));
        pairs.all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan())
    }

    /// The dequantization for components between `min` and `max`.
    pub(crate) fn of_domain<const N: usize>(min: [f32; N], max: [f32; N]) -> Self {
        let mut dequant = Self {
            scale: [1.0; 4],
            offset: [0.0; 4],
        };
        for (scale, (min, max)) in dequant.scale.iter_mut().zip(min.iter().zip(max)) {
            *scale = max - min;
        }
        for (offset, min) in dequant.offset.iter_mut().zip(min) {
            *offset = min;
        }
        dequant
    }

    /// The value of a component whose normalized integer is `number`.
    pub(super) fn apply(&self, component: usize, number: f32) -> f32 {
        match (self.scale.get(component), self.offset.get(component)) {
            (Some(scale), Some(offset)) => number * scale + offset,
            _ => number,
        }
    }
}
