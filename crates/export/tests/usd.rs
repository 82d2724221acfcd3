//! USD files, read back by a reader that shares nothing with the writer: what they hold is what the library reads.

use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use meshmap::cgeo::{Dialect, OffsetTarget, Parts, SizeMeaning};
use meshmap::{Axis, Codec, Format, MeshFile, Semantic};
use meshmap_check::check_file;
use meshmap_check::usdc::{self, Array, Prim, Stage};
use meshmap_export::{Change, Convert, Error, FactKind, Lods, Outcome, Target, Why};
use meshmap_testing::fixtures::cgeo::{self, Mesh};
use meshmap_testing::{
    allocator::{Counting, counted},
    open, runs_against_normals,
};
use meshmap_testing::{data, drawn, test_files};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn good(root: &Path, format: Format) -> Vec<PathBuf> {
    data::files(&root.join(format.name()).join("valid"))
}

/// The outcome of writing a file, and the written bytes.
fn written(file: &MeshFile, convert: &Convert) -> Result<(Vec<u8>, Outcome), Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.usdc");
    let outcome = convert.write_file(file, &path);
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, usize::from(outcome.is_ok()), "files that are left");
    Ok((fs::read(path).unwrap_or_default(), outcome?))
}

fn stage(bytes: &[u8]) -> Stage<'_> {
    usdc::read(bytes).unwrap_or_else(|error| panic!("{error}"))
}

fn meshes<'s, 'a>(stage: &'s Stage<'a>) -> Vec<&'s Prim<'a>> {
    stage
        .prims
        .iter()
        .filter(|prim| prim.kind == "Mesh")
        .collect()
}

fn bits(array: Option<Array<'_>>) -> Vec<u32> {
    array
        .expect("an array")
        .floats()
        .map(f32::to_bits)
        .collect()
}

fn bits_of(triples: &[[f32; 3]]) -> Vec<u32> {
    triples
        .as_flattened()
        .iter()
        .map(|number| number.to_bits())
        .collect()
}

fn ints(array: Option<Array<'_>>) -> Vec<u32> {
    array
        .expect("an array")
        .ints()
        .map(i32::cast_unsigned)
        .collect()
}

fn proxy(snapshots: &[cgeo::Snapshot]) -> MeshFile {
    let dialect = Dialect::default()
        .with_codec(Codec::Stored)
        .with_size(SizeMeaning::Stored)
        .with_offset(OffsetTarget::StartTag);
    open::file(cgeo::file(snapshots, dialect))
}

/// A proxy of complete meshes.
fn complete(meshes: &[Mesh]) -> MeshFile {
    let snapshots: Vec<_> = meshes
        .iter()
        .map(|mesh| cgeo::snapshot(mesh, mesh.complete()))
        .collect();
    proxy(&snapshots)
}

fn plain(file: &MeshFile) -> (Vec<u8>, Outcome) {
    written(file, &Convert::new(Target::Usdc)).unwrap_or_else(|error| panic!("{error}"))
}

test_files!(every_snapshot_has_its_points_and_triangles);

/// `turned.rs` compares the corners of the other formats.
fn every_snapshot_has_its_points_and_triangles(root: &Path) {
    let mut compared = 0;
    for path in good(root, Format::CGeo) {
        let name = path.display();
        let file = MeshFile::open(&path).unwrap();
        let bytes = match written(
            &file,
            &Convert {
                keep_degenerate: true,
                ..Convert::new(Target::Usdc)
            },
        ) {
            Ok((_, outcome)) if outcome.points > 0 || outcome.joints > 0 => continue,
            Ok((bytes, _)) => bytes,
            Err(
                Error::NotHeld { .. } | Error::NonFinite { .. } | Error::NothingToConvert { .. },
            ) => continue,
            Err(error) => panic!("{name}: {error}"),
        };
        let stage = stage(&bytes);
        let meshes = meshes(&stage);
        let is_against = runs_against_normals(&file);
        let proxy = file.as_cgeo().unwrap();
        let [mesh] = meshes.as_slice() else {
            panic!("{name}: {} meshes", meshes.len())
        };
        let turn = |[a, b, c]: [u32; 3]| if is_against { [a, c, b] } else { [a, b, c] };
        for index in 0..proxy.snapshot_count() {
            let stored = proxy.snapshot(index).unwrap().mesh(Parts::ALL).unwrap();
            let time = index as f64;
            assert_eq!(
                bits(mesh.arrays["points"].at(time)),
                bits_of(&stored.positions.to_vec()),
                "{name}"
            );
            let corners: Vec<_> = stored.triangles.positions().into_iter().map(turn).collect();
            assert_eq!(
                ints(mesh.arrays["faceVertexIndices"].at(time)),
                corners.as_flattened(),
                "{name}"
            );
            let counts = ints(mesh.arrays["faceVertexCounts"].at(time));
            assert_eq!(counts, vec![3; corners.len()], "{name}");
            if let Some(normals) = mesh.arrays.get("primvars:normals") {
                assert_eq!(
                    bits(normals.at(time)),
                    bits_of(&stored.normals.to_vec()),
                    "{name}"
                );
                let indices = ints(mesh.arrays["primvars:normals:indices"].at(time));
                let expected: Vec<_> = stored
                    .triangles
                    .normals()
                    .unwrap()
                    .into_iter()
                    .map(turn)
                    .collect();
                assert_eq!(indices, expected.as_flattened(), "{name}");
            }
            compared += 1;
        }
    }
    assert!(compared > 50, "{compared} snapshots");
}

