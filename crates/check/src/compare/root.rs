//! The root of a written file: the unit, the axis that points up, and the turn about it.

use std::collections::BTreeMap;
use std::rc::Rc;

use meshmap::Axis;
use meshmap_export::Target;

use crate::gltf::{Gltf, index};
use crate::rules::Rules;
use crate::tally::Tally;
use crate::turn;
use crate::usdc::Stage;

/// The vectors to which a rotation takes the three axes.
type Rotation = [[f32; 3]; 3];

const AXES: Rotation = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// The rotation that takes the axis that points up to an axis of the target.
fn expected(rules: &Rules<'_>, target: Axis) -> Rotation {
    AXES.map(|axis| {
        let upright = rules.up().rotate_to(target, axis);
        let turned = turn::turned(rules.convert.turn, target, upright);
        turned.map(without_sign_of_zero)
    })
}

pub(crate) fn check_gltf(rules: &Rules<'_>, gltf: &Gltf<'_>, tally: &mut Tally) {
    let root = gltf.scene().first().and_then(index);
    let root = root.and_then(|root| gltf.nodes().get(root));
    #[expect(clippy::cast_possible_truncation, reason = "the nearest is written")]
    let metres = rules.metres() as f32;
    let scale = root.and_then(|root| numbers(&root["scale"]));
    let scale = scale.unwrap_or([1.0; 3]);
    check("the unit", &scale, &[metres; 3], tally);
    let rotation = root.and_then(|root| numbers(&root["rotation"]));
    let rotation = rotation.unwrap_or([0.0, 0.0, 0.0, 1.0]);
    let rotation = AXES.map(|axis| rotated(rotation, axis));
    check("the up axis", &rotation, &expected(rules, Axis::Y), tally);
}

/// A vector, turned by a quaternion of quarter turns.
fn rotated([x, y, z, w]: [f32; 4], vector: [f32; 3]) -> [f32; 3] {
    let once = cross([x, y, z], vector);
    let twice = cross([x, y, z], once);
    std::array::from_fn(|axis| {
        let moved = vector[axis] + 2.0 * (w * once[axis] + twice[axis]);
        without_sign_of_zero(moved.round())
    })
}

fn cross([x, y, z]: [f32; 3], [a, b, c]: [f32; 3]) -> [f32; 3] {
    [y * c - z * b, z * a - x * c, x * b - y * a]
}

fn without_sign_of_zero(number: f32) -> f32 {
    number + 0.0
}

pub(crate) fn check_usd(rules: &Rules<'_>, stage: &Stage<'_>, tally: &mut Tally) {
    let metres = stage.numbers.get("metersPerUnit").copied();
    check("the unit", &metres, &Some(rules.metres()), tally);
    // Stages have Y up, or Z; in a package always Y.
    let may_have_z = rules.convert.target == Target::Usdc;
    let (axis, name) = if may_have_z && rules.up() == Axis::Z {
        (Axis::Z, "Z")
    } else {
        (Axis::Y, "Y")
    };
    let word = stage.words.get("upAxis").map(String::as_str);
    check("the up axis", &word, &Some(name), tally);
    let mut order = Rc::default();
    let mut degrees = BTreeMap::new();
    if let Some(root) = stage.prims.first() {
        degrees.clone_from(&root.numbers);
        if let Some(list) = root.lists.get("xformOpOrder") {
            order = Rc::clone(list);
        }
    }
    let mut found = AXES;
    for name in order.iter().rev() {
        let degrees = degrees.get(name).copied().unwrap_or(f32::NAN);
        found = found.map(|axis| turned(name, degrees, axis));
    }
    check("the up axis", &found, &expected(rules, axis), tally);
}

/// A vector, turned about the axis that an operation names.
fn turned(name: &str, degrees: f32, [x, y, z]: [f32; 3]) -> [f32; 3] {
    let (sine, cosine) = match degrees.rem_euclid(360.0) {
        0.0 => (0.0, 1.0),
        90.0 => (1.0, 0.0),
        180.0 => (0.0, -1.0),
        270.0 => (-1.0, 0.0),
        _ => (f32::NAN, f32::NAN),
    };
    let turned = match name {
        "xformOp:rotateX" => [x, y * cosine - z * sine, y * sine + z * cosine],
        "xformOp:rotateY" => [x * cosine + z * sine, y, z * cosine - x * sine],
        "xformOp:rotateZ" => [x * cosine - y * sine, x * sine + y * cosine, z],
        _ => [f32::NAN; 3],
    };
    turned.map(without_sign_of_zero)
}

fn check<T: PartialEq + std::fmt::Debug>(
    what: &'static str,
    found: &T,
    expected: &T,
    tally: &mut Tally,
) {
    if found == expected {
        tally.equal(what);
    } else {
        tally.differs(|| format!("{what} is {found:?}, where {expected:?} is meant"));
    }
}

/// Numbers of JSON, which are texts of floats.
#[expect(clippy::cast_possible_truncation, reason = "floats")]
fn numbers<const N: usize>(list: &serde_json::Value) -> Option<[f32; N]> {
    let mut numbers = Vec::new();
    for number in list.as_array()? {
        numbers.extend(number.as_f64().map(|number| number as f32));
    }
    numbers.try_into().ok()
}
