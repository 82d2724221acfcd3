//! Streamed proxies: values, and the cost on the main thread.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod common;

use std::time::Duration;

use bevy_app::App;
use bevy_asset::Assets;
use bevy_ecs::entity::Entity;
use bevy_mesh::{Mesh, Mesh3d, PrimitiveTopology, VertexAttributeValues};
use bevy_meshmap::meshmap::Scratch;
use bevy_meshmap::meshmap::cgeo::{Dialect, Parts, Proxy, Timing, Wrap};
use bevy_meshmap::{
    ATTRIBUTE_PREVIOUS_POSITION, Interpolation, MeshmapFile, MeshmapPlugin, MotionVectors,
    StreamCache, StreamStats, StreamedProxy,
};
use bevy_time::TimeUpdateStrategy;
use common::{app, load, until, wait};
use meshmap_testing::data::{root, valid};
use meshmap_testing::fixtures::cgeo;

fn positions(mesh: &Mesh, attribute: bevy_mesh::MeshVertexAttribute) -> Vec<[f32; 3]> {
    match mesh.attribute(attribute) {
        Some(VertexAttributeValues::Float32x3(values)) => values.clone(),
        _ => panic!("no positions"),
    }
}

#[test]
fn shown_frames_equal_the_snapshots_of_the_library() {
    let path = valid("cgeo", "anim_a.cgeo");
    let proxy = Proxy::open(&path).unwrap();
    let timing = proxy
        .timing()
        .unwrap_or_else(|| Timing::new(0.0, 1.0 / 24.0, proxy.snapshot_count()));
    let sources = proxy
        .snapshot(0)
        .unwrap()
        .mesh(Parts::ALL)
        .unwrap()
        .vertex_remap()
        .unwrap()
        .sources(0)
        .unwrap()
        .to_vec();
    let mut app = app(&root(), MeshmapPlugin::default());
    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::ZERO));
    let handle = load(&app, path.strip_prefix(root()).unwrap(), |_| {});
    wait(&mut app, &handle).unwrap();
    let stream = StreamedProxy {
        speed: 0.0,
        interpolation: Interpolation::Step,
        motion: MotionVectors::PreviousPositions,
        ..StreamedProxy::new(handle)
    };
    let entity = app.world_mut().spawn(stream).id();
    let mut before: Option<Vec<[f32; 3]>> = None;
    for index in (0..proxy.snapshot_count()).chain([0]) {
        app.world_mut()
            .get_mut::<StreamedProxy>(entity)
            .unwrap()
            .time = timing.time_of(index) - timing.time_of(0);
        let shown = app.world().get::<StreamStats>(entity).unwrap().shown;
        let mesh = until(&mut app, |app| {
            (app.world().get::<StreamStats>(entity).unwrap().shown > shown).then(|| {
                let mesh = app.world().get::<Mesh3d>(entity).unwrap().0.clone();
                app.world()
                    .resource::<Assets<Mesh>>()
                    .get(&mesh)
                    .unwrap()
                    .clone()
            })
        });
        let (mut stored, mut scratch) = (Vec::new(), Scratch::default());
        proxy
            .positions_at(
                &timing,
                &[timing.time_of(index)],
                Wrap::Loop,
                &mut stored,
                &mut scratch,
            )
            .unwrap();
        let expected: Vec<_> = sources
            .iter()
            .map(|source| stored[*source as usize])
            .collect();
        assert_eq!(
            positions(&mesh, Mesh::ATTRIBUTE_POSITION),
            expected,
            "snapshot {index}"
        );
        if let Some(before) = before.replace(expected) {
            assert_eq!(
                positions(&mesh, ATTRIBUTE_PREVIOUS_POSITION),
                before,
                "snapshot {index}"
            );
        }
    }
    let stats = app.world().get::<StreamStats>(entity).unwrap();
    assert_eq!((stats.failed, &stats.last_error), (0, &None));
}

/// The mesh that a stream shows at a time, by itself.
fn shown_at(app: &mut App, entity: Entity, seconds: f64) -> Mesh {
    app.world_mut()
        .get_mut::<StreamedProxy>(entity)
        .unwrap()
        .time = seconds;
    let shown = app.world().get::<StreamStats>(entity).unwrap().shown;
    until(app, |app| {
        (app.world().get::<StreamStats>(entity).unwrap().shown > shown).then(|| {
            let mesh = app.world().get::<Mesh3d>(entity)?.0.clone();
            app.world().resource::<Assets<Mesh>>().get(&mesh).cloned()
        })?
    })
}

/// Positions, normals and texture coordinates of the corners of triangles.
fn corners(mesh: &Mesh) -> Vec<([f32; 3], [f32; 3], [f32; 2])> {
    let (all, normals) = (
        positions(mesh, Mesh::ATTRIBUTE_POSITION),
        positions(mesh, Mesh::ATTRIBUTE_NORMAL),
    );
    let Some(VertexAttributeValues::Float32x2(uvs)) = mesh.attribute(Mesh::ATTRIBUTE_UV_0) else {
        panic!("no texture coordinates")
    };
    mesh.indices()
        .unwrap()
        .iter()
        .map(|index| (all[index], normals[index], uvs[index]))
        .collect()
}

