//! The origins of the files in `tests/data`.

use std::fs;
use std::path::Path;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");

/// Adds the paths of all files below a folder, relative to `tests/data`, with `/` between their parts.
fn collect(folder: &Path, paths: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, paths);
        } else {
            paths.push(
                path.strip_prefix(ROOT)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .replace('\\', "/"),
            );
        }
    }
}

/// The patterns of the first column of the page, without braces.
fn patterns(page: &str) -> Vec<String> {
    let mut patterns = Vec::new();
    for cell in page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split(" | ").next())
    {
        for pattern in cell
            .split("`, `")
            .map(|pattern| pattern.trim_end_matches('`'))
        {
            match pattern
                .split_once('{')
                .and_then(|(start, rest)| Some((start, rest.split_once('}')?)))
            {
                Some((start, (names, end))) => {
                    patterns.extend(names.split(',').map(|name| format!("{start}{name}{end}")));
                }
                None => patterns.push(pattern.to_owned()),
            }
        }
    }
    patterns
}

/// Returns `true` if a path matches a pattern with at most one `*`, which stands for any text without `/`.
fn matches(pattern: &str, path: &str) -> bool {
    let Some((start, end)) = pattern.split_once('*') else {
        return pattern == path;
    };
    let middle = path
        .strip_prefix(start)
        .and_then(|rest| rest.strip_suffix(end));
    middle.is_some_and(|middle| !middle.contains('/'))
}

#[test]
fn every_file_has_one_origin() {
    let page = fs::read_to_string(Path::new(ROOT).join("MANIFEST.md")).unwrap();
    let patterns = patterns(&page);
    let mut paths = Vec::new();
    collect(Path::new(ROOT), &mut paths);
    assert!(paths.len() > 1000, "{} files", paths.len());
    for path in &paths {
        let found: Vec<_> = patterns
            .iter()
            .filter(|pattern| matches(pattern, path))
            .collect();
        assert_eq!(
            found.len(),
            1,
            "tests/data/{path} must have one row in MANIFEST.md: {found:?}"
        );
    }
    for pattern in &patterns {
        assert!(
            paths.iter().any(|path| matches(pattern, path)),
            "no file of MANIFEST.md is {pattern}"
        );
    }
}
