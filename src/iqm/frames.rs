//! The frames of all animations: any pose of any frame, at the cost of that pose.

use std::ops::Range;
use std::sync::Arc;

use zerocopy::FromBytes;
use zerocopy::little_endian::{F32, U16};

use super::layout::{Layout, Poses};
use super::pose::{Trs, synthesised_w};
use crate::source::as_u64;
use crate::{Error, ErrorKind, Format, Options, Parallelism, Result, Source};

/// The frames of a model: for each frame, a translation, rotation and scale of each pose.
///
/// Stored as 16-bit channels; each value is `offset + channel * scale`, in two roundings to `f32`. Nothing is
/// normalised. Frames lie one after the other, so any of them is found without looking at others. Of a source that is
/// read lazily, each call reads the frames that it decodes.
///
/// # Examples
///
/// ```
/// use meshmap::{Source, iqm};
///
/// let model = iqm::Model::from_source(Source::open("tests/data/iqm/valid/skin_multi_anim.iqm")?)?;
/// let frames = model.frames();
/// let walk = model.anims().next().expect("this model has animations");
/// let mut pose = vec![iqm::Trs::default(); frames.poses()];
/// frames.interpolate_into(walk.first_frame, walk.first_frame + 1, 0.25, &mut pose)?;
/// # Ok::<(), meshmap::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Frames {
    source: Source,
    section: Range<u64>,
    frames: u32,
    /// Bytes of one frame.
    stride: u64,
    poses: Arc<[Channels]>,
    options: Options,
}

/// The channels of one pose, in the order of version 2: translate 0..3, rotate 3..7, scale 7..10.
#[derive(Clone, Copy, Debug)]
struct Channels {
    /// Which channels a frame stores.
    mask: u16,
    /// Whether w is computed from x, y and z, as in version 1.
    synthesise_w: bool,
    /// Stored channels of the poses before this one.
    first: u32,
    offset: [f32; 10],
    scale: [f32; 10],
}

impl Frames {
    pub(crate) fn new(layout: &Layout, options: Options) -> Self {
        let stride = u64::from(layout.header.num_framechannels.get()).saturating_mul(2);
        let section = layout.sections.frames.clone();
        let frames = layout.header.num_frames.get();
        let poses = Channels::of(&layout.poses);
        Self { source: layout.source.clone(), section, frames, stride, poses, options }
    }

