//! All images below a folder.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::file::joined;
use crate::folder::{Listed, NotListed, list};
use crate::found::Extent;

/// The indexes of folders, each of which is made once, when it is needed.
#[derive(Default)]
pub(crate) struct Indexes {
    folders: Mutex<HashMap<PathBuf, Arc<OnceLock<Arc<Index>>>>>,
}

impl Indexes {
    /// The index of a folder.
    pub(crate) fn of(&self, root: &Path) -> Arc<Index> {
        let slot = {
            let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(folders.entry(root.to_owned()).or_default())
        };
        // Other threads wait for this folder only.
        let index = slot.get_or_init(|| Arc::new(Index::of(root, Bounds::USUAL)));
        Arc::clone(index)
    }
}

/// All images below a folder, up to the bounds.
pub(crate) struct Index {
    /// In the order of their keys, then of the bytes of their paths.
    images: Vec<Image>,
    pub(crate) extent: Extent,
}

/// An image below a folder.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Image {
    /// The parts of the path in lower case, the last one first, each with a slash: images whose paths end with the same parts
    /// are neighbours.
    key: String,
    /// The path with slashes, relative to the folder.
    path: String,
}

/// The bounds of an index. A folder of an artist has thousands of names and five levels.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    /// The maximum number of names in all folders.
    pub(crate) names: usize,
    /// The maximum number of bytes of the paths of images.
    pub(crate) bytes: usize,
    /// The maximum number of folders on the way to an image.
    pub(crate) depth: usize,
}

impl Bounds {
    pub(crate) const USUAL: Self = Self {
        names: 200_000,
        bytes: 64 << 20,
        depth: 32,
    };
}

/// The end of the names of folders into which outputs copy their images, such as `crate.glb.textures`.
const COPIES: &str = ".textures";

/// A folder that is to be listed.
struct Waiting {
    path: String,
    depth: usize,
}

impl Index {
    /// Lists a folder and all folders below it, the shallow ones first. Links are not followed. The result does not depend on
    /// the order in which the file system returns names: a folder that does not fit into the bounds ends the search.
    pub(crate) fn of(root: &Path, bounds: Bounds) -> Self {
        let mut index = Self {
            images: Vec::new(),
            extent: Extent::Whole,
        };
        let mut names = 0;
        let mut bytes = 0;
        let mut waiting = VecDeque::from([Waiting {
            path: String::new(),
            depth: 0,
        }]);
        while let Some(folder) = waiting.pop_front() {
            let listed = match list(&joined(root, &folder.path), bounds.names - names) {
                Ok(listed) => listed,
                Err(NotListed::TooMany) => {
                    index.extent = Extent::Part;
                    break;
                }
                Err(NotListed::NotReadable) => {
                    index.note_unreadable(folder.depth);
                    continue;
                }
            };
            names += listed.count;
            bytes += bytes_of_paths(&folder, &listed);
            if bytes > bounds.bytes {
                index.extent = Extent::Part;
                break;
            }
            index.add(&folder, listed, bounds, &mut waiting);
        }
        index.images.sort_unstable();
        index
    }

    fn note_unreadable(&mut self, depth: usize) {
        if depth == 0 {
            self.extent = Extent::Nothing;
        } else if self.extent == Extent::Whole {
            self.extent = Extent::Readable;
        }
    }

    /// Adds the images in a folder, and has the folders in it listed later.
    fn add(
        &mut self,
        folder: &Waiting,
        listed: Listed,
        bounds: Bounds,
        waiting: &mut VecDeque<Waiting>,
    ) {
        for entry in listed.entries {
            let path = match folder.path.is_empty() {
                true => entry.name,
                false => format!("{}/{}", folder.path, entry.name),
            };
            if !entry.is_folder {
                let key = key_of(&path);
                self.images.push(Image { key, path });
                continue;
            }
            // An image that a run copies must not be what the next run finds.
            if path.ends_with(COPIES) {
                continue;
            }
            if folder.depth < bounds.depth {
                let depth = folder.depth + 1;
                waiting.push_back(Waiting { path, depth });
            } else {
                self.extent = Extent::Part;
            }
        }
    }

