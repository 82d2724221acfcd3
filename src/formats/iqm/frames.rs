//! The frames of all animations: any pose of any frame, decoded on its own.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use zerocopy::FromBytes;
use zerocopy::little_endian::{F32, U16};

use super::layout::Layout;
use super::pose::{Trs, interpolate_all, synthesised_w};
use super::raw;
use super::rules::FILE;
use super::tables::Poses;
use crate::bytes::Source;
use crate::limits::{Meter, zeroed_vec};
use crate::num::{Span, as_u64, as_usize, counted, decimal, less_than, span};
use crate::options::Options;
use crate::processor::Processor;
use crate::report::Result;

/// The frames of a model: a translation, rotation and scale for each pose.
///
/// Stored as 16-bit channels; each value is `offset + channel * scale`, rounded to `f32` twice. Nothing is normalised.
/// All frames have one size, so each is found directly. From a lazy source, each call reads the frames that it decodes.
///
/// # Examples
///
/// ```
/// use meshmap::iqm;
///
/// let model = iqm::Model::open("tests/data/iqm/valid/skin_multi_anim.iqm")?;
/// let frames = model.frames();
/// let walk = model.anims().next().expect("this model has animations");
/// let mut pose = vec![iqm::Trs::default(); frames.pose_count()];
/// frames.interpolate_into(walk.first_frame, walk.first_frame + 1, 0.25, &mut pose)?;
/// # Ok::<(), meshmap::Error>(())
/// ```
#[derive(Clone)]
pub struct Frames {
    source: Source,
    section: Range<u64>,
    frames: u32,
    /// Bytes of one frame.
    stride: u64,
    poses: Arc<[Channels]>,
    options: Options,
    processor: Processor,
}

impl fmt::Debug for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frames")
            .field("frames", &self.frames)
            .field("poses", &self.poses.len())
            .finish_non_exhaustive()
    }
}

/// The channels of one pose, in the order of version 2.
///
/// Translate 0..3, rotate 3..7, scale 7..10.
#[derive(Clone, Copy, Debug)]
struct Channels {
    /// The channels that a frame stores.
    mask: u16,
    /// `true` if w is computed from x, y and z, as in version 1.
    synthesise_w: bool,
    /// Stored channels of the poses before this one.
    first: usize,
    /// The start in a frame of the window of [`decode_window`](Self::decode_window); [`NO_WINDOW`] if the pose has none.
    ///
    /// As a `u32`, so that its end cannot overflow: one comparison then finds whether the window is there.
    window: u32,
    offset: [f32; 10],
    /// [`NOTHING`] where the channel is not stored.
    scale: [f32; 10],
}

/// The numbers of a window.
const WINDOW: usize = 10;

/// A position at which no window begins: it would end after the reach of any frame.
const NO_WINDOW: u32 = u32::MAX;

/// A scale whose product changes no offset.
///
/// Adding -0.0 changes no number, where 0.0 would turn -0.0 into 0.0.
const NOTHING: f32 = -0.0;

impl Frames {
    /// The frames of a file, with its poses in the order of the file.
    pub(crate) fn new(layout: &Layout, options: Options) -> Self {
        Self {
            source: layout.source.clone(),
            section: layout.sections.frames.clone(),
            frames: layout.header.num_frames.get(),
            stride: u64::from(layout.header.num_framechannels.get()).saturating_mul(2),
            poses: Channels::of(&layout.poses),
            options,
            processor: Processor::new(),
        }
    }

    /// These frames with a pose for each joint: the one that `order` has, or a constant one.
    pub(crate) fn in_order(self, order: &[Option<u32>], joints: impl Iterator<Item = Trs>) -> Self {
        let poses = order.iter().zip(joints).map(|(pose, joint)| {
            let stored = pose.and_then(|pose| self.poses.get(as_usize(pose)));
            match stored {
                Some(channels) => *channels,
                None => Channels::constant(joint),
            }
        });
        Self {
            poses: poses.collect(),
            ..self
        }
    }

