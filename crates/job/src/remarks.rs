//! Reports of parts of a file that cannot be used as they are stored, and of what it does not say.

use meshmap::Axis;
use meshmap_scene::{FactKind, Remark, Scene};

use crate::report::{Assumption, Change, Report, Warning, Why};

/// The up axis, which is reported if nobody says which it is.
pub fn up_of(scene: &Scene, report: &mut Report) -> Axis {
    let up = scene.up();
    if !scene.knows_up() {
        report.assume(Assumption::Up(up));
    }
    up
}

/// Reports each of these.
pub fn report_all(remarks: &[Remark], report: &mut Report) {
    for remark in remarks {
        add(remark, report);
    }
}

fn add(remark: &Remark, report: &mut Report) {
    match remark {
        Remark::NoPositions(address) => {
            report.leave_out(FactKind::Shapes, Why::NoPositions, address.to_string());
        }
        Remark::UndecodableBindShape => {
            report.leave_out_many(FactKind::BindShape, Why::Undecodable, 1);
        }
        Remark::NonFiniteBindShape(number) => {
            report.leave_out(FactKind::BindShape, Why::NotFinite, number.to_string());
        }
        Remark::MirroringBindShape => report.warn(Warning::BindShapeMirrors, 1),
        Remark::UndecodableSkin => {
            report.leave_out_many(FactKind::SkinJoints, Why::Undecodable, 1);
        }
        Remark::IncompleteSkin => report.leave_out_many(FactKind::SkinJoints, Why::Incomplete, 1),
        Remark::UnequalSkin { joints, matrices } => {
            let counts = format!("{joints} joints, {matrices} matrices");
            report.leave_out(FactKind::SkinJoints, Why::UnequalCounts, counts);
        }
        Remark::ReplacedJoints(joints) => {
            for joint in joints {
                let name = || joint.to_string_lossy().into_owned();
                report.change_at(Change::JointsReplaced, 1, name);
            }
        }
        Remark::NonFiniteJoint { joint, value } => {
            let joint = format!("joints[{joint}] has {value}");
            report.leave_out(FactKind::Joints, Why::NotFinite, joint);
        }
        Remark::ClipsOfOtherJoints { poses, joints } => {
            let counts = format!("{poses} of {joints} joints");
            report.leave_out(FactKind::Clips, Why::OtherJoints, counts);
        }
        Remark::EmptyClip(name) => {
            report.leave_out(FactKind::Clips, Why::NoFrames, name.to_string_lossy());
        }
        Remark::RestingJoints { name, joints } => {
            for joint in joints {
                let joint = format!("{} ({name})", joint.to_string_lossy());
                report.warn_of(Warning::JointsAtRest, joint);
            }
        }
        // A remark of a later version of the scene.
        _ => {}
    }
}
