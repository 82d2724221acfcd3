//! Every file of the corpora reads as independent implementations read it, or is refused.
//!
//! `cargo test -p meshmap-catalog --test corpus -- --ignored corpus_` runs the tests that need `MESHMAP_CORPUS`.

use std::fs;
use std::path::{Path, PathBuf};

use meshmap::{Format, MeshFile, Options, Source};
use meshmap_catalog::inspect;
use meshmap_testing::{data, kinds};
use serde_json::Value;

fn json(path: &Path) -> Value {
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

fn digest(path: &Path) -> Result<Value, String> {
    digest_of(&MeshFile::open(path).map_err(|error| error.message())?)
}

fn digest_of(file: &MeshFile) -> Result<Value, String> {
    let digest = meshmap_catalog::digest::of(file).map_err(|error| error.to_string())?;
    Ok(serde_json::to_value(digest).unwrap())
}

/// The expectation of a file: `NAME.expect.json` or, without the ending of the file, `STEM.expect.json`.
fn expectation(file: &Path) -> Value {
    let beside = file.with_file_name(format!(
        "{}.expect.json",
        file.file_name().unwrap().to_string_lossy()
    ));
    json(&if beside.exists() {
        beside
    } else {
        file.with_extension("expect.json")
    })
}

fn assert_as_expected(file: &Path) {
    let mut expected = expectation(file);
    let mut found = digest(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    if !cfg!(all(target_os = "linux", target_env = "gnu")) {
        for digest in [&mut expected, &mut found] {
            leave_out_what_is_made_of_sines(digest);
        }
    }
    for part in ["format", "arrays", "strings"] {
        if let Some(expected) = expected.get(part) {
            assert_eq!(&found[part], expected, "{} of {}", part, file.display());
        }
    }
}

/// The hosts' sines differ in the last place, and then the hashes of what is made of them: expectations are glibc's.
fn leave_out_what_is_made_of_sines(digest: &mut Value) {
    if matches!(digest["format"].as_str(), Some("openctm" | "tmf")) {
        let arrays = digest["arrays"].as_object_mut().unwrap();
        arrays.retain(|path, _| !path.ends_with("normals") && !path.ends_with("tangents"));
        eprintln!(
            "not compared on this host: normals and tangents of {}",
            digest["format"]
        );
    }
}

/// Refused where it must be; one line that names the format where the file has one, and the byte range or an element.
fn assert_case(folder: &Path, format: &str, name: &str, want: &str) {
    let path = folder.join(name);
    match (want, digest(&path)) {
        ("error", Ok(_)) => panic!("{name} was read"),
        ("error" | "either", Err(error)) => {
            assert_eq!(error.lines().count(), 1, "{name}: {error}");
            let unknown = [
                "unknown format: starts with \"",
                "not a CGeo, IQM",
                "the file is empty",
            ];
            let is_unknown = unknown.iter().any(|words| error.starts_with(words));
            let is_located =
                error.contains("0x") || error.contains("]") || error.contains("the limit of");
            assert!(
                is_unknown || error.starts_with(&format!("{format}: ")) && is_located,
                "{name}: {error}"
            );
        }
        ("ok", Err(error)) => panic!("{name}: {error}"),
        (_, Ok(_)) => {}
        (want, _) => panic!("{name}: no such case {want}"),
    }
}

fn assert_cases(folder: &Path, format: &str) {
    let cases = json(&folder.join("CASES.json"));
    let cases = cases.as_object().unwrap();
    for (name, case) in cases {
        assert_case(folder, format, name, case["want"].as_str().unwrap());
    }
    let listed = data::files(folder)
        .iter()
        .all(|file| cases.contains_key(file.file_name().unwrap().to_str().unwrap()));
    assert!(listed, "a file of {} has no case", folder.display());
}

#[test]
fn valid_files_of_the_repository_read_as_expected() {
    for format in Format::ALL {
        data::folder(&format!("{format}/valid"))
            .iter()
            .for_each(|file| assert_as_expected(file));
    }
}

#[test]
fn bad_files_of_the_repository_are_refused() {
    for format in Format::ALL {
        let folder = data::root().join(format.name()).join("bad");
        assert_cases(&folder, format.name());
    }
}

#[test]
#[ignore = "corpus"]
fn corpus_files_read_as_expected() {
    let corpus = data::corpus();
    for format in Format::ALL {
        let corpus = corpus.join(format.name());
        let files: Vec<PathBuf> = ["valid", "large"]
            .iter()
            .flat_map(|folder| data::files(&corpus.join(folder)))
            .collect();
        files.iter().for_each(|file| assert_as_expected(file));
        assert_cases(&corpus.join("bad"), format.name());
    }
}

/// Digests do not depend on how the bytes come in.
#[test]
fn mapped_and_unaligned_files_have_the_same_digest() {
    let files = Format::ALL
        .into_iter()
        .flat_map(|format| data::folder(&format!("{format}/valid")));
    for file in files {
        let expected = digest(&file).unwrap();
        let bytes = fs::read(&file).unwrap();
        for shift in 0..4 {
            let mut shifted = vec![0; shift];
            shifted.extend_from_slice(&bytes);
            let source = Source::from_bytes(bytes::Bytes::from(shifted).slice(shift..));
            let file = MeshFile::from_source(source, &Options::default()).unwrap();
            assert_eq!(digest_of(&file).unwrap(), expected);
        }
        #[allow(
            unsafe_code,
            reason = "the files of the repository do not change while tests run"
        )]
        // SAFETY: as above.
        let source = unsafe { Source::map(&file) }.unwrap();
        let mapped = MeshFile::from_source(source, &Options::default()).unwrap();
        assert_eq!(digest_of(&mapped).unwrap(), expected);
    }
}

