//! `meshmap convert` as a shell runs it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use meshmap::Codec;
use meshmap::cgeo::{Dialect, SizeMeaning, raw};
use meshmap_export::Target;
use meshmap_testing::fixtures::cgeo;
use meshmap_testing::{data, fixtures};

use child::{Run as _, Started, text};

mod child;

fn convert(arguments: &[&str], paths: &[&Path]) -> Output {
    let mut command = child::meshmap();
    command.arg("convert").args(paths).args(arguments).run()
}

/// A tree with a mesh at its top, two below whose names differ only in their ending, a bad one, and a text.
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
fn an_option_that_the_target_has_no_use_for_is_an_error_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    tree(folder.path());
    let out = folder.path().join("out");
    for (arguments, option) in [
        (&["--to", "glb", "--raw"][..], "raw"),
        (&["--to", "ply", "--morph-normals"], "morph-normals"),
        (&["--to", "obj", "--fps", "30"], "fps"),
        (&["--to", "usdc", "--quantized"], "quantized"),
        (&["--to", "pc2", "--nest"], "nest"),
    ] {
        let done = convert(
            &[arguments, &["-o", out.to_str().unwrap()]].concat(),
            &[&folder.path().join("in")],
        );
        let error = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{error}");
        assert!(
            error.contains(&format!("the option --{option} has no effect; it is for ")),
            "{error}"
        );
        assert!(!out.exists());
    }
}

/// The viewer of Second Life uses the last joint.
#[test]
fn a_joint_that_is_not_there_is_a_finding_and_the_file_can_be_used() {
    use meshmap_testing::fixtures::slmesh::{Llsd, Writer, sheet, skin};

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("joints.slmesh");
    let lod = Llsd::Array(vec![sheet(4, 5)]);
    let bytes = Writer::default()
        .block("high_lod", &lod)
        .block("skin", &skin(2))
        .to_bytes();
    fs::write(&path, bytes).unwrap();
    let run = |arguments: &[&str]| child::meshmap().args(arguments).arg(&path).run();
    let verified = run(&["verify"]);
    assert!(verified.status.success(), "{}", text(&verified.stdout));
    assert!(
        text(&run(&["verify", "--fail-on", "forbidden"]).stdout).contains("joint out of range")
    );
    let digest = run(&["digest"]);
    assert!(
        digest.status.success() && digest.stdout.starts_with(b"{"),
        "{}",
        text(&digest.stderr)
    );
    let output = folder.path().join("joints.glb");
    let converted = convert(&["-o", output.to_str().unwrap()], &[&path]);
    assert!(converted.status.success(), "{}", text(&converted.stdout));
    assert!(text(&converted.stdout).contains("joints that are not there, now the last joint"));
}

#[test]
fn one_file_is_written_where_it_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("wave.glb");
    let done = convert(
        &["-o", output.to_str().unwrap()],
        &[&data::valid("cgeo", "anim_a.cgeo")],
    );
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert_eq!(&fs::read(output).unwrap()[..4], b"glTF");
    let shown = text(&done.stdout);
    assert!(shown.contains("left out: normals"), "{shown}");
    assert!(
        shown
            .lines()
            .last()
            .unwrap()
            .starts_with("DONE: 1 file written"),
        "{shown}"
    );
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
        assert_eq!(
            &fs::read(output.join(name)).unwrap()[..4],
            b"glTF",
            "{name}"
        );
    }
    assert!(!output.join("cut.glb").exists());
    assert!(
        text(&done.stderr).contains("cut.iqm: "),
        "{}",
        text(&done.stderr)
    );
    assert!(
        shown.contains("FAILED: 3 files written, 0 up to date, 1 failed; skipped: 1 other"),
        "{shown}"
    );
    let written = fs::metadata(output.join("wave.glb"))
        .unwrap()
        .modified()
        .unwrap();
    let again = convert(&arguments, &[&input]);
    assert!(
        text(&again.stdout).contains("0 files written, 3 up to date, 1 failed"),
        "{}",
        text(&again.stdout)
    );
    assert_eq!(
        fs::metadata(output.join("wave.glb"))
            .unwrap()
            .modified()
            .unwrap(),
        written
    );
}