    /// The number of frames.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.frames
    }

    /// Returns `true` if there are no frames.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frames == 0
    }

    /// The number of poses in each frame.
    #[must_use]
    pub fn pose_count(&self) -> usize {
        self.poses.len()
    }

    /// One pose of one frame.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](crate::ErrorKind::OutOfRange) if the model has no such frame or pose, and the errors of reading.
    pub fn pose(&self, frame: u32, pose: usize) -> Result<Trs> {
        let channels = self.poses.get(pose).ok_or_else(|| {
            let error = FILE.out_of_range("pose");
            error.expected(less_than(self.poses.len())).found(pose)
        })?;
        let frame = self.bytes(self.one(frame)?)?.start;
        let start = frame.saturating_add(as_u64(channels.first).saturating_mul(2));
        let stored = u64::from(channels.mask.count_ones()).saturating_mul(2);
        let bytes = self.source.get(span(start, stored), "frames[]")?;
        Ok(channels.decode_stored(values(&bytes)))
    }

    /// All poses of one frame, into `out` of [`pose_count`](Self::pose_count) elements.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](crate::ErrorKind::OutOfRange) if the model has no such frame or `out` has another length, and the
    /// errors of reading.
    pub fn read_frame_into(&self, frame: u32, out: &mut [Trs]) -> Result<()> {
        self.read_range_into(self.one(frame)?, out)
    }

    /// All poses of a range of frames, into `out` of exactly that many elements.
    ///
    /// Frame after frame, [`pose_count`](Self::pose_count) elements each. Large ranges are decoded in parallel; see
    /// [`Parallelism`](crate::Parallelism).
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](crate::ErrorKind::OutOfRange) if the model lacks any of the frames or `out` has another length, and
    /// the errors of reading.
    pub fn read_range_into(&self, frames: Range<u32>, out: &mut [Trs]) -> Result<()> {
        let count = u64::from(frames.end.saturating_sub(frames.start));
        let range = self.bytes(frames)?;
        let expected = count.saturating_mul(as_u64(self.poses.len()));
        if as_u64(out.len()) != expected {
            let error = FILE.out_of_range("length of the output");
            return Err(error.expected(counted(expected, "pose")).found(out.len()));
        }
        self.with_values(range, |values| self.decode_all(values, out))
    }

    /// Does `work` with the channels of a range of the file, and of what follows it, if the source is in memory.
    ///
    /// In memory, bytes are borrowed: to share them takes as long as to decode 30 poses.
    #[inline(always)]
    fn with_values<R>(&self, range: Range<u64>, work: impl FnOnce(&[U16]) -> R) -> Result<R> {
        if let Some(bytes) = self.source.in_memory()
            && range.end <= as_u64(bytes.len())
            && let Some(bytes) = bytes.get(as_usize(range.start)..)
        {
            return Ok(work(values(bytes)));
        }
        let bytes = self.source.get(range, "frames[]")?;
        Ok(work(values(&bytes)))
    }

    /// The channels of the frame at the start of `values`, and as many after them as windows of its poses have.
    #[inline(always)]
    fn reach<'a>(&self, values: &'a [U16]) -> &'a [U16] {
        let reach = self.channels().saturating_add(WINDOW - 1);
        values.get(..reach).unwrap_or(values)
    }

    /// All poses of all frames, [`pose_count`](Self::pose_count) elements a frame.
    ///
    /// # Errors
    ///
    /// Returns [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if that is more than
    /// [`max_block_bytes`](crate::Limits::max_block_bytes), and the errors of reading.
    pub fn read(&self) -> Result<Vec<Trs>> {
        let count = u64::from(self.frames).saturating_mul(as_u64(self.poses.len()));
        let stored = self.bytes(0..self.frames)?;
        self.source
            .require(std::slice::from_ref(&stored), "frames[]")?;
        let meter = Meter::of_part(&self.options.limits, &stored);
        let mut out = zeroed_vec(&meter, stored.length(), count, "frames[]")
            .map_err(|error| FILE.locate(error))?;
        self.read_range_into(0..self.frames, &mut out)?;
        Ok(out)
    }

    /// Interpolates between two frames, into `out`: 0 is `from`, 1 is `to`.
    ///
    /// `out` has [`pose_count`](Self::pose_count) elements. Rotations take the shorter way and have length 1; see
    /// [`Trs::interpolate`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`read_frame_into`](Self::read_frame_into).
    pub fn interpolate_into(
        &self,
        from: u32,
        to: u32,
        fraction: f32,
        out: &mut [Trs],
    ) -> Result<()> {
        self.read_frame_into(from, out)?;
        let to = self.bytes(self.one(to)?)?;
        self.with_values(to, |values| {
            self.processor.run(
                #[inline(always)]
                || self.interpolate_frame(self.reach(values), fraction, out),
            );
        })
    }

    /// Interpolates from the poses in `out` to the poses of the frame whose [`reach`](Self::reach) is `values`.
    #[inline(always)]
    fn interpolate_frame(&self, values: &[U16], fraction: f32, out: &mut [Trs]) {
        /// Poses that are decoded before they are interpolated: they stay in the nearest cache.
        const BLOCK: usize = 64;
        let mut to = [Trs::default(); BLOCK];
        for (poses, channels) in out.chunks_mut(BLOCK).zip(self.poses.chunks(BLOCK)) {
            for (to, channels) in to.iter_mut().zip(channels) {
                channels.decode_into(values, to);
            }
            let to = to.get(..poses.len()).unwrap_or_default();
            interpolate_all(poses, to, fraction);
        }
    }

    /// The range of one frame, which must exist.
    fn one(&self, frame: u32) -> Result<Range<u32>> {
        match frame.checked_add(1) {
            Some(end) if end <= self.frames => Ok(frame..end),
            _ => {
                let error = FILE.out_of_range("frame");
                Err(error.expected(less_than(self.frames)).found(frame))
            }
        }
    }

    /// The bytes of a range of frames.
    fn bytes(&self, frames: Range<u32>) -> Result<Range<u64>> {
        if frames.start > frames.end || frames.end > self.frames {
            let error = FILE.out_of_range("frame");
            let expected = format!("within 0..{}", decimal(self.frames));
            let found = format!("{}..{}", decimal(frames.start), decimal(frames.end));
            return Err(error.expected(expected).found(found));
        }
        let start = self.stride.saturating_mul(frames.start.into());
        let end = self.stride.saturating_mul(frames.end.into());
        let section = self.section.start;
        Ok(section.saturating_add(start)..section.saturating_add(end))
    }

    /// Decodes whole frames; many of them in parallel.
    fn decode_all(&self, values: &[U16], out: &mut [Trs]) {
        #[cfg(feature = "rayon")]
        if self.options.parallelism == crate::options::Parallelism::Rayon && self.stride > 0 {
            use rayon::prelude::*;

            use crate::limits::job;

            /// Fewer poses are faster on one thread; Miri would take long for many.
            const PARALLEL: usize = if cfg!(miri) { 256 } else { 16 << 10 };
            if out.len() > PARALLEL {
                let poses = self.poses.len();
                let frames_each = PARALLEL.div_ceil(poses).saturating_div(4).max(1);
                let values = values.par_chunks(self.channels().saturating_mul(frames_each));
                let out = out.par_chunks_mut(poses.saturating_mul(frames_each));
                let decode = |(out, values): (&mut [Trs], &[U16])| self.decode_frames(values, out);
                job::in_pool(|_| out.zip(values).for_each(decode));
                return;
            }
        }
        self.decode_frames(values, out);
    }

    fn decode_frames(&self, values: &[U16], out: &mut [Trs]) {
        self.processor.run(
            #[inline(always)]
            || {
                let mut rest = values;
                for frame in out.chunks_mut(self.poses.len().max(1)) {
                    let values = self.reach(rest);
                    for (pose, channels) in frame.iter_mut().zip(self.poses.iter()) {
                        channels.decode_into(values, pose);
                    }
                    rest = rest.get(self.channels()..).unwrap_or_default();
                }
            },
        );
    }

    /// The stored channels of one frame.
    fn channels(&self) -> usize {
        as_usize(self.stride).saturating_div(2)
    }
}

