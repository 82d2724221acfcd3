//! Poses and animations, and joining a mesh with the animations of another file.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use zerocopy::little_endian::F32;

use super::layout::Layout;
use super::model::{Model, run};
use super::pose::Trs;
use super::raw;
use super::rules::FILE;
use super::skeleton::Joint;
use super::tables::parent;
use crate::bytes::Text;
use crate::format::Format;
use crate::num::{as_usize, decimal};
use crate::report::{Address, ErrorKind, Result, quoted};

impl Model {
    /// The poses: the parent and the channel ranges of each joint that moves.
    ///
    /// A joint that an [attached](Self::attach) animation lacks has a pose without channels, which is its place.
    pub fn poses(&self) -> impl ExactSizeIterator<Item = Pose> + '_ {
        let stored = &self.animation.poses;
        let count = self
            .order
            .as_ref()
            .map_or(stored.len(), |order| order.len());
        (0..count).map(move |index| {
            let Some(order) = &self.order else {
                return Pose::new(&stored.at(index));
            };
            let joint = Joint::new(&self.layout, &self.layout.joints.at(index));
            let pose = order
                .get(index)
                .copied()
                .flatten()
                .map(|pose| Pose::new(&stored.at(as_usize(pose))));
            Pose {
                parent: joint.parent,
                ..pose.unwrap_or_else(|| Pose::constant(joint.trs))
            }
        })
    }

    /// The joints that an [attached](Self::attach) animation lacks, by index: they keep their places.
    pub fn resting_joints(&self) -> impl Iterator<Item = usize> + '_ {
        let order = self.order.iter().flat_map(|order| order.iter().enumerate());
        order
            .filter(|(_, pose)| pose.is_none())
            .map(|(joint, _)| joint)
    }

    /// The animations.
    pub fn anims(&self) -> impl ExactSizeIterator<Item = Anim> + '_ {
        self.animation
            .anims
            .iter()
            .map(|anim| Anim::new(&self.animation, &anim))
    }

    /// Joins this mesh with the poses, animations, frames and bounds of another file, whose meshes are ignored.
    ///
    /// If both files name their joints, a joint takes the pose of the joint that has its name, and whose parents have the names of
    /// its parents; one that the animation does not name keeps its place ([`resting_joints`](Self::resting_joints)), and the
    /// animation's other joints are ignored. Without names, there must be a pose for each joint, with an equal parent.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch), which names the first joint that has another parent in the animation, or whose name
    /// occurs twice below its parent; also if no joint has the name of another.
    pub fn attach(&self, animation: &Self) -> Result<Self> {
        let has_names = |model: &Self| {
            model
                .joints()
                .any(|joint| !joint.name.as_bytes().is_empty())
        };
        let is_named = has_names(self) && has_names(animation);
        let has_equal_names = || {
            self.joints()
                .map(|joint| joint.name)
                .eq(animation.joints().map(|joint| joint.name))
        };
        let in_order = self.check_parents(animation);
        let order = if is_named
            && animation.joint_count() == animation.poses().len()
            && (in_order.is_err() || !has_equal_names())
        {
            let stored = |pose| match &animation.order {
                Some(order) => order.get(as_usize(pose)).copied().flatten(),
                None => Some(pose),
            };
            let order = self
                .poses_by_name(animation)?
                .into_iter()
                .map(|pose| pose.and_then(stored));
            Some(order.collect())
        } else {
            in_order?;
            animation.order.clone()
        };
        Ok(Self {
            animation: Arc::clone(&animation.animation),
            order,
            ..self.clone()
        })
    }

    /// For each joint the pose of the animation that has its name, and whose parent is the pose of its parent.
    fn poses_by_name(&self, animation: &Self) -> Result<Vec<Option<u32>>> {
        let mut poses: HashMap<(Option<u32>, Text), Option<u32>> = HashMap::new();
        let mut names = HashSet::new();
        for (index, (joint, pose)) in (0..).zip(animation.joints().zip(animation.poses())) {
            names.insert(joint.name.clone());
            let place = poses.entry((pose.parent, joint.name));
            place.and_modify(|pose| *pose = None).or_insert(Some(index));
        }
        let mut matched: Vec<Option<u32>> = Vec::new();
        for (index, joint) in (0..).zip(self.joints()) {
            let parent = match joint.parent {
                None => Some(None),
                Some(parent) => matched.get(as_usize(parent)).copied().flatten().map(Some),
            };
            let wrong = |found: &str| {
                let name = |joint: &Joint| quoted(&joint.name.to_string_lossy());
                let above = joint
                    .parent
                    .and_then(|parent| self.joints().nth(as_usize(parent)));
                let above = above.map_or_else(|| "no other".to_owned(), |above| name(&above));
                let error = FILE.error(ErrorKind::Mismatch, "joint in the animation");
                let error = error.of(Address::field("joints").index(index));
                Err(error
                    .expected(format!("{} below {above}", name(&joint)))
                    .found(found))
            };
            let key = parent.map(|parent| (parent, joint.name.clone()));
            // A pose is taken once: another joint of its name and parent finds none.
            matched.push(match key.and_then(|key| poses.get_mut(&key)) {
                Some(pose) => match pose.take() {
                    Some(pose) => Some(pose),
                    None => return wrong("two of them"),
                },
                None if names.contains(&joint.name) => return wrong("it elsewhere"),
                None => None,
            });
        }
        if matched.iter().all(Option::is_none) {
            let error = FILE.error(ErrorKind::Mismatch, "names of joints");
            return Err(error
                .expected("a joint of the mesh in the animation")
                .found("none"));
        }
        Ok(matched)
    }

    /// Fails unless there is a pose for each joint, with an equal parent.
    fn check_parents(&self, animation: &Self) -> Result<()> {
        let (joints, poses) = (self.joint_count(), animation.poses().len());
        let mismatch = |what| FILE.error(ErrorKind::Mismatch, what);
        if joints != poses {
            let error = mismatch("number of joints and poses");
            return Err(error
                .expected(format!("{} poses, one for each joint", decimal(joints)))
                .found(poses));
        }
        let pairs = (0..).zip(self.joints().zip(animation.poses()));
        let mut differing = pairs.filter(|(_, (joint, pose))| joint.parent != pose.parent);
        let Some((index, (joint, pose))) = differing.next() else {
            return Ok(());
        };
        let [count, joints] = [differing.count().saturating_add(1), joints].map(decimal);
        let parent = |parent: Option<u32>| parent.map_or_else(|| "none".to_owned(), decimal);
        let expected = format!(
            "parent {} in joint {}",
            parent(joint.parent),
            quoted(&joint.name.to_string_lossy())
        );
        let found = format!(
            "{} in the animation; {count} of {joints} joints differ",
            parent(pose.parent)
        );
        let error =
            mismatch("parents of joints and poses").of(Address::field("joints").index(index));
        Err(error.expected(expected).found(found))
    }
}

