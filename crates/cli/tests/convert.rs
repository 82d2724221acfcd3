//! `meshmap convert` as a shell runs it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use meshmap_testing::data;

fn convert(arguments: &[&str], paths: &[&Path]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_meshmap"));
    command.arg("convert").args(paths).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// A tree with a mesh at its top, two below whose names differ in their ending alone, a bad one, and a text.
fn tree(folder: &Path) {
    let from = |format: &str, name: &str, to: &str| {
        let to = folder.join("in").join(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(data::root().join(format).join(name), to).unwrap();
    };
    from("cgeo", "valid/anim_a.cgeo", "wave.cgeo");
    from("iqm", "valid/skin_multi_anim.iqm", "deep/man.iqm");
    from("tmf", "valid/v011_multi_names.tmf", "deep/man.tmf");
    let whole = fs::read(data::valid("iqm", "skin_multi_anim.iqm")).unwrap();
    fs::write(folder.join("in/cut.iqm"), &whole[..whole.len() / 2]).unwrap();
    fs::write(folder.join("in/readme.txt"), "no mesh").unwrap();
}

#[test]
fn one_file_is_written_where_it_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("wave.glb");
    let done = convert(&["-o", output.to_str().unwrap()], &[&data::valid("cgeo", "anim_a.cgeo")]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert_eq!(&fs::read(output).unwrap()[..4], b"glTF");
    let shown = text(&done.stdout);
    assert!(shown.contains("left out: normals"), "{shown}");
    assert!(shown.lines().last().unwrap().starts_with("DONE: 1 file written"), "{shown}");
}

#[test]
fn a_tree_is_mirrored_past_bad_files_and_left_alone_the_second_time() {
    let folder = tempfile::tempdir().unwrap();
    tree(folder.path());
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    let arguments = ["--to", "glb", "-o", output.to_str().unwrap()];
    let done = convert(&arguments, &[&input]);
    let shown = text(&done.stdout);
    assert_eq!(done.status.code(), Some(1), "{shown}");
    for name in ["wave.glb", "deep/man.iqm.glb", "deep/man.tmf.glb"] {
        assert_eq!(&fs::read(output.join(name)).unwrap()[..4], b"glTF", "{name}");
    }
    assert!(!output.join("cut.glb").exists());
    assert!(shown.contains("cut.iqm: "), "{shown}");
    assert!(shown.contains("FAILED: 3 files written, 0 up to date, 1 failed; skipped: 1 other"), "{shown}");
    let written = fs::metadata(output.join("wave.glb")).unwrap().modified().unwrap();
    let again = convert(&arguments, &[&input]);
    assert!(
        text(&again.stdout).contains("0 files written, 3 up to date, 1 failed"),
        "{}",
        text(&again.stdout)
    );
    assert_eq!(fs::metadata(output.join("wave.glb")).unwrap().modified().unwrap(), written);
}

#[test]
fn a_dry_run_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    tree(folder.path());
    let output = folder.path().join("out");
    let done =
        convert(&["--dry-run", "--to", "ply", "-o", output.to_str().unwrap()], &[&folder.path().join("in")]);
    assert_eq!(done.status.code(), Some(0));
    assert!(text(&done.stdout).contains("wave.ply"));
    assert!(!output.exists());
}

#[test]
fn an_output_that_says_no_format_is_wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("wave");
    let done = convert(&["-o", output.to_str().unwrap()], &[&data::valid("cgeo", "anim_a.cgeo")]);
    assert_eq!(done.status.code(), Some(2));
    assert!(text(&done.stderr).contains("--to takes glb"), "{}", text(&done.stderr));
}

/// All files below a folder, by their path in it.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut contents, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(below) = folders.pop() {
        for entry in fs::read_dir(below).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                contents.insert(path.strip_prefix(folder).unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    contents
}

/// 1,000 files of which 50 are bad, in a tree.
fn thousand(folder: &Path) {
    let good = [
        "cgeo/valid/anim_a.cgeo",
        "iqm/valid/skin_multi_anim.iqm",
        "tmf/valid/v011_multi_names.tmf",
        "slmesh/valid/ours_gzip_a.slmesh",
    ];
    let good = good.map(|name| (name, fs::read(data::root().join(name)).unwrap()));
    for number in 0..1000 {
        let (name, bytes) = &good[number % good.len()];
        let below = folder.join(format!("part{}", number % 7));
        fs::create_dir_all(&below).unwrap();
        let length = if number % 20 == 7 { bytes.len() / 2 } else { bytes.len() };
        let ending = Path::new(name).extension().unwrap().to_str().unwrap();
        fs::write(below.join(format!("mesh{number:03}.{ending}")), &bytes[..length]).unwrap();
    }
}