impl Channels {
    /// The channels of a joint that no frame moves.
    fn constant(pose: Trs) -> Self {
        Self::new(0, false, 0, pose.to_array(), [0.0; 10])
    }

    fn of(poses: &Poses) -> Arc<[Self]> {
        let synthesise_w = matches!(poses, Poses::V1(_));
        let mut first = 0;
        let channels = poses.iter().map(|pose| {
            let channels = Self::of_pose(&pose, synthesise_w, first);
            first = first.saturating_add(channels.stored());
            channels
        });
        channels.collect()
    }

    /// The channels of a pose, before which a frame has `first` channels of other poses.
    fn of_pose(pose: &raw::Pose, synthesise_w: bool, first: usize) -> Self {
        let mut mask = pose.channelmask.get();
        let mut offset = pose.channeloffset.map(F32::get);
        let mut scale = pose.channelscale.map(F32::get);
        if synthesise_w {
            // Translate x y z, rotate x y z, scale x y z: the scales move up by one, so that w
            // comes before them.
            mask = (mask & 0b11_1111) | ((mask & 0b1_1100_0000) << 1);
            offset[6..].rotate_right(1);
            scale[6..].rotate_right(1);
        }
        Self::new(mask, synthesise_w, first, offset, scale)
    }

    fn new(
        mask: u32,
        synthesise_w: bool,
        first: usize,
        offset: [f32; 10],
        mut scale: [f32; 10],
    ) -> Self {
        let mask = u16::try_from(mask & 0x3ff).unwrap_or(0);
        // Adding changes the bits of NaN, even if it leaves numbers unchanged.
        let mut exact = true;
        for (index, (offset, scale)) in offset.iter().zip(&mut scale).enumerate() {
            if mask & (1 << index) == 0 {
                *scale = NOTHING;
                exact &= !offset.is_nan();
            }
        }
        let before = if mask == 0 {
            // So that the window of a pose after the last stored channel ends within the reach of its frame.
            u32::from(first > 0)
        } else {
            mask.trailing_zeros()
        };
        let is_run = (mask >> before).wrapping_add(1).is_power_of_two();
        let window = if is_run && exact && !synthesise_w {
            let start = first.checked_sub(as_usize(before));
            start.and_then(|start| u32::try_from(start).ok())
        } else {
            None
        };
        Self {
            mask,
            synthesise_w,
            first,
            window: window.unwrap_or(NO_WINDOW),
            offset,
            scale,
        }
    }

