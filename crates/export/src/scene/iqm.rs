//! IQM: joints, and the animations of the file and of other files.

use std::collections::HashSet;
use std::rc::Rc;

use meshmap::iqm::{Anim, Model, Trs};

use super::Selection;
use super::hierarchy::{self, Hierarchy};
use super::names::listed;
use super::pose::Pose;
use super::rig::{Joint, Place, Rig, Skeleton, counted_joints};
use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::matrix::{multiply, of_rows};
use crate::moment::{Moment, Still, are_constant};
use crate::outcome::{Outcome, Report};
use crate::settings::Job;

/// The pose of the vertices in the frame that is asked for.
pub(super) fn pose(wanted: &Selection<'_>) -> Result<Option<Pose>> {
    let Still { named, model } = wanted.still;
    match (named.moment, model) {
        (Moment::Frame(frame), Some(model)) if model.meshes().len() > 0 => {
            Pose::new(model, frame, wanted.budget, wanted.target).map(Some)
        }
        _ => Ok(None),
    }
}

/// The joints of a model with their places. A file with only animations may have none: they are then the poses of the first frame.
fn joints(model: &Model) -> Result<Vec<(String, Option<u32>, Trs)>> {
    if !has_only_poses(model) {
        let joint = |joint: meshmap::iqm::Joint| {
            (
                joint.name.to_string_lossy().into_owned(),
                joint.parent,
                joint.trs,
            )
        };
        return Ok(model.joints().map(joint).collect());
    }
    let places = places(model)?.into_iter().enumerate();
    Ok(places
        .map(|(index, (parent, place))| (format!("joint_{index}"), parent, place))
        .collect())
}

/// The parents of the joints and their places: the joints without their names, which pictures do not show.
fn places(model: &Model) -> Result<Vec<(Option<u32>, Trs)>> {
    if !has_only_poses(model) {
        return Ok(model
            .joints()
            .map(|joint| (joint.parent, joint.trs))
            .collect());
    }
    let frames = model.frames();
    let mut places = vec![Trs::default(); frames.pose_count()];
    frames.read_frame_into(0, &mut places)?;
    Ok(model.poses().map(|pose| pose.parent).zip(places).collect())
}

/// Returns `true` for a file of animations without joints.
fn has_only_poses(model: &Model) -> bool {
    model.joints().len() == 0 && model.meshes().len() == 0 && !model.frames().is_empty()
}

/// The joints of a file without meshes in a moment: the places of each and of its parent.
pub(super) fn bones(model: &Model, wanted: &Selection<'_>) -> Result<Vec<[[f32; 3]; 2]>> {
    if model.meshes().len() > 0 {
        return Ok(Vec::new());
    }
    let count = model.joints().len().max(model.poses().len());
    wanted
        .budget
        .charge_for::<([f64; 16], Trs, [[f32; 3]; 2], [u8; 64])>(count, "joints")?;
    let mut joints = places(model)?;
    if let Moment::Frame(frame) = wanted.still.named.moment
        && joints.len() == model.frames().pose_count()
    {
        let mut places = vec![Trs::default(); joints.len()];
        model.frames().read_frame_into(frame, &mut places)?;
        for ((joint, place), pose) in joints.iter_mut().zip(places).zip(model.poses()) {
            *joint = (pose.parent, place);
        }
    }
    let mut matrices: Vec<[f64; 16]> = Vec::with_capacity(joints.len());
    // Joints that stand in one place are drawn once.
    let mut seen = HashSet::new();
    let mut bones = Vec::with_capacity(joints.len());
    for (parent, place) in joints {
        let own = hierarchy::matrix(&place.normalized());
        let parent = parent.and_then(|parent| matrices.get(parent as usize));
        let matrix = parent.map_or(own, |parent| multiply(parent, &own));
        #[expect(clippy::cast_possible_truncation, reason = "the nearest is drawn")]
        let at =
            |matrix: &[f64; 16]| [matrix[12], matrix[13], matrix[14]].map(|number| number as f32);
        let bone = [at(parent.unwrap_or(&matrix)), at(&matrix)];
        let is_finite = bone.iter().flatten().all(|number| number.is_finite());
        if is_finite && seen.insert(bone.map(|end| end.map(f32::to_bits))) {
            bones.push(bone);
        }
        matrices.push(matrix);
    }
    Ok(bones)
}

