//! The page of troubleshooting quotes messages that the programs print.

use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The sources of all programs, as one text.
fn sources() -> String {
    fn collect(folder: &Path, text: &mut String) {
        let mut entries: Vec<PathBuf> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                collect(&path, text);
            } else if path
                .extension()
                .is_some_and(|ending| ending == "rs" || ending == "py")
            {
                text.push_str(&fs::read_to_string(path).unwrap());
            }
        }
    }
    let mut text = String::new();
    for folder in [
        "src",
        "crates/catalog/src",
        "crates/cli/src",
        "crates/export/src",
        "crates/job/src",
        "crates/render/src",
        "crates/outputs/src",
        "crates/object-store/src",
        "crates/python",
    ] {
        collect(&Path::new(ROOT).join(folder), &mut text);
    }
    // Texts continue on the next line after a backslash.
    text.split('\\')
        .map(|part| part.strip_prefix('\n').map_or(part, str::trim_start))
        .collect()
}

#[test]
fn quoted_messages_are_in_the_sources() {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/troubleshooting.md")).unwrap();
    let sources = sources();
    let mut quoted = 0;
    let first_cells = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    for message in first_cells {
        for part in message
            .split("..")
            .map(|part| part.trim_matches([' ', ',', ';', ':']))
        {
            if part.len() < 3 {
                continue;
            }
            quoted += 1;
            let is_there = part.split(", ").all(|piece| sources.contains(piece));
            assert!(is_there, "no program prints {part:?} of {message:?}");
        }
    }
    assert!(quoted > 10, "{quoted}");
}
