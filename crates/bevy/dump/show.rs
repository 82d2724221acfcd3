//! Meshes, materials and joints as JSON and arrays.

use std::collections::HashMap;

use bevy_animation::AnimatedBy;
use bevy_app::App;
use bevy_asset::{Assets, Handle};
use bevy_ecs::entity::Entity;
use bevy_math::Mat4;
use bevy_mesh::skinning::{SkinnedMesh, SkinnedMeshInverseBindposes};
use bevy_mesh::{
    Indices, Mesh, Mesh3d, MeshVertexAttribute, PrimitiveTopology, VertexAttributeValues,
};
use bevy_meshmap::{MeshmapFile, MeshmapMaterial, MeshmapMesh};
use bevy_transform::components::GlobalTransform;

use crate::Outcome;
use crate::json::{self, Sink, text};

type Fields = Vec<(&'static str, String)>;

/// Everything of a file whose scene is spawned, at rest.
pub(crate) fn file(
    app: &mut App,
    handle: &Handle<MeshmapFile>,
    sink: &mut Sink,
) -> Outcome<Fields> {
    let mut entities = app
        .world_mut()
        .query::<(Entity, &Mesh3d, Option<&SkinnedMesh>)>();
    let mut spawned = HashMap::new();
    for (entity, mesh, skin) in entities.iter(app.world()) {
        spawned.insert(mesh.0.id(), (entity, skin.cloned()));
    }
    let world = app.world();
    let files = world.resource::<Assets<MeshmapFile>>();
    let file = files.get(handle).ok_or("the file is gone")?;
    let meshes = world.resource::<Assets<MeshmapMesh>>();
    let mut parts = Vec::new();
    for handle in &file.meshes {
        let shape = meshes.get(handle).ok_or("a mesh is gone")?;
        for primitive in &shape.primitives {
            let found = spawned.get(&primitive.mesh.id());
            let (entity, skin) = found.ok_or("a mesh is not spawned")?;
            let mut fields: Fields = vec![
                ("name", text(&shape.name)),
                ("address", text(&shape.address)),
                (
                    "level",
                    shape.lod.map_or("null".to_owned(), |lod| lod.to_string()),
                ),
                ("material", primitive.material.to_string()),
            ];
            fields.extend(self::mesh(app, &primitive.mesh, sink)?);
            fields.push(("transform", place(app, *entity, sink)?));
            fields.push(("skin", inverse_bind(app, skin.as_ref(), sink)?));
            parts.push(json::object(&fields));
        }
    }
    let materials = world.resource::<Assets<MeshmapMaterial>>();
    let mut surfaces = Vec::new();
    for handle in &file.materials {
        let material = materials.get(handle).ok_or("a material is gone")?;
        surfaces.push(surface(material));
    }
    let warnings: Vec<String> = file.warnings.iter().map(|line| text(line)).collect();
    let clips: Vec<String> = file
        .animations
        .iter()
        .map(|clip| text(&clip.name))
        .collect();
    let joints = joints(app, sink)?;
    Ok(vec![
        ("parts", json::list(&parts)),
        ("materials", json::list(&surfaces)),
        ("warnings", json::list(&warnings)),
        ("clips", json::list(&clips)),
        ("joints", joints),
    ])
}

fn surface(material: &MeshmapMaterial) -> String {
    let color = material.color.to_srgba();
    let channels = [color.red, color.green, color.blue].map(|channel| channel.to_string());
    let image_path = material.image_path.as_ref();
    let image_path = image_path.map(ToString::to_string).unwrap_or_default();
    json::object(&[
        ("name", text(&material.name)),
        ("id", material.id.to_string()),
        ("color", json::list(&channels)),
        ("image", text(material.image.as_deref().unwrap_or_default())),
        ("imagePath", text(&image_path)),
        ("unlit", material.unlit.to_string()),
    ])
}

/// The arrays of a mesh.
pub(crate) fn mesh(app: &App, handle: &Handle<Mesh>, sink: &mut Sink) -> Outcome<Fields> {
    let meshes = app.world().resource::<Assets<Mesh>>();
    let mesh = meshes.get(handle).ok_or("a mesh is gone")?;
    let is_points = mesh.primitive_topology() == PrimitiveTopology::PointList;
    let indices: Option<Vec<u32>> = match mesh.indices() {
        Some(Indices::U16(indices)) => {
            Some(indices.iter().map(|index| u32::from(*index)).collect())
        }
        Some(Indices::U32(indices)) => Some(indices.clone()),
        None => None,
    };
    let indices = match indices {
        Some(indices) => sink.integers(&indices, 1)?,
        None => "null".to_owned(),
    };
    Ok(vec![
        ("isPoints", is_points.to_string()),
        ("indices", indices),
        (
            "positions",
            attribute(mesh, Mesh::ATTRIBUTE_POSITION, sink)?,
        ),
        ("normals", attribute(mesh, Mesh::ATTRIBUTE_NORMAL, sink)?),
        ("tangents", attribute(mesh, Mesh::ATTRIBUTE_TANGENT, sink)?),
        ("colors", attribute(mesh, Mesh::ATTRIBUTE_COLOR, sink)?),
        ("texcoords", attribute(mesh, Mesh::ATTRIBUTE_UV_0, sink)?),
        (
            "influences",
            attribute(mesh, Mesh::ATTRIBUTE_JOINT_INDEX, sink)?,
        ),
        (
            "weights",
            attribute(mesh, Mesh::ATTRIBUTE_JOINT_WEIGHT, sink)?,
        ),
    ])
}

fn attribute(mesh: &Mesh, attribute: MeshVertexAttribute, sink: &mut Sink) -> Outcome<String> {
    match mesh.attribute(attribute) {
        Some(VertexAttributeValues::Float32x2(values)) => sink.floats(values.as_flattened(), 2),
        Some(VertexAttributeValues::Float32x3(values)) => sink.floats(values.as_flattened(), 3),
        Some(VertexAttributeValues::Float32x4(values)) => sink.floats(values.as_flattened(), 4),
        Some(VertexAttributeValues::Uint16x4(values)) => {
            let joints: Vec<u32> = values
                .as_flattened()
                .iter()
                .map(|joint| (*joint).into())
                .collect();
            sink.integers(&joints, 4)
        }
        _ => Ok("null".to_owned()),
    }
}

/// The place of an entity in the world: a matrix, columns one after another.
pub(crate) fn place(app: &App, entity: Entity, sink: &mut Sink) -> Outcome<String> {
    let place = app.world().get::<GlobalTransform>(entity);
    let place = place.copied().unwrap_or_default();
    sink.floats(&place.to_matrix().to_cols_array(), 16)
}

fn inverse_bind(app: &App, skin: Option<&SkinnedMesh>, sink: &mut Sink) -> Outcome<String> {
    let all = app
        .world()
        .resource::<Assets<SkinnedMeshInverseBindposes>>();
    let Some(skin) = skin else {
        return Ok("null".to_owned());
    };
    let inverse = all.get(&skin.inverse_bindposes).ok_or("a skin is gone")?;
    let matrices: Vec<Mat4> = inverse.iter().copied().collect();
    floats_of(&matrices, sink)
}

/// The places of joints in the world: of the skin, or of all joints of a file without meshes.
pub(crate) fn joints(app: &mut App, sink: &mut Sink) -> Outcome<String> {
    let mut skins = app.world_mut().query::<&SkinnedMesh>();
    let mut all = app.world_mut().query::<(Entity, &AnimatedBy)>();
    let world = app.world();
    let entities: Vec<Entity> = match skins.iter(world).next() {
        Some(skin) => skin.joints.clone(),
        None => all.iter(world).map(|(entity, _)| entity).collect(),
    };
    let mut matrices = Vec::new();
    for entity in entities {
        let place = world.get::<GlobalTransform>(entity);
        matrices.push(place.copied().unwrap_or_default().to_matrix());
    }
    floats_of(&matrices, sink)
}

fn floats_of(matrices: &[Mat4], sink: &mut Sink) -> Outcome<String> {
    let numbers: Vec<f32> = matrices.iter().flat_map(Mat4::to_cols_array).collect();
    sink.floats(&numbers, 16)
}
