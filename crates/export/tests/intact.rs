//! Files that programs, or other writers, do not take as they are: degenerate triangles, many materials, joints that are not there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use meshmap::cgeo::{Dialect, OffsetTarget, SizeMeaning};
use meshmap::{Codec, Format, MeshFile, Semantic};
use meshmap_check::check_file;
use meshmap_export::{Change, Convert, Error, FactKind, Outcome, Target};
use meshmap_render::Render;
use meshmap_testing::data;
use meshmap_testing::fixtures::{cgeo, iqm, openctm, tmf};
use meshmap_testing::open;
use serde_json::Value;

fn open(format: &str, name: &str) -> MeshFile {
    MeshFile::open(data::valid(format, name)).unwrap()
}

/// Converts a file, and has what was written checked.
fn write(file: &MeshFile, convert: &Convert, path: &Path) -> Outcome {
    let outcome = convert.write_file(file, path).unwrap();
    assert_eq!(check_file(convert, file, path).unwrap().differs, [""; 0]);
    outcome
}

const DROPPED: Change = Change::DegenerateDropped;

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
        for target in Target::ALL
            .into_iter()
            .filter(|target| *target != Target::Pc2)
        {
            let path = folder.path().join("out").with_extension(target.name());
            let keep_degenerate = matches!(target, Target::Usdc | Target::Usdz);
            let all = write(
                &file,
                &Convert {
                    keep_degenerate,
                    ..Convert::new(target)
                },
                &path,
            );
            if keep_degenerate {
                let usual = Convert::new(target);
                assert_eq!(
                    write(&file, &usual, &path).report.count_of(DROPPED),
                    all.degenerate
                );
                assert_eq!(check_file(&usual, &file, &path).unwrap().differs, [""; 0]);
            }
            let convert = Convert {
                drop_degenerate: true,
                ..Convert::new(target)
            };
            let kept = match convert.write_file(&file, &path) {
                Err(Error::NothingToConvert { .. }) => continue,
                kept => kept.unwrap(),
            };
            assert_eq!(check_file(&convert, &file, &path).unwrap().differs, [""; 0]);
            let dropped = kept.report.count_of(DROPPED);
            assert_eq!(
                (kept.degenerate, dropped),
                (0, all.degenerate),
                "{name} as {}",
                target.name()
            );
            assert_eq!(
                kept.triangles,
                all.triangles - dropped,
                "{name} as {}",
                target.name()
            );
            assert!(
                format == "cgeo" || dropped > 0,
                "{name} has no such triangle"
            );
        }
    }
}

#[test]
fn merged_materials_are_one_and_an_attribute() {
    let folder = tempfile::tempdir().unwrap();
    let file = open("cgeo", "anim_a.cgeo");
    let has_materials = |target: &Target| !matches!(target, Target::Ply | Target::Stl);
    for target in Target::ALL.into_iter().filter(has_materials) {
        let path = folder.path().join("out").with_extension(target.name());
        let outcome = write(
            &file,
            &Convert {
                merge_materials: true,
                ..Convert::new(target)
            },
            &path,
        );
        assert_eq!(
            outcome.report.lacks(FactKind::MaterialIds),
            matches!(target, Target::Obj | Target::Pc2),
            "{}",
            target.name()
        );
    }
    let json: Value =
        serde_json::from_slice(&fs::read(folder.path().join("out.gltf")).unwrap()).unwrap();
    assert_eq!(json["materials"].as_array().unwrap().len(), 1);
    assert_eq!(json["meshes"][0]["primitives"].as_array().unwrap().len(), 1);
    let library = fs::read_to_string(folder.path().join("out.mtl")).unwrap();
    assert_eq!(library.matches("newmtl ").count(), 1);
}

