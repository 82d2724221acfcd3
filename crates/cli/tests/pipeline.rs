//! The guarantees for pipelines: every broken part is reported, by every command; JSON fits its schema; many files come in order.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use meshmap::Format;
#[cfg(unix)]
use meshmap_testing::fixtures;
use meshmap_testing::{data, test_files};
use serde_json::Value;

use child::{Run as _, Started, text};

mod child;

fn meshmap(arguments: &[&str], paths: &[&Path]) -> Output {
    child::meshmap().args(arguments).args(paths).run()
}

fn objects(output: &Output) -> Vec<Value> {
    text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The folders of a kind of files, one for each format.
fn folders(root: &Path, kind: &str) -> Vec<PathBuf> {
    Format::ALL
        .iter()
        .map(|format| root.join(format.name()).join(kind))
        .collect()
}

/// The parts that an object calls broken, with their states.
fn broken(object: &Value) -> BTreeSet<(String, String)> {
    let parts = object["parts"].as_array().unwrap().iter();
    let parts = parts.map(|part| {
        (
            part["address"].as_str().unwrap().to_owned(),
            part["state"].as_str().unwrap().to_owned(),
        )
    });
    parts
        .filter(|(_, state)| !matches!(state.as_str(), "intact" | "not checked"))
        .collect()
}

/// Asserts that objects are as the schema says that a command prints.
fn assert_fit(objects: &[Value], command: &str) {
    let schema = serde_json::from_slice(&meshmap(&[command, "--schema"], &[]).stdout).unwrap();
    let (mut compiler, mut schemas) = (boon::Compiler::new(), boon::Schemas::new());
    compiler.add_resource("printed.json", schema).unwrap();
    let schema = compiler.compile("printed.json", &mut schemas).unwrap();
    assert!(
        schemas.validate(&Value::Array(Vec::new()), schema).is_err(),
        "{command}: fits everything"
    );
    for object in objects {
        // With `#`, the error names each place.
        schemas
            .validate(object, schema)
            .unwrap_or_else(|error| panic!("{}: {error:#}", object["path"]));
    }
}

test_files!(every_object_fits_the_schema);

fn every_object_fits_the_schema(root: &Path) {
    let folders: Vec<PathBuf> = ["valid", "bad"]
        .iter()
        .flat_map(|kind| folders(root, kind))
        .collect();
    let paths: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
    for arguments in [
        &["info", "--json"][..],
        &["info", "--json", "--full"],
        &["verify", "--json"],
    ] {
        let objects = objects(&meshmap(arguments, &paths));
        assert!(objects.len() > 300, "{}", objects.len());
        assert_fit(&objects, "info");
    }
}

/// The objects of `convert`, `render`, `diff` and `catalog`, of good and of bad files.
#[test]
fn objects_of_all_commands_fit_their_schemas() {
    let folder = tempfile::tempdir().unwrap();
    let output = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (out, pictures, table) = (output("out"), output("pictures"), output("table.csv"));
    let both = [data::root().join("iqm/valid"), data::root().join("iqm/bad")];
    let convert = [
        "convert",
        "--json",
        "--to",
        "obj",
        "--zero-non-finite",
        "-o",
        &out,
    ];
    let render = [
        "render",
        "--json",
        "--size",
        "32x32",
        "--zero-non-finite",
        "-o",
        &pictures,
    ];
    let cases: [(&[&str], usize); 4] = [
        (&convert, 20),
        (&render, 20),
        (&["diff", "--json"], 20),
        (&["catalog", "--json", "-o", &table], 1),
    ];
    for (arguments, least) in cases {
        let paths: Vec<&Path> = both.iter().map(PathBuf::as_path).collect();
        let objects = objects(&meshmap(arguments, &paths));
        assert!(objects.len() >= least, "{arguments:?}: {}", objects.len());
        assert_fit(&objects, arguments[0]);
        let states: BTreeSet<&str> = objects
            .iter()
            .filter_map(|object| object["state"].as_str())
            .collect();
        assert!(
            states.len() > 1 || arguments[0] == "catalog",
            "{arguments:?}: {states:?}"
        );
    }
    // Images are in objects of both.
    for arguments in [&convert[..], &render] {
        let objects = objects(&meshmap(arguments, &[&data::root().join("textures")]));
        assert_fit(&objects, arguments[0]);
        assert_eq!(
            objects[0]["textures"][0]["name"], "crate.png",
            "{objects:?}"
        );
    }
    // A sheet has an object for each tile.
    let sheet = output("sheet.png");
    let tiles = meshmap(
        &[
            "render", "--json", "--sheet", "--size", "16x16", "-o", &sheet,
        ],
        &[&both[0], &both[1]],
    );
    let states: BTreeSet<String> = objects(&tiles)
        .iter()
        .map(|tile| tile["state"].to_string())
        .collect();
    assert_eq!(
        states.into_iter().collect::<Vec<_>>(),
        ["\"failed\"", "\"written\""]
    );
    for arguments in [
        &["convert", "--json", "--to", "glb", "-o", "-"][..],
        &["render", "--json"],
    ] {
        let done = meshmap(arguments, &[&data::valid("iqm", "skin_multi_anim.iqm")]);
        assert_eq!(
            (done.status.code(), text(&done.stdout)),
            (Some(2), ""),
            "{arguments:?}"
        );
    }
    let rows = objects(&meshmap(&["catalog", "--json"], &[&both[0]]));
    assert!(rows.len() > 20 && rows.iter().all(|row| row["path"].is_string()));
}

/// Names that are not UTF-8 are exact in a property of their own.
#[cfg(target_os = "linux")]
#[test]
fn paths_that_are_not_utf8_are_base64() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder
        .path()
        .join(std::ffi::OsStr::from_bytes(b"m\xff.iqm"));
    fs::copy(data::valid("iqm", "skin_multi_anim.iqm"), &path).unwrap();
    let out = folder.path().join("out");
    let convert = [
        "convert",
        "--json",
        "--to",
        "stl",
        "-o",
        out.to_str().unwrap(),
    ];
    let mut seen = BTreeSet::new();
    for arguments in [&convert[..], &["info", "--json"], &["catalog", "--json"]] {
        let object = objects(&meshmap(arguments, &[folder.path()])).remove(0);
        assert!(
            object["path"].as_str().unwrap().ends_with("m\u{fffd}.iqm"),
            "{object}"
        );
        seen.insert(object["path_bytes"].as_str().unwrap().to_owned());
    }
    assert_eq!(seen.len(), 1, "{seen:?}");
}