test_files!(every_attribute_is_a_primvar_or_left_out);

fn every_attribute_is_a_primvar_or_left_out(root: &Path) {
    let mut found = 0;
    for path in Format::ALL
        .into_iter()
        .filter(|format| *format != Format::CGeo)
        .flat_map(|format| good(root, format))
    {
        let file = MeshFile::open(&path).unwrap();
        let Ok((bytes, outcome)) = written(&file, &Convert::new(Target::Usdc)) else {
            continue;
        };
        let stage = stage(&bytes);
        for (mesh, view) in meshes(&stage).iter().zip(drawn(&file)) {
            let is_skinned = mesh.targets.contains_key("skel:skeleton");
            let is_left_out = |semantic: &Semantic| {
                if matches!(semantic, Semantic::Joints(_) | Semantic::Weights(_)) {
                    let is_first = matches!(semantic, Semantic::Joints(0) | Semantic::Weights(0));
                    let is_written = is_skinned && is_first;
                    // Other meshes of the file may lack them.
                    let kind = FactKind::of(semantic).unwrap();
                    assert!(is_written || outcome.report.lacks(kind), "{semantic}");
                    return !is_written;
                }
                let address = format!("{}.{semantic}", view.address());
                let mut entries = outcome.report.left_out.iter();
                entries.any(|entry| entry.first.iter().any(|first| first.starts_with(&address)))
            };
            let own = |info: &&meshmap::AttributeInfo| {
                !is_left_out(&info.semantic)
                    && !matches!(info.semantic, Semantic::Position | Semantic::Normal)
            };
            let expected = view.attributes().iter().filter(own).count();
            let primvars = mesh
                .arrays
                .keys()
                .filter_map(|name| name.strip_prefix("primvars:"));
            let primvars: Vec<&str> = primvars.filter(|name| *name != "displayOpacity").collect();
            assert_eq!(primvars.len(), expected, "{}: {primvars:?}", path.display());
            assert_eq!(
                mesh.arrays.contains_key("normals"),
                view.has(&Semantic::Normal) && !is_left_out(&Semantic::Normal),
                "{}",
                path.display()
            );
            found += expected;
        }
    }
    assert!(found > 100, "{found} primvars");
}

#[test]
fn a_snapshot_by_its_address_has_no_time() {
    let file = MeshFile::open(data::valid("cgeo", "anim_a.cgeo")).unwrap();
    let address = "snapshots[3]".parse().unwrap();
    let (bytes, _) = written(
        &file,
        &Convert {
            meshes: vec![address],
            ..Convert::new(Target::Usdc)
        },
    )
    .unwrap();
    let whole = stage(&bytes);
    let mesh = meshes(&whole)[0];
    let snapshot = file.as_cgeo().unwrap().snapshot(3).unwrap();
    let stored = snapshot.positions().unwrap().to_vec();
    assert_eq!(bits(mesh.arrays["points"].default), bits_of(&stored));
    for samples in mesh.arrays.values() {
        assert_eq!(samples.times.len(), 0);
    }
    assert!(!whole.numbers.contains_key("timeCodesPerSecond"));
    assert!(whole.prims.iter().any(|prim| prim.kind == "GeomSubset"));
}

#[test]
fn stages_are_turned_for_axes_that_they_cannot_name() {
    let file = MeshFile::open(data::valid("tmf", "v011_multi_names.tmf")).unwrap();
    for (up, axis, turn) in [
        (Axis::X, "Y", Some(("xformOp:rotateZ", 90.0))),
        (Axis::Y, "Y", None),
        (Axis::Z, "Z", None),
        (Axis::NegX, "Y", Some(("xformOp:rotateZ", -90.0))),
        (Axis::NegY, "Y", Some(("xformOp:rotateX", 180.0))),
        (Axis::NegZ, "Y", Some(("xformOp:rotateX", 90.0))),
    ] {
        let (bytes, _) = written(
            &file,
            &Convert {
                up: Some(up),
                ..Convert::new(Target::Usdc)
            },
        )
        .unwrap();
        let stage = stage(&bytes);
        assert_eq!(stage.words["upAxis"], axis, "{up}");
        let root = stage
            .prims
            .iter()
            .find(|prim| prim.path == "/meshmap_root")
            .unwrap();
        let found = root
            .numbers
            .iter()
            .find(|(name, _)| name.starts_with("xformOp:rotate"));
        assert_eq!(
            found.map(|(name, degrees)| (name.as_str(), *degrees)),
            turn,
            "{up}"
        );
    }
}

