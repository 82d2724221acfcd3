//! Numbers of attributes, as they are written.

use meshmap::{MeshView, Semantic};
use meshmap_job::{Change, Result};
use meshmap_scene::{Buffer, FactKind, Pose, Stream, VectorKind};

use crate::check::{finite, usable};
use crate::outcome::Outcome;
use crate::plan::Plan;

/// Removes the [unusable](unusable_streams) streams: with their own corners, they would make vertices.
pub(crate) fn remove_non_finite(
    buffer: &mut Buffer,
    plan: &Plan<'_>,
    outcome: &mut Outcome,
) -> Result<()> {
    let unusable = unusable_streams(buffer, plan, outcome)?;
    buffer.retain_streams(|stream| !unusable.contains(stream.semantic()));
    Ok(())
}

/// The streams that are decoded and have NaN or infinite numbers, which is reported; fails if they are positions. Streams that are not
/// decoded are checked when they are written.
pub(crate) fn unusable_streams(
    buffer: &mut Buffer,
    plan: &Plan<'_>,
    outcome: &mut Outcome,
) -> Result<Vec<Semantic>> {
    let mut unusable = Vec::new();
    for stream in buffer.streams_mut() {
        let semantic = stream.semantic().clone();
        let address = stream.address();
        let Some(floats) = stream.floats_mut() else {
            continue;
        };
        if semantic == Semantic::Position {
            finite(floats, || address.clone(), plan.job, outcome)?;
        } else if !usable(
            floats,
            kind_of(&semantic),
            || address.clone(),
            plan.job,
            outcome,
        )? {
            unusable.push(semantic);
        }
    }
    Ok(unusable)
}

/// The positions of a stream as floats, all finite, in the pose if there is one.
pub(crate) fn positions(
    stream: &Stream,
    plan: &Plan<'_>,
    outcome: &mut Outcome,
) -> Result<Vec<[f32; 3]>> {
    positions_in(stream, plan.scene.pose(), plan, outcome)
}

/// Like [`positions`], in this pose.
pub(crate) fn positions_in(
    stream: &Stream,
    pose: Option<&Pose>,
    plan: &Plan<'_>,
    outcome: &mut Outcome,
) -> Result<Vec<[f32; 3]>> {
    let mut values = floats(stream, plan)?;
    finite(&mut values, || stream.address(), plan.job, outcome)?;
    if let Some(pose) = pose
        && let Some(view) = stream.view()
    {
        move_values(pose, view, VectorKind::Point, &mut values, plan)?;
        if !pose.is_frame() && view.has(&Semantic::Weights(0)) {
            let count = values.len() as u64;
            outcome.report.change(Change::BindShapeApplied, count);
        }
        let address = || format!("{} in its pose", stream.address());
        finite(&mut values, address, plan.job, outcome)?;
    }
    plan.place(&mut values, || stream.address(), outcome)?;
    Ok(values)
}

/// The numbers of another attribute as floats, in the pose if there is one. `None` if one of them is not finite, in which case the mesh is
/// written without the attribute.
pub(crate) fn optional<const N: usize>(
    stream: &Stream,
    plan: &Plan<'_>,
    outcome: &mut Outcome,
) -> Result<Option<Vec<[f32; N]>>> {
    optional_in(stream, plan.scene.pose(), plan, outcome)
}

/// Like [`optional`], in this pose.
pub(crate) fn optional_in<const N: usize>(
    stream: &Stream,
    pose: Option<&Pose>,
    plan: &Plan<'_>,
    outcome: &mut Outcome,
) -> Result<Option<Vec<[f32; N]>>> {
    let mut values = floats(stream, plan)?;
    let kind = kind_of(stream.semantic());
    if !usable(&mut values, kind, || stream.address(), plan.job, outcome)? {
        return Ok(None);
    }
    if let Some(kind) = VectorKind::of(stream.semantic()) {
        if let Some(pose) = pose
            && let Some(view) = stream.view()
        {
            // Directions stay finite: they are made to have unit length, or none.
            move_values(pose, view, kind, &mut values, plan)?;
        }
        plan.turn_directions(&mut values);
    }
    Ok(Some(values))
}

/// The kind of an attribute in reports.
pub(crate) fn kind_of(semantic: &Semantic) -> FactKind {
    FactKind::of(semantic).unwrap_or(FactKind::Shapes)
}

/// Reports the texture coordinates whose third number is not 0, for targets that have two.
pub(crate) fn count_third_coordinates(
    stream: &Stream,
    plan: &Plan<'_>,
    outcome: &mut Outcome,
) -> Result<()> {
    let count = third_coordinates(stream, plan)?;
    report_third_coordinates(count, stream, outcome);
    Ok(())
}

/// The number of texture coordinates whose third number is not 0.
pub(crate) fn third_coordinates(stream: &Stream, plan: &Plan<'_>) -> Result<usize> {
    if stream.format().components < 3 {
        return Ok(0);
    }
    let has_third = |coordinates: &&[f32; 3]| coordinates[2] != 0.0;
    Ok(match stream.floats() {
        Some(floats) => floats.iter().filter(has_third).count(),
        None => {
            let _scope = plan.job.budget.scope();
            floats::<3>(stream, plan)?.iter().filter(has_third).count()
        }
    })
}

pub(crate) fn report_third_coordinates(count: usize, stream: &Stream, outcome: &mut Outcome) {
    let change = Change::ThirdTexCoordLost;
    let report = &mut outcome.report;
    report.change_at(change, count as u64, || stream.address());
}

fn move_values<const N: usize>(
    pose: &Pose,
    view: &MeshView,
    kind: VectorKind,
    values: &mut [[f32; N]],
    plan: &Plan<'_>,
) -> Result<()> {
    let budget = &plan.job.budget;
    let _scope = budget.scope();
    budget.charge_for::<[f32; 14]>(values.len(), "joints and weights")?;
    Ok(pose.apply_to(view, kind, values)?)
}

fn floats<const N: usize>(stream: &Stream, plan: &Plan<'_>) -> Result<Vec<[f32; N]>> {
    plan.job
        .budget
        .charge_for::<[f32; N]>(stream.len(), "numbers of an attribute")?;
    Ok(stream.to_f32()?)
}