#[test]
fn files_without_triangles_have_joints_or_are_nothing_to_convert() {
    let folder = tempfile::tempdir().unwrap();
    for (format, name, joints, animations) in [
        ("iqm", "anim_only_joints.iqm", 12, 2),
        ("iqm", "ours_no_vertexes_a.iqm", 1, 0),
        ("cgeo", "empty_anim_a.cgeo", 0, 0),
        ("tmf", "v011_two_empty_meshes.tmf", 0, 0),
        ("tmf", "v011_empty_file.tmf", 0, 0),
    ] {
        let file = open(format, name);
        for target in Target::ALL
            .into_iter()
            .filter(|target| format == "cgeo" || *target != Target::Pc2)
        {
            let path = folder.path().join("out").with_extension(target.name());
            match Convert::new(target).write_file(&file, &path) {
                Ok(outcome)
                    if joints > 0 && !matches!(target, Target::Obj | Target::Ply | Target::Stl) =>
                {
                    let counts = (outcome.joints, outcome.animations, outcome.vertices);
                    assert_eq!(counts, (joints, animations, 0));
                    for kind in [FactKind::Joints, FactKind::Clips] {
                        assert!(!outcome.report.lacks(kind), "{kind}");
                    }
                    assert_eq!(
                        check_file(&Convert::new(target), &file, &path)
                            .unwrap()
                            .differs,
                        [""; 0]
                    );
                    outcome
                        .files
                        .iter()
                        .for_each(|file| fs::remove_file(&file.path).unwrap());
                }
                Err(Error::NothingToConvert {
                    has_animations,
                    has_unusable,
                }) => {
                    assert_eq!((has_animations, has_unusable), (animations > 0, false));
                }
                other => panic!("{name} as {}: {other:?}", target.name()),
            }
            assert_eq!(
                fs::read_dir(folder.path()).unwrap().count(),
                0,
                "{name} as {}",
                target.name()
            );
        }
    }
}

fn of_bytes(bytes: Vec<u8>) -> MeshFile {
    open::file(bytes)
}

#[test]
fn a_joint_that_is_not_there_costs_the_weights_only() {
    let folder = tempfile::tempdir().unwrap();
    let file = open("iqm", "skin_multi_anim.iqm");
    let mut bytes = fs::read(data::valid("iqm", "skin_multi_anim.iqm")).unwrap();
    let address = file.meshes().unwrap().next().unwrap().address;
    let joints = file
        .mesh(&address)
        .unwrap()
        .attribute(&Semantic::Joints(0))
        .unwrap()
        .unwrap();
    let stored = joints.as_bytes().to_vec();
    let at = bytes
        .windows(stored.len())
        .position(|window| window == stored)
        .unwrap();
    bytes[at..at + stored.len()].fill(250);
    let path = folder.path().join("out.gltf");
    let outcome = write(&of_bytes(bytes), &Convert::new(Target::Gltf), &path);
    let report = &outcome.report;
    assert!(report.count_of(Change::WeightsBeyond) >= 30, "{report:?}");
    // No vertex has another joint.
    assert_eq!(report.count_of(Change::VerticesResting), 30);
}

/// The check computes the places of joints from the poses and their own parents.
#[test]
fn poses_with_other_parents_than_the_joints_are_converted() {
    /// Offsets in the header: the offset of the poses, and the length of a pose.
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
    let outcome = write(
        &file,
        &Convert::new(Target::Glb),
        &folder.path().join("out.glb"),
    );
    assert!(outcome.report.count_of(Change::PosesRebased) > 0);
    assert!(outcome.animations > 0);
    write(
        &file,
        &Convert {
            frame: Some(2),
            ..Convert::new(Target::Obj)
        },
        &folder.path().join("out.obj"),
    );
}

#[test]
fn objects_without_a_name_have_the_given_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = open("openctm", "hand_concat_b.ctm");
    let json = folder.path().join("out.gltf");
    write(
        &file,
        &Convert {
            name: "ball".to_owned(),
            ..Convert::new(Target::Gltf)
        },
        &json,
    );
    let json: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    assert_eq!(json["meshes"][0]["name"], "ball");
    let objects = folder.path().join("out.obj");
    write(
        &file,
        &Convert {
            name: "ball".to_owned(),
            ..Convert::new(Target::Obj)
        },
        &objects,
    );
    let text = fs::read_to_string(objects).unwrap();
    let names: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("o "))
        .collect();
    assert_eq!(names[0], "ball");
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
}

/// Indices of OBJ count through all objects, for positions, texture coordinates and normals by themselves.
#[test]
fn an_object_without_coordinates_does_not_shift_those_of_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let whole = openctm::Body::sheet(*b"RAW\0", 3);
    assert!(!whole.uv_maps.is_empty() && !whole.normals.is_empty());
    let bare = openctm::Body {
        flags: 0,
        uv_maps: Vec::new(),
        ..openctm::Body::sheet(*b"RAW\0", 2)
    };
    let file = of_bytes([bare.to_bytes(), whole.to_bytes()].concat());
    write(
        &file,
        &Convert::new(Target::Obj),
        &folder.path().join("out.obj"),
    );
}