#[test]
fn a_stage_says_its_units_axes_and_times() {
    let file = MeshFile::open(data::valid("cgeo", "anim_a.cgeo")).unwrap();
    let proxy = file.as_cgeo().unwrap();
    let (bytes, _) = plain(&file);
    let whole = stage(&bytes);
    assert_eq!(whole.words["upAxis"], "Z");
    assert_eq!(whole.words["defaultPrim"], "meshmap_root");
    assert_eq!(
        whole.numbers["metersPerUnit"],
        proxy.unit_length().unwrap().millimeters / 1000.0
    );
    // 33,333 microseconds.
    assert_eq!(whole.numbers["timeCodesPerSecond"], 30.0);
    assert_eq!(
        whole.numbers["endTimeCode"],
        (proxy.snapshot_count() - 1) as f64
    );
    let mesh = meshes(&whole)[0];
    assert_eq!(mesh.words["subdivisionScheme"], "none");
    let times = |name: &str| {
        mesh.arrays[name]
            .times
            .iter()
            .map(|(time, _)| *time)
            .collect::<Vec<f64>>()
    };
    assert_eq!(times("points"), times("primvars:normals"));
    assert_eq!(times("points"), times("extent"));
    assert!(mesh.arrays["faceVertexIndices"].times.is_empty());

    let convert = Convert {
        every: NonZero::new(3),
        fps: Some(12.5),
        up: Some(meshmap::Axis::X),
        ..Convert::new(Target::Usdc)
    };
    let (bytes, _) = written(&file, &convert).unwrap();
    let third = stage(&bytes);
    assert_eq!(
        (
            third.words["upAxis"].as_str(),
            third.numbers["timeCodesPerSecond"]
        ),
        ("Y", 12.5)
    );
    let times: Vec<f64> = meshes(&third)[0].arrays["points"]
        .times
        .iter()
        .map(|(time, _)| *time)
        .collect();
    let expected: Vec<f64> = (0..proxy.snapshot_count())
        .step_by(3)
        .map(|index| index as f64)
        .collect();
    assert_eq!(times, expected);
}

/// The codes at which an attribute of a mesh has values.
fn codes(mesh: &Prim<'_>, name: &str) -> Vec<f64> {
    mesh.arrays[name]
        .times
        .iter()
        .map(|(code, _)| *code)
        .collect()
}

#[test]
fn samples_of_snapshots_divide_the_time_to_the_next_one() {
    let counts = [1, 3, 2, 1];
    let sheet_at = |code: f64| Mesh::sheet(4, 1, code as f32);
    let mut expected = Vec::new();
    let mut snapshots = Vec::new();
    for (number, count) in counts.into_iter().enumerate() {
        let mut sections = Vec::new();
        for sample in 0..count {
            let code = number as f64 + f64::from(sample) / f64::from(count);
            let sheet = sheet_at(code);
            let own = cgeo::snapshot(&sheet, sheet.complete());
            if sample == 0 {
                sections = own;
            } else {
                sections.extend(own.last().cloned());
            }
            expected.push(code);
        }
        snapshots.push(sections);
    }
    let file = proxy(&snapshots);
    let (bytes, outcome) = plain(&file);
    assert!(!outcome.report.lacks(FactKind::Samples));
    let whole = stage(&bytes);
    let mesh = meshes(&whole)[0];
    for name in ["points", "extent", "primvars:normals"] {
        assert_eq!(codes(mesh, name), expected, "{name}");
    }
    for code in &expected {
        let sheet = sheet_at(*code);
        let at = |name: &str| bits(mesh.arrays[name].at(*code));
        assert_eq!(at("points"), bits_of(&sheet.positions), "{code}");
        assert_eq!(at("primvars:normals"), bits_of(&sheet.normals), "{code}");
    }
    assert_eq!(whole.numbers["endTimeCode"], 3.0);

    // Codes are counted from the first snapshot that is written.
    let range = Convert {
        snapshots: Some((1..=2).into()),
        ..Convert::new(Target::Usdc)
    };
    let (bytes, _) = written(&file, &range).unwrap();
    let whole = stage(&bytes);
    let shifted: Vec<f64> = expected[1..6].iter().map(|code| code - 1.0).collect();
    assert_eq!(codes(meshes(&whole)[0], "points"), shifted);

    // One moment has no time.
    let one = Convert {
        seconds: Some(0.04),
        ..Convert::new(Target::Usdc)
    };
    let (bytes, outcome) = written(&file, &one).unwrap();
    let whole = stage(&bytes);
    assert!(codes(meshes(&whole)[0], "points").is_empty());
    assert!(outcome.report.lacks(FactKind::Samples));
}

