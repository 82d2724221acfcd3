//! The options: levels of detail, snapshots, integers, nested joints, animations of other files.

use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use meshmap::cgeo::{Dialect, SizeMeaning};
use meshmap::iqm::{Model, Trs};
use meshmap::{Codec, MeshFile, Options, Semantic, Source};
use meshmap_check::check_file;
use meshmap_export::{Change, Convert, Error, FactKind, Lods, Outcome, Target};
use meshmap_testing::fixtures::{cgeo, tmf};
use meshmap_testing::open;
use meshmap_testing::{Recorder, data};
use serde_json::Value;

fn open(format: &str, name: &str) -> MeshFile {
    MeshFile::open(data::valid(format, name)).unwrap()
}

/// Converts, has what was written checked, and returns the JSON of the glTF.
fn json(file: &MeshFile, convert: &Convert, folder: &Path) -> (Value, Outcome) {
    let path = folder.join("out.gltf");
    let outcome = convert.write_file(file, &path).unwrap();
    let checked = check_file(convert, file, &path).unwrap();
    assert_eq!(checked.differs, [""; 0]);
    (
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap(),
        outcome,
    )
}

fn parts() -> Convert {
    Convert::new(Target::Gltf)
}

fn named((name, animations): (&str, Model)) -> (String, Model) {
    (name.to_owned(), animations)
}

#[test]
fn each_level_of_detail_has_a_file_or_a_mark() {
    let folder = tempfile::tempdir().unwrap();
    let file = MeshFile::open(data::valid("slmesh", "nodemv_02_static_4lod.slmesh")).unwrap();
    for target in [Target::Obj, Target::Ply, Target::Stl] {
        let path = folder.path().join("cube").with_extension(target.name());
        let convert = Convert {
            lod: Lods::All,
            ..Convert::new(target)
        };
        let outcome = convert.write_file(&file, &path).unwrap();
        for (level, ending) in [(0, ""), (1, "_medium"), (2, "_low"), (3, "_lowest")] {
            let own = folder.path().join(format!("cube{ending}.{target}"));
            let one = Convert {
                lod: Lods::Only(level),
                ..Convert::new(target)
            };
            let alone = folder.path().join(format!("alone.{target}"));
            one.write_file(&file, &alone).unwrap();
            let name = own.display();
            assert!(outcome.paths().contains(&own), "{name}");
            let [own, alone] = [own.clone(), alone].map(without_library);
            assert_eq!(own, alone, "{name}");
        }
        assert!(matches!(convert.check_stream(), Err(Error::NotHeld { .. })));
        let mut names = convert.names(Path::new("cube.obj")).files;
        names.sort();
        let is_listed = |level: &str| {
            let name = format!("cube_{level}.obj");
            names.iter().any(|path| path.to_str() == Some(&name))
        };
        assert!(
            ["medium", "low", "lowest"]
                .iter()
                .all(|level| is_listed(level))
        );
        assert!(!outcome.report.lacks(FactKind::OtherLevels), "{outcome:?}");
    }
}

/// The lines of a file, without the one that names the MTL after the OBJ.
fn without_library(path: PathBuf) -> Vec<Vec<u8>> {
    let bytes = fs::read(path).unwrap();
    let lines = bytes.split(|byte| *byte == b'\n');
    let others = lines.filter(|line| !line.starts_with(b"mtllib"));
    others.map(<[u8]>::to_vec).collect()
}

#[test]
fn lists_outside_of_the_code_name_every_target() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for list in [
        "README.md",
        "../python/python/meshmap/_meshmap.pyi",
        "../python/python/meshmap/_convert.py",
        "../python/README.md",
    ] {
        let text = fs::read_to_string(root.join(list)).unwrap();
        for target in Target::ALL {
            let name = target.name();
            let is_named = text
                .to_lowercase()
                .split(|c: char| !c.is_alphanumeric())
                .any(|word| word == name);
            assert!(is_named, "{list} does not name {name}");
        }
    }
}

#[test]
fn parts_of_a_gltf_are_named_by_its_json() {
    let folder = tempfile::tempdir().unwrap();
    let file = open("cgeo", "anim_a.cgeo");
    let path = folder.path().join("two words.gltf");
    let outcome = parts().write_file(&file, &path).unwrap();
    let paths = outcome.paths();
    let names: Vec<_> = paths
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap())
        .collect();
    assert_eq!(names, ["two words.bin", "two words.gltf"]);
    let json: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(json["buffers"][0]["uri"], "two%20words.bin");
    let length = fs::metadata(folder.path().join("two words.bin"))
        .unwrap()
        .len();
    assert_eq!(json["buffers"][0]["byteLength"], length);
    // The crate, which shares nothing with the writer, also finds the part.
    let (document, buffers, _) = gltf_import(&path);
    let primitive = document
        .meshes()
        .next()
        .unwrap()
        .primitives()
        .next()
        .unwrap();
    let reader = primitive.reader(|buffer| Some(&buffers[buffer.index()]));
    assert!(reader.read_positions().unwrap().count() > 10);
}

