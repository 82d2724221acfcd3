//! Assets over time: skinned frames, replaced files, dropped handles, large files.
#![allow(
    clippy::field_reassign_with_default,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod common;

use std::path::Path;
use std::time::Duration;

use bevy_animation::{AnimatedBy, AnimationClip, AnimationPlayer};
use bevy_app::App;
use bevy_asset::{AssetPath, AssetServer, Assets, Handle};
use bevy_camera::primitives::Aabb;
use bevy_camera::visibility::VisibilityRange;
use bevy_ecs::name::Name;
use bevy_math::{Mat4, Vec3};
use bevy_mesh::skinning::{SkinnedMesh, SkinnedMeshInverseBindposes};
use bevy_mesh::{Mesh, Mesh3d, VertexAttributeValues};
use bevy_meshmap::meshmap::iqm::{Model, to_columns};
use bevy_meshmap::meshmap::{MeshFile, Semantic};
use bevy_meshmap::{Axes, Levels, MeshmapFile, MeshmapMesh, MeshmapPlugin};
use bevy_time::TimeUpdateStrategy;
use bevy_transform::components::{GlobalTransform, Transform};
use bevy_world_serialization::WorldAssetRoot;
use common::{app, load, until, wait};
use meshmap_testing::data::{root, valid};
use meshmap_testing::fixtures::slmesh::{Llsd, Writer, sheet};

fn file<'a>(app: &'a App, handle: &Handle<MeshmapFile>) -> &'a MeshmapFile {
    app.world()
        .resource::<Assets<MeshmapFile>>()
        .get(handle)
        .unwrap()
}

#[test]
fn skinned_frames_equal_the_matrices_of_the_library() {
    let path = valid("iqm", "skin_multi_anim.iqm");
    let model = Model::open(&path).unwrap();
    let skeleton = model.skeleton().unwrap();
    let mut app = app(&root(), MeshmapPlugin::default());
    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::ZERO));
    let handle = load(&app, path.strip_prefix(root()).unwrap(), |settings| {
        settings.axes = Axes::AsStored
    });
    wait(&mut app, &handle).unwrap();
    let (scene, animations) = (
        file(&app, &handle).scene.clone(),
        file(&app, &handle).animations.clone(),
    );
    assert_eq!(animations.len(), model.anims().len());
    app.world_mut().spawn(WorldAssetRoot(scene));
    let mut players = app.world_mut().query::<&mut AnimationPlayer>();
    until(&mut app, |app| players.iter(app.world()).next().map(|_| ()));
    let mut skins = app.world_mut().query::<&SkinnedMesh>();
    let mut compared = 0;
    for (animation, anim) in animations.iter().zip(model.anims()) {
        assert_eq!(animation.name, anim.name.to_string());
        for frame in anim.frames() {
            // The loader takes 24 frames per second if the file stores no rate.
            let rate = if anim.framerate > 0.0 {
                anim.framerate
            } else {
                24.0
            };
            let seconds = (frame - anim.first_frame) as f32 / rate;
            let mut player = players.single_mut(app.world_mut()).unwrap();
            player.stop_all();
            player.play(animation.node).set_seek_time(seconds);
            app.update();
            let mut pose = vec![Default::default(); skeleton.parents().len()];
            model.frames().read_frame_into(frame, &mut pose).unwrap();
            let matrices = skeleton.skinning_matrices(&pose).unwrap();
            let world = app.world();
            let skin = skins.iter(world).next().unwrap();
            let inverse = world
                .resource::<Assets<SkinnedMeshInverseBindposes>>()
                .get(&skin.inverse_bindposes)
                .unwrap();
            for ((joint, inverse), expected) in
                skin.joints.iter().zip(inverse.iter()).zip(&matrices)
            {
                let found =
                    Mat4::from(world.get::<GlobalTransform>(*joint).unwrap().affine()) * *inverse;
                let expected = Mat4::from_cols_array_2d(&to_columns(expected));
                let size = expected
                    .to_cols_array()
                    .iter()
                    .fold(1.0_f32, |size, value| size.max(value.abs()));
                assert!(
                    found.abs_diff_eq(expected, 1e-5 * size),
                    "frame {frame}: {found} is not {expected}"
                );
                compared += 1;
            }
        }
    }
    assert!(compared > 0);
}

