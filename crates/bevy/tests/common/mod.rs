//! An app without a window and without a renderer.

#![allow(dead_code, reason = "each test uses some of these")]

use std::path::Path;
use std::time::{Duration, Instant};

use bevy_animation::AnimationPlugin;
use bevy_app::{App, TaskPoolPlugin};
use bevy_asset::{AssetPath, AssetPlugin, AssetServer, Handle, LoadState, UnapprovedPathMode};
use bevy_meshmap::{MeshmapFile, MeshmapPlugin, MeshmapSettings};
use bevy_time::TimePlugin;
use bevy_transform::TransformPlugin;
use bevy_world_serialization::WorldSerializationPlugin;

pub(crate) fn app(folder: &Path, plugin: MeshmapPlugin) -> App {
    app_with(folder, plugin, |_| {})
}

pub(crate) fn app_with(
    folder: &Path,
    plugin: MeshmapPlugin,
    change: impl Fn(&mut AssetPlugin),
) -> App {
    finish(App::new(), folder, plugin, change)
}

/// Adds the plugins to an app that may have asset sources already.
pub(crate) fn finish(
    mut app: App,
    folder: &Path,
    plugin: MeshmapPlugin,
    change: impl Fn(&mut AssetPlugin),
) -> App {
    let mut assets = AssetPlugin {
        file_path: folder.to_str().expect("a path in UTF-8").to_owned(),
        unapproved_path_mode: UnapprovedPathMode::Forbid,
        watch_for_changes_override: Some(false),
        ..Default::default()
    };
    change(&mut assets);
    app.add_plugins((
        TaskPoolPlugin::default(),
        TimePlugin,
        assets,
        WorldSerializationPlugin,
        TransformPlugin,
        AnimationPlugin,
        plugin,
    ));
    app.finish();
    app.cleanup();
    app
}

/// Runs the app until `done` returns a value.
pub(crate) fn until<T>(app: &mut App, mut done: impl FnMut(&mut App) -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        app.update();
        if let Some(value) = done(app) {
            return value;
        }
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "nothing came within a minute"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub(crate) fn load(
    app: &App,
    path: &Path,
    change: impl Fn(&mut MeshmapSettings) + Send + Sync + 'static,
) -> Handle<MeshmapFile> {
    let server = app.world().resource::<AssetServer>();
    server
        .load_builder()
        .with_settings(change)
        .load(AssetPath::from_path(path).into_owned())
}

/// Waits for a load; the text of its error if it failed.
pub(crate) fn wait(app: &mut App, handle: &Handle<MeshmapFile>) -> Result<(), String> {
    until(app, |app| {
        match app.world().resource::<AssetServer>().load_state(handle) {
            LoadState::Loaded => Some(Ok(())),
            LoadState::Failed(error) => Some(Err(error.to_string())),
            _ => None,
        }
    })
}