fn gltf_import(path: &Path) -> (gltf::Document, Vec<Vec<u8>>, ()) {
    let gltf = gltf::Gltf::open(path).unwrap();
    let read = |buffer: gltf::Buffer<'_>| match buffer.source() {
        gltf::buffer::Source::Uri(uri) => {
            fs::read(path.with_file_name(uri.replace("%20", " "))).unwrap()
        }
        gltf::buffer::Source::Bin => unreachable!("a glTF has no binary chunk"),
    };
    let buffers = gltf.document.buffers().map(read).collect();
    (gltf.document, buffers, ())
}

#[test]
fn all_levels_of_detail_stand_beside_the_finest() {
    let folder = tempfile::tempdir().unwrap();
    let file = open("slmesh", "nodemv_02_static_4lod.slmesh");
    let (json, outcome) = json(
        &file,
        &Convert {
            lod: Lods::All,
            ..parts()
        },
        folder.path(),
    );
    assert_eq!(json["meshes"].as_array().unwrap().len(), 4);
    assert_eq!(json["extensionsUsed"], serde_json::json!(["MSFT_lod"]));
    let nodes = json["nodes"].as_array().unwrap();
    let finest = nodes
        .iter()
        .position(|node| node["name"] == "face_0")
        .unwrap();
    let coarser = &nodes[finest]["extensions"]["MSFT_lod"]["ids"];
    let names: Vec<_> = coarser
        .as_array()
        .unwrap()
        .iter()
        .map(|id| &nodes[id.as_u64().unwrap() as usize]["name"])
        .collect();
    assert_eq!(names, ["face_0_lod1", "face_0_lod2", "face_0_lod3"]);
    // Only the finest is in the scene.
    let root = nodes
        .iter()
        .find(|node| node["name"] == "meshmap_root")
        .unwrap();
    assert_eq!(root["children"], serde_json::json!([finest]));
    assert!(!outcome.report.lacks(FactKind::OtherLevels), "{outcome:?}");
}

#[test]
fn one_level_of_detail_can_be_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let file = open("slmesh", "nodemv_02_static_4lod.slmesh");
    let mut counts = Vec::new();
    for level in 0..4 {
        let (_, outcome) = json(
            &file,
            &Convert {
                lod: Lods::Only(level),
                ..parts()
            },
            folder.path(),
        );
        let mut entries = outcome.report.left_out.iter();
        let levels = entries.find(|entry| entry.what.kind == FactKind::OtherLevels);
        assert_eq!(levels.unwrap().count, 3);
        counts.push(outcome.triangles);
    }
    assert!(
        counts.is_sorted_by(|finer, coarser| finer > coarser),
        "{counts:?}"
    );
}

#[test]
fn quantized_positions_are_the_integers_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let skinned = open("slmesh", "ours_skin_a.slmesh");
    let (json, outcome) = json(
        &skinned,
        &Convert {
            quantized: true,
            ..parts()
        },
        folder.path(),
    );
    assert!(outcome.report.count_of(Change::FloatsForSkin) > 0);
    let accessor =
        &json["accessors"][index(&json["meshes"][0]["primitives"][0]["attributes"]["POSITION"])];
    assert_eq!(accessor["componentType"], 5126);
    for name in ["nodemv_02_static_4lod.slmesh", "ours_gzip_a.slmesh"] {
        let file = open("slmesh", name);
        let (json, outcome) = self::json(
            &file,
            &Convert {
                quantized: true,
                ..parts()
            },
            folder.path(),
        );
        let bytes = fs::read(folder.path().join("out.bin")).unwrap();
        let asset = file.as_slmesh().unwrap();
        let lod = asset
            .lod(asset.best_lod(meshmap::slmesh::Lod::High).unwrap())
            .unwrap()
            .unwrap();
        let faces: Vec<_> = lod
            .faces()
            .filter(|face| face.triangle_count() > 0)
            .collect();
        assert_eq!(
            json["extensionsRequired"],
            serde_json::json!(["KHR_mesh_quantization"]),
            "{name}"
        );
        for (mesh, face) in json["meshes"].as_array().unwrap().iter().zip(faces) {
            let accessor =
                &json["accessors"][index(&mesh["primitives"][0]["attributes"]["POSITION"])];
            assert_eq!(
                (&accessor["componentType"], &accessor["normalized"]),
                (&5123.into(), &true.into())
            );
            let view = &json["bufferViews"][index(&accessor["bufferView"])];
            assert_eq!(view["byteStride"], 8);
            for (element, stored) in bytes[index(&view["byteOffset"])..]
                .chunks(8)
                .zip(face.raw_positions().iter())
            {
                assert_eq!(element[..6], *stored.map(u16::to_le_bytes).as_flattened());
            }
        }
        assert!(outcome.report.count_of(Change::NormalsTurned) > 0);
    }
}

