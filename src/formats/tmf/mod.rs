//! Tight Model Format (TMF), versions 0.1 and 0.2.
//!
//! Meshes whose numbers take up as few bits as their precision needs. The published specification, `TMF_SPEC.md` of
//! <https://github.com/FractalFir/tmf>, is a draft of version 0.1 and describes what this module calls layout A; all
//! files that were written since June 2023 have layout B, for which there is no specification but the crate `tmf` 0.2.
//! Both are read, told apart by the minimum version; see [`FileLayout`].
//!
//! * **Axes, units, winding, texture origin**: not stored, and not said anywhere; whatever the writer's were.
//! * **Positions** are integers within a box that each segment stores; values are those of the crate in its default
//!   build, bit for bit. The box is not that of the points (all writers get it wrong): compute bounds from them.
//! * **Normals and tangents** are an angle around Z and a height, with a sign for each axis. Sines and cosines are those
//!   of the host's `f32::sin_cos`: on Linux with glibc, bit for bit those of the crate; elsewhere one unit in the last
//!   place may differ.
//! * **Indices**: one array for each of vertices, normals, texture coordinates and tangents, which may share segments;
//!   see [`Mesh::triangles`]. A [`MeshView`](crate::MeshView) welds them to one where they differ.
//!
//! Opening walks the headers of all segments and checks every count against the bytes that are there; nothing is
//! decoded (but for coordinates of more than 32 bits, see [`rules::WIDE_COORDINATES`]). Arrays are [`Packed`]:
//! decoded element by element, by range, or as a whole in parallel. That indices are in range is checked by
//! [`Document::validate`], by a [`View`](crate::View) of its own mesh, and by opening with
//! [`Strictness::Strict`](crate::Strictness::Strict).
//!
//! # Examples
//!
//! ```
//! use meshmap::{Source, tmf};
//!
//! let document = tmf::Document::from_source(Source::open("tests/data/tmf/valid/v021_unified_cube.tmf")?)?;
//! for mesh in document.meshes() {
//!     let vertices = mesh.vertices().expect("this mesh has vertices").decode()?;
//!     let triangles = mesh.triangles()?.vertex.expect("and triangles");
//!     println!("{}: {} vertices, {} triangles", mesh.name(), vertices.len(), triangles.len() / 3);
//! }
//! # Ok::<(), meshmap::Error>(())
//! ```

mod decode;
mod detect;
mod document;
mod layout;
mod mesh;
mod packed;
pub mod raw;
pub mod rules;
mod validate;
mod view;

pub use crate::codec::bits::BitArray;
pub use document::Document;
pub(crate) use layout::HEAD;
pub use layout::{FileLayout, SegmentType};
pub use mesh::{Custom, CustomValues, Mesh, Segment, Triangles};
pub use packed::{Packed, PackedElement};

pub(crate) use detect::detect;
