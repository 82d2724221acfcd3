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
//     names: names in outputs, each once
//     looked_for: the images that an output refers to
//     error report: errors; what differs from a file
//     words outcome remarks: the words of reports; the result of writing; parts that cannot be used
//     budget: the memory and the output of one call
//     moment: the time of a file that is written or drawn
//     options turn settings: structs of options and the texts of their values; the turn about the up axis; the targets, and the options of a conversion
//     files: the names of an output's files, and what decides about their content
//     texture images: images that files name, on disk; the images of one output
//     assume check material_ids: properties that a file does not specify; numbers that targets cannot hold; materials of triangles
//     plan: how a scene is written
//     ledger: what becomes of each kind of data
//     read rig: the numbers of streams, and joints with their animations, as they are written
//     gltf | usd | obj ply stl pc2: one writer for each target, and glTF, USD and the others do not know each other
//     render: pictures
//     convert: the dispatch to the writers

#![warn(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_errors_doc
)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod assume;
mod budget;
#[cfg(test)]
mod charged;
mod check;
mod convert;
mod error;
mod files;
mod gltf;
mod images;
mod ledger;
mod looked_for;
mod material_ids;
mod moment;
mod names;
mod obj;
mod options;
mod outcome;
mod pc2;
mod plan;
mod ply;
mod read;
mod remarks;
mod render;
mod report;
mod rig;
mod settings;
mod stl;
mod texture;
mod turn;
mod usd;
mod words;

pub use error::{Error, Limit, Result};
pub use looked_for::Textures;
pub use meshmap_scene::{FactKind, is_image};
pub use options::{ParseError, Snapshots};
pub use outcome::Outcome;
pub use render::{Mode, Picture, Render, Rendered, Samples, Sheet};
pub use report::{Assumption, Change, Entry, ImageProblem, LeftOut, Report, Warning, Why};
pub use settings::{Convert, Lods, Target};
pub use texture::{find_texture, find_up_to_date};
pub use turn::Turn;
pub use words::Say;

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
