//! The unit of a written file.

use super::gltf::{Gltf, index};
use super::tally::Tally;
use super::usdc::Stage;
use crate::outcome::Outcome;
use crate::scene::{Scene, assume};
use crate::settings::Job;

pub(super) fn check_gltf(scene: &Scene, job: &Job<'_>, gltf: &Gltf, tally: &mut Tally) {
    let root = gltf.scene().first().and_then(index).and_then(|root| gltf.nodes().get(root));
    #[expect(clippy::cast_possible_truncation, reason = "the nearest is written")]
    let metres = assume::metres(scene, job, &mut Outcome::default()) as f32;
    let scale = root.and_then(|root| numbers::<3>(&root["scale"]));
    let scale = scale.unwrap_or([1.0; 3]);
    check("the unit", &scale, &[metres; 3], tally);
}

pub(super) fn check_usd(scene: &Scene, job: &Job<'_>, stage: &Stage<'_>, tally: &mut Tally) {
    let metres = assume::metres(scene, job, &mut Outcome::default());
    check("the unit", &stage.numbers.get("metersPerUnit").copied(), &Some(metres), tally);
}

fn check<T: PartialEq + std::fmt::Debug>(what: &'static str, found: &T, expected: &T, tally: &mut Tally) {
    if found == expected {
        tally.equal(what);
    } else {
        tally.differs(|| format!("{what} is {found:?}, where {expected:?} is meant"));
    }
}

/// Numbers of JSON, which are texts of floats.
#[expect(clippy::cast_possible_truncation, reason = "floats")]
fn numbers<const N: usize>(list: &serde_json::Value) -> Option<[f32; N]> {
    let numbers = list.as_array()?.iter().filter_map(serde_json::Value::as_f64);
    numbers.map(|number| number as f32).collect::<Vec<_>>().try_into().ok()
}