/// The corners of a mesh of a file, whose materials are 0, 1 and 2 in turn.
fn corners_of(mesh: &cgeo::Mesh, material: Option<usize>) -> Vec<([f32; 3], [f32; 3], [f32; 2])> {
    let unit = |normal: [f32; 3]| bevy_math::Vec3::from_array(normal).normalize().to_array();
    let is_shown = |number: &usize| material.is_none_or(|material| number % 3 == material);
    let shown = mesh
        .triangles
        .iter()
        .enumerate()
        .filter(|(number, _)| is_shown(number));
    let indices = shown.flat_map(|(_, [positions, normals])| positions.iter().zip(normals));
    let corner = |(position, normal): (&u32, &u32)| {
        let (at, normal) = (*position as usize, mesh.normals[*normal as usize]);
        let [u, v, _] = mesh.texcoords[0][at];
        // In Bevy, V counts from the upper edge.
        (mesh.positions[at], unit(normal), [u, 1.0 - v])
    };
    indices.map(corner).collect()
}

#[test]
fn streams_follow_triangles_normals_and_materials_from_snapshot_to_snapshot() {
    let mut meshes: Vec<_> = [(6, 0.0), (6, 0.3), (4, 0.6), (4, 0.9)]
        .map(|(side, time)| cgeo::Mesh::sheet(side, 1, time))
        .into_iter()
        .chain([cgeo::Mesh {
            positions: vec![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
            ..cgeo::Mesh::default()
        }])
        .collect();
    meshes[1].texcoords[0]
        .iter_mut()
        .for_each(|[u, ..]| *u += 0.25);
    // The second is stored as a difference, and the last two repeat their triangles.
    let content = |(index, mesh): (usize, &cgeo::Mesh)| {
        cgeo::snapshot(
            mesh,
            if index == 1 {
                mesh.difference(&meshes[0])
            } else {
                mesh.complete()
            },
        )
    };
    let snapshots: Vec<_> = meshes.iter().enumerate().map(content).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("changes.cgeo");
    std::fs::write(&path, cgeo::file(&snapshots, Dialect::default())).unwrap();
    let proxy = Proxy::open(&path).unwrap();
    let timing = proxy
        .timing()
        .unwrap_or_else(|| Timing::new(0.0, 1.0 / 24.0, proxy.snapshot_count()));
    let (start, step) = (timing.time_of(0), timing.step());

    let mut app = app(folder.path(), MeshmapPlugin::default());
    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::ZERO));
    let handle = load(&app, "changes.cgeo".as_ref(), |_| {});
    wait(&mut app, &handle).unwrap();
    let up = app
        .world()
        .resource::<Assets<MeshmapFile>>()
        .get(&handle)
        .unwrap()
        .root
        .rotation
        * bevy_math::Vec3::Z;
    assert!(
        up.abs_diff_eq(bevy_math::Vec3::Y, 1e-6),
        "Z is up in most files: {up}"
    );
    let mut stream = |material| {
        let stream = StreamedProxy {
            speed: 0.0,
            material,
            ..StreamedProxy::new(handle.clone())
        };
        app.world_mut()
            .spawn(StreamedProxy {
                time: step * 3.0,
                ..stream
            })
            .id()
    };
    let streams = [None, Some(0), Some(1), Some(2)].map(|material| (material, stream(material)));
    for (material, entity) in streams {
        let material = material.map(|material| material as usize);
        for index in [0, 1, 2, 3, 0] {
            let mesh = shown_at(&mut app, entity, timing.time_of(index) - start);
            let expected = corners_of(&meshes[index], material);
            for (shown, expected) in corners(&mesh).iter().zip(&expected) {
                let numbers =
                    |(a, b, c): &([f32; 3], [f32; 3], [f32; 2])| [&a[..], &b[..], &c[..]].concat();
                for (shown, expected) in numbers(shown).iter().zip(numbers(expected)) {
                    assert!(
                        (shown - expected).abs() < 1e-6,
                        "snapshot {index}, material {material:?}"
                    );
                }
            }
            assert_eq!(
                corners(&mesh).len(),
                expected.len(),
                "snapshot {index}, material {material:?}"
            );
        }
    }
    let entity = streams[0].1;
    let xs = |mesh: &Mesh| {
        positions(mesh, Mesh::ATTRIBUTE_POSITION)
            .iter()
            .map(|point| point[2])
            .sum::<f32>()
    };
    // Between two snapshots with equal triangles, and before others.
    let sums = [2.0, 2.5, 3.0].map(|at| xs(&shown_at(&mut app, entity, at * step)));
    assert!(
        (sums[1] - (sums[0] + sums[2]) / 2.0).abs() < 1e-5,
        "{sums:?}"
    );
    let before = shown_at(&mut app, entity, 1.5 * step);
    assert_eq!(corners(&before).len(), corners_of(&meshes[1], None).len());
    let points = shown_at(&mut app, entity, 4.0 * step);
    assert_eq!(points.primitive_topology(), PrimitiveTopology::PointList);
    assert_eq!(
        positions(&points, Mesh::ATTRIBUTE_POSITION),
        meshes[4].positions
    );
    for (_, entity) in streams {
        let stats = app.world().get::<StreamStats>(entity).unwrap();
        assert_eq!((stats.failed, &stats.last_error), (0, &None));
    }
}

