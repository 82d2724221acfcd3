//! Joints without meshes, and the animations that move them, as UsdSkel has them.

use std::io::{Seek, Write};
use std::rc::Rc;

use meshmap::iqm::Trs;
use meshmap_job::{Change, Error, Result, Why};
use meshmap_scene::{Clip, FactKind, Joint};

use super::crate_file::CrateFile;
use super::prim::{Prim, Property, Token, Value};
use super::samples::times_of_stage;
use super::values::Rep;
use super::{Written, not_held};
use crate::names::Names;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::rig;
use crate::settings::Job;

const TARGET: &str = "usdc";

/// The prims of the skeleton, and of the joints in it.
const SKELETON: &str = "skeleton";
const JOINTS: &str = "joints";

/// Writes the joints of a file and its animations; `None` if the joints cannot be used, which is reported.
pub(super) fn write<W: Write + Seek>(
    plan: &Plan<'_>,
    root: &str,
    file: &mut CrateFile<'_, W>,
    outcome: &mut Outcome,
) -> Result<Option<Written>> {
    let job = plan.job;
    let Some(stored) = rig::skeleton(plan, outcome)? else {
        return Ok(None);
    };
    let joints = &stored.joints;
    let names: Rc<[Token]> = names(joints, file)?.into();
    job.budget
        .charge_for::<([f64; 16], [f64; 16], Trs)>(joints.len(), "joints")?;
    let local: Vec<[f64; 16]> = joints.iter().map(|joint| joint.rest.to_matrix()).collect();
    let bind = stored.bind_matrices();
    let tokens = || Value::Tokens(Rc::clone(&names));
    let shown = joints
        .iter()
        .map(|joint| Token::from(joint.name().into_owned()))
        .collect();
    let mut skeleton = Prim::new("Skeleton", JOINTS)
        .with(Property::uniform("joints", "token[]", tokens()))
        .with(Property::uniform(
            "jointNames",
            "token[]",
            Value::Tokens(shown),
        ))
        .with(Property::uniform(
            "bindTransforms",
            "matrix4d[]",
            Value::Stored(file.matrices(&bind)?),
        ))
        .with(Property::uniform(
            "restTransforms",
            "matrix4d[]",
            Value::Stored(file.matrices(&local)?),
        ));
    skeleton.fields.push((
        "apiSchemas",
        Value::Prepended(vec!["SkelBindingAPI".into()]),
    ));
    let mut prims = Names::with(&[JOINTS]);
    let (mut animations, mut rate, mut end) = (Vec::new(), None, 0.0_f64);
    let clips = rig::clips(plan, joints.len(), outcome)?;
    // All at once, before any is written: a few numbers can make many.
    let frames: u64 = clips.iter().map(|clip| clip.key_count() as u64).sum();
    // Three arrays of each frame, with their counts, their places in the file and in memory, and a time.
    const OF_FRAME: u64 = 80;
    let of_frame = (size_of::<Trs>().saturating_mul(joints.len()) as u64).saturating_add(OF_FRAME);
    job.budget
        .read(frames.saturating_mul(of_frame), "poses of all animations")?;
    for clip in clips {
        let _scope = job.budget.scope();
        // A time code is a frame of the first animation.
        let own_rate = rig::rate(&clip, job, outcome);
        let scale = *rate.get_or_insert(own_rate) / own_rate;
        let codes: Vec<f64> = clip.key_frames().map(|frame| frame * scale).collect();
        if !codes.is_sorted_by(|a, b| a < b) || codes.iter().any(|code| !code.is_finite()) {
            return Err(not_held(format!(
                "{own_rate} frames a second, whose times do not ascend"
            )));
        }
        let name = clip.name();
        let own = prims.add(&name, "animation");
        let mut prim = Prim::new("SkelAnimation", own)
            .displayed(&name)
            .with(Property::uniform("joints", "token[]", tokens()));
        file.charge_prim(name.len())?;
        end = codes.iter().copied().fold(end, f64::max);
        match poses(&clip, joints.len(), &codes, job, file, outcome) {
            Err(Error::NotHeld { .. }) => {
                outcome
                    .report
                    .leave_out(FactKind::Clips, Why::Sheared, name);
                continue;
            }
            moved => prim.properties.extend(moved?),
        }
        outcome.animations += 1;
        animations.push(prim);
    }
    if let Some(first) = animations.first() {
        let path = format!("/{root}/{SKELETON}/{}", first.name);
        skeleton
            .properties
            .push(Property::relationship("skel:animationSource", &path));
    }
    outcome.joints = joints.len() as u64;
    let mut prim = Prim::new("SkelRoot", SKELETON);
    prim.children.push(skeleton);
    prim.children.append(&mut animations);
    let times = rate.map_or_else(Vec::new, |rate| times_of_stage(end, rate));
    Ok(Some(Written { prim, times }))
}