#[test]
fn files_come_from_a_list() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["with space.iqm", "cut.iqm", "man.iqm"].map(|name| folder.path().join(name));
    let whole = fs::read(data::valid("iqm", "skin_multi_anim.iqm")).unwrap();
    for (path, length) in paths.iter().zip([whole.len(), 100, whole.len()]) {
        fs::write(path, &whole[..length]).unwrap();
    }
    let joined = |end: &str| {
        paths
            .iter()
            .map(|path| path.display().to_string() + end)
            .collect::<String>()
    };
    let list = folder.path().join("list");
    let cases: [(&[&str], &str); 3] = [(&[], "\n"), (&[], "\r\n"), (&["-0"], "\0")];
    for (nul, end) in cases {
        fs::write(&list, joined(end)).unwrap();
        let arguments = [
            &["verify", "--files-from", list.to_str().unwrap(), "-j", "2"],
            nul,
        ]
        .concat();
        let output = meshmap(&arguments, &[]);
        let shown = text(&output.stdout);
        assert_eq!(
            output.status.code(),
            Some(1),
            "{end:?}: {shown}{}",
            text(&output.stderr)
        );
        assert!(shown.contains("FAIL: 1 of 3 files"), "{end:?}: {shown}");
        // Only problems.
        let output = meshmap(&[&arguments[..], &["-q"]].concat(), &[]);
        let shown = text(&output.stdout);
        assert!(
            shown.contains("cut.iqm") && !shown.contains("man.iqm"),
            "{shown}"
        );
        assert!(
            !shown.contains("FAIL") && output.stderr.is_empty() && output.status.code() == Some(1)
        );
    }
    let listed = piped(
        &["info", "--json", "--files-from", "-", "-0"],
        joined("\0").as_bytes(),
    );
    assert_eq!(objects(&listed).len(), 3);
    // A list may name more files than there is memory for.
    let short = "a\n".repeat(100_000);
    let many = piped(
        &["verify", "--max-memory", "10MiB", "--files-from", "-"],
        short.as_bytes(),
    );
    assert_eq!(many.status.code(), Some(1));
    let said = [many.stdout, many.stderr].concat();
    let said = text(&said).split_whitespace().collect::<Vec<_>>().join(" ");
    let reason = "the list of files cannot be read: it needs more than the limit of 10.0 MiB; raise it with --max-memory, or split the list";
    assert!(said.contains(reason), "{said}");
    let missing = meshmap(&["verify", "--files-from", "/nowhere/list"], &[]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(
        text(&missing.stdout).contains("the list of files cannot be read"),
        "{}",
        text(&missing.stdout)
    );
}