    /// The number of frames.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.frames
    }

    /// Whether there are no frames.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frames == 0
    }

    /// The number of poses in each frame.
    #[must_use]
    pub fn poses(&self) -> usize {
        self.poses.len()
    }

    /// One pose of one frame.
    ///
    /// # Errors
    ///
    /// [`OutOfRange`](ErrorKind::OutOfRange) where there is no such frame or pose, and the errors of reading.
    pub fn pose(&self, frame: u32, pose: usize) -> Result<Trs> {
        let channels = self.poses.get(pose).ok_or_else(|| {
            let error = Error::new(ErrorKind::OutOfRange, "pose").format_is(Some(Format::Iqm));
            error.expected(format!("less than {}", self.poses.len())).found(pose)
        })?;
        let frame = self.bytes(self.one(frame)?)?.start;
        let start = frame.saturating_add(u64::from(channels.first).saturating_mul(2));
        let stored = u64::from(channels.mask.count_ones()).saturating_mul(2);
        let bytes = self.source.get(start..start.saturating_add(stored), "frames[]")?;
        Ok(channels.decode(&mut values(&bytes)))
    }

    /// All poses of one frame, into `out`, which has an element for each.
    ///
    /// # Errors
    ///
    /// [`OutOfRange`](ErrorKind::OutOfRange) where there is no such frame or `out` has another length, and the errors
    /// of reading.
    pub fn frame_into(&self, frame: u32, out: &mut [Trs]) -> Result<()> {
        self.frames_into(self.one(frame)?, out)
    }

    /// All poses of a range of frames, into `out`: frame after frame, [`poses`](Self::poses) elements each.
    ///
    /// Runs in the caller's rayon pool where that pays; see [`Parallelism`].
    ///
    /// # Errors
    ///
    /// [`OutOfRange`](ErrorKind::OutOfRange) where there are no such frames or `out` has another length, and the
    /// errors of reading.
    pub fn frames_into(&self, frames: Range<u32>, out: &mut [Trs]) -> Result<()> {
        let count = u64::from(frames.end.saturating_sub(frames.start));
        let range = self.bytes(frames)?;
        let expected = count.saturating_mul(as_u64(self.poses.len()));
        if as_u64(out.len()) != expected {
            let error =
                Error::new(ErrorKind::OutOfRange, "length of the output").format_is(Some(Format::Iqm));
            return Err(error.expected(format!("{expected} poses")).found(out.len()));
        }
        let bytes = self.source.get(range, "frames[]")?;
        self.decode_all(values(&bytes), out);
        Ok(())
    }

    /// All poses of all frames: frame after frame, [`poses`](Self::poses) elements each.
    ///
    /// # Errors
    ///
    /// [`LimitExceeded`](ErrorKind::LimitExceeded) where that is more than
    /// [`max_block_bytes`](crate::Limits::max_block_bytes), and the errors of reading.
    pub fn to_vec(&self) -> Result<Vec<Trs>> {
        let count = u64::from(self.frames).saturating_mul(as_u64(self.poses.len()));
        let out = self.options.limits.vec(count, "frames[]");
        let mut out = out.map_err(|error| error.format_is(Some(Format::Iqm)))?;
        self.frames_into(0..self.frames, &mut out)?;
        Ok(out)
    }

    /// What lies between two frames, into `out`: at `fraction` 0 the one, at 1 the other.
    ///
    /// Rotations take the shorter way and come out with length 1; see [`Trs::interpolate`].
    ///
    /// # Errors
    ///
    /// Those of [`frame_into`](Self::frame_into).
    pub fn interpolate_into(&self, from: u32, to: u32, fraction: f32, out: &mut [Trs]) -> Result<()> {
        self.frame_into(from, out)?;
        let to = self.bytes(self.one(to)?)?;
        let bytes = self.source.get(to, "frames[]")?;
        let mut values = values(&bytes);
        for (pose, channels) in out.iter_mut().zip(self.poses.iter()) {
            *pose = pose.interpolate(channels.decode(&mut values), fraction);
        }
        Ok(())
    }

    /// The range of one frame, which must exist.
    fn one(&self, frame: u32) -> Result<Range<u32>> {
        match frame.checked_add(1) {
            Some(end) if end <= self.frames => Ok(frame..end),
            _ => {
                let error = Error::new(ErrorKind::OutOfRange, "frame").format_is(Some(Format::Iqm));
                Err(error.expected(format!("less than {}", self.frames)).found(frame))
            }
        }
    }

    /// The bytes of a range of frames.
    fn bytes(&self, frames: Range<u32>) -> Result<Range<u64>> {
        if frames.start > frames.end || frames.end > self.frames {
            let error = Error::new(ErrorKind::OutOfRange, "frame").format_is(Some(Format::Iqm));
            let found = format!("{}..{}", frames.start, frames.end);
            return Err(error.expected(format!("within 0..{}", self.frames)).found(found));
        }
        let at = |frame: u32| self.section.start.saturating_add(self.stride.saturating_mul(frame.into()));
        Ok(at(frames.start)..at(frames.end))
    }

    fn decode_all(&self, values: &[U16], out: &mut [Trs]) {
        let poses = self.poses.len();
        let channels = usize::try_from(self.stride).unwrap_or(0).checked_div(2).unwrap_or(0);
        if poses == 0 {
            return;
        }
        if channels == 0 {
            out.chunks_mut(poses).for_each(|frame| self.decode_frame(&[], frame));
            return;
        }
        /// Poses for which another thread is worth waking: some twenty microseconds of work.
        const PARALLEL: usize = 16 << 10;
        #[cfg(feature = "rayon")]
        if self.options.parallelism == Parallelism::Rayon && out.len() > PARALLEL {
            use rayon::prelude::*;
            let frames_each = PARALLEL.div_ceil(poses).saturating_div(4).max(1);
            let values = values.par_chunks(channels.saturating_mul(frames_each));
            out.par_chunks_mut(poses.saturating_mul(frames_each)).zip(values).for_each(|(out, values)| {
                let frames = out.chunks_mut(poses).zip(values.chunks(channels));
                frames.for_each(|(frame, values)| self.decode_frame(values, frame));
            });
            return;
        }
        let frames = out.chunks_mut(poses).zip(values.chunks(channels));
        frames.for_each(|(frame, values)| self.decode_frame(values, frame));
    }

    fn decode_frame(&self, mut values: &[U16], out: &mut [Trs]) {
        for (pose, channels) in out.iter_mut().zip(self.poses.iter()) {
            *pose = channels.decode(&mut values);
        }
    }
}

impl Channels {
    fn of(poses: &Poses) -> Arc<[Self]> {
        let mut first = 0_u32;
        let mut next = |mask: u32, synthesise_w, offset, scale| {
            let mask = u16::try_from(mask & 0x3ff).unwrap_or(0);
            let channels = Self { mask, synthesise_w, first, offset, scale };
            first = first.saturating_add(mask.count_ones());
            channels
        };
        match poses {
            Poses::V2(poses) => poses
                .iter()
                .map(|pose| {
                    let [offset, scale] = [pose.channeloffset, pose.channelscale].map(|c| c.map(F32::get));
                    next(pose.channelmask.get(), false, offset, scale)
                })
                .collect(),
            Poses::V1(poses) => poses
                .iter()
                .map(|pose| {
                    let mask = pose.channelmask.get();
                    // The three scales move up by one, to make room for w.
                    let mask = (mask & 0x3f) | ((mask & 0x1c0) << 1);
                    let [offset, scale] = [pose.channeloffset, pose.channelscale].map(|channels| {
                        let [a, b, c, x, y, z, d, e, f] = channels.map(F32::get);
                        [a, b, c, x, y, z, 0.0, d, e, f]
                    });
                    next(mask, true, offset, scale)
                })
                .collect(),
        }
    }

    /// Decodes the pose at the beginning of `values`, and steps behind it.
    fn decode(&self, values: &mut &[U16]) -> Trs {
        let mut channels = self.offset;
        for (index, channel) in channels.iter_mut().enumerate() {
            if self.mask & (1 << index) != 0
                && let Some((value, rest)) = values.split_first()
            {
                *channel += f32::from(value.get()) * self.scale.get(index).copied().unwrap_or(0.0);
                *values = rest;
            }
        }
        let [a, b, c, x, y, z, w, d, e, f] = channels;
        let w = if self.synthesise_w { synthesised_w([x, y, z]) } else { w };
        Trs { translate: [a, b, c], rotate: [x, y, z, w], scale: [d, e, f] }
    }
}

/// The channels in these bytes, at any alignment.
fn values(bytes: &[u8]) -> &[U16] {
    <[U16]>::ref_from_prefix(bytes).map_or(&[], |(values, _)| values)
}