#[test]
fn a_tree_that_is_killed_again_and_again_ends_as_one_that_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let [input, whole, killed] = ["in", "whole", "killed"].map(|name| folder.path().join(name));
    thousand(&input);
    let start = Instant::now();
    let done = convert(&["--to", "glb", "-o", whole.to_str().unwrap()], &[&input]);
    let takes = start.elapsed();
    assert_eq!(done.status.code(), Some(1));
    let shown = text(&done.stdout);
    assert!(shown.contains("950 files written, 0 up to date, 50 failed"), "{shown}");
    assert_eq!((0..1000).filter(|number| shown.contains(&format!("mesh{number:03}."))).count(), 1000);
    let whole = contents(&whole);
    assert_eq!(whole.len(), 950);
    let mut seed = 7_u32;
    for _ in 0..10 {
        let mut command = Command::new(env!("CARGO_BIN_EXE_meshmap"));
        command.args(["convert", "--to", "glb", "-o"]).arg(&killed).arg(&input);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        std::thread::sleep(
            takes.mul_f64(f64::from(seed >> 16) / f64::from(1_u32 << 17)) + Duration::from_millis(1),
        );
        child.kill().unwrap();
        child.wait().unwrap();
        // What is there is whole; what was being written has a name of its own.
        for (path, bytes) in contents(&killed) {
            if !meshmap_export::is_part(&path) {
                assert!(whole[&path] == bytes, "{}", path.display());
            }
        }
    }
    let done = convert(&["--to", "glb", "-o", killed.to_str().unwrap()], &[&input]);
    let shown = text(&done.stdout);
    assert!(shown.contains("50 failed"), "{shown}");
    let mut ended = contents(&killed);
    ended.retain(|path, _| !meshmap_export::is_part(path));
    assert!(ended == whole);
}

#[test]
fn parts_that_a_killed_conversion_left_are_removed_an_hour_later() {
    let folder = tempfile::tempdir().unwrap();
    let [old, new] = [".meshmap-old.part", ".meshmap-new.part"].map(|name| folder.path().join(name));
    for path in [&old, &new] {
        fs::write(path, "half").unwrap();
    }
    let hours = std::time::SystemTime::now() - Duration::from_secs(2 * 60 * 60);
    fs::File::options().write(true).open(&old).unwrap().set_modified(hours).unwrap();
    let output = folder.path().join("wave.glb");
    convert(&["-o", output.to_str().unwrap()], &[&data::valid("cgeo", "anim_a.cgeo")]);
    assert!(output.exists() && new.exists() && !old.exists());
}

#[test]
fn standard_output_takes_one_file_of_one_part() {
    let file = data::valid("cgeo", "anim_a.cgeo");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wave.glb");
    convert(&["-o", path.to_str().unwrap()], &[&file]);
    let done = convert(&["--to", "glb", "-o", "-"], &[&file]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert!(done.stdout == fs::read(path).unwrap());
    assert!(text(&done.stderr).contains("left out: "), "{}", text(&done.stderr));
    let done = convert(&["--to", "obj", "-o", "-"], &[&file]);
    assert_eq!((done.status.code(), done.stdout.len()), (Some(2), 0));
}

#[test]
fn what_was_written_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    tree(folder.path());
    let done = convert(
        &["--check", "--to", "glb", "-o", folder.path().join("out").to_str().unwrap()],
        &[&folder.path().join("in")],
    );
    let shown = text(&done.stdout);
    assert!(shown.contains("checked: positions of corners: all "), "{shown}");
    assert!(!shown.contains("differs: "), "{shown}");
}

#[test]
fn animations_of_a_directory_join_the_meshes_that_they_fit() {
    let folder = tempfile::tempdir().unwrap();
    let clips = folder.path().join("clips");
    fs::create_dir_all(&clips).unwrap();
    // A file of animations alone is one without meshes.
    for name in ["anim_only_joints.iqm", "anim_constant.iqm"] {
        fs::copy(data::valid("iqm", name), clips.join(name)).unwrap();
    }
    let output = folder.path().join("man.glb");
    let run = |with: &Path| {
        let arguments = ["-o", output.to_str().unwrap(), "--force", "--with", with.to_str().unwrap()];
        convert(&arguments, &[&data::valid("iqm", "skin_multi_anim.iqm")])
    };
    let done = run(&clips);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stdout));
    let done = run(&data::valid("tmf", "v011_multi_names.tmf"));
    assert_eq!(done.status.code(), Some(1));
    assert!(text(&done.stderr).contains("no IQM file"), "{}", text(&done.stderr));
}