/// A pose: its parent, and the offset, scale and presence of each channel.
///
/// Version 2 has ten channels: translate x y z, rotate x y z w, scale x y z. Version 1 has nine, without w; its last
/// offset and scale are 0 here.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Pose {
    /// The index of the parent's pose, less than this pose's; `None` for a root.
    pub parent: Option<u32>,
    /// Bit i: frames store channel i.
    pub channelmask: u32,
    /// The value of a channel whose stored number is 0.
    pub channeloffset: [f32; 10],
    /// The change of the value for each step of the stored number.
    pub channelscale: [f32; 10],
}

impl Pose {
    /// The pose of a joint without a parent that no frame moves.
    fn constant(place: Trs) -> Self {
        Self {
            parent: None,
            channelmask: 0,
            channeloffset: place.to_array(),
            channelscale: [0.0; 10],
        }
    }

    fn new(raw: &raw::Pose) -> Self {
        Self {
            parent: parent(raw.parent.get()),
            channelmask: raw.channelmask.get(),
            channeloffset: raw.channeloffset.map(F32::get),
            channelscale: raw.channelscale.map(F32::get),
        }
    }
}

/// An animation: a run of frames.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Anim {
    /// The name.
    pub name: Text,
    /// The index of its first frame.
    pub first_frame: u32,
    /// The number of its frames.
    pub num_frames: u32,
    /// Frames per second; 0 if the file does not store it.
    pub framerate: f32,
    /// `iqmanim.flags`.
    pub flags: u32,
}

impl Anim {
    fn new(layout: &Layout, raw: &raw::Anim) -> Self {
        Self {
            name: layout.text_at(raw.name.get()),
            first_frame: raw.first_frame.get(),
            num_frames: raw.num_frames.get(),
            framerate: raw.framerate.get(),
            flags: raw.flags.get(),
        }
    }

    /// Returns `true` if the animation loops: `IQM_LOOP`.
    #[must_use]
    pub fn is_loop(&self) -> bool {
        self.flags & raw::IQM_LOOP != 0
    }

    /// The frames per second at which it is played: [`Format::USUAL_RATE`] if the file does not store a rate, or one that is not finite
    /// or not positive.
    #[must_use]
    pub fn rate(&self) -> f32 {
        let is_stored = self.framerate > 0.0 && self.framerate.is_finite();
        if is_stored {
            self.framerate
        } else {
            Format::USUAL_RATE
        }
    }

    /// The indices of its frames.
    #[must_use]
    pub fn frames(&self) -> Range<u32> {
        run(self.first_frame, self.num_frames)
    }

    /// The frames before and after a time, and the fraction between them.
    ///
    /// The arguments of [`Frames::interpolate_into`](super::Frames::interpolate_into); `None` if there are no frames
    /// or no rate. `seconds` counts from the animation's first frame. An animation that loops continues from its last
    /// frame to its first; any other stops at its ends. `default_rate`, in frames per second, is used if the file does not store a
    /// rate.
    #[must_use]
    pub fn frames_at(&self, seconds: f64, default_rate: f32) -> Option<(u32, u32, f32)> {
        let stored = self.framerate > 0.0 && self.framerate.is_finite();
        let rate = f64::from(if stored { self.framerate } else { default_rate });
        let last = self.num_frames.checked_sub(1)?;
        let at = seconds * rate;
        if !at.is_finite() || rate <= 0.0 {
            return None;
        }
        let at = if self.is_loop() {
            at.rem_euclid(self.num_frames.into())
        } else {
            at.clamp(0.0, last.into())
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 <= at < num_frames"
        )]
        let (from, fraction) = ((at.floor() as u32).min(last), at.fract() as f32);
        let to = match (from == last, self.is_loop()) {
            (false, _) => from.saturating_add(1),
            (true, true) => 0,
            (true, false) => last,
        };
        let frame = |frame: u32| self.first_frame.saturating_add(frame);
        Some((frame(from), frame(to), fraction))
    }
}