#[test]
fn files_that_cannot_be_converted_are_not_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    fs::create_dir(&input).unwrap();
    let whole = fs::read(data::valid("iqm", "skin_multi_anim.iqm")).unwrap();
    fs::write(input.join("whole.iqm"), &whole).unwrap();
    fs::write(input.join("cut.iqm"), &whole[..whole.len() / 2]).unwrap();
    fs::copy(
        data::valid("iqm", "anim_only_joints.iqm"),
        input.join("none.iqm"),
    )
    .unwrap();
    let run = |more: &[&str]| {
        let arguments = ["--json", "--to", "stl", "-o", output.to_str().unwrap()];
        let done = convert(&[&arguments[..], more].concat(), &[&input]);
        let objects = text(&done.stdout)
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .collect::<Vec<_>>();
        (done.status.code(), objects)
    };
    let (first_status, first) = run(&[]);
    assert_eq!((first_status, first.len()), (Some(1), 3));
    // Nothing can be read of these files, which have the same sizes and times.
    for file in ["whole.iqm", "cut.iqm", "none.iqm"] {
        let path = input.join(file);
        let metadata = fs::metadata(&path).unwrap();
        fs::write(&path, vec![b'x'; metadata.len() as usize]).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(metadata.modified().unwrap()).unwrap();
    }
    let (status, again) = run(&[]);
    assert_eq!(status, first_status);
    for (before, after) in first.iter().zip(&again) {
        if before["state"] == "written" {
            assert_eq!(after["state"], "up_to_date");
            for count in ["vertices", "triangles"] {
                assert!(after[count].as_u64() > Some(0) && after[count] == before[count]);
            }
        } else {
            assert_eq!(before, after);
        }
    }
    // Another limit of memory, another dialect or --force are reasons to try again.
    for more in [&["--max-memory", "512MiB"][..], &["--force"]] {
        let (_, tried) = run(more);
        let cut = tried
            .iter()
            .find(|object| object["path"].as_str().unwrap().ends_with("cut.iqm"));
        assert_eq!(cut.unwrap()["error"]["kind"], "unknown_format", "{more:?}");
    }
}

#[test]
fn one_output_is_always_written() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.glb");
    let mut seen = Vec::new();
    // The second file is older than the output of the first one.
    for name in ["skin_multi_anim.iqm", "ours_many_meshes_a.iqm"] {
        let done = convert(
            &["-o", output.to_str().unwrap()],
            &[&data::valid("iqm", name)],
        );
        assert!(
            text(&done.stdout).contains("DONE: 1 file written"),
            "{}",
            text(&done.stdout)
        );
        seen.push(fs::read(&output).unwrap());
    }
    let done = convert(
        &["--frame", "2", "-o", output.to_str().unwrap()],
        &[&data::valid("iqm", "skin_multi_anim.iqm")],
    );
    assert_eq!(done.status.code(), Some(0));
    seen.push(fs::read(&output).unwrap());
    assert!(
        seen[0] != seen[1] && seen[0] != seen[2],
        "the output of an earlier command was kept"
    );
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "one output needs no index"
    );
}

#[test]
fn outputs_in_a_directory_are_written_again_after_any_change() {
    let folder = tempfile::tempdir().unwrap();
    let [input, output] = ["in", "out"].map(|name| folder.path().join(name));
    fs::create_dir_all(&input).unwrap();
    let (man, walk) = (
        data::valid("iqm", "skin_multi_anim.iqm"),
        data::valid("iqm", "ours_many_meshes_a.iqm"),
    );
    fs::copy(&man, input.join("man.iqm")).unwrap();
    let anims = folder.path().join("anims.iqm");
    fs::copy(&man, &anims).unwrap();
    let written = |arguments: &[&str]| {
        let arguments = [
            &["--to", "glb", "--json", "-o", output.to_str().unwrap()],
            arguments,
        ]
        .concat();
        let done = convert(&arguments, &[&input]);
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        let object: serde_json::Value = serde_json::from_str(text(&done.stdout)).unwrap();
        object["state"] == "written"
    };
    assert!(written(&[]), "nothing is there yet");
    assert!(!written(&[]), "nothing has changed");
    assert!(written(&["--force"]));
    assert!(!written(&[]));
    assert!(written(&["--flip"]), "another option");
    assert!(written(&[]), "the option was dropped");
    let with = ["--with", anims.to_str().unwrap()];
    assert!(written(&with), "animations were added");
    assert!(!written(&with));
    fs::write(&anims, fs::read(&man).unwrap()).unwrap();
    assert!(written(&with), "the file with animations was written again");
    assert!(written(&[]));
    // A source with an older time than the output.
    fs::copy(&walk, input.join("man.iqm")).unwrap();
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(1 << 30);
    fs::File::options()
        .append(true)
        .open(input.join("man.iqm"))
        .unwrap()
        .set_modified(long_ago)
        .unwrap();
    assert!(written(&[]), "another source");
    assert!(!written(&[]));
    // As many bytes as before, which may be others: only the time differs.
    let later = long_ago + Duration::from_secs(1);
    fs::File::options()
        .append(true)
        .open(input.join("man.iqm"))
        .unwrap()
        .set_modified(later)
        .unwrap();
    assert!(written(&[]), "the source was written again");
    assert!(!written(&[]));
    let glb = output.join("man.glb");
    let whole = fs::read(&glb).unwrap();
    fs::write(&glb, &whole[..100]).unwrap();
    assert!(written(&[]), "the output was damaged");
    assert_eq!(fs::read(&glb).unwrap(), whole);
    fs::remove_file(&glb).unwrap();
    assert!(written(&[]), "the output was removed");
    // Half a line, as a process leaves it that is killed.
    let index = output.join(INDEX);
    let mut lines = fs::read(&index).unwrap();
    lines.truncate(lines.len() - 20);
    fs::write(&index, lines).unwrap();
    assert!(written(&[]), "the index does not know the output");
    assert!(!written(&[]));
    fs::remove_file(&index).unwrap();
    assert!(written(&[]), "the index was removed");
}

