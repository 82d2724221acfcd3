//! Joints and frames of IQM.

use meshmap::iqm;

use crate::failure::Failure;
use crate::json::{Object, list};
use crate::reply::{Job, Reply};

/// The joints in the bind pose.
pub(crate) fn joints(file: &iqm::Model) -> Reply {
    let joint = |joint: iqm::Joint| {
        let object = Object::new().text("name", &joint.name.to_string_lossy());
        let object = match joint.parent {
            Some(parent) => object.with("parent", &parent),
            None => object.with("parent", &"null"),
        };
        let iqm::Trs {
            translate,
            rotate,
            scale,
            ..
        } = joint.trs;
        object
            .floats("translate", &translate)
            .floats("rotate", &rotate)
            .floats("scale", &scale)
            .end()
    };
    Reply::from(
        Object::new()
            .with("joints", &list(file.joints().map(joint)))
            .end(),
    )
}

/// The frames of an animation: of each frame and each pose ten f32, translation, rotation and scale, relative to the parent of the pose.
pub(crate) fn frames(file: &iqm::Model, index: usize, most: u64) -> Job<Reply> {
    let Some(anim) = file.anims().nth(index) else {
        let expected = format!("less than {}", file.anims().len());
        return Ok(Err(Failure::new(
            "out_of_range",
            "animation",
            &expected,
            &index.to_string(),
        )));
    };
    let frames = file.frames();
    let (range, poses) = (anim.frames(), frames.pose_count());
    let count = range.end.saturating_sub(range.start);
    let bytes = u64::from(count)
        .saturating_mul(poses as u64)
        .saturating_mul(40);
    if bytes > most {
        let expected = format!("at most {most} bytes (maxTotalBytes)");
        return Ok(Err(Failure::new(
            "limit_exceeded",
            "frames of an animation",
            &expected,
            &bytes.to_string(),
        )));
    }
    let mut out = vec![iqm::Trs::default(); count as usize * poses];
    frames.read_range_into(range, &mut out)?;
    let numbers = out.iter().flat_map(|trs| {
        let numbers = trs.translate.into_iter().chain(trs.rotate).chain(trs.scale);
        numbers.flat_map(f32::to_le_bytes)
    });
    let bytes: Vec<u8> = numbers.collect();
    let parents = list(file.poses().map(|pose| match pose.parent {
        Some(parent) => parent.to_string(),
        None => "null".to_owned(),
    }));
    let json = Object::new()
        .with("frameCount", &count)
        .with("poseCount", &poses)
        .with("poseParents", &parents)
        .end();
    Ok(Ok(Reply {
        json,
        arrays: vec![bytes],
    }))
}
