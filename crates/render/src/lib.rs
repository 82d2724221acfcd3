//! Pictures of meshes, made without a GPU: the same bytes for any number of threads and on every host.
//!
//! For normals that a reader computes with the host's sine function (OpenCTM with MG2, TMF), bytes may differ by host.
//!
//! This uses only sums, products, quotients and square roots, which every host rounds alike; no result of one band of rows depends
//! on another.
//!
//! 1. `meshmap_job` finds the snapshot or the frame that is meant, `meshmap_scene` the shapes and what moves them; `drawing` takes their
//!    triangles, and the vertices that they use. Missing normals are computed. A scene that could not be seen is framed without
//!    triangles that have no area, or has dots at the corners of its triangles.
//! 2. `camera` finds the nearest eye that has all vertices in the picture, and the place of each in parts of a pixel.
//! 3. `raster` finds the triangle at each sample, band by band, with whole numbers. Triangles that together cover the picture more
//!    than a few times are work of the job, because a few bytes can declare a huge number of triangles.
//! 4. `shading` lights a triangle once for each pixel that it has samples of. `occlusion` darkens folds by the surfaces near them
//!    on the picture. `draw` combines these steps.
//! 5. `picture` writes PNG and APNG, one picture at a time; `sheet` one row of tiles at a time. Both go through `meshmap_outputs`, so that
//!    a file appears when it is complete.
//!
//! Labels are in Noto Sans, a subset in `font`; `label` measures and draws them with `ttf-parser` and `ab_glyph_rasterizer`. A
//! picture on which no pixel is drawn is an error, with the reason from `drawing`.

// Layers, from bottom to top; `.ci/layers` checks them:
//
//     camera color: the projection; colours as light
//     background texture: what is behind the meshes; images on surfaces
//     picture: a picture, and files of it
//     label: texts on pictures
//     settings: the options of a picture, and the report on a drawn one
//     images: the images of a file
//     drawing sheet: the triangles of a scene; contact sheets
//     raster occlusion: the triangle at each sample; light that reaches folds
//     shading ground wires: the colour of a triangle at a place; the shadow on the ground; lines
//     draw: a scene as a picture
//     heat: distances between two meshes, as colours
//     render: pictures of files

#![warn(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_errors_doc
)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod background;
mod camera;
mod color;
mod draw;
mod drawing;
mod ground;
mod heat;
mod images;
mod label;
mod occlusion;
mod picture;
mod raster;
mod render;
mod settings;
mod shading;
mod sheet;
mod texture;
mod wires;

pub use background::Background;
pub use camera::Viewpoint;
pub use meshmap_job::{
    Assumption, Change, Entry, Error, FactKind, LeftOut, Limit, Lods, ParseError, Report, Result,
    Say, Turn, Warning, Why,
};
pub use picture::Picture;
pub use settings::{Mode, Render, Rendered, Samples};
pub use sheet::Sheet;

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
