//! The command line: what it prints, where, and with which exit status.

use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};

use meshmap::Format;
use meshmap_testing::{data, fixtures, kinds};
use unicode_width::UnicodeWidthStr;

use child::{Run as _, text};

mod child;

fn meshmap(arguments: &[&str], paths: &[&Path]) -> Output {
    child::meshmap().args(arguments).args(paths).run()
}

fn with_columns(columns: &str, arguments: &[&str], paths: &[&Path]) -> Output {
    let mut command = child::meshmap();
    command
        .env("COLUMNS", columns)
        .args(arguments)
        .args(paths)
        .run()
}

/// A folder with a good file, one with findings, a damaged one, a cut one, and one that is not a mesh.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let copy =
        |from: &str, to: &str| fs::copy(data::valid("iqm", from), folder.path().join(to)).unwrap();
    fs::create_dir(folder.path().join("deep")).unwrap();
    copy("skin_scale_nonuniform.iqm", "deep/good.iqm");
    copy("ours_odd_a.iqm", "odd.iqm");
    copy("skin_multi_anim.iqm", "no_ending");
    let mut damaged = fixtures::iqm::small();
    let at = |file: &[u8], field: usize| {
        u32::from_le_bytes(file[field..field + 4].try_into().unwrap()) as usize
    };
    let triangles = at(&damaged, 0x3c);
    damaged[triangles..triangles + 4].fill(0xff);
    fs::write(folder.path().join("damaged.iqm"), damaged).unwrap();
    fs::write(
        folder.path().join("cut.iqm"),
        &fixtures::iqm::small()[..1000],
    )
    .unwrap();
    fs::write(folder.path().join("notes.txt"), "no mesh").unwrap();
    folder
}

/// The pages are in `snapshots`; see `pages.rs`.
#[test]
fn a_page_ends_with_the_cost_of_reading() {
    for arguments in [&["info"][..], &["info", "--mmap"], &["info", "--full"]] {
        let output = meshmap(arguments, &[&data::valid("iqm", "skin_multi_anim.iqm")]);
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
        let page = text(&output.stdout);
        let cost = match arguments {
            ["info"] => "read 6.7 KiB in 1 read; values not checked (--full)",
            ["info", "--mmap"] => "mapped; values not checked (--full)",
            _ => "read 6.7 KiB in 1 read",
        };
        assert_eq!(page.lines().last().unwrap().trim(), cost);
    }
}

#[test]
fn info_of_a_damaged_body_names_its_arrays() {
    let folder = tempfile::tempdir().unwrap();
    let damaged = folder.path().join("damaged.ctm");
    let mut bytes = fs::read(data::valid("openctm", "hand_mg1_a.ctm")).unwrap();
    let at = bytes.windows(4).position(|tag| tag == b"VERT").unwrap();
    bytes[at + 13] = 1;
    fs::write(&damaged, bytes).unwrap();
    let output = meshmap(&["info"], &[&damaged]);
    assert_eq!(output.status.code(), Some(1));
    let page = text(&output.stdout);
    assert!(
        page.contains("indices") && page.contains("x  openctm: bodies[0].positions: "),
        "{page}"
    );
    assert_eq!(meshmap(&["verify"], &[&damaged]).status.code(), Some(1));
}

#[test]
fn cross_check_finds_the_decoders_in_agreement() {
    let folders =
        ["cgeo", "openctm", "slmesh"].map(|format| data::root().join(format).join("valid"));
    let output = meshmap(
        &["verify", "--cross-check"],
        &folders.each_ref().map(|folder| folder.as_path()),
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    let report = text(&output.stdout);
    assert!(
        !report.contains("two decoders") && report.contains("PASS: "),
        "{report}"
    );
}

/// The object's name lies in the bytes around the snapshots of a file that cannot be opened.
#[test]
fn report_has_bytes_of_a_file_only_with_hex() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = fs::read(data::valid("cgeo", "anim_a.cgeo")).unwrap();
    bytes.truncate(600);
    let cut = folder.path().join("cut.cgeo");
    fs::write(&cut, &bytes).unwrap();
    let unknown = folder.path().join("unknown.iqm");
    fs::write(&unknown, b"INTERQUAKEMODEL\0\x63secret name").unwrap();
    for path in [&cut, &unknown] {
        let has_bytes = |arguments: &[&str]| {
            let output = meshmap(arguments, &[path]);
            let report = text(&output.stdout);
            let is_bytes = |line: &&str| {
                line.split_whitespace()
                    .filter(|word| word.len() == 2)
                    .count()
                    >= 8
            };
            assert_eq!(output.status.code(), Some(1), "{report}");
            (
                report.lines().filter(is_bytes).count() > 0,
                report.contains("--hex adds them"),
            )
        };
        assert_eq!(
            has_bytes(&["info", "--report"]),
            (false, true),
            "{}",
            path.display()
        );
        assert_eq!(
            has_bytes(&["info", "--report", "--hex"]),
            (true, false),
            "{}",
            path.display()
        );
    }
}