fn index(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap_or_default()).unwrap()
}

/// The position of a node below its parents: its matrices applied to the origin.
fn place(nodes: &[Value], node: usize) -> [f64; 3] {
    let mut point = [0.0; 3];
    let mut at = Some(node);
    while let Some(index_of) = at {
        if let Some(matrix) = nodes[index_of]["matrix"].as_array() {
            let m: Vec<f64> = matrix
                .iter()
                .map(|number| number.as_f64().unwrap())
                .collect();
            point = [0, 1, 2]
                .map(|row| (0..3).map(|k| m[k * 4 + row] * point[k]).sum::<f64>() + m[12 + row]);
        }
        at = nodes.iter().position(|node| {
            node["children"]
                .as_array()
                .is_some_and(|children| children.iter().any(|child| index(child) == index_of))
        });
    }
    point
}

#[test]
fn nested_joints_are_where_flat_ones_are() {
    let folder = tempfile::tempdir().unwrap();
    let file = open("slmesh", "odd_s08_pelvis_array.slmesh");
    let (flat, _) = json(&file, &parts(), folder.path());
    let (nested, _) = json(
        &file,
        &Convert {
            nest: true,
            ..parts()
        },
        folder.path(),
    );
    let joint = |json: &Value, name: &str| {
        json["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .position(|node| node["name"] == name)
            .unwrap()
    };
    let children = &nested["nodes"][joint(&nested, "mPelvis")]["children"];
    assert_eq!(*children, serde_json::json!([joint(&nested, "mTorso")]));
    assert_eq!(
        flat["nodes"][joint(&flat, "mPelvis")]["children"],
        Value::Null
    );
    for name in ["mPelvis", "mTorso"] {
        let [a, b] = [&flat, &nested]
            .map(|json| place(json["nodes"].as_array().unwrap(), joint(json, name)));
        assert!(
            a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6),
            "{name}: {a:?} {b:?}"
        );
    }
}

#[test]
fn a_range_of_snapshots_begins_at_time_0() {
    let folder = tempfile::tempdir().unwrap();
    let file = open("cgeo", "anim_a.cgeo");
    let convert = Convert {
        snapshots: Some((3..=9).into()),
        every: NonZero::new(2),
        ..parts()
    };
    let (json, outcome) = json(&file, &convert, folder.path());
    assert_eq!(outcome.snapshots, 4);
    let input = &json["accessors"][index(&json["animations"][0]["samplers"][0]["input"])];
    assert_eq!(input["count"], 4);
    assert_eq!(input["min"], serde_json::json!([0.0]));
    let beyond = Convert {
        snapshots: Some((3..=4000).into()),
        ..parts()
    }
    .write_file(&file, folder.path().join("out.gltf"));
    assert!(
        beyond
            .unwrap_err()
            .to_string()
            .contains("are not all among 0 to")
    );
}

#[test]
fn normals_of_snapshots_are_targets_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = open("cgeo", "anim_a.cgeo");
    let (json, outcome) = json(
        &file,
        &Convert {
            morph_normals: true,
            ..parts()
        },
        folder.path(),
    );
    for target in json["meshes"][0]["primitives"][0]["targets"]
        .as_array()
        .unwrap()
    {
        assert!(target["NORMAL"].is_u64() && target["POSITION"].is_u64());
    }
    assert!(!outcome.report.lacks(FactKind::Normals), "{outcome:?}");
    assert!(outcome.report.count_of(Change::NormalDifferences) > 0);
}

