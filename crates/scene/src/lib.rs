//! The meaning of the mesh files that [`meshmap`] reads: what a program draws of them, and how it moves.
//!
//! `meshmap` returns what is stored: arrays, tables, names. A [`Scene`] is one answer to the questions that each renderer, converter
//! and viewer has about them:
//!
//! | question | answer |
//! |---|---|
//! | which meshes are drawn, and which levels of detail | [`Scene::shapes`], by [`SceneOptions`] |
//! | an index for all attributes of a vertex, or an index for each | [`Shape::read`] has both as one form, [`Shape::view`] has the first |
//! | which axis points up, how long is 1, which side is the front | [`Scene::up`], [`Scene::unit`], [`Scene::turns_triangles`] |
//! | which joints move the vertices, and where are they at rest | [`Scene::skeleton`] |
//! | where are the joints in a frame of an animation | [`Scene::clips`], [`Clip::sample`] |
//! | are these points or triangles | [`Scene::are_points`] |
//! | which colour has a material that stores none | [`Scene::tints`] |
//! | what could somebody miss in what is made of it | [`Scene::facts`] |
//!
//! Numbers stay the file's: [`Scene::upright`] is the transform that makes them upright and metres. Nothing here opens a file, or knows
//! a format that is written.
//!
//! # Examples
//!
//! Buffers for drawing, of every mesh of a file:
//!
//! ```
//! use meshmap::{MeshFile, Semantic, VertexFormat, VertexLayout};
//! use meshmap_scene::{Scene, SceneOptions};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/iqm/valid/skin_multi_anim.iqm");
//! let file = MeshFile::open(path)?;
//! let scene = Scene::new(&file, &SceneOptions::default())?;
//! let layout = VertexLayout::new()
//!     .with(Semantic::Position, VertexFormat::FLOAT32X3)
//!     .with_default(Semantic::Color(0), VertexFormat::FLOAT32X4, [1.0; 4]);
//! for shape in scene.shapes() {
//!     let mesh = shape.view(0)?;
//!     let (mut vertices, mut indices) = (Vec::new(), Vec::new());
//!     mesh.write_interleaved(&layout, |_, bytes| vertices.extend_from_slice(bytes))?;
//!     let format = mesh.indices().write_narrowest(|_, bytes| indices.extend_from_slice(bytes))?;
//!     let image = shape.material().and_then(|material| material.image);
//!     println!("{}: {} vertices, indices {format:?}, image {image:?}", shape.name(), mesh.vertex_count());
//! }
//! let mut model_matrix = scene.upright();
//! # assert_eq!(model_matrix[15], 1.0);
//! # model_matrix[0] = 0.0;
//! # Ok::<(), meshmap_scene::Error>(())
//! ```

// Layers, from bottom to top; `.ci/layers` checks them:
//
//     vector: points and directions
//     matrix: matrices of 4 x 4 numbers
//     error: errors
//     fact: what somebody could miss
//     options unit remark: the parts that are asked for; the meaning of a length; what could not be used
//     convex_hull: triangles around points
//     hierarchy pose: frames relative to other parents; vertices moved by joints
//     skeleton clip: joints at rest; animations of joints
//     material tint stream: surfaces, and colours for them; the numbers of a shape, and their indices
//     snapshots: one object through time
//     shape: what is drawn, in either form
//     iqm | slmesh | openctm | tmf: what is special in a format
//     select: the meshes that are asked for
//     scene: all of it
//     draw: shapes as programs draw them
//     overview: a file at a glance

#![warn(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_errors_doc
)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod clip;
mod convex_hull;
mod draw;
mod error;
mod fact;
mod hierarchy;
mod iqm;
mod material;
pub mod matrix;
mod openctm;
mod options;
mod overview;
mod pose;
mod remark;
mod scene;
mod select;
mod shape;
mod skeleton;
mod slmesh;
mod snapshots;
mod stream;
mod tint;
mod tmf;
mod unit;
pub mod vector;

pub use clip::{Clip, Event};
pub use draw::{DrawOptions, Drawn};
pub use error::{Error, Result};
pub use fact::{Fact, FactKind};
pub use material::{Material, is_image, is_image_file};
pub use options::{Levels, PosedFrame, SceneOptions};
pub use overview::{ClipTime, Overview, SnapshotTimes};
pub use pose::{Pose, VectorKind};
pub use remark::Remark;
pub use scene::{Joints, Scene};
pub use shape::{Shape, ShapeCounts};
pub use skeleton::{Joint, Rest, Skeleton};
pub use snapshots::rate_of_snapshots;
pub use stream::{Buffer, Corners, Parts, Stream};
pub use tint::Tints;
pub use unit::Unit;

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
