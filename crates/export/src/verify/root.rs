//! The root of a written file: the unit, the axis that points up, and the turn about it.

use std::collections::BTreeMap;
use std::rc::Rc;

use meshmap::Axis;

use super::gltf::{Gltf, index};
use super::tally::Tally;
use super::usdc::Stage;
use crate::outcome::Outcome;
use crate::scene::{Scene, assume};
use crate::settings::Job;

/// The vectors to which a rotation takes the three axes.
type Rotation = [[f32; 3]; 3];

const AXES: Rotation = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// The axis of the file that points up, and the rotation that takes it to an axis of the target.
fn expected(scene: &Scene, job: &Job<'_>, target: impl Fn(Axis) -> Axis) -> (Axis, Rotation) {
    let up = assume::up(scene.format, job.up, |_| ());
    let target = target(up);
    // Zeros have no sign.
    let rotated = |axis| {
        job.turn
            .about(target, up.rotate_to(target, axis))
            .map(|number: f32| number + 0.0)
    };
    (up, AXES.map(rotated))
}

pub(super) fn check_gltf(scene: &Scene, job: &Job<'_>, gltf: &Gltf, tally: &mut Tally) {
    let root = gltf
        .scene()
        .first()
        .and_then(index)
        .and_then(|root| gltf.nodes().get(root));
    #[expect(clippy::cast_possible_truncation, reason = "the nearest is written")]
    let metres = assume::metres(scene, job, &mut Outcome::default()) as f32;
    let scale = root
        .and_then(|root| numbers(&root["scale"]))
        .unwrap_or([1.0; 3]);
    check("the unit", &scale, &[metres; 3], tally);
    let rotation = root
        .and_then(|root| numbers(&root["rotation"]))
        .unwrap_or([0.0, 0.0, 0.0, 1.0]);
    let rotation = AXES.map(|axis| rotated(rotation, axis));
    check(
        "the up axis",
        &rotation,
        &expected(scene, job, |_| Axis::Y).1,
        tally,
    );
}

/// A vector, turned by a quaternion of quarter turns.
fn rotated([x, y, z, w]: [f32; 4], [a, b, c]: [f32; 3]) -> [f32; 3] {
    let cross =
        |[x, y, z]: [f32; 3], [a, b, c]: [f32; 3]| [y * c - z * b, z * a - x * c, x * b - y * a];
    let once = cross([x, y, z], [a, b, c]);
    let twice = cross([x, y, z], once);
    std::array::from_fn(|axis| {
        ([a, b, c][axis] + 2.0 * (w * once[axis] + twice[axis])).round() + 0.0
    })
}

pub(super) fn check_usd(scene: &Scene, job: &Job<'_>, stage: &Stage<'_>, tally: &mut Tally) {
    let metres = assume::metres(scene, job, &mut Outcome::default());
    check(
        "the unit",
        &stage.numbers.get("metersPerUnit").copied(),
        &Some(metres),
        tally,
    );
    let (up, expected) = expected(
        scene,
        job,
        |up| if up == Axis::Z { Axis::Z } else { Axis::Y },
    );
    let word = stage.words.get("upAxis").map(String::as_str);
    check(
        "the up axis",
        &word,
        &Some(if up == Axis::Z { "Z" } else { "Y" }),
        tally,
    );
    let none = (Rc::default(), BTreeMap::new());
    let root = stage
        .prims
        .first()
        .map(|root| (root.lists.get("xformOpOrder"), &root.numbers));
    let (order, degrees) = root.map_or((None, &none.1), |root| root);
    let mut found = AXES;
    for name in order.unwrap_or(&none.0).iter().rev() {
        let degrees = degrees.get(name).copied().unwrap_or(f32::NAN);
        found = found.map(|axis| turned(name, degrees, axis));
    }
    check("the up axis", &found, &expected, tally);
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
    turned.map(|number| number + 0.0)
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
    let numbers = list
        .as_array()?
        .iter()
        .filter_map(serde_json::Value::as_f64);
    numbers
        .map(|number| number as f32)
        .collect::<Vec<_>>()
        .try_into()
        .ok()
}