#[test]
fn a_dry_run_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    tree(folder.path());
    let output = folder.path().join("out");
    let done = convert(
        &["--dry-run", "--to", "ply", "-o", output.to_str().unwrap()],
        &[&folder.path().join("in")],
    );
    assert_eq!(done.status.code(), Some(0));
    assert!(text(&done.stdout).contains("wave.ply"));
    assert!(!output.exists());
}

#[test]
fn an_output_that_says_no_format_is_wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("wave");
    let done = convert(
        &["-o", output.to_str().unwrap()],
        &[&data::valid("cgeo", "anim_a.cgeo")],
    );
    assert_eq!(done.status.code(), Some(2));
    assert!(
        text(&done.stderr).contains("pass --to glb"),
        "{}",
        text(&done.stderr)
    );
}

/// The index next to the outputs in a directory, and the folder of what a long index has more.
const INDEX: &str = ".meshmap-outputs.jsonl";
const MORE_OF_INDEX: &str = ".meshmap-outputs";

/// All files below a folder, except the index, by their path in it.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut contents, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(below) = folders.pop() {
        for entry in fs::read_dir(below).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with(MORE_OF_INDEX) {
                continue;
            } else if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with(INDEX) {
                contents.insert(
                    path.strip_prefix(folder).unwrap().to_owned(),
                    fs::read(&path).unwrap(),
                );
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
        // Cut in its header, so that nothing of it can be written.
        let length = if number % 20 == 7 { 60 } else { bytes.len() };
        let ending = Path::new(name).extension().unwrap().to_str().unwrap();
        fs::write(
            below.join(format!("mesh{number:03}.{ending}")),
            &bytes[..length],
        )
        .unwrap();
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
    assert!(
        shown.contains("950 files written, 0 up to date, 50 failed"),
        "{shown}"
    );
    let printed = format!("{shown}{}", text(&done.stderr));
    assert_eq!(
        (0..1000)
            .filter(|number| printed.contains(&format!("mesh{number:03}.")))
            .count(),
        1000
    );
    let whole = contents(&whole);
    assert_eq!(whole.len(), 950);
    // Runs that are killed early write nothing.
    fs::create_dir(&killed).unwrap();
    let mut seed = 7_u32;
    for _ in 0..10 {
        let mut command = child::meshmap();
        command
            .args(["convert", "--to", "glb", "-o"])
            .arg(&killed)
            .arg(&input);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        std::thread::sleep(
            takes.mul_f64(f64::from(seed >> 16) / f64::from(1_u32 << 17))
                + Duration::from_millis(1),
        );
        child.kill().unwrap();
        child.wait().unwrap();
        // Finished files are complete; unfinished files have other names.
        for (path, bytes) in contents(&killed) {
            if !is_part(&path) {
                assert!(whole[&path] == bytes, "{}", path.display());
            }
        }
    }
    let done = convert(&["--to", "glb", "-o", killed.to_str().unwrap()], &[&input]);
    let shown = text(&done.stdout);
    assert!(shown.contains("50 failed"), "{shown}");
    // Nothing is left of the runs that were killed.
    assert!(contents(&killed) == whole);
}

fn is_part(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "part")
}