#[test]
fn coordinates_of_which_only_the_third_number_moves_are_written_once() {
    let mut sheets = [0.0, 0.3, 0.6].map(|time| Mesh::sheet(4, 1, time));
    for (depth, sheet) in sheets.iter_mut().enumerate() {
        let coords = &mut sheet.texcoords[0];
        coords
            .iter_mut()
            .for_each(|[_, _, third]| *third = depth as f32);
    }
    let (bytes, _) = plain(&complete(&sheets));
    let whole = stage(&bytes);
    let mesh = meshes(&whole)[0];
    assert!(codes(mesh, "primvars:st").is_empty());
    assert_eq!(codes(mesh, "points"), [0.0, 1.0, 2.0]);
}

#[test]
fn triangles_that_change_are_sampled_where_they_change() {
    let sheets = [(4, 0.0), (4, 0.3), (6, 0.3), (6, 0.9), (4, 0.0)];
    let sheets = sheets.map(|(side, time)| Mesh::sheet(side, 1, time));
    let (bytes, _) = plain(&complete(&sheets));
    let whole = stage(&bytes);
    let mesh = meshes(&whole)[0];
    let times = |name: &str| {
        mesh.arrays[name]
            .times
            .iter()
            .map(|(time, _)| *time)
            .collect::<Vec<f64>>()
    };
    assert_eq!(times("faceVertexIndices"), [0.0, 2.0, 4.0]);
    assert_eq!(times("primvars:st:indices"), [0.0, 2.0, 4.0]);
    assert_eq!(times("points"), [0.0, 1.0, 2.0, 3.0, 4.0]);
    for (time, sheet) in sheets.iter().enumerate() {
        let at = |name: &str| mesh.arrays[name].at(time as f64);
        assert_eq!(bits(at("points")), bits_of(&sheet.positions));
        let corners: Vec<u32> = sheet
            .triangles
            .iter()
            .flat_map(|[corners, _]| *corners)
            .collect();
        assert_eq!(ints(at("faceVertexIndices")), corners);
        let coords = sheet.texcoords[0]
            .iter()
            .flat_map(|[u, v, _]| [u.to_bits(), v.to_bits()]);
        assert_eq!(bits(at("primvars:st")), coords.collect::<Vec<_>>());
        // Each triangle has exactly one material.
        let subsets = whole.prims.iter().filter(|prim| prim.kind == "GeomSubset");
        let mut faces: Vec<u32> = subsets
            .flat_map(|subset| ints(subset.arrays["indices"].at(time as f64)))
            .collect();
        faces.sort_unstable();
        assert_eq!(faces, (0..sheet.triangles.len() as u32).collect::<Vec<_>>());
    }
}

#[test]
fn complete_snapshots_with_the_same_triangles_have_them_once() {
    let sheets = [0.0, 0.3, 0.6].map(|time| Mesh::sheet(20, 2, time));
    let (bytes, _) = plain(&complete(&sheets));
    let whole = stage(&bytes);
    let mesh = meshes(&whole)[0];
    for name in [
        "faceVertexIndices",
        "primvars:normals:indices",
        "primvars:st1:indices",
        "primvars:st",
    ] {
        assert!(mesh.arrays[name].times.is_empty(), "{name}");
    }
    let corners = 3
        * 4
        * mesh.arrays["faceVertexIndices"]
            .default
            .unwrap()
            .ints()
            .len();
    let floats = 3 * 2 * sheets[0].positions.len() * 12;
    assert!(
        bytes.len() < corners + floats + 40_000,
        "{} bytes",
        bytes.len()
    );
}

#[test]
fn what_not_every_snapshot_has_is_left_out() {
    let mut bare = Mesh::sheet(4, 1, 0.3);
    bare.normals.clear();
    bare.texcoords.clear();
    let (bytes, outcome) = plain(&complete(&[Mesh::sheet(4, 1, 0.0), bare]));
    let whole = stage(&bytes);
    assert!(
        !meshes(&whole)[0]
            .arrays
            .keys()
            .any(|name| name.starts_with("primvars:"))
    );
    let left_out = outcome.report.left_out.iter();
    let partial = left_out.filter(|entry| entry.what.why == Why::NotEverywhere);
    let kinds: Vec<FactKind> = partial.map(|entry| entry.what.kind).collect();
    assert_eq!(kinds, [FactKind::Normals, FactKind::TexCoords]);
}

#[test]
fn snapshots_without_triangles_lack_nothing() {
    let sheet = Mesh::sheet(4, 1, 0.0);
    let sheets = [
        Mesh::default(),
        sheet.clone(),
        Mesh::default(),
        Mesh::sheet(5, 1, 0.3),
    ];
    let (bytes, _) = plain(&complete(&sheets));
    let whole = stage(&bytes);
    let mesh = meshes(&whole)[0];
    for (time, sheet) in sheets.iter().enumerate() {
        let at = |name: &str| mesh.arrays[name].at(time as f64);
        assert_eq!(bits(at("points")), bits_of(&sheet.positions));
        assert_eq!(bits(at("primvars:normals")), bits_of(&sheet.normals));
        assert_eq!(ints(at("faceVertexCounts")).len(), sheet.triangles.len());
        assert_eq!(
            ints(at("primvars:st:indices")).len(),
            sheet.triangles.len() * 3
        );
    }
}