#[test]
fn each_axis_can_point_up() {
    let folder = tempfile::tempdir().unwrap();
    let file = open("tmf", "v011_multi_names.tmf");
    for (number, up) in meshmap::Axis::ALL.into_iter().enumerate() {
        let (json, _) = json(
            &file,
            &Convert {
                up: Some(up),
                ..parts()
            },
            folder.path(),
        );
        let root = json["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .find(|node| node["name"] == "meshmap_root")
            .unwrap();
        let [x, y, z, w] = match root["rotation"].as_array() {
            Some(rotation) => [0, 1, 2, 3].map(|at| rotation[at].as_f64().unwrap()),
            None => [0.0, 0.0, 0.0, 1.0],
        };
        // The column of the axis in the matrix of the rotation.
        let columns = [
            [
                1.0 - 2.0 * (y * y + z * z),
                2.0 * (x * y + z * w),
                2.0 * (x * z - y * w),
            ],
            [
                2.0 * (x * y - z * w),
                1.0 - 2.0 * (x * x + z * z),
                2.0 * (y * z + x * w),
            ],
            [
                2.0 * (x * z + y * w),
                2.0 * (y * z - x * w),
                1.0 - 2.0 * (x * x + y * y),
            ],
        ];
        let sign = if number < 3 { 1.0 } else { -1.0 };
        let turned = columns[number % 3].map(|number| (sign * number).round());
        assert_eq!(turned, [0.0, 1.0, 0.0], "{up}");
    }
}

#[test]
fn a_unit_is_the_scale_of_the_root() {
    let folder = tempfile::tempdir().unwrap();
    let (json, _) = json(
        &open("tmf", "v011_multi_names.tmf"),
        &Convert {
            unit_millimeters: Some(25.4),
            ..parts()
        },
        folder.path(),
    );
    let root = json["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|node| node["name"] == "meshmap_root")
        .unwrap();
    assert_eq!(root["scale"][0].as_f64().unwrap() as f32, 0.0254);
}

#[test]
fn animations_of_another_file_join_where_the_joints_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let file = open("iqm", "skin_multi_anim.iqm");
    let model = |name: &str| Model::open(data::valid("iqm", name)).unwrap();
    let own = model("skin_multi_anim.iqm").anims().len() as u64;
    let with = |name: &str, animations| Convert {
        animations: vec![named((name, animations))],
        ..parts()
    };
    let convert = with("again.iqm", model("skin_multi_anim.iqm"));
    let (json, outcome) = json(&file, &convert, folder.path());
    assert_eq!(
        json["animations"].as_array().unwrap().len() as u64,
        outcome.animations
    );
    assert!(outcome.animations > own, "{} of {own}", outcome.animations);
    let other = with("other.iqm", model("ours_masks_a.iqm"));
    let error = other
        .write_file(&file, folder.path().join("out.gltf"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("the animations of other.iqm: ") && error.contains("joint"),
        "{error}"
    );
    let ply = Convert {
        animations: vec![named(("again.iqm", model("skin_multi_anim.iqm")))],
        ..Convert::new(Target::Ply)
    };
    let outcome = ply
        .write_file(&file, folder.path().join("out.ply"))
        .unwrap();
    assert!(outcome.report.lacks(FactKind::Clips));
}

/// A check that could not fail would be none: each byte of the numbers that is turned over is found.
#[test]
fn a_check_finds_what_was_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        (Target::Glb, "cgeo", "anim_a.cgeo"),
        (Target::Glb, "tmf", "v011_multi_names.tmf"),
        (Target::Ply, "iqm", "skin_multi_anim.iqm"),
        (Target::Stl, "slmesh", "ours_gzip_a.slmesh"),
        (Target::Pc2, "cgeo", "anim_a.cgeo"),
        (Target::Obj, "tmf", "v011_multi_names.tmf"),
    ];
    for (target, format, name) in cases {
        let (file, convert) = (open(format, name), Convert::new(target));
        let path = folder.path().join("out").with_extension(target.name());
        convert.write_file(&file, &path).unwrap();
        assert_eq!(
            check_file(&convert, &file, &path).unwrap().differs,
            [""; 0],
            "{name}"
        );
        let whole = fs::read(&path).unwrap();
        let mut found = 0;
        let places: Vec<usize> = (0..whole.len()).step_by(whole.len() / 97 + 1).collect();
        for place in &places {
            let mut damaged = whole.clone();
            damaged[*place] ^= 0x45;
            fs::write(&path, &damaged).unwrap();
            found += usize::from(
                !check_file(&convert, &file, &path)
                    .unwrap()
                    .differs
                    .is_empty(),
            );
        }
        // Some bytes are names, padding, and numbers that are not compared.
        assert!(
            found * 3 > places.len(),
            "{name}: {found} of {}",
            places.len()
        );
        fs::write(&path, &whole[..whole.len() - 10]).unwrap();
        assert_ne!(
            check_file(&convert, &file, &path).unwrap().differs,
            [""; 0],
            "{name}, cut"
        );
    }
}

