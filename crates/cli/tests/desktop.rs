//! Files for desktops, in `share`: the thumbnailer and the media types.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::PathBuf;

use meshmap::Format;
use meshmap_testing::data;

use child::Run as _;

mod child;

fn share(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("share")
        .join(name);
    fs::read_to_string(path).unwrap()
}

/// The value of a key of the thumbnailer.
fn entry(key: &str) -> String {
    let text = share("meshmap.thumbnailer");
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    line.unwrap().to_owned()
}

/// The words of the Exec line, with a size, an output and an input.
fn exec(size: &str, output: &str, input: &str) -> Vec<String> {
    let words = entry("Exec");
    words
        .split(' ')
        .map(|word| {
            word.replace("%s", size)
                .replace("%o", output)
                .replace("%i", input)
        })
        .collect()
}

/// Media types of the text between a start and an end.
fn types<'a>(text: &'a str, start: &str, end: &str) -> BTreeSet<&'a str> {
    text.split(start)
        .skip(1)
        .filter_map(|rest| rest.split_once(end))
        .map(|(name, _)| name)
        .collect()
}

#[test]
fn the_options_of_the_thumbnailer_exist() {
    assert_eq!(entry("TryExec"), "meshmap");
    meshmap_cli::command()
        .try_get_matches_from(exec("256", "out", "in"))
        .unwrap();
}

#[test]
fn every_format_has_a_media_type_and_the_thumbnailer_takes_it() {
    let (listed, xml) = (entry("MimeType"), share("meshmap.xml"));
    let listed: BTreeSet<&str> = listed.split_terminator(';').collect();
    assert_eq!(listed, types(&xml, "<mime-type type=\"", "\""));
    assert_eq!(listed.len(), Format::ALL.len());
    let endings = types(&xml, "<glob pattern=\"*.", "\"");
    assert_eq!(
        endings,
        Format::ALL
            .iter()
            .flat_map(|format| format.extensions())
            .copied()
            .collect()
    );
}

#[test]
fn lists_outside_of_the_code_have_every_extension() {
    let read = |path: &str| {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
        fs::read_to_string(root.join(path)).unwrap()
    };
    let operators = Format::ALL
        .map(|format| read(&format!("blender/meshmap_io/operators/{format}.py")))
        .concat();
    let others = [
        "blender/tests/corpus.py",
        "crates/bevy/README.md",
        "crates/python/README.md",
        "crates/python/pyproject.toml",
        "crates/web/js/view.js",
        "docs/start/artists.md",
    ];
    for list in others.into_iter().map(read).chain([operators]) {
        let words: BTreeSet<&str> = list
            .split(|c: char| c != '.' && !c.is_alphanumeric())
            .collect();
        for extension in Format::ALL.iter().flat_map(|format| format.extensions()) {
            assert!(
                words.contains(&*format!(".{extension}")),
                ".{extension} is not in\n{list}"
            );
        }
    }
}

#[test]
fn the_thumbnailer_draws_files_of_every_format_whatever_the_name_of_the_output() {
    let folder = tempfile::tempdir().unwrap();
    for (format, name) in [
        ("cgeo", "anim_a.cgeo"),
        ("iqm", "skin_multi_anim.iqm"),
        ("openctm", "cyl_RAW_pn.ctm"),
        ("slmesh", "ours_skin_a.slmesh"),
        ("tmf", "v021_unified_cube.tmf"),
    ] {
        // File managers make the output first, perhaps under a name without an extension, and hold it open.
        let output = folder.path().join(".thumbnail.A1B2C3");
        let mut held = File::options()
            .create(true)
            .read(true)
            .append(true)
            .open(&output)
            .unwrap();
        let words = exec(
            "128",
            output.to_str().unwrap(),
            data::valid(format, name).to_str().unwrap(),
        );
        let done = child::meshmap().args(&words[1..]).run();
        assert!(done.status.success() && done.stdout.is_empty(), "{done:?}");
        let mut png = Vec::new();
        held.read_to_end(&mut png).unwrap();
        fs::remove_file(output).unwrap();
        assert_eq!(png[..8], *b"\x89PNG\r\n\x1a\n", "{name}");
        assert_eq!(png[16..24], [0, 0, 0, 128, 0, 0, 0, 128], "{name}");
    }
}
