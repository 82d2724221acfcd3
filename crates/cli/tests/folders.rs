//! Folders of many files: what goes to which stream, one line for each file, totals, and runs that repeat.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use meshmap::Format;
use meshmap_testing::{data, fixtures};
use serde_json::Value;

use child::{Run as _, meshmap_with as meshmap, text};

mod child;

fn name(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn last_line(output: &Output) -> &str {
    text(&output.stdout).lines().last().unwrap_or_default()
}

/// A good file, one that cannot be opened, a damaged one, and one with animations only.
fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in");
    fs::create_dir(&input).unwrap();
    fs::copy(
        data::valid("iqm", "skin_multi_anim.iqm"),
        input.join("good.iqm"),
    )
    .unwrap();
    fs::write(input.join("cut.iqm"), &fixtures::iqm::small()[..1000]).unwrap();
    fs::write(
        input.join("damaged.slmesh"),
        fixtures::slmesh::damaged("skin"),
    )
    .unwrap();
    fs::copy(
        data::valid("iqm", "anim_only_joints.iqm"),
        input.join("walk.iqm"),
    )
    .unwrap();
    (folder, input)
}

#[test]
fn results_go_to_standard_output_and_problems_to_standard_error() {
    let (folder, input) = folder();
    let (cut, good) = (input.join("cut.iqm"), input.join("good.iqm"));
    let (cut, good, input) = (name(&cut), name(&good), name(&input));
    let out = folder.path().join("out");
    let out = name(&out);
    let file = folder.path().join("file.glb");
    let picture = folder.path().join("file.png");
    let table = folder.path().join("table.csv");
    for command in meshmap_cli::command().get_subcommands() {
        let runs: Vec<Vec<&str>> = match command.get_name() {
            "info" => vec![vec![cut], vec![input], vec!["--full", input]],
            "convert" => vec![
                vec![cut, "-o", name(&file)],
                vec![input, "--to", "glb", "-o", out],
                vec![cut, "--to", "glb", "-o", "-"],
            ],
            "render" => vec![
                vec![cut, "-o", name(&picture)],
                vec![input, "-o", out],
                vec![input, "--sheet", "-o", name(&picture)],
            ],
            "dump" | "digest" => vec![vec![cut]],
            "diff" => vec![vec![cut, good], vec![input, input]],
            "catalog" => vec![vec![input, "-o", name(&table)]],
            // The verdicts are the result.
            "verify" => {
                let done = meshmap(&["verify", input]);
                assert!(text(&done.stdout).contains("cut.iqm") && done.stderr.is_empty());
                continue;
            }
            // These read no files, or serve them to a browser.
            "completions" | "man" | "view" => continue,
            other => panic!("{other}: what goes to which stream?"),
        };
        let has_json = command
            .get_arguments()
            .any(|argument| argument.get_id() == "json");
        for run in runs {
            let run = [&[command.get_name()], run.as_slice()].concat();
            let done = meshmap(&run);
            assert_eq!(done.status.code(), Some(1), "{run:?}");
            assert!(
                !String::from_utf8_lossy(&done.stdout).contains("cut.iqm"),
                "{run:?}: {}",
                text(&done.stdout)
            );
            // A table has the reasons.
            let is_told = text(&done.stderr).contains("cut.iqm") || command.get_name() == "catalog";
            assert!(is_told, "{run:?}: {}", text(&done.stderr));
            if !has_json || run.contains(&"-") {
                continue;
            }
            let done = meshmap(&[run.as_slice(), &["--json"]].concat());
            let objects: Vec<Value> = text(&done.stdout)
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect();
            assert!(!objects.is_empty(), "{run:?}");
            assert!(
                !text(&done.stderr).contains("cut.iqm"),
                "{run:?}: {}",
                text(&done.stderr)
            );
        }
    }
}

