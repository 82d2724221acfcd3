//! Loads the files that the address of the page names after `?`, separated by commas, and writes a line for each into the
//! page's element `log`: its vertices, and the frames that were streamed of a proxy.

use bevy_animation::AnimationPlugin;
use bevy_app::{App, ScheduleRunnerPlugin, Startup, TaskPoolPlugin, Update};
use bevy_asset::{AssetMetaCheck, AssetPlugin, AssetServer, Assets, Handle, LoadState};
use bevy_ecs::prelude::*;
use bevy_mesh::Mesh;
use bevy_meshmap::{MeshmapFile, MeshmapMesh, MeshmapPlugin, StreamStats, StreamedProxy};
use bevy_time::TimePlugin;
use bevy_transform::TransformPlugin;
use bevy_world_serialization::WorldSerializationPlugin;

/// Frames of a proxy that are streamed before it is reported.
const FRAMES: u64 = 3;

#[derive(Component)]
struct File {
    name: String,
    handle: Handle<MeshmapFile>,
}

fn main() {
    let assets = AssetPlugin {
        file_path: "files".to_owned(),
        meta_check: AssetMetaCheck::Never,
        ..AssetPlugin::default()
    };
    App::new()
        .add_plugins((
            TaskPoolPlugin::default(),
            TimePlugin,
            ScheduleRunnerPlugin::default(),
            assets,
            WorldSerializationPlugin,
            TransformPlugin,
            AnimationPlugin,
            MeshmapPlugin::default(),
        ))
        .add_systems(Startup, load)
        .add_systems(Update, report)
        .run();
}

fn load(mut commands: Commands, server: Res<AssetServer>) {
    let query = web_sys::window()
        .and_then(|window| window.location().search().ok())
        .unwrap_or_default();
    for name in query.trim_start_matches('?').split(',') {
        let handle = server.load(name.to_owned());
        let file = File {
            name: name.to_owned(),
            handle: handle.clone(),
        };
        let mut entity = commands.spawn(file);
        if name.ends_with(".cgeo") {
            entity.insert(StreamedProxy::new(handle));
        }
    }
}

fn report(
    mut commands: Commands,
    server: Res<AssetServer>,
    files: Res<Assets<MeshmapFile>>,
    meshes: Res<Assets<MeshmapMesh>>,
    primitives: Res<Assets<Mesh>>,
    waiting: Query<(Entity, &File, Option<&StreamStats>, Has<StreamedProxy>)>,
) {
    for (entity, file, stats, streamed) in &waiting {
        let frames = stats.map_or(0, |stats| stats.shown);
        let line = match server.load_state(&file.handle) {
            LoadState::Failed(error) => format!("{}: {error}", file.name),
            LoadState::Loaded if !streamed || frames >= FRAMES => {
                let vertices: usize = files
                    .get(&file.handle)
                    .iter()
                    .flat_map(|loaded| &loaded.meshes)
                    .filter_map(|mesh| meshes.get(mesh))
                    .flat_map(|mesh| &mesh.primitives)
                    .filter_map(|primitive| primitives.get(&primitive.mesh))
                    .map(Mesh::count_vertices)
                    .sum();
                format!("{}: {vertices} vertices, {frames} frames", file.name)
            }
            _ => continue,
        };
        write(&line);
        commands.entity(entity).despawn();
    }
}

fn write(line: &str) {
    let document = web_sys::window().and_then(|window| window.document());
    if let Some(log) = document.and_then(|document| document.get_element_by_id("log")) {
        let text = log.text_content().unwrap_or_default();
        log.set_text_content(Some(&format!("{text}{line}\n")));
    }
}