/// The vertices of all meshes with joints as the shader moves them, and their stored positions.
fn skinned(app: &mut App) -> Vec<(Vec3, Vec3)> {
    let mut entities = app.world_mut().query::<(&Mesh3d, &SkinnedMesh)>();
    let world = app.world();
    let mut out = Vec::new();
    for (mesh, skin) in entities.iter(world) {
        let inverse = world
            .resource::<Assets<SkinnedMeshInverseBindposes>>()
            .get(&skin.inverse_bindposes);
        let inverse = inverse.unwrap();
        assert_eq!(skin.joints.len(), inverse.len());
        let matrices: Vec<Mat4> = skin
            .joints
            .iter()
            .zip(inverse.iter())
            .map(|(joint, inverse)| {
                Mat4::from(world.get::<GlobalTransform>(*joint).unwrap().affine()) * *inverse
            })
            .collect();
        let mesh = world.resource::<Assets<Mesh>>().get(&mesh.0).unwrap();
        if !mesh.contains_attribute(Mesh::ATTRIBUTE_JOINT_INDEX) {
            continue;
        }
        let (
            Some(VertexAttributeValues::Float32x3(positions)),
            Some(VertexAttributeValues::Uint16x4(joints)),
            Some(VertexAttributeValues::Float32x4(weights)),
        ) = (
            mesh.attribute(Mesh::ATTRIBUTE_POSITION),
            mesh.attribute(Mesh::ATTRIBUTE_JOINT_INDEX),
            mesh.attribute(Mesh::ATTRIBUTE_JOINT_WEIGHT),
        )
        else {
            panic!("attributes of other types");
        };
        for ((position, joints), weights) in positions.iter().zip(joints).zip(weights) {
            let parts = joints
                .iter()
                .zip(weights)
                .map(|(joint, weight)| matrices[usize::from(*joint)] * *weight);
            let matrix = parts.fold(Mat4::ZERO, |sum, part| sum + part);
            let position = Vec3::from_array(*position);
            out.push((matrix.transform_point3(position), position));
        }
    }
    out
}

/// Spawns the scene of a loaded file, in the axes of the file, and waits for its meshes.
fn spawn(app: &mut App, path: &Path) -> Handle<MeshmapFile> {
    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::ZERO));
    let handle = load(app, path, |settings| settings.axes = Axes::AsStored);
    wait(app, &handle).unwrap();
    let scene = file(app, &handle).scene.clone();
    app.world_mut().spawn(WorldAssetRoot(scene));
    let mut skins = app.world_mut().query::<&SkinnedMesh>();
    until(app, |app| skins.iter(app.world()).next().map(|_| ()));
    app.update();
    handle
}

#[test]
fn vertices_without_weights_rest_in_the_bind_pose() {
    let whole = std::fs::read(valid("iqm", "skin_multi_anim.iqm")).unwrap();
    let number = |at: usize| u32::from_le_bytes(whole[at..at + 4].try_into().unwrap()) as usize;
    let (arrays, vertices, first) = (number(44), number(48), number(52));
    let array = (0..arrays)
        .map(|array| first + array * 20)
        .find(|at| number(*at) == 5)
        .unwrap();
    assert_eq!(
        (number(array + 8), number(array + 12)),
        (1, 4),
        "four bytes for each vertex"
    );
    let folder = tempfile::tempdir().unwrap();
    for free in [0, 7, vertices] {
        let mut data = whole.clone();
        data[number(array + 16)..][..free * 4].fill(0);
        std::fs::write(folder.path().join("model.iqm"), data).unwrap();
        let mut app = app(folder.path(), MeshmapPlugin::default());
        let handle = spawn(&mut app, Path::new("model.iqm"));
        let animation = file(&app, &handle).animations[0].clone();
        let seconds = app
            .world()
            .resource::<Assets<AnimationClip>>()
            .get(&animation.clip)
            .unwrap()
            .duration()
            / 2.0;
        let mut players = app.world_mut().query::<&mut AnimationPlayer>();
        players
            .single_mut(app.world_mut())
            .unwrap()
            .play(animation.node)
            .set_seek_time(seconds);
        app.update();
        let found = skinned(&mut app);
        assert_eq!(found.len(), vertices);
        for (vertex, (drawn, stored)) in found.iter().enumerate() {
            assert_eq!(
                drawn.distance(*stored) < 1e-5,
                vertex < free,
                "{free}: vertex {vertex}: {drawn}, {stored}"
            );
        }
    }
}

