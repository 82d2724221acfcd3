//! The animations of a scene as clips of Bevy.

use std::collections::HashSet;

use bevy_animation::animation_curves::AnimatableCurve;
use bevy_animation::{AnimationClip, animated_field};
use bevy_curve::{ConstantCurve, Interval, UnevenSampleAutoCurve};
use bevy_transform::components::Transform;
use meshmap_scene::Clip;

use crate::skeleton::{Joints, transform};

/// The names of the clips of a file: each is there once.
#[derive(Default)]
pub(crate) struct UniqueNames {
    used: HashSet<String>,
}

impl UniqueNames {
    /// The name of the clip with an index, which follows a name that is empty or used already.
    pub(crate) fn add(&mut self, name: &str, index: usize) -> String {
        let mut name = name.to_owned();
        while name.is_empty() || !self.used.insert(name.clone()) {
            name = format!("{name}/{index}");
        }
        name
    }
}

/// The bytes of the curves of a clip.
pub(crate) fn size(clip: &Clip) -> u64 {
    /// Three curves have a time and a value each: a translation, a rotation and a scale.
    const OF_KEY: u64 = 3 * 4 + 12 + 16 + 12;
    /// Three curves in their boxes, and an entry of a table.
    const OF_JOINT: u64 = 512;
    let keys = (clip.key_count() as u64).saturating_mul(OF_KEY);
    (clip.joint_count() as u64).saturating_mul(keys.saturating_add(OF_JOINT))
}

/// The curves of a clip.
///
/// # Errors
///
/// Returns the errors of [`Clip::local_keys`].
pub(crate) fn curves(clip: &Clip, joints: &Joints) -> meshmap_scene::Result<AnimationClip> {
    let transforms = clip.local_keys()?;
    let rate = f64::from(clip.rate());
    let times: Vec<f32> = clip
        .key_frames()
        .map(|frame| (frame / rate) as f32)
        .collect();
    let mut curves = AnimationClip::default();
    for joint in 0..clip.joint_count() {
        let of_joint = transforms
            .iter()
            .skip(joint)
            .step_by(clip.joint_count().max(1));
        let values: Vec<Transform> = of_joint.map(transform).collect();
        let target = joints.target(joint);
        macro_rules! add {
            ($field:ident) => {
                let values = values.iter().map(|value| value.$field);
                let first = values.clone().next();
                let keys = times.iter().copied().zip(values);
                if let Ok(curve) = UnevenSampleAutoCurve::new(keys) {
                    curves.add_curve_to_target(
                        target,
                        AnimatableCurve::new(animated_field!(Transform::$field), curve),
                    );
                } else if let Some(value) = first {
                    // A curve has two keys or more.
                    let curve = ConstantCurve::new(Interval::EVERYWHERE, value);
                    curves.add_curve_to_target(
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
    Ok(curves)
}
