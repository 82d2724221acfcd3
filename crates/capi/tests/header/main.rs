//! The header is what cbindgen makes of the source, describes every function, and tests call all of it.

mod make;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Both headers.
fn header() -> String {
    let read = |name| read(&root().join("include").join(name));
    read("meshmap.h") + &read("meshmap_cgeo.h")
}

/// Functions of the header with what is said of each.
fn functions(header: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for part in header.split("/**").skip(1) {
        let Some((comment, after)) = part.split_once("*/\n") else {
            continue;
        };
        let declaration = after.split(';').next().unwrap_or_default();
        let Some((name, _)) = declaration.split_once('(') else {
            continue;
        };
        let name = name.rsplit([' ', '*']).next().unwrap_or_default();
        if name.starts_with("mm_") && declaration.starts_with("MM_API ") {
            found.push((name.to_owned(), comment.to_owned()));
        }
    }
    found
}

#[test]
fn the_header_is_what_the_source_makes() {
    for (name, made) in [
        ("meshmap.h", make::header(&root())),
        ("meshmap_cgeo.h", make::cgeo_header(&root())),
    ] {
        let path = root().join("include").join(name);
        if std::env::var_os("MESHMAP_ACCEPT").is_some() {
            std::fs::write(&path, &made).expect("a header that can be written");
        }
        assert!(
            made == read(&path),
            "{name} is not what the source makes: run this with MESHMAP_ACCEPT=1"
        );
    }
}

#[test]
fn every_function_says_what_it_does_in_lines_that_are_not_too_long() {
    let header = header();
    let functions = functions(&header);
    assert!(functions.len() > 80, "{}", functions.len());
    for (name, comment) in functions {
        assert!(comment.split_whitespace().count() > 2, "{name}:\n{comment}");
    }
    let long: Vec<&str> = header
        .lines()
        .filter(|line| line.chars().count() > 120)
        .collect();
    assert!(long.is_empty(), "{long:#?}");
    assert!(
        header.lines().count() <= 1_400,
        "{}",
        header.lines().count()
    );
}

#[test]
fn only_what_the_header_declares_is_exported_by_the_source() {
    let declared: BTreeSet<String> = functions(&header())
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    let mut defined = BTreeSet::new();
    let mut folders = vec![root().join("src")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the source") {
            let path = entry.expect("a file").path();
            if path.is_dir() {
                folders.push(path)
            } else {
                files.push(path)
            }
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
            if path.is_file() {
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

#[test]
fn comments_name_only_what_the_header_declares() {
    let header = header();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = |text: &str| -> BTreeSet<String> {
        let words = text
            .split(|c| !is_name(c))
            .filter(|word| word.starts_with("mm_") || word.starts_with("MM_"));
        // Beginnings of names: mm_cgeo_*, MM_ERROR_*.
        words
            .filter(|word| !word.ends_with('_'))
            .map(str::to_owned)
            .collect()
    };
    let (mut comments, mut code) = (String::new(), String::new());
    let mut rest = header.as_str();
    while let Some((before, after)) = rest.split_once("/*") {
        let (comment, behind) = after.split_once("*/").expect("the end of a comment");
        code += before;
        comments += comment;
        rest = behind;
    }
    code += rest;
    let (mentioned, declared) = (words(&comments), words(&code));
    assert!(mentioned.len() > 60, "{mentioned:?}");
    let unknown: Vec<&String> = mentioned.difference(&declared).collect();
    assert!(unknown.is_empty(), "comments of meshmap.h name {unknown:?}");
}

/// The structs of the header: name, and the type and name of each field.
fn structs(header: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut found = Vec::new();
    for part in header.split("\ntypedef struct ").skip(1) {
        let Some((name, rest)) = part.split_once(" {\n") else {
            continue;
        };
        if name.contains(';') {
            continue;
        }
        let (body, _) = rest.split_once("\n}").expect("the end of a struct");
        let fields = body.lines().filter_map(|line| {
            let (code, _) = line.split_once(" /**<").unwrap_or((line, ""));
            let code = code
                .trim()
                .strip_suffix(';')
                .filter(|code| !code.starts_with(['*', '/']))?;
            let (kind, name) = code
                .strip_prefix("const ")
                .unwrap_or(code)
                .split_once(' ')?;
            Some((kind.to_owned(), name.to_owned()))
        });
        found.push((name.to_owned(), fields.collect()));
    }
    found
}

#[test]
fn structs_that_may_grow_are_in_no_other_struct() {
    /// "Structs without `size` never change", as the header says.
    const FIXED: [&str; 5] = [
        "mm_bounds",
        "mm_cgeo_key",
        "mm_group",
        "mm_topology",
        "mm_trs",
    ];
    let structs = structs(&header());
    let growing: BTreeSet<&str> = structs
        .iter()
        .filter(|(_, fields)| {
            fields
                .first()
                .is_some_and(|field| *field == ("size_t".into(), "size".into()))
        })
        .map(|(name, _)| name.as_str())
        .collect();
    let others: Vec<&str> = structs
        .iter()
        .map(|(name, _)| name.as_str())
        .filter(|name| !growing.contains(name))
        .collect();
    let mut sorted = others.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, FIXED);
    assert!(growing.len() > 15, "{growing:?}");
    for (name, fields) in &structs {
        for (kind, field) in fields.iter().filter(|(_, field)| !field.starts_with('*')) {
            assert!(
                !growing.contains(kind.as_str()),
                "{name}.{field} is a {kind}, which may grow"
            );
        }
    }
}

#[test]
fn the_header_for_cpp_closes_every_handle_calls_back_and_has_all_of_an_error() {
    /// Functions with callbacks, and the functions that read arrays by address.
    const ALSO: [&str; 6] = [
        "mm_open_reader",
        "mm_open_memory",
        "mm_arrays",
        "mm_texts",
        "mm_array",
        "mm_read_into",
    ];
    let header = header();
    let cpp = read(&root().join("include/meshmap.hpp"));
    let is_wrapped = |name: &String| {
        name == "mm_close"
            || ["_free", "_new", "_ref"]
                .iter()
                .any(|end| name.ends_with(end))
            || ALSO.contains(&name.as_str())
    };
    let names = functions(&header)
        .into_iter()
        .map(|(name, _)| name)
        .filter(is_wrapped);
    let is_used = |name: &String| {
        cpp.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .any(|word| word == name)
    };
    let missing: Vec<String> = names.filter(|name| !is_used(name)).collect();
    assert!(missing.is_empty(), "meshmap.hpp lacks {missing:?}");
    assert!(cpp.lines().count() <= 800, "{}", cpp.lines().count());

    let structs = structs(&header);
    let (_, fields) = structs
        .iter()
        .find(|(name, _)| name == "mm_error")
        .expect("the struct of errors");
    let missing: Vec<&str> = fields
        .iter()
        .map(|(_, field)| field.trim_start_matches('*'))
        .filter(|field| *field != "size" && !cpp.contains(&format!("error.{field}")))
        .collect();
    assert!(missing.is_empty(), "meshmap::Failure lacks {missing:?}");
}