#[test]
fn vertices_of_second_life_without_weights_keep_the_bind_shape() {
    // A matrix for row vectors, row by row: 3 times as wide, and 7 to the right.
    let shape = [
        [3.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, 0.0],
        [7.0, 0.0, 0.0, 1.0],
    ];
    let identity = (0..16).map(|at| f64::from(at % 5 == 0));
    let skin = Llsd::Map(vec![
        (
            "bind_shape_matrix",
            Llsd::reals(shape.as_flattened().iter().copied()),
        ),
        (
            "inverse_bind_matrix",
            Llsd::Array(vec![Llsd::reals(identity)]),
        ),
        (
            "joint_names",
            Llsd::Array(vec![Llsd::String(b"mPelvis".to_vec())]),
        ),
    ]);
    let Llsd::Map(mut face) = sheet(4, 0) else {
        panic!("a face")
    };
    // The first 5 of 16 vertices end their lists of joints without a joint; the others follow the joint, with a weight of 1/4.
    let weights = (0..16).flat_map(|at| {
        if at < 5 {
            vec![0xff]
        } else {
            vec![0, 0xff, 0x3f, 0xff]
        }
    });
    face.push(("Weights", Llsd::Binary(weights.collect())));
    let lod = Llsd::Array(vec![Llsd::Map(face)]);
    let folder = tempfile::tempdir().unwrap();
    let data = Writer::default()
        .block("high_lod", &lod)
        .block("skin", &skin)
        .to_bytes();
    std::fs::write(folder.path().join("asset.slmesh"), data).unwrap();
    let mut app = app(folder.path(), MeshmapPlugin::default());
    spawn(&mut app, Path::new("asset.slmesh"));
    let shape = Mat4::from_cols_array_2d(&shape.map(|row| row.map(|number| number as f32)));
    // The arrays of the mesh are in the bind pose.
    let stored = MeshFile::open(folder.path().join("asset.slmesh")).unwrap();
    let stored = stored.mesh(&"high_lod.faces[0]".parse().unwrap()).unwrap();
    let stored = stored.attribute(&Semantic::Position).unwrap().unwrap();
    let in_bind_pose: Vec<Vec3> = stored
        .iter_f32::<3>()
        .map(|position| shape.transform_point3(Vec3::from_array(position)))
        .collect();
    let found = skinned(&mut app);
    assert_eq!(found.len(), in_bind_pose.len());
    for ((drawn, array), expected) in found.iter().zip(&in_bind_pose) {
        assert!(drawn.abs_diff_eq(*expected, 1e-4) && array.abs_diff_eq(*expected, 1e-4));
    }
    let drawn = || found.iter().map(|(drawn, _)| *drawn);
    let mut boxes = app.world_mut().query::<&Aabb>();
    let shown = boxes.single(app.world()).unwrap();
    assert!(
        Vec3::from(shown.min()).abs_diff_eq(drawn().reduce(Vec3::min).unwrap(), 1e-4),
        "{shown:?}"
    );
    assert!(
        Vec3::from(shown.max()).abs_diff_eq(drawn().reduce(Vec3::max).unwrap(), 1e-4),
        "{shown:?}"
    );
    let mut joints = app
        .world_mut()
        .query::<(&Name, &AnimatedBy, &mut Transform)>();
    for (name, _, mut transform) in joints.iter_mut(app.world_mut()) {
        if name.as_str() != "meshmap_rest" {
            transform.translation += Vec3::splat(3.0);
        }
    }
    app.update();
    let found = skinned(&mut app);
    assert_eq!(found.len(), 16);
    for (vertex, (drawn, array)) in found.iter().enumerate() {
        let moved = Vec3::splat(if vertex < 5 { 0.0 } else { 3.0 });
        assert!(
            (drawn - moved).abs_diff_eq(*array, 1e-4),
            "vertex {vertex}: {drawn}"
        );
    }
}