/// It would have the vertices of all meshes.
#[test]
fn a_point_cache_of_selected_meshes_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.pc2");
    let convert = Convert {
        meshes: vec!["snapshots[3]".parse().unwrap()],
        ..Convert::new(Target::Pc2)
    };
    let error = convert
        .write_file(&open("cgeo", "anim_a.cgeo"), &path)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "pc2: a point cache has whole snapshots: select a range of them, not meshes by their addresses"
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_frame_is_written_as_the_library_moves_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = open("iqm", "skin_multi_anim.iqm");
    let model = file.as_iqm().unwrap();
    for target in [
        Target::Glb,
        Target::Gltf,
        Target::Obj,
        Target::Ply,
        Target::Stl,
        Target::Usdc,
        Target::Usdz,
    ] {
        let path = folder.path().join("frame").with_extension(target.name());
        let still = Convert {
            frame: Some(3),
            ..Convert::new(target)
        };
        let outcome = still.write_file(&file, &path).unwrap();
        assert!(outcome.report.lacks(FactKind::Joints), "{outcome:?}");
        assert!(outcome.report.lacks(FactKind::Clips), "{outcome:?}");
        assert!(outcome.moment.contains("frame 3"), "{outcome:?}");
        let checked = check_file(&still, &file, &path).unwrap();
        assert_eq!(checked.differs, [""; 0], "{target:?}");
        // Another frame is another mesh, which the check sees.
        let other = Convert {
            frame: Some(0),
            ..Convert::new(target)
        };
        let other = check_file(&other, &file, &path).unwrap();
        assert_ne!(other.differs, [""; 0], "{target:?}");
    }
    // Moved here once more: each vertex by the mean of its joints.
    let mut pose = vec![Trs::default(); model.joints().len()];
    model.frames().read_frame_into(3, &mut pose).unwrap();
    let matrices = model.skeleton().unwrap().skinning_matrices(&pose).unwrap();
    let mut expected: Vec<[f32; 3]> = Vec::new();
    for entry in file.meshes().unwrap() {
        let view = file.mesh(&entry.address).unwrap();
        let of = |semantic| view.attribute(&semantic).unwrap().unwrap().to_f32::<4>();
        let all = of(Semantic::Position)
            .into_iter()
            .zip(of(Semantic::Joints(0)))
            .zip(of(Semantic::Weights(0)));
        expected.extend(all.map(|(([x, y, z, _], joints), weights)| {
            let sum: f32 = weights.iter().sum();
            let place = |row: usize| {
                let of_joint = |(joint, weight): (&f32, &f32)| {
                    let [a, b, c, d] = matrices[*joint as usize][row];
                    (a * x + b * y + c * z + d) * weight / sum
                };
                joints.iter().zip(&weights).map(of_joint).sum()
            };
            [place(0), place(1), place(2)]
        }));
    }
    let path = folder.path().join("frame.obj");
    Convert {
        frame: Some(3),
        raw: true,
        ..Convert::new(Target::Obj)
    }
    .write_file(&file, &path)
    .unwrap();
    let text = fs::read_to_string(path).unwrap();
    let written = text
        .lines()
        .filter_map(|line| line.strip_prefix("v "))
        .flat_map(|line| line.split(' '));
    let apart = written
        .zip(expected.as_flattened())
        .map(|(a, b)| (a.parse::<f32>().unwrap() - b).abs());
    assert!(apart.fold(0.0, f32::max) < 1e-4, "{expected:?}: {text}");
    let anim = model
        .anims()
        .nth(1)
        .unwrap()
        .name
        .to_string_lossy()
        .into_owned();
    let still = Convert {
        anim: Some(anim.clone()),
        seconds: Some(0.0),
        ..Convert::new(Target::Ply)
    };
    let path = folder.path().join("time.ply");
    let outcome = still.write_file(&file, &path).unwrap();
    let moment = format!("{anim} frame 0");
    assert!(outcome.moment.contains(&moment), "{outcome:?}");
    assert_eq!(check_file(&still, &file, &path).unwrap().differs, [""; 0]);
}