/// The content of the section of a mesh, with this many material IDs.
fn with_materials(mesh: &cgeo::Mesh, materials: u16) -> Vec<u8> {
    // The indices of positions, normals and each channel, then the ID and a byte of edges.
    let record = 12 * (2 + mesh.texcoords.len()) + 3;
    let mut content = mesh.complete();
    let start = content.len() - record * mesh.triangles.len();
    for (triangle, record) in (0_u16..).zip(content[start..].chunks_exact_mut(record)) {
        *record[..]
            .last_chunk_mut::<3>()
            .unwrap()
            .first_chunk_mut()
            .unwrap() = (triangle % materials).to_le_bytes();
    }
    content
}

/// An animation of 1,152 triangles, with this many material IDs.
fn colorful(materials: u16, snapshots: u8) -> MeshFile {
    let dialect = Dialect::default()
        .with_codec(Codec::Stored)
        .with_size(SizeMeaning::Stored)
        .with_offset(OffsetTarget::StartTag);
    let meshes: Vec<cgeo::Mesh> = (0..snapshots)
        .map(|time| cgeo::Mesh::sheet(25, 1, f32::from(time)))
        .collect();
    let content = |(at, mesh): (usize, &cgeo::Mesh)| {
        let base = &meshes[0];
        let content = if at == 0 {
            with_materials(base, materials)
        } else {
            mesh.difference(base)
        };
        cgeo::snapshot(mesh, content)
    };
    let snapshots: Vec<cgeo::Snapshot> = meshes.iter().enumerate().map(content).collect();
    of_bytes(cgeo::file(&snapshots, dialect))
}

#[test]
fn more_than_a_thousand_materials_are_merged_unless_they_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (many, some) = (colorful(1001, 2), colorful(1000, 2));
    for target in Target::ALL {
        let path = folder.path().join("out").with_extension(target.name());
        let merged = |file: &MeshFile, convert: &Convert| {
            let outcome = write(file, convert, &path);
            assert_eq!(
                check_file(convert, file, &path).unwrap().differs,
                Vec::<String>::new(),
                "{target}"
            );
            outcome.report.count_of(Change::MaterialsMerged)
        };
        let has_materials = !matches!(target, Target::Ply | Target::Stl);
        assert_eq!(
            merged(&many, &Convert::new(target)),
            if has_materials { 1001 } else { 0 },
            "{target}"
        );
        assert_eq!(merged(&some, &Convert::new(target)), 0, "{target}");
        if has_materials {
            assert_eq!(
                merged(
                    &many,
                    &Convert {
                        keep_materials: true,
                        ..Convert::new(target)
                    }
                ),
                0,
                "{target}"
            );
        }
    }
}

/// Many materials share their vertices: a further snapshot adds one accessor, and a number to each primitive.
#[test]
fn accessors_do_not_grow_with_materials_times_snapshots() {
    let folder = tempfile::tempdir().unwrap();
    let [two, ten] = [2, 10].map(|snapshots| {
        let path = folder.path().join("out.gltf");
        write(
            &colorful(200, snapshots),
            &Convert::new(Target::Gltf),
            &path,
        );
        let text = fs::read(&path).unwrap();
        let json: Value = serde_json::from_slice(&text).unwrap();
        (json["accessors"].as_array().unwrap().len(), text.len())
    });
    assert_eq!(ten.0 - two.0, 8);
    assert!(
        ten.1 - two.1 < 8 * (200 * 24 + 1000),
        "{} bytes of JSON for 8 snapshots",
        ten.1 - two.1
    );
}