#[test]
fn a_folder_is_one_line_for_each_file_and_totals() {
    let folder = tempfile::tempdir().unwrap();
    let [input, out] = ["in", "out"].map(|name| folder.path().join(name));
    fs::create_dir(&input).unwrap();
    let mesh = data::valid("tmf", "v011_multi_names.tmf");
    for number in 0..30 {
        fs::copy(&mesh, input.join(format!("mesh{number:02}.tmf"))).unwrap();
    }
    let run = |more: &[&str]| {
        meshmap(
            &[
                &[
                    "convert",
                    name(&input),
                    "--to",
                    "glb",
                    "--force",
                    "-o",
                    name(&out),
                ],
                more,
            ]
            .concat(),
        )
    };
    let done = run(&[]);
    let lines: Vec<&str> = text(&done.stdout).lines().collect();
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert!(
        lines[..30]
            .iter()
            .all(|line| line.contains(" -> ") && line.contains(" triangles, ")),
        "{lines:#?}"
    );
    assert!(
        lines[30..lines.len() - 1]
            .iter()
            .all(|line| line.starts_with("30 files: ")),
        "{lines:#?}"
    );
    assert!(
        lines.contains(
            &"30 files: assumed: Y points up, which the file does not say (--up changes it)"
        ),
        "{lines:#?}"
    );
    assert!(
        lines.len() < 40 && lines.last().unwrap().starts_with("DONE: 30 files written"),
        "{lines:#?}"
    );
    // Only what needs attention.
    let note = "most normals point away from the fronts: triangles are turned, which --flip undoes";
    let flipped = ["--flip"];
    for more in [&[][..], &flipped] {
        let done = run(&[more, &["-q"]].concat());
        assert_eq!(text(&done.stdout), "");
        let problems = text(&done.stderr);
        assert!(
            problems
                .lines()
                .all(|line| line == format!("30 files: {note}")),
            "{problems}"
        );
    }
    // A single file has all its lines.
    let one = folder.path().join("one.glb");
    let done = meshmap(&["convert", name(&mesh), "-o", name(&one)]);
    assert!(
        text(&done.stdout).contains("\n  left out: "),
        "{}",
        text(&done.stdout)
    );
}

#[test]
fn failures_are_lines_and_totals() {
    let (folder, input) = folder();
    fs::copy(input.join("cut.iqm"), input.join("cut2.iqm")).unwrap();
    let out = folder.path().join("out");
    let done = meshmap(&["convert", name(&input), "--to", "glb", "-o", name(&out)]);
    let problems: Vec<&str> = text(&done.stderr).lines().collect();
    assert!(
        problems.contains(&"2 files: failed: iqm: truncated"),
        "{problems:#?}"
    );
    assert!(
        problems.contains(&"1 file: damaged: slmesh: malformed"),
        "{problems:#?}"
    );
    assert_eq!(
        problems.iter().filter(|line| line.contains("cut")).count(),
        2,
        "{problems:#?}"
    );
}

#[test]
fn files_with_animations_only_are_skipped_in_folders() {
    let folder = tempfile::tempdir().unwrap();
    let [input, out] = ["in", "out"].map(|name| folder.path().join(name));
    fs::create_dir(&input).unwrap();
    let walk = data::valid("iqm", "anim_only_joints.iqm");
    fs::copy(&walk, input.join("walk.iqm")).unwrap();
    let run = |path: &Path, more: &[&str]| {
        meshmap(&[&["convert", name(path), "-o", name(&out)], more].concat())
    };
    let done = run(&input, &["--to", "obj"]);
    assert_eq!((done.status.code(), text(&done.stderr)), (Some(0), ""));
    assert!(
        last_line(&done).starts_with(
            "DONE: 0 files written, 0 up to date, 0 failed; skipped: 1 without vertices"
        )
    );
    let object: Value =
        serde_json::from_slice(&run(&input, &["--to", "obj", "--json"]).stdout).unwrap();
    assert_eq!(
        (&object["state"], &object["error"]["kind"]),
        (&"skipped".into(), &"unsupported".into())
    );
    let sheet = folder.path().join("sheet.png");
    for arguments in [&["-o", name(&out)][..], &["--sheet", "-o", name(&sheet)]] {
        let drawn = meshmap(&[&["render", name(&input)], arguments].concat());
        assert_eq!(drawn.status.code(), Some(0), "{}", text(&drawn.stderr));
    }
    let joints = run(&input, &["--to", "glb"]);
    assert!(
        text(&joints.stdout).contains("12 joints, 2 animations"),
        "{}",
        text(&joints.stdout)
    );
    let named = run(&walk, &["--to", "obj"]);
    assert_eq!(named.status.code(), Some(1));
    assert!(
        text(&named.stderr).contains("the file has no vertices; --with adds"),
        "{}",
        text(&named.stderr)
    );
}