/// The hand's joint is below the arm, and its pose below the root. In the second file its frames are sheared relative to the arm, which
/// matters to targets with joints only.
#[test]
fn a_frame_follows_the_parents_of_the_poses() {
    /// The vertices of a box.
    const BOX: usize = 24;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("frame.obj");
    for name in ["other_pose_parents.iqm", "other_pose_parents_shear.iqm"] {
        let file = MeshFile::open(data::root().join("iqm/regressions").join(name)).unwrap();
        let convert = Convert {
            frame: Some(3),
            raw: true,
            ..Convert::new(Target::Obj)
        };
        convert.write_file(&file, &path).unwrap();
        assert_eq!(
            check_file(&convert, &file, &path).unwrap().differs,
            [""; 0],
            "{name}"
        );
        let text = fs::read_to_string(&path).unwrap();
        let mut positions: Vec<[f32; 3]> = Vec::new();
        for line in text.lines().filter_map(|line| line.strip_prefix("v ")) {
            let numbers: Vec<f32> = line
                .split(' ')
                .map(|number| number.parse().unwrap())
                .collect();
            positions.push(numbers[..3].try_into().unwrap());
        }
        let middle = |vertices: &[[f32; 3]]| {
            let mut sum = [0.0; 3];
            for (axis, sum) in sum.iter_mut().enumerate() {
                *sum =
                    vertices.iter().map(|vertex| vertex[axis]).sum::<f32>() / vertices.len() as f32;
            }
            sum
        };
        let boxes: Vec<[f32; 3]> = positions.chunks(BOX).map(middle).collect();
        let expected = [[0.0_f32, 0.0, 0.0], [2.0, 0.0, 0.0], [4.0, 0.0, 3.0]];
        for (found, expected) in boxes.as_flattened().iter().zip(expected.as_flattened()) {
            assert!((found - expected).abs() < 1e-3, "{name}: {boxes:?}");
        }
        let drawn = meshmap_render::Render {
            frame: Some(3),
            size: Some([16, 16]),
            ..Default::default()
        };
        drawn.picture(&file).unwrap();
    }
}

#[test]
fn the_keys_of_an_animation_are_at_the_times_of_its_frames() {
    let folder = tempfile::tempdir().unwrap();
    let file = open("iqm", "skin_multi_anim.iqm");
    let (json, _) = json(&file, &parts(), folder.path());
    for (anim, written) in file
        .as_iqm()
        .unwrap()
        .anims()
        .zip(json["animations"].as_array().unwrap())
    {
        let rate = if anim.framerate > 0.0 {
            anim.framerate
        } else {
            24.0
        };
        let ends = written["samplers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|sampler| {
                json["accessors"][index(&sampler["input"])]["max"][0]
                    .as_f64()
                    .unwrap()
            });
        // One that loops ends with its first frame.
        let last = anim.num_frames - u32::from(!anim.is_loop());
        let last = f64::from(last as f32 / rate);
        assert!(
            (ends.fold(0.0, f64::max) - last).abs() < 1e-6,
            "{}: {last}",
            anim.name.to_string_lossy()
        );
    }
}

#[test]
fn one_animation_can_be_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let file = open("iqm", "skin_multi_anim.iqm");
    let Some(model) = file.as_iqm() else {
        unreachable!()
    };
    let (_, own) = json(&file, &parts(), folder.path());
    assert!(own.animations > 1);
    let first = model
        .anims()
        .next()
        .unwrap()
        .name
        .to_string_lossy()
        .into_owned();
    let (one, outcome) = json(
        &file,
        &Convert {
            anim: Some(first.clone()),
            ..parts()
        },
        folder.path(),
    );
    assert_eq!(
        (outcome.animations, &one["animations"][0]["name"]),
        (1, &Value::from(first))
    );
    assert_eq!(one["animations"].as_array().unwrap().len(), 1);
}

#[test]
fn a_frame_of_another_file_moves_a_mesh_that_has_none() {
    let folder = tempfile::tempdir().unwrap();
    let whole = data::valid("iqm", "skin_multi_anim.iqm");
    let mut bytes = fs::read(&whole).unwrap();
    // The numbers of poses, animations, frames and channels.
    for field in [76, 84, 92, 96] {
        bytes[field..field + 4].fill(0);
    }
    let mesh = folder.path().join("mesh.iqm");
    fs::write(&mesh, bytes).unwrap();
    let file = MeshFile::open(&mesh).unwrap();
    let ply = || Convert {
        anim: Some("run".to_owned()),
        frame: Some(2),
        ..Convert::new(Target::Ply)
    };
    let [joined, own] = ["joined.ply", "own.ply"].map(|name| folder.path().join(name));
    let error = ply().write_file(&file, &joined).unwrap_err().to_string();
    assert!(
        error.contains("no animation run: the file has none"),
        "{error}"
    );
    let with = Convert {
        animations: vec![named(("run.iqm", Model::open(&whole).unwrap()))],
        ..ply()
    };
    with.write_file(&file, &joined).unwrap();
    assert_eq!(check_file(&with, &file, &joined).unwrap().differs, [""; 0]);
    ply()
        .write_file(&MeshFile::open(&whole).unwrap(), &own)
        .unwrap();
    assert_eq!(fs::read(joined).unwrap(), fs::read(own).unwrap());
}

