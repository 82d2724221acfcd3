//! Files that programs, or other writers, do not take as they are: degenerate triangles, many materials, joints that are not there.

use std::fs;
use std::path::Path;

use meshmap::{Format, MeshFile, Semantic, Source};
use meshmap_export::{Convert, Error, Outcome, Target};
use meshmap_testing::data;
use serde_json::Value;

fn open(format: &str, name: &str) -> MeshFile {
    MeshFile::open(data::valid(format, name)).unwrap()
}

/// Converts a file, and has what was written checked.
fn write(file: &MeshFile, convert: &Convert, path: &Path) -> Outcome {
    let outcome = convert.write_file(file, path).unwrap();
    assert_eq!(convert.check_file(file, path).unwrap().differs, [""; 0]);
    outcome
}

const DROPPED: &str = "triangles with two equal corners, dropped";

#[test]
fn degenerate_triangles_are_counted_or_dropped() {
    let folder = tempfile::tempdir().unwrap();
    for (format, name) in [
        ("openctm", "degen_RAW_pn.ctm"),
        ("slmesh", "odd_f06_degenerate.slmesh"),
        ("tmf", "v021_degenerate_triangle.tmf"),
        ("cgeo", "ids_edges_a.cgeo"),
    ] {
        let file = open(format, name);
        for target in Target::ALL.into_iter().filter(|target| *target != Target::Pc2) {
            let path = folder.path().join("out").with_extension(target.name());
            let all = write(&file, &Convert::new(target), &path);
            let convert = Convert::new(target).with_drop_degenerate(true);
            let kept = match convert.write_file(&file, &path) {
                Err(Error::NothingToConvert { .. }) => continue,
                kept => kept.unwrap(),
            };
            assert_eq!(convert.check_file(&file, &path).unwrap().differs, [""; 0]);
            let dropped = kept.changed.get(DROPPED).copied().unwrap_or_default();
            assert_eq!((kept.degenerate, dropped), (0, all.degenerate), "{name} as {}", target.name());
            assert_eq!(kept.triangles, all.triangles - dropped, "{name} as {}", target.name());
            assert!(format == "cgeo" || dropped > 0, "{name} has no such triangle");
        }
    }
}

#[test]
fn merged_materials_are_one_and_an_attribute() {
    let folder = tempfile::tempdir().unwrap();
    let file = open("cgeo", "anim_a.cgeo");
    for target in Target::ALL {
        let path = folder.path().join("out").with_extension(target.name());
        let outcome = write(&file, &Convert::new(target).with_merge_materials(true), &path);
        let is_left_out = outcome.left_out.iter().any(|line| line == "material IDs");
        assert_eq!(is_left_out, matches!(target, Target::Obj | Target::Pc2), "{}", target.name());
    }
    let json: Value = serde_json::from_slice(&fs::read(folder.path().join("out.gltf")).unwrap()).unwrap();
    assert_eq!(json["materials"].as_array().unwrap().len(), 1);
    assert_eq!(json["meshes"][0]["primitives"].as_array().unwrap().len(), 1);
    let library = fs::read_to_string(folder.path().join("out.mtl")).unwrap();
    assert_eq!(library.matches("newmtl ").count(), 1);
}

#[test]
fn files_without_triangles_are_nothing_to_convert() {
    let folder = tempfile::tempdir().unwrap();
    for (format, name, animations) in [
        ("iqm", "anim_only_joints.iqm", true),
        ("iqm", "ours_no_vertexes_a.iqm", false),
        ("cgeo", "points_a.cgeo", false),
        ("cgeo", "empty_anim_a.cgeo", false),
        ("tmf", "v011_two_empty_meshes.tmf", false),
        ("tmf", "v011_empty_file.tmf", false),
    ] {
        let file = open(format, name);
        for target in Target::ALL.into_iter().filter(|target| format == "cgeo" || *target != Target::Pc2) {
            let path = folder.path().join("out").with_extension(target.name());
            match Convert::new(target).write_file(&file, &path) {
                Err(Error::NothingToConvert { has_animations }) => assert_eq!(has_animations, animations),
                other => panic!("{name} as {}: {other:?}", target.name()),
            }
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{name} as {}", target.name());
        }
    }
}

fn of_bytes(bytes: Vec<u8>) -> MeshFile {
    MeshFile::from_source(Source::from_bytes(bytes)).unwrap()
}

#[test]
fn a_joint_that_is_not_there_costs_the_weights_only() {
    let folder = tempfile::tempdir().unwrap();
    let file = open("iqm", "skin_multi_anim.iqm");
    let mut bytes = fs::read(data::valid("iqm", "skin_multi_anim.iqm")).unwrap();
    let address = file.meshes().unwrap().next().unwrap().address;
    let joints = file.mesh(&address).unwrap().attribute(&Semantic::Joints(0)).unwrap().unwrap();
    let stored = joints.as_bytes().to_vec();
    let at = bytes.windows(stored.len()).position(|window| window == stored).unwrap();
    bytes[at..at + stored.len()].fill(250);
    let path = folder.path().join("out.gltf");
    let outcome = write(&of_bytes(bytes), &Convert::new(Target::Gltf), &path);
    let said = outcome.left_out.iter().find(|line| line.contains("the weights of meshes[0]"));
    assert!(said.is_some_and(|line| line.contains("250")), "{:?}", outcome.left_out);
    let json: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert!(json["meshes"][0]["primitives"][0]["attributes"]["JOINTS_0"].is_null());
}

/// The check computes the places of joints from the poses and their own parents.
#[test]
fn poses_with_other_parents_than_the_joints_are_converted() {
    /// Where the header has the place of the poses, and their length.
    const POSES: usize = 16 + 16 * 4;
    const LENGTH: usize = 88;
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = fs::read(data::valid("iqm", "skin_multi_anim.iqm")).unwrap();
    let poses = u32::from_le_bytes(*bytes[POSES..].first_chunk().unwrap()) as usize;
    let parent = poses + 2 * LENGTH;
    assert_eq!(bytes[parent..parent + 4], 0_i32.to_le_bytes());
    bytes[parent..parent + 4].copy_from_slice(&1_i32.to_le_bytes());
    let file = of_bytes(bytes);
    assert_eq!(file.format(), Format::Iqm);
    let outcome = write(&file, &Convert::new(Target::Glb), &folder.path().join("out.glb"));
    assert!(outcome.changed.contains_key("poses, now relative to the parents of the joints"));
    assert!(outcome.animations > 0);
    write(&file, &Convert::new(Target::Obj).with_frame(2), &folder.path().join("out.obj"));
}

#[test]
fn objects_without_a_name_have_the_given_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = open("openctm", "hand_concat_b.ctm");
    let json = folder.path().join("out.gltf");
    write(&file, &Convert::new(Target::Gltf).with_name("ball"), &json);
    let json: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    assert_eq!(json["meshes"][0]["name"], "ball");
    let objects = folder.path().join("out.obj");
    write(&file, &Convert::new(Target::Obj).with_name("ball"), &objects);
    let text = fs::read_to_string(objects).unwrap();
    let names: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("o ")).collect();
    assert_eq!(names[0], "ball");
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
}