#[test]
fn parts_that_a_killed_conversion_left_are_removed_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let [left, written] =
        [".meshmap-left.part", ".meshmap-written.part"].map(|name| folder.path().join(name));
    fs::write(&left, "half").unwrap();
    // Another process holds a lock while it writes.
    let file = fs::File::create(&written).unwrap();
    file.lock().unwrap();
    let output = folder.path().join("wave.glb");
    convert(
        &["-o", output.to_str().unwrap()],
        &[&data::valid("cgeo", "anim_a.cgeo")],
    );
    assert!(output.exists() && written.exists() && !left.exists());
}

/// Files of the command in a directory of outputs may be another user's: links are not followed, and nothing waits for a pipe.
#[cfg(unix)]
#[test]
fn links_and_pipes_in_a_directory_of_outputs_are_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let [input, output, target] = ["in", "out", "target"].map(|name| folder.path().join(name));
    fs::create_dir(&input).unwrap();
    fs::create_dir(&output).unwrap();
    let mesh = data::valid("iqm", "skin_multi_anim.iqm");
    fs::copy(&mesh, input.join("a.iqm")).unwrap();
    let link = |path: &Path| std::os::unix::fs::symlink(&target, path).unwrap();
    let pipe = |path: &Path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    link(&output.join(".meshmap-link.part"));
    pipe(&output.join(".meshmap-pipe.part"));
    for (command, to) in [("convert", &["--to", "obj"][..]), ("render", &[])] {
        for (make, found) in [
            (&link as &dyn Fn(&Path), "a symbolic link"),
            (&pipe, "a pipe, socket or device"),
        ] {
            for is_there in [true, false] {
                make(&output.join(INDEX));
                // A link to nothing would make the file.
                if is_there {
                    fs::write(&target, "kept").unwrap();
                }
                let done = child::meshmap()
                    .arg(command)
                    .args(to)
                    .arg("-o")
                    .args([&output, &input])
                    .run();
                let told = text(&done.stderr);
                assert_eq!(done.status.code(), Some(0), "{told}");
                let expected =
                    format!("{INDEX}: expected a regular file, found {found}; remove it");
                assert!(told.contains(&expected), "{command}: {told}");
                assert!(!is_there || fs::read(&target).unwrap() == b"kept");
                drop(fs::remove_file(&target));
                fs::remove_file(output.join(INDEX)).unwrap();
            }
        }
    }
    // Links with the names of outputs are replaced, as any file.
    fs::write(&target, "kept").unwrap();
    for name in ["a.obj", "a.mtl"] {
        fs::remove_file(output.join(name)).unwrap();
        link(&output.join(name));
    }
    let done = child::meshmap()
        .args(["convert", "--to", "obj", "-o"])
        .args([&output, &input])
        .run();
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert!(
        ["a.obj", "a.mtl"]
            .iter()
            .all(|name| !output.join(name).is_symlink())
    );
    assert_eq!(fs::read(&target).unwrap(), b"kept");
    assert!(output.join(".meshmap-link.part").is_symlink());
}

