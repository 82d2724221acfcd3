//! Shapes that follow the joints of a skeleton.

use std::io::{Seek, Write};

use meshmap::Influences;
use meshmap_job::{Budget, Result};
use meshmap_scene::Shape;
use meshmap_scene::matrix::IDENTITY;

use super::crate_file::CrateFile;
use super::prim::{Prim, Property, Value};
use super::skeleton::Rig;
use crate::outcome::Outcome;
use crate::rig;

/// Binds the vertices of a shape to the joints that they follow, if they do.
pub(super) fn bind<W: Write + Seek>(
    prim: &mut Prim,
    shape: &Shape,
    to: &mut Rig,
    file: &mut CrateFile<'_, W>,
    outcome: &mut Outcome,
) -> Result<()> {
    let influences = rig::influences(shape, &to.skeleton, &file.budget, outcome)?;
    let Some(influences) = influences else {
        return Ok(());
    };
    to.is_followed = true;
    to.has_rest |= influences.resting > 0;
    match most_joints(&influences) {
        1 => add_influences::<1, W>(prim, &influences, to, file)?,
        2 => add_influences::<2, W>(prim, &influences, to, file)?,
        3 => add_influences::<3, W>(prim, &influences, to, file)?,
        _ => add_influences::<4, W>(prim, &influences, to, file)?,
    }
    // Positions are in the bind pose.
    let transform = Value::Stored(file.matrix(&IDENTITY)?);
    let bound = Property::attribute("primvars:skel:geomBindTransform", "matrix4d");
    prim.properties.push(bound.field("default", transform));
    let skeleton = Property::relationship("skel:skeleton", &to.path);
    prim.properties.push(skeleton);
    prim.apply("SkelBindingAPI");
    Ok(())
}

/// The number of joints of the vertex that has the most of them.
fn most_joints(influences: &Influences) -> usize {
    let mut most = 1;
    for weights in &influences.weights {
        let last = weights.iter().rposition(|weight| *weight > 0.0);
        most = most.max(last.map_or(0, |last| last + 1));
    }
    most
}

/// Adds the first `N` joints and weights of each vertex.
fn add_influences<const N: usize, W: Write + Seek>(
    prim: &mut Prim,
    influences: &Influences,
    to: &Rig,
    file: &mut CrateFile<'_, W>,
) -> Result<()> {
    let places = places_of(&to.order, &file.budget)?;
    let joints = influences.joints.iter().map(|joints| {
        first::<N, _>(joints).map(|joint| {
            // The joint that rests is the last one.
            let place = places.get(usize::from(joint)).copied();
            place.unwrap_or(joint.into())
        })
    });
    let joints = file.flat_ints(joints)?;
    let weights = influences.weights.iter();
    let weights = file.flat_floats(weights.map(first::<N, _>))?;
    for (name, kind, values) in [
        ("primvars:skel:jointIndices", "int[]", joints),
        ("primvars:skel:jointWeights", "float[]", weights),
    ] {
        let property = Property::attribute(name, kind)
            .value(values)
            .interpolated("vertex")
            .field("elementSize", Value::Int(N as u32));
        prim.properties.push(property);
    }
    Ok(())
}

fn first<const N: usize, T: Copy + Default>(four: &[T; 4]) -> [T; N] {
    std::array::from_fn(|place| four.get(place).copied().unwrap_or_default())
}

/// The place in the order of writing of each joint.
fn places_of(order: &[usize], budget: &Budget) -> Result<Vec<i32>> {
    let mut places: Vec<i32> = budget.collect(order.iter().map(|_| 0), "joints")?;
    for (place, joint) in (0..).zip(order) {
        if let Some(of_joint) = places.get_mut(*joint) {
            *of_joint = place;
        }
    }
    Ok(places)
}