/// A report for a bug contains no names.
#[test]
fn report_of_a_proxy_has_the_structure_and_no_names() {
    let path = data::valid("cgeo", "anim_a.cgeo");
    let output = meshmap(&["info", "--report"], &[&path]);
    let report = text(&output.stdout);
    for part in [
        "Version: 7",
        "tag 0x35f71ea8",
        "begins 78 ",
        "flags       0x",
        "table       12 snapshots",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
    assert!(
        report.contains("Original object name: (") && !report.contains("Box001"),
        "{report}"
    );
}

#[test]
fn info_of_a_damaged_asset_lists_its_other_blocks() {
    let server = data::valid("slmesh", "gen_08_server_header.slmesh");
    let folder = tempfile::tempdir().unwrap();
    let damaged = folder.path().join("damaged.slmesh");
    let mut bytes = fixtures::slmesh::everything();
    *bytes.last_mut().unwrap() ^= 0xff;
    let middle = bytes.len() * 2 / 3;
    bytes[middle] ^= 0xff;
    fs::write(&damaged, bytes).unwrap();
    let output = meshmap(&["info"], &[&damaged]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), ""));
    let page = text(&output.stdout);
    assert!(
        page.contains("x  slmesh: ")
            && page.contains("; intact: ")
            && page.contains("joints")
            && page.contains("mJoint0"),
        "{page}"
    );
    let verdict = meshmap(&["verify", "--cross-check"], &[&server]);
    assert_eq!(verdict.status.code(), Some(0), "{}", text(&verdict.stdout));
    let rows = meshmap(&["info"], &[folder.path(), &server]);
    let rows = text(&rows.stdout);
    assert!(
        rows.contains("  196 verts  ") && rows.contains("  338 tris"),
        "{rows}"
    );
}

#[test]
fn pages_fit_a_screen_and_have_no_control_characters() {
    assert_pages_fit_a_screen(&data::root(), &["60", "80", "100", "200"]);
}

/// Only the narrowest page, into which it is hardest to fit everything.
#[test]
#[ignore = "corpus"]
fn corpus_pages_fit_a_screen_and_have_no_control_characters() {
    assert_pages_fit_a_screen(&data::corpus(), &["60"]);
}

fn assert_pages_fit_a_screen(root: &Path, widths: &[&str]) {
    for file in Format::ALL
        .iter()
        .flat_map(|format| data::files(&root.join(format.name()).join("valid")))
    {
        for columns in widths {
            let output = with_columns(columns, &["info"], &[&file]);
            let page = text(&output.stdout);
            let width = columns.parse::<usize>().unwrap().min(120);
            for line in page.lines() {
                assert!(line.width() <= width, "{columns}: {line}\n{page}");
            }
            assert!(
                !page.contains(|c: char| c.is_control() && c != '\n'),
                "{page}"
            );
        }
    }
}

#[test]
fn info_of_a_document_tells_how_its_numbers_are_stored() {
    let page = |name: &str, arguments: &[&str]| {
        let output = meshmap(arguments, &[&data::valid("tmf", name)]);
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
        text(&output.stdout).to_owned()
    };
    let unified = page("v021_unified_cube.tmf", &["info"]);
    assert!(
        unified.starts_with("v021_unified_cube.tmf   TMF 0.2   336 B\n"),
        "{unified}"
    );
    for part in [
        "layout B",
        "24 vertices   12 triangles",
        "normal bits 7",
        "uv bits 14",
        "shared indices yes",
    ] {
        assert!(unified.contains(part), "{part}: {unified}");
    }
    assert!(
        unified
            .lines()
            .last()
            .unwrap()
            .starts_with("  read 336 B in 1 read"),
        "{unified}"
    );
    let far = page("v011_last_vertex_far.tmf", &["info", "--full"]);
    assert!(
        far.contains("layout A") && far.contains("-7.000 0.000 -0.200  ..  1.000 1.000 3.000"),
        "{far}"
    );
    let wide = page("v021_tiny_edge_1e-30.tmf", &["info"]);
    assert!(
        wide.contains("255, 255 and 255 bits, by their writer's scale"),
        "{wide}"
    );
    let rows = page("v021_one_triangle.tmf", &["verify"]);
    assert!(rows.ends_with("PASS: 1 file\n"), "{rows}");
}

