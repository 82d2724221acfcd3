//! The names in a folder.

use std::fs;
use std::path::Path;

use crate::kind::has_ending_of_image;

/// A name in a folder: of an image, or of a folder. Links, other files and names that are not Unicode are left out: names in mesh
/// files are Unicode.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) is_folder: bool,
}

/// The images and folders in a folder.
pub(crate) struct Listed {
    /// Images and folders, in the order of the bytes of their names.
    pub(crate) entries: Vec<Entry>,
    /// The number of all names, including the names that are left out.
    pub(crate) count: usize,
}

/// The reason why a folder is not listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotListed {
    NotReadable,
    TooMany,
}

/// Lists a folder of at most `most` names. A larger one is not listed at all: which names come first depends on the file system.
pub(crate) fn list(folder: &Path, most: usize) -> Result<Listed, NotListed> {
    let mut entries = Vec::new();
    let mut count = 0;
    for entry in fs::read_dir(folder).map_err(|_| NotListed::NotReadable)? {
        let entry = entry.map_err(|_| NotListed::NotReadable)?;
        count += 1;
        if count > most {
            return Err(NotListed::TooMany);
        }
        // This is the type of a link itself.
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if kind.is_dir() || (kind.is_file() && has_ending_of_image(&name)) {
            entries.push(Entry {
                name,
                is_folder: kind.is_dir(),
            });
        }
    }
    entries.sort_unstable();
    Ok(Listed { entries, count })
}