#[test]
fn the_default_prim_has_the_name_of_the_file() {
    let mesh = |name: &str| {
        let convert = Convert {
            name: name.to_owned(),
            ..Convert::new(Target::Usdc)
        };
        let file = MeshFile::open(data::valid("iqm", "skin_multi_anim.iqm")).unwrap();
        let (bytes, _) = written(&file, &convert).unwrap();
        let stage = stage(&bytes);
        let root = stage
            .prims
            .iter()
            .find(|prim| prim.kind == "SkelRoot")
            .unwrap();
        assert_eq!(root.path, format!("/{}", stage.words["defaultPrim"]));
        let below = format!("{}/", root.path);
        assert!(
            stage
                .prims
                .iter()
                .all(|prim| prim.path.len() <= root.path.len() || prim.path.starts_with(&below))
        );
        (stage.words["defaultPrim"].clone(), root.shown.clone())
    };
    assert_eq!(
        mesh("old tree"),
        ("old_tree".to_owned(), Some("old tree".to_owned()))
    );
    // A mesh of the file has this name.
    let name = MeshFile::open(data::valid("iqm", "skin_multi_anim.iqm")).unwrap();
    let name = name.meshes().unwrap().next().unwrap().name.to_string();
    assert_eq!(mesh(&name), (format!("{name}_root"), None));
    assert_eq!(mesh("").0, "meshmap_root");
}

fn of_kind<'s, 'a>(stage: &'s Stage<'a>, kind: &str) -> Vec<&'s Prim<'a>> {
    let prims = stage.prims.iter();
    prims.filter(|prim| prim.kind == kind).collect()
}

/// The paths that a relationship leads to.
fn targets<'s>(prim: &'s Prim<'_>, name: &str) -> &'s [String] {
    prim.targets.get(name).map_or(&[], Vec::as_slice)
}

#[test]
fn meshes_are_bound_to_a_skeleton_that_plays_one_animation() {
    let file = MeshFile::open(data::valid("iqm", "skin_multi_anim.iqm")).unwrap();
    for (anim, bound, rate, end) in [(None, "idle", 10.0, 10.0), (Some("run"), "run", 24.5, 16.0)] {
        let convert = Convert {
            anim: anim.map(str::to_owned),
            ..Convert::new(Target::Usdc)
        };
        let (bytes, outcome) = written(&file, &convert).unwrap();
        let whole = stage(&bytes);
        assert_eq!(of_kind(&whole, "SkelRoot")[0].path, "/meshmap_root");
        let [skeleton] = of_kind(&whole, "Skeleton")[..] else {
            panic!("no skeleton")
        };
        let source = format!("{}/{bound}", skeleton.path);
        assert_eq!(targets(skeleton, "skel:animationSource"), [source]);
        for mesh in meshes(&whole) {
            let path = skeleton.path.clone();
            assert_eq!(targets(mesh, "skel:skeleton"), [path]);
        }
        assert_eq!(of_kind(&whole, "SkelAnimation").len(), 4);
        assert_eq!(outcome.report.count_of(Change::ClipsNotBound), 3);
        assert!(!outcome.report.lacks(FactKind::OtherClips));
        assert_eq!(whole.numbers["timeCodesPerSecond"], rate);
        assert_eq!(whole.numbers["endTimeCode"], end);
    }
}

#[test]
fn vertices_of_a_frame_follow_no_joints() {
    let file = MeshFile::open(data::valid("iqm", "skin_multi_anim.iqm")).unwrap();
    let convert = Convert {
        frame: Some(3),
        ..Convert::new(Target::Usdc)
    };
    let (bytes, outcome) = written(&file, &convert).unwrap();
    let whole = stage(&bytes);
    for kind in ["SkelRoot", "Skeleton", "SkelAnimation"] {
        assert!(of_kind(&whole, kind).is_empty(), "{kind}");
    }
    for kind in [FactKind::Joints, FactKind::Clips, FactKind::Influences] {
        assert!(outcome.report.lacks(kind), "{kind}");
    }
    assert!(!whole.numbers.contains_key("timeCodesPerSecond"));
}

