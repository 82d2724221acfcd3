//! The world of a file: its meshes and joints as entities.

use bevy_animation::graph::{AnimationGraph, AnimationGraphHandle};
use bevy_animation::{AnimatedBy, AnimationPlayer};
use bevy_asset::Handle;
use bevy_camera::primitives::Aabb;
use bevy_camera::visibility::{NoFrustumCulling, Visibility, VisibilityRange};
use bevy_ecs::prelude::*;
use bevy_math::{Quat, Vec3};
use bevy_mesh::Mesh3d;
use bevy_mesh::skinning::{SkinnedMesh, SkinnedMeshInverseBindposes};
use bevy_transform::components::Transform;
use meshmap::{Axis, Bounds};
use meshmap_scene::{Scene, matrix};

use crate::assets::MeshmapMesh;
use crate::settings::{Axes, MeshmapSettings};
use crate::skeleton::Joints;

/// The transform that converts the axes and the unit of a file as the settings ask.
pub(crate) fn root_transform(scene: &Scene, settings: &MeshmapSettings) -> Transform {
    if settings.axes == Axes::AsStored {
        return Transform::from_scale(Vec3::splat(settings.scale));
    }
    let turned = |axis: [f64; 3]| scene.up().rotate_to(Axis::Y, axis);
    let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(turned);
    let rotation = matrix::quaternion(axes).map(|number| number as f32);
    let metres = scene.unit().metres().unwrap_or(1.0) as f32;
    Transform {
        rotation: Quat::from_array(rotation),
        scale: Vec3::splat(metres * settings.scale),
        ..Transform::IDENTITY
    }
}

/// The parts that a scene is made of.
pub(crate) struct Parts<'a> {
    pub(crate) name: String,
    pub(crate) root: Transform,
    pub(crate) meshes: Vec<&'a MeshmapMesh>,
    pub(crate) joints: &'a Joints,
    pub(crate) inverse_bindposes: Option<Handle<SkinnedMeshInverseBindposes>>,
    pub(crate) graph: Option<Handle<AnimationGraph>>,
    #[cfg(feature = "pbr")]
    pub(crate) materials: &'a [Handle<bevy_pbr::StandardMaterial>],
}

/// The world of a file.
pub(crate) fn world(parts: &Parts<'_>, settings: &MeshmapSettings) -> World {
    let mut world = World::new();
    let root = world
        .spawn((
            parts.root,
            Visibility::default(),
            Name::new(parts.name.clone()),
        ))
        .id();
    if let Some(graph) = &parts.graph {
        world.entity_mut(root).insert((
            AnimationPlayer::default(),
            AnimationGraphHandle(graph.clone()),
        ));
    }
    let joints = spawn_joints(&mut world, root, parts.joints);
    let ranges = ranges(&parts.meshes, settings);
    for (index, mesh) in parts.meshes.iter().enumerate() {
        let name = if mesh.name.is_empty() {
            format!("Mesh{index}")
        } else {
            mesh.name.clone()
        };
        let node = world
            .spawn((
                Transform::IDENTITY,
                Visibility::default(),
                Name::new(name.clone()),
                ChildOf(root),
            ))
            .id();
        for (number, primitive) in mesh.primitives.iter().enumerate() {
            let mut entity = world.spawn((
                Mesh3d(primitive.mesh.clone()),
                Transform::IDENTITY,
                Visibility::default(),
                Name::new(format!("{name}.{number}")),
                ChildOf(node),
            ));
            if let Some(bounds) = primitive.bounds {
                entity.insert(aabb(bounds));
            }
            if let Some(inverse_bindposes) = &parts.inverse_bindposes {
                // The box of the bind pose does not hold an animated mesh.
                entity.insert((
                    SkinnedMesh {
                        inverse_bindposes: inverse_bindposes.clone(),
                        joints: joints.clone(),
                    },
                    NoFrustumCulling,
                ));
            }
            let range = mesh
                .lod
                .and_then(|lod| ranges.iter().find(|(level, _)| *level == lod));
            if let Some((_, range)) = range {
                entity.insert(range.clone());
            }
            #[cfg(feature = "pbr")]
            if let Some(material) = parts.materials.get(primitive.material) {
                entity.insert(bevy_pbr::MeshMaterial3d(material.clone()));
            }
        }
    }
    world
}

fn spawn_joints(world: &mut World, root: Entity, joints: &Joints) -> Vec<Entity> {
    let mut entities: Vec<Entity> = Vec::with_capacity(joints.len());
    for (index, (parent, bind_pose)) in joints.parents.iter().zip(&joints.bind_pose).enumerate() {
        let parent = parent
            .and_then(|parent| entities.get(parent))
            .copied()
            .unwrap_or(root);
        let joint = (
            *bind_pose,
            Visibility::default(),
            joints.name(index),
            ChildOf(parent),
        );
        entities.push(
            world
                .spawn((joint, joints.target(index), AnimatedBy(root)))
                .id(),
        );
    }
    entities
}

/// The bounding box of an entity.
pub(crate) fn aabb(bounds: Bounds) -> Aabb {
    Aabb::from_min_max(Vec3::from_array(bounds.min), Vec3::from_array(bounds.max))
}

/// The range of distances of each level of detail; empty if there is only one.
fn ranges(meshes: &[&MeshmapMesh], settings: &MeshmapSettings) -> Vec<(u32, VisibilityRange)> {
    /// The part of a distance over which two levels blend.
    const MARGIN: f32 = 1.1;
    let mut levels: Vec<u32> = meshes.iter().filter_map(|mesh| mesh.lod).collect();
    levels.sort_unstable();
    levels.dedup();
    if levels.len() < 2 {
        return Vec::new();
    }
    let mut start = 0.0_f32..0.0;
    let mut ranges = Vec::new();
    for (index, level) in levels.iter().enumerate() {
        let last = index + 1 == levels.len();
        // A level without a distance reaches twice as far as the one before it.
        let listed = settings
            .level_distances
            .get(index)
            .copied()
            .filter(|distance| *distance > start.end);
        let distance = listed.unwrap_or_else(|| (start.end * 2.0).max(1.0));
        let end = if last {
            f32::MAX..f32::MAX
        } else {
            distance..distance * MARGIN
        };
        ranges.push((
            *level,
            VisibilityRange {
                start_margin: start,
                end_margin: end.clone(),
                use_aabb: true,
            },
        ));
        start = end;
    }
    ranges
}
