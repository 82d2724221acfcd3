//! Second Life meshes: faces, their levels of detail, hulls, the bind shape, and joints.

use std::collections::HashSet;

use meshmap::slmesh::{Asset, BindShape, Hull, Lod, PhysicsConvex, Skin};
use meshmap::{Address, ErrorKind, MeshView, Meter, Role, Segment, Text};

use crate::convex_hull;
use crate::error::Result;
use crate::fact::{FactKind, Facts, beginning_of_text};
use crate::options::Levels;
use crate::pose::Pose;
use crate::remark::Remark;
use crate::shape::{Face, Shape};
use crate::skeleton::{Joint, JointName, Rest, Skeleton};
use crate::unit::Unit;

/// Worlds of Second Life are in metres.
pub(crate) const UNIT: Unit = Unit::Millimeters(1000.0);

/// The levels of detail that are drawn: an asset without its finest level has another one, which is better than none.
pub(crate) fn levels(asset: &Asset, wanted: Levels) -> Levels {
    match (wanted, stored_levels(asset).first()) {
        (Levels::Finest, Some((finest, _))) => Levels::Only(*finest),
        (Levels::Finest, None) => Levels::Only(0),
        (wanted, _) => wanted,
    }
}

/// The levels of detail that an asset has, by their numbers.
fn stored_levels(asset: &Asset) -> Vec<(u32, Lod)> {
    let mut levels = Vec::new();
    for (level, lod) in (0..).zip(Lod::ALL) {
        if matches!(asset.lod_range(lod), Ok(Some(_))) {
            levels.push((level, lod));
        }
    }
    levels
}

/// The block of the hulls, as addresses and headers name it.
const HULLS: &str = "physics_convex";

/// `true` for an address in the block of the hulls.
///
/// Modules for the web have no code for hulls, which callers cannot name there: it would be 7 kB of 300 kB with gzip.
pub(crate) fn is_of_hulls(address: &Address) -> bool {
    !cfg!(meshmap_small)
        && matches!(address.segments(), [Segment::Field(block), ..] if block == HULLS)
}

/// The bytes of the points of hulls, which stay in memory with their shapes.
pub(crate) fn bytes_of_hulls(convex: &PhysicsConvex) -> u64 {
    let mut bytes = convex.hull_sizes().map_or(0, |sizes| sizes.len());
    for points in [convex.raw_hull_points(), convex.raw_bounding_verts()] {
        bytes += points.map_or(0, |points| points.as_bytes().len());
    }
    bytes as u64
}

/// A hull, as the triangles of the convex hull of its points: the file stores only the points. All points are vertices, whether a triangle has them
/// or not.
pub(crate) fn hull_view(hull: &Hull, meter: &Meter<'_>) -> meshmap::Result<MeshView> {
    let mut triangles = convex_hull::triangles(hull.raw_points(), meter)?;
    if is_mirrored(hull) {
        for [_, second, third] in &mut triangles {
            std::mem::swap(second, third);
        }
    }
    hull.view(triangles)
}

/// `true` if an odd number of axes run from the greater end of the domain to the lesser one.
fn is_mirrored(hull: &Hull) -> bool {
    let domain = hull.domain();
    let ends = domain.min.iter().zip(domain.max);
    ends.filter(|(min, max)| max < min).count() % 2 == 1
}

/// Counts what an asset has besides shapes that somebody could miss. `wanted` are the levels of detail that are asked for; with `None`,
/// the meshes of some addresses are, which `shapes` has.
pub(crate) fn add_facts(
    asset: &Asset,
    wanted: Option<Levels>,
    shapes: &[Shape],
    facts: &mut Facts,
) {
    let drawn = wanted.map(|wanted| levels(asset, wanted));
    for (level, lod) in stored_levels(asset) {
        let is_drawn = drawn.is_some_and(|drawn| drawn.contains(Role::Lod(level)));
        let kind = if is_drawn {
            FactKind::Levels
        } else {
            FactKind::OtherLevels
        };
        facts.add(kind, || lod.name().to_owned());
    }
    add_facts_of_header(asset, shapes, facts);
    let Ok(Some(skin)) = asset.skin() else {
        return;
    };
    facts.count(FactKind::SkinJoints, skin.joint_count());
    if skin.bind_shape().is_some() {
        facts.count(FactKind::BindShape, 1);
    }
    if skin.alt_inverse_bind_matrices.is_some() {
        facts.count(FactKind::JointOffsets, skin.joint_count());
    }
    if let Some(offset) = skin.pelvis_offset
        && offset != 0.0
    {
        facts.add(FactKind::PelvisOffset, || offset.to_string());
    }
    if skin.lock_scale_if_joint_position {
        facts.count(FactKind::LockedScales, 1);
    }
}