/// Folders of outputs may have been prepared by somebody else, to have files elsewhere replaced.
#[cfg(unix)]
#[test]
fn links_to_folders_below_the_outputs_are_not_followed() {
    use std::os::unix::fs::symlink;

    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for directory in ["in/sub", "out", "victim"] {
        fs::create_dir_all(at(directory)).unwrap();
    }
    for name in ["in/sub/a.iqm", "in/b.iqm"] {
        fs::copy(data::valid("iqm", "skin_multi_anim.iqm"), at(name)).unwrap();
    }
    for name in ["a.glb", "a.png", "crate.png"] {
        fs::write(at("victim").join(name), "kept").unwrap();
    }
    symlink("../victim", at("out/sub")).unwrap();
    symlink("../victim", at("out/crate.gltf.textures")).unwrap();
    symlink("out", at("link")).unwrap();
    // The folder that the user names may be a link.
    for (command, to) in [
        ("convert", &["--to", "glb"][..]),
        ("render", &["--size", "16x16"]),
    ] {
        let done = child::meshmap()
            .arg(command)
            .args(to)
            .arg("-o")
            .args([&at("link"), &at("in")])
            .run();
        let told = text(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{told}");
        assert!(
            told.contains(
                "sub is a link to another folder, which is not followed: name that folder as"
            ),
            "{told}"
        );
        assert!(
            text(&done.stdout).contains("1 file written"),
            "{}",
            text(&done.stdout)
        );
    }
    assert!(at("out/b.glb").is_file() && at("out/b.png").is_file());
    let crate_file = data::root().join("textures/crate.iqm");
    let output = at("out/crate.gltf");
    let done = convert(
        &["--copy-textures", "-o", output.to_str().unwrap()],
        &[&crate_file],
    );
    assert!(
        text(&done.stderr).contains("a link to another folder"),
        "{}",
        text(&done.stderr)
    );
    assert!(!output.exists());
    for name in ["a.glb", "a.png", "crate.png"] {
        assert_eq!(fs::read(at("victim").join(name)).unwrap(), b"kept");
    }
    assert_eq!(fs::read_dir(at("victim")).unwrap().count(), 3);
}

/// Names of files are in the index, which may be taken for a script.
#[cfg(unix)]
#[test]
fn a_shell_runs_nothing_of_an_index() {
    let folder = tempfile::tempdir().unwrap();
    let [input, output] = ["in", "out"].map(|name| folder.path().join(name));
    fs::create_dir(&input).unwrap();
    let names = [
        "$(touch a).iqm",
        "`touch b`.iqm",
        "\n touch c\n.iqm",
        "\"; touch d; \".iqm",
        "\\$(touch e).iqm",
    ];
    for name in names {
        fs::copy(data::valid("iqm", "skin_multi_anim.iqm"), input.join(name)).unwrap();
    }
    for counts in [
        "5 files written, 0 up to date",
        "0 files written, 5 up to date",
    ] {
        let done = convert(&["--to", "stl", "-o", output.to_str().unwrap()], &[&input]);
        assert!(
            text(&done.stdout).contains(counts),
            "{}",
            text(&done.stdout)
        );
    }
    let before = contents(folder.path());
    let mut shell = Command::new("sh");
    shell.arg(output.join(INDEX)).current_dir(folder.path());
    assert!(
        shell
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .is_ok()
    );
    assert!(contents(folder.path()) == before);
}

#[cfg(unix)]
#[test]
fn interrupted_conversions_leave_no_parts() {
    let folder = tempfile::tempdir().unwrap();
    let [input, output] = ["in", "out"].map(|name| folder.path().join(name));
    thousand(&input);
    for signals in [1, 2, 3] {
        let mut command = child::meshmap();
        command
            .args(["convert", "--force", "--to", "glb", "-o"])
            .arg(&output)
            .arg(&input);
        let started = Started::new(&mut command);
        // A machine that is busy takes longer until it begins.
        while !output.exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(60));
        (0..signals).for_each(|_| started.send("INT"));
        started.end();
        let left: Vec<_> = contents(&output)
            .into_keys()
            .filter(|path| is_part(path))
            .collect();
        assert!(left.is_empty(), "after {signals} signals: {left:?}");
    }
}

