//! Compares files that [`meshmap_export`] has written with the mesh files of which they were made.
//!
//! The readers of written files share no code with the writers. PLY and STL are read by `ply-rs-bw` and `stl_io`, and what is read of OBJ
//! must be what `tobj` reads. The expected content of a file follows from the [`Scene`](meshmap_scene::Scene)
//! of the mesh file and from the options of the conversion.
//!
//! ```no_run
//! use meshmap::MeshFile;
//! use meshmap_export::{Convert, Target};
//!
//! let file = MeshFile::open("wave.cgeo")?;
//! let convert = Convert::new(Target::Glb);
//! convert.write_file(&file, "wave.glb")?;
//! let checked = meshmap_check::check_file(&convert, &file, "wave.glb")?;
//! assert!(checked.differs.is_empty());
//! # Ok::<(), meshmap_export::Error>(())
//! ```

// Layers, from bottom to top; `.ci/layers` checks them:
//
//     tally turn: the result of a comparison; the turn about the axis that points up
//     mesh: triangles and what their corners have, in a mesh file or in a written file
//     gltf | obj | pc2 | ply | stl | usdc: readers of written files
//     rules: the changes of a target to a scene
//     expected: the shapes of a scene as a target has them
//     compare/root | compare/times | compare/materials | compare/tobj: parts of written files, compared with the scene
//     compare/skins | compare/skeletons: joints and animations, in glTF and in USD
//     compare/gltf | compare/usd | compare/objects | compare/joined: written files, compared with the scene
//     check: the comparison of a file

#![warn(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_errors_doc
)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod check;
mod compare;
mod expected;
mod gltf;
mod mesh;
mod obj;
mod pc2;
mod ply;
mod rules;
mod stl;
mod tally;
mod turn;
pub mod usdc;

pub use check::check_file;
pub use tally::Checked;
