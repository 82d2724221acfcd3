//! Scenes of the test data of all formats, compared with what the library returns.

use std::collections::BTreeSet;
use std::path::PathBuf;

use meshmap::{Format, MeshFile, Scratch, Semantic, Winding, iqm};
use meshmap_scene::{
    Buffer, DrawOptions, Fact, FactKind, Joints, Levels, Overview, Parts, Pose, PosedFrame, Rest,
    Scene, SceneOptions, Shape, Unit, VectorKind, matrix,
};
use meshmap_testing::{data, open};

fn valid_files() -> Vec<(PathBuf, MeshFile)> {
    let mut files = Vec::new();
    for format in Format::ALL {
        for path in data::files(&data::root().join(format.name()).join("valid")) {
            if let Ok(file) = MeshFile::open(&path) {
                files.push((path, file));
            }
        }
    }
    assert!(files.len() > 20);
    files
}

fn scene_of(file: &MeshFile) -> Scene {
    Scene::new(file, &SceneOptions::default()).unwrap()
}

fn read(shape: &Shape, key: usize, parts: Parts) -> Buffer {
    let mut buffer = Buffer::default();
    let mut scratch = Scratch::default();
    shape.read(key, parts, &mut buffer, &mut scratch).unwrap();
    buffer
}

/// The numbers of a buffer, to compare buffers.
type Numbers = (
    Vec<(Semantic, Option<usize>, Vec<[u32; 4]>)>,
    Vec<Vec<[u32; 3]>>,
    Option<Vec<u32>>,
);

fn numbers(buffer: &Buffer) -> Numbers {
    let mut streams = Vec::new();
    for stream in buffer.streams() {
        let values = stream.to_f32::<4>().unwrap();
        let bits = values.iter().map(|value| value.map(f32::to_bits)).collect();
        streams.push((stream.semantic().clone(), stream.corners(), bits));
    }
    let corners = buffer.corners().iter();
    let corners = corners
        .map(|corners| corners.triangles().collect())
        .collect();
    (
        streams,
        corners,
        buffer.material_ids().map(Iterator::collect),
    )
}

#[test]
fn every_corner_refers_to_an_element() {
    for (path, file) in valid_files() {
        let scene = scene_of(&file);
        for shape in scene.shapes() {
            for key in 0..shape.key_count() {
                let buffer = read(shape, key, Parts::ALL);
                let counts = shape.counts(key, &mut Scratch::default()).unwrap();
                assert_eq!(counts.triangles, buffer.triangle_count(), "{path:?}");
                assert_eq!(counts.positions, buffer.positions().unwrap().len());
                for stream in buffer.streams() {
                    let Some(list) = stream.corners() else {
                        continue;
                    };
                    let corners = &buffer.corners()[list];
                    assert_eq!(corners.len(), counts.triangles);
                    let largest = corners.triangles().flatten().max();
                    assert!(
                        largest.is_none_or(|index| (index as usize) < stream.len()),
                        "{path:?}"
                    );
                }
            }
        }
    }
}

/// The corners of a view and of separate lists are the same points, normals and coordinates.
#[test]
fn a_view_has_the_corners_of_the_lists() {
    for (path, file) in valid_files() {
        for shape in scene_of(&file).shapes() {
            let apart = read(shape, 0, Parts::ALL);
            let mut together = Buffer::default();
            shape.read_vertices(0, Parts::ALL, &mut together).unwrap();
            assert!(together.has_one_index());
            assert_eq!(apart.triangle_count(), together.triangle_count());
            for stream in apart.streams() {
                let Some(list) = stream.corners().filter(|_| apart.triangle_count() > 0) else {
                    continue;
                };
                let values = stream.to_f32::<3>().unwrap();
                let other = together.stream(stream.semantic()).unwrap();
                let others = other.to_f32::<3>().unwrap();
                let pairs = apart.corners()[list]
                    .triangles()
                    .zip(together.corners()[0].triangles());
                for (from, to) in pairs {
                    let a = from.map(|index| values[index as usize].map(f32::to_bits));
                    let b = to.map(|index| others[index as usize].map(f32::to_bits));
                    assert_eq!(a, b, "{path:?} {}", stream.address());
                }
            }
        }
    }
}

