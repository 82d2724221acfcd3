//! OpenCTM, file format version 5: the methods RAW, MG1 and MG2.
//!
//! Triangle meshes with normals, UV maps and attribute maps, each compressed on its own with LZMA, or not at all. The
//! specification is `FormatSpecification.tex` of the [OpenCTM](http://openctm.sourceforge.net) 1.0.3 distribution. Where
//! it is silent (the normals of MG2) or differs from all files (the sums of UV and attribute maps), the reference library
//! is followed; values are bit for bit the same as in libopenctm 1.0.3.
//!
//! * **Axes, units, winding, texture origin**: not stored, and [`Format::conventions`](crate::Format::conventions) has
//!   none. By custom of the reference tools, triangles are counter-clockwise from the front and v points up.
//! * **RAW**: every array is a view of the file, at any alignment. Truncated files, which the reference library takes,
//!   are refused.
//! * **MG1**: lossless. **MG2**: fixed point, with the precisions of [`Mesh::mg2_header`], [`UvMap::precision`] and
//!   [`AttributeMap::precision`].
//! * **Several bodies** may follow one another in a file ([`Container`], [`bodies`]), and a body may lie inside another file
//!   ([`Mesh::at`]).
//!
//! Opening walks the headers of all arrays and checks every size against the length of the file; nothing is decoded.
//! Each array is decoded separately when it is needed, or all in parallel ([`Mesh::arrays`]). That indices are in range and
//! numbers finite, which the reference library demands, is checked by [`Mesh::validate`] and by opening with
//! [`Strictness::Strict`](crate::Strictness::Strict); indices also by [`Mesh::view`].
//!
//! # Examples
//!
//! ```
//! use meshmap::openctm;
//!
//! let bodies = openctm::Container::open("tests/data/openctm/valid/cyl_MG2_multi.ctm")?;
//! let mesh = bodies.mesh(0)?;
//! let arrays = mesh.arrays()?;
//! println!("{}: {} triangles", mesh.comment()?, arrays.triangles.len());
//! for (map, coords) in mesh.uv_maps().zip(&arrays.texcoords) {
//!     println!("{}: {} coordinates, texture {}", map.name(), coords.len(), map.file());
//! }
//! # Ok::<(), meshmap::Error>(())
//! ```

mod array_list;
mod arrays;
mod container;
mod decode;
mod layout;
mod maps;
mod mesh;
mod mg1;
mod mg2;
mod normals;
#[cfg(feature = "rayon")]
mod parallel;
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
mod validate;
mod view;

pub use arrays::{MeshArrays, MeshBuffer};
pub use container::{Container, bodies};
pub(crate) use layout::HEAD;
pub use layout::Method;
pub use maps::{AttributeMap, UvMap};
pub use mesh::Mesh;

pub(crate) use layout::detect;
