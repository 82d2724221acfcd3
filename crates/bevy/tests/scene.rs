//! The decisions of `meshmap-scene` about a file, in Bevy: joints and clips of all kinds, materials, images.
#![allow(
    clippy::field_reassign_with_default,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod common;

use std::path::{Path, PathBuf};
use std::time::Duration;

use bevy_animation::{AnimatedBy, AnimationPlayer};
use bevy_app::App;
use bevy_asset::{Assets, Handle};
use bevy_color::Color;
use bevy_ecs::entity::Entity;
use bevy_ecs::name::Name;
use bevy_math::Mat4;
use bevy_meshmap::meshmap::{Limits, MeshFile, Options};
use bevy_meshmap::{
    Axes, MeshmapFile, MeshmapMaterial, MeshmapMesh, MeshmapPlugin, MeshmapSettings, MeshmapSkin,
};
use bevy_time::TimeUpdateStrategy;
use bevy_transform::components::GlobalTransform;
use bevy_world_serialization::WorldAssetRoot;
use common::{app, load, until, wait};
use meshmap_scene::{Scene, SceneOptions};
use meshmap_testing::data::{root, valid};
use meshmap_testing::fixtures::iqm;

fn in_file_axes(settings: &mut MeshmapSettings) {
    settings.axes = Axes::AsStored;
}

/// Loads a file from a folder, in the axes of the file.
fn loaded(
    folder: &Path,
    name: impl AsRef<Path>,
    plugin: MeshmapPlugin,
) -> (App, Handle<MeshmapFile>) {
    let mut app = app(folder, plugin);
    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::ZERO));
    let handle = load(&app, name.as_ref(), in_file_axes);
    wait(&mut app, &handle).unwrap();
    (app, handle)
}

fn file<'a>(app: &'a App, handle: &Handle<MeshmapFile>) -> &'a MeshmapFile {
    let files = app.world().resource::<Assets<MeshmapFile>>();
    files.get(handle).unwrap()
}

fn material(app: &App, handle: &Handle<MeshmapFile>, index: usize) -> MeshmapMaterial {
    let materials = app.world().resource::<Assets<MeshmapMaterial>>();
    let handle = &file(app, handle).materials[index];
    materials.get(handle).unwrap().clone()
}

/// Spawns the scene; returns its joints.
fn spawn(app: &mut App, handle: &Handle<MeshmapFile>) -> Vec<Entity> {
    let scene = file(app, handle).scene.clone();
    app.world_mut().spawn(WorldAssetRoot(scene));
    let mut joints = app.world_mut().query::<(Entity, &AnimatedBy)>();
    until(app, |app| joints.iter(app.world()).next().map(|_| ()));
    let skins = app.world().resource::<Assets<MeshmapSkin>>();
    let skin = skins.get(&file(app, handle).skins[0]).unwrap().clone();
    let mut names = app.world_mut().query::<(Entity, &Name, &AnimatedBy)>();
    let entity_of = |name: &String| {
        let mut found = names
            .iter(app.world())
            .filter(|(_, own, _)| own.as_str() == name);
        let (entity, _, _) = found.next().unwrap();
        assert!(found.next().is_none(), "two joints are named {name}");
        entity
    };
    skin.names.iter().map(entity_of).collect()
}

/// Plays an animation, and stops at a time.
fn play(app: &mut App, handle: &Handle<MeshmapFile>, animation: usize, seconds: f32) {
    let node = file(app, handle).animations[animation].node;
    let mut players = app.world_mut().query::<&mut AnimationPlayer>();
    let mut player = players.single_mut(app.world_mut()).unwrap();
    player.stop_all();
    player.play(node).set_seek_time(seconds);
    app.update();
}

fn place(app: &App, joint: Entity) -> Mat4 {
    let place = app.world().get::<GlobalTransform>(joint).unwrap();
    place.to_matrix()
}

