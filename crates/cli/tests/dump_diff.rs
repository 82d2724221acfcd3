//! `meshmap dump` and `meshmap diff`.

use std::fs;
use std::path::Path;
use std::process::Output;

use meshmap::{Format, MeshFile};
use meshmap_testing::data;

use child::{Run as _, text};

mod child;

fn meshmap(arguments: &[&str], paths: &[&Path], more: &[&str]) -> Output {
    child::meshmap()
        .args(arguments)
        .args(paths)
        .args(more)
        .run()
}

#[test]
fn values_are_those_of_the_library() {
    let path = data::valid("iqm", "skin_multi_anim.iqm");
    let MeshFile::Iqm(model) = MeshFile::open(&path).unwrap() else {
        panic!()
    };
    let positions = model.positions().unwrap().unwrap();
    let csv = meshmap(&["dump", "--as", "csv"], &[&path], &["vertex_arrays[0]"]);
    let lines: Vec<&str> = text(&csv.stdout).lines().collect();
    assert_eq!(
        (lines[0], lines.len()),
        ("index,c0,c1,c2", positions.len() + 1)
    );
    for (line, position) in lines[1..].iter().zip(positions.iter()) {
        let numbers: Vec<f32> = line
            .split(',')
            .skip(1)
            .map(|number| number.parse().unwrap())
            .collect();
        assert_eq!(numbers, position);
    }
    let npy = meshmap(&["dump", "--as", "npy"], &[&path], &["vertex_arrays[0]"]).stdout;
    let header = usize::from(u16::from_le_bytes([npy[8], npy[9]]));
    assert!((10 + header).is_multiple_of(64));
    let shape = format!(
        "'descr': '<f4', 'fortran_order': False, 'shape': ({}, 3)",
        positions.len()
    );
    assert!(
        text(&npy[10..10 + header]).contains(&shape),
        "{}",
        text(&npy[10..10 + header])
    );
    assert_eq!(&npy[10 + header..], positions.as_bytes());
    let head = meshmap(&["dump", "--head", "2"], &[&path], &["triangles"]);
    assert_eq!(text(&head.stdout).lines().count(), 2);
}

/// Otherwise a call may take 16 times what it reads.
#[test]
fn a_limit_that_is_named_is_the_limit() {
    let path = data::valid("cgeo", "anim_a.cgeo");
    let dump = |limit: &[&str]| {
        meshmap(
            &["dump"],
            &[&path],
            &[&["snapshots[0].positions"], limit].concat(),
        )
    };
    assert_eq!(dump(&[]).status.code(), Some(0));
    assert_eq!(dump(&["--max-memory=1MiB"]).status.code(), Some(0));
    let refused = dump(&["--max-memory=2KiB"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        text(&refused.stderr).contains("--max-memory"),
        "{}",
        text(&refused.stderr)
    );
}

/// Each array that has a digest can be dumped.
#[test]
fn every_array_of_the_digest_has_an_address() {
    for (format, file) in [
        ("cgeo", "anim_a.cgeo"),
        ("iqm", "skin_multi_anim.iqm"),
        ("openctm", "hand_mg1_a.ctm"),
        ("slmesh", "ours_skin_a.slmesh"),
        ("tmf", "v020_custom_all.tmf"),
    ] {
        let path = data::valid(format, file);
        let digest = meshmap(&["digest"], &[&path], &[]);
        let digest: serde_json::Value = serde_json::from_slice(&digest.stdout).unwrap();
        for address in digest["arrays"].as_object().unwrap().keys() {
            let output = meshmap(&["dump", "--stats"], &[&path], &[address]);
            assert_eq!(
                output.status.code(),
                Some(0),
                "{file}: {address}: {}",
                text(&output.stderr)
            );
        }
        let list = meshmap(&["dump"], &[&path], &[]);
        assert!(text(&list.stdout).lines().count() >= digest["arrays"].as_object().unwrap().len());
    }
    let absent = meshmap(
        &["dump"],
        &[&data::valid("iqm", "skin_multi_anim.iqm")],
        &["nothing"],
    );
    assert_eq!(absent.status.code(), Some(2));
    assert!(
        text(&absent.stderr).contains("it has vertex_arrays[0]"),
        "{}",
        text(&absent.stderr)
    );
}

#[test]
fn a_file_is_equal_to_itself() {
    for format in Format::ALL.map(Format::name) {
        for file in data::folder(&format!("{format}/valid")) {
            let output = meshmap(&["diff"], &[&file, &file], &[]);
            assert_eq!(
                output.status.code(),
                Some(0),
                "{}: {}",
                file.display(),
                text(&output.stdout)
            );
        }
    }
}

#[test]
fn one_changed_value_is_found_at_its_address() {
    let folder = tempfile::tempdir().unwrap();
    let path = data::valid("iqm", "skin_multi_anim.iqm");
    let MeshFile::Iqm(model) = MeshFile::open(&path).unwrap() else {
        panic!()
    };
    let array = model.vertex_arrays().next().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    // The y of the fourth position.
    let at = array.range.start as usize + 3 * 12 + 4;
    let value = f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    bytes[at..at + 4].copy_from_slice(&f32::from_bits(value.to_bits() + 5).to_le_bytes());
    let changed = folder.path().join("changed.iqm");
    fs::write(&changed, bytes).unwrap();
    let output = meshmap(&["diff"], &[&path, &changed], &[]);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        printed.contains("first: vertex_arrays[0][3].y is ") && printed.contains("5 ulps"),
        "{printed}"
    );
    assert!(printed.ends_with("DIFFERENT\n"), "{printed}");
    assert_eq!(
        meshmap(&["diff", "--tolerance", "0.001"], &[&path, &changed], &[])
            .status
            .code(),
        Some(0)
    );
}

