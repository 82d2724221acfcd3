//! The messages of the command about damaged files: the problem, its location, and the parts that can still be used.

use std::fs;
use std::path::{Path, PathBuf};

use meshmap_testing::{data, fixtures};

use child::Run as _;

mod child;

/// The output of a command for a file, on both channels, without the ends of lines.
fn said(command: &str, path: &Path) -> String {
    let output = child::meshmap().arg(command).arg(path).run();
    let text = [output.stdout, output.stderr]
        .map(|bytes| String::from_utf8(bytes).unwrap())
        .concat();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A file with these bytes; the folder is deleted with the value.
fn file(name: &str, bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn bad(path: &str) -> PathBuf {
    data::root().join(path)
}

/// The file's stored checksum: Adler-32, big-endian, at the end of the block.
#[test]
fn checksums_are_named_and_the_stored_one_is_the_file_s() {
    let path = bad("slmesh/bad/own_a_adler_high_lod.slmesh");
    let bytes = fs::read(&path).unwrap();
    assert_eq!(bytes[0x48a..0x48e], 0x199b_7a0d_u32.to_be_bytes());
    let words =
        "is corrupt: Adler-32 0x199b7a0d stored, 0x199b7a0c computed; intact: medium_lod, low_lod,";
    assert!(
        said("info", &path).contains(words),
        "{}",
        said("info", &path)
    );
}

#[test]
fn offsets_and_counts_are_told_by_the_fields_that_have_them() {
    let with = |field: usize, value: u32| {
        let mut bytes = fixtures::iqm::small();
        bytes[field..field + 4].copy_from_slice(&value.to_le_bytes());
        let (_folder, path) = file("x.iqm", &bytes);
        said("info", &path)
    };
    let cases = [
        (
            0x48,
            0x10,
            "iqm: iqmheader.ofs_joints (0x48..0x4c) is 0x10, inside the header",
        ),
        (
            0x48,
            0x7fff_fff0,
            "iqm: iqmheader.ofs_joints (0x48..0x4c) is 0x7ffffff0, expected room for",
        ),
        (
            0x44,
            1 << 30,
            "iqm: iqmheader.num_joints (0x44..0x48) is 1,073,741,824, expected at most",
        ),
    ];
    for (field, value, words) in cases {
        assert!(
            with(field, value).contains(words),
            "{words}: {}",
            with(field, value)
        );
    }
    let said = said("info", &bad("tmf/bad/count_vert_b.tmf"));
    let words = "tmf: vertex_count of meshes[0].segments[0] (0x1e..0x26) is 4,611,686,018,427,387,904, expected at most 0 \
                 elements of 29 bits in the 0 bytes of VertexSegment";
    assert!(said.contains(words), "{said}");
}

#[test]
#[ignore = "corpus"]
fn corpus_counts_that_no_stream_can_hold_are_reported_with_what_they_need() {
    // The vertices of a mesh in a zlib stream.
    let said = said(
        "verify",
        &data::corpus().join("cgeo/bad/mesh_vertices_high_a.cgeo"),
    );
    let words = "Vertex Count 2,147,483,648 (0x22a..0xa38, inflated 0x1..0x5) needs 24 GiB; 2,062 stored bytes cannot inflate \
                 to that";
    assert!(said.contains(words), "{said}");
}

#[test]
#[ignore = "corpus"]
fn corpus_values_are_reported_with_array_index_and_component() {
    let words = said("verify", &data::corpus().join("openctm/bad/inf_raw_b.ctm"));
    assert!(
        words.contains("bodies[0].positions[3].") && words.contains(" is inf"),
        "{words}"
    );
}

#[test]
fn values_are_reported_with_array_index_and_component() {
    let words = said("verify", &data::valid("iqm", "fte_ext.iqm"));
    assert!(
        words.contains("].x is NaN, of ") || words.contains("].y is NaN, of "),
        "{words}"
    );
}

#[test]
fn files_that_are_cut_off_say_how_much_of_what_is_there() {
    let proxy = fs::read(data::valid("cgeo", "anim_a.cgeo")).unwrap();
    let (_folder, path) = file("cut.cgeo", &proxy[..300]);
    let words = said("info", &path);
    assert!(
        words.contains("cgeo: header (0x5..0x1d8) is cut off: expected 467 bytes"),
        "{words}"
    );
    let (_folder, path) = file("cut.cgeo", &proxy[..1500]);
    let words = said("info", &path);
    let wanted = "sections of snapshots[0] (0x248..0x5dc): no end tag before the end of the file: cut off, or an unknown dialect; \
                  please send `meshmap info --report`";
    assert!(words.contains(wanted), "{words}");
}

/// No page of a damaged file has a value as Rust's debug output prints it.
#[test]
fn no_page_prints_values_as_rust_does() {
    assert_no_values_as_rust_prints_them(&data::root());
}

#[test]
#[ignore = "corpus"]
fn corpus_no_page_prints_values_as_rust_does() {
    assert_no_values_as_rust_prints_them(&data::corpus());
}

fn assert_no_values_as_rust_prints_them(root: &Path) {
    for format in meshmap::Format::ALL {
        let folder = root.join(format.name()).join("bad");
        let output = child::meshmap()
            .args(["verify", "--json"])
            .arg(&folder)
            .run();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!text.is_empty(), "{} has no files", folder.display());
        for line in text.lines() {
            let object: serde_json::Value = serde_json::from_str(line).unwrap();
            let findings = object["findings"].as_array().unwrap().iter();
            let messages = findings
                .map(|finding| &finding["message"])
                .chain([&object["error"]["message"]]);
            for message in messages.filter_map(serde_json::Value::as_str) {
                for sign in ["Some(", "None", "Ok(", "Err(", " { ", "\\u{"] {
                    assert!(!message.contains(sign), "{}: {message}", object["path"]);
                }
            }
        }
    }
}

/// The messages of a line of JSON, wherever they are in it.
fn messages(value: &serde_json::Value, into: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(map) => {
            into.extend(
                map.get("message")
                    .and_then(|text| text.as_str())
                    .map(str::to_owned),
            );
            map.values().for_each(|value| messages(value, into));
        }
        serde_json::Value::Array(list) => list.iter().for_each(|value| messages(value, into)),
        _ => {}
    }
}

