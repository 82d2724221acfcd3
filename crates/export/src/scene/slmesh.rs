//! Second Life meshes: faces, their levels of detail, the bind shape, and joints.

use std::collections::HashSet;

use meshmap::slmesh::{Asset, BindShape, BoundJoint, Lod, Skin};
use meshmap::{ErrorKind, Role, Segment};

use super::Mesh;
use super::names::listed;
use super::pose::Pose;
use super::rig::{Joint, Place, Rig, Skeleton, counted_joints};
use crate::error::Result;
use crate::matrix::IDENTITY;
use crate::outcome::{Outcome, Report};
use crate::settings::{Job, Lods};

/// The memory of a joint: its name and its matrices.
const OF_JOINT: u64 = 640;

/// The levels of detail that are written: an asset without its finest level has another one, which is better than none.
pub(super) fn levels(asset: &Asset, wanted: Lods, report: &mut impl Report) -> Lods {
    let is_there = |level: &(u32, Lod)| matches!(asset.lod_range(level.1), Ok(Some(_)));
    let levels: Vec<(u32, Lod)> = (0..).zip(Lod::ALL).filter(is_there).collect();
    let finest = levels.first().map_or(0, |(level, _)| *level);
    let taken = if wanted == Lods::Finest {
        Lods::Only(finest)
    } else {
        wanted
    };
    for (level, lod) in levels {
        if taken != Lods::All && taken != Lods::Only(level) {
            report.skips(format!("the level of detail {}", lod.name()));
        }
    }
    let is_physics = |name: &str| name.starts_with("physics");
    if asset.entries().any(|entry| {
        is_physics(&entry.name().to_string_lossy()) && matches!(entry.range(), Ok(Some(_)))
    }) {
        report.skips("geometry for physics".to_owned());
    }
    taken
}

/// Names faces by their numbers, as their materials are, and counts a coarser one as a level of the first with its number.
pub(super) fn name_faces(meshes: &mut [Mesh]) {
    let mut finer = HashSet::new();
    for mesh in meshes {
        let number = match mesh.view.address().segments() {
            [.., Segment::Index(number)] => usize::try_from(*number).unwrap_or_default(),
            _ => 0,
        };
        let material = format!("face_{number}");
        let is_coarser = mesh.view.triangle_count() > 0 && !finer.insert(number);
        mesh.own_name = Some(match mesh.view.role() {
            Role::Lod(level) if is_coarser => format!("{material}_lod{level}"),
            _ => material.clone(),
        });
        mesh.material = Some(material);
        mesh.object = Some(number);
    }
}

/// The skin; `None` if it is damaged, without which the geometry is complete.
fn skin(asset: &Asset) -> Result<Option<Option<Skin>>> {
    match asset.skin() {
        Ok(skin) => Ok(Some(skin)),
        Err(error) if matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Truncated) => {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// The bind shape, unless it changes nothing.
///
/// The viewer applies it to all faces with weights before their joints. Without it, an avatar is as small as the domain of
/// its positions.
pub(super) fn bind_shape(asset: &Asset, report: &mut impl Report) -> Result<Option<Pose>> {
    let Some(skin) = skin(asset)? else {
        report.lacks("the bind shape of the skin, which cannot be decoded".to_owned());
        return Ok(None);
    };
    let Some(skin) = skin else { return Ok(None) };
    if let Some(number) = skin
        .bind_shape_matrix
        .iter()
        .flatten()
        .find(|number| !number.is_finite())
    {
        report.lacks(format!(
            "the bind shape of the skin, which has the number {number}"
        ));
    }
    let shape = skin.bind_shape();
    if shape.as_ref().is_some_and(BindShape::mirrors) {
        report.note(
            "the bind shape of the skin is a mirror image: triangles may look inside out"
                .to_owned(),
        );
    }
    Ok(shape.map(Pose::BindShape))
}

/// The joints of an asset that has a skin.
pub(super) fn rig(asset: &Asset) -> Option<Box<dyn Rig>> {
    let count = match asset.skin() {
        Ok(None) => return None,
        Ok(Some(skin)) => skin.joint_names.map_or(0, |names| names.len()),
        // Targets that have joints report the damage.
        Err(_) => 0,
    };
    Some(Box::new(Joints {
        asset: asset.clone(),
        count,
    }))
}

struct Joints {
    asset: Asset,
    /// 0 if the joints cannot be read.
    count: usize,
}

impl Rig for Joints {
    fn parts(&self) -> Vec<String> {
        match self.count {
            0 => vec!["the skin".to_owned()],
            count => vec![format!("the skin ({})", counted_joints(count))],
        }
    }

    fn skeleton(&self, job: &Job<'_>, outcome: &mut Outcome) -> Result<Option<Skeleton>> {
        let Some(stored) = skin(&self.asset)? else {
            outcome.lacks("the skin, which cannot be decoded".to_owned());
            return Ok(None);
        };
        let Some(stored) = stored else {
            return Ok(None);
        };
        let (Some(names), Some(inverse)) = (&stored.joint_names, &stored.inverse_bind_matrices)
        else {
            outcome.leave_out("the skin, which has no joints or no matrices");
            return Ok(None);
        };
        if stored.alt_inverse_bind_matrices.is_some() {
            outcome.leave_out("the places that joints are moved to (alt_inverse_bind_matrix)");
        }
        if stored.pelvis_offset.is_some_and(|offset| offset != 0.0) {
            outcome.leave_out("the offset of the pelvis");
        }
        if stored.lock_scale_if_joint_position {
            outcome.leave_out("that the scale of moved joints is locked");
        }
        job.budget
            .keep((names.len() as u64).saturating_mul(OF_JOINT), "joints")?;
        let Some(pose) = stored.bind_pose() else {
            if !names.is_empty() {
                let (joints, matrices) = (names.len(), inverse.len());
                outcome.leave_out(format!(
                    "the skin, which has {joints} joints and {matrices} matrices"
                ));
            }
            return Ok(None);
        };
        let names: Vec<String> = names
            .iter()
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        let replaced = pose
            .replaced
            .iter()
            .filter_map(|index| names.get(*index).map(String::as_str));
        if let Some(replaced) = listed(replaced) {
            outcome.note(format!(
                "joints whose matrix is sheared or has no inverse keep the mesh in the bind pose: {replaced}"
            ));
        }
        let inverse_bind = pose
            .joints
            .iter()
            .map(|joint| joint.inverse.map(f64::from))
            .collect();
        let joint = |(name, bound): (String, &BoundJoint)| {
            let (parent, local) = if job.nest {
                (bound.parent, bound.local)
            } else {
                (None, bound.place)
            };
            let place = if local == IDENTITY {
                Place::Origin
            } else {
                Place::Matrix(local)
            };
            Joint {
                name,
                parent,
                place,
            }
        };
        let joints = names.into_iter().zip(&pose.joints).map(joint).collect();
        Ok(Some(Skeleton {
            joints,
            inverse_bind,
            stands_alone: false,
        }))
    }
}