/// A backslash at the end of a line of OBJ or MTL continues it on the next.
#[test]
fn names_that_end_in_a_backslash_continue_no_line_of_obj() {
    let folder = tempfile::tempdir().unwrap();
    let (_, snapshots) = cgeo::animation(4, 1);
    let mut sheet = cgeo::file(&snapshots, cgeo::dialects()[0]);
    let name = sheet
        .windows(6)
        .position(|bytes| bytes == b"Sheet\n")
        .unwrap();
    sheet[name + 4] = b'\\';
    let names = ["a\\", "a\\_", "a_", "a b", "a_b", "a\tb", "a\\\\"];
    let surface = |name| iqm::Surface {
        name,
        positions: vec![[0., 0., 0.], [1., 0., 0.], [0., 1., 0.]],
        normals: vec![[0., 0., 1.]; 3],
        weights: vec![[0, 0, 0]; 3],
        triangles: vec![[0, 1, 2]],
    };
    let surface_count = names.len();
    let joint = iqm::Joint {
        name: "root",
        parent: None,
        translate: [0.; 3],
    };
    let surfaces = iqm::Writer::figure(&names.map(surface), &[joint], 24., &[]).to_bytes();
    let mut bodies = tmf::Writer::a();
    for name in ["a\\", "\\", "a\\\\"] {
        let points = [[0, 0, 0], [31, 0, 0], [0, 31, 0]];
        bodies = bodies
            .mesh(name)
            .vertices([0., 1., 0., 1., 0., 1.], [5; 3], &points)
            .indices(2, 2, 0, &[0, 1, 2]);
    }
    for (bytes, objects, materials) in [
        (sheet, 1, 3),
        (surfaces, 5, surface_count),
        (bodies.to_bytes(), 3, 0),
    ] {
        let file = open::file(bytes);
        let path = folder.path().join("out.obj");
        let convert = Convert::new(Target::Obj);
        convert.write_file(&file, &path).unwrap();
        let [text, library] = ["obj", "mtl"]
            .map(|extension| fs::read_to_string(path.with_extension(extension)).unwrap());
        assert!(
            !text
                .lines()
                .chain(library.lines())
                .any(|line| line.ends_with('\\')),
            "{text}{library}"
        );
        let names = |text: &str, word| -> BTreeSet<String> {
            text.lines()
                .filter_map(|line| line.strip_prefix(word))
                .map(str::to_owned)
                .collect()
        };
        assert_eq!(
            (names(&text, "o ").len(), names(&library, "newmtl ").len()),
            (objects, materials)
        );
        assert_eq!(names(&text, "usemtl "), names(&library, "newmtl "));
        assert_eq!(check_file(&convert, &file, &path).unwrap().differs, [""; 0]);
        if materials == surface_count {
            // Two materials that became one.
            fs::write(&path, text.replace("usemtl a_b_1\n", "usemtl a_b\n")).unwrap();
            assert_ne!(check_file(&convert, &file, &path).unwrap().differs, [""; 0]);
        }
    }
}

/// A sheet of vertices, and no triangle; or one with equal corners, as MeshLab writes for clouds.
fn cloud(triangles: u32) -> MeshFile {
    let mut bytes = iqm::Writer::sheets(1, 20, 15).to_bytes();
    let at =
        |field: usize| u32::from_le_bytes(bytes[field..field + 4].try_into().unwrap()) as usize;
    let (mesh, first) = (at(0x28), at(0x3c));
    for (field, value) in [(0x38, triangles), (mesh + 20, triangles), (0x40, 0)] {
        bytes[field..field + 4].copy_from_slice(&value.to_le_bytes());
    }
    bytes[first..first + 12].fill(0);
    of_bytes(bytes)
}

#[test]
fn clouds_are_points_in_every_target_that_has_them() {
    let folder = tempfile::tempdir().unwrap();
    for (triangles, target) in [0, 1]
        .into_iter()
        .flat_map(|n| Target::ALL.map(|target| (n, target)))
    {
        let (file, path) = (
            cloud(triangles),
            folder.path().join("out").with_extension(target.name()),
        );
        let convert = Convert::new(target);
        if matches!(target, Target::Stl | Target::Pc2) {
            let error = convert.write_file(&file, &path).unwrap_err();
            assert!(matches!(error, Error::NotHeld { .. }), "{target}: {error}");
            continue;
        }
        let outcome = write(&file, &convert, &path);
        assert_eq!(
            (outcome.points, outcome.vertices, outcome.triangles),
            (300, 300, 0),
            "{target}"
        );
        assert_eq!(
            outcome.report.count_of(DROPPED),
            u64::from(triangles > 0),
            "{target}"
        );
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        let (what, count) = match target {
            Target::Obj => ("\np ", 300),
            Target::Ply => ("element vertex 300\n", 1),
            Target::Usdc | Target::Usdz => ("Points", 1),
            _ => ("\"mode\":0", 1),
        };
        assert_eq!(text.matches(what).count(), count, "{target}: {what}");
    }
    let picture = Render {
        size: Some([64, 64]),
        ..Render::default()
    }
    .picture(&cloud(0))
    .unwrap();
    assert_eq!(picture.1.points, 300);
    // A mesh whose vertices are all in triangles is not a cloud.
    let degenerate = open("tmf", "v021_degenerate_triangle.tmf");
    assert_eq!(
        write(
            &degenerate,
            &Convert::new(Target::Glb),
            &folder.path().join("out.glb")
        )
        .points,
        0
    );
}