/// Nothing is written if two jobs have one output, or if an output is an input or a directory.
#[test]
fn conflicts_are_found_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mesh = fs::read(data::valid("iqm", "skin_multi_anim.iqm")).unwrap();
    for directory in ["a", "b", "out", "busy/x.glb"] {
        fs::create_dir_all(at(directory)).unwrap();
    }
    let inputs = ["a/x.iqm", "b/x.iqm", "a/m.glb", "a/x.gltf.1.iqm"];
    inputs
        .iter()
        .for_each(|name| fs::write(at(name), &mesh).unwrap());
    let before = contents(folder.path());
    let out = at("out");
    let cases: [(&[&str], PathBuf, &str); 4] = [
        // One name in two folders, and a file that is named like another output.
        (
            &["a/x.iqm", "b/x.iqm"],
            out.clone(),
            "would both be written to",
        ),
        (
            &["a/m.glb"],
            at("a/m.glb"),
            "an input, which cannot be replaced",
        ),
        (
            &["a/x.iqm", "a/m.glb"],
            at("a"),
            "an input, which cannot be replaced",
        ),
        (&["b"], at("busy"), "a directory, which cannot be replaced"),
    ];
    for (inputs, output, expected) in cases {
        let inputs: Vec<PathBuf> = inputs.iter().map(|name| at(name)).collect();
        let inputs: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
        let arguments = ["--force", "--to", "glb", "-o", output.to_str().unwrap()];
        let done = convert(&arguments, &inputs);
        let said = format!("{}{}", text(&done.stdout), text(&done.stderr));
        assert_eq!(done.status.code(), Some(2), "{inputs:?}: {said}");
        assert!(said.contains(expected), "{inputs:?}: {said}");
        assert!(contents(folder.path()) == before, "{inputs:?}");
    }
    // The first one has a buffer of this name if it has more than 2 GiB.
    let done = convert(
        &["--to", "gltf", "-o", out.to_str().unwrap()],
        &[&at("a/x.iqm"), &at("a/x.gltf.1.iqm")],
    );
    let told = text(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{told}");
    assert!(
        told.contains("x.iqm and ") && told.contains("would both be written to "),
        "{told}"
    );
    // A file between them that holds no mesh hides nothing.
    for (folder, content) in [("c", mesh.as_slice()), ("d", b"junk"), ("e", &mesh)] {
        fs::create_dir(at(folder)).unwrap();
        fs::write(at(folder).join("x.bin"), content).unwrap();
    }
    let before = contents(folder.path());
    let done = convert(
        &["--to", "glb", "-o", out.to_str().unwrap()],
        &[&at("c"), &at("d"), &at("e")],
    );
    let told = text(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{told}");
    assert!(told.contains("would both be written to "), "{told}");
    // A file that is named, and found in a directory that is named.
    let twice = convert(
        &["--dry-run", "--to", "glb", "-o", out.to_str().unwrap()],
        &[&at("a"), &at("a/x.iqm")],
    );
    assert_eq!(twice.status.code(), Some(0), "{}", text(&twice.stderr));
    assert_eq!(
        text(&twice.stdout).matches("x.glb").count(),
        1,
        "{}",
        text(&twice.stdout)
    );
    let rendered = child::meshmap()
        .args(["render", "-o"])
        .args([&out, &at("a/x.iqm"), &at("b/x.iqm")])
        .run();
    assert_eq!(
        rendered.status.code(),
        Some(2),
        "{}",
        text(&rendered.stderr)
    );
    let dumped = child::meshmap()
        .arg("dump")
        .arg(at("a/x.iqm"))
        .args(["vertex_arrays[0]", "-o"])
        .arg(at("a/x.iqm"))
        .run();
    assert!(
        text(&dumped.stderr).contains("the input, which cannot be replaced"),
        "{}",
        text(&dumped.stderr)
    );
    assert_eq!(dumped.status.code(), Some(2));
    assert!(contents(folder.path()) == before);
}

/// A file of some hundred bytes whose numbers ask for gigabytes.
#[test]
fn numbers_in_a_file_take_neither_memory_nor_disk() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("constant.iqm");
    fs::write(&file, fixtures::iqm::constant_frames(1, u32::MAX)).unwrap();
    for target in Target::ALL.map(Target::name) {
        let output = folder.path().join("out").with_extension(target);
        let done = convert(&["--to", target, "-o", output.to_str().unwrap()], &[&file]);
        let said = format!("{}{}", text(&done.stdout), text(&done.stderr));
        assert!(
            matches!(done.status.code(), Some(0 | 1)),
            "{target}: {:?} {said}",
            done.status
        );
        if target == "glb" {
            assert!(said.contains("raise the limit with --max-output"), "{said}");
        }
    }
    // Arrays that are left out of a digest are not charged to the arrays after them.
    let digest = child::meshmap().arg("digest").arg(&file).run();
    assert_eq!(digest.status.code(), Some(0), "{}", text(&digest.stderr));
    assert!(
        text(&digest.stdout).contains("\"left_out\":{\"frames\":"),
        "{}",
        text(&digest.stdout)
    );
    for moving in ["--animate", "--sheet"] {
        let done = child::meshmap()
            .args(["render", moving, "-o"])
            .args([&folder.path().join("out.png"), &file])
            .run();
        assert_eq!(
            done.status.code(),
            Some(1),
            "{moving}: {}",
            text(&done.stderr)
        );
        let said = format!("{}{}", text(&done.stdout), text(&done.stderr));
        assert!(
            said.contains("leave some out with --every"),
            "{moving}: {said}"
        );
    }
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
    assert!(
        text(&done.stderr).contains("left out: "),
        "{}",
        text(&done.stderr)
    );
    let done = convert(&["--to", "obj", "-o", "-"], &[&file]);
    assert_eq!((done.status.code(), done.stdout.len()), (Some(2), 0));
}