#[test]
fn quiet_commands_print_nothing_about_good_files() {
    let folder = tempfile::tempdir().unwrap();
    let good = data::root().join("iqm/valid");
    let man = data::valid("iqm", "skin_multi_anim.iqm");
    let output = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (out, picture, table) = (output("out.stl"), output("out.png"), output("table.csv"));
    let cases: [(&[&str], &Path); 5] = [
        (&["info"], &good),
        (&["verify"], &good),
        (&["convert", "--to", "stl", "-o", &out], &man),
        (&["render", "--size", "16x16", "-o", &picture], &man),
        (&["catalog", "-o", &table], &good),
    ];
    for (arguments, path) in cases {
        let done = meshmap(&[arguments, &["-q"]].concat(), &[path]);
        assert_eq!(
            (text(&done.stdout), text(&done.stderr), done.status.code()),
            ("", "", Some(0)),
            "{arguments:?}"
        );
    }
}

#[test]
fn paths_are_whole_without_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("a".repeat(60)).join("b".repeat(60));
    fs::create_dir_all(&deep).unwrap();
    let good = deep.join("character_body_high.iqm");
    fs::copy(data::valid("iqm", "skin_multi_anim.iqm"), &good).unwrap();
    let bad = deep.join("character_body_low.iqm");
    fs::write(&bad, b"INTERQUAKEMODEL\0").unwrap();
    for command in ["info", "verify"] {
        let done = meshmap(&[command, "--color", "never"], &[folder.path()]);
        let shown = format!("{}{}", text(&done.stdout), text(&done.stderr));
        assert!(shown.contains(bad.to_str().unwrap()), "{command}: {shown}");
        assert!(
            command == "verify" || shown.contains(good.to_str().unwrap()),
            "{command}: {shown}"
        );
    }
}

#[test]
fn a_file_that_is_not_there_is_an_object() {
    let missing = objects(&meshmap(
        &["info", "--json"],
        &[Path::new("/nowhere/at/all.iqm")],
    ));
    assert_eq!(missing[0]["error"]["kind"], "not_found");
}

#[test]
fn counts_are_those_of_the_expectations() {
    let files = Format::ALL
        .iter()
        .flat_map(|format| data::folder(&format!("{}/valid", format.name())));
    for file in files {
        let object = objects(&meshmap(&["info", "--json"], &[&file])).remove(0);
        let beside = PathBuf::from(format!("{}.expect.json", file.display()));
        let expected = if beside.exists() {
            beside
        } else {
            file.with_extension("expect.json")
        };
        let expected: Value = serde_json::from_slice(&fs::read(expected).unwrap()).unwrap();
        let arrays = expected["arrays"].as_object().unwrap();
        let is_positions = |path: &str| match object["format"].as_str().unwrap() {
            "openctm" => path == "positions",
            "tmf" => path.ends_with("].vertices"),
            "iqm" => path == "vertex_arrays[0]",
            "cgeo" => path.ends_with("].positions") && !path.contains("triangles"),
            _ => path.ends_with("].positions"),
        };
        let positions = arrays.iter().filter(|(path, _)| is_positions(path));
        let wanted: u64 = positions
            .map(|(_, array)| array["shape"][0].as_u64().unwrap())
            .sum();
        let found: u64 = match object["format"].as_str().unwrap() {
            "iqm" if wanted == 0 => 0,
            "iqm" => object["iqm"]["vertices"].as_u64().unwrap(),
            "openctm" => object["meshes"][0]["vertices"].as_u64().unwrap(),
            _ => object["meshes"]
                .as_array()
                .unwrap()
                .iter()
                .map(|mesh| mesh["vertices"].as_u64().unwrap())
                .sum(),
        };
        assert_eq!(found, wanted, "{}", file.display());
    }
}