    /// The images whose paths end with the last `count` parts of a path, in the same or in another case: their paths, the
    /// shallow ones first, then in the order of their bytes.
    ///
    /// Takes time in proportion to the number of images whose paths end with these parts in any case.
    pub(crate) fn ending_with(&self, path: &str, count: usize, has_same_case: bool) -> Vec<&str> {
        let end = last_parts(path, count);
        let mut paths: Vec<&str> = Vec::new();
        for image in self.with_key(&key_of(end)) {
            let is_same = last_parts(&image.path, count) == end;
            if is_same == has_same_case {
                paths.push(&image.path);
            }
        }
        paths.sort_unstable_by_key(|path| (path.matches('/').count(), *path));
        paths
    }

    fn with_key(&self, start: &str) -> &[Image] {
        let from = self
            .images
            .partition_point(|image| image.key.as_str() < start);
        let rest = self.images.get(from..).unwrap_or_default();
        let length = rest.partition_point(|image| image.key.starts_with(start));
        rest.get(..length).unwrap_or_default()
    }
}

/// The bytes of the paths of what is in a folder, and of their keys.
fn bytes_of_paths(folder: &Waiting, listed: &Listed) -> usize {
    let mut bytes = 0;
    for entry in &listed.entries {
        bytes += 2 * (folder.path.len() + entry.name.len() + 1);
    }
    bytes
}

fn key_of(path: &str) -> String {
    let mut key = String::with_capacity(path.len() + 1);
    for part in path.rsplit('/') {
        key.push_str(&part.to_lowercase());
        key.push('/');
    }
    key
}

/// The last parts of a path with slashes; the whole path if it has no more.
fn last_parts(path: &str, count: usize) -> &str {
    let slashes = path.rmatch_indices('/');
    match slashes.map(|(slash, _)| slash).nth(count.max(1) - 1) {
        Some(slash) => path.get(slash + 1..).unwrap_or_default(),
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn index(files: &[&str], bounds: Bounds) -> Index {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, b"").unwrap();
        }
        Index::of(root.path(), bounds)
    }

    #[test]
    fn paths_end_with_whole_parts() {
        let files = [
            "far.png",
            "a/far.png",
            "b/a/Far.PNG",
            "c/a/far.png",
            "a/nofar.png",
        ];
        let index = index(&files, Bounds::USUAL);
        assert_eq!(index.extent, Extent::Whole);
        let same = |path, count| index.ending_with(path, count, true);
        assert_eq!(
            same("x/a/far.png", 1),
            ["far.png", "a/far.png", "c/a/far.png"]
        );
        assert_eq!(same("x/a/far.png", 2), ["a/far.png", "c/a/far.png"]);
        assert_eq!(same("x/a/far.png", 3), [""; 0]);
        assert_eq!(index.ending_with("x/A/far.png", 2, false).len(), 3);
        assert_eq!(index.ending_with("a/far.png", 2, false), ["b/a/Far.PNG"]);
    }

    #[test]
    fn bounds_end_the_search_and_are_noted() {
        let files = ["a.png", "x/b.png", "x/y/c.png", "z.txt"];
        let found = |bounds| {
            let index = index(&files, bounds);
            (index.images.len(), index.extent)
        };
        let bounds = Bounds {
            depth: 1,
            ..Bounds::USUAL
        };
        assert_eq!(found(bounds), (2, Extent::Part));
        let bounds = Bounds {
            depth: 2,
            ..Bounds::USUAL
        };
        assert_eq!(found(bounds), (3, Extent::Whole));
        // Three names at the top, two below.
        let bounds = Bounds {
            names: 4,
            ..Bounds::USUAL
        };
        assert_eq!(found(bounds), (1, Extent::Part));
        let bounds = Bounds {
            names: 6,
            ..Bounds::USUAL
        };
        assert_eq!(found(bounds), (3, Extent::Whole));
        let bounds = Bounds {
            bytes: 20,
            ..Bounds::USUAL
        };
        assert_eq!(found(bounds), (1, Extent::Part));
        assert_eq!(
            Index::of(Path::new("not there"), Bounds::USUAL).extent,
            Extent::Nothing
        );
    }
}
