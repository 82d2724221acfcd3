//! The animations of IQM models as clips.

use std::collections::HashSet;

use bevy_animation::animation_curves::AnimatableCurve;
use bevy_animation::{AnimationClip, animated_field};
use bevy_curve::{ConstantCurve, Interval, UnevenSampleAutoCurve};
use bevy_transform::components::Transform;
use meshmap::iqm;

use crate::error::MeshmapError;
use crate::skeleton::{Joints, transform};

/// Animations may share frames, but a small file cannot ask for many more keys than it has frames.
const MOST_SHARED: usize = 16;

/// A clip with its name, which is unique in the file.
pub(crate) struct Clip {
    pub(crate) name: String,
    pub(crate) clip: AnimationClip,
    pub(crate) repeats: bool,
}

/// The clips of a model, all of whose poses are joints.
pub(crate) fn clips(model: &iqm::Model, joints: &Joints) -> Result<Vec<Clip>, MeshmapError> {
    let frames = model.frames();
    let width = frames.pose_count();
    if model.anims().len() == 0 || width == 0 {
        return Ok(Vec::new());
    }
    if width != joints.len() {
        let text = format!(
            "iqm: poses: expected one for each of {} joints, found {width}",
            joints.len()
        );
        return Err(MeshmapError::Unusable(text));
    }
    let parents = model
        .poses()
        .map(|pose| pose.parent.map(|parent| parent as usize));
    if !parents.eq(joints.parents.iter().copied()) {
        let text = "iqm: poses: expected the parents of the joints, found others".to_owned();
        return Err(MeshmapError::Unusable(text));
    }
    let values = frames.read()?;
    let count = frames.len() as usize;
    let asked = model.anims().fold(0_usize, |sum, anim| {
        sum.saturating_add(anim.num_frames as usize)
    });
    if asked > count.saturating_mul(MOST_SHARED) {
        let text = format!(
            "iqm: anims: expected at most {MOST_SHARED} uses of each of {count} frames, found {asked} frames"
        );
        return Err(MeshmapError::Unusable(text));
    }
    let mut used = HashSet::new();
    let mut clips = Vec::new();
    for (index, anim) in model.anims().enumerate() {
        let mut name = anim.name.to_string();
        if name.is_empty() || !used.insert(name.clone()) {
            name = format!("{name}/{index}");
            used.insert(name.clone());
        }
        let range = anim.frames();
        let run = values
            .get(range.start as usize * width..range.end as usize * width)
            .unwrap_or_default();
        let clip = clip(run, joints, anim.rate(), anim.is_loop());
        clips.push(Clip {
            name,
            clip,
            repeats: anim.is_loop(),
        });
    }
    Ok(clips)
}

/// A clip of frames, each with one transform per joint.
fn clip(frames: &[iqm::Trs], joints: &Joints, rate: f32, repeats: bool) -> AnimationClip {
    let mut clip = AnimationClip::default();
    let width = joints.len();
    for joint in 0..width {
        let keys = frames.iter().skip(joint).step_by(width);
        // From its last frame, an animation that repeats continues to its first.
        let close = frames
            .get(joint)
            .filter(|_| repeats && frames.len() > width);
        let keys: Vec<(f32, Transform)> = keys
            .chain(close)
            .enumerate()
            .map(|(index, trs)| (index as f32 / rate, transform(trs.normalized())))
            .collect();
        let target = joints.target(joint);
        macro_rules! add {
            ($field:ident) => {
                let samples = keys.iter().map(|(time, value)| (*time, value.$field));
                if let Ok(curve) = UnevenSampleAutoCurve::new(samples) {
                    clip.add_curve_to_target(
                        target,
                        AnimatableCurve::new(animated_field!(Transform::$field), curve),
                    );
                } else if let Some((_, value)) = keys.first() {
                    let curve = ConstantCurve::new(Interval::EVERYWHERE, value.$field);
                    clip.add_curve_to_target(
                        target,
                        AnimatableCurve::new(animated_field!(Transform::$field), curve),
                    );
                }
            };
        }
        add!(translation);
        add!(rotation);
        add!(scale);
    }
    clip
}