#[test]
fn animations_of_a_directory_join_the_meshes_that_they_fit() {
    let folder = tempfile::tempdir().unwrap();
    let clips = folder.path().join("clips");
    fs::create_dir_all(&clips).unwrap();
    // A file with only animations is one without meshes.
    for name in ["anim_only_joints.iqm", "anim_constant.iqm"] {
        fs::copy(data::valid("iqm", name), clips.join(name)).unwrap();
    }
    let output = folder.path().join("man.glb");
    let run = |with: &Path| {
        let arguments = [
            "-o",
            output.to_str().unwrap(),
            "--force",
            "--with",
            with.to_str().unwrap(),
        ];
        convert(&arguments, &[&data::valid("iqm", "skin_multi_anim.iqm")])
    };
    let done = run(&clips);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stdout));
    // The animations of a model with the same joints, in a file without meshes.
    let mut bytes = fixtures::iqm::Writer::sheets(1, 4, 4)
        .animated(3, 5)
        .to_bytes();
    let man = folder.path().join("man.iqm");
    fs::write(&man, &bytes).unwrap();
    bytes[36..40].fill(0);
    fs::write(clips.join("walk.iqm"), bytes).unwrap();
    let count = |with: &[&str]| {
        let done = convert(
            &[&["--json", "--force", "-o", output.to_str().unwrap()], with].concat(),
            &[&man],
        );
        serde_json::from_slice::<serde_json::Value>(&done.stdout).unwrap()["animations"]
            .as_u64()
            .unwrap()
    };
    let own = count(&[]);
    assert_eq!(
        count(&["--with", clips.to_str().unwrap()]),
        2 * own,
        "of {own} animations"
    );
    let done = run(&data::valid("tmf", "v011_multi_names.tmf"));
    assert_eq!(done.status.code(), Some(1));
    assert!(
        text(&done.stderr).contains("not an IQM file"),
        "{}",
        text(&done.stderr)
    );
}

/// A damaged part does not take the others with it, and is reported every time.
#[test]
fn parts_that_cannot_be_used_are_reported_and_the_others_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let [input, output] = ["in", "out"].map(|name| folder.path().join(name));
    fs::create_dir(&input).unwrap();
    let damaged = input.join("damaged.slmesh");
    fs::write(&damaged, fixtures::slmesh::damaged("skin")).unwrap();
    let verified = child::meshmap()
        .args(["verify", "--json"])
        .arg(&damaged)
        .run();
    let verified: serde_json::Value = serde_json::from_slice(&verified.stdout).unwrap();
    let message = verified["error"]["message"].as_str().unwrap();
    let arguments = ["--to", "glb", "-o", output.to_str().unwrap()];
    let counts = [
        "1 file written, 0 up to date",
        "0 files written, 1 up to date",
    ];
    for (counts, quiet) in counts.into_iter().zip([false, true]) {
        let done = convert(
            &[&arguments[..], &["--quiet"][..usize::from(quiet)]].concat(),
            &[&input],
        );
        let problems = text(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{problems}");
        assert!(
            problems.contains("damaged.slmesh: 1 part cannot be used: "),
            "{problems}"
        );
        assert!(problems.contains(message), "{problems}");
        let summary = format!("FAILED: {counts}, 0 failed, 1 damaged");
        assert!(
            quiet == done.stdout.is_empty() && (quiet || text(&done.stdout).contains(&summary))
        );
        assert_eq!(&fs::read(output.join("damaged.glb")).unwrap()[..4], b"glTF");
    }
    let done = convert(
        &["--json", "--to", "glb", "-o", output.to_str().unwrap()],
        &[&input],
    );
    let object: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(
        (&object["state"], &object["damage"][0]),
        (&"up_to_date".into(), &verified["error"])
    );
    let done = convert(&["--to", "glb", "-o", "-"], &[&damaged]);
    assert_eq!(
        (done.status.code(), &done.stdout[..4]),
        (Some(1), &b"glTF"[..])
    );
    assert!(
        text(&done.stderr).contains(message),
        "{}",
        text(&done.stderr)
    );
}

/// A part that is not converted is not read.
#[test]
fn parts_that_are_not_converted_may_be_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let damaged = folder.path().join("damaged.slmesh");
    fs::write(&damaged, fixtures::slmesh::damaged("lowest_lod")).unwrap();
    let output = folder.path().join("out.glb");
    let done = convert(&["-o", output.to_str().unwrap()], &[&damaged]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stdout));
    let all = ["--lod", "all", "-o", output.to_str().unwrap()];
    let done = convert(&all, &[&damaged]);
    assert_eq!(done.status.code(), Some(1), "{}", text(&done.stdout));
}

