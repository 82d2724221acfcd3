//! `meshmap render` and `meshmap diff --picture` as a shell runs them.

use std::fs;
use std::path::Path;

use meshmap_testing::data;
use meshmap_testing::fixtures::slmesh::{self, Llsd, Writer};

use child::{meshmap_with as meshmap, text};

mod child;

fn name(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn is_png(path: &Path) -> bool {
    fs::read(path)
        .is_ok_and(|bytes| bytes.starts_with(b"\x89PNG") && bytes.ends_with(b"IEND\xaeB`\x82"))
}

/// A folder with a mesh at its top, one below, a bad one, and a text.
fn tree(folder: &Path) {
    fs::create_dir_all(folder.join("deep")).unwrap();
    fs::copy(data::valid("cgeo", "anim_a.cgeo"), folder.join("wave.cgeo")).unwrap();
    fs::copy(
        data::valid("tmf", "v011_multi_names.tmf"),
        folder.join("deep/names.tmf"),
    )
    .unwrap();
    let whole = fs::read(data::valid("iqm", "skin_multi_anim.iqm")).unwrap();
    fs::write(folder.join("cut.iqm"), &whole[..whole.len() / 2]).unwrap();
    fs::write(folder.join("readme.txt"), "no mesh").unwrap();
}

#[test]
fn one_file_is_drawn_where_it_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let (wave, out) = (
        data::valid("cgeo", "anim_a.cgeo"),
        folder.path().join("wave.png"),
    );
    let done = meshmap(&[
        "render",
        name(&wave),
        "--size",
        "80x60",
        "--snapshot",
        "3",
        "-o",
        name(&out),
    ]);
    let shown = text(&done.stdout);
    assert_eq!(done.status.code(), Some(0), "{shown}{}", text(&done.stderr));
    assert!(is_png(&out));
    assert!(
        shown.contains("80 x 60   snapshot 3 (") && shown.contains("192 triangles"),
        "{shown}"
    );
    assert!(
        shown.contains("  assumed: Z points up, which the file does not say (--up changes it)"),
        "{shown}"
    );
    assert!(
        shown
            .lines()
            .last()
            .unwrap()
            .starts_with("DONE: 1 file written"),
        "{shown}"
    );
}

/// The file has more hulls than the specification allows, and they are drawn.
#[test]
fn hulls_are_drawn_if_they_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("hulls.llmesh");
    let out = folder.path().join("hulls.png");
    let asset = Writer::default()
        .block("high_lod", &Llsd::Array(vec![slmesh::sheet(3, 0)]))
        .block("physics_convex", &slmesh::cubes(&[[9, 40_000]; 300]));
    fs::write(&input, asset.to_bytes()).unwrap();
    for (address, triangles) in [
        ("physics_convex", "3,612 triangles"),
        ("physics_convex.hulls", "3,600 triangles"),
        ("physics_convex.hulls[299]", "12 triangles"),
        ("physics_convex.bounding_verts", "12 triangles"),
        ("high_lod", "8 triangles"),
    ] {
        let done = meshmap(&[
            "render",
            name(&input),
            "--size",
            "64x64",
            "--mesh",
            address,
            "-o",
            name(&out),
        ]);
        let shown = text(&done.stdout);
        assert_eq!(done.status.code(), Some(0), "{shown}{}", text(&done.stderr));
        assert!(is_png(&out));
        assert!(shown.contains(triangles), "{shown}");
    }
}

#[test]
fn a_directory_becomes_a_directory_of_pictures_past_bad_files() {
    let folder = tempfile::tempdir().unwrap();
    let (input, out) = (folder.path().join("in"), folder.path().join("out"));
    tree(&input);
    let arguments = ["render", name(&input), "--size", "32x32", "-o", name(&out)];
    let done = meshmap(&arguments);
    let shown = text(&done.stdout);
    assert_eq!(done.status.code(), Some(1), "{shown}");
    assert!(
        is_png(&out.join("wave.png")) && is_png(&out.join("deep/names.png")),
        "{shown}"
    );
    assert!(!out.join("cut.png").exists());
    assert!(
        shown.contains("FAILED: 2 files written, 0 up to date, 1 failed; skipped: 1 other"),
        "{shown}"
    );
    let again = meshmap(&arguments);
    assert!(
        text(&again.stdout).contains("0 files written, 2 up to date, 1 failed"),
        "{}",
        text(&again.stdout)
    );
}

