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
//! for what in &outcome.report.left_out {
//!     println!("left out: {what}");
//! }
//! # Ok::<(), meshmap_export::Error>(())
//! ```

// Layers, from bottom to top; `.ci/layers` checks them:
//
//     names snapshots: names in outputs, each once; the snapshots that are written
//     outcome: the result of writing
//     settings: the targets, and the options of a conversion
//     files: the names of an output's files, and what decides about their content
//     images: the images of one output
//     assume check material_ids: properties that a file does not specify; numbers that targets cannot hold; materials of triangles
//     plan: how a scene is written
//     ledger: what becomes of each kind of data
//     read rig: the numbers of streams, and joints with their animations, as they are written
//     gltf | usd | obj ply stl pc2: one writer for each target, and glTF, USD and the others do not know each other
//     convert: the dispatch to the writers

#![warn(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_errors_doc
)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod assume;
mod check;
mod convert;
mod files;
mod gltf;
mod images;
mod ledger;
mod material_ids;
mod names;
mod obj;
mod outcome;
mod pc2;
mod plan;
mod ply;
mod read;
mod rig;
mod settings;
mod snapshots;
mod stl;
mod usd;

pub use meshmap_job::{
    Assumption, Change, Entry, Error, ImageProblem, LeftOut, Limit, Lods, ParseError, Report,
    Result, Say, Textures, Turn, Warning, Why, find_texture, find_up_to_date,
};
pub use meshmap_scene::{FactKind, is_image, is_image_file};
pub use outcome::{Counts, Outcome};
pub use settings::{Convert, Target};
pub use snapshots::Snapshots;

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
