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
fn standard_output_takes_one_picture() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in");
    tree(&input);
    let wave = input.join("wave.cgeo");
    let file = folder.path().join("picture.png");
    // A sheet of a directory with a damaged file is written, and its exit status is 1.
    let cases: [(&[&str], i32); 4] = [
        (&[name(&wave)], 0),
        (&[name(&wave), "--turntable", "2"], 0),
        (&[name(&wave), "--sheet"], 0),
        (&[name(&input), "--sheet"], 1),
    ];
    for (arguments, status) in cases {
        let render = [&["render", "--size", "32x32"], arguments].concat();
        let written = meshmap(&[&render[..], &["-o", name(&file)]].concat());
        assert_eq!(written.status.code(), Some(status), "{arguments:?}");
        let printed = meshmap(&[&render[..], &["-o", "-"]].concat());
        let problems = text(&printed.stderr);
        assert_eq!(printed.status.code(), Some(status), "{problems}");
        assert!(printed.stdout == fs::read(&file).unwrap(), "{arguments:?}");
        assert!(!problems.contains("picture.png"), "{problems}");
        fs::remove_file(&file).unwrap();
    }
    let refused: [(&[&str], &str); 3] = [
        (&[name(&wave), "--json"], "--json needs another output"),
        (&[name(&wave), "--thumbnail"], "for a file that exists"),
        (&[name(&input)], "takes one picture"),
    ];
    for (arguments, words) in refused {
        let done = meshmap(&[&["render", "-o", "-"], arguments].concat());
        let problems = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{problems}");
        assert!(done.stdout.is_empty());
        assert!(problems.contains(words), "{problems}");
    }
    assert!(!Path::new("-").exists());
}

#[test]
fn files_without_anything_to_draw_are_skipped_in_folders() {
    let folder = tempfile::tempdir().unwrap();
    let (input, out) = (folder.path().join("in"), folder.path().join("out"));
    fs::create_dir(&input).unwrap();
    let wave = data::valid("cgeo", "anim_a.cgeo");
    let nothing = data::valid("cgeo", "empty_anim_a.cgeo");
    fs::copy(wave, input.join("wave.cgeo")).unwrap();
    fs::copy(&nothing, input.join("nothing.cgeo")).unwrap();
    let sheet = folder.path().join("sheet.png");
    for (output, more) in [(&out, &[][..]), (&sheet, &["--sheet"])] {
        let render = ["render", name(&input), "--size", "32x32", "-o"];
        let done = meshmap(&[&render[..], &[name(output)], more].concat());
        let shown = text(&done.stdout);
        assert_eq!(done.status.code(), Some(0), "{shown}{}", text(&done.stderr));
        assert!(
            shown.contains("0 failed; skipped: 1 without vertices"),
            "{shown}"
        );
    }
    assert!(is_png(&out.join("wave.png")) && !out.join("nothing.png").exists());
    let named = meshmap(&["render", name(&nothing), "-o", name(&sheet)]);
    assert_eq!(named.status.code(), Some(1));
    assert!(
        text(&named.stderr).contains("nothing to draw"),
        "{}",
        text(&named.stderr)
    );
}

#[test]
fn a_transparent_background_is_a_png_with_alpha() {
    /// The place of the kind of colour in a PNG, and its values.
    const COLOR_TYPE: usize = 25;
    const RGB: u8 = 2;
    const RGBA: u8 = 6;

    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("wave.png");
    let wave = data::valid("cgeo", "anim_a.cgeo");
    for (background, color_type) in [
        ("transparent", RGBA),
        ("white", RGB),
        ("black", RGB),
        ("#f2f3f5", RGB),
    ] {
        let done = meshmap(&[
            "render",
            name(&wave),
            "--size",
            "32x32",
            "--background",
            background,
            "-o",
            name(&out),
        ]);
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        assert!(is_png(&out));
        assert_eq!(fs::read(&out).unwrap()[COLOR_TYPE], color_type);
    }
    let wrong = meshmap(&["render", name(&wave), "--background", "mud", "-o", "a.png"]);
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn the_width_of_points_is_for_clouds_of_points() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.png");
    let draw = |input: &Path| {
        meshmap(&[
            "render",
            name(input),
            "--size",
            "32x32",
            "--points",
            "9",
            "-o",
            name(&out),
        ])
    };
    let points = draw(&data::valid("cgeo", "points_a.cgeo"));
    assert_eq!(points.status.code(), Some(0), "{}", text(&points.stderr));
    assert!(
        text(&points.stdout).contains(" points"),
        "{}",
        text(&points.stdout)
    );
    fs::remove_file(&out).unwrap();
    let triangles = draw(&data::valid("cgeo", "anim_a.cgeo"));
    assert_eq!(triangles.status.code(), Some(1));
    assert!(!out.exists());
    assert!(
        text(&triangles.stderr)
            .contains("the option --points has no effect: the file is not a cloud of points"),
        "{}",
        text(&triangles.stderr)
    );
}

/// An image next to the file, and then one below another folder.
#[test]
fn a_picture_is_drawn_again_if_its_image_changes() {
    let folder = tempfile::tempdir().unwrap();
    let [input, out, game] = ["in", "out", "game"].map(|name| folder.path().join(name));
    fs::create_dir(&input).unwrap();
    fs::create_dir_all(game.join("deep/below")).unwrap();
    let textures = data::root().join("textures");
    fs::copy(textures.join("crate.iqm"), input.join("crate.iqm")).unwrap();
    let image = fs::read(textures.join("crate.png")).unwrap();
    let render = ["render", name(&input), "--size", "32x32", "-o", name(&out)];
    let run = |more: &[&str]| {
        let done = meshmap(&[&render[..], more].concat());
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        let is_written = text(&done.stdout).contains("1 file written, 0 up to date");
        (is_written, fs::read(out.join("crate.png")).unwrap())
    };
    let is_same = |(is_written, bytes): &(bool, Vec<u8>), before: &(bool, Vec<u8>)| {
        !is_written && *bytes == before.1
    };

    let without = run(&[]);
    assert!(is_same(&run(&[]), &without));
    fs::write(input.join("crate.png"), &image).unwrap();
    let with = run(&[]);
    assert!(with.0 && with.1 != without.1);
    assert!(is_same(&run(&[]), &with));

    let mut other = image.clone();
    // Another time would do, but some file systems count seconds.
    other.extend_from_slice(b"more");
    fs::write(input.join("crate.png"), &other).unwrap();
    let again = run(&[]);
    assert!(again.0 && again.1 == with.1);

    fs::remove_file(input.join("crate.png")).unwrap();
    fs::write(game.join("deep/below/crate.png"), &image).unwrap();
    let below = run(&["--textures", name(&game)]);
    assert!(below.0 && below.1 == with.1);
    assert!(is_same(&run(&["--textures", name(&game)]), &below));
    let json = meshmap(
        &[
            &render[..],
            &["--textures", name(&game), "--json", "--force"],
        ]
        .concat(),
    );
    let object: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(object["textures"][0]["name"], "crate.png");
    let file = object["textures"][0]["file"].as_str().unwrap();
    assert!(Path::new(file).ends_with("deep/below/crate.png"), "{file}");
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
