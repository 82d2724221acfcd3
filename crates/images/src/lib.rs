//! The images that mesh files name: where they lie, and what is in them.
//!
//! * [`Library::find`] finds the image that a name means, next to the file and below further folders.
//! * [`Library::pixels`] decodes it, [`Library::alpha`] says what its alpha channel is used for, and [`Library::as_png`] makes a PNG of
//!   it, for programs that do not read its kind.
//!
//! Names come from strangers. Only regular files below the folders that the caller names are opened, and no link leads out of them.
//!
//! No image takes more memory than the caller allows, whatever its head says, nor time that is not in proportion to it.
//!
//! A [`Library`] belongs to a run: a folder is listed once, and an image is decoded once. Files that appear later are not found by the search in any case, nor by
//! the search below folders.

// Layers, from bottom to top; `.ci/layers` checks them:
//
//     kind: the kinds of images
//     found: an image that was found, and the reasons why none was
//     file folder: the image at a path; the names in a folder
//     index listing: all images below a folder; paths in any case
//     search: the order in which places are searched
//     error pixels: the reasons why an image is not decoded; its pixels
//     alpha jpeg webp: the use of the alpha channel; heads that are read before a decoder reads them
//     encode: images as PNG
//     decode: the decoders, and the memory that they need
//     kept: results that are kept for others
//     contents: the contents of images, each of which is decoded once
//     library: one for each run

#![warn(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_errors_doc
)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod alpha;
mod contents;
mod decode;
mod encode;
mod error;
mod file;
mod folder;
mod found;
mod index;
mod jpeg;
mod kept;
mod kind;
mod library;
mod listing;
mod pixels;
mod search;
mod webp;

pub use alpha::Alpha;
pub use error::DecodeError;
pub use found::{Extent, Found, NotFound, Searched, SearchedFolder, Unusable};
pub use kind::Kind;
pub use library::Library;
pub use pixels::Pixels;
pub use search::Places;

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
