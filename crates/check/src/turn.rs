//! The turn about the axis that points up.

use meshmap::Axis;
use meshmap_export::Turn;

/// A vector, turned about an axis that points up, counter-clockwise as seen from above.
pub(crate) fn turned(turn: Turn, up: Axis, vector: [f32; 3]) -> [f32; 3] {
    let quarters = match turn {
        Turn::Quarter => 1,
        Turn::Half => 2,
        Turn::ThreeQuarters => 3,
        _ => 0,
    };
    let mut turned = vector;
    for _ in 0..quarters {
        turned = quarter(up, turned);
    }
    turned
}

fn quarter(up: Axis, [x, y, z]: [f32; 3]) -> [f32; 3] {
    match up {
        Axis::X => [x, -z, y],
        Axis::NegX => [x, z, -y],
        Axis::Y => [z, y, -x],
        Axis::NegY => [-z, y, x],
        Axis::Z => [-y, x, z],
        Axis::NegZ => [y, -x, z],
        // An axis of a later version.
        _ => [f32::NAN; 3],
    }
}
