//! Draws a file of any format.

use bevy::asset::AssetPath;
use bevy::prelude::*;
use bevy_meshmap::MeshmapFile;
use bevy_meshmap_examples::{app, arguments, bounds, load, look, run, split, write};

fn main() {
    let (file, picture) = arguments("viewer FILE PICTURE.png");
    let (folder, name) = split(&file);
    let mut app = app(&folder);
    let handle: Handle<MeshmapFile> = app
        .world()
        .resource::<AssetServer>()
        .load(AssetPath::from_path(&name).into_owned());
    load(&mut app, &handle);
    let scene = app
        .world()
        .resource::<Assets<MeshmapFile>>()
        .get(&handle)
        .map(|file| file.scene.clone());
    app.world_mut()
        .spawn(WorldAssetRoot(scene.expect("the file is loaded")));
    run(&mut app, 3);
    let (min, max) = bounds(&mut app);
    look(&mut app, min, max, Vec3::new(0.6, 0.45, 1.0));
    write(&mut app, &picture);
}