#[test]
fn a_buffer_that_is_reused_has_nothing_of_what_it_had() {
    let mut buffer = Buffer::default();
    let mut scratch = Scratch::default();
    let masks = [
        Parts::ALL,
        Parts::POSITIONS,
        Parts::POSITIONS | Parts::TRIANGLES,
        Parts::NORMALS,
    ];
    let mut step = 0;
    for (path, file) in valid_files() {
        for shape in scene_of(&file).shapes() {
            for key in (0..shape.key_count()).rev() {
                let parts = masks[step % masks.len()];
                step += 1;
                shape.read(key, parts, &mut buffer, &mut scratch).unwrap();
                assert_eq!(
                    numbers(&buffer),
                    numbers(&read(shape, key, parts)),
                    "{path:?} {key} {parts:?}"
                );
            }
        }
    }
    assert!(step > 100);
}

#[test]
fn stored_differences_lead_from_the_base_to_each_key() {
    let file = MeshFile::open(data::valid("cgeo", "anim_a.cgeo")).unwrap();
    let scene = scene_of(&file);
    let shape = &scene.shapes()[0];
    let mut scratch = Scratch::default();
    let mut base = Vec::new();
    shape.positions(0, &mut base, &mut scratch).unwrap();
    assert!(shape.is_base(0, &base).unwrap());
    let mut count = 0;
    for key in 1..shape.key_count() {
        let mut differences = Vec::new();
        let mut positions = Vec::new();
        shape.positions(key, &mut positions, &mut scratch).unwrap();
        if shape
            .differences(key, &mut differences, &mut scratch)
            .unwrap()
        {
            count += 1;
            for ((from, difference), to) in base.iter().zip(&differences).zip(&positions) {
                for axis in 0..3 {
                    assert_eq!(from[axis] + difference[axis], to[axis]);
                }
            }
        }
    }
    assert!(count > 0);
    // Positions that differ are not what they are relative to.
    base[0][0] += 1.0;
    assert!(!shape.is_base(1, &base).unwrap());
}

#[test]
fn keys_have_the_numbers_of_the_file() {
    let file = MeshFile::open(data::valid("cgeo", "anim_a.cgeo")).unwrap();
    let mut options = SceneOptions::default();
    options.snapshots = Some(vec![1, 3]);
    let scene = Scene::new(&file, &options).unwrap();
    let shape = &scene.shapes()[0];
    assert_eq!((shape.key_count(), shape.number_of(1)), (2, 3));
    assert_eq!(shape.address_at(1).to_string(), "snapshots[3]");
    assert!(shape.stored_key_count() > 3);
    let positions = file
        .as_cgeo()
        .unwrap()
        .snapshot(3)
        .unwrap()
        .positions()
        .unwrap();
    let buffer = read(shape, 1, Parts::POSITIONS);
    assert_eq!(
        buffer.positions().unwrap().floats().unwrap(),
        positions.to_vec()
    );
    assert!(
        shape
            .read(
                2,
                Parts::ALL,
                &mut Buffer::default(),
                &mut Scratch::default()
            )
            .is_err()
    );
    assert!(scene.unit().metres().is_some());
    let buffer = read(shape, 0, Parts::NORMALS);
    assert!(buffer.positions().is_none());
    options.snapshots = Some(vec![3, 1, 3]);
    let scene = Scene::new(&file, &options).unwrap();
    assert_eq!(scene.shapes()[0].number_of(0), 1);
    options.snapshots = Some(vec![1, 99]);
    assert!(Scene::new(&file, &options).is_err());
}

#[test]
fn addresses_select_shapes_in_their_order() {
    let file = MeshFile::open(data::valid("cgeo", "anim_a.cgeo")).unwrap();
    let mut options = SceneOptions::default();
    options.meshes = vec![
        "snapshots[2]".parse().unwrap(),
        "snapshots[0]".parse().unwrap(),
    ];
    let scene = Scene::new(&file, &options).unwrap();
    let numbers: Vec<usize> = scene
        .shapes()
        .iter()
        .map(|shape| shape.number_of(0))
        .collect();
    assert_eq!(numbers, [2, 0]);
    options.meshes = vec!["snapshots[99]".parse().unwrap()];
    assert!(Scene::new(&file, &options).is_err());
}

