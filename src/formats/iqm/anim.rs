//! Poses and animations, and joining a mesh with the animations of another file.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use zerocopy::little_endian::F32;

use super::layout::Layout;
use super::model::{Model, range_of};
use super::pose::Trs;
use super::raw;
use super::rules::FILE;
use super::skeleton::Joint;
use super::tables::parent;
use crate::bytes::Text;
use crate::format::Format;
use crate::num::{as_usize, decimal};
use crate::report::{Address, Error, ErrorKind, Result, quoted};

impl Model {
    /// The poses: the parent and the channel ranges of each joint that moves.
    ///
    /// A joint that an [attached](Self::attach) animation lacks has a pose without channels, which is its place.
    pub fn poses(&self) -> impl ExactSizeIterator<Item = Pose> + '_ {
        let count = match &self.order {
            Some(order) => order.len(),
            None => self.animation.poses.len(),
        };
        (0..count).map(|index| self.pose(index))
    }

    fn pose(&self, index: usize) -> Pose {
        let Some(order) = &self.order else {
            return Pose::new(&self.animation.poses.at(index));
        };
        let joint = Joint::new(&self.layout, &self.layout.joints.at(index));
        let pose = match order.get(index).copied().flatten() {
            Some(pose) => Pose::new(&self.animation.poses.at(as_usize(pose))),
            None => Pose::constant(joint.trs),
        };
        Pose {
            parent: joint.parent,
            ..pose
        }
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
        let equal_parents = self.check_parents(animation);
        let can_match_names = self.has_joint_names()
            && animation.has_joint_names()
            && animation.joint_count() == animation.poses().len();
        let order = if !can_match_names {
            equal_parents?;
            animation.order.clone()
        } else if equal_parents.is_ok() && self.has_joint_names_of(animation) {
            animation.order.clone()
        } else {
            Some(self.order_by_name(animation)?)
        };
        Ok(Self {
            animation: Arc::clone(&animation.animation),
            order,
            ..self.clone()
        })
    }

    /// Returns `true` if any joint has a name.
    fn has_joint_names(&self) -> bool {
        let mut joints = self.joints();
        joints.any(|joint| !joint.name.as_bytes().is_empty())
    }

    /// Returns `true` if the joints of both models have equal names in the same order.
    fn has_joint_names_of(&self, other: &Self) -> bool {
        let names = self.joints().map(|joint| joint.name);
        names.eq(other.joints().map(|joint| joint.name))
    }

    /// For each joint the stored pose that has its name: see
    /// [`poses_by_name`](Self::poses_by_name).
    fn order_by_name(&self, animation: &Self) -> Result<Arc<[Option<u32>]>> {
        let mut poses = self.poses_by_name(animation)?;
        if let Some(order) = &animation.order {
            // The animation was attached itself: its poses are stored in another order.
            for pose in &mut poses {
                *pose = match *pose {
                    Some(index) => order.get(as_usize(index)).copied().flatten(),
                    None => None,
                };
            }
        }
        Ok(poses.into())
    }

    /// For each joint the pose of the animation that has its name, and whose parent is the pose of its parent.
    fn poses_by_name(&self, animation: &Self) -> Result<Vec<Option<u32>>> {
        // `None` for a pose that is used, and where two poses have one key.
        let mut poses: HashMap<PoseKey, Option<u32>> = HashMap::new();
        let mut names = HashSet::new();
        for (index, (joint, pose)) in (0..).zip(animation.joints().zip(animation.poses())) {
            names.insert(joint.name.clone());
            let key = PoseKey {
                parent: pose.parent,
                name: joint.name,
            };
            let entry = poses.entry(key);
            entry.and_modify(|pose| *pose = None).or_insert(Some(index));
        }
        let mut matched: Vec<Option<u32>> = Vec::new();
        for (index, joint) in (0..).zip(self.joints()) {
            // The outer `None`: its parent has no pose, so that no pose can be below it.
            let parent = match joint.parent {
                None => Some(None),
                Some(parent) => matched.get(as_usize(parent)).copied().flatten().map(Some),
            };
            let found = match parent {
                Some(parent) => poses.get_mut(&PoseKey {
                    parent,
                    name: joint.name.clone(),
                }),
                None => None,
            };
            matched.push(match found {
                // A pose is taken once: another joint of its name and parent finds none.
                Some(pose) => match pose.take() {
                    Some(pose) => Some(pose),
                    None => return Err(self.joint_mismatch(index, &joint, "two of them")),
                },
                None if names.contains(&joint.name) => {
                    return Err(self.joint_mismatch(index, &joint, "it elsewhere"));
                }
                None => None,
            });
        }
        if matched.iter().all(Option::is_none) {
            let error = FILE.error(ErrorKind::Mismatch, "names of joints");
            let error = error.expected("a joint of the mesh in the animation");
            return Err(error.found("none"));
        }
        Ok(matched)
    }

    /// The error of a joint whose pose in the animation is not one below the pose of its parent.
    fn joint_mismatch(&self, index: u64, joint: &Joint, found: &str) -> Error {
        let name = quoted(&joint.name.to_string_lossy());
        let parent = match joint.parent {
            Some(parent) => self.joints().nth(as_usize(parent)),
            None => None,
        };
        let above = match parent {
            Some(parent) => quoted(&parent.name.to_string_lossy()),
            None => "no other".to_owned(),
        };
        let error = FILE.error(ErrorKind::Mismatch, "joint in the animation");
        let error = error.of(Address::field("joints").index(index));
        error.expected(format!("{name} below {above}")).found(found)
    }

    /// Fails unless there is a pose for each joint, with an equal parent.
    fn check_parents(&self, animation: &Self) -> Result<()> {
        let joints = self.joint_count();
        let poses = animation.poses().len();
        if joints != poses {
            let error = FILE.error(ErrorKind::Mismatch, "number of joints and poses");
            let expected = format!("{} poses, one for each joint", decimal(joints));
            return Err(error.expected(expected).found(poses));
        }
        let pairs = (0..).zip(self.joints().zip(animation.poses()));
        let mut differing = pairs.filter(|(_, (joint, pose))| joint.parent != pose.parent);
        let Some((index, (joint, pose))) = differing.next() else {
            return Ok(());
        };
        let count = decimal(differing.count().saturating_add(1));
        let error = FILE.error(ErrorKind::Mismatch, "parents of joints and poses");
        let error = error.of(Address::field("joints").index(index));
        let expected = format!(
            "parent {} in joint {}",
            parent_name(joint.parent),
            quoted(&joint.name.to_string_lossy())
        );
        let found = format!(
            "{} in the animation; {count} of {} joints differ",
            parent_name(pose.parent),
            decimal(joints)
        );
        Err(error.expected(expected).found(found))
    }
}

