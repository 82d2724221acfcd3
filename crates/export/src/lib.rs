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

#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::missing_errors_doc)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod budget;
#[cfg(test)]
mod charged;
mod convert;
mod destination;
mod error;
mod gltf;
mod index;
mod matrix;
mod moment;
mod obj;
mod options;
mod outcome;
mod output;
mod pc2;
mod ply;
mod render;
mod scene;
mod settings;
mod stamp;
mod stl;
mod texture;
mod turn;
mod usd;
mod vector;
mod verify;

pub use error::{Error, Limit, Result};
pub use index::{Index, Origin};
pub use options::{ParseError, Snapshots};
pub use outcome::Outcome;
pub use output::Output;
pub use render::{Mode, Picture, Render, Rendered, Samples, Sheet};
pub use settings::{Convert, Lods, Target};
pub use stamp::Textures;
pub use texture::{find_texture, is_image};
pub use turn::Turn;
pub use verify::Checked;

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
