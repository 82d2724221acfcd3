//! IQM: joints, and the animations of the file and of other files.

use std::collections::HashSet;
use std::sync::Arc;

use meshmap::iqm::{Model, Trs};
use meshmap::{Meter, Text};

use crate::clip::{Clip, ClipSource};
use crate::error::{Error, Result};
use crate::fact::{FactKind, Facts, beginning_of_text};
use crate::hierarchy;
use crate::matrix::of_rows;
use crate::options::SceneOptions;
use crate::remark::Remark;
use crate::skeleton::{Joint, JointName, Rest, Skeleton};

/// The joints of a model, and the models with the animations of other files.
#[derive(Clone)]
pub(crate) struct Rig {
    model: Model,
    others: Vec<OtherFile>,
}

/// Another file with animations.
#[derive(Clone)]
struct OtherFile {
    name: String,
    /// The model with the frames of the other file.
    joined: Model,
    /// The other file itself, which has the events.
    own: Model,
}

impl Rig {
    /// # Errors
    ///
    /// Fails if an animation is for other joints.
    pub(crate) fn new(model: &Model, options: &SceneOptions) -> Result<Self> {
        let mut others = Vec::with_capacity(options.animations.len());
        for (name, animation) in &options.animations {
            match model.attach(animation) {
                Ok(joined) => others.push(OtherFile {
                    name: name.clone(),
                    joined,
                    own: animation.clone(),
                }),
                Err(error) => {
                    let name = name.clone();
                    return Err(Error::OtherJoints { name, error });
                }
            }
        }
        Ok(Self {
            model: model.clone(),
            others,
        })
    }

    /// `true` if there are joints or animations.
    pub(crate) fn moves(&self) -> bool {
        self.model.joints().len() > 0 || self.model.anims().len() > 0 || !self.others.is_empty()
    }

    /// Counts the animations of other files.
    pub(crate) fn add_facts_of_others(&self, only: Option<&str>, facts: &mut Facts) {
        for other in &self.others {
            add_facts_of_clips(&other.own, only, facts);
        }
    }

    pub(crate) fn joint_count(&self) -> usize {
        self.model.joints().len()
    }

    pub(crate) fn clip_count(&self) -> usize {
        self.model.anims().len()
    }

    /// The skeleton; `None` if it has no joints, or one that cannot be used, which is a remark.
    pub(crate) fn skeleton(&self, remarks: &mut Vec<Remark>) -> Result<Option<Skeleton>> {
        let model = &self.model;
        let mut joints = Vec::new();
        for (index, place) in places(model)?.into_iter().enumerate() {
            let trs = place.trs.normalized();
            let value = trs
                .to_array()
                .into_iter()
                .find(|number| !number.is_finite());
            if let Some(value) = value {
                remarks.push(Remark::NonFiniteJoint {
                    joint: index,
                    value,
                });
                return Ok(None);
            }
            joints.push(Joint {
                name: JointName::Numbered(index),
                parent: place.parent.map(|parent| parent as usize),
                rest: Rest::Trs(trs),
            });
        }
        if joints.is_empty() {
            return Ok(None);
        }
        if !has_only_poses(model) {
            for (joint, stored) in joints.iter_mut().zip(model.joints()) {
                joint.name = JointName::Stored(stored.name);
            }
        }
        let mut inverse_bind = Vec::new();
        if let Some(skeleton) = model.skeleton() {
            for rows in skeleton.inverse_bind_matrices() {
                inverse_bind.push(of_rows(&rows.map(|row| row.map(f64::from))));
            }
        }
        let mut skeleton = Skeleton {
            joints,
            inverse_bind,
            stands_alone: true,
            places: Vec::new(),
        };
        if has_only_poses(model) {
            skeleton.bind_where_joints_rest();
        }
        Ok(Some(skeleton))
    }

    /// The animations of the file, and of the others, for a skeleton of this many joints.
    pub(crate) fn clips(
        &self,
        joints: usize,
        only: Option<&str>,
        meter: &Arc<Meter<'static>>,
        remarks: &mut Vec<Remark>,
    ) -> Vec<Clip> {
        let mut clips = Vec::new();
        let model = &self.model;
        add_clips(model, model, joints, only, meter, &mut clips, remarks);
        let names: Vec<Text> = self.model.joints().map(|joint| joint.name).collect();
        for OtherFile { name, joined, own } in &self.others {
            let resting = joined.resting_joints();
            let resting: Vec<Text> = resting
                .filter_map(|joint| names.get(joint).cloned())
                .collect();
            if !resting.is_empty() {
                let name = name.clone();
                let joints = resting;
                remarks.push(Remark::RestingJoints { name, joints });
            }
            add_clips(joined, own, joints, only, meter, &mut clips, remarks);
        }
        clips
    }
}

