//! Second Life meshes: faces, their levels of detail, the bind shape, and joints.

use std::collections::HashSet;

use meshmap::slmesh::{Asset, BindShape, Lod, Skin};
use meshmap::{ErrorKind, Role, Segment};

use crate::error::Result;
use crate::options::Levels;
use crate::pose::Pose;
use crate::remark::Remark;
use crate::shape::{Face, Shape};
use crate::skeleton::{Joint, JointName, Rest, Skeleton};

/// The levels of detail that are drawn: an asset without its finest level has another one, which is better than none.
pub(crate) fn levels(asset: &Asset, wanted: Levels, remarks: &mut Vec<Remark>) -> Levels {
    let is_there = |level: &(u32, Lod)| matches!(asset.lod_range(level.1), Ok(Some(_)));
    let levels: Vec<(u32, Lod)> = (0..).zip(Lod::ALL).filter(is_there).collect();
    let finest = levels.first().map_or(0, |(level, _)| *level);
    let taken = if wanted == Levels::Finest {
        Levels::Only(finest)
    } else {
        wanted
    };
    for (level, lod) in levels {
        if taken != Levels::All && taken != Levels::Only(level) {
            remarks.push(Remark::OtherLevel(lod.name()));
        }
    }
    let has_physics = asset.entries().any(|entry| {
        let is_physics = entry.name().to_string_lossy().starts_with("physics");
        is_physics && matches!(entry.range(), Ok(Some(_)))
    });
    if has_physics {
        remarks.push(Remark::Physics);
    }
    taken
}

/// Names faces by their numbers, as their materials are, and counts a coarser one as a level of the first with its number.
pub(crate) fn name_faces(shapes: &mut [Shape]) {
    let mut finer = HashSet::new();
    for shape in shapes {
        let object = match shape.address().segments() {
            [.., Segment::Index(number)] => usize::try_from(*number).unwrap_or_default(),
            _ => 0,
        };
        let material = format!("face_{object}");
        let is_coarser = shape.has_triangles() && !finer.insert(object);
        let name = match shape.role() {
            Role::Lod(level) if is_coarser => format!("{material}_lod{level}"),
            _ => material.clone(),
        };
        shape.set_face(Face {
            object,
            name,
            material,
        });
    }
}

/// The skin; `Ok(None)` if it is damaged, without which the geometry is complete.
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
pub(crate) fn bind_shape(asset: &Asset, remarks: &mut Vec<Remark>) -> Result<Option<Pose>> {
    let Some(skin) = skin(asset)? else {
        remarks.push(Remark::UndecodableBindShape);
        return Ok(None);
    };
    let Some(skin) = skin else { return Ok(None) };
    let numbers = skin.bind_shape_matrix.iter().flatten();
    if let Some(number) = numbers.copied().find(|number| !number.is_finite()) {
        remarks.push(Remark::NonFiniteBindShape(number));
    }
    let shape = skin.bind_shape();
    if shape.as_ref().is_some_and(BindShape::mirrors) {
        remarks.push(Remark::MirroringBindShape);
    }
    Ok(shape.map(Pose::BindShape))
}

/// The joints of an asset that has a skin.
#[derive(Clone)]
pub(crate) struct Joints {
    asset: Asset,
    /// 0 if the joints cannot be read.
    count: usize,
}

impl Joints {
    /// `None` for an asset without a skin.
    pub(crate) fn of(asset: &Asset) -> Option<Self> {
        let count = match asset.skin() {
            Ok(None) => return None,
            Ok(Some(skin)) => skin.joint_names.map_or(0, |names| names.len()),
            // `skeleton` reports the damage.
            Err(_) => 0,
        };
        let asset = asset.clone();
        Some(Self { asset, count })
    }

    pub(crate) fn joint_count(&self) -> usize {
        self.count
    }

    /// The skeleton; `None` if it has no joints, or one that cannot be used, which is a remark.
    pub(crate) fn skeleton(&self, remarks: &mut Vec<Remark>) -> Result<Option<Skeleton>> {
        let Some(stored) = skin(&self.asset)? else {
            remarks.push(Remark::UndecodableSkin);
            return Ok(None);
        };
        let Some(stored) = stored else {
            return Ok(None);
        };
        let (Some(names), Some(inverse)) = (&stored.joint_names, &stored.inverse_bind_matrices)
        else {
            remarks.push(Remark::IncompleteSkin);
            return Ok(None);
        };
        if stored.alt_inverse_bind_matrices.is_some() {
            remarks.push(Remark::MovedJoints);
        }
        if stored.pelvis_offset.is_some_and(|offset| offset != 0.0) {
            remarks.push(Remark::PelvisOffset);
        }
        if stored.lock_scale_if_joint_position {
            remarks.push(Remark::LockedScale);
        }
        let Some(pose) = stored.bind_pose() else {
            if !names.is_empty() {
                let joints = names.len();
                let matrices = inverse.len();
                remarks.push(Remark::UnequalSkin { joints, matrices });
            }
            return Ok(None);
        };
        let replaced = pose.replaced.iter();
        let replaced: Vec<_> = replaced
            .filter_map(|index| names.get(*index).cloned())
            .collect();
        if !replaced.is_empty() {
            remarks.push(Remark::ReplacedJoints(replaced));
        }
        let mut skeleton = Skeleton {
            joints: Vec::with_capacity(pose.joints.len()),
            inverse_bind: Vec::with_capacity(pose.joints.len()),
            stands_alone: false,
            places: Vec::with_capacity(pose.joints.len()),
        };
        for (name, bound) in names.iter().zip(&pose.joints) {
            skeleton.joints.push(Joint {
                name: JointName::Stored(name.clone()),
                parent: bound.parent,
                rest: Rest::of_matrix(bound.local),
            });
            skeleton.inverse_bind.push(bound.inverse.map(f64::from));
            skeleton.places.push(bound.place);
        }
        Ok(Some(skeleton))
    }
}