#[test]
fn joints_come_after_their_parents_or_are_siblings() {
    use meshmap_testing::fixtures::slmesh::{self, Llsd};

    let Llsd::Map(mut skin) = slmesh::skin(3) else {
        panic!("a skin is a map");
    };
    for (name, value) in &mut skin {
        if *name == "joint_names" {
            let names = ["mTorso", "mChest", "mPelvis"];
            let names = names.map(|name| Llsd::String(name.as_bytes().to_vec()));
            *value = Llsd::Array(names.to_vec());
        }
    }
    let bytes = slmesh::Writer::default()
        .block("high_lod", &Llsd::Array(vec![slmesh::sheet(4, 3)]))
        .block("skin", &Llsd::Map(skin))
        .to_bytes();
    let file = open::file(bytes);
    let folder = tempfile::tempdir().unwrap();
    for (nest, expected) in [
        (false, ["mTorso", "mChest", "mPelvis"]),
        (true, ["mPelvis", "mPelvis/mTorso", "mPelvis/mTorso/mChest"]),
    ] {
        let convert = Convert {
            nest,
            ..Convert::new(Target::Usdc)
        };
        let path = folder.path().join("out.usdc");
        convert.write_file(&file, &path).unwrap();
        let checked = check_file(&convert, &file, &path).unwrap();
        assert!(checked.differs.is_empty(), "{:?}", checked.differs);
        let bytes = fs::read(path).unwrap();
        let whole = stage(&bytes);
        let joints = &of_kind(&whole, "Skeleton")[0].lists["joints"];
        assert_eq!(joints[..3], expected);
    }
}

#[test]
fn levels_of_detail_are_variants_of_which_the_finest_is_shown() {
    let file = MeshFile::open(data::valid("slmesh", "nodemv_02_static_4lod.slmesh")).unwrap();
    let all = Convert {
        lod: Lods::All,
        ..Convert::new(Target::Usdc)
    };
    let some = Convert {
        meshes: ["low_lod", "medium_lod"]
            .map(|it| it.parse().unwrap())
            .to_vec(),
        ..Convert::new(Target::Usdc)
    };
    for (convert, shown, variants) in [
        (all, "high", &["high", "medium", "low", "lowest"][..]),
        // The first that is named is drawn.
        (some, "low", &["low", "medium"]),
    ] {
        let (bytes, _) = written(&file, &convert).unwrap();
        let whole = stage(&bytes);
        let root = &whole.prims[0];
        assert_eq!(root.variant, Some(format!("{{lod={shown}}}")));
        let paths: Vec<&str> = meshes(&whole)
            .iter()
            .map(|mesh| mesh.path.as_str())
            .collect();
        let expected = variants.iter();
        let expected = expected.map(|variant| format!("/meshmap_root/{{lod={variant}}}/face_0"));
        assert_eq!(paths, expected.collect::<Vec<_>>());
    }
    let (bytes, _) = plain(&file);
    let whole = stage(&bytes);
    assert_eq!((meshes(&whole).len(), &whole.prims[0].variant), (1, &None));
}

#[test]
fn rates_are_the_decimal_numbers_that_floats_stand_for() {
    let mut bytes = meshmap_testing::fixtures::iqm::Writer::sheets(1, 3, 3)
        .animated(2, 4)
        .to_bytes();
    let stored = 30.0_f32.to_le_bytes();
    let at = bytes
        .windows(4)
        .position(|window| window == stored)
        .unwrap();
    bytes[at..at + 4].copy_from_slice(&29.97_f32.to_le_bytes());
    let (bytes, _) = plain(&open::file(bytes));
    let whole = stage(&bytes);
    assert_eq!(whole.numbers["timeCodesPerSecond"], 29.97);
    let [animation] = of_kind(&whole, "SkelAnimation")[..] else {
        panic!("no animation")
    };
    assert_eq!(codes(animation, "rotations"), [0.0, 1.0, 2.0, 3.0]);
    // Nothing scales a joint.
    assert!(codes(animation, "scales").is_empty());
}

#[test]
fn weights_without_joints_are_reported() {
    for target in [Target::Usdc, Target::Glb] {
        let file = MeshFile::open(data::valid("slmesh", "odd_w11_weights_no_skin.slmesh"));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let outcome = Convert::new(target)
            .write_file(&file.unwrap(), path)
            .unwrap();
        let mut left_out = outcome.report.left_out.iter();
        let found = left_out
            .find(|entry| entry.what.why == Why::NoJoints)
            .unwrap();
        assert_eq!(found.what.kind, FactKind::Influences, "{target}");
    }
}

#[test]
fn names_that_are_no_identifiers_are_shown_beside_those_that_are() {
    let replaced = |name: &[u8; 5]| {
        let sheet = Mesh::sheet(3, 0, 0.0);
        let dialect = Dialect::default()
            .with_codec(Codec::Stored)
            .with_offset(OffsetTarget::StartTag);
        let mut bytes = cgeo::file(&[cgeo::snapshot(&sheet, sheet.complete())], dialect);
        let at = bytes
            .windows(5)
            .position(|window| window == b"Sheet")
            .unwrap();
        bytes[at..at + 5].copy_from_slice(name);
        open::file(bytes)
    };
    let cases: [(&[u8; 5], &str, Option<&str>); 4] = [
        (b"Sheet", "Sheet", None),
        (b"2 b.c", "_2_b_c", Some("2 b.c")),
        (b"a/\xc3\xb6.", "a___", Some("a/ö.")),
        (b"a\0\x01/b", "a___b", Some("a\u{fffd}\u{1}/b")),
    ];
    for (name, expected, shown) in cases {
        let (bytes, _) = plain(&replaced(name));
        let whole = stage(&bytes);
        let mesh = meshes(&whole)[0];
        assert_eq!(mesh.path, format!("/meshmap_root/{expected}"));
        assert_eq!(mesh.shown.as_deref(), shown);
    }
}

