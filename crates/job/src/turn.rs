//! A turn of the mesh about the axis that points up.

use std::ops::Neg;

use meshmap::Axis;

use crate::options::texts;

/// A rotation about the up axis, counter-clockwise as seen from above.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Turn {
    /// No rotation.
    #[default]
    None,
    /// By 90 degrees: the X axis of a file that has Z up points along Y.
    Quarter,
    /// By 180 degrees.
    Half,
    /// By 270 degrees, which is 90 degrees clockwise.
    ThreeQuarters,
}

texts!(
    Turn,
    [
        ("0", Turn::None),
        ("90", Turn::Quarter),
        ("180", Turn::Half),
        ("270", Turn::ThreeQuarters)
    ]
);

impl Turn {
    /// The number of quarters of a turn.
    #[must_use]
    pub fn quarters(self) -> u8 {
        self as u8
    }

    /// A vector, turned about an axis that points up.
    pub fn about<T: Neg<Output = T> + From<f32>>(self, up: Axis, vector: [T; 3]) -> [T; 3] {
        let [x, y, z] = up.rotate_to(Axis::Y, vector);
        let turned = match self {
            Self::None => [x, y, z],
            Self::Quarter => [z, y, -x],
            Self::Half => [-x, y, -z],
            Self::ThreeQuarters => [-z, y, x],
        };
        Axis::Y.rotate_to(up, turned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quarters_follow_each_other_and_keep_what_points_up() {
        assert_eq!(
            Turn::Quarter.about(Axis::Z, [1.0, 0.0, 0.0]),
            [0.0, 1.0, 0.0]
        );
        assert_eq!(
            Turn::Quarter.about(Axis::Y, [0.0, 0.0, 1.0]),
            [1.0, 0.0, 0.0]
        );
        for up in Axis::ALL {
            let quarter = |vector| Turn::Quarter.about(up, vector);
            let vector = [1.0, 2.0, 3.0];
            assert_eq!(Turn::Half.about(up, vector), quarter(quarter(vector)));
            assert_eq!(
                Turn::ThreeQuarters.about(up, vector),
                quarter(quarter(quarter(vector)))
            );
            assert_eq!(Turn::None.about(up, vector), vector);
            let top = Axis::Y.rotate_to(up, [0.0, 1.0, 0.0]);
            assert_eq!(quarter(top), top);
        }
    }
}
