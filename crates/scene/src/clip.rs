//! Animations of joints.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use meshmap::iqm::{Anim, Frames, FteEvent, Model, Trs};
use meshmap::{Charge, Meter};

use crate::error::{Error, Result, is_of_a_part};
use crate::hierarchy::Hierarchy;

/// An animation of the joints of a [`Skeleton`](crate::Skeleton).
#[derive(Clone)]
pub struct Clip {
    /// A file can have thousands of animations: what their model has is there once.
    source: Arc<ClipSource>,
    anim: Anim,
    /// The number of the animation in its model.
    index: usize,
}

/// Something that happens at a time of a clip, such as a footstep.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// The time in seconds from the first frame.
    pub seconds: f32,
    /// The number of what happens, which a game defines.
    pub code: u32,
    /// The data of what happens.
    pub data: meshmap::Text,
}

impl Event {
    fn of(stored: &FteEvent) -> Self {
        Self {
            seconds: stored.timestamp,
            code: stored.evcode,
            data: stored.evdata.clone(),
        }
    }
}

/// The parts that the clips of one model share.
pub(crate) struct ClipSource {
    /// The file with the events, which may be another one than the file with the joints.
    events_of: Model,
    /// The frames of the model: making them takes time for each joint.
    frames: Frames,
    hierarchy: Hierarchy,
    /// `true` if all frames are the same, because they store nothing.
    is_constant: bool,
    /// The events of all clips, once they are asked for.
    events: OnceLock<meshmap::Result<Events>>,
    meter: Arc<Meter<'static>>,
}

/// The events of all clips, sorted, so that the events of one clip are found quickly.
struct Events {
    /// By animation; of one animation in the order of the file.
    list: Vec<FteEvent>,
    _charge: Charge<'static>,
}

impl Events {
    fn of(model: &Model, meter: &Arc<Meter<'static>>) -> meshmap::Result<Self> {
        let mut list = model.fte_events()?.unwrap_or_default();
        let bytes = list.len().saturating_mul(size_of::<FteEvent>());
        let mut charge = Charge::shared(meter);
        charge.grow(bytes as u64, "events of animations")?;
        list.sort_by_key(|event| event.anim);
        Ok(Self {
            list,
            _charge: charge,
        })
    }

    /// The places of the events of an animation in the list.
    fn of_anim(&self, anim: usize) -> Range<usize> {
        let start = self
            .list
            .partition_point(|event| (event.anim as usize) < anim);
        let end = self
            .list
            .partition_point(|event| event.anim as usize <= anim);
        start..end
    }
}

impl ClipSource {
    /// `model` has the joints and the frames; `events_of` is the file that the frames are from.
    pub(crate) fn of(model: &Model, events_of: &Model, meter: &Arc<Meter<'static>>) -> Arc<Self> {
        Arc::new(Self {
            events_of: events_of.clone(),
            frames: model.frames(),
            hierarchy: Hierarchy::of(model),
            is_constant: model.poses().all(|pose| pose.channelmask == 0),
            events: OnceLock::new(),
            meter: Arc::clone(meter),
        })
    }

    /// The events of the animation of this number.
    fn events(&self, anim: usize) -> meshmap::Result<&[FteEvent]> {
        let known = match self.events.get() {
            Some(known) => known,
            None => {
                let read = Events::of(&self.events_of, &self.meter);
                // Bytes that are missing may be there in the next call.
                if let Err(error) = &read
                    && !is_of_a_part(error)
                {
                    return Err(error.clone());
                }
                self.events.get_or_init(|| read)
            }
        };
        match known {
            Ok(events) => Ok(events.list.get(events.of_anim(anim)).unwrap_or_default()),
            Err(error) => Err(error.clone()),
        }
    }

    pub(crate) fn clip(self: &Arc<Self>, index: usize, anim: Anim) -> Clip {
        Clip {
            source: Arc::clone(self),
            anim,
            index,
        }
    }
}

#[expect(clippy::float_cmp, reason = "the same number, or another one")]
pub(crate) fn is_rate_stored(anim: &Anim) -> bool {
    anim.rate() == anim.framerate
}