/// Files that are cut off are bad for every command, and the same parts of them are.
#[test]
fn info_and_verify_name_the_same_parts_of_files_that_are_cut() {
    let folder = tempfile::tempdir().unwrap();
    for format in Format::ALL.map(Format::name) {
        for file in data::folder(&format!("{format}/valid")) {
            let bytes = fs::read(&file).unwrap();
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            // The missing part of this one belongs to no mesh.
            for tenth in (1..10).filter(|tenth| *tenth < 9 || !name.contains("trailing")) {
                let cut = &bytes[..bytes.len() * tenth / 10];
                fs::write(folder.path().join(format!("{tenth}_{name}")), cut).unwrap();
            }
        }
    }
    let [info, verify] =
        ["info", "verify"].map(|command| objects(&meshmap(&[command, "--json"], &[folder.path()])));
    assert!(
        info.len() > 500 && info.len() == verify.len(),
        "{} {}",
        info.len(),
        verify.len()
    );
    for (info, verify) in info.iter().zip(&verify) {
        assert_eq!(info["path"], verify["path"]);
        assert!(
            !info["error"].is_null() && !verify["error"].is_null(),
            "{}",
            info["path"]
        );
        assert_eq!(broken(info), broken(verify), "{}", info["path"]);
    }
}

test_files!(verify_tells_all_that_info_tells);

/// Whatever `info` shows as broken `verify` does, and what fails there has no digest.
fn verify_tells_all_that_info_tells(root: &Path) {
    for folder in folders(root, "bad").iter().chain(&folders(root, "valid")) {
        let [info, verify] =
            ["info", "verify"].map(|command| objects(&meshmap(&[command, "--json"], &[folder])));
        for (info, verify) in info.iter().zip(&verify) {
            let addresses = |object: &Value| {
                broken(object)
                    .into_iter()
                    .map(|(address, _)| address)
                    .collect::<BTreeSet<_>>()
            };
            assert!(
                addresses(info).is_subset(&addresses(verify)),
                "{}",
                info["path"]
            );
            assert!(
                info["error"].is_null() || !verify["error"].is_null(),
                "{}",
                info["path"]
            );
        }
    }
}

/// An asset that is cut off: what is incomplete, what is missing, and what is whole.
#[test]
fn verify_tells_every_broken_block_and_what_is_intact() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.slmesh");
    let bytes = fs::read(data::valid("slmesh", "gen_08_server_header.slmesh")).unwrap();
    fs::write(&path, &bytes[..bytes.len() * 7 / 10]).unwrap();
    let output = meshmap(&["verify"], &[&path]);
    let printed = text(&output.stdout);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), ""));
    assert!(
        printed.contains("file cut off at 6,179 of 8,828 bytes"),
        "{printed}"
    );
    for state in [" incomplete  ", " missing     "] {
        assert!(printed.contains(state), "{printed}");
    }
    assert!(
        printed.contains("     intact  ") && printed.contains("medium_lod, low_lod"),
        "{printed}"
    );
    assert!(
        printed.ends_with("FAIL: 1 of 1 file: 1 damaged\n"),
        "{printed}"
    );
    let row = meshmap(&["info"], &[&path, &path]);
    let row = text(&row.stderr);
    assert!(
        row.contains("file cut off at")
            && row.contains("; intact: ")
            && row.contains("; missing: "),
        "{row}"
    );
}

#[test]
fn equal_lines_are_folded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.cgeo");
    let bytes = fs::read(data::valid("cgeo", "anim_a.cgeo")).unwrap();
    fs::write(&path, &bytes[..9000]).unwrap();
    let printed = meshmap(&["verify"], &[&path]);
    let printed = text(&printed.stdout);
    assert!(
        printed.contains("snapshots[6..11] missing     offsets beyond the end of the file"),
        "{printed}"
    );
    assert!(
        printed.contains("intact           snapshots[0..4]"),
        "{printed}"
    );
}