#[test]
fn a_time_of_a_proxy_is_the_nearest_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let file = open("cgeo", "anim_a.cgeo");
    let proxy = file.as_cgeo().unwrap();
    let seconds = proxy.timing().unwrap().time_of(2);
    for target in [
        Target::Glb,
        Target::Obj,
        Target::Ply,
        Target::Stl,
        Target::Pc2,
        Target::Usdc,
        Target::Usdz,
    ] {
        let [by_time, by_number] =
            ["time", "number"].map(|name| folder.path().join(name).with_extension(target.name()));
        let outcome = Convert {
            seconds: Some(seconds),
            ..Convert::new(target)
        }
        .write_file(&file, &by_time)
        .unwrap();
        assert!(outcome.moment.contains("snapshot 2"), "{outcome:?}");
        let number = Convert {
            snapshots: Some((2..=2).into()),
            ..Convert::new(target)
        };
        number.write_file(&file, &by_number).unwrap();
        assert_eq!(
            check_file(&number, &file, &by_time).unwrap().differs,
            [""; 0],
            "{target:?}"
        );
        let same_name = fs::read(&by_number).unwrap().len();
        assert!(fs::read(&by_time).unwrap().len().abs_diff(same_name) < 8);
    }
}

#[test]
fn moments_that_a_file_has_not_are_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let (man, wave) = (
        open("iqm", "skin_multi_anim.iqm"),
        open("cgeo", "anim_a.cgeo"),
    );
    let obj = || Convert::new(Target::Obj);
    for (file, convert, why) in [
        (
            &man,
            Convert {
                frame: Some(9999),
                ..obj()
            },
            "no frame 9999",
        ),
        (
            &man,
            Convert {
                anim: Some("nobody".to_owned()),
                ..obj()
            },
            "no animation nobody",
        ),
        (
            &man,
            Convert {
                anim: Some("nobody".to_owned()),
                ..Convert::new(Target::Glb)
            },
            "no animation nobody",
        ),
        (
            &wave,
            Convert {
                frame: Some(1),
                ..obj()
            },
            "cgeo files have no frames",
        ),
    ] {
        let error = convert
            .write_file(file, folder.path().join("out.obj"))
            .unwrap_err()
            .to_string();
        assert!(error.contains(why), "{error}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn output_beyond_the_limit_leaves_no_file_of_any_target() {
    let file = MeshFile::open(data::valid("cgeo", "anim_a.cgeo")).unwrap();
    for target in Target::ALL {
        let folder = tempfile::tempdir().unwrap();
        let files = || {
            fs::read_dir(folder.path())
                .unwrap()
                .map(|entry| entry.unwrap().path())
        };
        let path = folder.path().join("out").with_extension(target.name());
        let written = Convert::new(target).write_file(&file, &path).unwrap().files;
        let size: u64 = written.iter().map(|file| file.bytes).sum();
        assert!(
            written
                .iter()
                .all(|file| file.bytes == file.path.metadata().unwrap().len())
        );
        // A little less than everything: each file fits, and the last one does not fit any more.
        let mut limits = vec![0, 1, size / 2, size - 1];
        limits.extend(
            written
                .iter()
                .map(|file| size - file.bytes)
                .filter(|most| *most > 0),
        );
        for most in limits {
            files().for_each(|path| fs::remove_file(path).unwrap());
            let error = Convert {
                max_output_bytes: Some(most),
                ..Convert::new(target)
            }
            .write_file(&file, &path)
            .unwrap_err();
            assert!(
                matches!(error, Error::LimitExceeded { .. }),
                "{target:?}, {most} of {size} bytes: {error}"
            );
            assert_eq!(files().count(), 0, "{target:?}, {most} of {size} bytes");
        }
    }
}

#[test]
fn indices_beyond_their_array_reach_no_file() {
    let mut sheet = cgeo::Mesh::sheet(4, 1, 0.0);
    sheet.triangles[3][1][2] = u32::MAX;
    let bytes = cgeo::file(
        &[cgeo::snapshot(&sheet, sheet.complete())],
        Dialect::default(),
    );
    let file = open::file(bytes);
    for target in Target::ALL {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out").with_extension(target.name());
        match Convert::new(target).write_file(&file, &path) {
            Ok(_) => assert!(
                matches!(target, Target::Stl | Target::Pc2),
                "{target:?} has normals"
            ),
            Err(error) => {
                assert!(
                    error.to_string().replace(',', "").contains("4294967295"),
                    "{target:?}: {error}"
                );
                assert_eq!(
                    fs::read_dir(folder.path()).unwrap().count(),
                    0,
                    "{target:?}"
                );
            }
        }
    }
}

#[test]
fn the_root_of_a_glb_has_the_name_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let root = |format: &str, file: &str, name: &str| {
        let convert = Convert {
            name: name.to_owned(),
            ..parts()
        };
        let (json, _) = json(&open(format, file), &convert, folder.path());
        let root = index(&json["scenes"][0]["nodes"][0]);
        json["nodes"][root]["name"].as_str().unwrap().to_owned()
    };
    assert_eq!(root("iqm", "skin_multi_anim.iqm", "walker"), "walker");
    assert_eq!(root("iqm", "skin_multi_anim.iqm", ""), "meshmap_root");
    // The mesh has no name, and is also named after the file.
    assert_eq!(
        root("openctm", "knot_MG2_v0.25_n0.7.ctm", "knot"),
        "knot_root"
    );
}