#[test]
fn faces_with_weights_rest_in_the_bind_shape_if_the_joints_cannot_be_used() {
    let path = root().join("slmesh/regressions/bind_shape_without_matrices.slmesh");
    let mut app = app(&root(), MeshmapPlugin::default());
    let handle = load(&app, path.strip_prefix(root()).unwrap(), |_| {});
    wait(&mut app, &handle).unwrap();
    let shape = file(&app, &handle).meshes[0].clone();
    let shapes = app.world().resource::<Assets<MeshmapMesh>>();
    let primitive = shapes.get(&shape).unwrap().primitives[0].clone();
    let meshes = app.world().resource::<Assets<Mesh>>();
    let mesh = meshes.get(&primitive.mesh).unwrap();
    assert!(!mesh.contains_attribute(Mesh::ATTRIBUTE_JOINT_INDEX));
    let Some(VertexAttributeValues::Float32x3(positions)) =
        mesh.attribute(Mesh::ATTRIBUTE_POSITION)
    else {
        panic!("no positions");
    };
    let drawn = || positions.iter().map(|position| Vec3::from_array(*position));
    let size = drawn().reduce(Vec3::max).unwrap() - drawn().reduce(Vec3::min).unwrap();
    assert!(size.abs_diff_eq(Vec3::new(2.0, 3.0, 4.0), 1e-4), "{size}");
    let bounds = primitive.bounds.unwrap();
    let size = Vec3::from_array(bounds.max) - Vec3::from_array(bounds.min);
    assert!(size.abs_diff_eq(Vec3::new(2.0, 3.0, 4.0), 1e-4), "{size}");
}

#[test]
fn levels_of_detail_have_labels_and_ranges_without_gaps() {
    let path = valid("slmesh", "nodemv_02_static_4lod.slmesh");
    let path = path.strip_prefix(root()).unwrap().to_owned();
    let mut app = app(&root(), MeshmapPlugin::default());
    let handle = load(&app, &path, |settings| {
        settings.levels = Levels::All;
        settings.level_distances = vec![5.0, 3.0];
    });
    wait(&mut app, &handle).unwrap();
    let scene = file(&app, &handle).scene.clone();
    let server = app.world().resource::<AssetServer>();
    for label in [
        "Mesh0/Primitive0",
        "Lod1/Mesh0/Primitive0",
        "Lod3/Mesh0/Primitive0",
    ] {
        let mesh =
            server.get_handle::<Mesh>(AssetPath::from_path(&path).into_owned().with_label(label));
        assert!(mesh.is_some(), "{label}");
    }
    app.world_mut().spawn(WorldAssetRoot(scene));
    let mut query = app.world_mut().query::<&VisibilityRange>();
    until(&mut app, |app| query.iter(app.world()).next().map(|_| ()));
    let mut ranges: Vec<_> = query.iter(app.world()).cloned().collect();
    ranges.sort_by(|a, b| a.start_margin.start.total_cmp(&b.start_margin.start));
    ranges.dedup();
    // The second distance is not beyond the first one, so that it is replaced by twice the first.
    assert_eq!(ranges.len(), 4);
    assert_eq!(
        (ranges[0].start_margin.start, ranges[3].end_margin.end),
        (0.0, f32::MAX)
    );
    for pair in ranges.windows(2) {
        assert_eq!(pair[0].end_margin, pair[1].start_margin);
        assert!(pair[0].start_margin.end <= pair[0].end_margin.start);
    }
}