/// The joints of a model; `None` if it has none that could be written, or if the vertices are written as joints have moved them.
pub(super) fn rig(
    model: &Model,
    wanted: &Selection<'_>,
    is_posed: bool,
    report: &mut impl Report,
) -> Result<Option<Box<dyn Rig>>> {
    let mut others = Vec::with_capacity(wanted.animations.len());
    for (name, animation) in wanted.animations {
        let joined = model.attach(animation).map_err(|error| Error::NotHeld {
            target: wanted.target,
            what: format!("the animations of {name}: {error}"),
        })?;
        others.push((name.clone(), joined));
    }
    let joints = Joints {
        model: model.clone(),
        others,
    };
    if is_posed {
        for part in joints.parts() {
            report.skips(part);
        }
        return Ok(None);
    }
    let is_moved = model.joints().len() > 0 || model.anims().len() > 0 || !joints.others.is_empty();
    if is_moved {
        Ok(Some(Box::new(joints)))
    } else {
        Ok(None)
    }
}

struct Joints {
    model: Model,
    /// The model with the animations of other files.
    others: Vec<(String, Model)>,
}

impl Rig for Joints {
    fn parts(&self) -> Vec<String> {
        let mut parts = Vec::new();
        let joints = self.model.joints().len();
        if joints > 0 {
            parts.push(format!("the skeleton ({})", counted_joints(joints)));
        }
        let animations = self.model.anims().len();
        if animations > 0 {
            parts.push(format!("the animations ({animations})"));
        }
        parts
    }

    fn skeleton(&self, job: &Job<'_>, outcome: &mut Outcome) -> Result<Option<Skeleton>> {
        let model = &self.model;
        let names: usize = model
            .joints()
            .map(|joint| joint.name.as_bytes().len())
            .sum();
        job.budget.keep(names as u64, "joints")?;
        // With the two matrices and the two parents of the library.
        let count = model.joints().len().max(model.poses().len());
        job.budget.charge_for::<(
            Joint,
            [f64; 16],
            [[f32; 12]; 2],
            [Option<u32>; 2],
            (String, Trs),
        )>(count, "joints")?;
        let mut joints = Vec::with_capacity(count);
        for (index, (name, parent, trs)) in self::joints(model)?.into_iter().enumerate() {
            let trs = trs.normalized();
            if let Some(value) = trs.to_array().iter().find(|number| !number.is_finite()) {
                outcome.lacks(format!(
                    "the skeleton, because joints[{index}] has the number {value}"
                ));
                return Ok(None);
            }
            joints.push(Joint {
                name,
                parent: parent.map(|parent| parent as usize),
                place: Place::Trs(trs),
            });
        }
        let skeleton = model.skeleton();
        let inverse = skeleton
            .as_ref()
            .map_or(&[][..], |skeleton| skeleton.inverse_bind_matrices());
        let inverse_bind = inverse
            .iter()
            .map(|rows| of_rows(&rows.map(|row| row.map(f64::from))))
            .collect();
        Ok((!joints.is_empty()).then_some(Skeleton {
            joints,
            inverse_bind,
            stands_alone: true,
        }))
    }

    fn clips(&self, joints: usize, job: &Job<'_>, outcome: &mut Outcome) -> Result<Vec<Clip>> {
        let mut clips = Vec::new();
        add_clips(&self.model, joints, job, &mut clips, outcome)?;
        let names: Vec<_> = self.model.joints().map(|joint| joint.name).collect();
        for (name, joined) in &self.others {
            let resting = joined.resting_joints().filter_map(|joint| names.get(joint));
            if let Some(joints) = listed(resting.map(|name| name.to_string_lossy())) {
                outcome.leave_out(format!(
                    "joints that the animations of {name} do not move: {joints}"
                ));
            }
            add_clips(joined, joints, job, &mut clips, outcome)?;
        }
        // No target has a place for this flag.
        let looping = clips.iter().filter(|clip| clip.anim.is_loop()).count();
        if looping > 0 {
            outcome.leave_out(format!("the loop flags of animations ({looping})"));
        }
        Ok(clips)
    }
}

/// An animation that can be written.
pub(crate) struct Clip {
    pub(crate) name: String,
    model: Model,
    anim: Anim,
    /// The parents of poses, if they differ from the parents of the joints.
    hierarchy: Option<Rc<Hierarchy>>,
    /// `true` if all frames are the same, because they store nothing.
    is_constant: bool,
}