/// Counts what a file has besides shapes that somebody could miss. `only` is the only animation that is asked for.
pub(crate) fn add_facts(model: &Model, only: Option<&str>, facts: &mut Facts) {
    let joints = model.joints().len();
    facts.count(
        FactKind::Joints,
        if has_only_poses(model) {
            model.poses().len()
        } else {
            joints
        },
    );
    add_facts_of_clips(model, only, facts);
    if let Ok(Some(bounds)) = model.bounds() {
        facts.count(FactKind::FrameBounds, bounds.len());
    }
    if let Ok(Some(comment)) = model.comment()
        && !comment.as_bytes().is_empty()
    {
        facts.add(FactKind::Comments, || beginning_of_text(&comment));
    }
    for extension in model.extensions() {
        // Events are a separate kind.
        if !extension.name.as_bytes().eq_ignore_ascii_case(b"FTE_EVENT") {
            facts.add(FactKind::Extensions, || beginning_of_text(&extension.name));
        }
    }
}

/// Counts the animations of a model, which may be joined from another file.
pub(crate) fn add_facts_of_clips(model: &Model, only: Option<&str>, facts: &mut Facts) {
    for anim in model.anims() {
        let name = || beginning_of_text(&anim.name);
        if only.is_some_and(|only| anim.name.to_string_lossy() != only) {
            facts.add(FactKind::OtherClips, name);
            continue;
        }
        facts.add(FactKind::Clips, name);
        if anim.is_loop() {
            facts.add(FactKind::LoopFlags, name);
        }
    }
    if let Ok(Some(events)) = model.fte_events() {
        facts.count(FactKind::Events, events.len());
    }
}

/// Adds the animations of a model, whose events are in this file.
fn add_clips(
    model: &Model,
    events_of: &Model,
    joints: usize,
    only: Option<&str>,
    meter: &Arc<Meter<'static>>,
    clips: &mut Vec<Clip>,
    remarks: &mut Vec<Remark>,
) {
    let frames = model.frames();
    if model.anims().len() == 0 || frames.is_empty() {
        return;
    }
    let poses = frames.pose_count();
    if poses != joints || joints == 0 {
        remarks.push(Remark::ClipsOfOtherJoints { poses, joints });
        return;
    }
    let source = ClipSource::of(model, events_of, meter);
    for (index, anim) in model.anims().enumerate() {
        if only.is_some_and(|only| anim.name.to_string_lossy() != only) {
            continue;
        }
        if anim.frames().is_empty() || anim.frames().end > frames.len() {
            remarks.push(Remark::EmptyClip(anim.name));
            continue;
        }
        clips.push(source.clip(index, anim));
    }
}

/// A joint without its name.
struct Place {
    parent: Option<u32>,
    trs: Trs,
}

/// The joints of a model. A file with only animations may have none: they are then the poses of the first frame.
fn places(model: &Model) -> Result<Vec<Place>> {
    if !has_only_poses(model) {
        let place = |joint: meshmap::iqm::Joint| Place {
            parent: joint.parent,
            trs: joint.trs,
        };
        return Ok(model.joints().map(place).collect());
    }
    places_in_frame(model, 0)
}

/// The poses of a frame.
fn places_in_frame(model: &Model, frame: u32) -> Result<Vec<Place>> {
    let frames = model.frames();
    let mut poses = vec![Trs::default(); frames.pose_count()];
    frames.read_frame_into(frame, &mut poses)?;
    let mut places = Vec::with_capacity(poses.len());
    for (pose, trs) in model.poses().zip(poses) {
        places.push(Place {
            parent: pose.parent,
            trs,
        });
    }
    Ok(places)
}

/// `true` for a file of animations without joints.
pub(crate) fn has_only_poses(model: &Model) -> bool {
    model.joints().len() == 0 && model.meshes().len() == 0 && !model.frames().is_empty()
}

/// The joints of a file without meshes, at rest or in a frame: the places of each and of its parent. Joints that stand in one place are
/// one.
pub(crate) fn bones(
    model: &Model,
    frame: Option<u32>,
    meter: &Meter<'_>,
) -> Result<Vec<[[f32; 3]; 2]>> {
    /// A place, its matrix, the bone, and its entry in the set.
    const OF_JOINT: u64 = 512;
    if model.meshes().len() > 0 {
        return Ok(Vec::new());
    }
    let count = model.joints().len().max(model.poses().len()) as u64;
    let _charge = meter.take(count.saturating_mul(OF_JOINT), "joints")?;
    let mut joints = places(model)?;
    if let Some(frame) = frame
        && joints.len() == model.frames().pose_count()
    {
        joints = places_in_frame(model, frame)?;
    }
    let mut matrices: Vec<[f64; 16]> = Vec::with_capacity(joints.len());
    let mut seen = HashSet::new();
    let mut bones = Vec::with_capacity(joints.len());
    for Place { parent, trs } in joints {
        let parent = parent.map(|parent| parent as usize);
        let relative = hierarchy::matrix(&trs.normalized());
        let matrix = hierarchy::in_model_space(&relative, parent, &matrices);
        let start = parent.and_then(|parent| matrices.get(parent));
        let bone = [origin_of(start.unwrap_or(&matrix)), origin_of(&matrix)];
        let is_finite = bone.iter().flatten().all(|number| number.is_finite());
        if is_finite && seen.insert(bone.map(|end| end.map(f32::to_bits))) {
            bones.push(bone);
        }
        matrices.push(matrix);
    }
    Ok(bones)
}

#[expect(clippy::cast_possible_truncation, reason = "the nearest is drawn")]
fn origin_of(matrix: &[f64; 16]) -> [f32; 3] {
    [matrix[12], matrix[13], matrix[14]].map(|number| number as f32)
}