/// Damaged files compared with the valid files that they were made from.
#[test]
#[ignore = "corpus"]
fn corpus_one_changed_value_of_a_damaged_file_is_found_at_its_address() {
    let corpus = data::corpus();
    let cases = [
        (
            "tmf",
            "hand_v2_tri_prec31_a",
            "fuzz_04_a",
            "1 number of 6 differs; first: meshes[0].vertex_triangles[4] is 3 and 7299;",
        ),
        (
            "tmf",
            "hand_v2_tri_prec33_b",
            "fuzz_39_b",
            "1 number of 3 differs; first: meshes[0].uv_triangles[1] is 1 and 465;",
        ),
        (
            "tmf",
            "hand_two_a",
            "fuzz_46_a",
            "1 number of 12 differs; first: meshes[1].vertices[2].y is 2 and 1.7333333;",
        ),
        (
            "iqm",
            "unaligned_4",
            "pose_scale_inf",
            "frames[0][0] is 0.3717835 and inf;",
        ),
        (
            "iqm",
            "unaligned_4",
            "pose_scale_nan",
            "frames[0][0] is 0.3717835 and NaN;",
        ),
    ];
    for (format, good, bad, words) in cases {
        let [good, bad] = [("valid", good), ("bad", bad)].map(|(folder, name)| {
            corpus
                .join(format)
                .join(folder)
                .join(format!("{name}.{format}"))
        });
        let output = meshmap(&["diff"], &[&good, &bad], &[]);
        let printed = text(&output.stdout)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert_eq!(output.status.code(), Some(1), "{printed}");
        assert!(printed.contains(words), "{words}: {printed}");
    }
}

/// RAW and MG1 store the same numbers; MG2 rounds positions to multiples of its precision, and reorders vertices.
#[test]
fn encodings_of_one_mesh_are_equal_within_their_precision() {
    let pairs = [
        ("tri1_RAW_all", "tri1_MG1_all", "0"),
        ("cyl_RAW_pn", "cyl_MG2_pn", "0.001"),
    ];
    assert_equal_within_tolerance(&data::root().join("openctm/valid"), &pairs);
}

#[test]
#[ignore = "corpus"]
fn corpus_encodings_of_one_mesh_are_equal_within_their_precision() {
    let pairs = [
        ("samename_RAW", "samename_MG1", "0"),
        ("hills_RAW_pn", "hills_MG1_pn", "0"),
        ("cyl_RAW_pn", "cyl_MG1_pn", "0"),
        ("ico_RAW_pn", "ico_MG1_pn", "0"),
        ("hills_RAW_pn", "hills_MG2_pn", "0.001"),
        ("bag_RAW_pn", "bag_MG2_pn", "0.001"),
    ];
    assert_equal_within_tolerance(&data::corpus().join("openctm/valid"), &pairs);
}

