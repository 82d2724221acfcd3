//! Streams one CGeo proxy into nine meshes, each at another time of its animation.

use bevy::asset::AssetPath;
use bevy::prelude::*;
use bevy_meshmap::{MeshmapFile, StreamStats, StreamedProxy};
use bevy_meshmap_examples::{app, arguments, bounds, load, look, run, split, write};

fn main() {
    let (file, picture) = arguments("crowd PROXY.cgeo PICTURE.png");
    let (folder, name) = split(&file);
    let mut app = app(&folder);
    let handle: Handle<MeshmapFile> = app
        .world()
        .resource::<AssetServer>()
        .load(AssetPath::from_path(&name).into_owned());
    load(&mut app, &handle);
    let files = app.world().resource::<Assets<MeshmapFile>>();
    let root = files.get(&handle).expect("the file is loaded").root;
    let mut entities = Vec::new();
    for index in 0..9 {
        let color = Color::hsl(index as f32 * 40.0, 0.5, 0.6);
        // The format does not define which side of a triangle is its front.
        let material = StandardMaterial {
            base_color: color,
            cull_mode: None,
            ..default()
        };
        let material = app
            .world_mut()
            .resource_mut::<Assets<StandardMaterial>>()
            .add(material);
        let stream = StreamedProxy {
            time: index as f64 * 0.2,
            ..StreamedProxy::new(handle.clone())
        };
        entities.push(
            app.world_mut()
                .spawn((stream, MeshMaterial3d(material), root))
                .id(),
        );
    }
    // The first frames wait for shaders, which are compiled in the same task pool.
    let mut stats = app.world_mut().query::<&StreamStats>();
    while stats
        .iter(app.world())
        .any(|stats| stats.shown + stats.failed == 0)
    {
        run(&mut app, 1);
    }
    let (min, max) = bounds(&mut app);
    let size = (max - min).max_element() * 1.2;
    for (index, entity) in entities.iter().enumerate() {
        let place = Vec3::new((index % 3) as f32, 0.0, (index / 3) as f32) * size;
        app.world_mut()
            .entity_mut(*entity)
            .insert(root.with_translation(place));
    }
    run(&mut app, 24);
    for entity in &entities {
        let stats = app.world().get::<StreamStats>(*entity).expect("a stream");
        println!(
            "{} frames shown, {} missed, {} failed",
            stats.shown, stats.missed, stats.failed
        );
    }
    look(
        &mut app,
        min,
        max + Vec3::new(size, 0.0, size) * 2.0,
        Vec3::new(0.4, 0.6, 1.0),
    );
    write(&mut app, &picture);
}