fn word_at(bytes: &[u8], offset: usize) -> usize {
    u32::from_le_bytes(bytes[offset..offset + 4].try_into().unwrap()) as usize
}

#[test]
fn meshes_that_cannot_be_read_are_left_out_on_request() {
    /// The offset of the offset of the triangles in the header.
    const OFS_TRIANGLES: usize = 16 + 11 * 4;
    let mut bytes = std::fs::read(data::valid("iqm", "ext_fte_skins.iqm")).unwrap();
    let triangles = word_at(&bytes, OFS_TRIANGLES);
    bytes[triangles..triangles + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    let file = open::file(bytes);
    let mut options = SceneOptions::default();
    let error = Scene::new(&file, &options).map(drop).unwrap_err();
    options.skips_unreadable = true;
    let scene = Scene::new(&file, &options).unwrap();
    assert_eq!(
        scene.shapes().len() + scene.unreadable().len(),
        file.meshes().unwrap().len()
    );
    assert_eq!(scene.unreadable()[0].message(), error.to_string());
    // The same meshes by their addresses.
    for entry in file.meshes().unwrap() {
        options.meshes.push(entry.address);
    }
    let by_address = Scene::new(&file, &options).unwrap();
    assert_eq!(by_address.shapes().len(), scene.shapes().len());
    assert_eq!(by_address.unreadable().len(), scene.unreadable().len());
}

/// An IQM file in which the poses of joints have the root as their parent, and not the parents of the joints.
fn with_flat_poses() -> Vec<u8> {
    /// The size of a pose, and the offsets of the number of poses and of their table in the header.
    const POSE: usize = 88;
    const NUM_POSES: usize = 16 + 15 * 4;
    let mut bytes = std::fs::read(data::valid("iqm", "skin_multi_anim.iqm")).unwrap();
    let count = word_at(&bytes, NUM_POSES);
    let table = word_at(&bytes, NUM_POSES + 4);
    assert!(count > 2);
    for pose in 1..count {
        let at = table + pose * POSE;
        bytes[at..at + 4].copy_from_slice(&0_u32.to_le_bytes());
    }
    bytes
}

/// The place of each joint, from transforms relative to the parents of the joints.
fn composed(parents: &[Option<usize>], local: &[iqm::Trs]) -> Vec<[f64; 16]> {
    let mut places: Vec<[f64; 16]> = Vec::new();
    for (parent, trs) in parents.iter().zip(local) {
        let own = Rest::Trs(*trs).to_matrix();
        places.push(match parent {
            Some(parent) => matrix::multiply(&places[*parent], &own),
            None => own,
        });
    }
    places
}

fn assert_near(a: &[[f64; 16]], b: &[[f64; 16]]) {
    assert_eq!(a.len(), b.len());
    let numbers = a.as_flattened().iter().zip(b.as_flattened());
    let largest = numbers
        .clone()
        .fold(1.0, |most: f64, (a, _)| most.max(a.abs()));
    for (a, b) in numbers {
        assert!((a - b).abs() < 1e-5 * largest, "{a} {b}");
    }
}

#[test]
fn samples_and_local_keys_of_a_clip_are_the_same_places() {
    let stored = std::fs::read(data::valid("iqm", "skin_multi_anim.iqm")).unwrap();
    for (bytes, is_rebased) in [(stored, false), (with_flat_poses(), true)] {
        let scene = scene_of(&open::file(bytes));
        let skeleton = scene.skeleton(&mut Vec::new()).unwrap().unwrap();
        let parents: Vec<_> = skeleton.joints.iter().map(|joint| joint.parent).collect();
        let clips = scene.clips(parents.len(), &mut Vec::new());
        assert!(clips.len() > 1);
        for clip in clips {
            assert_eq!(clip.is_rebased(), is_rebased);
            let keys = clip.local_keys().unwrap();
            assert_eq!(keys.len(), clip.key_count() * parents.len());
            for (key, frame) in clip.key_frames().enumerate() {
                // The key that closes a clip that repeats is its first frame.
                let frame = frame as usize % clip.frame_count();
                let local = &keys[key * parents.len()..][..parents.len()];
                let sampled = clip.sample(u32::try_from(frame).unwrap()).unwrap();
                assert_near(&composed(&parents, local), &sampled);
            }
        }
    }
}

/// Vertices are moved by the places of joints and the inverse bind matrices as the library moves them.
#[test]
fn a_pose_is_what_joints_and_inverse_bind_matrices_make() {
    let file = open::file(std::fs::read(data::valid("iqm", "skin_multi_anim.iqm")).unwrap());
    let scene = scene_of(&file);
    let skeleton = scene.skeleton(&mut Vec::new()).unwrap().unwrap();
    let clip = &scene.clips(skeleton.joints.len(), &mut Vec::new())[0];
    let joints = clip.sample(1).unwrap();
    let model = file.as_iqm().unwrap();
    let frame = clip.anim().first_frame + 1;
    let mut pose = vec![iqm::Trs::default(); joints.len()];
    model.frames().read_frame_into(frame, &mut pose).unwrap();
    let expected = model.skeleton().unwrap().skinning_matrices(&pose).unwrap();
    let expected: Vec<[f64; 16]> = expected
        .iter()
        .map(|rows| matrix::of_rows(&rows.map(|row| row.map(f64::from))))
        .collect();
    let moved: Vec<[f64; 16]> = joints
        .iter()
        .zip(&skeleton.inverse_bind)
        .map(|(joint, inverse)| matrix::multiply(joint, inverse))
        .collect();
    assert_near(&moved, &expected);
    // Frames of other clips are none of this one.
    assert!(clip.sample(clip.anim().num_frames).is_err());
    let Pose::Frame(rows) = skeleton.pose(&joints) else {
        panic!("a frame");
    };
    let rows: Vec<[f64; 16]> = rows
        .iter()
        .map(|rows| matrix::of_rows(&rows.map(|row| row.map(f64::from))))
        .collect();
    assert_near(&rows, &expected);
}

#[test]
fn a_frame_has_no_joints_to_move() {
    let file = open::file(std::fs::read(data::valid("iqm", "skin_multi_anim.iqm")).unwrap());
    let mut options = SceneOptions::default();
    options.frame = Some(PosedFrame::new(1));
    let scene = Scene::new(&file, &options).unwrap();
    assert!(scene.pose().is_some_and(Pose::is_frame));
    assert_eq!(scene.joints(), Joints::None);
    let is_said = |fact: &Fact| fact.kind == FactKind::Joints && fact.count > 0;
    assert!(scene.facts().iter().any(is_said));
    options.frame = Some(PosedFrame::new(1_000_000));
    assert!(Scene::new(&file, &options).is_err());
}

#[test]
fn facts_are_counted_once_in_the_order_of_their_kinds() {
    let names: BTreeSet<&str> = FactKind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(names.len(), FactKind::ALL.len());
    assert!(FactKind::ALL.is_sorted());
    for (path, file) in valid_files() {
        let scene = scene_of(&file);
        let facts = scene.facts();
        let kinds: Vec<FactKind> = facts.iter().map(|fact| fact.kind).collect();
        assert!(kinds.is_sorted_by(|a, b| a < b), "{path:?}: {kinds:?}");
        for fact in &facts {
            let named = fact.first.len();
            assert!(
                fact.count > 0 && named as u64 <= fact.count,
                "{path:?}: {fact:?}"
            );
            assert!(named <= Fact::MOST_NAMED, "{path:?}: {fact:?}");
        }
        let shapes = facts.iter().find(|fact| fact.kind == FactKind::Shapes);
        let count = shapes.map_or(0, |fact| fact.count);
        assert_eq!(count, scene.shapes().len() as u64, "{path:?}");
    }
}

#[test]
fn facts_of_tables_lack_only_the_triangles_of_snapshots() {
    let mut lacking = 0;
    for (path, file) in valid_files() {
        let scene = scene_of(&file);
        let mut facts = scene.facts();
        let all = facts.len();
        if file.as_cgeo().is_some() {
            let of_triangles = [FactKind::MaterialIds, FactKind::EdgeVisibility];
            facts.retain(|fact| !of_triangles.contains(&fact.kind));
        }
        lacking += all - facts.len();
        assert_eq!(scene.facts_of_tables(), facts, "{}", path.display());
    }
    assert!(lacking > 0);
}

#[test]
fn memory_of_a_scene_and_of_what_is_made_of_it_has_one_limit() {
    let path = data::valid("iqm", "ours_many_meshes_a.iqm");
    let scene = scene_of(&MeshFile::open(path).unwrap());
    let meter = scene.meter();
    let kept = meter.held();
    assert!(kept > 0);
    let charge = meter.take(1 << 20, "buffers").unwrap();
    assert_eq!(meter.held(), kept + (1 << 20));
    drop(charge);
    assert!(meter.take(1 << 30, "buffers").is_err());
}

#[test]
fn levels_of_a_face_are_one_object() {
    let mut seen = 0;
    for (_, file) in valid_files() {
        if file.format() != Format::SlMesh {
            continue;
        }
        let mut options = SceneOptions::default();
        options.levels = Levels::All;
        let scene = Scene::new(&file, &options).unwrap();
        let mut names = Vec::new();
        for shape in scene.shapes() {
            assert!(shape.object().is_some());
            if matches!(shape.role(), meshmap::Role::Lod(level) if level > 0) {
                seen += 1;
            }
            names.push(shape.name());
            assert!(
                shape
                    .material()
                    .is_some_and(|material| material.image.is_none())
            );
        }
        let finest = scene_of(&file);
        assert!(finest.shapes().len() <= scene.shapes().len());
    }
    assert!(seen > 0);
}

#[test]
fn joints_at_rest_are_where_they_are_nested_or_not() {
    let mut seen = 0;
    for (path, file) in valid_files() {
        let scene = scene_of(&file);
        let Some(skeleton) = scene.skeleton(&mut Vec::new()).unwrap() else {
            continue;
        };
        seen += 1;
        let nested = skeleton.bind_matrices();
        let flat = skeleton.clone().flattened();
        assert!(flat.joints.iter().all(|joint| joint.parent.is_none()));
        assert_near(&nested, &flat.bind_matrices());
        for (joint, inverse) in nested.iter().zip(&skeleton.inverse_bind) {
            let product = matrix::multiply(inverse, joint);
            let identity = matrix::IDENTITY;
            let is_near = product
                .iter()
                .zip(identity)
                .all(|(a, b)| (a - b).abs() < 1e-3);
            assert!(is_near, "{path:?}");
        }
    }
    assert!(seen > 3);
}

#[test]
fn numbers_become_upright() {
    for (_, file) in valid_files() {
        let scene = scene_of(&file);
        let matrix = scene.upright();
        let up: [f64; 3] = meshmap::Axis::Y.rotate_to(scene.up(), [0.0, 1.0, 0.0]);
        let moved: Vec<f64> = (0..3)
            .map(|row| {
                (0..3)
                    .map(|column| matrix[column * 4 + row] * up[column])
                    .sum()
            })
            .collect();
        let metres = scene.unit().metres().unwrap_or(1.0);
        assert_eq!(moved, [0.0, metres, 0.0]);
        let has_unit = matches!(file.format(), Format::CGeo | Format::SlMesh);
        assert_eq!(scene.unit() == Unit::Metres, !has_unit);
    }
}

/// Normals decide in files without a winding.
#[test]
fn triangles_are_turned_by_the_conventions_and_by_normals() {
    for (path, file) in valid_files() {
        let scene = scene_of(&file);
        let [ccw, cw] = [Winding::CounterClockwise, Winding::Clockwise]
            .map(|front_face| scene.turns_triangles(front_face).unwrap());
        assert_ne!(ccw, cw, "{path:?}");
    }
}

/// A renderer reads shapes in its threads.
#[test]
fn scenes_are_shared_by_threads() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Scene>();
    is_shared::<Shape>();
    is_shared::<Buffer>();
    is_shared::<meshmap_scene::Clip>();
    is_shared::<meshmap_scene::Error>();
}

