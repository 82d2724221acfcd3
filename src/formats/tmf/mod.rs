//! Tight Model Format (TMF), versions 0.1 and 0.2.
//!
//! Meshes whose numbers take up only the bits that their precision needs.
//!
//! The published specification, `TMF_SPEC.md` of <https://github.com/FractalFir/tmf>, is a draft of version 0.1 and
//! describes what this module calls layout A. All files written since June 2023 have layout B, whose only specification
//! is the crate `tmf` 0.2. Both are read; the minimum version distinguishes them. See [`FileLayout`].
//!
//! * **Axes, units, winding, texture origin**: neither stored nor specified, and
//!   [`Format::conventions`](crate::Format::conventions) has none; files have the conventions of their writer.
//! * **Positions** are integers within a box that each segment stores; values are bit for bit the same as in the crate's default
//!   build. The box is not the bounding box (all writers get it wrong): compute bounds from the points.
//! * **Normals and tangents** are an angle around Z and a height, with a sign for each axis. Sines and cosines are computed by the
//!   host's `f32::sin_cos`: on Linux with glibc, bit for bit the same as in the crate; elsewhere one unit in the last place may
//!   differ.
//! * **Indices**: separate arrays for vertices, normals, texture coordinates and tangents, which may share segments; see
//!   [`Mesh::indices`]. A [`MeshView`](crate::MeshView) has one array for all, with vertices remapped where they
//!   differ.
//!
//! Opening reads the headers of all segments and checks every count against the bytes of the segment; nothing is
//! decoded (except coordinates of more than 32 bits, see the rule `wide_coordinates`). Arrays are [`Packed`]: decoded
//! element by element, by range, or as a whole in parallel. That indices are in range is checked by
//! [`Document::validate`], by a [`MeshView`](crate::MeshView) for its own mesh, and when opening with
//! [`Strictness::Strict`](crate::Strictness::Strict).
//!
//! # Examples
//!
//! ```
//! use meshmap::tmf;
//!
//! let document = tmf::Document::open("tests/data/tmf/valid/v021_unified_cube.tmf")?;
//! for mesh in document.meshes() {
//!     let vertices = mesh.positions().expect("this mesh has vertices").read()?;
//!     let triangles = mesh.indices()?.positions.expect("and triangles");
//!     println!("{}: {} vertices, {} triangles", mesh.name(), vertices.len(), triangles.len() / 3);
//! }
//! # Ok::<(), meshmap::Error>(())
//! ```

mod angles;
mod array_list;
mod coordinates;
mod decode;
mod document;
mod layout;
mod mesh;
mod packed;
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
mod segment;
mod validate;
mod view;

pub use document::Document;
pub(crate) use layout::HEAD;
pub use mesh::{CornerIndices, Custom, CustomValues, Mesh};
pub use packed::{Packed, PackedElement};
pub use segment::{FileLayout, Segment};

pub(crate) use layout::detect;