fn add_clips(
    model: &Model,
    joints: usize,
    job: &Job<'_>,
    clips: &mut Vec<Clip>,
    outcome: &mut Outcome,
) -> Result<()> {
    let frames = model.frames();
    if model.anims().len() == 0 || frames.is_empty() {
        return Ok(());
    }
    if frames.pose_count() != joints || joints == 0 {
        let poses = frames.pose_count();
        outcome.leave_out(format!(
            "animations of {poses} joints, where the skeleton has {joints}"
        ));
        return Ok(());
    }
    // Parents, and the places of joints in one frame.
    job.budget
        .charge_for::<([f64; 16], [Option<u32>; 2])>(joints, "joints of a frame")?;
    let hierarchy = Hierarchy::of(model).map(Rc::new);
    let is_constant = are_constant(model);
    for anim in model.anims() {
        let name = anim.name.to_string_lossy().into_owned();
        if !job.takes_anim(&name) {
            continue;
        }
        if anim.frames().is_empty() || anim.frames().end > frames.len() {
            outcome.leave_out(format!("the animation {name}, which has no frames"));
            continue;
        }
        // In two lists that grow.
        job.budget.charge(
            4 * size_of::<Clip>() as u64 + name.len() as u64,
            "animations",
        )?;
        clips.push(Clip {
            name,
            model: model.clone(),
            anim,
            hierarchy: hierarchy.clone(),
            is_constant,
        });
    }
    Ok(())
}

impl Clip {
    /// `true` if the first frame follows the last one: programs repeat an animation from its last key.
    fn closes(&self) -> bool {
        self.anim.is_loop() && self.anim.num_frames > 1
    }

    /// The frames of the animation, also if they store nothing.
    pub(crate) fn length(&self) -> usize {
        self.anim.frames().len() + usize::from(self.closes())
    }

    /// The frames that are written: of constant ones the first and the last.
    pub(crate) fn frame_count(&self) -> usize {
        let length = self.length();
        if self.is_constant {
            length.min(2)
        } else {
            length
        }
    }

    /// `true` if poses are not relative to the parents of the joints as they are stored.
    pub(crate) fn is_rebased(&self) -> bool {
        self.hierarchy.is_some()
    }

    /// The poses of all frames that are written, relative to the parents of the joints.
    pub(crate) fn poses(
        &self,
        joints: usize,
        target: &'static str,
        budget: &Budget,
    ) -> Result<Vec<Trs>> {
        let mut range = self.anim.frames();
        if self.is_constant {
            range.end = range.end.min(range.start.saturating_add(2));
        }
        let count = range.len().saturating_mul(joints);
        let closing = if self.closes() && !self.is_constant {
            joints
        } else {
            0
        };
        let mut poses = budget.vec(count.saturating_add(closing), "poses of an animation")?;
        poses.resize(count, Trs::default());
        self.model.frames().read_range_into(range, &mut poses)?;
        poses.iter_mut().for_each(|pose| *pose = pose.normalized());
        if let Some(hierarchy) = &self.hierarchy {
            poses
                .chunks_exact_mut(joints)
                .try_for_each(|frame| hierarchy.rebase(frame, target))?;
        }
        poses.extend_from_within(..closing);
        Ok(poses)
    }

    /// The frames per second.
    pub(crate) fn rate(&self, job: &Job<'_>, outcome: &mut Outcome) -> f64 {
        let (name, rate) = (&self.name, self.anim.rate());
        if job.fps.is_none() && rate != self.anim.framerate {
            outcome.note(format!(
                "the animation {name} has no frame rate: assuming {rate} per second"
            ));
        }
        job.fps.unwrap_or(rate.into())
    }

    /// The numbers of the frames that are written, from the first.
    #[expect(
        clippy::cast_precision_loss,
        reason = "there are fewer frames than that"
    )]
    pub(crate) fn frames(&self) -> impl Iterator<Item = f64> {
        let last = self.length().saturating_sub(1);
        let frame = move |frame: usize| {
            if self.is_constant && frame > 0 {
                last
            } else {
                frame
            }
        };
        (0..self.frame_count()).map(move |written| frame(written) as f64)
    }

    /// The times of the frames that are written in seconds, from the first.
    pub(crate) fn times(
        &self,
        job: &Job<'_>,
        target: &'static str,
        outcome: &mut Outcome,
    ) -> Result<Vec<f32>> {
        let (count, rate) = (self.frame_count(), self.rate(job, outcome));
        #[expect(clippy::cast_possible_truncation, reason = "the nearest is written")]
        let times: Vec<f32> = self.frames().map(|frame| (frame / rate) as f32).collect();
        if times.is_sorted_by(|a, b| a < b) && times.iter().all(|time| time.is_finite()) {
            return Ok(times);
        }
        let what = format!("{count} frames at {rate} a second, whose times do not ascend");
        Err(Error::NotHeld { target, what })
    }
}
