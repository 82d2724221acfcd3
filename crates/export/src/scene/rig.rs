//! Joints, and what moves them.

use meshmap::iqm::Trs;

use super::iqm::Clip;
use crate::error::Result;
use crate::outcome::Outcome;
use crate::settings::Job;

/// The joints that the vertices of a file follow. They are read by targets that have joints.
pub(crate) trait Rig {
    /// The parts that targets without joints leave out, with their counts.
    fn parts(&self) -> Vec<String>;

    /// The skeleton; `None` if it has no joints, or one that cannot be used, which is reported.
    fn skeleton(&self, job: &Job<'_>, outcome: &mut Outcome) -> Result<Option<Skeleton>>;

    /// The animations that can be written for a skeleton of this many joints.
    fn clips(&self, _joints: usize, _job: &Job<'_>, _outcome: &mut Outcome) -> Result<Vec<Clip>> {
        Ok(Vec::new())
    }
}

/// A number of joints in words, for lists of parts.
pub(crate) fn counted_joints(count: usize) -> String {
    if count == 1 {
        "1 joint".to_owned()
    } else {
        format!("{count} joints")
    }
}

pub(crate) struct Skeleton {
    pub(crate) joints: Vec<Joint>,
    /// The matrices that transform a vertex in the bind pose into each joint.
    pub(crate) inverse_bind: Vec<[f64; 16]>,
    /// `true` if the joints are of use without a mesh, because animations move them.
    pub(crate) stands_alone: bool,
}

/// A joint in the bind pose.
pub(crate) struct Joint {
    pub(crate) name: String,
    pub(crate) parent: Option<usize>,
    /// Relative to the parent.
    pub(crate) place: Place,
}

impl Joint {
    /// Its place, if an animation can replace its parts.
    pub(crate) fn trs(&self) -> Option<Trs> {
        if let Place::Trs(trs) = self.place {
            Some(trs)
        } else {
            None
        }
    }
}

pub(crate) enum Place {
    Origin,
    Matrix([f32; 16]),
    Trs(Trs),
}
