//! The frame, snapshot or time of a file that is drawn or written.

use std::fmt;
use std::sync::Arc;

use meshmap::cgeo::{Proxy, Wrap};
use meshmap::iqm::{Anim, Model};
use meshmap::{Format, MeshFile};

use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::text::shown;

/// The requested moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum When {
    /// As the file is by itself.
    #[default]
    Usual,
    /// The snapshot of this index.
    Snapshot(usize),
    /// A frame, counted from the first one of the animation.
    Frame(u32),
    /// The snapshot or frame that is nearest to this time.
    Seconds(f64),
}

impl When {
    /// The last of these that is given.
    pub fn of(snapshot: Option<usize>, frame: Option<u32>, seconds: Option<f64>) -> Self {
        let when = seconds
            .map(Self::Seconds)
            .or(frame.map(Self::Frame))
            .or(snapshot.map(Self::Snapshot));
        when.unwrap_or_default()
    }
}

/// The state in which a file is drawn or written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Moment {
    /// As it is stored: what does not move, and the bind pose.
    #[default]
    Stored,
    /// The snapshot of this index.
    Snapshot(usize),
    /// A frame, counted over all animations.
    Frame(u32),
}

/// A moment, and how it is called.
#[derive(Clone, Default)]
pub struct Named {
    /// The moment.
    pub moment: Moment,
    /// `None` for what does not move.
    pub name: Option<Name>,
}

impl Named {
    /// The name, as reports have it; empty for what does not move.
    pub fn to_text(&self) -> String {
        self.name.as_ref().map(Name::to_string).unwrap_or_default()
    }
}

/// The name of a moment, such as `walk frame 3 (0.125 s)`.
///
/// An animation may have a long name and tens of thousands of frames: all names of a run share its text, and no frame copies it.
#[derive(Clone)]
pub struct Name {
    /// `snapshot`, or the name of the animation and `frame`.
    counted: Arc<str>,
    number: usize,
    seconds: Option<f64>,
    is_nearest: bool,
}

impl Name {
    /// The name without the time.
    pub fn title(&self) -> String {
        format!("{} {}", self.counted, self.number)
    }

    /// The time; empty if the file has none.
    pub fn time(&self) -> String {
        let nearest = if self.is_nearest { ", nearest" } else { "" };
        self.seconds
            .map_or_else(String::new, |seconds| format!("{seconds:.3} s{nearest}"))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = self.time();
        f.write_str(&self.title())?;
        if time.is_empty() {
            Ok(())
        } else {
            write!(f, " ({time})")
        }
    }
}

/// Moments that follow each other, as fast as this.
pub struct Run {
    /// The moments, in order.
    pub moments: Vec<Named>,
    /// From one to the next, as a fraction of a second.
    pub delay: [u16; 2],
    /// `true` if the file does not store their rate.
    pub is_rate_assumed: bool,
}

/// Finds moments; `target` is the name of their target.
#[derive(Clone, Copy)]
pub struct Finder<'a> {
    /// The moment that is asked for.
    pub when: When,
    /// The IQM animation that the moment is of; otherwise the first.
    pub anim: Option<&'a str>,
    /// The name of the target, for errors.
    pub target: &'static str,
}

