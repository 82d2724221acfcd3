//! Numbers of attributes, as they are written.

use meshmap::{Attribute, MeshView, Semantic};

use crate::error::Result;
use crate::outcome::Outcome;
use crate::pose::{Kind, Pose};
use crate::settings::Job;
use crate::source::check::finite;

/// The numbers of an attribute as floats, all finite, in a pose if there is one.
pub(crate) fn array<const N: usize>(
    view: &MeshView,
    attribute: &Attribute,
    pose: Option<&Pose>,
    job: &Job<'_>,
    outcome: &mut Outcome,
) -> Result<Vec<[f32; N]>> {
    let budget = &job.budget;
    budget.charge_for::<[f32; N]>(attribute.len(), "numbers of an attribute")?;
    let mut values = attribute.to_f32::<N>();
    let address = || format!("{}.{}", view.address(), attribute.semantic());
    finite(&mut values, address, job, outcome)?;
    if let (Some(pose), Some(kind)) = (pose, Kind::of(attribute.semantic()))
        && let (Some(joints), Some(weights)) =
            (view.attribute(&Semantic::Joints(0))?, view.attribute(&Semantic::Weights(0))?)
    {
        let _scope = budget.scope();
        budget.charge_for::<[f32; 8]>(values.len(), "joints and weights")?;
        pose.apply(kind, (&joints.to_f32(), &weights.to_f32()), &mut values);
        finite(&mut values, || format!("{} in its pose", address()), job, outcome)?;
    }
    Ok(values)
}
