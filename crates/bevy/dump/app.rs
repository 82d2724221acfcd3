//! An app without a renderer that loads a file, plays it and streams it.

use std::path::Path;
use std::time::{Duration, Instant};

use bevy_animation::{AnimationPlayer, AnimationPlugin};
use bevy_app::{App, TaskPoolPlugin};
use bevy_asset::{AssetPath, AssetPlugin, AssetServer, Assets, Handle, LoadState};
use bevy_ecs::hierarchy::Children;
use bevy_mesh::Mesh3d;
use bevy_meshmap::meshmap::cgeo::Wrap;
use bevy_meshmap::{MeshmapFile, MeshmapPlugin, MeshmapSettings, StreamStats, StreamedProxy};
use bevy_time::{TimePlugin, TimeUpdateStrategy};
use bevy_transform::TransformPlugin;
use bevy_world_serialization::{WorldAssetRoot, WorldSerializationPlugin};

use crate::json::{self, Sink};
use crate::{Outcome, Request, show};

/// Loads a file, and shows it as a line of JSON.
pub(crate) fn show(path: &Path, request: &Request, sink: &mut Sink) -> Outcome<String> {
    let path = std::path::absolute(path)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let name = path.file_name().unwrap_or_default();
    let mut app = app(folder)?;
    let levels = request.levels;
    let handle: Handle<MeshmapFile> = app
        .world()
        .resource::<AssetServer>()
        .load_builder()
        .with_settings(move |settings: &mut MeshmapSettings| settings.levels = levels)
        .load(AssetPath::from_path(Path::new(name)).into_owned());
    let mut fields = vec![("path", json::text(&path.to_string_lossy()))];
    if let Err(error) = wait(&mut app, &handle)? {
        fields.push(("error", json::text(&error)));
        return Ok(json::object(&fields));
    }
    let file = app.world().resource::<Assets<MeshmapFile>>().get(&handle);
    let file = file.ok_or("the file is gone")?;
    let scene = file.scene.clone();
    let animations = file.animations.clone();
    let root = app.world_mut().spawn(WorldAssetRoot(scene)).id();
    until(&mut app, |app| {
        app.world().get::<Children>(root).map(|_| ())
    })?;
    app.update();
    fields.extend(show::file(&mut app, &handle, sink)?);

    let mut played = Vec::new();
    for (index, seconds) in &request.clips {
        let Some(animation) = animations.get(*index) else {
            continue;
        };
        let mut players = app.world_mut().query::<&mut AnimationPlayer>();
        let mut player = players.single_mut(app.world_mut())?;
        player.stop_all();
        player.play(animation.node).set_seek_time(*seconds);
        app.update();
        played.push(json::object(&[
            ("clip", index.to_string()),
            ("seconds", seconds.to_string()),
            ("joints", show::joints(&mut app, sink)?),
        ]));
    }
    fields.push(("played", json::list(&played)));

    app.world_mut().entity_mut(root).despawn();
    let mut streamed = Vec::new();
    for seconds in &request.snapshots {
        if let Some(part) = stream(&mut app, &handle, *seconds, sink)? {
            streamed.push(part);
        }
    }
    fields.push(("streamed", json::list(&streamed)));
    Ok(json::object(&fields))
}

fn app(folder: &Path) -> Outcome<App> {
    let mut app = App::new();
    let file_path = folder.to_str().ok_or("a folder in UTF-8")?.to_owned();
    let assets = AssetPlugin {
        file_path,
        watch_for_changes_override: Some(false),
        ..Default::default()
    };
    app.add_plugins((
        TaskPoolPlugin::default(),
        TimePlugin,
        assets,
        WorldSerializationPlugin,
        TransformPlugin,
        AnimationPlugin,
        MeshmapPlugin::default(),
    ));
    app.finish();
    app.cleanup();
    // The player shows exactly the time that is asked for.
    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::ZERO));
    Ok(app)
}

/// Runs the app until `done` returns a value.
fn until<T>(app: &mut App, mut done: impl FnMut(&mut App) -> Option<T>) -> Outcome<T> {
    const LONGEST: Duration = Duration::from_secs(300);
    let start = Instant::now();
    loop {
        app.update();
        if let Some(value) = done(app) {
            return Ok(value);
        }
        if start.elapsed() > LONGEST {
            return Err("nothing came in time".into());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waits for a load; the inner error is the text of a load that failed.
fn wait(app: &mut App, handle: &Handle<MeshmapFile>) -> Outcome<Result<(), String>> {
    until(app, |app| {
        match app.world().resource::<AssetServer>().load_state(handle) {
            LoadState::Loaded => Some(Ok(())),
            LoadState::Failed(error) => Some(Err(error.to_string())),
            _ => None,
        }
    })
}

/// The mesh of a stream at a time; `None` if the file is not a proxy, or its frame cannot be decoded.
fn stream(
    app: &mut App,
    handle: &Handle<MeshmapFile>,
    seconds: f64,
    sink: &mut Sink,
) -> Outcome<Option<String>> {
    let file = app.world().resource::<Assets<MeshmapFile>>().get(handle);
    let file = file.ok_or("the file is gone")?;
    if file.proxy.is_none() {
        return Ok(None);
    }
    let stream = StreamedProxy {
        time: seconds,
        speed: 0.0,
        wrap: Wrap::Clamp,
        ..StreamedProxy::new(handle.clone())
    };
    let root = file.root;
    let entity = app.world_mut().spawn((stream, root)).id();
    let is_shown = until(app, |app| {
        let stats = app.world().get::<StreamStats>(entity)?;
        (stats.shown + stats.failed > 0).then_some(stats.failed == 0)
    })?;
    app.update();
    let mesh = app.world().get::<Mesh3d>(entity).map(|mesh| mesh.0.clone());
    let mut part = None;
    if let Some(mesh) = mesh.filter(|_| is_shown) {
        let mut fields = vec![("seconds", seconds.to_string())];
        fields.extend(show::mesh(app, &mesh, sink)?);
        fields.push(("transform", show::place(app, entity, sink)?));
        part = Some(json::object(&fields));
    }
    app.world_mut().entity_mut(entity).despawn();
    Ok(part)
}