#[test]
fn a_sheet_has_bad_files_too_and_is_the_same_for_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in");
    tree(&input);
    let mut sheets = Vec::new();
    for threads in ["1", "2", "8"] {
        let out = folder.path().join("sheet.png");
        let done = meshmap(&[
            "render",
            name(&input),
            "--sheet",
            "--size",
            "64x64",
            "--threads",
            threads,
            "-o",
            name(&out),
        ]);
        let shown = text(&done.stdout);
        assert_eq!(done.status.code(), Some(1), "{shown}{}", text(&done.stderr));
        assert!(
            shown.contains("2 files drawn, 1 failed; skipped: 1 other"),
            "{shown}"
        );
        assert!(
            text(&done.stderr).contains("cut.iqm: "),
            "{}",
            text(&done.stderr)
        );
        assert!(is_png(&out));
        sheets.push(fs::read(out).unwrap());
    }
    assert!(sheets.windows(2).all(|pair| pair[0] == pair[1]));
    // Three tiles on two rows of two: 146 x 222 pixels.
    assert_eq!(sheets[0][16..24], [0, 0, 0, 146, 0, 0, 0, 222]);
}

#[test]
fn animations_turntables_and_sheets_of_one_file_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let (man, out) = (
        data::valid("iqm", "skin_multi_anim.iqm"),
        folder.path().join("man.png"),
    );
    for (arguments, words) in [
        (["--turntable", "3"], "3 pictures"),
        (["--animate", "--every=30"], "frame 0"),
        (["--sheet", "--every=30"], "frame 0"),
    ] {
        let mut all = vec![
            "render",
            name(&man),
            "--size",
            "32x32",
            "-o",
            name(&out),
            "--force",
        ];
        all.extend(arguments);
        let done = meshmap(&all);
        let shown = text(&done.stdout);
        assert_eq!(done.status.code(), Some(0), "{shown}{}", text(&done.stderr));
        assert!(shown.contains(words), "{shown}");
        assert!(is_png(&out));
    }
}

#[test]
fn without_a_terminal_and_an_output_it_is_wrong_usage() {
    let wave = data::valid("cgeo", "anim_a.cgeo");
    let root = data::root();
    let cases: [(&[&str], &str); 7] = [
        (
            &[name(&root), "--thumbnail", "-o", "all.png"],
            "--thumbnail is for one file",
        ),
        (&[name(&wave)], "standard output is no terminal"),
        (&[name(&root)], "-o says where"),
        (&[name(&wave), "--sheet"], "-o says where"),
        (&[name(&wave), "-o", "wave.jpg"], "names end in .png"),
        (&[name(&root), "-o", "all.png"], "with --sheet"),
        (
            &[name(&wave), "-o", "wave.png", "--size", "0x9"],
            "WIDTHxHEIGHT",
        ),
    ];
    for (arguments, words) in cases {
        let done = meshmap(&[&["render"], arguments].concat());
        assert_eq!(done.status.code(), Some(2), "{arguments:?}");
        assert!(
            text(&done.stderr).contains(words),
            "{arguments:?}: {}",
            text(&done.stderr)
        );
    }
}

#[test]
fn a_difference_is_drawn_where_vertices_belong_together() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("difference.png");
    let file = |name: &str| data::valid("openctm", name);
    let (raw, packed, other) = (
        file("tri1_RAW_all.ctm"),
        file("tri1_MG1_all.ctm"),
        file("cyl_RAW_pn.ctm"),
    );
    let done = meshmap(&["diff", name(&raw), name(&packed), "--picture", name(&out)]);
    assert!(is_png(&out), "{}{}", text(&done.stdout), text(&done.stderr));
    assert!(
        text(&done.stdout).contains("no vertex is farther than"),
        "{}",
        text(&done.stdout)
    );
    let done = meshmap(&["diff", name(&raw), name(&other), "--picture", name(&out)]);
    assert_eq!(done.status.code(), Some(1));
    assert!(
        text(&done.stderr).contains("vertices in the first"),
        "{}",
        text(&done.stderr)
    );
    let done = meshmap(&[
        "diff",
        name(&data::root()),
        name(&data::root()),
        "--picture",
        name(&out),
    ]);
    assert_eq!(done.status.code(), Some(2));
}