/// Messages are for people: none shows a value of a Rust type, such as `Malformed("..")` or `Counts { .. }`.
#[test]
fn messages_show_no_types_of_the_library() {
    assert_messages_show_no_types(&data::root());
}

#[test]
#[ignore = "corpus"]
fn corpus_messages_show_no_types_of_the_library() {
    assert_messages_show_no_types(&data::corpus());
}

fn assert_messages_show_no_types(root: &Path) {
    let mut looked_at = 0;
    let folders = Format::ALL.map(|format| root.join(format.name()).join("bad"));
    for path in folders.iter().flat_map(|folder| data::files(folder)) {
        for message in messages(&path) {
            assert!(!shows_a_type(&message), "{}: {message}", path.display());
            looked_at += 1;
        }
    }
    assert!(looked_at > 100, "{looked_at} messages");
}

/// The reports of the library about a file, by every way that decodes all of it.
fn messages(path: &Path) -> Vec<String> {
    let file = match MeshFile::open(path) {
        Ok(file) => file,
        Err(error) => return vec![error.to_string()],
    };
    let mut messages = Vec::new();
    match file.validate() {
        Ok(findings) => messages.extend(findings.iter().map(ToString::to_string)),
        Err(error) => messages.push(error.to_string()),
    }
    for entry in file.meshes().into_iter().flatten().take(16) {
        let read = file.mesh(&entry.address).and_then(|mesh| {
            mesh.attributes()
                .iter()
                .try_for_each(|info| mesh.attribute(&info.semantic).map(drop))
        });
        messages.extend(read.err().map(|error| error.to_string()));
    }
    messages.extend(
        meshmap_catalog::digest::of(&file)
            .err()
            .map(|error| error.to_string()),
    );
    messages
}

/// `true` if a text matches `[A-Z][a-z]+(\(| \{)`.
fn shows_a_type(text: &str) -> bool {
    text.match_indices(|c: char| c.is_ascii_uppercase())
        .any(|(at, _)| {
            let word = &text[at + 1..];
            let rest = word.trim_start_matches(|c: char| c.is_ascii_lowercase());
            rest.len() < word.len() && (rest.starts_with('(') || rest.starts_with(" {"))
        })
}

#[test]
fn types_are_told_from_other_text() {
    for text in [
        "found Malformed(\"a distance\")",
        "Checksum { stored: 1 }",
        "x Ab(",
        "Some(3)",
    ] {
        assert!(shows_a_type(text), "{text}");
    }
    for text in [
        "iqm: iqmheader (0x0..0x7c) is cut off: expected 124 bytes",
        "A (b",
        "Number of faces: 12",
        "max(3)",
    ] {
        assert!(!shows_a_type(text), "{text}");
    }
}

/// However many items a file of up to 10 MB has, its object has less than 1 MB.
#[test]
fn objects_of_files_with_many_items_are_short() {
    for kind in kinds::all() {
        let bytes = (kind.build)(20_000);
        let stored = bytes.len() as u64;
        let Ok(file) = MeshFile::from_source(Source::from_bytes(bytes), &Options::default()) else {
            continue;
        };
        let object = inspect::info(&file, Path::new("many"), Some(stored), false).unwrap();
        let longest = 1_000_000 * stored.div_ceil(10_000_000) as usize;
        assert!(
            object.len() < longest,
            "{}/{}: {} bytes",
            kind.format,
            kind.name,
            object.len()
        );
    }
}