#[test]
fn rules_can_be_allowed_and_severities_fail() {
    let far = data::valid("tmf", "v011_last_vertex_far.tmf");
    // A deviation of every writer of the format is a note, and not a reason to fail.
    let output = meshmap(&["verify", "--fail-on", "suspicious"], &[&far]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    let odd = data::valid("iqm", "ours_types_a.iqm");
    let object = objects(&meshmap(&["verify", "--json"], &[&odd])).remove(0);
    let forbidden = object["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["severity"] == "forbidden");
    let rules: BTreeSet<&str> = forbidden
        .map(|finding| finding["rule"].as_str().unwrap())
        .collect();
    assert!(!rules.is_empty());
    let mut arguments = vec!["verify", "--fail-on", "forbidden"];
    assert_eq!(meshmap(&arguments, &[&odd]).status.code(), Some(1));
    rules
        .iter()
        .for_each(|rule| arguments.extend(["--allow", *rule]));
    assert_eq!(meshmap(&arguments, &[&odd]).status.code(), Some(0));
}

#[test]
fn the_same_bytes_come_for_any_number_of_threads() {
    let folders = folders(&data::root(), "valid");
    let paths: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
    for command in [&["info", "--json"][..], &["verify"], &["verify", "--json"]] {
        let run =
            |threads: &str| meshmap(&[command, &["--threads", threads]].concat(), &paths).stdout;
        let one = run("1");
        assert!(one == run("2") && one == run("7"), "{command:?}");
    }
}

/// In a terminal, with names of wide characters: what the bar has drawn last is erased.
#[cfg(target_os = "linux")]
#[test]
fn no_bar_is_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    for index in 0..300 {
        let name = folder.path().join(format!("模型の動画_{index}.iqm"));
        fs::copy(data::valid("iqm", "skin_multi_anim.iqm"), name).unwrap();
    }
    let command = format!(
        "{} verify --color never --threads 1 {}",
        env!("CARGO_BIN_EXE_meshmap"),
        folder.path().display()
    );
    let mut script = Command::new("script");
    script
        .args(["-q", "-e", "-c", &command, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(Stdio::null());
    let Ok(output) = script.output() else {
        return eprintln!("not looked at: no `script` here");
    };
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("PASS: 300 files"), "{printed}");
    if let Some((_, after)) = printed.rsplit_once(" left") {
        assert!(
            after.contains("\u{1b}[2K") || after.contains("\u{1b}[K"),
            "{printed:?}"
        );
    }
}

#[test]
fn no_file_at_all_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let output = meshmap(&["verify"], &[folder.path()]);
    assert_eq!(
        (output.status.code(), text(&output.stdout)),
        (Some(1), "FAIL: no file to verify\n")
    );
    assert_eq!(meshmap(&["info"], &[folder.path()]).status.code(), Some(1));
}

fn piped(arguments: &[&str], bytes: &[u8]) -> Output {
    let mut started = Started::new(child::meshmap().args(arguments).stdin(Stdio::piped()));
    started
        .child
        .stdin
        .take()
        .unwrap()
        .write_all(bytes)
        .unwrap();
    started.end()
}

#[test]
fn standard_input_and_pipes_are_read() {
    let bytes = fs::read(data::valid("iqm", "skin_multi_anim.iqm")).unwrap();
    let page = piped(&["info", "-"], &bytes);
    assert!(
        text(&page.stdout).starts_with("(standard input)   IQM 2   6.7 KiB"),
        "{}",
        text(&page.stdout)
    );
    let verified = piped(&["verify", "--cross-check", "-"], &bytes);
    assert_eq!(
        verified.status.code(),
        Some(0),
        "{}",
        text(&verified.stdout)
    );
    #[cfg(unix)]
    {
        let page = piped(&["info", "/dev/stdin"], &bytes);
        assert!(
            text(&page.stdout).starts_with("stdin   IQM 2   6.7 KiB"),
            "{}",
            text(&page.stdout)
        );
    }
}

#[test]
fn hidden_files_and_version_control_are_passed_over_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let mesh = data::valid("iqm", "skin_scale_nonuniform.iqm");
    for (directory, name) in [
        (".git", "a.iqm"),
        (".hidden", "b.iqm"),
        ("plain", ".c.iqm"),
        ("plain", "d.iqm"),
        ("plain", "e.dat"),
    ] {
        fs::create_dir_all(folder.path().join(directory)).unwrap();
        fs::copy(&mesh, folder.path().join(directory).join(name)).unwrap();
    }
    let last = |arguments: &[&str]| {
        let output = meshmap(arguments, &[folder.path()]);
        text(&output.stdout).lines().last().unwrap().to_owned()
    };
    assert_eq!(
        last(&["verify"]),
        "PASS: 2 files; skipped: 2 hidden, 1 of version control"
    );
    assert_eq!(last(&["verify", "--hidden"]), "PASS: 5 files");
    assert_eq!(
        last(&["verify", "-g", "*.dat"]),
        "PASS: 1 file; skipped: 1 left out by a pattern, 2 hidden, 1 of version control"
    );
    assert_eq!(
        last(&["verify", "-g", "!*.dat", "--hidden"]),
        "PASS: 4 files; skipped: 1 left out by a pattern"
    );
    assert_eq!(
        last(&["verify", "-g", "plain/*", "--hidden"]),
        "PASS: 3 files; skipped: 2 left out by a pattern"
    );
    assert_eq!(
        last(&["verify", "--format", "tmf"]),
        "FAIL: no file to verify; skipped: 2 other, 2 hidden, 1 of version control"
    );
}