#[test]
fn clouds_have_points() {
    let file = MeshFile::open(data::valid("cgeo", "points_a.cgeo")).unwrap();
    let scene = scene_of(&file);
    assert!(scene.are_points());
    assert!(!scene_of(&MeshFile::open(data::valid("cgeo", "anim_a.cgeo")).unwrap()).are_points());
}

#[test]
fn only_the_finest_level_of_detail_is_drawn_with_all_of_them() {
    let file = MeshFile::open(data::valid("slmesh", "ours_nogeometry_a.slmesh")).unwrap();
    let mut options = SceneOptions::default();
    let finest = Scene::new(&file, &options).unwrap();
    options.levels = Levels::All;
    let all = Scene::new(&file, &options).unwrap();
    let drawn = |scene: &Scene| {
        let shapes = scene.shapes().iter();
        let drawn = shapes.filter(|shape| !shape.is_coarser());
        drawn
            .map(|shape| shape.address().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(drawn(&all), drawn(&finest));
    assert!(all.shapes().len() > finest.shapes().len());
}

#[test]
fn keys_are_found_by_time() {
    let path = data::root().join("cgeo/valid/anim_a.cgeo");
    let file = MeshFile::open(&path).unwrap();
    let mut options = SceneOptions::default();
    options.snapshots = Some(vec![1, 2, 5]);
    let scene = Scene::new(&file, &options).unwrap();
    let shape = &scene.shapes()[0];
    let step = shape.step();
    for (steps, expected) in [
        (-1.0, (0, 0, 0.0)),
        (0.0, (0, 0, 0.0)),
        (0.25, (0, 1, 0.25)),
        (1.0, (1, 1, 0.0)),
        (2.5, (1, 2, 0.5)),
        (4.0, (2, 2, 0.0)),
        (9.0, (2, 2, 0.0)),
        (f64::NAN, (0, 0, 0.0)),
    ] {
        let (from, to, fraction) = shape.keys_at(steps * step);
        assert_eq!((from, to), (expected.0, expected.1), "{steps}");
        assert!((fraction - expected.2).abs() < 1e-5, "{steps}: {fraction}");
    }
}

#[test]
fn samples_of_snapshots_are_keys_if_they_are_asked_for() {
    let path = data::root().join("cgeo/valid/samples_mixed_a.cgeo");
    let file = MeshFile::open(&path).unwrap();
    let mut options = SceneOptions::default();
    for (samples, expected) in [
        (false, &[0.0, 1.0, 2.0, 3.0][..]),
        (
            true,
            &[0.0, 1.0, 1.0 + 1.0 / 3.0, 1.0 + 2.0 / 3.0, 2.0, 2.5, 3.0],
        ),
    ] {
        options.samples = samples;
        let scene = Scene::new(&file, &options).unwrap();
        let shape = &scene.shapes()[0];
        let steps = (0..shape.key_count()).map(|key| shape.steps_of(key));
        assert_eq!(steps.collect::<Vec<_>>(), expected);
        // 41,667 microseconds.
        assert_eq!(shape.rate(), 24.0);
        let samples: Vec<u64> = scene
            .facts()
            .iter()
            .filter(|fact| fact.kind == FactKind::Samples)
            .map(|fact| fact.count)
            .collect();
        assert_eq!(samples, [3]);
    }
    options.samples = true;
    let scene = Scene::new(&file, &options).unwrap();
    let shape = &scene.shapes()[0];
    let (mut first, mut second) = (Vec::new(), Vec::new());
    let mut scratch = Scratch::default();
    shape.positions(1, &mut first, &mut scratch).unwrap();
    shape.positions(2, &mut second, &mut scratch).unwrap();
    assert_ne!(first, second);
    assert_eq!((shape.number_of(1), shape.number_of(2)), (1, 1));
    assert!(!shape.is_base(2, &second).unwrap());
}

#[test]
fn shapes_are_drawn_in_the_pose_by_one_convention() {
    let (mut posed, mut turned, mut flipped, mut weighted) = (0, 0, 0, 0);
    for (path, file) in valid_files() {
        let scene = scene_of(&file);
        let skeleton = scene.skeleton(&mut Vec::new()).unwrap();
        let mut options = DrawOptions::default();
        options.joint_count = skeleton.map(|it| it.joints.len() as u16);
        for (index, shape) in scene.shapes().iter().enumerate() {
            let stored = shape.view(0).unwrap();
            let drawn = scene.draw(index, 0, &options).unwrap().mesh;
            let read = |mesh: &meshmap::MeshView, semantic| {
                let found = mesh.attribute(&semantic).unwrap();
                found.map(|attribute| attribute.to_f32::<4>())
            };
            let mut positions = read(&stored, Semantic::Position).unwrap();
            if let Some(pose) = scene.pose() {
                pose.apply_to(&stored, VectorKind::Point, &mut positions)
                    .unwrap();
                posed += 1;
            }
            let bits = |values: Vec<[f32; 4]>| values.concat().into_iter().map(f32::to_bits);
            let found = read(&drawn, Semantic::Position).unwrap();
            assert!(bits(found).eq(bits(positions)), "{path:?}");

            let turns = scene.turns_triangles(Winding::CounterClockwise).unwrap();
            turned += u32::from(turns);
            let expected = stored.indices().triangles().map(|[a, b, c]| match turns {
                true => [a, c, b],
                false => [a, b, c],
            });
            assert!(drawn.indices().triangles().eq(expected), "{path:?}");

            let flips = scene.v_origin() != meshmap::VOrigin::Top;
            let texcoords = [&stored, &drawn].map(|mesh| read(mesh, Semantic::TexCoord(0)));
            if let [Some(stored), Some(drawn)] = texcoords {
                for (stored, drawn) in stored.iter().zip(drawn) {
                    let v = if flips { 1.0 - stored[1] } else { stored[1] };
                    assert_eq!(drawn[1].to_bits(), v.to_bits(), "{path:?}");
                }
                flipped += u32::from(flips);
            }
            for weights in read(&drawn, Semantic::Weights(0)).unwrap_or_default() {
                assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{path:?}");
                weighted += 1;
            }
        }
    }
    let seen = [posed, turned, flipped, weighted];
    assert!(seen.iter().all(|count| *count > 2), "{seen:?}");
}

#[test]
fn events_are_those_of_their_animation() {
    let mut seen = 0;
    for (path, file) in valid_files() {
        let Some(model) = file.as_iqm() else { continue };
        let scene = scene_of(&file);
        let all = model.fte_events();
        let joints = scene.skeleton(&mut Vec::new()).unwrap();
        let clips = scene.clips(joints.map_or(0, |it| it.joints.len()), &mut Vec::new());
        for clip in clips {
            let index = model.anims().position(|anim| anim == *clip.anim()).unwrap();
            let Ok(all) = &all else {
                assert!(clip.events().is_err() && clip.event_count().is_err());
                continue;
            };
            let all = all.as_deref().unwrap_or_default();
            let own = all.iter().filter(|event| event.anim as usize == index);
            let own: Vec<u32> = own.map(|event| event.evcode).collect();
            let events = clip.events().unwrap();
            let codes: Vec<u32> = events.iter().map(|event| event.code).collect();
            assert_eq!(codes, own, "{path:?}");
            assert_eq!(clip.event_count().unwrap(), own.len());
            assert_eq!(clip.event(0).unwrap().as_ref(), events.first());
            assert_eq!(clip.event(own.len()).unwrap(), None);
            seen += own.len();
        }
    }
    assert!(seen > 0);
}

#[test]
fn clips_of_another_file_have_its_events() {
    let mut seen = 0;
    for (path, file) in valid_files() {
        let Some(model) = file.as_iqm() else { continue };
        let extensions: Vec<_> = model.extensions().collect();
        let named = |it: &&iqm::Extension| it.name.as_bytes() == b"FTE_EVENT";
        let Some(table) = extensions.iter().find(named) else {
            continue;
        };
        let Ok(Some(events)) = model.fte_events() else {
            continue;
        };
        // The other file has another code in its first event.
        let mut bytes = std::fs::read(&path).unwrap();
        let code = table.range.start as usize + 8;
        bytes[code..code + 4].copy_from_slice(&77_u32.to_le_bytes());
        let source = meshmap::Source::from_bytes(bytes);
        let other = MeshFile::from_source(source, &meshmap::Options::default()).unwrap();
        let mut options = SceneOptions::default();
        let other = other.as_iqm().unwrap().clone();
        options.animations.push(("other".to_owned(), other));
        let Ok(scene) = Scene::new(&file, &options) else {
            continue;
        };
        let joints = model.joints().len();
        let clips = scene.clips(joints, &mut Vec::new());
        let (own, added) = clips.split_at(clips.len() / 2);
        let anim = events[0].anim as usize;
        let code_of = |clips: &[meshmap_scene::Clip]| clips[anim].event(0).unwrap().unwrap().code;
        if added.len() > anim {
            assert_eq!(code_of(own), events[0].evcode, "{path:?}");
            assert_eq!(code_of(added), 77, "{path:?}");
            seen += 1;
        }
    }
    assert!(seen > 0);
}

#[test]
fn unreadable_snapshots_are_left_out_on_request() {
    let path = data::root().join("cgeo/bad/mesh_kind_2_a.cgeo");
    let file = MeshFile::open(&path).unwrap();
    let mut seen = 0;
    for skips in [false, true] {
        let mut options = SceneOptions::default();
        options.skips_unreadable = skips;
        options.drops_degenerate = true;
        match Scene::new(&file, &options) {
            Ok(scene) => {
                assert!(skips && scene.shapes().is_empty() && scene.unreadable().len() == 1);
                seen += 1;
            }
            Err(_) => assert!(!skips),
        }
    }
    assert_eq!(seen, 1);
}

/// The names of images of all shapes, each once.
fn images_of(scene: &Scene) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for shape in scene.shapes() {
        let image = shape.material().and_then(|material| material.image);
        let name = image.unwrap_or_default().to_owned();
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[test]
fn an_overview_has_the_numbers_of_the_scene() {
    let mut seen = [0; 4];
    for (path, file) in valid_files() {
        let overview = Overview::of(&file);
        let mut options = SceneOptions::default();
        options.skips_unreadable = true;
        let scene = Scene::new(&file, &options).unwrap();
        let at = path.display();
        assert_eq!(overview.unit, scene.unit(), "{at}");
        assert_eq!(overview.up, scene.up(), "{at}");
        let shape = scene.shapes().first().filter(|shape| shape.has_keys());
        if let (Some(times), Some(shape)) = (overview.snapshots, shape) {
            assert_eq!(times.count, shape.stored_key_count(), "{at}");
            assert_eq!(times.rate.unwrap_or(24.0), shape.rate(), "{at}");
            seen[0] += 1;
        }
        let mut remarks = Vec::new();
        let skeleton = scene.skeleton(&mut remarks).unwrap();
        let joints = skeleton.map_or(0, |skeleton| skeleton.joints.len());
        if let Some(count) = overview.joints {
            assert_eq!(count, joints, "{at}");
            seen[1] += usize::from(count > 0);
        }
        let clips = scene.clips(joints, &mut remarks);
        for (time, clip) in overview.clips.iter().zip(&clips) {
            // Clips that cannot be used are not in the scene.
            if clips.len() == overview.clip_count {
                let last = clip.key_frames().last().unwrap_or(0.0);
                assert_eq!(time.seconds, last / clip.decimal_rate(), "{at}");
                assert_eq!(time.name.to_string_lossy(), clip.name(), "{at}");
                assert_eq!(time.is_rate_stored, clip.is_rate_stored(), "{at}");
                seen[2] += 1;
            }
        }
        let images = images_of(&scene);
        assert_eq!(overview.images, images, "{at}");
        seen[3] += images.len();
    }
    assert!(seen.iter().all(|count| *count > 3), "{seen:?}");
}