#[test]
fn snapshots_without_triangles_are_points() {
    let folder = tempfile::tempdir().unwrap();
    let file = open("cgeo", "points_a.cgeo");
    assert_eq!(
        file.mesh(&"snapshots[1]".parse().unwrap())
            .unwrap()
            .vertex_count(),
        33
    );
    for target in Target::ALL {
        let path = folder.path().join("out").with_extension(target.name());
        if target == Target::Stl {
            let error = Convert::new(target).write_file(&file, &path).unwrap_err();
            assert!(matches!(error, Error::NotHeld { .. }), "{error}");
            continue;
        }
        let outcome = write(&file, &Convert::new(target), &path);
        let snapshots = if matches!(target, Target::Obj | Target::Ply) {
            0
        } else {
            2
        };
        let counts = (
            outcome.points,
            outcome.vertices,
            outcome.triangles,
            outcome.snapshots,
        );
        assert_eq!(counts, (33, 33, 0, snapshots), "{target}");
        let report = &outcome.report;
        assert!(report.lacks(FactKind::TexCoords), "{target}: {report:?}");
        let is_point_cache = target == Target::Pc2;
        let text = fs::read(if is_point_cache {
            path.with_extension("obj")
        } else {
            path
        })
        .unwrap();
        let text = String::from_utf8_lossy(&text).into_owned();
        let (what, count) = match target {
            Target::Obj | Target::Pc2 => ("\np ", 33),
            Target::Ply => ("element vertex 33\n", 1),
            Target::Usdc | Target::Usdz => ("Points", 1),
            _ => ("\"mode\":0", 1),
        };
        assert_eq!(text.matches(what).count(), count, "{target}: {what}");
    }
    let one = Convert {
        meshes: vec!["snapshots[1]".parse().unwrap()],
        ..Convert::new(Target::Glb)
    };
    assert_eq!(
        write(&file, &one, &folder.path().join("one.glb")).points,
        33
    );
    let picture = Render {
        size: Some([64, 64]),
        ..Render::default()
    }
    .picture(&file)
    .unwrap();
    assert_eq!(picture.1.points, 33);
}

#[test]
fn vertices_are_points_if_all_triangles_are_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let file = open("tmf", "hand_v2_prec0_base0_b.tmf");
    let dropping = |target| Convert {
        drop_degenerate: true,
        ..Convert::new(target)
    };
    for (convert, points) in [
        (Convert::new(Target::Glb), 0),
        (dropping(Target::Glb), 5),
        (Convert::new(Target::Usdc), 5),
        (
            Convert {
                keep_degenerate: true,
                ..Convert::new(Target::Usdc)
            },
            0,
        ),
    ] {
        let outcome = write(
            &file,
            &convert,
            &folder
                .path()
                .join("out")
                .with_extension(convert.target.name()),
        );
        assert_eq!(
            (outcome.points, outcome.triangles),
            (points, if points > 0 { 0 } else { 2 })
        );
        let dropped = if points > 0 { 2 } else { 0 };
        assert_eq!(outcome.report.count_of(DROPPED), dropped);
    }
    let mut mesh = cgeo::Mesh::sheet(2, 1, 0.0);
    mesh.triangles = vec![[[0, 1, 1]; 2]];
    let content = mesh.complete();
    let file = of_bytes(cgeo::file(
        &[cgeo::snapshot(&mesh, content)],
        Dialect::default(),
    ));
    for target in [Target::Glb, Target::Usdc, Target::Obj] {
        let path = folder.path().join("out").with_extension(target.name());
        let outcome = write(&file, &dropping(target), &path);
        assert_eq!(
            (outcome.points, outcome.triangles, outcome.snapshots),
            (4, 0, u64::from(target != Target::Obj))
        );
        assert_eq!(outcome.report.count_of(DROPPED), 1, "{target}");
    }
}

#[test]
fn pictures_have_the_colours_of_vertices() {
    let file = of_bytes(openctm::Body::sheet(*b"RAW\0", 2).to_bytes());
    let (picture, _) = Render {
        size: Some([64, 64]),
        ..Render::default()
    }
    .picture(&file)
    .unwrap();
    let pixels = picture.bytes().as_chunks::<3>().0;
    // Red grows along one side, and green along the other.
    for [most, least] in [[0, 1], [1, 0]] {
        assert!(
            pixels
                .iter()
                .any(|pixel| u32::from(pixel[most]) > 2 * u32::from(pixel[least]))
        );
    }
}

#[test]
fn a_file_of_animations_is_drawn_as_its_bones() {
    let file = open("iqm", "anim_only_joints.iqm");
    let render = |frame| Render {
        size: Some([64, 64]),
        frame,
        ..Render::default()
    };
    let [still, first, last] = [None, Some(0), Some(5)].map(|frame| {
        let (picture, rendered) = render(frame).picture(&file).unwrap();
        assert_eq!(rendered.triangles, 0);
        assert_eq!(rendered.joints, 12);
        picture.bytes().to_vec()
    });
    assert!(still != first && first != last);
}
