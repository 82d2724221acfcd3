//! Each writer has a revision, by which outputs of an earlier one are written again. It changes with the bytes that are written.

// Other systems have other libraries for sines, whose last bits differ.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::num::NonZero;
use std::path::Path;

use meshmap::{Address, Format, MeshFile};
use meshmap_export::{Convert, Lods, Target};
use meshmap_render::Render;
use meshmap_testing::data;
use sha2::{Digest, Sha256};

/// The file with a line for each writer: its name, its revision, and a hash of outputs.
fn list() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/revisions.txt")
}

/// Adds the files in a folder to a hash, by their names.
fn add_folder(hash: &mut Sha256, folder: &Path) {
    let paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    let names: BTreeMap<_, _> = paths
        .iter()
        .map(|path| (path.file_name().unwrap(), path))
        .collect();
    for (name, path) in names {
        let bytes = fs::read(path).unwrap();
        hash.update(name.as_encoded_bytes());
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    }
}

/// Settings of which each changes what is written of some files.
fn settings(target: Target) -> Vec<Convert> {
    let usual = || Convert {
        name: "name".to_owned(),
        lod: Lods::All,
        ..Convert::new(target)
    };
    let snapshot: Vec<Address> = vec!["snapshots[0]".parse().unwrap()];
    vec![
        usual(),
        Convert {
            lod: Lods::Finest,
            every: NonZero::new(2),
            drop_degenerate: true,
            zero_non_finite: true,
            ..usual()
        },
        Convert {
            frame: Some(0),
            turn: "90".parse().unwrap(),
            flip: true,
            ..usual()
        },
        Convert {
            meshes: snapshot,
            ..usual()
        },
        Convert {
            merge_materials: true,
            ..usual()
        },
        Convert {
            quantized: true,
            nest: true,
            morph_normals: true,
            dense: true,
            ..usual()
        },
    ]
}

fn add_conversions(hash: &mut Sha256, file: &MeshFile, target: Target) {
    for convert in settings(target) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out").with_extension(target.name());
        // A target that cannot hold the file, or has no use for a setting, writes nothing.
        let _ = convert.write_file(file, path);
        add_folder(hash, folder.path());
    }
}

fn add_picture(hash: &mut Sha256, file: &MeshFile) {
    let folder = tempfile::tempdir().unwrap();
    let render = Render {
        size: Some([48, 48]),
        ..Render::default()
    };
    let _ = render.write_file(file, folder.path().join("out.png"));
    add_folder(hash, folder.path());
}

#[test]
fn a_writer_that_writes_other_bytes_has_another_revision() {
    let files: Vec<MeshFile> = Format::ALL
        .iter()
        .flat_map(|format| data::files(&data::root().join(format.name()).join("valid")))
        .filter_map(|path| MeshFile::open(path).ok())
        .collect();
    assert!(files.len() > 20);
    let mut found = String::new();
    for target in Target::ALL {
        let mut hash = Sha256::new();
        files
            .iter()
            .for_each(|file| add_conversions(&mut hash, file, target));
        writeln!(
            found,
            "{} {} {}",
            target.name(),
            target.revision(),
            hexadecimal(hash)
        )
        .unwrap();
    }
    let mut hash = Sha256::new();
    files.iter().for_each(|file| add_picture(&mut hash, file));
    writeln!(found, "png {} {}", Render::REVISION, hexadecimal(hash)).unwrap();
    let known = fs::read_to_string(list()).unwrap_or_default();
    let Some(line) = found
        .lines()
        .find(|line| !known.lines().any(|known| known == *line))
    else {
        return;
    };
    let (name, rest) = line.split_once(' ').unwrap();
    let (revision, _) = rest.split_once(' ').unwrap();
    let is_raised = !known.contains(&format!("{name} {revision} "));
    let advice = match is_raised {
        true => "copy these lines to crates/export/tests/revisions.txt",
        false => "raise its revision, so that outputs of users are written again",
    };
    panic!("{name} writes other bytes: {advice}\n{found}");
}

fn hexadecimal(hash: Sha256) -> String {
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
