//! The animations of a skeleton.
//!
//! Each is a prim below the skeleton. A skeleton is bound to one of them, and programs play only this one.

use std::io::{Seek, Write};
use std::rc::Rc;

use meshmap::iqm::Trs;
use meshmap_job::{Budget, Change, Error, Result, Why};
use meshmap_scene::{Clip, FactKind};

use super::crate_file::CrateFile;
use super::error::{TARGET, not_held};
use super::half::{half, single};
use super::prim::{Prim, Property, Token, Value};
use super::samples::{Clock, Samples, Track, constant, times_of_stage};
use super::values::Rep;
use crate::names::Names;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::rig;
use crate::settings::Job;

/// Animations, and the fields of the stage with the times of the first of them.
pub(super) struct Animations {
    /// The first is the one that is bound.
    pub(super) prims: Vec<Prim>,
    pub(super) times: Vec<(&'static str, Value)>,
}

/// Writes the animations for joints at these paths, which are in this order.
pub(super) fn write<W: Write + Seek>(
    order: &[usize],
    paths: &Rc<[Token]>,
    plan: &Plan<'_>,
    file: &mut CrateFile<'_, W>,
    outcome: &mut Outcome,
) -> Result<Animations> {
    let job = plan.job;
    let mut clips = rig::clips(plan, paths.len(), outcome)?;
    put_bound_first(&mut clips, job.anim.as_deref());
    charge_frames(&clips, paths.len(), &job.budget)?;
    let mut names = Names::default();
    let mut all = Animations {
        prims: Vec::new(),
        times: Vec::new(),
    };
    let mut bound_rate = None;
    for clip in clips {
        let _scope = job.budget.scope();
        let Some(poses) = usable_keys(&clip, job, outcome)? else {
            continue;
        };
        let name = clip.name();
        let rate = rig::rate(&clip, job, outcome);
        let mut clock = clock_of(&clip, rate, *bound_rate.get_or_insert(rate))?;
        if all.prims.is_empty() {
            all.times = times_of_stage(clock.last(), rate);
        } else {
            let change = Change::ClipsNotBound;
            outcome.report.change_at(change, 1, || name.to_string());
        }
        if clip.is_rebased() {
            let count = poses.len() as u64;
            outcome.report.change(Change::PosesRebased, count);
        }
        job.budget
            .charge_for::<[Rep; 3]>(clock.count(), "poses of all animations")?;
        // A key, and the key before it.
        job.budget
            .charge_for::<(&Trs, Trs)>(paths.len(), "joints of a frame")?;
        let moved = Moved::write(&poses, order, file, outcome)?;
        file.charge_prim(name.len())?;
        let joints = Value::Tokens(Rc::clone(paths));
        let mut prim = Prim::new("SkelAnimation", names.add(&name, "animation"))
            .displayed(&name)
            .with(Property::uniform("joints", "token[]", joints));
        prim.properties.extend(moved.properties(&mut clock, file)?);
        outcome.animations += 1;
        all.prims.push(prim);
    }
    Ok(all)
}

/// The keys of an animation; `None` if it cannot be written, which is reported.
fn usable_keys(clip: &Clip, job: &Job<'_>, outcome: &mut Outcome) -> Result<Option<Vec<Trs>>> {
    let mut why = Why::Sheared;
    match rig::local_keys(clip, job, TARGET) {
        Err(Error::NotHeld { .. }) => {}
        Err(error) => return Err(error),
        Ok(poses) => {
            let mut numbers = poses.iter().flat_map(|pose| pose.to_array());
            if numbers.all(f32::is_finite) {
                return Ok(Some(poses));
            }
            why = Why::NotFinite;
        }
    }
    let report = &mut outcome.report;
    report.leave_out(FactKind::Clips, why, clip.name());
    Ok(None)
}

/// The time codes of the keys of an animation: a code is a frame of the animation that is bound.
fn clock_of(clip: &Clip, rate: f64, bound_rate: f64) -> Result<Clock> {
    let codes_a_frame = bound_rate / rate;
    let codes = clip.key_frames().map(|frame| frame * codes_a_frame);
    let codes: Vec<f64> = codes.collect();
    if codes.is_sorted_by(|a, b| a < b) && codes.iter().all(|code| code.is_finite()) {
        return Ok(Clock::new(codes));
    }
    Err(not_held(format!(
        "{rate} frames a second, whose times do not ascend"
    )))
}

/// Charges the frames of all animations, before any is written: a few numbers can make many.
fn charge_frames(clips: &[Clip], joints: usize, budget: &Budget) -> Result<()> {
    /// Three arrays of each frame, with their counts, their places in the file and in memory, and a time.
    const OF_FRAME: u64 = 80;
    let mut frames: u64 = 0;
    for clip in clips {
        frames = frames.saturating_add(clip.key_count() as u64);
    }
    let of_joints = size_of::<Trs>().saturating_mul(joints) as u64;
    let of_frame = of_joints.saturating_add(OF_FRAME);
    budget.read(frames.saturating_mul(of_frame), "poses of all animations")
}

/// Puts the animation of this name before the others.
fn put_bound_first(clips: &mut [Clip], name: Option<&str>) {
    let Some(name) = name else { return };
    if let Some(bound) = clips.iter().position(|clip| clip.name() == name)
        && let Some(until) = clips.get_mut(..=bound)
    {
        until.rotate_right(1);
    }
}

/// The arrays that an animation moves, key by key.
#[derive(Default)]
struct Moved {
    translations: Track<3>,
    rotations: Track<4>,
    /// As they were before they were rounded.
    scales: Track<3>,
}

impl Moved {
    /// Writes the poses of all keys, of which each has a pose for each joint.
    fn write<W: Write + Seek>(
        poses: &[Trs],
        order: &[usize],
        file: &mut CrateFile<'_, W>,
        outcome: &mut Outcome,
    ) -> Result<Self> {
        let mut moved = Self::default();
        let mut rounded = 0;
        for (key, stored) in poses.chunks(order.len().max(1)).enumerate() {
            let frame = Vec::from_iter(order.iter().filter_map(|joint| stored.get(*joint)));
            let translations = || frame.iter().map(|pose| pose.translate);
            let rotations = || frame.iter().map(|pose| pose.rotate);
            let scales = || frame.iter().map(|pose| pose.scale);
            moved
                .translations
                .set(key, translations, |values| file.floats(values))?;
            moved
                .rotations
                .set(key, rotations, |values| file.quaternions(values))?;
            moved.scales.set(key, scales, |values| {
                file.halves(values.map(|scale| scale.map(half)))
            })?;
            let is_rounded = |scale: &[f32; 3]| scale.map(half).map(single) != *scale;
            rounded += scales().filter(is_rounded).count();
        }
        outcome.report.change(Change::ScalesRounded, rounded as u64);
        Ok(moved)
    }

    /// The attributes: at each key, unless nothing changes.
    fn properties<W: Write + Seek>(
        self,
        clock: &mut Clock,
        file: &mut CrateFile<'_, W>,
    ) -> Result<[Property; 3]> {
        let mut add = |name, kind, samples: &Samples| {
            let property = Property::attribute(name, kind);
            if samples.is_constant() {
                return Ok(constant(property, samples));
            }
            clock.each(property, samples, file)
        };
        Ok([
            add("translations", "float3[]", &self.translations.samples)?,
            add("rotations", "quatf[]", &self.rotations.samples)?,
            add("scales", "half3[]", &self.scales.samples)?,
        ])
    }
}