/// The path of each joint below the first one, such as `hips/spine/head`.
fn names<W: Write + Seek>(joints: &[Joint], file: &CrateFile<'_, W>) -> Result<Vec<Token>> {
    /// The paths of 1,000 joints in chains of 100 take a third of it.
    const LONGEST: usize = 1 << 20;
    let mut own = Names::default();
    let mut names: Vec<Token> = Vec::with_capacity(joints.len());
    let mut length = 0_usize;
    for joint in joints {
        let name = own.add(&joint.name(), "joint");
        let parent = joint.parent.and_then(|parent| names.get(parent));
        // Deep hierarchies repeat the names of all parents.
        length = length.saturating_add(parent.map_or(0, |parent| parent.len()) + name.len());
        if length > LONGEST {
            return Err(not_held(format!(
                "joints whose paths take more than {LONGEST} bytes, each after its parents"
            )));
        }
        file.charge_prim(parent.map_or(0, |parent| parent.len()) + name.len())?;
        names.push(
            parent
                .map_or(name.clone(), |parent| format!("{parent}/{name}"))
                .into(),
        );
    }
    Ok(names)
}

/// The attributes that an animation moves: at each of its times, unless nothing changes.
fn poses<W: Write + Seek>(
    clip: &Clip,
    joints: usize,
    codes: &[f64],
    job: &Job<'_>,
    file: &mut CrateFile<'_, W>,
    outcome: &mut Outcome,
) -> Result<Vec<Property>> {
    let poses = rig::local_keys(clip, job, TARGET)?;
    if let Some(number) = poses
        .iter()
        .flat_map(|pose| pose.to_array())
        .find(|number| !number.is_finite())
    {
        return Err(not_held(format!("a joint has the number {number}")));
    }
    if clip.is_rebased() {
        let count = poses.len() as u64;
        outcome.report.change(Change::PosesRebased, count);
    }
    job.budget
        .charge_for::<[Rep; 3]>(codes.len(), "poses of all animations")?;
    let mut values: [Vec<Rep>; 3] = Default::default();
    let mut rounded = 0;
    for frame in poses.chunks(joints.max(1)) {
        let [translations, rotations, scales] = &mut values;
        translations.push(file.floats(frame.iter().map(|pose| pose.translate))?);
        rotations.push(file.quaternions(frame.iter().map(|pose| pose.rotate))?);
        let halves = frame.iter().map(|pose| pose.scale.map(half));
        rounded += halves
            .clone()
            .zip(frame)
            .filter(|(halves, pose)| halves.map(single) != pose.scale)
            .count();
        scales.push(file.halves(halves)?);
    }
    outcome.report.change(Change::ScalesRounded, rounded as u64);
    let times = file.times(codes.iter().copied())?;
    let is_still = poses
        .chunks(joints.max(1))
        .all(|frame| Some(frame) == poses.get(..joints));
    let names = [
        ("translations", "float3[]"),
        ("rotations", "quatf[]"),
        ("scales", "half3[]"),
    ];
    let mut properties = Vec::new();
    for ((name, kind), values) in names.into_iter().zip(values) {
        let mut property = Property::attribute(name, kind);
        if let Some(first) = values.first() {
            property = property.value(*first);
        }
        if !is_still {
            property = property.field(
                "timeSamples",
                Value::Stored(file.samples(times, values.into_iter())?),
            );
        }
        properties.push(property);
    }
    Ok(properties)
}

/// The nearest number of 16 bits; the largest one for what is beyond.
fn half(number: f32) -> u16 {
    /// From the exponents of 32 bits to the exponents of 16.
    const SHIFT: f32 = f32::from_bits((127 - 112) << 23);
    let sign = (number.to_bits() >> 16 & 0x8000) as u16;
    let bits = (number.abs().min(65_504.0) * SHIFT).to_bits();
    sign | ((bits + 0xfff + (bits >> 13 & 1)) >> 13) as u16
}

fn single(half: u16) -> f32 {
    const SHIFT: f32 = f32::from_bits((127 + 112) << 23);
    let magnitude = f32::from_bits(u32::from(half & 0x7fff) << 13) * SHIFT;
    if half & 0x8000 == 0 {
        magnitude
    } else {
        -magnitude
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_the_nearest() {
        for (number, bits) in [
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (0.1, 0x2e66),
            (65_504.0, 0x7bff),
            (1e9, 0x7bff),
            (6e-8, 1),
        ] {
            assert_eq!(half(number), bits, "{number}");
        }
        assert!((0..0x7c00).all(|bits| half(single(bits)) == bits));
    }
}