fn closes(anim: &Anim) -> bool {
    anim.is_loop() && anim.num_frames > 1
}

/// The seconds from the first [key](Clip::key_frames) of the clip of an animation to the last.
pub(crate) fn seconds_of(anim: &Anim) -> f64 {
    let last = anim.num_frames.saturating_sub(u32::from(!closes(anim)));
    f64::from(last) / decimal(anim.rate())
}

/// The decimal number that a rate is the nearest float to: 29.97, rather than 29.969999.
fn decimal(rate: f32) -> f64 {
    rate.to_string().parse().unwrap_or_else(|_| rate.into())
}

impl Clip {
    /// The name, with U+FFFD in place of invalid UTF-8.
    #[must_use]
    pub fn name(&self) -> Cow<'_, str> {
        self.anim.name.to_string_lossy()
    }

    /// The animation as it is stored.
    #[must_use]
    pub fn anim(&self) -> &Anim {
        &self.anim
    }

    /// The frames per second: the stored rate, or [`Format::USUAL_RATE`](meshmap::Format::USUAL_RATE).
    #[must_use]
    pub fn rate(&self) -> f32 {
        self.anim.rate()
    }

    /// The [rate](Self::rate) as the decimal number that it is the nearest float to: 29.97, rather than 29.969999.
    #[must_use]
    pub fn decimal_rate(&self) -> f64 {
        decimal(self.rate())
    }

    /// `false` if the file stores no rate, or one that cannot be used.
    #[must_use]
    pub fn is_rate_stored(&self) -> bool {
        is_rate_stored(&self.anim)
    }

    /// `true` if the first frame follows the last one.
    #[must_use]
    pub fn repeats(&self) -> bool {
        self.anim.is_loop()
    }

    /// The number of frames, of which each may be [sampled](Self::sample).
    #[must_use]
    pub fn frame_count(&self) -> usize {
        self.anim.frames().len()
    }

    /// The number of joints.
    #[must_use]
    pub fn joint_count(&self) -> usize {
        self.source.frames.pose_count()
    }

    /// The number of events of the animation.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Model::fte_events`].
    pub fn event_count(&self) -> Result<usize> {
        Ok(self.source.events(self.index)?.len())
    }

    /// The events of the animation, in the order of the file. The first call reads the events of all animations.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Model::fte_events`].
    pub fn events(&self) -> Result<Vec<Event>> {
        let stored = self.source.events(self.index)?;
        Ok(stored.iter().map(Event::of).collect())
    }

    /// One of the events; `None` after the last one.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Model::fte_events`].
    pub fn event(&self, index: usize) -> Result<Option<Event>> {
        let stored = self.source.events(self.index)?;
        Ok(stored.get(index).map(Event::of))
    }

    /// The matrix of each joint in the model's space in a frame, columns one after another. Frames are counted from the first of the
    /// clip.
    ///
    /// A vertex `v` in the bind pose moves to the sum of `weight * sample[joint] * inverse_bind[joint] * v` over its
    /// [influences](crate::Shape::influences); the joint after the last one, for vertices without weights, is the identity.
    /// [`Skeleton::pose`](crate::Skeleton::pose) makes a [`Pose`](crate::Pose) of the matrices, which does so. They are right for every
    /// file, also if poses have other parents than joints.
    ///
    /// # Errors
    ///
    /// [`NoFrame`](crate::Error::NoFrame) if the clip does not have the frame, and the errors of reading.
    pub fn sample(&self, frame: u32) -> Result<Vec<[f64; 16]>> {
        let count = self.anim.num_frames;
        if frame >= count {
            return Err(Error::NoFrame { frame, count });
        }
        let mut poses = vec![Trs::default(); self.joint_count()];
        let frame = self.anim.first_frame.saturating_add(frame);
        self.source.frames.read_frame_into(frame, &mut poses)?;
        for pose in &mut poses {
            *pose = pose.normalized();
        }
        Ok(self.source.hierarchy.places(&poses))
    }

    /// Like [`sample`](Self::sample), at a time in seconds from the first frame. Rotations between two frames take the shorter way. A clip that
    /// [repeats](Self::repeats) goes on from its last frame to its first; any other stands still before its first and after its last frame.
    /// A time that is not finite is 0.
    ///
    /// # Errors
    ///
    /// Returns the errors of reading.
    pub fn sample_at(&self, seconds: f64) -> Result<Vec<[f64; 16]>> {
        let seconds = if seconds.is_finite() { seconds } else { 0.0 };
        let Some((from, to, fraction)) = self.anim.frames_at(seconds, self.rate()) else {
            return self.sample(0);
        };
        if fraction == 0.0 {
            return self.sample(from.saturating_sub(self.anim.first_frame));
        }
        let mut poses = vec![Trs::default(); self.joint_count()];
        let frames = &self.source.frames;
        frames.interpolate_into(from, to, fraction, &mut poses)?;
        Ok(self.source.hierarchy.places(&poses))
    }

    /// `true` if poses are stored relative to other parents than the joints have.
    #[must_use]
    pub fn is_rebased(&self) -> bool {
        self.source.hierarchy.differs()
    }

    /// `true` if a key of the first frame comes after the last one: programs repeat an animation from its last key.
    fn closes(&self) -> bool {
        closes(&self.anim)
    }

    /// The length in frames, with the key that closes a clip that repeats.
    #[must_use]
    pub fn length(&self) -> usize {
        self.frame_count()
            .saturating_add(usize::from(self.closes()))
    }

    /// The number of keys: all frames, and the first one once more if the clip repeats; of constant frames the first and the last.
    #[must_use]
    pub fn key_count(&self) -> usize {
        if self.source.is_constant {
            self.length().min(2)
        } else {
            self.length()
        }
    }

    /// The time of each [key](Self::key_count) in frames, from the first. The last key of a clip that repeats is the first frame once more,
    /// at the time [`frame_count`](Self::frame_count).
    #[expect(
        clippy::cast_precision_loss,
        reason = "there are fewer frames than that"
    )]
    pub fn key_frames(&self) -> impl Iterator<Item = f64> {
        let last = self.length().saturating_sub(1);
        let is_constant = self.source.is_constant;
        (0..self.key_count()).map(move |key| {
            let frame = if is_constant && key > 0 { last } else { key };
            frame as f64
        })
    }

    /// The transform of each joint relative to its parent, for each [key](Self::key_count): key by key.
    ///
    /// # Errors
    ///
    /// [`Sheared`](crate::Error::Sheared) if poses have other parents than joints, and no such transform exists;
    /// [`LimitExceeded`](meshmap::ErrorKind::LimitExceeded) if they take more memory than the limits allow; and the errors of reading.
    pub fn local_keys(&self) -> Result<Vec<Trs>> {
        let joints = self.joint_count();
        let mut range = self.anim.frames();
        if self.source.is_constant {
            range.end = range.end.min(range.start.saturating_add(1));
        }
        let decoded = range.len().saturating_mul(joints);
        let all = self.key_count().saturating_mul(joints);
        let bytes = (all as u64).saturating_mul(size_of::<Trs>() as u64);
        let _charge = self.source.meter.take(bytes, "poses of an animation")?;
        let mut poses = Vec::with_capacity(all);
        poses.resize(decoded, Trs::default());
        self.source.frames.read_range_into(range, &mut poses)?;
        for pose in &mut poses {
            *pose = pose.normalized();
        }
        if self.is_rebased() && joints > 0 {
            for frame in poses.chunks_exact_mut(joints) {
                self.source.hierarchy.rebase(frame)?;
            }
        }
        // The key that closes a clip, and the second one of constant frames, are the first frame once more.
        poses.extend_from_within(..all.saturating_sub(decoded));
        Ok(poses)
    }
}

impl std::fmt::Debug for Clip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clip")
            .field("anim", &self.anim)
            .finish_non_exhaustive()
    }
}
