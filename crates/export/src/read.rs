//! Numbers of attributes, as they are written.

use meshmap::{Attribute, MeshView, Semantic};

use crate::check::finite;
use crate::convert::Convert;
use crate::error::Result;
use crate::outcome::Outcome;
use crate::pose::{Kind, Pose};

/// The numbers of an attribute as floats, all finite, in a pose where there is one.
pub(crate) fn array<const N: usize>(
    view: &MeshView,
    attribute: &Attribute,
    pose: Option<&Pose>,
    convert: &Convert,
    outcome: &mut Outcome,
) -> Result<Vec<[f32; N]>> {
    let mut values = attribute.to_f32::<N>();
    let address = || format!("{}.{}", view.address(), attribute.semantic());
    finite(&mut values, address, convert, outcome)?;
    if let (Some(pose), Some(kind)) = (pose, Kind::of(attribute.semantic()))
        && let (Some(joints), Some(weights)) =
            (view.attribute(&Semantic::Joints(0))?, view.attribute(&Semantic::Weights(0))?)
    {
        pose.apply(kind, (&joints.to_f32(), &weights.to_f32()), &mut values);
        finite(&mut values, || format!("{} in its pose", address()), convert, outcome)?;
    }
    Ok(values)
}