impl Finder<'_> {
    fn refused<T>(self, what: String) -> Result<T> {
        Err(Error::NotHeld {
            target: self.target,
            what,
        })
    }

    /// The moment that is asked for.
    ///
    /// # Errors
    ///
    /// [`NotHeld`](Error::NotHeld) if the file has no such moment.
    pub fn one(self, file: &MeshFile) -> Result<Named> {
        let when = self.when;
        if when == When::Usual && self.anim.is_none() {
            return Ok(Named::default());
        }
        if let Some(proxy) = file.as_cgeo() {
            return self.snapshot(proxy);
        }
        match (file.as_iqm(), when) {
            (_, When::Snapshot(_)) => {
                self.refused(format!("{} files have no snapshots", file.format()))
            }
            (Some(model), When::Usual | When::Frame(_) | When::Seconds(_)) => self.frame(model),
            (None, _) => self.refused(format!("{} files have no frames", file.format())),
        }
    }

    /// The snapshot that is asked for, or the one that is nearest to the time.
    ///
    /// # Errors
    ///
    /// [`NotHeld`](Error::NotHeld) for a snapshot that the file does not have.
    pub fn snapshot(self, proxy: &Proxy) -> Result<Named> {
        match self.when {
            When::Snapshot(index) if index >= proxy.snapshot_count() => self.refused(format!(
                "no snapshot {index}: the file has {}, counted from 0",
                proxy.snapshot_count()
            )),
            When::Snapshot(index) => Ok(snapshot(proxy, &SNAPSHOT.into(), index, false)),
            When::Seconds(seconds) => {
                match proxy
                    .timing()
                    .and_then(|timing| timing.index_at(seconds, Wrap::Clamp))
                {
                    Some(key) => {
                        let nearest = if key.fraction < 0.5 { key.from } else { key.to };
                        Ok(snapshot(proxy, &SNAPSHOT.into(), nearest, true))
                    }
                    None => self.refused(
                        "the file does not store the times of snapshots: select one by its index"
                            .to_owned(),
                    ),
                }
            }
            When::Usual | When::Frame(_) => self.refused("cgeo files have no frames".to_owned()),
        }
    }

    /// The frame that is asked for, or the one that is nearest to the time.
    ///
    /// # Errors
    ///
    /// [`NotHeld`](Error::NotHeld) for a frame that the file does not have.
    pub fn frame(self, model: &Model) -> Result<Named> {
        let anim = self.anim(model)?;
        let number = match self.when {
            When::Frame(number) => number,
            When::Seconds(seconds) => {
                let Some((from, to, fraction)) = anim.frames_at(seconds, Format::USUAL_RATE) else {
                    return self.refused(format!("no frame at {seconds} s"));
                };
                (if fraction < 0.5 { from } else { to }) - anim.first_frame
            }
            When::Usual | When::Snapshot(_) => 0,
        };
        if number >= anim.num_frames {
            let name = shown(&anim.name);
            let count = anim.num_frames;
            return self.refused(format!(
                "no frame {number}: the animation {name} has {count}, counted from 0"
            ));
        }
        Ok(frame(&anim, &counted(&anim), number))
    }

    /// The animation that is asked for, or the first.
    ///
    /// # Errors
    ///
    /// [`NotHeld`](Error::NotHeld) if there is none.
    pub fn anim(self, model: &Model) -> Result<Anim> {
        let found = match self.anim {
            Some(name) => model.anims().find(|anim| anim.name == name.as_bytes()),
            None => model.anims().next(),
        };
        match (found, self.anim) {
            (Some(anim), _) => Ok(anim),
            (None, Some(name)) => {
                let names: Vec<String> = model
                    .anims()
                    .take(16)
                    .map(|anim| shown(&anim.name))
                    .collect();
                let names = if names.is_empty() {
                    "none".to_owned()
                } else {
                    names.join(", ")
                };
                self.refused(format!("no animation {name}: the file has {names}"))
            }
            (None, None) => self.refused("the file has no animation".to_owned()),
        }
    }

    /// Each `every`-th moment of an animated file; `None` if nothing is animated.
    ///
    /// # Errors
    ///
    /// [`NotHeld`](Error::NotHeld) for an animation that the file does not have, and [`LimitExceeded`](Error::LimitExceeded) for too many pictures.
    pub fn all(self, file: &MeshFile, every: usize, budget: &Budget) -> Result<Option<Run>> {
        let check = |count: usize, elements| {
            budget.check_pictures(count.div_ceil(every.max(1)) as u64, elements)
        };
        let (moments, rate) = match (file.as_cgeo(), file.as_iqm()) {
            (Some(proxy), _) if proxy.snapshot_count() > 1 => {
                check(proxy.snapshot_count(), 0)?;
                let counted = Arc::from(SNAPSHOT);
                let moments = (0..proxy.snapshot_count())
                    .step_by(every)
                    .map(|index| snapshot(proxy, &counted, index, false));
                let step = proxy.timing().map(|timing| timing.step());
                let step = step.filter(|step| *step > 0.0 && step.is_finite());
                (moments.collect(), step.map(|step| 1.0 / step))
            }
            (_, Some(model)) if model.anims().len() > 0 || self.anim.is_some() => {
                let anim = self.anim(model)?;
                if anim.num_frames == 0 || anim.frames().end > model.frames().len() {
                    return Ok(None);
                }
                // Bones that never move are one picture, however many frames say so.
                let is_one = model.meshes().len() == 0 && are_constant(model);
                let frames = if is_one { 1 } else { anim.num_frames };
                check(frames as usize, elements(model))?;
                let counted = counted(&anim);
                let moments = (0..frames)
                    .step_by(every)
                    .map(|number| frame(&anim, &counted, number));
                let has_rate = anim.framerate > 0.0 && anim.framerate.is_finite();
                (
                    moments.collect(),
                    has_rate.then(|| f64::from(anim.framerate)),
                )
            }
            _ => return Ok(None),
        };
        let delay = delay(rate.unwrap_or(Format::USUAL_RATE.into()), every);
        Ok(Some(Run {
            moments,
            delay,
            is_rate_assumed: rate.is_none(),
        }))
    }
}

