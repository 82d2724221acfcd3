//! The animations of a skeleton.
//!
//! Each is a prim below the skeleton. A skeleton is bound to one of them, and programs play only this one.

use std::io::{Seek, Write};
use std::rc::Rc;

use meshmap::iqm::Trs;
use meshmap_job::{Change, Error, Result, Why};
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
    // All at once, before any is written: a few numbers can make many.
    let frames: u64 = clips.iter().map(|clip| clip.key_count() as u64).sum();
    // Three arrays of each frame, with their counts, their places in the file and in memory, and a time.
    const OF_FRAME: u64 = 80;
    let of_frame = (size_of::<Trs>().saturating_mul(paths.len()) as u64).saturating_add(OF_FRAME);
    job.budget
        .read(frames.saturating_mul(of_frame), "poses of all animations")?;
    let mut names = Names::default();
    let mut all = Animations {
        prims: Vec::new(),
        times: Vec::new(),
    };
    let mut rate = None;
    for clip in clips {
        let _scope = job.budget.scope();
        let name = clip.name();
        let poses = match rig::local_keys(&clip, job, TARGET) {
            Err(Error::NotHeld { .. }) => {
                let report = &mut outcome.report;
                report.leave_out(FactKind::Clips, Why::Sheared, name);
                continue;
            }
            poses => poses?,
        };
        let mut numbers = poses.iter().flat_map(|pose| pose.to_array());
        if numbers.any(|number| !number.is_finite()) {
            let report = &mut outcome.report;
            report.leave_out(FactKind::Clips, Why::NotFinite, name);
            continue;
        }
        // A time code is a frame of the animation that is bound.
        let own_rate = rig::rate(&clip, job, outcome);
        let codes_a_frame = *rate.get_or_insert(own_rate) / own_rate;
        let codes: Vec<f64> = clip
            .key_frames()
            .map(|frame| frame * codes_a_frame)
            .collect();
        if !codes.is_sorted_by(|a, b| a < b) || codes.iter().any(|code| !code.is_finite()) {
            return Err(not_held(format!(
                "{own_rate} frames a second, whose times do not ascend"
            )));
        }
        file.charge_prim(name.len())?;
        let mut prim = Prim::new("SkelAnimation", names.add(&name, "animation"))
            .displayed(&name)
            .with(Property::uniform(
                "joints",
                "token[]",
                Value::Tokens(Rc::clone(paths)),
            ));
        let mut clock = Clock::new(codes);
        if all.prims.is_empty() {
            all.times = times_of_stage(clock.last(), own_rate);
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
        prim.properties.extend(moved.properties(&mut clock, file)?);
        outcome.animations += 1;
        all.prims.push(prim);
    }
    Ok(all)
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
