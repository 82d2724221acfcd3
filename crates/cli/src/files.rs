//! The files that a command works on.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};
use meshmap::{ErrorKind, Format, MeshFile, Result, Source};

/// Files found, in order, and how many of those in directories are no meshes.
pub(crate) struct Found {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) others: usize,
    /// Directories that could not be read, and why.
    pub(crate) unreadable: Vec<(PathBuf, io::Error)>,
    /// Whether the command names one file and nothing else.
    pub(crate) single: bool,
}

/// The files named, and those below the directories named: there, files that have the content of a mesh or the ending
/// of one. Links to directories are not followed.
pub(crate) fn find(paths: &[PathBuf]) -> Found {
    let single = matches!(paths, [path] if !path.is_dir());
    let mut found = Found { files: Vec::new(), others: 0, unreadable: Vec::new(), single };
    for path in paths {
        if path.is_dir() {
            walk(path, &mut found);
        } else {
            found.files.push(path.clone());
        }
    }
    found
}

fn walk(directory: &Path, found: &mut Found) {
    let entries = fs::read_dir(directory).and_then(|entries| entries.collect::<io::Result<Vec<_>>>());
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(error) => return found.unreadable.push((directory.to_owned(), error)),
    };
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&path, found),
            Ok(_) if path.is_file() && is_mesh(&path) => found.files.push(path),
            Ok(_) => found.others += 1,
            Err(error) => found.unreadable.push((path, error)),
        }
    }
}

fn is_mesh(path: &Path) -> bool {
    const ENDINGS: [&str; 6] = ["iqm", "ctm", "tmf", "slmesh", "llmesh", "cgeo"];
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known)))
        || !matches!(Source::open(path).and_then(|source| Format::detect(&source)),
            Err(error) if error.kind() == ErrorKind::UnknownFormat)
}

/// Opens a file, or maps it.
pub(crate) fn source(path: &Path, mmap: bool) -> Result<Source> {
    if !mmap {
        return Source::open(path);
    }
    #[allow(unsafe_code, reason = "the user asked for a map, and was told what that takes")]
    // SAFETY: whoever says --mmap promises that the file does not change; the help says so.
    unsafe {
        Source::map(path)
    }
}

/// Opens a file of any format.
pub(crate) fn open(path: &Path, mmap: bool) -> Result<MeshFile> {
    MeshFile::from_source(source(path, mmap)?)
}

/// A bar on standard error while many files are worked on; nothing where that is no terminal.
pub(crate) fn progress(files: usize) -> ProgressBar {
    if files < 2 {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} {wide_msg}");
    let bar = ProgressBar::new(files as u64);
    style.map(|style| bar.clone().with_style(style)).unwrap_or(bar)
}
