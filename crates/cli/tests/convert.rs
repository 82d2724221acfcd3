//! `meshmap convert` as a shell runs it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

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
