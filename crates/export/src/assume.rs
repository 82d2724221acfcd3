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

/// The number of snapshots a second.
pub(crate) fn rate(shape: &Shape, job: &Job<'_>, outcome: &mut Outcome) -> f64 {
    if let Some(rate) = job.fps {
        return rate;
    }
    if shape.stored_step().is_none() && shape.key_count() > 1 {
        let rate = Assumption::SnapshotRate(Format::USUAL_RATE);
        outcome.report.assume(rate);
    }
    shape.rate()
}
