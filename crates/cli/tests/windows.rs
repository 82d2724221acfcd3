//! Differences on Windows: names and forms of paths, and files that are open. `.ci/windows` runs this.
#![cfg(windows)]

use std::fs::{self, File};
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use meshmap_testing::data;
use tempfile::TempDir;

use child::{Run as _, meshmap_with as meshmap, text};

mod child;

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A folder with a mesh in `men\a.iqm`, and the path of the mesh with its drive.
fn folder_with_mesh() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let mesh = fs::canonicalize(folder.path())
        .unwrap()
        .join("men")
        .join("a.iqm");
    fs::create_dir_all(mesh.parent().unwrap()).unwrap();
    fs::copy(data::valid("iqm", "skin_scale_nonuniform.iqm"), &mesh).unwrap();
    let mesh = PathBuf::from(path(&mesh).strip_prefix(r"\\?\").unwrap());
    (folder, mesh)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn paths_with_drives_and_both_separators_are_files() {
    let (_folder, mesh) = folder_with_mesh();
    let drive = path(&mesh);
    assert_eq!(&drive[1..3], r":\", "{drive}");
    let twisted = drive.replacen(r":\", r":\.\", 1).replace('\\', "/");
    for form in [
        drive.to_owned(),
        drive.replace('\\', "/"),
        format!(r"\\?\{drive}"),
        twisted,
    ] {
        let output = meshmap(&["verify", &form]);
        assert!(
            output.status.success(),
            "{form}: {}{}",
            text(&output.stdout),
            text(&output.stderr)
        );
    }
    let output = meshmap(&["info", r"\\no-server-of-this-name\share\a.iqm"]);
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    assert!(
        message.starts_with(r"\\no-server-of-this-name\share\a.iqm: ")
            && !message.contains("stores"),
        "{message}"
    );
}

#[test]
fn patterns_have_both_separators() {
    let (folder, mesh) = folder_with_mesh();
    fs::copy(&mesh, folder.path().join("b.iqm")).unwrap();
    let last = |arguments: &[&str]| {
        let output = meshmap(&[arguments, &[path(folder.path())]].concat());
        text(&output.stdout).lines().last().unwrap().to_owned()
    };
    for glob in [r"men\*.iqm", "men/*.iqm", r"!b*", r"**\a.iqm"] {
        assert_eq!(
            last(&["verify", "-g", glob]),
            "PASS: 1 file; skipped: 1 left out by a pattern",
            "{glob}"
        );
    }
    // Shells of Windows leave patterns to programs.
    for glob in [r"*.iqm", r"men\*.iqm", "men/a.*"] {
        let output = child::meshmap()
            .args(["verify", glob])
            .current_dir(folder.path())
            .run();
        assert!(
            output.status.success(),
            "{glob}: {}{}",
            text(&output.stdout),
            text(&output.stderr)
        );
    }
}

#[test]
fn long_paths_are_read_and_written() {
    let (folder, mesh) = folder_with_mesh();
    let deep = (0..5).fold(folder.path().to_owned(), |folder, _| {
        folder.join("f".repeat(80))
    });
    fs::create_dir_all(&deep).unwrap();
    let long = deep.join("a.iqm");
    fs::copy(&mesh, &long).unwrap();
    let out = deep.join("out").join("a.glb");
    fs::create_dir(out.parent().unwrap()).unwrap();
    for arguments in [
        vec!["verify", path(&long)],
        vec!["verify", "--mmap", path(&long)],
        vec!["convert", path(&long), "-o", path(&out)],
        vec!["convert", "--force", path(&long), "-o", path(&out)],
        vec![
            "render",
            "--size",
            "32x32",
            path(&long),
            "-o",
            path(&out.with_extension("png")),
        ],
        vec![
            "catalog",
            path(&long),
            "-o",
            path(&out.with_extension("csv")),
        ],
    ] {
        let output = meshmap(&arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}{}",
            text(&output.stdout),
            text(&output.stderr)
        );
    }
    assert_eq!(names(out.parent().unwrap()), ["a.csv", "a.glb", "a.png"]);
}

#[test]
fn reserved_names_are_refused_as_outputs() {
    let (folder, mesh) = folder_with_mesh();
    let at = |name: &str| path(&folder.path().join(name)).to_owned();
    for arguments in [
        vec!["convert", path(&mesh), "-o", &at("aux.glb")],
        vec!["convert", path(&mesh), "-o", &at(r"com1\a.glb")],
        vec!["convert", path(&mesh), "--to", "glb", "-o", "CON"],
        vec!["render", path(&mesh), "-o", &at("nul.png")],
        vec!["catalog", path(&mesh), "-o", &at("PRN.csv")],
        vec![
            "dump",
            path(&mesh),
            "vertex_arrays[0]",
            "--as",
            "npy",
            "-o",
            &at("lpt1.npy"),
        ],
    ] {
        let output = meshmap(&arguments);
        let told = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert!(!output.status.success(), "{arguments:?}: {told}");
        assert!(
            told.contains("Windows reserves the name"),
            "{arguments:?}: {told}"
        );
    }
    assert_eq!(names(folder.path()), ["men"]);
}

#[test]
fn outputs_that_another_program_has_open_stay_as_they_are() {
    const FILE_SHARE_READ: u32 = 1;
    let (folder, mesh) = folder_with_mesh();
    for (name, command) in [
        ("a.glb", "convert"),
        ("a.png", "render"),
        ("a.csv", "catalog"),
    ] {
        let out = folder.path().join(name);
        fs::write(&out, "before").unwrap();
        let arguments = [command, path(&mesh), "-o", path(&out)];
        let held = File::options()
            .read(true)
            .share_mode(FILE_SHARE_READ)
            .open(&out)
            .unwrap();
        let output = meshmap(&arguments);
        let told = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(
            told.contains("cannot be replaced, because another program has it open"),
            "{told}"
        );
        assert_eq!(fs::read(&out).unwrap(), b"before");
        drop(held);
        let output = meshmap(&arguments);
        assert!(
            output.status.success(),
            "{}{}",
            text(&output.stdout),
            text(&output.stderr)
        );
        assert_ne!(fs::read(&out).unwrap(), b"before");
    }
    assert_eq!(names(folder.path()), ["a.csv", "a.glb", "a.png", "men"]);
}

/// An input may be mapped while it is converted next to itself, and removed afterwards.
#[test]
fn maps_are_closed_with_the_command() {
    let (_folder, mesh) = folder_with_mesh();
    let output = meshmap(&[
        "convert",
        "--mmap",
        path(&mesh),
        "-o",
        path(&mesh.with_extension("glb")),
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    fs::remove_file(&mesh).unwrap();
    assert!(!mesh.exists());
}