/// `true` if the file has several snapshots, of which one has to be chosen.
pub fn has_many_snapshots(file: &MeshFile) -> bool {
    file.as_cgeo()
        .is_some_and(|proxy| proxy.snapshot_count() > 1)
}

/// Fails for a file that should have snapshots, and has none.
///
/// # Errors
///
/// [`NotHeld`](Error::NotHeld).
pub fn check_snapshots(file: &MeshFile, target: &'static str) -> Result<()> {
    match file.as_cgeo() {
        Some(proxy) if proxy.snapshot_count() == 0 => Err(Error::NotHeld {
            target,
            what: "the file has no snapshots".to_owned(),
        }),
        _ => Ok(()),
    }
}

/// `true` if all frames are the same, because they store nothing.
fn are_constant(model: &Model) -> bool {
    model.poses().all(|pose| pose.channelmask == 0)
}

/// Vertices, triangles and joints, or poses without joints. A joint counts as 128: it takes longest, and one that moves takes bytes in each frame.
fn elements(model: &Model) -> u64 {
    let joints = model
        .joints()
        .len()
        .max(model.poses().len())
        .saturating_mul(128);
    joints
        .saturating_add(model.vertex_count())
        .saturating_add(model.triangle_count()) as u64
}

/// The counted things of a proxy.
const SNAPSHOT: &str = "snapshot";

fn snapshot(proxy: &Proxy, counted: &Arc<str>, index: usize, is_nearest: bool) -> Named {
    let seconds = proxy.timing().map(|timing| timing.time_of(index));
    let name = Name {
        counted: Arc::clone(counted),
        number: index,
        seconds,
        is_nearest,
    };
    Named {
        moment: Moment::Snapshot(index),
        name: Some(name),
    }
}

/// The counted things of an animation: its name, and `frame`.
fn counted(anim: &Anim) -> Arc<str> {
    format!("{} frame", shown(&anim.name)).into()
}

fn frame(anim: &Anim, counted: &Arc<str>, number: u32) -> Named {
    let seconds = f64::from(number) / f64::from(anim.framerate);
    let name = Name {
        counted: Arc::clone(counted),
        number: number as usize,
        seconds: Some(seconds).filter(|seconds| seconds.is_finite() && *seconds >= 0.0),
        is_nearest: false,
    };
    Named {
        moment: Moment::Frame(anim.first_frame.saturating_add(number)),
        name: Some(name),
    }
}

/// `every / rate` as a fraction of small numbers.
fn delay(rate: f64, every: usize) -> [u16; 2] {
    let every = every as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "in their range"
    )]
    if rate.fract() == 0.0 && rate <= 60_000.0 && every <= 60_000.0 && rate >= 1.0 {
        return [every as u16, rate as u16];
    }
    let seconds = every / rate;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates: a minute is enough"
    )]
    if seconds < 60.0 {
        [(seconds * 1000.0 + 0.5) as u16, 1000]
    } else {
        [seconds as u16, 1]
    }
}

#[cfg(test)]
mod tests {
    use meshmap_testing::allocator::counted;
    use meshmap_testing::fixtures::iqm::Writer;
    use meshmap_testing::open;

    use super::*;

    #[test]
    fn frames_share_the_name_of_their_animation() {
        const LENGTH: usize = 60_000;
        let bytes = Writer::sheets(1, 2, 2)
            .frozen_as(&"a".repeat(LENGTH), 1, 1, 4000)
            .to_bytes();
        let file = open::file(bytes);
        let budget = Budget::unlimited();
        let finder = Finder {
            when: When::Usual,
            anim: None,
            target: "png",
        };
        let (run, count) = counted(|| finder.all(&file, 1, &budget).unwrap().unwrap());
        assert_eq!(run.moments.len(), 4000);
        assert!(count.total < 2_000_000, "{count:?}");
        // The shortened name has its length.
        let name = run.moments[3].name.as_ref().unwrap();
        assert!(
            name.to_string()
                .ends_with("aa.. (60000 bytes) frame 3 (0.125 s)"),
            "{name}"
        );
        assert_eq!(name.time(), "0.125 s");
    }

    #[test]
    fn delays_are_fractions_of_a_second() {
        assert_eq!(delay(24.0, 1), [1, 24]);
        assert_eq!(delay(25.0, 10), [10, 25]);
        assert_eq!(delay(29.97, 1), [33, 1000]);
        assert_eq!(delay(0.001, 1), [1000, 1]);
        assert_eq!(delay(1e-30, 1), [u16::MAX, 1]);
        assert_eq!(delay(1e30, 1), [0, 1000]);
    }
}