#[cfg(unix)]
#[test]
fn linked_directories_are_counted_and_special_files_do_not_hang() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("real")).unwrap();
    fs::copy(
        data::valid("iqm", "skin_scale_nonuniform.iqm"),
        folder.path().join("real/a.iqm"),
    )
    .unwrap();
    std::os::unix::fs::symlink(folder.path().join("real"), folder.path().join("link")).unwrap();
    let made = Command::new("mkfifo")
        .arg(folder.path().join("fifo.iqm"))
        .status()
        .unwrap();
    assert!(made.success());
    let output = meshmap(&["verify"], &[folder.path()]);
    assert_eq!(
        text(&output.stdout),
        "PASS: 1 file; skipped: 1 linked directories, 1 special\n"
    );
}

/// A pipe and a device may have no end: reading them ends at the limit of memory, for every command.
#[cfg(unix)]
#[test]
fn streams_without_an_end_exceed_the_limit_of_memory() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mesh = data::valid("iqm", "skin_multi_anim.iqm")
        .to_str()
        .unwrap()
        .to_owned();
    let (glb, png) = (at("out.glb"), at("out.png"));
    let mut commands: Vec<Vec<&str>> = Vec::new();
    for command in meshmap_cli::command().get_subcommands() {
        match command.get_name() {
            "info" => commands.extend([
                vec!["info", "{}"],
                vec!["info", "{}", &mesh],
                vec!["info", "--json", "{}"],
                vec!["info", "--report", "{}"],
                vec!["info", "--files-from", "{}"],
            ]),
            "verify" => {
                commands.extend([vec!["verify", "{}"], vec!["verify", "--cross-check", "{}"]])
            }
            "dump" => commands.extend([vec!["dump", "{}"], vec!["dump", "{}", "vertex_arrays[0]"]]),
            "diff" => commands.extend([vec!["diff", "{}", &mesh], vec!["diff", &mesh, "{}"]]),
            "convert" => commands.extend([
                vec!["convert", "{}", "-o", &glb],
                vec!["convert", "{}", "--to", "glb", "-o", "-"],
                vec!["convert", &mesh, "--with", "{}", "-o", &glb],
            ]),
            "render" => commands.extend([
                vec!["render", "{}", "-o", &png],
                vec!["render", "{}", "--sheet", "-o", &png],
            ]),
            "catalog" => commands.extend([
                vec!["catalog", "{}"],
                vec!["catalog", "--full", "--hash", "{}"],
            ]),
            "digest" => commands.push(vec!["digest", "{}"]),
            // Without the page it does not start.
            "view" => {}
            "completions" | "man" | "help" => {}
            other => panic!("does the command {other} read standard input?"),
        }
    }
    for words in &commands {
        for stream in ["-", "/dev/zero"] {
            let words: Vec<&str> = words
                .iter()
                .map(|word| if *word == "{}" { stream } else { word })
                .collect();
            // If the command had no limit, this one would end it.
            let mut shell = child::with_default_signals("sh");
            shell.args([
                "-c",
                "ulimit -v 16000000; exec \"$0\" \"$@\" --max-memory 3MiB",
            ]);
            shell.arg(env!("CARGO_BIN_EXE_meshmap")).args(&words);
            let done = shell.stdin(fs::File::open("/dev/zero").unwrap()).run();
            let said =
                String::from_utf8_lossy(&[&*done.stdout, &done.stderr].concat()).into_owned();
            assert_eq!(done.status.code(), Some(1), "{words:?}: {said}");
            let what = if words.contains(&"--files-from") {
                "it needs more"
            } else {
                "the stream is longer"
            };
            let expected = format!("{what} than the limit of 3.0 MiB; raise it with --max-memory");
            let unwrapped = said.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(unwrapped.contains(&expected), "{words:?}: {said}");
        }
    }
    // A stream within the limit is read, and its bytes leave less memory for everything else.
    for (input, limit, status) in [("-", "1MiB", 0), (&mesh, "30000", 0), ("-", "30000", 1)] {
        let mut command = child::meshmap();
        command
            .args(["digest", input, "--max-memory", limit])
            .stdin(fs::File::open(&mesh).unwrap());
        let done = command.run();
        assert_eq!(
            done.status.code(),
            Some(status),
            "{input} {limit}: {}",
            text(&done.stderr)
        );
    }
}