#[test]
fn a_replaced_file_is_loaded_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mesh.iqm");
    std::fs::copy(valid("iqm", "skin_multi_anim.iqm"), &path).unwrap();
    let mut plugin = MeshmapPlugin::default().with_folder(folder.path());
    // Opened by path, so that the file has an identity.
    plugin.max_whole = 16;
    plugin.stale_check = Duration::from_millis(20);
    let mut app = app(folder.path(), plugin);
    let handle = load(&app, Path::new("mesh.iqm"), |_| {});
    wait(&mut app, &handle).unwrap();
    let before = file(&app, &handle).meshes.len();
    let other = folder.path().join("other");
    std::fs::copy(valid("iqm", "ours_many_meshes_a.iqm"), &other).unwrap();
    std::fs::rename(&other, &path).unwrap();
    let after = until(&mut app, |app| {
        let count = file(app, &handle).meshes.len();
        (count != before).then_some(count)
    });
    assert!(after > 1 && before != after);
}

#[test]
fn a_dropped_handle_frees_everything_that_was_loaded() {
    let path = valid("iqm", "skin_multi_anim.iqm");
    let mut app = app(&root(), MeshmapPlugin::default());
    let handle = load(&app, path.strip_prefix(root()).unwrap(), |_| {});
    wait(&mut app, &handle).unwrap();
    let counts = |app: &App| {
        let world = app.world();
        [
            world.resource::<Assets<MeshmapFile>>().len(),
            world.resource::<Assets<MeshmapMesh>>().len(),
            world.resource::<Assets<Mesh>>().len(),
            world.resource::<Assets<AnimationClip>>().len(),
            world
                .resource::<Assets<SkinnedMeshInverseBindposes>>()
                .len(),
        ]
    };
    assert!(
        counts(&app).iter().all(|count| *count > 0),
        "{:?}",
        counts(&app)
    );
    drop(handle);
    until(&mut app, |app| (counts(app) == [0; 5]).then_some(()));
}

#[test]
fn a_large_file_is_opened_by_path_or_refused_with_advice() {
    let path = valid("cgeo", "anim_a.cgeo");
    let path = path.strip_prefix(root()).unwrap().to_owned();
    let mut refused = MeshmapPlugin::default();
    refused.max_whole = 100;
    let mut without = app(&root(), refused.clone());
    let handle = load(&without, &path, |_| {});
    let error = wait(&mut without, &handle).unwrap_err();
    assert!(
        error.contains("larger than 100 bytes") && error.contains("with_folder"),
        "{error}"
    );
    let mut with = app(&root(), refused.with_folder(root()));
    let handle = load(&with, &path, |_| {});
    wait(&mut with, &handle).unwrap();
    assert!(file(&with, &handle).opened.is_some());
}

#[test]
#[allow(unsafe_code, reason = "the test does not change the file")]
fn maps_are_made_only_if_the_plugin_allows_them() {
    let path = valid("cgeo", "anim_a.cgeo");
    let path = path.strip_prefix(root()).unwrap().to_owned();
    // SAFETY: nothing writes into the files of the repository.
    let maps = unsafe { MeshmapPlugin::default().with_maps(root()) };
    for (plugin, map, opened) in [
        (maps.clone(), true, true),
        (maps, false, false),
        (MeshmapPlugin::default().with_folder(root()), true, false),
    ] {
        let mut app = app(&root(), plugin);
        let handle = load(&app, &path, move |settings| settings.map = map);
        wait(&mut app, &handle).unwrap();
        assert_eq!(file(&app, &handle).opened.is_some(), opened);
    }
}
