//! The images that mesh files name: where they lie, and what is in them.
//!
//! * [`Library::find`] finds the image that a name means, beside the file and below further folders.
//!
//! Names come from strangers. Only regular files below the folders that the caller names are opened, and no link leads out of them.
//!
//! A [`Library`] belongs to a run: a folder is listed once. Files that appear later are not found by the search in any case, nor by
//! the search below folders.

// Layers, from bottom to top; `.ci/layers` checks them:
//
//     kind: the kinds of images
//     found: an image that was found, and the reasons why none was
//     file folder: the image at a path; the names in a folder
//     index listing: all images below a folder; paths in any case
//     search: the order in which places are searched
//     library: one for each run

#![warn(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_errors_doc
)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod file;
mod folder;
mod found;
mod index;
mod kind;
mod library;
mod listing;
mod search;

pub use found::{Extent, Found, NotFound, Searched, SearchedFolder, Unusable};
pub use kind::Kind;
pub use library::Library;
pub use search::Places;

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
