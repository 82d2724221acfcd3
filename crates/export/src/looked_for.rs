//! The images that a conversion looked for.

use std::path::PathBuf;

use meshmap_outputs::{RecordedPath, Stamp};
use serde::{Deserialize, Serialize};

/// The images that a conversion looked for.
///
/// A text of serde holds all that is needed to look for them again: see [`find_up_to_date`](crate::find_up_to_date).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Textures {
    /// The target, which holds some kinds of images.
    pub(crate) target: String,
    pub(crate) folders: Vec<RecordedPath>,
    /// The folder of the output, from which it refers to images.
    pub(crate) output: Option<RecordedPath>,
    /// Each name, and the image that was found for it.
    pub(crate) images: Vec<(String, Option<Found>)>,
}

/// An image that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Found {
    pub(crate) file: RecordedPath,
    #[serde(flatten)]
    pub(crate) stamp: Stamp,
    pub(crate) is_used: bool,
}

impl Textures {
    /// Returns `true` if no image was looked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.images.is_empty()
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

    /// The images that were recorded. `None` if the text was made by another program.
    pub(crate) fn of_record(text: &str) -> Option<Self> {
        if text.is_empty() {
            Some(Self::default())
        } else {
            serde_json::from_str(text).ok()
        }
    }

    /// Records that the output refers to none of the images.
    pub(crate) fn use_none(&mut self) {
        for (_, found) in &mut self.images {
            if let Some(found) = found {
                found.is_used = false;
            }
        }
    }

    /// The images that the output refers to: the name in the file that was read, and the path of the image.
    pub fn found(&self) -> impl Iterator<Item = (&str, PathBuf)> {
        let found = self
            .images
            .iter()
            .filter_map(|(name, found)| Some((name, found.as_ref()?)));
        found
            .filter(|(_, found)| found.is_used)
            .map(|(name, found)| (name.as_str(), found.file.as_ref().to_owned()))
    }
}
