//! Assumptions about properties that a file does not specify, which are reported.

use meshmap::Format;
use meshmap_job::Assumption;
use meshmap_scene::{Scene, Shape, Unit};

use crate::outcome::Outcome;
use crate::settings::Job;

/// The unit scale, in metres.
pub(crate) fn metres(scene: &Scene, outcome: &mut Outcome) -> f64 {
    if let Some(stored) = scene.unit().metres() {
        return stored;
    }
    if scene.unit() == Unit::Unknown {
        outcome.report.assume(Assumption::Metres);
    }
    1.0
}

/// The seconds from one key of a shape to the next.
pub(crate) fn step(shape: &Shape, job: &Job<'_>, outcome: &mut Outcome) -> f64 {
    match (job.fps, shape.stored_step()) {
        (Some(rate), _) => 1.0 / rate,
        (None, Some(step)) => step,
        (None, None) => {
            if shape.key_count() > 1 {
                let rate = Assumption::SnapshotRate(Format::USUAL_RATE);
                outcome.report.assume(rate);
            }
            1.0 / f64::from(Format::USUAL_RATE)
        }
    }
}
