//! The words for what a scene does not have.

use meshmap::Text;
use meshmap_scene::{Joints, Remark};

use crate::names::listed;
use crate::outcome::Report;

/// Reports each of these.
pub(crate) fn report_all(remarks: &[Remark], to: &mut impl Report) {
    for remark in remarks {
        report(remark, to);
    }
}

fn report(remark: &Remark, to: &mut impl Report) {
    match remark {
        Remark::OtherLevel(name) => to.skips(format!("the level of detail {name}")),
        Remark::Physics => to.skips("geometry for physics".to_owned()),
        Remark::NoPositions(address) => to.skips(format!("{address}, which has no positions")),
        Remark::UnreferencedStreams => {
            let what = "normals and texture coordinates, which only triangles refer to";
            to.skips(what.to_owned());
        }
        Remark::PosedJoints(count) => to.skips(skeleton(*count)),
        Remark::PosedClips(count) => to.skips(animations(*count)),
        Remark::UndecodableBindShape => {
            to.lacks("the bind shape of the skin, which cannot be decoded".to_owned());
        }
        Remark::NonFiniteBindShape(number) => to.lacks(format!(
            "the bind shape of the skin, which has the number {number}"
        )),
        Remark::MirroringBindShape => to.note(
            "the bind shape of the skin is a mirror image: triangles may look inside out"
                .to_owned(),
        ),
        Remark::UndecodableSkin => to.lacks("the skin, which cannot be decoded".to_owned()),
        Remark::IncompleteSkin => {
            to.skips("the skin, which has no joints or no matrices".to_owned());
        }
        Remark::UnequalSkin { joints, matrices } => to.skips(format!(
            "the skin, which has {joints} joints and {matrices} matrices"
        )),
        Remark::MovedJoints => {
            let what = "the places that joints are moved to (alt_inverse_bind_matrix)";
            to.skips(what.to_owned());
        }
        Remark::PelvisOffset => to.skips("the offset of the pelvis".to_owned()),
        Remark::LockedScale => to.skips("that the scale of moved joints is locked".to_owned()),
        Remark::ReplacedJoints(joints) => {
            let joints = list_of(joints);
            to.note(format!(
                "joints whose matrix is sheared or has no inverse keep the mesh in the bind pose: {joints}"
            ));
        }
        Remark::NonFiniteJoint { joint, value } => to.lacks(format!(
            "the skeleton, because joints[{joint}] has the number {value}"
        )),
        Remark::ClipsOfOtherJoints { poses, joints } => to.skips(format!(
            "animations of {poses} joints, where the skeleton has {joints}"
        )),
        Remark::EmptyClip(name) => to.skips(format!(
            "the animation {}, which has no frames",
            name.to_string_lossy()
        )),
        Remark::RestingJoints { name, joints } => {
            let joints = list_of(joints);
            to.skips(format!(
                "joints that the animations of {name} do not move: {joints}"
            ));
        }
        // A remark of a later version of the scene.
        other => to.skips(format!("{other:?}")),
    }
}

/// The joints and animations that a target without joints leaves out.
pub(crate) fn parts_of(joints: Joints) -> Vec<String> {
    match joints {
        Joints::Skeleton { joints, clips } => {
            let mut parts = Vec::new();
            if joints > 0 {
                parts.push(skeleton(joints));
            }
            if clips > 0 {
                parts.push(animations(clips));
            }
            parts
        }
        Joints::Skin { joints: 0 } => vec!["the skin".to_owned()],
        Joints::Skin { joints } => vec![format!("the skin ({})", counted_joints(joints))],
        _ => Vec::new(),
    }
}

fn skeleton(joints: usize) -> String {
    format!("the skeleton ({})", counted_joints(joints))
}

fn animations(count: usize) -> String {
    format!("the animations ({count})")
}

fn counted_joints(count: usize) -> String {
    if count == 1 {
        "1 joint".to_owned()
    } else {
        format!("{count} joints")
    }
}

fn list_of(names: &[Text]) -> String {
    listed(names.iter().map(|name| name.to_string_lossy())).unwrap_or_default()
}
