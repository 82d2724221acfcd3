//! Which moment of a file is drawn.

use meshmap::cgeo::{Proxy, Wrap};
use meshmap::iqm::{Anim, Model};
use meshmap::{Format, MeshFile};

use super::{Render, When};
use crate::error::{Error, Result};

/// What stands still is drawn as.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Moment {
    /// As it is stored: what does not move, and the bind pose.
    Stored,
    Snapshot(usize),
    /// A frame, counted over all animations.
    Frame(u32),
}

/// A moment, and how it is called.
pub(super) struct Named {
    pub(super) moment: Moment,
    /// Empty for what does not move.
    pub(super) name: String,
}

/// Moments that follow each other, as fast as this.
pub(super) struct Run {
    pub(super) moments: Vec<Named>,
    /// From one to the next, as a fraction of a second.
    pub(super) delay: [u16; 2],
    pub(super) is_rate_assumed: bool,
}

fn refused<T>(what: String) -> Result<T> {
    Err(Error::NotHeld { target: "png", what })
}

/// The moment that is asked for.
pub(super) fn one(file: &MeshFile, render: &Render) -> Result<Named> {
    let stored = Named { moment: Moment::Stored, name: String::new() };
    match (file, &render.when) {
        (MeshFile::CGeo(proxy), When::Usual) if proxy.len() > 1 && render.meshes.is_empty() => {
            Ok(snapshot(proxy, 0, false))
        }
        (_, When::Usual) if render.anim.is_none() => Ok(stored),
        (MeshFile::CGeo(proxy), When::Snapshot(index)) => match *index < proxy.len() {
            true => Ok(snapshot(proxy, *index, false)),
            false => refused(format!("no snapshot {index}: the file has {}, counted from 0", proxy.len())),
        },
        (MeshFile::CGeo(proxy), When::Seconds(seconds)) => {
            let Some(key) = proxy.timing().and_then(|timing| timing.index_at(*seconds, Wrap::Clamp)) else {
                return refused(
                    "the file does not say how long a snapshot takes: name it by its number".to_owned(),
                );
            };
            let nearest = if key.fraction < 0.5 { key.from } else { key.to };
            Ok(snapshot(proxy, nearest, true))
        }
        (MeshFile::Iqm(model), When::Usual | When::Frame(_) | When::Seconds(_)) => {
            let anim = anim(model, render)?;
            let number = match &render.when {
                When::Frame(number) => *number,
                When::Seconds(seconds) => {
                    let Some((from, to, fraction)) = anim.frames_at(*seconds, USUAL_RATE) else {
                        return refused(format!("no frame at {seconds} s"));
                    };
                    (if fraction < 0.5 { from } else { to }) - anim.first_frame
                }
                _ => 0,
            };
            if number >= anim.num_frames {
                let (name, count) = (anim.name.to_string_lossy(), anim.num_frames);
                return refused(format!(
                    "no frame {number}: the animation {name} has {count}, counted from 0"
                ));
            }
            Ok(frame(&anim, number))
        }
        (file, When::Snapshot(_)) => refused(format!("{} files have no snapshots", file.format())),
        (file, _) => refused(format!("{} files have no frames", file.format())),
    }
}

/// Frames a second where a file does not say it.
const USUAL_RATE: f32 = 24.0;

/// Each `every`-th moment of what moves; `None` where nothing does.
pub(super) fn all(file: &MeshFile, render: &Render) -> Result<Option<Run>> {
    match file {
        MeshFile::CGeo(proxy) if proxy.len() > 1 => {
            let step =
                proxy.timing().map(|timing| timing.step()).filter(|step| *step > 0.0 && step.is_finite());
            let moments = (0..proxy.len()).step_by(render.every).map(|index| snapshot(proxy, index, false));
            let rate = step.map_or(USUAL_RATE.into(), |step| 1.0 / step);
            let delay = delay(rate, render.every);
            Ok(Some(Run { moments: moments.collect(), delay, is_rate_assumed: step.is_none() }))
        }
        MeshFile::Iqm(model) if model.anims().len() > 0 || render.anim.is_some() => {
            let anim = anim(model, render)?;
            if anim.num_frames == 0 || anim.frames().end > model.frames().len() {
                return Ok(None);
            }
            let moments = (0..anim.num_frames).step_by(render.every).map(|number| frame(&anim, number));
            let has_rate = anim.framerate > 0.0 && anim.framerate.is_finite();
            let rate = f64::from(if has_rate { anim.framerate } else { USUAL_RATE });
            let delay = delay(rate, render.every);
            Ok(Some(Run { moments: moments.collect(), delay, is_rate_assumed: !has_rate }))
        }
        _ => Ok(None),
    }
}

/// The animation that is asked for, or the first.
fn anim(model: &Model, render: &Render) -> Result<Anim> {
    let found = match &render.anim {
        Some(name) => model.anim(name),
        None => model.anims().next(),
    };
    match (found, &render.anim) {
        (Some(anim), _) => Ok(anim),
        (None, Some(name)) => {
            let names: Vec<String> =
                model.anims().take(16).map(|anim| anim.name.to_string_lossy().into_owned()).collect();
            refused(format!(
                "no animation {name}: the file has {}",
                if names.is_empty() { "none".to_owned() } else { names.join(", ") }
            ))
        }
        (None, None) => refused("the file has no animation".to_owned()),
    }
}

fn snapshot(proxy: &Proxy, index: usize, is_nearest: bool) -> Named {
    let time = proxy.timing().map(|timing| timing.time_of(index));
    let nearest = if is_nearest { ", nearest" } else { "" };
    let time = time.map_or_else(String::new, |time| format!(" ({time:.3} s{nearest})"));
    Named { moment: Moment::Snapshot(index), name: format!("snapshot {index}{time}") }
}

fn frame(anim: &Anim, number: u32) -> Named {
    let seconds = f64::from(number) / f64::from(anim.framerate);
    let time =
        if seconds.is_finite() && seconds >= 0.0 { format!(" ({seconds:.3} s)") } else { String::new() };
    let name = format!("{} frame {number}{time}", anim.name.to_string_lossy());
    Named { moment: Moment::Frame(anim.first_frame.saturating_add(number)), name }
}

/// `every / rate` as a fraction of small numbers.
fn delay(rate: f64, every: usize) -> [u16; 2] {
    let every = every as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in their range")]
    if rate.fract() == 0.0 && rate <= 60_000.0 && every <= 60_000.0 && rate >= 1.0 {
        return [every as u16, rate as u16];
    }
    let seconds = every / rate;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates: a minute is enough"
    )]
    if seconds < 60.0 { [(seconds * 1000.0 + 0.5) as u16, 1000] } else { [seconds as u16, 1] }
}

/// The axis that files of a format mean, where they say nothing.
pub(super) fn usual_up(format: Format) -> (meshmap::Axis, &'static str) {
    match format {
        // 3ds Max, from which most of these files come, has Z up.
        Format::CGeo => (meshmap::Axis::Z, "Z"),
        _ => (meshmap::Axis::Y, "Y"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
