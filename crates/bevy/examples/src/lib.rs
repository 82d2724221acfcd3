//! An app that draws into an image instead of a window, and writes it as a PNG.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bevy::asset::{LoadState, RenderAssetUsages, UnapprovedPathMode};
use bevy::camera::RenderTarget;
use bevy::core_pipeline::tonemapping::Tonemapping;
use bevy::prelude::*;
use bevy::render::render_resource::TextureFormat;
use bevy::render::view::screenshot::{Screenshot, ScreenshotCaptured};
use bevy::time::TimeUpdateStrategy;
use bevy_meshmap::{MeshmapFile, MeshmapPlugin};

const WIDTH: u32 = 960;
const HEIGHT: u32 = 640;

/// The image that is drawn into.
#[derive(Resource)]
struct Target(Handle<Image>);

/// The picture, once it was read back.
#[derive(Resource, Default)]
struct Picture(Option<Image>);

/// The file of the first argument, and the path of the PNG of the second one.
pub fn arguments(usage: &str) -> (PathBuf, PathBuf) {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(file), Some(picture), None) = (arguments.next(), arguments.next(), arguments.next())
    else {
        eprintln!("usage: {usage}");
        std::process::exit(2);
    };
    (file.into(), picture.into())
}

/// An app whose assets are the files of a folder. Every update lasts 1/24 second.
pub fn app(folder: &Path) -> App {
    let folder = folder
        .canonicalize()
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut app = App::new();
    let plugins = DefaultPlugins.set(AssetPlugin {
        file_path: folder.to_string_lossy().into_owned(),
        unapproved_path_mode: UnapprovedPathMode::Forbid,
        ..default()
    });
    let window = WindowPlugin {
        primary_window: None,
        exit_condition: bevy::window::ExitCondition::DontExit,
        ..default()
    };
    app.add_plugins((plugins.set(window), MeshmapPlugin::default()));
    app.insert_resource(ClearColor(Color::srgb(0.1, 0.11, 0.13)));
    app.insert_resource(GlobalAmbientLight {
        brightness: 300.0,
        ..default()
    });
    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_secs_f64(
        1.0 / 24.0,
    )));
    app.init_resource::<Picture>();
    while app.plugins_state() == bevy::app::PluginsState::Adding {
        bevy::tasks::tick_global_task_pools_on_main_thread();
    }
    app.finish();
    app.cleanup();
    let mut image = Image::new_target_texture(WIDTH, HEIGHT, TextureFormat::Rgba8UnormSrgb, None);
    image.asset_usage = RenderAssetUsages::all();
    let target = app.world_mut().resource_mut::<Assets<Image>>().add(image);
    app.insert_resource(Target(target));
    app
}

/// Loads a file, or ends the program with its error.
pub fn load(app: &mut App, handle: &Handle<MeshmapFile>) {
    loop {
        app.update();
        match app.world().resource::<AssetServer>().load_state(handle) {
            LoadState::Loaded => return,
            LoadState::Failed(error) => {
                eprintln!("{error}");
                std::process::exit(1);
            }
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Spawns a camera that looks from a direction at a box, and a light above it.
pub fn look(app: &mut App, min: Vec3, max: Vec3, from: Vec3) {
    let center = (min + max) / 2.0;
    let radius = ((max - min).length() / 2.0).max(1e-6);
    let eye = center + from.normalize() * radius * 2.9;
    let target = app.world().resource::<Target>().0.clone();
    let view = Transform::from_translation(eye).looking_at(center, Vec3::Y);
    let projection = PerspectiveProjection {
        near: radius * 0.01,
        far: radius * 100.0,
        ..PerspectiveProjection::default()
    };
    app.world_mut().spawn((
        Camera3d::default(),
        RenderTarget::Image(target.into()),
        Projection::Perspective(projection),
        Tonemapping::None,
        Msaa::Sample4,
        view,
    ));
    app.world_mut().spawn((
        DirectionalLight {
            illuminance: 6_000.0,
            ..default()
        },
        Transform::default().looking_to(-from.normalize() - Vec3::new(0.4, 0.8, -0.1), Vec3::Y),
    ));
}

/// The bounding box of all meshes, in world space.
pub fn bounds(app: &mut App) -> (Vec3, Vec3) {
    let mut query = app
        .world_mut()
        .query::<(&GlobalTransform, &bevy::camera::primitives::Aabb)>();
    let (mut min, mut max) = (Vec3::splat(f32::MAX), Vec3::splat(f32::MIN));
    for (transform, aabb) in query.iter(app.world()) {
        for corner in 0..8 {
            let sign = Vec3::new(
                (corner & 1) as f32,
                (corner >> 1 & 1) as f32,
                (corner >> 2) as f32,
            ) * 2.0
                - 1.0;
            let point = transform
                .transform_point(Vec3::from(aabb.center) + Vec3::from(aabb.half_extents) * sign);
            (min, max) = (min.min(point), max.max(point));
        }
    }
    if min.x > max.x {
        (Vec3::NEG_ONE, Vec3::ONE)
    } else {
        (min, max)
    }
}

/// Runs the app for a number of updates.
pub fn run(app: &mut App, updates: usize) {
    for _ in 0..updates {
        app.update();
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Reads the picture back and writes it as a PNG.
pub fn write(app: &mut App, path: &Path) {
    // Pipelines are compiled while the first frames are drawn.
    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::ZERO));
    run(app, 40);
    let target = app.world().resource::<Target>().0.clone();
    app.world_mut().spawn(Screenshot::image(target)).observe(
        |captured: On<ScreenshotCaptured>, mut picture: ResMut<Picture>| {
            picture.0 = Some(captured.image.clone())
        },
    );
    let start = Instant::now();
    let image = loop {
        run(app, 1);
        if let Some(image) = app.world_mut().resource_mut::<Picture>().0.take() {
            break image;
        }
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "no picture within a minute"
        );
    };
    let file = File::create(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut encoder = png::Encoder::new(BufWriter::new(file), WIDTH, HEIGHT);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().expect("a header");
    writer
        .write_image_data(image.data.as_deref().expect("pixels"))
        .expect("a picture of the size of the image");
    println!("{}: {WIDTH}x{HEIGHT}", path.display());
}

/// The folder and the name of a file.
pub fn split(file: &Path) -> (PathBuf, PathBuf) {
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    (
        folder.to_owned(),
        file.file_name().unwrap_or_default().into(),
    )
}
