//! Assumptions about properties that a file does not specify, which are reported.

use meshmap::cgeo::Proxy;
use meshmap::{Axis, Format, MeshFile};

use crate::moment::USUAL_RATE;
use crate::outcome::Outcome;
use crate::settings::Job;

/// The up axis: the one that is `said`, or the format's.
pub(crate) fn up(format: Format, said: Option<Axis>, note: impl FnOnce(String)) -> Axis {
    said.or(format.conventions().up).unwrap_or_else(|| {
        let (up, name) = match format {
            // 3ds Max, from which most of these files come, has Z up.
            Format::CGeo => (Axis::Z, "Z"),
            _ => (Axis::Y, "Y"),
        };
        note(format!("{format} does not define the up axis: assuming {name}"));
        up
    })
}

/// The unit scale, in metres.
pub(crate) fn metres(file: &MeshFile, job: &Job<'_>, outcome: &mut Outcome) -> f64 {
    match file.as_cgeo() {
        Some(proxy) => metres_of(proxy, job, outcome),
        None => job.metres(None).unwrap_or(1.0),
    }
}

/// The unit scale of a CGeo file, in metres.
pub(crate) fn metres_of(proxy: &Proxy, job: &Job<'_>, outcome: &mut Outcome) -> f64 {
    job.metres(proxy.unit_length().map(|unit| unit.millimeters)).unwrap_or_else(|| {
        outcome.note("the file does not store a unit: assuming metres");
        1.0
    })
}

/// The seconds from one snapshot to the next; which matters where `is_animated`.
pub(crate) fn step(proxy: &Proxy, job: &Job<'_>, is_animated: bool, outcome: &mut Outcome) -> f64 {
    let stored = proxy.timing().map(|timing| timing.step()).filter(|step| *step > 0.0);
    match (job.fps, stored) {
        (Some(rate), _) => 1.0 / rate,
        (None, Some(step)) => step,
        (None, None) => {
            if is_animated {
                outcome.note(format!(
                    "the file does not store the times of snapshots: assuming {USUAL_RATE} per second"
                ));
            }
            1.0 / f64::from(USUAL_RATE)
        }
    }
}
