/// An axis-aligned box, in the units of the file.
///
/// # Examples
///
/// ```
/// use meshmap::{Bounds, MeshFile};
///
/// let file = MeshFile::open("tests/data/iqm/valid/skin_multi_anim.iqm")?;
/// let mut all = Bounds::default();
/// for entry in file.meshes()? {
///     all = file.mesh(&entry.address)?.bounds()?.map_or(all, |bounds| all.union(bounds));
/// }
/// assert!(!all.is_empty());
/// # Ok::<(), meshmap::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
#[repr(C)]
pub struct Bounds {
    /// The minimum x, y and z.
    pub min: [f32; 3],
    /// The maximum x, y and z.
    pub max: [f32; 3],
}

impl Bounds {
    /// The box from a corner to the opposite one.
    #[must_use]
    pub const fn new(min: [f32; 3], max: [f32; 3]) -> Self {
        Self { min, max }
    }

    /// The box around these points, ignoring NaN and infinite values; `None` if an axis has no finite value.
    #[must_use]
    pub fn around(points: impl IntoIterator<Item = [f32; 3]>) -> Option<Self> {
        let mut bounds = Self::default();
        bounds.add(points);
        (!bounds.is_empty()).then_some(bounds)
    }

    /// Extends the box to these points, leaving out numbers that are not finite: on each axis for itself, so that it may
    /// become complete with later points.
    pub(crate) fn add(&mut self, points: impl IntoIterator<Item = [f32; 3]>) {
        for point in points {
            for ((value, min), max) in point.into_iter().zip(&mut self.min).zip(&mut self.max) {
                if value.is_finite() {
                    *min = min.min(value);
                    *max = max.max(value);
                }
            }
        }
    }

    /// The box around both. An [empty](Self::is_empty) one adds nothing.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        if self.is_empty() || other.is_empty() {
            return if self.is_empty() { other } else { self };
        }
        let mut union = self;
        for (min, other) in union.min.iter_mut().zip(other.min) {
            *min = min.min(other);
        }
        for (max, other) in union.max.iter_mut().zip(other.max) {
            *max = max.max(other);
        }
        union
    }

    /// Returns `true` if the box contains no point: on some axis, the minimum is not at most the maximum.
    ///
    /// A box of one point is not empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.min.iter().zip(&self.max).all(|(min, max)| min <= max)
    }
}

/// The box with no point in it: the minima are infinity, the maxima minus infinity. [`union`](Bounds::union) with it
/// changes nothing.
impl Default for Bounds {
    fn default() -> Self {
        Self {
            min: [f32::INFINITY; 3],
            max: [f32::NEG_INFINITY; 3],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn union_is_around_both_and_ignores_what_is_empty() {
        let a = Bounds::new([0.0, 0.0, 0.0], [1.0, 1.0, 1.0]);
        let b = Bounds::new([-1.0, 0.5, 2.0], [0.5, 3.0, 2.0]);
        assert_eq!(a.union(b), Bounds::new([-1.0, 0.0, 0.0], [1.0, 3.0, 2.0]));
        assert_eq!(a.union(b), b.union(a));
        let empty = [
            Bounds::default(),
            Bounds::new([0.0, 9.0, 0.0], [1.0, 8.0, 1.0]),
            Bounds::new([f32::NAN, -9.0, -9.0], [9.0; 3]),
        ];
        for empty in empty {
            assert!(empty.is_empty());
            assert_eq!((a.union(empty), empty.union(a)), (a, a));
        }
        assert!(Bounds::default().union(Bounds::default()).is_empty());
    }

    #[test]
    fn box_around_points_leaves_out_numbers_that_are_not_finite() {
        let points = [[1.0, f32::NAN, 3.0], [f32::INFINITY, 2.0, -3.0]];
        let bounds = Bounds::around(points).unwrap();
        assert_eq!(bounds, Bounds::new([1.0, 2.0, -3.0], [1.0, 2.0, 3.0]));
        assert!(!bounds.is_empty() && !Bounds::around([[5.0; 3]]).unwrap().is_empty());
        assert_eq!(Bounds::around([[0.0, f32::NAN, 0.0]]), None);
        assert_eq!(Bounds::around([]), None);
    }
}
