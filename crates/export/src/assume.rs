//! Assumptions about properties that a file does not specify, which are reported.

use meshmap::{Axis, Format};
use meshmap_scene::{Scene, Shape, Unit};

use crate::outcome::Outcome;
use crate::report::{Assumption, Report};
use crate::settings::Job;

/// The up axis: the one that is `said`, or the format's.
pub(crate) fn up(format: Format, said: Option<Axis>, report: &mut Report) -> Axis {
    said.or(format.conventions().up).unwrap_or_else(|| {
        let up = format.usual_up();
        report.assume(Assumption::Up(up));
        up
    })
}

/// The unit scale, in metres.
pub(crate) fn metres(scene: &Scene, job: &Job<'_>, outcome: &mut Outcome) -> f64 {
    if let Some(millimeters) = job.unit_millimeters {
        return millimeters / 1000.0;
    }
    if let Some(stored) = scene.unit().metres() {
        return stored;
    }
    if scene.unit() == Unit::Unknown {
        outcome.report.assume(Assumption::Metres);
    }
    1.0
}

/// A comment for targets that have no unit; `None` if the file stores none.
pub(crate) fn unit_comment(scene: &Scene) -> Option<String> {
    if let Unit::Millimeters(unit) = scene.unit() {
        Some(format!("unit: {unit} mm"))
    } else {
        None
    }
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