#[test]
fn meshes_of_the_same_name_have_names_of_their_own() {
    let mut bytes = meshmap_testing::fixtures::iqm::Writer::sheets(3, 3, 2).to_bytes();
    let at = bytes
        .windows(6)
        .position(|window| window == b"sheet1")
        .unwrap();
    bytes[at + 5] = b'0';
    let file = open::file(bytes);
    let (bytes, _) = plain(&file);
    let whole = stage(&bytes);
    let mut paths: Vec<&str> = whole.prims.iter().map(|prim| prim.path.as_str()).collect();
    let count = paths.len();
    paths.sort_unstable();
    paths.dedup();
    assert_eq!((paths.len(), meshes(&whole).len()), (count, 3));
}

#[test]
fn materials_are_bound_to_prims_that_are_there() {
    for path in ["cgeo/valid/anim_a.cgeo", "iqm/valid/skin_multi_anim.iqm"] {
        let (bytes, _) = plain(&MeshFile::open(data::root().join(path)).unwrap());
        let whole = stage(&bytes);
        let mut bound = 0;
        for target in whole
            .prims
            .iter()
            .filter_map(|prim| prim.targets.get("material:binding"))
            .flatten()
        {
            let material = whole
                .prims
                .iter()
                .find(|prim| prim.path == *target)
                .unwrap();
            assert_eq!(material.kind, "Material");
            bound += 1;
        }
        assert!(bound > 0, "{path}");
    }
}

#[test]
fn indices_beyond_their_array_are_refused_and_leave_nothing() {
    let mut sheet = Mesh::sheet(4, 1, 0.0);
    sheet.triangles[3][1][2] = 16;
    let error = written(
        &complete(&[Mesh::sheet(4, 1, 0.0), sheet]),
        &Convert::new(Target::Usdc),
    )
    .unwrap_err();
    let expected = "usdc: a triangle of snapshots[1] has the normal 16, where there are 16";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn numbers_that_are_none_are_refused_or_become_0() {
    let mut sheet = Mesh::sheet(4, 1, 0.3);
    sheet.positions[5][1] = f32::NAN;
    let file = complete(&[Mesh::sheet(4, 1, 0.0), sheet]);
    let error = written(&file, &Convert::new(Target::Usdc))
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("snapshots[1].positions[5] is NaN"),
        "{error}"
    );
    let convert = Convert {
        zero_non_finite: true,
        ..Convert::new(Target::Usdc)
    };
    let (bytes, _) = written(&file, &convert).unwrap();
    let points = bits(meshes(&stage(&bytes))[0].arrays["points"].at(1.0));
    assert_eq!(points[16], 0);
}

/// The reader of what was written gives an error for what is damaged, or reads something else.
#[test]
fn damaged_files_are_errors_of_the_reader() {
    let sheets = [Mesh::sheet(3, 1, 0.0), Mesh::sheet(4, 1, 0.4)];
    let (bytes, _) = plain(&complete(&sheets));
    for length in 0..bytes.len() {
        assert!(
            usdc::read(&bytes[..length]).is_err(),
            "{length} of {} bytes",
            bytes.len()
        );
    }
    for at in 0..bytes.len() {
        for change in [1, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= change;
            let _ = usdc::read(&damaged);
        }
    }
}

#[test]
fn memory_does_not_grow_with_the_number_of_snapshots() {
    let folder = tempfile::tempdir().unwrap();
    let peak = |count: usize| {
        let (_, snapshots) = cgeo::animation(60, count);
        let file = proxy(&snapshots);
        let path: &Path = &folder.path().join("out.usdc");
        let (outcome, count) = counted(|| Convert::new(Target::Usdc).write_file(&file, path));
        outcome.unwrap();
        count.peak
    };
    let (few, many) = (peak(4), peak(200));
    // The offsets of the points, box and normals of each.
    assert!(
        many < few + 200 * 200,
        "{few} bytes for 4 snapshots, {many} for 200"
    );
}

