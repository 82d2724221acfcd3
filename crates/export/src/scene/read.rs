//! Numbers of attributes, as they are written.

use meshmap::{Attribute, MeshView, Semantic};

use super::check::{finite, usable};
use super::pose::{Kind, Pose};
use crate::error::Result;
use crate::outcome::Outcome;
use crate::settings::Job;

/// The positions of a mesh as floats, all finite, in a pose if there is one; none if the mesh has no positions.
pub(crate) fn positions(
    view: &MeshView,
    pose: Option<&Pose>,
    job: &Job<'_>,
    outcome: &mut Outcome,
) -> Result<Vec<[f32; 3]>> {
    let Some(attribute) = view.attribute(&Semantic::Position)? else {
        return Ok(Vec::new());
    };
    let mut values = floats(&attribute, job)?;
    drop(attribute);
    let address = || format!("{}.{}", view.address(), Semantic::Position);
    finite(&mut values, address, job, outcome)?;
    if let Some(pose) = pose {
        pose.apply_to(view, Kind::Point, &mut values, &job.budget)?;
        if !pose.is_frame() && view.has(&Semantic::Weights(0)) {
            outcome.change(
                "vertices, now in the bind shape of the skin",
                values.len() as u64,
            );
        }
        finite(
            &mut values,
            || format!("{} in its pose", address()),
            job,
            outcome,
        )?;
    }
    job.turn_numbers(&mut values);
    Ok(values)
}

/// The numbers of another attribute as floats, in a pose if there is one. `None` if one of them is not finite, in which case
/// the mesh is written without the attribute.
pub(crate) fn optional<const N: usize>(
    view: &MeshView,
    attribute: &Attribute,
    pose: Option<&Pose>,
    job: &Job<'_>,
    outcome: &mut Outcome,
) -> Result<Option<Vec<[f32; N]>>> {
    let mut values = floats(attribute, job)?;
    let address = || format!("{}.{}", view.address(), attribute.semantic());
    if !usable(&mut values, address, job, outcome)? {
        return Ok(None);
    }
    if let Some(kind) = Kind::of(attribute.semantic()) {
        if let Some(pose) = pose {
            // Directions stay finite: they are made to have unit length, or none.
            pose.apply_to(view, kind, &mut values, &job.budget)?;
        }
        job.turn_numbers(&mut values);
    }
    Ok(Some(values))
}

fn floats<const N: usize>(attribute: &Attribute, job: &Job<'_>) -> Result<Vec<[f32; N]>> {
    job.budget
        .charge_for::<[f32; N]>(attribute.len(), "numbers of an attribute")?;
    Ok(attribute.to_f32::<N>())
}
