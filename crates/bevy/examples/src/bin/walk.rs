//! Plays the first animation of an IQM model, and draws four figures at different times of it.

use bevy::asset::AssetPath;
use bevy::prelude::*;
use bevy_meshmap::MeshmapFile;
use bevy_meshmap_examples::{app, arguments, bounds, load, look, run, split, write};

fn main() {
    let (file, picture) = arguments("walk MODEL.iqm PICTURE.png");
    let (folder, name) = split(&file);
    let mut app = app(&folder);
    let handle: Handle<MeshmapFile> = app
        .world()
        .resource::<AssetServer>()
        .load(AssetPath::from_path(&name).into_owned());
    load(&mut app, &handle);
    let file = app
        .world()
        .resource::<Assets<MeshmapFile>>()
        .get(&handle)
        .expect("the file is loaded");
    let (scene, animation) = (file.scene.clone(), file.animations.first().cloned());
    let Some(animation) = animation else {
        eprintln!("{}: the model has no animations", name.display());
        std::process::exit(1);
    };
    app.world_mut().spawn(WorldAssetRoot(scene.clone()));
    run(&mut app, 3);
    let (min, max) = bounds(&mut app);
    let width = (max - min).max_element() * 1.1;
    for place in 1..4 {
        app.world_mut().spawn((
            WorldAssetRoot(scene.clone()),
            Transform::from_xyz(width * place as f32, 0.0, 0.0),
        ));
    }
    run(&mut app, 3);
    // Each figure starts a quarter of the animation later.
    let clip = app
        .world()
        .resource::<Assets<AnimationClip>>()
        .get(&animation.clip)
        .map(AnimationClip::duration);
    let mut players = app.world_mut().query::<&mut AnimationPlayer>();
    for (place, mut player) in players.iter_mut(app.world_mut()).enumerate() {
        player
            .play(animation.node)
            .repeat()
            .seek_to(clip.unwrap_or_default() * place as f32 / 4.0);
    }
    run(&mut app, 5);
    look(
        &mut app,
        min,
        max + Vec3::X * width * 3.0,
        Vec3::new(0.3, 0.3, 1.0),
    );
    write(&mut app, &picture);
}