/// Snapshots that each store the same triangles are one mesh, in every format that has snapshots.
#[test]
fn triangles_that_are_stored_again_are_one_mesh() {
    // Steps that floats hold exactly, so that glTF can store them as differences.
    let mut meshes: Vec<Mesh> = (0..4).map(|_| Mesh::sheet(5, 1, 0.0)).collect();
    for (index, mesh) in meshes.iter_mut().enumerate() {
        let count = mesh.positions.len();
        mesh.positions = (0..count)
            .map(|point| [point as f32, index as f32, (point * index) as f32])
            .collect();
    }
    let mut snapshots: Vec<_> = meshes
        .iter()
        .map(|mesh| cgeo::snapshot(mesh, mesh.complete()))
        .collect();
    // A difference has the triangles of the first snapshot.
    snapshots[3] = cgeo::snapshot(&meshes[3], meshes[3].difference(&meshes[0]));
    let file = proxy(&snapshots);
    let folder = tempfile::tempdir().unwrap();
    let write = |file: &MeshFile, convert: &Convert, name: &str| {
        let path = folder.path().join(name);
        let outcome = convert.write_file(file, &path)?;
        let checked = check_file(convert, file, &path).unwrap();
        assert!(checked.differs.is_empty(), "{name}: {:?}", checked.differs);
        Ok::<_, Error>((fs::read(path).unwrap(), outcome.snapshots))
    };
    let meshes_of = |glb: &[u8]| {
        String::from_utf8_lossy(glb)
            .matches("\"primitives\"")
            .count()
    };
    for range in [0..=3, 1..=3, 3..=3] {
        let all = |target| Convert {
            snapshots: Some(range.clone().into()),
            ..Convert::new(target)
        };
        let count = range.clone().count() as u64;
        assert_eq!(
            write(&file, &all(Target::Pc2), "same.pc2").unwrap().1,
            count
        );
        let (glb, written) = write(&file, &all(Target::Glb), "same.glb").unwrap();
        assert_eq!((meshes_of(&glb), written), (1, count));
        let (usd, written) = write(&file, &all(Target::Usdc), "same.usdc").unwrap();
        let stage = stage(&usd);
        let [mesh] = self::meshes(&stage)[..] else {
            panic!("more than one mesh")
        };
        assert!(mesh.arrays["faceVertexIndices"].default.is_some() && written == count);
    }
    // Other triangles, as many as before.
    meshes[1].triangles.swap(0, 1);
    snapshots[1] = cgeo::snapshot(&meshes[1], meshes[1].complete());
    let file = proxy(&snapshots);
    let other = write(&file, &Convert::new(Target::Pc2), "other.pc2");
    assert!(other.is_err_and(|error| {
        error
            .to_string()
            .contains("snapshot 1 has other triangles than snapshot 0")
    }));
    assert_eq!(
        meshes_of(
            &write(&file, &Convert::new(Target::Glb), "other.glb")
                .unwrap()
                .0
        ),
        3
    );
}

/// The vertices of one material may be all, and the vertices of the next material begin later.
#[test]
fn gltf_has_the_triangles_of_materials_that_share_vertices() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sheet.glb");
    for side in 2..9 {
        // Each third triangle has the same material.
        let file = complete(&[Mesh::sheet(side, 1, 0.0)]);
        let convert = Convert::new(Target::Glb);
        convert.write_file(&file, &path).unwrap();
        let checked = check_file(&convert, &file, &path).unwrap();
        assert!(checked.differs.is_empty(), "{side}: {:?}", checked.differs);
    }
}

/// A preview surface multiplies an image by one colour, or shows the colours of vertices.
#[test]
fn colours_multiply_the_image_or_are_shown() {
    use meshmap_testing::fixtures::iqm;

    const COLOR: u32 = 6;
    const UBYTE: u32 = 1;
    const VERTICES: usize = 9;
    let folder = tempfile::tempdir().unwrap();
    let image = [b"\x89PNG\r\n\x1a\n".to_vec(), vec![0; 64]].concat();
    fs::write(folder.path().join("image.png"), image).unwrap();
    let one = [200, 20, 20].repeat(VERTICES);
    let mut many = one.clone();
    many[0] = 7;
    for (material, colors, shader, covered) in [
        ("image.png", &one, "UsdUVTexture", 0),
        ("image.png", &many, "UsdUVTexture", VERTICES as u64),
        ("plain", &one, "UsdPrimvarReader_float3", 0),
        ("plain", &many, "UsdPrimvarReader_float3", 0),
    ] {
        let writer = iqm::Writer::sheets(1, 3, 3)
            .with_names("mesh", material)
            .with_array(COLOR, UBYTE, 3, colors.clone());
        let convert = Convert {
            folder: Some(folder.path().to_owned()),
            ..Convert::new(Target::Usdc)
        };
        let file = meshmap_testing::open::file(writer.to_bytes());
        let (bytes, outcome) = written(&file, &convert).unwrap();
        let stage = stage(&bytes);
        let ids = stage
            .prims
            .iter()
            .filter_map(|prim| prim.words.get("info:id"));
        let ids: Vec<&str> = ids.map(String::as_str).collect();
        assert!(ids.contains(&shader), "{material}: {ids:?}");
        assert_eq!(
            outcome.report.count_of(Change::ColorsCovered),
            covered,
            "{material}"
        );
        let mut targets = stage
            .prims
            .iter()
            .filter_map(|prim| prim.targets.get("inputs:diffuseColor"));
        assert_eq!(
            targets.next().map(|paths| paths.len()),
            Some(1),
            "{material}"
        );
    }
}
