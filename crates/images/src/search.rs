//! The order in which places are searched.

use std::path::{Path, PathBuf};

use crate::file::{image, joined, root_of};
use crate::found::{Extent, Found, NotFound, Searched, SearchedFolder, Unusable};
use crate::index::{Bounds, Indexes};
use crate::listing::Listings;

/// The folders in which an image is looked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Places<'a> {
    /// The folder of the file that names the image: at the path that the file names, and not at any depth.
    pub beside: Option<&'a Path>,
    /// Further folders, in the order in which they are preferred: at any depth.
    pub below: &'a [PathBuf],
}

/// The folders of a run, each of which is listed once.
#[derive(Default)]
pub(crate) struct Folders {
    listings: Listings,
    indexes: Indexes,
}

/// The maximum number of images that are tried for a name if they cannot be used.
const MOST_TRIED: usize = 64;

/// A search for one name.
struct Search<'a> {
    beside: Option<PathBuf>,
    below: Vec<PathBuf>,
    folders: &'a Folders,
    /// The first image that cannot be used.
    unusable: Option<NotFound>,
    /// The number of images that could not be used.
    tried: usize,
}

/// Finds an image by the rules of [`Library::find`](crate::Library::find).
pub(crate) fn find(
    candidates: &[String],
    places: &Places<'_>,
    folders: &Folders,
) -> Result<Found, NotFound> {
    if candidates.is_empty() {
        return Err(NotFound::NoName);
    }
    if places.beside.is_none() && places.below.is_empty() {
        return Err(NotFound::NoFolder);
    }
    let mut search = Search {
        beside: places.beside.and_then(root_of),
        below: Vec::new(),
        folders,
        unusable: None,
        tried: 0,
    };
    for folder in places.below {
        search.below.extend(root_of(folder));
    }
    if let Some(found) = search.run(candidates) {
        return Ok(found);
    }
    match search.unusable {
        Some(problem) => Err(problem),
        None => Err(NotFound::Nothing(searched(places, folders))),
    }
}

/// The places that were searched.
fn searched(places: &Places<'_>, folders: &Folders) -> Searched {
    let mut below = Vec::new();
    for path in places.below {
        let root = root_of(path);
        below.push(SearchedFolder {
            path: path.clone(),
            extent: root.map_or(Extent::Nothing, |root| folders.indexes.of(&root).extent),
        });
    }
    Searched {
        beside: places.beside.map(Path::to_owned),
        below,
    }
}

impl Search<'_> {
    fn run(&mut self, candidates: &[String]) -> Option<Found> {
        let mut named = Vec::new();
        let mut base_names = Vec::new();
        for candidate in candidates {
            match candidate.contains('/') {
                true => named.push(candidate.as_str()),
                false => base_names.push(candidate.as_str()),
            }
        }
        // The path that the file names.
        if let Some(found) = self.at_path(&named) {
            return Some(found);
        }
        let most_parts = named.iter().map(|path| parts(path)).max().unwrap_or(0);
        // A path of an index does not have more.
        for count in (2..=most_parts.min(Bounds::USUAL.depth + 1)).rev() {
            if let Some(found) = self.at_any_depth(&named, count) {
                return Some(found);
            }
        }
        // Its last part.
        if let Some(found) = self.at_path(&base_names) {
            return Some(found);
        }
        self.at_any_depth(&base_names, 1)
    }

    /// The image at one of these paths, next to the file or in one of the folders.
    fn at_path(&mut self, candidates: &[&str]) -> Option<Found> {
        if let Some(root) = self.beside.clone() {
            for candidate in candidates {
                if let Some(found) = self.at(std::slice::from_ref(&root), candidate) {
                    return Some(found);
                }
            }
        }
        let roots = self.below.clone();
        for candidate in candidates {
            if let Some(found) = self.at(&roots, candidate) {
                return Some(found);
            }
        }
        None
    }

    /// The image at a path in one of these folders: in the same case, then in another one.
    fn at(&mut self, roots: &[PathBuf], candidate: &str) -> Option<Found> {
        for root in roots {
            if let Some(found) = self.first_of(root, &[candidate]) {
                return Some(found);
            }
        }
        for root in roots {
            let variants = self.folders.listings.variants(root, candidate);
            let variants: Vec<&str> = variants.iter().map(String::as_str).collect();
            if let Some(found) = self.first_of(root, &variants) {
                return Some(found);
            }
        }
        None
    }

    /// The image below the folders whose path ends with the last `count` parts of one of these paths.
    fn at_any_depth(&mut self, candidates: &[&str], count: usize) -> Option<Found> {
        let roots = self.below.clone();
        for candidate in candidates.iter().filter(|path| parts(path) >= count) {
            for has_same_case in [true, false] {
                for root in &roots {
                    let index = self.folders.indexes.of(root);
                    let paths = index.ending_with(candidate, count, has_same_case);
                    if let Some(found) = self.first_of(root, &paths) {
                        return Some(found);
                    }
                }
            }
        }
        None
    }

    /// The first of these paths in a folder at which there is an image that can be used. The paths are equally good.
    fn first_of(&mut self, root: &Path, paths: &[&str]) -> Option<Found> {
        for (index, path) in paths.iter().enumerate() {
            if self.tried >= MOST_TRIED {
                return None;
            }
            match image(root, path) {
                Ok(Some(found)) => {
                    let others = paths.get(index + 1..).unwrap_or_default();
                    return Some(found.with_others(others.iter().map(|path| joined(root, path))));
                }
                Ok(None) => {}
                Err(problem) => self.note(joined(root, path), problem),
            }
        }
        None
    }

    fn note(&mut self, path: PathBuf, problem: Unusable) {
        self.tried += 1;
        if self.unusable.is_none() {
            self.unusable = Some(NotFound::Unusable { path, problem });
        }
    }
}

/// The number of parts of a path.
fn parts(path: &str) -> usize {
    path.split('/').count()
}