#[test]
fn points_need_no_material_ids_in_a_ply() {
    let folder = tempfile::tempdir().unwrap();
    let points = |writer: tmf::Writer, name| {
        let bounds = [0., 1., 0., 1., 0., 1.];
        writer
            .mesh(name)
            .vertices(bounds, [3; 3], &[[0, 1, 2], [3, 4, 5], [6, 7, 0]])
    };
    let triangle = |writer, name| points(writer, name).indices(2, 2, 0, &[0, 1, 2]);
    for (writer, has_ids) in [
        (points(points(tmf::Writer::b(), "a"), "b"), false),
        (triangle(points(tmf::Writer::b(), "a"), "b"), false),
        (triangle(triangle(tmf::Writer::b(), "a"), "b"), true),
    ] {
        let source = Source::from_bytes(writer.to_bytes());
        let file = MeshFile::from_source(source, &Options::default()).unwrap();
        let meshes = file.meshes().unwrap().map(|entry| entry.address).collect();
        let convert = Convert {
            meshes,
            ..Convert::new(Target::Ply)
        };
        let path = folder.path().join("out.ply");
        convert.write_file(&file, &path).unwrap();
        assert_eq!(check_file(&convert, &file, &path).unwrap().differs, [""; 0]);
        let written = fs::read(&path).unwrap();
        assert_eq!(
            written.windows(14).any(|bytes| bytes == b"material_index"),
            has_ids
        );
    }
}

#[test]
fn custom_attributes_that_become_one_name_are_numbered() {
    const COUNT: usize = 2000;
    let folder = tempfile::tempdir().unwrap();
    let triangle = tmf::Writer::b().mesh("m").vertices(
        [0., 1., 0., 1., 0., 1.],
        [3; 3],
        &[[0, 1, 2], [3, 4, 5], [6, 7, 0]],
    );
    let triangle = triangle.indices(2, 2, 0, &[0, 1, 2]);
    // Names of dots and dashes, which are underscores in glTF.
    let name = |number: usize| {
        format!("a{number:011b}")
            .replace('0', "-")
            .replace('1', ".")
    };
    let writer = (0..COUNT).fold(triangle, |writer, number| {
        writer.custom(24, &name(number), 2, 0, &[0, 1, 2])
    });
    let source = Source::from_bytes(writer.to_bytes());
    let file = MeshFile::from_source(source, &Options::default()).unwrap();
    let (json, _) = json(&file, &parts(), folder.path());
    let attributes = json["meshes"][0]["primitives"][0]["attributes"]
        .as_object()
        .unwrap();
    for name in ["_A___________", "_A____________1", "_A____________1999"] {
        assert!(attributes.contains_key(name), "{name}");
    }
    // As long as the numbers, and not as the number of attributes.
    assert!(
        attributes
            .keys()
            .all(|name| name.len() <= "_A____________1999".len())
    );
    assert_eq!(attributes.len(), COUNT + 1);
}

#[test]
fn targets_without_time_read_one_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let (_, snapshots) = cgeo::animation(60, 9);
    // In this dialect, all of a snapshot is inflated to find the ends of its sections.
    let inflated = Dialect::default()
        .with_codec(Codec::Zlib)
        .with_size(SizeMeaning::Inflated);
    for dialect in [Dialect::default(), inflated] {
        let bytes = cgeo::file(&snapshots, dialect);
        let second = meshmap_testing::open::proxy(bytes.clone())
            .snapshot(1)
            .unwrap()
            .range()
            .start;
        for target in [Target::Obj, Target::Ply, Target::Stl] {
            let reader = Recorder::new(bytes.clone());
            let options = Options::default().with_dialect(dialect);
            let file =
                MeshFile::from_source(Source::ranged(Arc::clone(&reader)), &options).unwrap();
            reader.take();
            Convert::new(target)
                .write_file(&file, folder.path().join("out"))
                .unwrap();
            let last = reader
                .take()
                .into_iter()
                .map(|range| range.end)
                .max()
                .unwrap_or(0);
            assert!(last <= second, "{target}: {last} of {second}");
        }
    }
}
