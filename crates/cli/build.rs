//! Lists the files of `page/`, which `crates/web/build` makes, for the feature `view`. The list is empty without the folder.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    // For tests: `cfg(has_page)` if there is a page.
    println!("cargo::rustc-check-cfg=cfg(has_page)");
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("page");
    let mut list = String::from("&[\n");
    if folder.is_dir() {
        println!("cargo::rerun-if-changed=page");
        println!("cargo::rustc-cfg=has_page");
        add(&folder, "", &mut list)?;
    } else if env::var_os("CARGO_FEATURE_VIEW").is_some() {
        // A path that does not exist would run this script for each build.
        println!("cargo::rerun-if-changed=.");
    }
    list.push(']');
    fs::write(PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("page.in"), list)
}

/// Adds the files of a folder, each by its address on the page: its path without the extension `.gz`.
fn add(folder: &Path, prefix: &str, list: &mut String) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if path.is_dir() {
            add(&path, &format!("{prefix}{name}/"), list)?;
        } else if let Some(name) = name.strip_suffix(".gz") {
            let line = writeln!(list, "    ({:?}, include_bytes!({:?})),", format!("{prefix}{name}"), path);
            line.map_err(io::Error::other)?;
        }
    }
    Ok(())
}
