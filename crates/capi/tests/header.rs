//! The header is what cbindgen makes of the source, says what it should of every function, and tests call all of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn header() -> String {
    read(&root().join("include/meshmap.h"))
}

/// Functions of the header with what is said of each.
fn functions(header: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for part in header.split("/**\n").skip(1) {
        let Some((comment, after)) = part.split_once("*/\n") else { continue };
        let declaration = after.split(';').next().unwrap_or_default();
        let Some((name, _)) = declaration.split_once('(') else { continue };
        let name = name.rsplit([' ', '*']).next().unwrap_or_default();
        if name.starts_with("mm_") && !declaration.starts_with("typedef") && !declaration.contains('{') {
            found.push((name.to_owned(), comment.to_owned()));
        }
    }
    found
}

#[test]
#[cfg_attr(windows, ignore = "cbindgen runs cargo, which Wine lacks")]
fn the_header_is_what_cbindgen_makes() {
    let config = cbindgen::Config::from_file(root().join("cbindgen.toml")).expect("a good configuration");
    let bindings = cbindgen::generate_with_config(root(), config).expect("a header");
    let mut made = Vec::new();
    bindings.write(&mut made);
    let made = String::from_utf8(made).expect("UTF-8");
    let path = root().join("include/meshmap.h");
    if std::env::var_os("MESHMAP_ACCEPT").is_some() {
        std::fs::write(&path, &made).expect("a header that can be written");
    }
    assert!(
        made == read(&path),
        "include/meshmap.h is not what the source makes: run this with MESHMAP_ACCEPT=1"
    );
}

#[test]
fn every_function_says_who_owns_what_on_which_threads_and_what_goes_wrong() {
    let functions = functions(&header());
    assert!(functions.len() > 80, "{}", functions.len());
    for (name, comment) in functions {
        let says = |word: &str| comment.to_lowercase().contains(word);
        assert!(says("ownership") && says("threads") && says("errors"), "{name}:\n{comment}");
    }
}

#[test]
fn only_what_the_header_declares_is_exported_by_the_source() {
    let declared: BTreeSet<String> = functions(&header()).into_iter().map(|(name, _)| name).collect();
    let mut defined = BTreeSet::new();
    let mut folders = vec![root().join("src")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the source") {
            let path = entry.expect("a file").path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    for path in files {
        let text = read(&path);
        for part in text.split("#[unsafe(no_mangle)]").skip(1) {
            let (_, after) = part.split_once("fn ").expect("a function");
            defined.insert(after.split('(').next().unwrap_or_default().to_owned());
        }
    }
    assert_eq!(declared, defined);
}

#[test]
fn every_function_is_called_by_a_test() {
    let mut text = String::new();
    for folder in ["tests", "tests/c", "tests/support"] {
        for entry in std::fs::read_dir(root().join(folder)).expect("tests") {
            let path = entry.expect("a file").path();
            if path.is_file() && !path.ends_with("header.rs") {
                text += &read(&path);
            }
        }
    }
    let missing: Vec<String> = functions(&header())
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| !text.contains(&format!("{name}(")))
        .collect();
    assert!(missing.is_empty(), "no test calls {missing:?}");
}