/// Compares the places of joints in all frames of all clips with the matrices of the scene. Returns the number of frames.
fn frames_equal_the_scene(path: &Path) -> usize {
    let stored = MeshFile::open(path).unwrap();
    let scene = Scene::new(&stored, &SceneOptions::default()).unwrap();
    let skeleton = scene.skeleton(&mut Vec::new()).unwrap().unwrap();
    let clips = scene.clips(skeleton.joints.len(), &mut Vec::new());
    let folder = path.parent().unwrap();
    let name = path.file_name().unwrap();
    let (mut app, handle) = loaded(folder, name, MeshmapPlugin::default());
    assert_eq!(file(&app, &handle).animations.len(), clips.len());
    let joints = spawn(&mut app, &handle);
    let mut frames = 0;
    for (index, clip) in clips.iter().enumerate() {
        for frame in 0..clip.frame_count() {
            play(&mut app, &handle, index, frame as f32 / clip.rate());
            for (joint, expected) in joints.iter().zip(clip.sample(frame as u32).unwrap()) {
                let found = place(&app, *joint);
                let expected = Mat4::from_cols_array(&expected.map(|number| number as f32));
                let numbers = expected.to_cols_array().into_iter();
                let size = numbers.fold(1.0_f32, |size, number| size.max(number.abs()));
                assert!(
                    found.abs_diff_eq(expected, 1e-4 * size),
                    "{}: frame {frame}: {found} is not {expected}",
                    path.display()
                );
            }
            frames += 1;
        }
    }
    frames
}

#[test]
fn frames_relative_to_other_parents_play() {
    let path = root().join("iqm/regressions/other_pose_parents.iqm");
    assert!(frames_equal_the_scene(&path) > 1);
}

#[test]
fn sheared_animations_are_left_out_with_a_warning() {
    let name = "iqm/regressions/other_pose_parents_shear.iqm";
    let (app, handle) = loaded(&root(), name, MeshmapPlugin::default());
    let file = file(&app, &handle);
    assert_eq!(file.animations.len(), 0);
    assert!(!file.meshes.is_empty() && !file.skins.is_empty());
    let warning = file.warnings.iter().find(|text| text.contains("sheared"));
    assert!(
        warning.is_some_and(|text| text.starts_with("animation 0 is left out: ")),
        "{:?}",
        file.warnings
    );
}

#[test]
fn files_with_only_animations_have_joints_and_clips() {
    // The first two have no joints: the poses of their first frames are some.
    for name in [
        "ours_masks_a.iqm",
        "anim_constant.iqm",
        "anim_only_joints.iqm",
    ] {
        let path = valid("iqm", name);
        let (mut app, handle) = loaded(path.parent().unwrap(), name, MeshmapPlugin::default());
        let skins = app.world().resource::<Assets<MeshmapSkin>>();
        let skin = skins.get(&file(&app, &handle).skins[0]).unwrap().clone();
        assert!(file(&app, &handle).meshes.is_empty() && file(&app, &handle).graph.is_some());
        assert!(!skin.names.is_empty() && !skin.names[0].is_empty());
        assert_eq!(spawn(&mut app, &handle).len(), skin.names.len());
        assert!(frames_equal_the_scene(&path) > 0);
    }
}

/// A file of animations that share frames: `count` animations of 4 of 10 frames.
fn many_animations(count: u32) -> Vec<u8> {
    let mut writer = iqm::Writer::sheets(1, 2, 2).animated(2, 10);
    for _ in 1..count {
        writer = writer.with_anim("clip");
    }
    let mut data = writer.to_bytes();
    let number = |data: &[u8], at: usize| u32::from_le_bytes(data[at..at + 4].try_into().unwrap());
    assert_eq!((number(&data, 0x54), number(&data, 0x5c)), (count, 10));
    let anims = number(&data, 0x58) as usize;
    for anim in 0..count {
        let at = anims + anim as usize * 20;
        data[at + 4..at + 8].copy_from_slice(&(anim % 7).to_le_bytes());
        data[at + 8..at + 12].copy_from_slice(&4_u32.to_le_bytes());
    }
    data
}

#[test]
fn animations_that_share_frames_load() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("many.iqm"), many_animations(200)).unwrap();
    let (app, handle) = loaded(folder.path(), "many.iqm", MeshmapPlugin::default());
    let file = file(&app, &handle);
    assert_eq!(file.animations.len(), 200);
    let mut names: Vec<&str> = file
        .animations
        .iter()
        .map(|animation| animation.name.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 200, "each has a name of its own");
    assert!(
        file.warnings
            .iter()
            .all(|text| !text.contains("is left out")),
        "{:?}",
        file.warnings
    );
}