/// `true` for the name of a level of detail or of the skin.
fn is_known(name: &Text) -> bool {
    let is_level = |lod: &Lod| lod.name().as_bytes() == name.as_bytes();
    name.as_bytes() == b"skin" || Lod::ALL.iter().any(is_level)
}

/// The number of the hulls of an asset that no shape is.
fn other_hulls(asset: &Asset, shapes: &[Shape]) -> usize {
    let mut drawn = HashSet::new();
    for shape in shapes {
        let address = shape.address();
        if is_of_hulls(&address) {
            drawn.insert(address);
        }
    }
    let mut hulls = 0;
    if let Ok(Some(convex)) = asset.physics_convex() {
        hulls += convex.hull_sizes().map_or(0, |sizes| sizes.len());
        hulls += usize::from(convex.raw_bounding_verts().is_some());
    }
    // A block that cannot be read counts as one.
    hulls.max(1).saturating_sub(drawn.len())
}

/// `true` if a shape is a part of the block of this name.
fn has_shape_of(name: &Text, shapes: &[Shape]) -> bool {
    shapes.iter().any(|shape| {
        let address = shape.address();
        matches!(address.segments(), [Segment::Field(block), ..] if block.as_bytes() == name.as_bytes())
    })
}

/// Counts what the header of an asset lists besides levels of detail.
fn add_facts_of_header(asset: &Asset, shapes: &[Shape], facts: &mut Facts) {
    for entry in asset.entries() {
        let name = entry.name();
        if !matches!(entry.range(), Ok(Some(_))) {
            continue;
        }
        if name.as_bytes() == HULLS.as_bytes() {
            facts.count(FactKind::Hulls, other_hulls(asset, shapes));
        } else if name.as_bytes().starts_with(b"physics") {
            if has_shape_of(name, shapes) {
                continue;
            }
            facts.add(FactKind::PhysicsMeshes, || beginning_of_text(name));
        } else if !is_known(name) {
            facts.add(FactKind::Extensions, || beginning_of_text(name));
        }
    }
    for (key, _) in asset.header() {
        if asset.entry(key.as_bytes()).is_none() && key.as_bytes() != b"version" {
            facts.add(FactKind::Metadata, || beginning_of_text(key));
        }
    }
}

/// Names faces by their numbers, as their materials are, and hulls.
///
/// If whole levels of detail are asked for, all but the finest that has triangles are coarser: what they have is not drawn with it, also if the
/// finest one lacks a face. If meshes are named one by one, a mesh is coarser if a mesh before it is a level of the same face.
pub(crate) fn name_faces(shapes: &mut [Shape], are_levels: bool) {
    let level_of = |shape: &Shape| match shape.role() {
        Role::Lod(level) if shape.has_triangles() => Some(level),
        _ => None,
    };
    let finest = shapes.iter().filter_map(level_of).min();
    let mut finer = HashSet::new();
    for shape in shapes {
        if is_of_hulls(&shape.address()) {
            shape.set_face(Face {
                object: None,
                is_coarser: false,
                name: name_of_hull(shape),
                material: None,
            });
            continue;
        }
        let object = match shape.address().segments() {
            [.., Segment::Index(number)] => usize::try_from(*number).unwrap_or_default(),
            _ => 0,
        };
        let material = format!("face_{object}");
        let has_finer = shape.has_triangles() && !finer.insert(object);
        let is_coarser = match (level_of(shape), finest) {
            (Some(level), Some(finest)) if are_levels => level > finest,
            _ => !are_levels && has_finer,
        };
        let name = match shape.role() {
            Role::Lod(level) if is_coarser => format!("{material}_lod{level}"),
            _ => material.clone(),
        };
        shape.set_face(Face {
            object: Some(object),
            is_coarser,
            name,
            material: Some(material),
        });
    }
}

fn name_of_hull(shape: &Shape) -> String {
    match shape.address().segments() {
        [.., Segment::Index(index)] => format!("hull_{index}"),
        _ => "bounding_hull".to_owned(),
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