    /// Returns the number of channels that a frame stores.
    fn stored(&self) -> usize {
        as_usize(self.mask.count_ones())
    }

    /// Decodes this pose of the frame whose [`reach`](Frames::reach) is `values`.
    ///
    /// Both branches write to `out`: a common result would go through the stack and take 1.35 times as long.
    #[inline(always)]
    fn decode_into(&self, values: &[U16], out: &mut Trs) {
        let start = as_usize(self.window);
        let window = values.get(start..start.saturating_add(WINDOW));
        match window.and_then(<[U16]>::first_chunk) {
            Some(window) => *out = self.decode_window(window),
            None => self.decode_stored_into(values, out),
        }
    }

    /// Kept out of the loop over windows, which has no registers left for it.
    #[cold]
    #[inline(never)]
    fn decode_stored_into(&self, values: &[U16], out: &mut Trs) {
        *out = self.decode_stored(values.get(self.first..).unwrap_or_default());
    }

    /// Decodes a window of ten numbers, with stored channels at their own index.
    ///
    /// Its other numbers belong to the neighbouring poses and are scaled to nothing.
    ///
    /// The decoder does not branch on the mask, so that one instruction decodes four or eight channels: 2.3 times as fast as
    /// [`decode_stored`](Self::decode_stored). Exporters drop channels that do not move, so that nearly all poses store a run: all
    /// channels, translation and rotation, one of the two, or none. Other masks, and the first poses of a frame and the last ones
    /// of `values`, which lack neighbours, are left to `decode_stored`.
    #[inline(always)]
    fn decode_window(&self, window: &[U16; WINDOW]) -> Trs {
        let mut channels = self.offset;
        for ((channel, value), scale) in channels.iter_mut().zip(window).zip(&self.scale) {
            *channel += f32::from(value.get()) * scale;
        }
        let [a, b, c, x, y, z, w, d, e, f] = channels;
        Trs {
            translate: [a, b, c],
            rotate: [x, y, z, w],
            scale: [d, e, f],
        }
    }

    /// Decodes the pose at the start of `values`, whatever its mask.
    fn decode_stored(&self, values: &[U16]) -> Trs {
        let mut channels = self.offset;
        let mut values = values.iter();
        for (index, (channel, scale)) in channels.iter_mut().zip(&self.scale).enumerate() {
            if self.mask & (1 << index) != 0
                && let Some(value) = values.next()
            {
                *channel += f32::from(value.get()) * scale;
            }
        }
        let [a, b, c, x, y, z, w, d, e, f] = channels;
        let w = if self.synthesise_w {
            synthesised_w([x, y, z])
        } else {
            w
        };
        Trs {
            translate: [a, b, c],
            rotate: [x, y, z, w],
            scale: [d, e, f],
        }
    }
}

