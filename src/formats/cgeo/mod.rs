//! CGeo: proxies of Corona Renderer, versions 4 to 7.
//!
//! An object as a series of *snapshots*, each a mesh with a bounding box and a point cloud for viewports; later
//! snapshots are usually stored as the difference from the first one, so that any of them is one section away.
//! Specification: "CGeo file format" in the documentation of Corona Renderer, which describes version 7.
//!
//! **No file that Corona itself wrote is public.** This reader was tested on files made from the published description
//! alone. That text leaves open which compression is used, what the size of a section counts, and where exactly
//! offsets point; the [`Dialect`] of a file is found out from the file, reported, and can be forced. If you have files
//! of Corona's own, `meshmap info --report` prints what a bug report needs, without geometry and names.
//!
//! * **Axes**: not stored; 3ds Max, where most files come from, has Z up.
//! * **Units**: [`Proxy::unit_length`].
//! * **Winding**: not described.
//! * **Texture coordinates**: u, v, w; the origin is not described.
//!
//! Header and offset table are cast in place; sections are located by their 12-byte headers, and inflated when asked
//! for, no further than is asked for.
//!
//! # Examples
//!
//! ```
//! use meshmap::{Scratch, cgeo};
//!
//! let proxy = cgeo::Proxy::open("tests/data/cgeo/valid/anim_a.cgeo")?;
//! let snapshot = proxy.snapshot(7)?;
//! let bounds = snapshot.bounding_box()?;
//! let positions = snapshot.positions()?;
//!
//! // Playing: memory is used again, and the first snapshot is decoded once for all differences.
//! let (mut mesh, mut scratch) = (cgeo::MeshBuffer::default(), Scratch::default());
//! for index in 0..proxy.len() {
//!     proxy.snapshot(index)?.mesh_into(&mut mesh, &mut scratch)?;
//!     assert_eq!(mesh.positions.len(), positions.len());
//! }
//! # Ok::<(), meshmap::Error>(())
//! ```

#[cfg(feature = "cache")]
mod cache;
mod dialect;
mod header;
mod layout;
mod mesh;
mod playback;
mod proxy;
pub mod raw;
pub mod rules;
mod sections;
mod snapshot;
mod time;
mod triangles;
mod validate;
mod view;

#[cfg(feature = "cache")]
pub use cache::{CacheStats, SnapshotCache};
pub use dialect::{Dialect, LengthPrefix, OffsetTarget, SizeMeaning};
pub use header::Properties;
pub use mesh::{Counts, Mesh, MeshBuffer, TopologyId};
pub use proxy::{Proxy, ReadOptions, UnitEvidence, UnitLength};
pub use sections::Section;
pub use snapshot::Snapshot;
pub use time::{Key, Timing, Wrap};
pub use triangles::{Triangle, Triangles};