/// The name of a pose in an animation, and its parent there.
#[derive(PartialEq, Eq, Hash)]
struct PoseKey {
    parent: Option<u32>,
    name: Text,
}

/// The index of a parent, in messages.
fn parent_name(parent: Option<u32>) -> String {
    match parent {
        Some(parent) => decimal(parent),
        None => "none".to_owned(),
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
    fn constant(trs: Trs) -> Self {
        Self {
            parent: None,
            channelmask: 0,
            channeloffset: trs.to_array(),
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
        self.stored_rate().unwrap_or(Format::USUAL_RATE)
    }

    fn stored_rate(&self) -> Option<f32> {
        let is_valid = self.framerate > 0.0 && self.framerate.is_finite();
        is_valid.then_some(self.framerate)
    }

    /// The indices of its frames.
    #[must_use]
    pub fn frames(&self) -> Range<u32> {
        range_of(self.first_frame, self.num_frames)
    }

    /// The frames before and after a time, and the fraction between them.
    ///
    /// The arguments of [`Frames::interpolate_into`](super::Frames::interpolate_into); `None` if there are no frames
    /// or no rate. `seconds` counts from the animation's first frame. An animation that loops continues from its last
    /// frame to its first; any other stops at its ends. `default_rate`, in frames per second, is used if the file does not store a
    /// rate.
    #[must_use]
    pub fn frames_at(&self, seconds: f64, default_rate: f32) -> Option<(u32, u32, f32)> {
        let rate = f64::from(self.stored_rate().unwrap_or(default_rate));
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
        let from = (at.floor() as u32).min(last);
        let to = if from < last {
            from.saturating_add(1)
        } else if self.is_loop() {
            0
        } else {
            last
        };
        #[expect(clippy::cast_possible_truncation, reason = "a fraction of a frame")]
        let fraction = at.fract() as f32;
        let from = self.first_frame.saturating_add(from);
        let to = self.first_frame.saturating_add(to);
        Some((from, to, fraction))
    }
}
