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

use bevy_animation::{AnimationClip, AnimationPlayer};
use bevy_app::App;
use bevy_asset::{AssetPath, AssetServer, Assets, Handle};
use bevy_camera::visibility::VisibilityRange;
use bevy_math::Mat4;
use bevy_mesh::Mesh;
use bevy_mesh::skinning::{SkinnedMesh, SkinnedMeshInverseBindposes};
use bevy_meshmap::meshmap::iqm::{Model, to_columns};
use bevy_meshmap::{Axes, Levels, MeshmapFile, MeshmapMesh, MeshmapPlugin};
use bevy_time::TimeUpdateStrategy;
use bevy_transform::components::GlobalTransform;
use bevy_world_serialization::WorldAssetRoot;
use common::{app, load, until, wait};
use meshmap_testing::data::{root, valid};

fn file<'a>(app: &'a App, handle: &Handle<MeshmapFile>) -> &'a MeshmapFile {
    app.world().resource::<Assets<MeshmapFile>>().get(handle).unwrap()
}

#[test]
fn skinned_frames_equal_the_matrices_of_the_library() {
    let path = valid("iqm", "skin_multi_anim.iqm");
    let model = Model::open(&path).unwrap();
    let skeleton = model.skeleton().unwrap();
    let mut app = app(&root(), MeshmapPlugin::default());
    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::ZERO));
    let handle = load(&app, path.strip_prefix(root()).unwrap(), |settings| settings.axes = Axes::AsStored);
    wait(&mut app, &handle).unwrap();
    let (scene, animations) = (file(&app, &handle).scene.clone(), file(&app, &handle).animations.clone());
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
            let rate = if anim.framerate > 0.0 { anim.framerate } else { 24.0 };
            let seconds = (frame - anim.first_frame) as f32 / rate;
            let mut player = players.single_mut(app.world_mut()).unwrap();
            player.stop_all();
            player.play(animation.node).set_seek_time(seconds);
            app.update();
            let mut pose = vec![Default::default(); skeleton.len()];
            model.frames().read_frame_into(frame, &mut pose).unwrap();
            let matrices = skeleton.skinning_matrices(&pose).unwrap();
            let world = app.world();
            let skin = skins.iter(world).next().unwrap();
            let inverse =
                world.resource::<Assets<SkinnedMeshInverseBindposes>>().get(&skin.inverse_bindposes).unwrap();
            for ((joint, inverse), expected) in skin.joints.iter().zip(inverse.iter()).zip(&matrices) {
                let found = Mat4::from(world.get::<GlobalTransform>(*joint).unwrap().affine()) * *inverse;
                let expected = Mat4::from_cols_array_2d(&to_columns(expected));
                let size = expected.to_cols_array().iter().fold(1.0_f32, |size, value| size.max(value.abs()));
                assert!(found.abs_diff_eq(expected, 1e-5 * size), "frame {frame}: {found} is not {expected}");
                compared += 1;
            }
        }
    }
    assert!(compared > 0);
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
    for label in ["Mesh0/Primitive0", "Lod1/Mesh0/Primitive0", "Lod3/Mesh0/Primitive0"] {
        let mesh = server.get_handle::<Mesh>(AssetPath::from_path(&path).into_owned().with_label(label));
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
    assert_eq!((ranges[0].start_margin.start, ranges[3].end_margin.end), (0.0, f32::MAX));
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
            world.resource::<Assets<SkinnedMeshInverseBindposes>>().len(),
        ]
    };
    assert!(counts(&app).iter().all(|count| *count > 0), "{:?}", counts(&app));
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
    assert!(error.contains("larger than 100 bytes") && error.contains("with_folder"), "{error}");
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