#[test]
fn animations_beyond_the_limit_are_left_out_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("many.iqm"), many_animations(200)).unwrap();
    let mut plugin = MeshmapPlugin::default();
    let limits = Limits::default()
        .with_max_total_bytes(100_000)
        .with_free_ratio(0);
    plugin.options = Options::default().with_limits(limits);
    let (app, handle) = loaded(folder.path(), "many.iqm", plugin);
    let file = file(&app, &handle);
    let kept = file.animations.len();
    assert!(kept > 10 && kept < 200, "{kept}");
    let left_out = |text: &&String| text.contains("left out");
    let warnings: Vec<&String> = file.warnings.iter().filter(left_out).collect();
    let others = 200 - kept - 16;
    assert_eq!(warnings.len(), 17);
    assert_eq!(
        *warnings[16],
        format!("{others} more animations are left out")
    );
    for (index, warning) in (kept..).zip(&warnings[..16]) {
        let start = format!("animation {index} is left out: ");
        assert!(warning.starts_with(&start), "{warning}");
        assert!(warning.contains("with_max_total_bytes"), "{warning}");
    }
}

#[test]
fn points_are_not_lit() {
    let points = valid("openctm", "fakepointb_MG2.ctm");
    let triangles = valid("openctm", "conv_sphere_obj_MG1.ctm");
    for (path, unlit) in [(points, true), (triangles, false)] {
        let name = path.strip_prefix(root()).unwrap();
        let (app, handle) = loaded(&root(), name, MeshmapPlugin::default());
        assert_eq!(
            material(&app, &handle, 0).unlit,
            unlit,
            "{}",
            path.display()
        );
    }
}

/// The colour of each primitive, by the scene.
fn tints(path: &Path) -> Vec<[u8; 3]> {
    let stored = MeshFile::open(path).unwrap();
    let scene = Scene::new(&stored, &SceneOptions::default()).unwrap();
    let tints = scene.tints();
    let mut colors = Vec::new();
    for (index, shape) in scene.shapes().iter().enumerate() {
        let view = shape.view(0).unwrap().by_material().unwrap();
        for group in view.groups() {
            let id = view.material_ids().map(|_| group.material);
            colors.push(tints.color(index, id));
        }
    }
    colors
}

#[test]
fn colours_are_the_palette_of_all_programs() {
    let files: [PathBuf; 5] = [
        valid("tmf", "v011_multi_names.tmf"),
        valid("openctm", "hand_concat_b.ctm"),
        valid("cgeo", "anim_a.cgeo"),
        valid("slmesh", "nodemv_02_static_4lod.slmesh"),
        valid("iqm", "ours_names_a.iqm"),
    ];
    for path in files {
        let name = path.strip_prefix(root()).unwrap();
        let (app, handle) = loaded(&root(), name, MeshmapPlugin::default());
        let shapes = app.world().resource::<Assets<MeshmapMesh>>();
        let mut found = Vec::new();
        for mesh in &file(&app, &handle).meshes {
            for primitive in &shapes.get(mesh).unwrap().primitives {
                found.push(material(&app, &handle, primitive.material).color);
            }
        }
        let expected: Vec<Color> = tints(&path)
            .into_iter()
            .map(|[red, green, blue]| Color::srgb_u8(red, green, blue))
            .collect();
        assert!(!found.is_empty());
        assert_eq!(found, expected, "{}", path.display());
    }
}

/// A model with texture coordinates, whose material has a name.
fn model(material: &str) -> Vec<u8> {
    let sheets = iqm::Writer::sheets(1, 4, 4);
    sheets.with_names("sheet", material).to_bytes()
}

/// Loads `models/model.iqm`, whose material has a name, from a folder of assets with these files.
fn with_image(material_name: &str, files: &[&str]) -> (MeshmapMaterial, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let assets = folder.path().join("assets");
    std::fs::create_dir_all(assets.join("models/skins")).unwrap();
    std::fs::write(assets.join("models/model.iqm"), model(material_name)).unwrap();
    for name in files {
        let image = root().join("textures/crate.png");
        std::fs::copy(image, assets.join(name)).unwrap();
    }
    let (app, handle) = loaded(&assets, "models/model.iqm", MeshmapPlugin::default());
    let warnings = file(&app, &handle).warnings.clone();
    (material(&app, &handle, 0), warnings)
}

