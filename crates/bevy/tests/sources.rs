//! Assets of sources other than files that are read once: watched and processed files, embedded and memory sources, settings in `.meta`
//! files, and several worlds.
#![allow(
    clippy::field_reassign_with_default,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod common;

use std::path::{Path, PathBuf};

use bevy_app::App;
use bevy_asset::io::embedded::EmbeddedAssetRegistry;
use bevy_asset::io::memory::{Dir, MemoryAssetReader};
use bevy_asset::io::{AssetSourceBuilder, AssetSourceId};
use bevy_asset::{AssetApp, AssetMode, AssetServer, Assets, Handle};
use bevy_mesh::Mesh;
use bevy_meshmap::{MeshmapFile, MeshmapPlugin};
use common::{app, app_with, load, until, wait};
use meshmap_testing::data::{root, valid};

fn meshes(app: &App, handle: &Handle<MeshmapFile>) -> usize {
    app.world()
        .resource::<Assets<MeshmapFile>>()
        .get(handle)
        .unwrap()
        .meshes
        .len()
}

/// The vertices of all meshes that are loaded.
fn vertices(app: &App) -> usize {
    app.world()
        .resource::<Assets<Mesh>>()
        .iter()
        .map(|(_, mesh)| mesh.count_vertices())
        .sum()
}

#[test]
fn bevy_s_watcher_loads_a_changed_file_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mesh.iqm");
    std::fs::copy(valid("iqm", "skin_multi_anim.iqm"), &path).unwrap();
    let mut app = app_with(folder.path(), MeshmapPlugin::default(), |assets| {
        assets.watch_for_changes_override = Some(true);
    });
    let handle = load(&app, Path::new("mesh.iqm"), |_| {});
    wait(&mut app, &handle).unwrap();
    let before = meshes(&app, &handle);
    std::fs::copy(valid("iqm", "ours_many_meshes_a.iqm"), &path).unwrap();
    let after = until(&mut app, |app| {
        let count = meshes(app, &handle);
        (count != before).then_some(count)
    });
    assert!(after > before, "{after} meshes after {before}");
}

#[test]
fn every_format_loads_from_embedded_and_memory_sources() {
    let files = [
        valid("cgeo", "anim_a.cgeo"),
        valid("iqm", "skin_multi_anim.iqm"),
        valid("openctm", "conv_sphere_obj_MG1.ctm"),
        valid("slmesh", "nodemv_02_static_4lod.slmesh"),
        valid("tmf", "v011_multi_names.tmf"),
    ];
    for path in files {
        let bytes = std::fs::read(&path).unwrap();
        let name = path.file_name().unwrap();
        let dir = Dir::default();
        dir.insert_asset(Path::new(name), bytes.clone());
        let mut expected = app(&root(), MeshmapPlugin::default());
        let handle = load(&expected, path.strip_prefix(root()).unwrap(), |_| {});
        wait(&mut expected, &handle).unwrap();
        let mut app = App::new();
        let reader = dir.clone();
        app.register_asset_source(
            AssetSourceId::from("memory"),
            AssetSourceBuilder::new(move || {
                Box::new(MemoryAssetReader {
                    root: reader.clone(),
                })
            }),
        );
        let mut app = common::finish(app, &root(), MeshmapPlugin::default(), |_| {});
        let registry = app.world().resource::<EmbeddedAssetRegistry>();
        registry.insert_asset(PathBuf::new(), Path::new(name), bytes);
        for source in ["memory", "embedded"] {
            let asset = format!("{source}://{}", name.to_str().unwrap());
            let handle = app
                .world()
                .resource::<AssetServer>()
                .load::<MeshmapFile>(asset);
            wait(&mut app, &handle).unwrap();
            assert_eq!(
                vertices(&app),
                vertices(&expected),
                "{source}: {}",
                path.display()
            );
            drop(handle);
            until(&mut app, |app| (vertices(app) == 0).then_some(()));
        }
    }
}

#[test]
fn bevy_s_processor_hands_files_on() {
    let folder = tempfile::tempdir().unwrap();
    let (sources, processed) = (
        folder.path().join("assets"),
        folder.path().join("processed"),
    );
    std::fs::create_dir(&sources).unwrap();
    let name = "skin_multi_anim.iqm";
    std::fs::copy(valid("iqm", name), sources.join(name)).unwrap();
    let mut app = app_with(&sources, MeshmapPlugin::default(), |assets| {
        assets.mode = AssetMode::Processed;
        assets.use_asset_processor_override = Some(true);
        processed
            .to_str()
            .unwrap()
            .clone_into(&mut assets.processed_file_path);
    });
    let handle = load(&app, Path::new(name), |_| {});
    wait(&mut app, &handle).unwrap();
    assert!(vertices(&app) > 0);
    assert!(
        processed.join(name).is_file(),
        "the file was not read from the processor's folder"
    );
}

#[test]
fn settings_come_from_meta_files() {
    let folder = tempfile::tempdir().unwrap();
    let name = "nodemv_02_static_4lod.slmesh";
    std::fs::copy(valid("slmesh", name), folder.path().join(name)).unwrap();
    let count = |folder: &Path| {
        let mut app = app(folder, MeshmapPlugin::default());
        let handle = app
            .world()
            .resource::<AssetServer>()
            .load::<MeshmapFile>(name);
        wait(&mut app, &handle).unwrap();
        meshes(&app, &handle)
    };
    let finest = count(folder.path());
    // A setting that is not named has its default.
    let meta = r#"(
        meta_format_version: "1.0",
        asset: Load(loader: "bevy_meshmap::loader::MeshmapLoader", settings: (levels: All)),
    )"#;
    std::fs::write(folder.path().join(format!("{name}.meta")), meta).unwrap();
    assert_eq!(count(folder.path()), 4 * finest);
}

#[test]
fn worlds_load_the_same_file_and_end_in_any_order() {
    let path = valid("cgeo", "anim_a.cgeo");
    let path = path.strip_prefix(root()).unwrap();
    let mut worlds: Vec<App> = (0..3)
        .map(|_| app(&root(), MeshmapPlugin::default().with_folder(root())))
        .collect();
    let handles: Vec<_> = worlds.iter().map(|app| load(app, path, |_| {})).collect();
    for (app, handle) in worlds.iter_mut().zip(&handles) {
        wait(app, handle).unwrap();
    }
    let expected = vertices(&worlds[0]);
    assert!(expected > 0);
    drop(worlds.remove(0));
    for app in &mut worlds {
        app.update();
        assert_eq!(vertices(app), expected);
    }
}