fn assert_equal_within_tolerance(folder: &Path, pairs: &[(&str, &str, &str)]) {
    for (raw, packed, tolerance) in pairs {
        let files = [raw, packed].map(|name| folder.join(format!("{name}.ctm")));
        let output = meshmap(
            &["diff", "--tolerance", tolerance],
            &[&files[0], &files[1]],
            &[],
        );
        assert_eq!(
            output.status.code(),
            Some(0),
            "{raw} {packed}: {}",
            text(&output.stdout)
        );
        assert!(text(&output.stdout).ends_with("EQUAL\n"));
        // A tolerance below its precision distinguishes MG2 from RAW.
        if packed.contains("MG2") {
            let output = meshmap(
                &["diff", "--tolerance", "0.00001"],
                &[&files[0], &files[1]],
                &[],
            );
            assert_eq!(output.status.code(), Some(1), "{raw} {packed}");
        }
    }
}

#[test]
fn directories_are_compared_by_their_paths() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
    for side in [&a, &b] {
        fs::create_dir_all(side.join("deep")).unwrap();
        fs::copy(
            data::valid("iqm", "skin_multi_anim.iqm"),
            side.join("deep/same.iqm"),
        )
        .unwrap();
        fs::write(side.join("notes.txt"), side.to_string_lossy().as_bytes()).unwrap();
    }
    let output = meshmap(&["diff"], &[&a, &b], &[]);
    assert_eq!(
        (output.status.code(), text(&output.stdout)),
        (Some(0), "EQUAL: 1 equal, 0 different, 0 on one side only\n")
    );
    fs::copy(
        data::valid("tmf", "v021_unified_cube.tmf"),
        b.join("more.tmf"),
    )
    .unwrap();
    let output = meshmap(&["diff"], &[&a, &b], &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stdout).starts_with("more.tmf: only in "),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn elements_and_parts_have_addresses() {
    let path = data::valid("tmf", "v021_one_triangle.tmf");
    let dump = |address: &str, more: &[&str]| {
        let output = child::meshmap()
            .arg("dump")
            .arg(&path)
            .arg(address)
            .args(more)
            .run();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    assert_eq!(
        dump("meshes[0].vertices[1]", &[]),
        (Some(0), "1  1  0  0\n".to_owned())
    );
    assert_eq!(
        dump("meshes[0].vertices[1]", &["--as", "csv"]),
        (Some(0), "index,c0,c1,c2\n1,1,0,0\n".to_owned())
    );
    assert_eq!(dump("meshes[0].vertices[3]", &[]).0, Some(2));
    assert_eq!(dump("meshes[0].vertices[1]", &["--stats"]).0, Some(2));
    let (status, listed) = dump("meshes[0]", &[]);
    assert!(
        status == Some(0) && listed.contains("meshes[0].vertices  3 x 3 f32"),
        "{listed}"
    );
    assert_eq!(dump("meshes[0]", &["--stats"]).0, Some(2));
    assert_eq!(dump("meshes[1]", &[]).0, Some(2));
}

/// The addresses that `info` prints.
#[test]
fn every_part_has_arrays_or_bytes() {
    let (mut parts, mut bytes_shown) = (0, 0);
    for format in Format::ALL {
        let path = data::folder(&format!("{format}/valid"))
            .into_iter()
            .find(|path| path.extension().is_some_and(|end| end != "json"))
            .unwrap();
        let file = fs::read(&path).unwrap();
        let info = meshmap(&["info", "--full", "--json"], &[&path], &[]).stdout;
        let info: serde_json::Value = serde_json::from_slice(&info).unwrap();
        for part in info["parts"].as_array().unwrap() {
            let address = part["address"].as_str().unwrap();
            let output = meshmap(&["dump"], &[&path], &[address]);
            assert!(
                output.status.success(),
                "{}: {address}: {}",
                path.display(),
                text(&output.stderr)
            );
            parts += 1;
            let shown = text(&output.stdout);
            if shown.lines().any(|line| !line.ends_with('|')) {
                continue;
            }
            let hex =
                |line: &str| u128::from_str_radix(&line[10..57].replace(' ', ""), 16).unwrap();
            let found = shown.lines().map(hex);
            let range =
                [0, 1].map(|end| usize::try_from(part["range"][end].as_u64().unwrap()).unwrap());
            let expected = file[range[0]..range[1]].chunks(16).map(|line| {
                line.iter()
                    .fold(0, |number, byte| number << 8 | u128::from(*byte))
            });
            assert!(found.eq(expected), "{}: {address}", path.display());
            bytes_shown += 1;
        }
    }
    assert!(
        bytes_shown >= Format::ALL.len(),
        "{bytes_shown} of {parts} parts"
    );
}