/// The channels in these bytes, at any alignment.
fn values(bytes: &[u8]) -> &[U16] {
    <[U16]>::ref_from_prefix(bytes).map_or(&[], |(values, _)| values)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use proptest::prelude::*;
    use zerocopy::IntoBytes;

    use super::*;
    use crate::bytes::Array;
    use crate::options::Parallelism;

    const V2: usize = 10;
    const V1: usize = 9;

    /// Mask, offsets and scales of a pose of `N` channels.
    type Stored<const N: usize> = (u32, [f32; N], [f32; N]);

    fn frames(poses: &Poses, frames: u32, values: &[u16], parallelism: Parallelism) -> Frames {
        frames_before(&[], poses, frames, values, parallelism)
    }

    /// Frames that `after` follows in the file.
    fn frames_before(
        after: &[u8],
        poses: &Poses,
        frames: u32,
        values: &[u16],
        parallelism: Parallelism,
    ) -> Frames {
        // An odd address, where files may also have their frames.
        let mut bytes = vec![0];
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        let section = 1..as_u64(bytes.len());
        bytes.extend(after);
        let stride = as_u64(values.len() * 2)
            .checked_div(frames.into())
            .unwrap_or(0);
        let source = Source::from_bytes(bytes);
        let poses = Channels::of(poses);
        Frames {
            source,
            section,
            frames,
            stride,
            poses,
            options: Options::default().with_parallelism(parallelism),
            processor: Processor::new(),
        }
    }

    fn v2(poses: &[Stored<V2>]) -> Poses {
        let raw = |(mask, offset, scale): &Stored<V2>| raw::Pose {
            parent: (-1).into(),
            channelmask: (*mask).into(),
            channeloffset: offset.map(F32::new),
            channelscale: scale.map(F32::new),
        };
        let poses: Vec<raw::Pose> = poses.iter().map(raw).collect();
        Poses::V2(Array::new(Bytes::copy_from_slice(poses.as_bytes())))
    }

    fn v1(poses: &[Stored<V1>]) -> Poses {
        let raw = |(mask, offset, scale): &Stored<V1>| raw::PoseV1 {
            parent: (-1).into(),
            channelmask: (*mask).into(),
            channeloffset: offset.map(F32::new),
            channelscale: scale.map(F32::new),
        };
        let poses: Vec<raw::PoseV1> = poses.iter().map(raw).collect();
        Poses::V1(Array::new(Bytes::copy_from_slice(poses.as_bytes())))
    }

    /// The bits of the channels, decoded as the specification says it.
    fn plain<const N: usize>(poses: &[Stored<N>], frames: u32, values: &[u16]) -> Vec<[u32; N]> {
        let mut values = values.iter();
        let mut out = Vec::new();
        for (mask, offset, scale) in (0..frames).flat_map(|_| poses) {
            out.push(std::array::from_fn(|i| match mask & (1 << i) {
                0 => offset[i].to_bits(),
                _ => bits(offset[i] + f32::from(*values.next().unwrap()) * scale[i]),
            }));
        }
        out
    }

    /// The bits of a computed number. Which NaN an operation makes is not defined.
    fn bits(number: f32) -> u32 {
        if number.is_nan() {
            f32::NAN.to_bits()
        } else {
            number.to_bits()
        }
    }

    /// Returns the bits of the channels that are stored as computed numbers.
    fn decoded<const N: usize>(poses: &[Stored<N>], out: &[Trs]) -> Vec<[u32; N]> {
        let channel = |trs: &Trs, i: usize| {
            // Version 1 has no channel for w.
            let place = if N == V1 && i >= 6 { i + 1 } else { i };
            [&trs.translate[..], &trs.rotate[..], &trs.scale[..]].concat()[place]
        };
        let pairs = out.iter().zip(poses.iter().cycle());
        pairs
            .map(|(trs, (mask, ..))| {
                std::array::from_fn(|i| match mask & (1 << i) {
                    0 => channel(trs, i).to_bits(),
                    _ => bits(channel(trs, i)),
                })
            })
            .collect()
    }

    /// Masks of all kinds; runs of bits have a decoder of their own.
    fn any_mask() -> impl Strategy<Value = u32> {
        prop_oneof![
            Just(0x3ff),
            Just(0x7f),
            Just(0x78),
            Just(0),
            (0..10_u32, 0..=10_u32).prop_map(|(a, n)| ((1 << n) - 1) << a),
            any::<u32>()
        ]
    }

    /// Numbers with any bits, with more weight on numbers that are lost easily.
    fn any_number() -> impl Strategy<Value = f32> {
        let signalling_nan = f32::from_bits(0x7f80_0001);
        prop_oneof![
            -10.0..10.0_f32,
            any::<u32>().prop_map(f32::from_bits),
            Just(-0.0),
            Just(signalling_nan)
        ]
    }

    /// Bytes that follow the frames in a file: fewer than a window has, or more.
    fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(any::<u8>(), 0..40)
    }

    fn any_file<const N: usize>() -> impl Strategy<Value = (Vec<Stored<N>>, u32, Vec<u16>)> {
        let numbers = || {
            proptest::collection::vec(any_number(), N)
                .prop_map(|numbers| numbers.try_into().unwrap())
        };
        let (most_poses, most_frames) = if cfg!(miri) { (3, 3) } else { (8, 6_u32) };
        let poses = proptest::collection::vec((any_mask(), numbers(), numbers()), 1..most_poses);
        (poses, 0..most_frames).prop_flat_map(|(poses, frames)| {
            let channels: u32 = poses
                .iter()
                .map(|(mask, ..)| (mask & ((1 << N) - 1)).count_ones())
                .sum();
            let values = proptest::collection::vec(any::<u16>(), (channels * frames) as usize);
            (Just(poses), Just(frames), values)
        })
    }

    proptest! {
        #[test]
        fn poses_decode_to_the_bits_of_a_plain_loop((poses, count, values) in any_file::<V2>(), after in any_bytes()) {
            let frames = frames_before(&after, &v2(&poses), count, &values, Parallelism::Off);
            let out = frames.read().unwrap();
            let expected = plain(&poses, count, &values);
            prop_assert_eq!(decoded(&poses, &out), &expected[..]);
            let mut one_by_one = out.clone();
            for (frame, out) in (0..count).zip(one_by_one.chunks_mut(poses.len())) {
                frames.read_frame_into(frame, out).unwrap();
            }
            prop_assert_eq!(decoded(&poses, &one_by_one), &expected[..]);
            let at_random = (0..count).flat_map(|frame| (0..poses.len()).map(move |pose| (frame, pose)));
            let out: Vec<Trs> = at_random.map(|(frame, pose)| frames.pose(frame, pose).unwrap()).collect();
            prop_assert_eq!(decoded(&poses, &out), expected);
        }

        /// More poses than are decoded at a time, and numbers of poses that eight does not divide.
        #[test]
        fn frames_interpolate_to_the_bits_of_each_pose(copies in 0..40_usize, (poses, _, values) in any_file::<V2>(), fraction in 0.0..=1.0_f32, after in any_bytes()) {
            let poses = poses.repeat(copies.max(1));
            let channels: u32 = poses.iter().map(|(mask, ..)| (mask & 0x3ff).count_ones()).sum();
            let values: Vec<u16> = values.iter().copied().chain(0..).take(2 * channels as usize).collect();
            let frames = frames_before(&after, &v2(&poses), 2, &values, Parallelism::Off);
            let mut out = vec![Trs::default(); poses.len()];
            frames.interpolate_into(0, 1, fraction, &mut out).unwrap();
            for (index, pose) in out.iter().enumerate() {
                let [from, to] = [0, 1].map(|frame| frames.pose(frame, index).unwrap());
                let expected = from.interpolate(to, fraction).to_array();
                prop_assert_eq!(pose.to_array().map(bits), expected.map(bits), "{} of {}", index, poses.len());
            }
        }

        #[test]
        fn poses_of_version_1_decode_to_the_bits_of_a_plain_loop((poses, count, values) in any_file::<V1>()) {
            let frames = frames(&v1(&poses), count, &values, Parallelism::Off);
            let out = frames.read().unwrap();
            prop_assert_eq!(decoded(&poses, &out), plain(&poses, count, &values));
            for trs in out {
                let [x, y, z, w] = trs.rotate;
                prop_assert_eq!(bits(w), bits(synthesised_w([x, y, z])));
            }
        }
    }

    #[cfg(feature = "rayon")]
    #[test]
    #[cfg_attr(
        miri,
        ignore = "pools that outlive main leak; tests/threads.rs has a smaller one"
    )]
    fn threads_do_not_change_poses() {
        let masks = [0x7f_u32, 0x3ff, 0, 0x155, 0x78];
        let poses = masks.map(|mask| (mask, [0.5; V2], std::array::from_fn(|i| 0.25 + i as f32)));
        let channels: u32 = masks.iter().map(|mask| mask.count_ones()).sum();
        let count = 10_000_u32;
        let values: Vec<u16> = (0..count * channels)
            .map(|i| (i.wrapping_mul(40_503) >> 4) as u16)
            .collect();
        let alone = frames(&v2(&poses), count, &values, Parallelism::Off)
            .read()
            .unwrap();
        for threads in [1, 2, 8] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            let parallel =
                pool.install(|| frames(&v2(&poses), count, &values, Parallelism::Rayon).read());
            assert!(parallel.unwrap() == alone, "{threads}");
        }
    }
}
