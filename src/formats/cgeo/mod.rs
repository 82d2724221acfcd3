//! CGeo: proxies of Corona Renderer, versions 4 to 7.
//!
//! An object as a series of *snapshots*, each a mesh with a bounding box and a point cloud for viewports. Later
//! snapshots are usually stored as differences from the first one, so that any of them needs two sections: its own and the first one.
//! Specification: "CGeo file format" in the documentation of Corona Renderer, which describes version 7.
//!
//! **No file that Corona itself wrote is public.** This reader was tested only on files made from the published description. That
//! text leaves open which compression is used, what the size of a section counts, and where exactly offsets point: the [`Dialect`]
//! is found in each file, reported, and can be forced. If you have files written by Corona,
//! `meshmap info --report` prints what a bug report needs, without geometry and names.
//!
//! * **Axes**: not stored; 3ds Max, where most files come from, has Z up.
//! * **Units**: [`Proxy::unit_length`].
//! * **Winding**: not described.
//! * **Texture coordinates**: u, v, w; the origin is not described.
//! * [`Format::conventions`](crate::Format::conventions) has all of this as values.
//!
//! The header and the offset table are cast in place. Sections are located by their 12-byte headers, and inflated on demand,
//! no further than needed.
//!
//! # Examples
//!
//! ```
//! use meshmap::{Scratch, cgeo};
//!
//! let proxy = cgeo::Proxy::open("tests/data/cgeo/valid/anim_a.cgeo")?;
//! let snapshot = proxy.snapshot(7)?;
//! let bounds = snapshot.bounding_box(&mut Scratch::default())?;
//! let positions = snapshot.positions()?;
//!
//! // Playing: memory is reused, and threads decode the next snapshots meanwhile.
//! for (_, mesh) in proxy.play(0..proxy.snapshot_count()).parts(cgeo::Parts::POSITIONS) {
//!     assert_eq!(mesh?.positions.len(), positions.len());
//! }
//! # Ok::<(), meshmap::Error>(())
//! ```

// An open file (`file`) has the layout, the options, the lengths that were learned, and the arrays of the first mesh (`first_mesh`). The
// files above it are functions over it: `read_policy` decides which bytes are read, `read` reads them, `stream` decodes them, and `base`
// decodes the mesh that differences are added to. `Proxy` and `Snapshot` stand on top, and `motion` (positions between snapshots), `play`
// (decoding ahead), `vertices` (vertex buffers) and `cache` (meshes for many threads) use them. `cached_meshes` decides which meshes are
// evicted.
//
// One array, from the file to the caller: `Proxy::open(path)?.snapshot(7)?.positions()?`
//
// 1. `Layout::read` casts the header and the offset table in place. `dialect_search` finds what the published text leaves open.
//    `snapshot(7)` checks its offset; `Layout::extent` is the range to the next one. It reads nothing.
// 2. `positions` asks `StoredSnapshot::with_mesh` (`read`) for the mesh. That reads the headers (`sections`) and as many bytes as
//    `ReadPolicy` decides. If they do not suffice, it reads more, and decoding begins again.
// 3. `Stream::next_array` (`stream`) is the only place that knows the order of arrays. The stream is inflated up to the last position
//    and no further. Memory is charged to a `Meter` first.
// 4. If the snapshot is a difference, `base::array` returns the positions of snapshot 0, decoded once for all threads in a `Slot`.
//    `Stream::array` adds the difference to them piece by piece, while a piece is in the processor's cache.
// 5. The vector becomes an `Array<[f32; 3]>` without a copy. Uncompressed arrays in memory are views of the source.

mod array_list;
mod arrays;
mod base;
#[cfg(feature = "cache")]
mod cache;
#[cfg(feature = "cache")]
mod cached_meshes;
mod dialect_search;
mod file;
mod first_mesh;
mod header;
mod layout;
mod mesh;
mod motion;
mod parts;
mod play;
mod proxy;
#[cfg(feature = "raw")]
pub mod raw;
#[cfg(not(feature = "raw"))]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "its items are public with the feature `raw`"
)]
mod raw;
mod read;
mod read_policy;
pub(crate) mod rules;
mod sections;
mod snapshot;
mod stream;
mod time;
mod triangle_hash;
mod triangles;
mod unit;
mod validate;
mod vertices;
mod view;

pub use crate::dialect::{Dialect, LengthPrefix, OffsetTarget, SizeMeaning};
#[cfg(feature = "cache")]
pub use cache::{CacheStats, SnapshotCache};
pub use header::Properties;
pub use mesh::{Mesh, MeshBuffer, TopologyId};
pub use parts::Parts;
pub use play::{Play, PlayedMesh, Player};
pub use proxy::Proxy;
pub use sections::Section;
pub use snapshot::Snapshot;
pub use time::{Key, Timing, Wrap};
pub use triangles::{Counts, Triangles};
pub use unit::{UnitEvidence, UnitLength};
pub use vertices::VertexWriter;

pub(crate) use layout::detect;