/// Results so far are printed when the user interrupts.
#[cfg(unix)]
#[test]
fn an_interrupted_verify_tells_what_it_knows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.iqm");
    fs::write(&path, &fixtures::iqm::small()[..1000]).unwrap();
    // Standard input that does not end: the second file is never done.
    let mut command = child::meshmap();
    command
        .args(["verify", "--threads", "1"])
        .arg(&path)
        .arg("-")
        .stdin(Stdio::piped());
    let mut started = Started::new(&mut command);
    let mut stdin = started.child.stdin.take().unwrap();
    // More than a pipe holds: when it is written, the command has come to the second file.
    stdin.write_all(&vec![0; 1 << 20]).unwrap();
    started.send("INT");
    let output = started.end();
    drop(stdin);
    assert_eq!(output.status.code(), Some(130), "{}", output.status);
    assert!(
        text(&output.stdout).ends_with("STOPPED after 1 of 2 files: 1 not readable\n"),
        "{}",
        text(&output.stdout)
    );
}

/// As `nohup` starts a command: SIGHUP is ignored, and all other signals work.
#[cfg(target_os = "linux")]
#[test]
fn a_command_that_ignores_sighup_is_interrupted_by_other_signals() {
    let folder = tempfile::tempdir().unwrap();
    // Opening this waits for a writer that never comes.
    let pipe = folder.path().join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    for (ignored, signals, status) in [("HUP", &["HUP", "TERM"][..], 130), ("", &["HUP"][..], 130)]
    {
        let trap = if ignored.is_empty() {
            String::new()
        } else {
            format!("trap '' {ignored}; ")
        };
        let script = format!("{trap}exec \"$0\" verify \"$1\" \"$1\"");
        let mut command = child::with_default_signals("sh");
        command
            .args(["-c", &script, env!("CARGO_BIN_EXE_meshmap")])
            .arg(&pipe);
        let mut started = Started::new(&mut command);
        for signal in signals {
            std::thread::sleep(std::time::Duration::from_millis(700));
            assert_eq!(
                started.child.try_wait().unwrap(),
                None,
                "ended before {signal}"
            );
            started.send(signal);
        }
        let output = started.end();
        assert_eq!(
            output.status.code(),
            Some(status),
            "{signals:?}: {}",
            text(&output.stdout)
        );
        assert!(
            text(&output.stdout).starts_with("STOPPED"),
            "{}",
            text(&output.stdout)
        );
    }
}

#[test]
fn other_files_are_called_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    for (bytes, name) in [
        (&b"ply\nformat"[..], "a PLY file"),
        (b"\x1f\x8b\x08\0", "compressed with gzip"),
        (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
        (b"IDP3\x0f\0\0\0", "a Quake 3 model"),
    ] {
        let path = folder.path().join("x");
        fs::write(&path, bytes).unwrap();
        let output = meshmap(&["info"], &[&path]);
        assert!(
            text(&output.stderr).contains(name),
            "{}",
            text(&output.stderr)
        );
    }
}

#[test]
fn a_report_is_made_of_files_that_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.cgeo");
    fs::write(
        &path,
        &fs::read(data::valid("cgeo", "anim_a.cgeo")).unwrap()[..1500],
    )
    .unwrap();
    let output = meshmap(&["info", "--report", "--hex"], &[&path]);
    let report = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1));
    for part in [
        "format      cgeo",
        "x           cgeo: sections of snapshots[0] (0x248..0x5dc): no end tag",
        "header      Version: 7",
        "offset 0    0x",
        "file ends",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
    assert!(
        !report.contains("Box001") && !report.contains("Counts {"),
        "{report}"
    );
    let dialect = ["info", "--dialect", "zlib,stored,first_section,none"];
    let forced = meshmap(&dialect, &[&data::valid("cgeo", "anim_a.cgeo")]);
    assert!(
        text(&forced.stdout).contains("prefix none   not found"),
        "{}",
        text(&forced.stdout)
    );
}

