//! The image at a path below a folder.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use meshmap_outputs::{Stamp, check_names, open_without_links};

use crate::found::{Found, Unusable};
use crate::kind::Kind;

/// The largest image that is used, in bytes.
const LARGEST: u64 = 256 << 20;

/// The image at a relative path; `None` if the file does not exist. `root` has no links on the way.
pub(crate) fn image(root: &Path, path: &str) -> Result<Option<Found>, Unusable> {
    let Some(path) = locate(root, path) else {
        return Ok(None);
    };
    // Links of folders are followed as long as they stay below the root.
    if !path.starts_with(root) {
        return Err(Unusable::Outside);
    }
    let metadata = fs::symlink_metadata(&path).map_err(|_| Unusable::NotReadable)?;
    if metadata.is_symlink() {
        return Err(Unusable::Link);
    }
    if !metadata.is_file() {
        return Err(Unusable::NotAFile);
    }
    let stamp = Stamp::of_path(&path).ok_or(Unusable::NotReadable)?;
    if stamp.bytes > LARGEST {
        return Err(Unusable::TooLarge);
    }
    Ok(Some(Found {
        kind: kind(&path)?,
        path,
        stamp,
        other_count: 0,
        others: Vec::new(),
    }))
}

fn kind(path: &Path) -> Result<Kind, Unusable> {
    // Another process may have put a link there meanwhile.
    let file = open_without_links(path).map_err(|_| Unusable::NotReadable)?;
    let mut head = Vec::with_capacity(Kind::HEAD);
    file.take(Kind::HEAD as u64)
        .read_to_end(&mut head)
        .map_err(|_| Unusable::NotReadable)?;
    Kind::of_head(&head).ok_or(Unusable::UnknownKind)
}

/// The path of a file, in a folder without links on the way; `None` if it does not exist.
fn locate(root: &Path, path: &str) -> Option<PathBuf> {
    let path = joined(root, path);
    check_names(&path).ok()?;
    let folder = fs::canonicalize(path.parent()?).ok()?;
    let path = folder.join(path.file_name()?);
    fs::symlink_metadata(&path).ok()?;
    Some(path)
}

/// A path with slashes below a folder.
pub(crate) fn joined(root: &Path, path: &str) -> PathBuf {
    let mut whole = root.to_owned();
    for part in path.split('/') {
        whole.push(part);
    }
    whole
}

/// A folder that the user named, without links on the way. `None` if there is none.
pub(crate) fn root_of(folder: &Path) -> Option<PathBuf> {
    let is_current = folder.as_os_str().is_empty();
    let folder = if is_current { Path::new(".") } else { folder };
    let root = fs::canonicalize(folder).ok()?;
    root.is_dir().then_some(root)
}
