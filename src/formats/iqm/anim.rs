//! Poses and animations, and joining a mesh with the animations of another file.

use std::ops::Range;
use std::sync::Arc;

use zerocopy::little_endian::F32;

use super::layout::Layout;
use super::model::{Model, run};
use super::raw;
use super::rules::FILE;
use super::tables::parent;
use crate::bytes::Text;
use crate::num::decimal;
use crate::report::{Address, ErrorKind, Result, quoted};

impl Model {
    /// The poses: the parent and the channel ranges of each joint that moves.
    pub fn poses(&self) -> impl ExactSizeIterator<Item = Pose> + '_ {
        self.animation.poses.iter().map(|pose| Pose::new(&pose))
    }

    /// The animations.
    pub fn anims(&self) -> impl ExactSizeIterator<Item = Anim> + '_ {
        self.animation.anims.iter().map(|anim| Anim::new(&self.animation, &anim))
    }

    /// Joins this mesh with the poses, animations, frames and bounds of another file.
    ///
    /// The animation must have a pose for each joint of the mesh, with equal parents. Its own meshes and joints are
    /// ignored.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch), which names the first joint that differs and how many differ.
    pub fn attach(&self, animation: &Self) -> Result<Self> {
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
        if let Some((index, (joint, pose))) = differing.next() {
            let [count, joints] = [differing.count().saturating_add(1), joints].map(decimal);
            let parent = |parent: Option<u32>| parent.map_or_else(|| "none".to_owned(), decimal);
            let expected =
                format!("parent {} in joint {}", parent(joint.parent), quoted(&joint.name.to_string_lossy()));
            let found =
                format!("{} in the animation; {count} of {joints} joints differ", parent(pose.parent));
            let error = mismatch("parents of joints and poses").of(Address::field("joints").index(index));
            return Err(error.expected(expected).found(found));
        }
        Ok(Self { animation: Arc::clone(&animation.animation), ..self.clone() })
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
        let at =
            if self.is_loop() { at.rem_euclid(self.num_frames.into()) } else { at.clamp(0.0, last.into()) };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 <= at < num_frames")]
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
