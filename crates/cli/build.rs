//! Lists the files of the page for the feature `view`: of the folder that MESHMAP_PAGE names, or of `page/`, which published packages contain and
//! `crates/web/build` makes in a clone. The list is empty without `page/`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    // For tests: `cfg(has_page)` if there is a page.
    println!("cargo::rustc-check-cfg=cfg(has_page)");
    println!("cargo::rerun-if-env-changed=MESHMAP_PAGE");
    let folder = match env::var_os("MESHMAP_PAGE") {
        Some(named) => {
            let folder = PathBuf::from(named);
            if !folder.is_absolute() || !folder.join("index.html.gz").is_file() {
                let problem =
                    "MESHMAP_PAGE is not the absolute path of a folder with index.html.gz";
                return Err(io::Error::other(problem));
            }
            folder
        }
        None => PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("page"),
    };
    let mut list = String::from("&[\n");
    if folder.is_dir() {
        println!("cargo::rerun-if-changed={}", folder.display());
        println!("cargo::rustc-cfg=has_page");
        add(&folder, "", &mut list)?;
    } else if env::var_os("CARGO_FEATURE_VIEW").is_some() {
        // A path that does not exist would run this script for each build.
        println!("cargo::rerun-if-changed=.");
    }
    list.push(']');
    fs::write(
        PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("page.in"),
        list,
    )
}

/// Adds the files of a folder, each by its address on the page: its path without the extension `.gz`.
fn add(folder: &Path, prefix: &str, list: &mut String) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            add(&path, &format!("{prefix}{name}/"), list)?;
        } else if let Some(name) = name.strip_suffix(".gz") {
            let line = writeln!(
                list,
                "    ({:?}, include_bytes!({:?})),",
                format!("{prefix}{name}"),
                path
            );
            line.map_err(io::Error::other)?;
        }
    }
    Ok(())
}
