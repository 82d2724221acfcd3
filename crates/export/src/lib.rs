//! Writes meshes that [`meshmap`] reads as files of other formats: GLB, USD, OBJ, PLY, STL and PC2.
//!
//! Numbers are the file's. What a target cannot hold is left out, what must be rounded is rounded, and [`Outcome`] says
//! both. The same input gives the same bytes.
//!
//! ```no_run
//! use meshmap::MeshFile;
//! use meshmap_export::{Convert, Target};
//!
//! let file = MeshFile::open("wave.cgeo")?;
//! let outcome = Convert::new(Target::Glb).write_file(&file, "wave.glb")?;
//! for what in &outcome.left_out {
//!     println!("left out: {what}");
//! }
//! # Ok::<(), meshmap_export::Error>(())
//! ```

// Layers, from bottom to top; `.ci/layers` checks them:
//
//     vector matrix: arithmetic
//     looked_for: the images that an output refers to
//     error outcome: errors and reports
//     budget: the memory and the output of one call
//     moment: the time of a file that is written or drawn
//     options turn settings: structs of options and the texts of their values; the turn about the up axis; the targets, and the options of a conversion
//     files: the names of an output's files, and what decides about their content
//     texture: images that files name, on disk
//     scene: a mesh file as all targets are written from it, and what each format means
//     gltf | usd | obj ply stl pc2: one writer for each target, and glTF, USD and the others do not know each other
//     render | verify: pictures; and readers of written files, which share nothing with the writers, compared with the scene
//     convert: the dispatch to the writers

#![warn(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_errors_doc
)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod budget;
#[cfg(test)]
mod charged;
mod convert;
mod error;
mod files;
mod gltf;
mod looked_for;
mod matrix;
mod moment;
mod obj;
mod options;
mod outcome;
mod pc2;
mod ply;
mod render;
mod scene;
mod settings;
mod stl;
mod texture;
mod turn;
mod usd;
mod vector;
mod verify;

pub use error::{Error, Limit, Result};
pub use looked_for::Textures;
pub use options::{ParseError, Snapshots};
pub use outcome::Outcome;
pub use render::{Mode, Picture, Render, Rendered, Samples, Sheet};
pub use settings::{Convert, Lods, Target};
pub use texture::{find_texture, find_up_to_date, is_image};
pub use turn::Turn;
pub use verify::Checked;

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