#[test]
fn flags_that_do_not_apply_are_told() {
    let output = meshmap(
        &["info", "--snapshots"],
        &[&data::valid("iqm", "skin_multi_anim.iqm")],
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("are for CGeo files, this one is iqm"),
        "{}",
        text(&output.stderr)
    );
}

/// Characters that turn the direction of writing or end a line are escaped, also in names of files.
#[test]
fn names_cannot_disturb_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a\u{202e}b\u{2028}c.iqm");
    fs::copy(data::valid("iqm", "skin_multi_anim.iqm"), &path).unwrap();
    for path in [path.file_name().unwrap(), ".".as_ref()] {
        // Short paths, which are not cut in the middle.
        let mut command = child::meshmap();
        let output = command.arg("info").arg(path).current_dir(&folder).run();
        let printed = text(&output.stdout);
        assert!(printed.contains("a\\u{202e}b\\u{2028}c.iqm"), "{printed}");
    }
}

#[test]
fn hulls_are_those_of_the_list_and_boxes_those_of_the_points() {
    let mut compared = 0;
    for file in data::folder("slmesh/valid") {
        let object = objects(&meshmap(&["info", "--json"], &[&file])).remove(0);
        let digest = meshmap(&["digest"], &[&file]);
        let digest: Value = serde_json::from_slice(&digest.stdout).unwrap();
        let listed = digest["arrays"]["physics_convex.hull_sizes"]["shape"][0].as_u64();
        let hulls = object["slmesh"]["physics_convex"]["hulls"].as_u64();
        if let (Some(listed), Some(hulls)) = (listed, hulls) {
            assert_eq!(listed, hulls, "{}", file.display());
            compared += usize::from(hulls > 0);
        }
    }
    assert!(compared > 0);
    let mg2 = data::valid("openctm", "cyl_MG2_multi.ctm");
    let object = objects(&meshmap(&["info", "--json"], &[&mg2])).remove(0);
    let grid = &object["openctm"]["bodies"][0]["mg2"];
    assert_ne!(object["meshes"][0]["box"][1], grid["grid_max"]);
}

/// A file that somebody truncates while it is mapped ends the command with a message, not with a signal.
#[test]
#[cfg(target_os = "linux")]
fn a_mapped_file_that_becomes_shorter_is_named() {
    use std::io::Read;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.iqm");
    fs::write(&path, fixtures::iqm::Writer::sheets(1, 400, 400).to_bytes()).unwrap();
    let mut command = child::meshmap();
    command
        .args(["dump", "--mmap", "--as", "csv"])
        .arg(&path)
        .arg("vertex_arrays[0]");
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It has begun, and waits for somebody to read the rest.
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut [0; 100]).unwrap();
    fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(100)
        .unwrap();
    std::io::copy(&mut out, &mut std::io::sink()).unwrap();
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(1), "{:?}", done.status);
    let said = text(&done.stderr);
    assert!(
        said.contains("long.iqm: it became shorter while it was read"),
        "{said}"
    );
}

/// A job ends where its work does, rather than to fail for each array that is left.
#[test]
fn lists_end_with_the_work_of_a_job() {
    let path = data::root()
        .with_file_name("attack")
        .join("c_channels_tri.cgeo");
    let listed = meshmap(&["dump", "--list"], &[&path]);
    assert_eq!(listed.status.code(), Some(1));
    let lines: Vec<&str> = text(&listed.stdout).lines().collect();
    assert!(
        lines.len() < 200_000 && lines.len() > 1000,
        "{}",
        lines.len()
    );
    let last = lines.last().unwrap();
    let limit = "exceeds the limit of 2 GiB of decoding and other work; raise it with --max-memory";
    assert!(last.contains(limit), "{last}");
    // The rest was not compared: it is not equal, and does not differ.
    let checked = meshmap(&["verify", "--cross-check"], &[&path]);
    assert_eq!(checked.status.code(), Some(1));
    let said = [checked.stdout, checked.stderr].concat();
    let reason: Vec<&str> = text(&said).split_whitespace().collect();
    let reason = reason.join(" ");
    assert!(
        reason.contains("of decoding and other work; raise it with --max-memory"),
        "{reason}"
    );
    // Values that may be right are not called broken.
    assert!(!reason.contains("cannot be used"), "{reason}");
    assert!(!reason.contains("other parts are not affected"), "{reason}");
}