/// A part such as a level of detail stands for the meshes in it, and a part of a mesh for the mesh.
#[test]
fn meshes_are_named_by_their_parts() {
    let folder = tempfile::tempdir().unwrap();
    let input = data::valid("slmesh", "ours_gzip_a.slmesh");
    let written = |addresses: &[&str]| {
        let output = folder.path().join("mesh.ply");
        let meshes = addresses.iter().flat_map(|address| ["--mesh", address]);
        let arguments: Vec<&str> = ["-o", output.to_str().unwrap()]
            .into_iter()
            .chain(meshes)
            .collect();
        let done = convert(&arguments, &[&input]);
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stdout));
        fs::read(output).unwrap()
    };
    let listed = child::meshmap().arg("dump").arg(&input).run();
    let faces = text(&listed.stdout)
        .lines()
        .filter(|line| line.starts_with("high_lod.") && line.contains("].positions "))
        .count();
    let faces: Vec<String> = (0..faces)
        .map(|face| format!("high_lod.faces[{face}]"))
        .collect();
    let faces: Vec<&str> = faces.iter().map(String::as_str).collect();
    assert!(!faces.is_empty());
    assert!(written(&["high_lod"]) == written(&faces));
    assert!(written(&["high_lod.faces[0].indices[2]"]) == written(&faces[..1]));
    let done = convert(&["-o", "x.ply", "--mesh", "nowhere"], &[&input]);
    assert_eq!(done.status.code(), Some(1));
}

#[test]
fn hulls_are_written_if_they_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("hulls.llmesh");
    let sheet = fixtures::slmesh::sheet(3, 0);
    let asset = fixtures::slmesh::Writer::default()
        .block("high_lod", &fixtures::slmesh::Llsd::Array(vec![sheet]))
        .block(
            "physics_convex",
            &fixtures::slmesh::cubes(&[[0, 9], [9, 20]]),
        );
    fs::write(&input, asset.to_bytes()).unwrap();
    let written = |name: &str, address: &str, report: &str| {
        let output = folder.path().join(name);
        let mut arguments = vec!["-o", output.to_str().unwrap()];
        if !address.is_empty() {
            arguments.extend(["--mesh", address]);
        }
        let done = convert(&arguments, &[&input]);
        let shown = text(&done.stdout);
        assert_eq!(done.status.code(), Some(0), "{shown}{}", text(&done.stderr));
        assert!(shown.contains(report), "{shown}");
        assert_eq!(
            shown.contains("convex hulls"),
            report.contains("convex hulls"),
            "{shown}"
        );
        fs::read(output).unwrap()
    };
    written("all.glb", "", "left out: convex hulls for physics (3)");
    written(
        "face.glb",
        "high_lod",
        "left out: convex hulls for physics (3)",
    );
    let one = "left out: convex hulls for physics (2)";
    let hull = written("hull.glb", "physics_convex.hulls[1]", one);
    let names = String::from_utf8_lossy(&hull);
    assert!(names.contains("\"hull_1\"") && !names.contains("face_0"));
    for target in Target::ALL {
        if target != Target::Pc2 {
            let name = format!("hulls.{}", target.name());
            written(&name, "physics_convex", "36 triangles, 24 vertices");
        }
    }
    let done = convert(
        &["-o", "x.ply", "--mesh", "physics_convex.hulls[2]"],
        &[&input],
    );
    assert_eq!(done.status.code(), Some(1));
    let error = text(&done.stderr);
    let there =
        "expected physics_convex.hulls[i] with i from 0 to 1 or physics_convex.bounding_verts";
    assert!(error.contains(there), "{error}");
}

/// To find the ends of its sections, a snapshot is inflated in this dialect, and the table names it thousands of times.
#[test]
fn a_conversion_that_ends_with_the_work_of_a_job_lists_one_reason() {
    let folder = tempfile::tempdir().unwrap();
    let dialect = Dialect::default()
        .with_codec(Codec::Zlib)
        .with_size(SizeMeaning::Inflated);
    let points = cgeo::Mesh {
        triangles: Vec::new(),
        ..cgeo::Mesh::sheet(2, 0, 0.0)
    };
    let snapshot = vec![
        (99, vec![0; 20 << 20]),
        (raw::TAG_MESH_DATA, points.complete()),
    ];
    let path = folder.path().join("many.cgeo");
    fs::write(&path, cgeo::naming_one(&snapshot, 3800, dialect)).unwrap();
    let out = folder.path().join("out");
    let done = convert(&["--to", "glb", "-o", out.to_str().unwrap()], &[&path]);
    let said = [done.stdout, done.stderr].concat();
    let said = text(&said);
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(
        said.contains("2.1 GiB of decoding and other work") && said.lines().count() < 6,
        "{said}"
    );
    // One snapshot is little work.
    let done = convert(&["--to", "ply", "-o", out.to_str().unwrap()], &[&path]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stdout));
}