#[test]
fn a_second_run_writes_nothing_and_reports_damage_again() {
    let (folder, input) = folder();
    #[cfg(target_os = "linux")]
    {
        let odd: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"odd\xff");
        fs::create_dir(input.join(odd)).unwrap();
        fs::copy(
            data::valid("iqm", "skin_multi_anim.iqm"),
            input.join(odd).join(odd),
        )
        .unwrap();
    }
    let count = if cfg!(target_os = "linux") { 3 } else { 2 };
    let out = folder.path().join("out");
    let arguments = ["convert", name(&input), "--to", "obj", "-o", name(&out)];
    let runs = [(); 3].map(|()| meshmap(&arguments));
    assert!(
        last_line(&runs[0]).starts_with(&format!(
            "FAILED: {count} files written, 0 up to date, 1 failed, 1 damaged"
        )),
        "{}{}",
        text(&runs[0].stdout),
        text(&runs[0].stderr)
    );
    let problems = |output: &Output| {
        text(&output.stderr)
            .lines()
            .filter(|line| !line.contains(", which --flip undoes"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    for run in &runs[1..] {
        assert!(
            last_line(run).starts_with(&format!(
                "FAILED: 0 files written, {count} up to date, 1 failed, 1 damaged"
            )),
            "{}",
            last_line(run)
        );
        assert_eq!(
            (run.status.code(), problems(run)),
            (Some(1), problems(&runs[0]))
        );
    }
    let objects = meshmap(&[&arguments[..], &["--json"]].concat());
    let objects = text(&objects.stdout)
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let damaged = objects
        .into_iter()
        .find(|object| object["path"].as_str().unwrap().ends_with("damaged.slmesh"))
        .unwrap();
    assert_eq!(
        (
            &damaged["state"],
            damaged["damage"].as_array().unwrap().len()
        ),
        (&"up_to_date".into(), 1)
    );
    // Other outputs may need other parts.
    let done = meshmap(&[&arguments[..], &["--flip"]].concat());
    assert!(
        last_line(&done).contains(&format!(" {count} files written")),
        "{}",
        last_line(&done)
    );
}

#[test]
fn only_the_folders_of_a_directory_of_outputs_are_created() {
    let folder = tempfile::tempdir().unwrap();
    let (mesh, new) = (
        data::valid("iqm", "skin_multi_anim.iqm"),
        folder.path().join("new"),
    );
    let [glb, png, deep] = ["file.glb", "file.png", "a/b"].map(|name| new.join(name));
    let (csv, ending) = (new.join("rows.csv"), format!("{}/", name(&new)));
    let outputs: [(&str, &[&str], &str); 7] = [
        ("convert", &[], name(&glb)),
        ("convert", &["--to", "glb"], &ending),
        ("render", &[], name(&png)),
        ("render", &[], &ending),
        ("render", &["--sheet"], name(&png)),
        ("catalog", &[], name(&csv)),
        ("dump", &["triangles"], name(&glb)),
    ];
    for (command, options, output) in outputs {
        let done = meshmap(&[&[command, name(&mesh)], options, &["-o", output]].concat());
        assert_eq!(done.status.code(), Some(1));
        assert!(
            text(&done.stderr).contains(&format!("the folder {} does not exist", name(&new))),
            "{}",
            text(&done.stderr)
        );
        assert!(!new.exists());
    }
    let done = meshmap(&[
        "convert",
        name(&mesh),
        name(&mesh),
        "--dry-run",
        "--to",
        "glb",
        "-o",
        name(&deep),
    ]);
    assert!(done.status.success() && !new.exists());
    let done = meshmap(&[
        "convert",
        name(mesh.parent().unwrap()),
        "-g",
        "skin_multi_anim.iqm",
        "--to",
        "glb",
        "-o",
        name(&deep),
    ]);
    assert!(
        done.status.success() && deep.join("skin_multi_anim.glb").exists(),
        "{}",
        text(&done.stderr)
    );
}

/// `damaged` and `not readable` mean the same in all commands.
#[test]
fn commands_count_the_same_files() {
    let folders: Vec<PathBuf> = Format::ALL
        .iter()
        .flat_map(|format| ["valid", "bad"].map(|kind| data::root().join(format.name()).join(kind)))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("table.csv");
    let counts: BTreeSet<String> = [
        &["verify"][..],
        &["info", "--full"],
        &["catalog", "--full", "-o", name(&table)],
    ]
    .into_iter()
    .map(|arguments| {
        let done = child::meshmap()
            .args(arguments)
            .args(&folders)
            .env("COLUMNS", "200")
            .run();
        let line = last_line(&done);
        let count = |what| line.split_once(what).unwrap().0.rsplit(' ').next().unwrap();
        format!(
            "{} damaged, {} not readable",
            count(" damaged"),
            count(" not readable")
        )
    })
    .collect();
    assert_eq!(counts.len(), 1, "{counts:?}");
}

#[test]
fn values_that_are_wrong_are_named() {
    let mesh = data::valid("iqm", "skin_multi_anim.iqm");
    for (arguments, expected, forbidden) in [
        (
            &["convert", "--jobs", "0", "-o", "x.glb"][..],
            "'--jobs <N>': expected a number from 1",
            "non-zero",
        ),
        (
            &["convert", "--every", "0", "-o", "x.glb"],
            "expected a number from 1",
            "non-zero",
        ),
        (
            &["render", "--every", "-1", "-o", "x.png"],
            "expected a number from 1",
            "--",
        ),
        (
            &["render", "--flip"],
            "tip: '--flip' is an option of 'convert'",
            "-- --flip",
        ),
        (
            &["render", "--up", "-q", "-o", "x.png"],
            "'-q' for '--up <AXIS>'",
            "-- -q",
        ),
        (
            &["diff", "--tolerance", "-1"],
            "expected a number that is not negative",
            "-- -1",
        ),
    ] {
        let done = child::meshmap().args(arguments).arg(&mesh).run();
        let error = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{error}");
        let tip = forbidden != "--" && error.contains(forbidden);
        assert!(error.contains(expected) && !tip, "{arguments:?}: {error}");
    }
}

#[test]
fn images_next_to_meshes_are_found_and_rename_no_output() {
    let folder = tempfile::tempdir().unwrap();
    let (input, out) = (folder.path().join("in"), folder.path().join("out"));
    fs::create_dir(&input).unwrap();
    fs::copy(
        data::root().join("textures/crate.iqm"),
        input.join("crate.iqm"),
    )
    .unwrap();
    let run = || {
        let done = meshmap(&["convert", name(&input), "--to", "obj", "-o", name(&out)]);
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        let image = fs::read_to_string(out.join("crate.mtl"))
            .unwrap()
            .contains("\nmap_Kd ../in/crate.png\n");
        (last_line(&done).contains("1 file written"), image)
    };
    assert_eq!([run(), run()], [(true, false), (false, false)]);
    fs::copy(
        data::root().join("textures/crate.png"),
        input.join("crate.png"),
    )
    .unwrap();
    assert_eq!([run(), run()], [(true, true), (false, true)]);
    assert!(!out.join("crate.iqm.obj").exists());
    // Nothing leads from a stream to an image.
    for option in ["--copy-textures", "--textures=."] {
        let done = meshmap(&[
            "convert",
            name(&input.join("crate.iqm")),
            "--to",
            "glb",
            "-o",
            "-",
            option,
        ]);
        assert_eq!((done.status.code(), done.stdout.len()), (Some(2), 0));
        assert!(
            text(&done.stderr).contains("--embed-textures"),
            "{}",
            text(&done.stderr)
        );
    }
}
