//! The files of the repository and of the larger corpus.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder `tests/data` of the repository.
pub fn root() -> PathBuf {
    let this = Path::new(env!("CARGO_MANIFEST_DIR"));
    this.ancestors()
        .nth(2)
        .expect("this crate lies in `crates` of the repository")
        .join("tests/data")
}

/// The files of a folder below `tests/data`, in order, without expectations and lists.
pub fn folder(folder: &str) -> Vec<PathBuf> {
    files(&root().join(folder))
}

/// A good file of a format.
pub fn valid(format: &str, name: &str) -> PathBuf {
    root().join(format).join("valid").join(name)
}

/// The folder of the larger corpus, for tests that need it. They are named `corpus_*` and are `#[ignore = "corpus"]`;
/// `cargo test -- --ignored corpus_` runs exactly these.
///
/// # Panics
///
/// Panics if the environment variable `MESHMAP_CORPUS` is not set.
pub fn corpus() -> PathBuf {
    std::env::var_os("MESHMAP_CORPUS")
        .expect("MESHMAP_CORPUS names the folder of the larger corpus")
        .into()
}

/// Declares two tests that call a function with the path of a folder: `repository` with `tests/data`, and `corpus_files`
/// with the larger corpus. They lie in a module with the name of the function.
#[macro_export]
macro_rules! test_files {
    ($check:ident) => {
        mod $check {
            #[test]
            fn repository() {
                super::$check(&$crate::data::root());
            }

            #[test]
            #[ignore = "corpus"]
            fn corpus_files() {
                super::$check(&$crate::data::corpus());
            }
        }
    };
}

/// The files of a folder, of which there must be some, in order, without expectations and lists.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.is_file() && file.extension().is_none_or(|ending| ending != "json"));
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files
}
