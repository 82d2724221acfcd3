//! The list of files that know vertex semantics, in the recipe for adding one: no file is missing, and none is listed in vain.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A file that names at least as many semantics decides what they mean. Others ask for a single attribute, such as positions.
const MIN_SEMANTICS: usize = 3;

/// The variants of the enum. `Custom` is left out: it is the attribute without a meaning.
fn variants() -> Vec<String> {
    let source = fs::read_to_string(format!("{ROOT}/src/mesh/semantic.rs")).unwrap();
    let (_, body) = source.split_once("pub enum Semantic {\n").unwrap();
    let (body, _) = body.split_once("\n}").unwrap();
    let mut variants = Vec::new();
    for line in body.lines() {
        let line = line.trim();
        if line.starts_with("//") {
            continue;
        }
        let name = line.trim_end_matches(',').split('(').next().unwrap();
        if name != "Custom" {
            variants.push(name.to_owned());
        }
    }
    variants
}

/// The code of a file, without comments and without its tests, which are at its end.
fn code(source: &str) -> String {
    let mut code = String::new();
    for line in source.lines() {
        if line == "#[cfg(test)]" {
            break;
        }
        if !line.trim_start().starts_with("//") {
            code.push_str(line);
            code.push('\n');
        }
    }
    code
}

/// Returns `true` if `name` is in the code, and not only the beginning of a longer name.
fn has_name(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(start, _)| {
        let after = code[start + name.len()..].chars().next();
        after.is_none_or(|next| !next.is_alphanumeric())
    })
}

/// Adds the files below a folder, relative to the root, that name enough semantics.
fn collect(folder: &Path, variants: &[String], found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, variants, found);
            continue;
        }
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let code = code(&fs::read_to_string(&path).unwrap());
        let is_named = |variant: &&String| has_name(&code, &format!("Semantic::{variant}"));
        if variants.iter().filter(is_named).count() >= MIN_SEMANTICS {
            let path = path.strip_prefix(ROOT).unwrap().to_str().unwrap();
            found.insert(path.replace('\\', "/"));
        }
    }
}

/// The files in the table of the recipe.
fn listed() -> BTreeSet<String> {
    let page = fs::read_to_string(format!("{ROOT}/CONTRIBUTING.md")).unwrap();
    let (_, recipe) = page.split_once("\n## Adding a vertex semantic\n").unwrap();
    let (recipe, _) = recipe.split_once("\n## ").unwrap();
    let mut listed = BTreeSet::new();
    for line in recipe.lines() {
        let Some(cells) = line.strip_prefix("| `") else {
            continue;
        };
        let (path, _) = cells.split_once('`').unwrap();
        assert!(listed.insert(path.to_owned()), "{path} is listed twice");
    }
    listed
}

#[test]
fn the_recipe_lists_every_file_that_knows_semantics() {
    let variants = variants();
    assert!(
        variants.iter().any(|variant| variant == "Position"),
        "{variants:?}"
    );

    let mut found = BTreeSet::new();
    collect(&Path::new(ROOT).join("src"), &variants, &mut found);
    for package in fs::read_dir(format!("{ROOT}/crates")).unwrap() {
        let package = package.unwrap().path();
        let source = package.join("src");
        // The package of test tools uses semantics as examples.
        if source.is_dir() && !package.ends_with("testing") {
            collect(&source, &variants, &mut found);
        }
    }
    // Here the variants are declared, and named `Self`.
    found.insert("src/mesh/semantic.rs".to_owned());

    let listed = listed();
    let missing: Vec<&String> = found.difference(&listed).collect();
    let superfluous: Vec<&String> = listed.difference(&found).collect();
    assert!(
        missing.is_empty() && superfluous.is_empty(),
        "in CONTRIBUTING.md, \"Adding a vertex semantic\", add {missing:?} to the table, and remove {superfluous:?}"
    );
}