#[test]
fn info_of_many_files_is_a_row_each() {
    let folder = folder();
    let output = meshmap(&["info"], &[folder.path()]);
    assert_eq!(output.status.code(), Some(1));
    let (printed, problems) = (text(&output.stdout), text(&output.stderr));
    assert!(
        problems.starts_with("x ") && problems.contains("cut.iqm"),
        "{problems}"
    );
    assert!(problems.contains("file cut off at 1,000 of "), "{problems}");
    assert!(
        printed.contains("good.iqm") && !printed.contains("cut.iqm"),
        "{printed}"
    );
    let last = printed.lines().last().unwrap();
    assert!(
        last.starts_with("5 files: 1 not readable; skipped: 1 other "),
        "{printed}"
    );
    assert!(last.contains("values not checked (--full)"), "{printed}");
}

#[test]
fn verify_ends_in_a_verdict() {
    let folder = folder();
    let output = meshmap(&["verify"], &[folder.path()]);
    assert_eq!(output.status.code(), Some(1));
    let printed = text(&output.stdout);
    let last = printed.lines().last().unwrap();
    assert!(
        last.starts_with("FAIL: 2 of 5 files: 1 damaged, 1 not readable, "),
        "{printed}"
    );
    assert!(
        printed.contains("iqmtriangle.vertex: expected less than 30"),
        "{printed}"
    );

    let odd = folder.path().join("odd.iqm");
    assert_eq!(meshmap(&["verify"], &[&odd]).status.code(), Some(0));
    let forbidden = data::valid("iqm", "ours_types_a.iqm");
    for (severity, file, status) in [
        ("suspicious", &odd, 1),
        ("forbidden", &odd, 0),
        ("forbidden", &forbidden, 1),
    ] {
        let output = meshmap(&["verify", "--fail-on", severity], &[file]);
        assert_eq!(
            output.status.code(),
            Some(status),
            "{}",
            text(&output.stdout)
        );
    }
    let good = folder.path().join("deep/good.iqm");
    let output = meshmap(&["verify", "--fail-on", "suspicious"], &[&good]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        text(&output.stdout).ends_with("\nPASS: 1 file\n"),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn no_command_and_an_unknown_rule_are_wrong_usage() {
    for arguments in [&[][..], &["verify", "--allow", "x", "a"]] {
        assert_eq!(
            meshmap(arguments, &[]).status.code(),
            Some(2),
            "{arguments:?}"
        );
    }
    assert_eq!(meshmap(&["--version"], &[]).status.code(), Some(0));
}

#[test]
fn missing_files_are_errors() {
    let output = meshmap(&["info"], &[Path::new("/nowhere/at/all.iqm")]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""));
    assert_eq!(text(&output.stderr).lines().count(), 1);
}

/// A closed output is not a failure.
#[test]
fn closed_output_is_no_panic() {
    let path = data::valid("iqm", "skin_multi_anim.iqm");
    let mut command = child::meshmap();
    command
        .args(["info", "--json"])
        .arg(path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}

#[test]
fn entries_that_name_one_snapshot_are_looked_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("same.cgeo");
    let name = "entries that name one snapshot x its sections";
    let kind = kinds::all()
        .into_iter()
        .find(|kind| kind.name == name)
        .unwrap();
    fs::write(&path, (kind.build)(5000)).unwrap();
    for arguments in [
        &["info"][..],
        &["info", "--snapshots"],
        &["digest"],
        &["verify", "--cross-check"],
    ] {
        let start = std::time::Instant::now();
        let output = meshmap(arguments, &[&path]);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{arguments:?}: {}",
            text(&output.stderr)
        );
        // Each entry for itself took several times as long.
        let taken = start.elapsed();
        assert!(taken.as_secs() < 5, "{arguments:?}: {taken:?}");
    }
}

