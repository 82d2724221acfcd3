//! Animations: poses, runs of frames, and joining a mesh with the animations of another file.

use std::ops::Range;
use std::sync::Arc;

use zerocopy::little_endian::F32;

use super::layout::Layout;
use super::model::{Model, run};
use super::raw;
use super::rules::FILE;
use super::tables::parent;
use crate::bytes::Text;
use crate::report::{Address, ErrorKind, Result};

impl Model {
    /// What is stored of each pose: the joint whose movement it is, by index, and the ranges of its channels.
    pub fn poses(&self) -> impl ExactSizeIterator<Item = Pose> + '_ {
        self.animation.poses.iter().map(|pose| Pose::new(&pose))
    }

    /// The animations.
    pub fn anims(&self) -> impl ExactSizeIterator<Item = Anim> + '_ {
        self.animation.anims.iter().map(|anim| Anim::new(&self.animation, &anim))
    }

    /// The first animation with this name.
    #[must_use]
    pub fn anim(&self, name: impl AsRef<[u8]>) -> Option<Anim> {
        let mut anims = self.animation.anims.iter();
        let anim = anims.find(|anim| self.animation.text_is(anim.name.get(), name.as_ref()))?;
        Some(Anim::new(&self.animation, &anim))
    }

    /// Joins this mesh with the poses, animations, frames and bounds of another file.
    ///
    /// The animation must have a pose for each joint of the mesh, with the same parents. What it has itself of meshes
    /// and joints is not looked at.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](ErrorKind::Mismatch), naming the first joint that differs and how many do.
    pub fn attach(&self, animation: &Self) -> Result<Self> {
        let (joints, poses) = (self.joint_count(), animation.poses().len());
        let mismatch = |what| FILE.error(ErrorKind::Mismatch, what);
        if joints != poses {
            let error = mismatch("number of joints and poses");
            return Err(error.expected(format!("{joints} poses, one for each joint")).found(poses));
        }
        let pairs = (0..).zip(self.joints().zip(animation.poses()));
        let mut differing = pairs.filter(|(_, (joint, pose))| joint.parent != pose.parent);
        if let Some((index, (joint, pose))) = differing.next() {
            let count = differing.count().saturating_add(1);
            let parent = |parent: Option<u32>| parent.map_or_else(|| "none".to_owned(), |p| p.to_string());
            let expected = format!("parent {} in joint {:?}", parent(joint.parent), joint.name);
            let found =
                format!("{} in the animation; {count} of {joints} joints differ", parent(pose.parent));
            let error = mismatch("parents of joints and poses").of(Address::field("joints").index(index));
            return Err(error.expected(expected).found(found));
        }
        Ok(Self { animation: Arc::clone(&animation.animation), ..self.clone() })
    }
}

/// What is stored of a pose: the parent, and for each channel its offset, its scale and whether frames store it.
///
/// Version 2 has ten channels: translate x y z, rotate x y z w, scale x y z. Version 1 has nine, without w; its last
/// offset and scale are 0 here.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Pose {
    /// The pose of the parent, whose index is less than this one's; `None` for a root.
    pub parent: Option<u32>,
    /// Bit i: frames store channel i.
    pub channelmask: u32,
    /// The value of a channel whose stored number is 0.
    pub channeloffset: [f32; 10],
    /// What one step of a stored number is worth.
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
    /// The first of its frames.
    pub first_frame: u32,
    /// The number of its frames.
    pub num_frames: u32,
    /// Frames per second; 0 where the file does not say.
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

    /// Whether the animation is meant to be repeated: `IQM_LOOP`.
    #[must_use]
    pub fn is_loop(&self) -> bool {
        self.flags & raw::IQM_LOOP != 0
    }

    /// The frames.
    #[must_use]
    pub fn frames(&self) -> Range<u32> {
        run(self.first_frame, self.num_frames)
    }

    /// The frames around a time, in seconds from the animation's first frame, and how far it is from the one to the
    /// other: what [`Frames::interpolate_into`] takes. `None` where there are no frames or no rate.
    ///
    /// An animation that loops goes from its last frame to its first; another one stays at its first and last frame.
    /// `default_rate`, in frames per second, stands in where the file does not store a rate.
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
