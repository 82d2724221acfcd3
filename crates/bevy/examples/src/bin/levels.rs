//! Draws a file with levels of detail five times, farther and farther from the camera.

use bevy::asset::AssetPath;
use bevy::prelude::*;
use bevy_meshmap::{Levels, MeshmapFile, MeshmapMesh, MeshmapSettings};
use bevy_meshmap_examples::{app, arguments, bounds, load, look, run, split, write};

fn main() {
    let (file, picture) = arguments("levels ASSET.slmesh PICTURE.png");
    let (folder, name) = split(&file);
    let mut app = app(&folder);
    let server = app.world().resource::<AssetServer>();
    let settings = |settings: &mut MeshmapSettings| {
        settings.levels = Levels::All;
        settings.level_distances = vec![4.0, 5.5, 7.0];
    };
    let path = AssetPath::from_path(&name).into_owned();
    let handle: Handle<MeshmapFile> = server.load_builder().with_settings(settings).load(path);
    load(&mut app, &handle);
    let file = app
        .world()
        .resource::<Assets<MeshmapFile>>()
        .get(&handle)
        .expect("the file is loaded");
    for mesh in &file.meshes {
        let mesh = app
            .world()
            .resource::<Assets<MeshmapMesh>>()
            .get(mesh)
            .expect("the mesh is loaded");
        println!("{}: level {:?}", mesh.address, mesh.lod);
    }
    let scene = file.scene.clone();
    app.world_mut().spawn(WorldAssetRoot(scene.clone()));
    run(&mut app, 3);
    let (min, max) = bounds(&mut app);
    // The unit of the file is the size of the object: here each is 1 long.
    for place in 1..5 {
        let offset = Vec3::new(1.2, 0.0, -1.4) * place as f32;
        app.world_mut().spawn((
            WorldAssetRoot(scene.clone()),
            Transform::from_translation(offset),
        ));
    }
    run(&mut app, 3);
    look(&mut app, min, max + Vec3::X * 1.5, Vec3::new(0.1, 0.5, 1.0));
    write(&mut app, &picture);
}