/// The output cannot be written.
#[test]
#[cfg(target_os = "linux")]
fn full_devices_and_closed_pipes_are_no_panic() {
    let full = || {
        fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap()
    };
    let (valid, missing) = (
        data::valid("iqm", "skin_multi_anim.iqm"),
        Path::new("no such file").to_owned(),
    );
    for command in ["info", "verify", "digest"] {
        let run = |path: &Path, stdout: std::process::Stdio, stderr: std::process::Stdio| {
            let mut command_ = child::meshmap();
            command_
                .arg(command)
                .arg(path)
                .stdout(stdout)
                .stderr(stderr)
                .status()
                .unwrap()
                .code()
        };
        let closed = || {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            writer
        };
        assert_eq!(
            run(&missing, full().into(), full().into()),
            Some(1),
            "{command}"
        );
        assert_eq!(
            run(&missing, closed().into(), closed().into()),
            Some(1),
            "{command}"
        );
        assert_eq!(
            run(&valid, full().into(), full().into()),
            Some(1),
            "{command}"
        );
        // Whoever reads the output has seen enough.
        assert_eq!(
            run(&valid, closed().into(), closed().into()),
            Some(0),
            "{command}"
        );
    }
    // The reader ended before all files were read: nothing says that those after it are good.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let many = child::meshmap()
        .arg("info")
        .args(vec![&valid; 500])
        .stdout(writer)
        .status()
        .unwrap();
    assert_eq!(many.code(), Some(141));
    let usage = child::meshmap()
        .stdout(full())
        .stderr(full())
        .status()
        .unwrap();
    assert_eq!(usage.code(), Some(2));
}

/// A page, or an object, holds what is known of each part.
#[test]
fn parts_count_towards_the_limit_of_memory() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("many.tmf");
    let kind = kinds::all()
        .into_iter()
        .find(|kind| kind.format == "tmf" && kind.name == "empty meshes");
    fs::write(&file, (kind.unwrap().build)(10_000)).unwrap();
    for arguments in [&["info"][..], &["info", "--json"], &["verify", "--json"]] {
        assert_eq!(meshmap(arguments, &[&file]).status.code(), Some(0));
        let refused = meshmap(&[arguments, &["--max-memory=2MiB"]].concat(), &[&file]);
        assert_eq!(refused.status.code(), Some(1));
        let said = [refused.stdout, refused.stderr].concat();
        assert!(
            text(&said).contains("more than 1365 parts"),
            "{}",
            text(&said)
        );
    }
}

/// The number of reads that a page reports.
fn reads(arguments: &[&str], path: &Path) -> u64 {
    let output = meshmap(arguments, &[path]);
    let page = text(&output.stdout);
    let words: Vec<&str> = page.lines().last().unwrap().split_whitespace().collect();
    let at = words
        .iter()
        .position(|word| word.starts_with("read") && *word != "read")
        .unwrap();
    words[at - 1]
        .replace(',', "")
        .parse()
        .unwrap_or_else(|_| panic!("{page}"))
}

/// Only the first snapshots are inspected: snapshots that are megabytes apart take a read each, and neighbours share reads.
#[test]
fn a_proxy_of_thousands_of_snapshots_is_inspected_in_few_reads() {
    const SNAPSHOTS: usize = 5000;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("long.cgeo");
    let (_, snapshots) = fixtures::cgeo::animation(12, 5);
    let dialect = meshmap::cgeo::Dialect::default();
    let snapshots: Vec<Vec<u8>> = snapshots
        .iter()
        .map(|snapshot| fixtures::cgeo::snapshot_bytes(snapshot, dialect))
        .collect();
    fixtures::cgeo::spread(&file, &snapshots[..1], SNAPSHOTS, 40_000_000_000).unwrap();
    let far = reads(&["info"], &file);
    assert!((16..50).contains(&far), "{far} reads");
    fixtures::cgeo::repeated(&file, &snapshots, SNAPSHOTS).unwrap();
    let near = reads(&["info"], &file);
    assert!(near < 16, "{near} reads");
}

/// Files of many tiny meshes are read in windows, also where every value is checked.
#[test]
fn files_of_many_tiny_meshes_are_read_in_windows() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("many");
    for (format, name) in [
        ("tmf", "meshes of different names"),
        ("openctm", "bodies, RAW"),
        ("iqm", "empty meshes"),
    ] {
        let kind = kinds::all()
            .into_iter()
            .find(|kind| kind.format == format && kind.name == name);
        fs::write(&file, (kind.unwrap().build)(50_000)).unwrap();
        let size = fs::metadata(&file).unwrap().len();
        assert!(size > 1 << 20, "{format}: {size} bytes");
        for arguments in [&["info"][..], &["info", "--full"]] {
            let reads = reads(arguments, &file);
            assert!(
                reads < 100,
                "{format} {arguments:?}: {reads} reads of {size} bytes"
            );
        }
    }
}
