//! Inter-Quake Model (IQM), versions 1 and 2.
//!
//! Meshes, skeleton and animations of games built on engines of the Quake family. Specification: `iqm.txt` of the IQM
//! SDK (<https://github.com/lsalzman/iqm>), version 2 of 31 May 2011; what follows the SDK's code rather than its text
//! says so where it stands.
//!
//! * **Axes and units**: right-handed, Z up. Units are not stored.
//! * **Winding**: front faces are clockwise, in the SDK's exporters and in all models of games that were looked at.
//! * **Texture coordinates**: the origin is the top left corner, V points down; the SDK's exporter for Blender turns V
//!   over. The specification says nothing of these; [`Format::conventions`](crate::Format::conventions) has them as
//!   values.
//! * **Quaternions**: x, y, z, w. Version 1 does not store w, which is synthesised.
//! * **Matrices**: three rows of four, see [`Matrix`].
//!
//! Everything is read in place: headers and tables are cast, arrays are views, whatever their alignment. Opening
//! checks every range, name, parent and channel mask. That triangles use existing vertices is checked by
//! [`Model::triangles`] and [`Model::validate`], by a [`MeshView`](crate::MeshView) for its own triangles, and when
//! opening with [`Strictness::Strict`](crate::Strictness::Strict).
//!
//! Many models are split: one file with the mesh and its joints, and one file for each animation, with poses only.
//! [`Model::attach`] joins them.
//!
//! # Examples
//!
//! ```
//! use meshmap::iqm;
//!
//! let model = iqm::Model::open("tests/data/iqm/valid/skin_multi_anim.iqm")?;
//! let positions = model.positions()?.expect("this model has positions");
//! let [a, b, c] = model.triangles()?.get(0).expect("and triangles");
//! let corner = positions.get(a as usize);
//!
//! // The matrices that move the vertices in frame 3.
//! let skeleton = model.skeleton().expect("and joints");
//! let mut pose = vec![iqm::Trs::default(); model.frames().pose_count()];
//! model.frames().read_frame_into(3, &mut pose)?;
//! let skinning = skeleton.skinning_matrices(&pose)?;
//! # assert!(corner.is_some() && b != c && skinning.len() == pose.len());
//! # Ok::<(), meshmap::Error>(())
//! ```

mod anim;
mod array_list;
mod extension;
mod frame_bounds;
mod frames;
mod layout;
mod model;
mod names;
mod own_vertices;
mod pose;
#[cfg(feature = "raw")]
pub mod raw;
#[cfg(not(feature = "raw"))]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "its items are public with the feature `raw`"
)]
mod raw;
pub(crate) mod rules;
mod skeleton;
mod structure;
mod tables;
mod validate;
mod vertex_array;
mod view;

pub use anim::{Anim, Pose};
pub use extension::{Extension, FteEvent, FteMesh, FteMeshSkin, FteSkinFrame, FteSkins};
pub use frames::Frames;
pub(crate) use layout::HEAD;
pub use model::{Mesh, Model};
pub use pose::{Columns, IDENTITY, Matrix, Trs, invert, multiply, to_columns};
pub use skeleton::{Joint, Skeleton, world_matrices};
pub use vertex_array::{VertexArray, VertexArrayType};

pub(crate) use layout::detect;