#[test]
fn snapshots_are_decoded_ahead_as_far_as_the_cache_has_places() {
    // 30 by 30 vertices, and 12 bytes for each of positions, normals and texture coordinates.
    let size = 30 * 30 * 36;
    for (places, ahead) in [(100, 4), (4, 2), (2, 0)] {
        let folder = tempfile::tempdir().unwrap();
        let (_, snapshots) = cgeo::animation(30, 9);
        std::fs::write(
            folder.path().join("a.cgeo"),
            cgeo::file(&snapshots, Dialect::default()),
        )
        .unwrap();
        let mut plugin = MeshmapPlugin::default();
        plugin.stream_bytes = places * size;
        let mut app = app(folder.path(), plugin);
        app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::ZERO));
        let handle = load(&app, "a.cgeo".as_ref(), |_| {});
        wait(&mut app, &handle).unwrap();
        let proxy = app
            .world()
            .resource::<Assets<MeshmapFile>>()
            .get(&handle)
            .unwrap()
            .proxy
            .clone()
            .unwrap();
        let entity = app.world_mut().spawn(StreamedProxy::new(handle)).id();
        until(&mut app, |app| {
            (app.world().get::<StreamStats>(entity).unwrap().shown > 0).then_some(())
        });
        // Until nothing is decoded any more.
        let cache = app.world().resource::<StreamCache>().0.clone();
        let mut decodes = 0;
        loop {
            (0..20).for_each(|_| app.update());
            std::thread::sleep(Duration::from_millis(20));
            if std::mem::replace(&mut decodes, cache.stats().decodes) == decodes {
                break;
            }
        }
        let there = (1..9)
            .filter(|index| cache.try_get(&proxy, *index, Parts::POSITIONS).is_some())
            .count();
        assert_eq!(there, ahead, "{places}");
        // The first one in parts, and whole for its triangles.
        assert!(decodes <= 4 + ahead as u64, "{places}: {decodes}");
    }
}

/// Processor time of the calling thread.
#[cfg(unix)]
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Bytes of memory that the process occupies.
#[cfg(target_os = "linux")]
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// Ten files of 60,025 vertices and 24 snapshots run for 1,000 frames of 1/60 second.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "measures"]
fn measure_ten_streams() {
    let folder = tempfile::tempdir().unwrap();
    let (_, snapshots) = cgeo::animation(245, 24);
    let bytes = cgeo::file(&snapshots, Dialect::default());
    let mut app = app(folder.path(), MeshmapPlugin::default());
    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_secs_f64(
        1.0 / 60.0,
    )));
    for index in 0..10 {
        let name = format!("{index}.cgeo");
        std::fs::write(folder.path().join(&name), &bytes).unwrap();
        let handle = load(&app, name.as_ref(), |_| {});
        wait(&mut app, &handle).unwrap();
        app.world_mut().spawn(StreamedProxy {
            time: f64::from(index) * 0.1,
            ..StreamedProxy::new(handle)
        });
    }
    let mut stats = app.world_mut().query::<&StreamStats>();
    until(&mut app, |app| {
        stats
            .iter(app.world())
            .all(|stats| stats.shown > 0)
            .then_some(())
    });
    let (mut times, mut memory) = (Vec::new(), Vec::new());
    for frame in 0..1000 {
        let wall = std::time::Instant::now();
        let start = thread_time();
        app.update();
        times.push(thread_time() - start);
        if frame % 100 == 99 {
            memory.push(resident() >> 20);
        }
        std::thread::sleep(Duration::from_secs_f64(1.0 / 60.0).saturating_sub(wall.elapsed()));
    }
    times.sort_unstable();
    let vertices = app
        .world()
        .resource::<Assets<Mesh>>()
        .iter()
        .map(|(_, mesh)| mesh.count_vertices())
        .max();
    let (shown, missed) = stats.iter(app.world()).fold((0, 0), |sum, stats| {
        (sum.0 + stats.shown, sum.1 + stats.missed)
    });
    println!(
        "{vertices:?} vertices; median {:?}, worst {:?}",
        times[500], times[999]
    );
    println!("{shown} frames shown, {missed} missed; MiB resident each 100 frames: {memory:?}");
    assert!(
        times[999] < Duration::from_millis(16),
        "a frame took {:?} of the main thread",
        times[999]
    );
    assert!(
        *memory.last().unwrap() < memory[2] + memory[2] / 10 + 8,
        "memory grows: {memory:?}"
    );
}
