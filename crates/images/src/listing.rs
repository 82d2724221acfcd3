//! Paths in any case.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::file::joined;
use crate::folder::{Entry, list};

/// The names in folders, each of which is listed once.
#[derive(Default)]
pub(crate) struct Listings {
    folders: Mutex<HashMap<PathBuf, Arc<OnceLock<Listing>>>>,
}

/// The names in a folder by the same in lower case. Empty for a folder that cannot be listed, or has too many.
type Listing = HashMap<String, Vec<Entry>>;

/// The maximum number of names in a folder that is listed.
const MOST_NAMES: usize = 200_000;

/// The maximum number of folders whose names are kept. Runs of more folders list some of them again.
const MOST_FOLDERS: usize = 10_000;

/// The maximum number of folders that differ from a path only in case.
const MOST_VARIANTS: usize = 16;

impl Listings {
    /// The files that are at a relative path, if case makes no difference, except for the path itself: paths in the order of
    /// their bytes.
    pub(crate) fn variants(&self, root: &Path, path: &str) -> Vec<String> {
        let mut folders = vec![String::new()];
        let mut files = Vec::new();
        let mut parts = path.split('/').peekable();
        while let Some(part) = parts.next() {
            let is_last = parts.peek().is_none();
            let part = part.to_lowercase();
            let mut next = Vec::new();
            for folder in &folders {
                let listing = self.listing(&joined(root, folder));
                for entry in names(&listing, &part) {
                    if entry.is_folder == is_last {
                        continue;
                    }
                    next.push(match folder.is_empty() {
                        true => entry.name.clone(),
                        false => format!("{folder}/{}", entry.name),
                    });
                }
            }
            if is_last {
                files = next;
                break;
            }
            next.truncate(MOST_VARIANTS);
            folders = next;
        }
        files.retain(|file| file != path);
        files.sort_unstable();
        files
    }

    fn listing(&self, folder: &Path) -> Arc<OnceLock<Listing>> {
        let slot = {
            let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
            if folders.len() >= MOST_FOLDERS && !folders.contains_key(folder) {
                folders.clear();
            }
            Arc::clone(folders.entry(folder.to_owned()).or_default())
        };
        // Other threads wait for this folder only.
        slot.get_or_init(|| listing_of(folder));
        slot
    }
}

fn listing_of(folder: &Path) -> Listing {
    let mut listing = Listing::new();
    let Ok(listed) = list(folder, MOST_NAMES) else {
        return listing;
    };
    for entry in listed.entries {
        let key = entry.name.to_lowercase();
        listing.entry(key).or_default().push(entry);
    }
    listing
}

fn names<'a>(listing: &'a OnceLock<Listing>, part: &str) -> &'a [Entry] {
    let entries = listing.get().and_then(|listing| listing.get(part));
    entries.map_or(&[], Vec::as_slice)
}