/// The rule that the wording of a message breaks.
fn wording(message: &str) -> Option<&'static str> {
    // Quoted bytes of the file may hold anything.
    let own: String = message.split('"').step_by(2).collect();
    let words: Vec<&str> = own.split_whitespace().collect();
    let pairs = words
        .windows(2)
        .map(|pair| (pair[0], pair[1].trim_end_matches([',', ';', ':'])));
    let is_long = |word: &&str| word.len() > 3 && word.bytes().all(|byte| byte.is_ascii_digit());
    // Coordinates have no groups.
    let is_of_numbers = !message.contains("bounding box");
    if message.contains('\n') || message.ends_with('.') {
        return Some("is a line without a full stop");
    }
    if own.contains("Limits::") || own.contains("announce") {
        return Some("is in the words of users");
    }
    let mut pairs = pairs.filter(|(count, _)| *count == "1");
    if pairs.any(|(_, what)| ["bytes", "bits", "elements"].contains(&what)) {
        return Some("agrees in number");
    }
    let mut parts = own
        .split([' ', ':', ';', '(', ')', '-', '[', ']'])
        .map(|part| part.trim_end_matches(','));
    (is_of_numbers && parts.any(|part| is_long(&part))).then_some("groups digits")
}

/// Every message about every bad file is worded by the same rules.
fn assert_wording(folder: &Path) {
    let mut all = Vec::new();
    for format in meshmap::Format::ALL {
        for kind in ["bad", "regressions"] {
            let files = folder.join(format.name()).join(kind);
            if !files.is_dir() {
                continue;
            }
            let output = child::meshmap().args(["verify", "--json"]).arg(files).run();
            for line in String::from_utf8(output.stdout).unwrap().lines() {
                messages(&serde_json::from_str(line).unwrap(), &mut all);
            }
        }
    }
    assert!(all.len() > 300, "{}", all.len());
    let wrong: Vec<String> = all
        .iter()
        .filter_map(|message| Some(format!("a message {}: {message}", wording(message)?)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn messages_are_worded_by_the_same_rules() {
    assert_wording(&data::root());
}

#[test]
#[ignore = "corpus"]
fn corpus_messages_are_worded_by_the_same_rules() {
    assert_wording(&data::corpus());
}

#[test]
fn wrong_wording_is_found() {
    for message in [
        "expected 1 bytes",
        "is 4294967280",
        "two\nlines",
        "a stop.",
        "3 bytes announced",
    ] {
        assert!(wording(message).is_some(), "{message}");
    }
    for message in [
        "after 1 of 12 decoded bytes",
        "is 4,294,967,280 (0x1234..0x4321)",
        "starts with \"12345\"",
    ] {
        assert_eq!(wording(message), None, "{message}");
    }
}
