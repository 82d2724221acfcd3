//! The images that an output was made with, to look for them again.

use std::fs;
use std::path::{Path, PathBuf};

use meshmap_images::{Found, Library};
use meshmap_outputs::{Known, Place, Record, RecordedPath, Stamp};
use serde::{Deserialize, Serialize};

use crate::images::Search;

/// The images that a conversion or a picture looked for.
///
/// A text of serde holds all that is needed to look for them again: see [`find_up_to_date`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Textures {
    /// The folder of the file.
    beside: Option<RecordedPath>,
    /// Further folders.
    below: Vec<RecordedPath>,
    /// The folder of the output, from which it refers to images.
    output: Option<RecordedPath>,
    /// Each name, and the image that was found for it.
    images: Vec<(String, Option<FoundImage>)>,
}

/// An image that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FoundImage {
    file: RecordedPath,
    #[serde(flatten)]
    stamp: Stamp,
    is_used: bool,
}

impl Textures {
    /// Returns `true` if no image was looked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.images.is_empty()
    }

    /// Records that a name was looked for.
    pub fn add(&mut self, name: &str, found: Option<&Found>, is_used: bool, search: &Search<'_>) {
        if self.is_empty() {
            let whole = |folder: &Path| {
                RecordedPath::of(&std::path::absolute(or_current(folder)).unwrap_or_default())
            };
            self.beside = search.folder.map(whole);
            self.below = search.textures.iter().map(|folder| whole(folder)).collect();
        }
        let found = found.map(|found| FoundImage {
            file: RecordedPath::of(&found.path),
            stamp: found.stamp,
            is_used,
        });
        self.images.push((name.to_owned(), found));
    }

    /// Records the folder from which an output refers to images by paths.
    pub fn refer_from(&mut self, folder: &Path) {
        self.output = resolved(folder);
    }

    /// Records that the output refers to none of the images.
    pub fn use_none(&mut self) {
        for (_, found) in &mut self.images {
            if let Some(found) = found {
                found.is_used = false;
            }
        }
    }

    /// The images as a text, for the record of an output. It is empty if no image was looked for.
    #[must_use]
    pub fn to_record(&self) -> String {
        // These types can be written as JSON.
        if self.is_empty() {
            String::new()
        } else {
            serde_json::to_string(self).unwrap_or_default()
        }
    }

    /// The images that were recorded. `None` if the text was made by another program, or by another version.
    fn of_record(text: &str) -> Option<Self> {
        if text.is_empty() {
            Some(Self::default())
        } else {
            serde_json::from_str(text).ok()
        }
    }

    /// The images that the output has: the name in the file that was read, and the path of the image.
    pub fn found(&self) -> impl Iterator<Item = (&str, PathBuf)> {
        let found = self
            .images
            .iter()
            .filter_map(|(name, found)| Some((name, found.as_ref()?)));
        found
            .filter(|(_, found)| found.is_used)
            .map(|(name, found)| (name.as_str(), found.file.as_ref().to_owned()))
    }

    /// Returns `true` if the same images would be found again for this output, at the same place from there.
    fn are_unchanged(&self, output: &Place, library: &Library) -> bool {
        let is_moved = self.output.is_some() && self.output != resolved(&output.folder_path());
        if is_moved {
            return false;
        }
        let below: Vec<PathBuf> = self.below.iter().map(path_of).collect();
        let beside = self.beside.as_ref().map(path_of);
        let search = Search {
            library,
            folder: beside.as_deref(),
            textures: &below,
        };
        self.images.iter().all(|(name, seen)| {
            let image = search.find(name).ok();
            match (image, seen) {
                (Some(image), Some(seen)) => {
                    RecordedPath::of(&image.path) == seen.file && image.stamp == seen.stamp
                }
                (None, None) => true,
                _ => false,
            }
        })
    }
}

fn path_of(recorded: &RecordedPath) -> PathBuf {
    recorded.as_ref().to_owned()
}

/// The record of an output that was made with this fingerprint, if it has not changed since then, nor have the images that it was made with.
#[must_use]
pub fn find_up_to_date<'a>(
    record: &'a Record,
    output: &Place,
    fingerprint: &str,
    library: &Library,
) -> Option<Known<'a>> {
    let known = record.find(output, fingerprint)?;
    let is_unchanged = Textures::of_record(known.looked_for)?.are_unchanged(output, library);
    is_unchanged.then_some(known)
}

/// A folder without links on the way.
fn resolved(folder: &Path) -> Option<RecordedPath> {
    fs::canonicalize(or_current(folder))
        .ok()
        .map(|folder| RecordedPath::of(&folder))
}

/// A folder. An empty path, such as the parent of a name, is the current one.
#[must_use]
pub fn or_current(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    }
}