#[test]
fn images_beside_the_file_are_found() {
    for (name, image) in [
        ("crate.png", "models/crate.png"),
        ("skins/crate.png", "models/skins/crate.png"),
        ("D:\\art\\skins\\crate.png", "models/crate.png"),
        // With another ending, or without one.
        ("crate.tga", "models/crate.png"),
        ("crate", "models/crate.png"),
    ] {
        let (material, warnings) = with_image(name, &[image]);
        let path = material.image_path.map(|path| path.to_string());
        assert_eq!(path.as_deref(), Some(image), "{name}");
        assert_eq!(material.image.as_deref(), Some(name));
        assert_eq!(material.color, Color::srgb_u8(255, 255, 255), "{name}");
        assert_eq!(warnings, [""; 0], "{name}");
    }
}

#[test]
fn images_that_are_not_there_are_a_warning() {
    let (material, warnings) = with_image("crate.png", &["crate.png"]);
    assert_eq!(material.image_path, None);
    assert_ne!(material.color, Color::srgb_u8(255, 255, 255));
    assert_eq!(
        warnings,
        [
            "images are not shown, because they are not in the folder models, not with another ending either: crate.png"
        ]
    );
    // The name of a material, which means no image.
    let (material, warnings) = with_image("steel", &[]);
    assert_eq!((material.image_path, warnings.len()), (None, 0));
}

#[test]
fn no_name_of_an_image_leads_out_of_the_folder_of_the_file() {
    let outside = tempfile::tempdir().unwrap();
    let outside = outside.path().join("secret.png");
    std::fs::write(&outside, "secret").unwrap();
    let absolute = outside.to_str().unwrap();
    for name in ["../secret.png", "skins/../../secret.png", absolute] {
        let (material, warnings) = with_image(name, &["secret.png"]);
        assert_eq!(material.image_path, None, "{name}");
        assert_eq!(warnings.len(), 1, "{name}");
    }
}

#[cfg(feature = "pbr")]
mod pbr {
    //! Materials of Bevy's renderer, without a renderer.

    use bevy_asset::{AssetPath, AssetServer};
    use bevy_pbr::StandardMaterial;

    use super::*;

    fn standard(folder: &Path, name: &str) -> (StandardMaterial, Option<String>) {
        let (app, _handle) = loaded(folder, name, MeshmapPlugin::default());
        let server = app.world().resource::<AssetServer>();
        let path = AssetPath::parse(name).into_owned();
        let handle = server.get_handle::<StandardMaterial>(path.with_label("Material0/std"));
        let materials = app.world().resource::<Assets<StandardMaterial>>();
        let material = materials.get(&handle.unwrap()).unwrap().clone();
        let image = material.base_color_texture.as_ref();
        let image = image.and_then(|image| image.path().map(ToString::to_string));
        (material, image)
    }

    #[test]
    fn points_are_unlit() {
        let (points, _) = standard(&root(), "openctm/valid/fakepointb_MG2.ctm");
        assert!(points.unlit && points.cull_mode.is_none());
        let (skinned, _) = standard(&root(), "iqm/valid/skin_multi_anim.iqm");
        assert!(!skinned.unlit && skinned.cull_mode.is_some());
    }

    #[test]
    fn images_are_textures() {
        let (material, image) = standard(&root(), "textures/crate.iqm");
        assert_eq!(image.as_deref(), Some("textures/crate.png"));
        assert_eq!(material.base_color, Color::srgb_u8(255, 255, 255));
    }

    #[test]
    fn images_of_a_format_that_bevy_is_built_without_are_a_warning() {
        let (material, warnings) = with_image("crate.tga", &["models/crate.tga"]);
        assert_eq!(material.image_path, None);
        assert_eq!(
            warnings,
            ["images are not shown, because Bevy is built without their format: models/crate.tga"]
        );
    }
}
