//! Zero-copy readers for 3D mesh formats.
//!
//! `meshmap` maps a file or reads byte ranges of it, casts headers, offset tables and arrays in place, and decodes
//! compressed blocks on demand. Formats: [`cgeo`] (Corona Renderer proxy), [`iqm`] (Inter-Quake Model), [`openctm`]
//! (OpenCTM), [`slmesh`] (Second Life mesh asset), [`tmf`] (Tight Model Format).
//!
//! * [`Source`] provides the bytes of a file: [`Source::open`] reads ranges, [`Source::map`] maps the file,
//!   [`Source::from_bytes`] takes memory, [`Source::ranged`] takes any store that answers byte ranges, and
//!   [`Fragments`] serves asynchronous clients.
//! * [`Array`] is a typed view of those bytes: reference-counted, `'static`, at any alignment.
//! * [`MeshFile`] opens a file of any format, returns its meshes as [`MeshView`]s, and lists all arrays that it stores
//!   ([`MeshFile::arrays`]). The module of each format has types for everything that the format stores.
//! * [`Error`] names the format, the structure, the byte range, what was expected and what was found.
//!   [`Finding`]s report where a file breaks [`Rule`]s of its format but can still be read.
//!
//! # Examples
//!
//! ```
//! use meshmap::{MeshFile, Semantic};
//!
//! let file = MeshFile::open("tests/data/iqm/valid/skin_multi_anim.iqm")?;
//! for entry in file.meshes()? {
//!     let mesh = file.mesh(&entry.address)?;
//!     let positions = mesh.attribute(&Semantic::Position)?.expect("this model has positions");
//!     println!("{}: {} vertices, format {}", entry.address, mesh.vertex_count(), positions.format());
//! }
//! # Ok::<(), meshmap::Error>(())
//! ```
//!
//! # Features
//!
//! * `bytemuck`: `Pod` and `Zeroable` for [`F16`], [`Bounds`] and [`iqm::Trs`], which GPUs take as they are.
//! * `cache` (default): `cgeo::SnapshotCache`.
//! * `hash`: `slmesh::Asset::check_hashes`.
//! * `mmap` (default): [`Source::map`].
//! * `raw`: modules `raw` with the structures of each specification as stored, and headers as such.
//! * `rayon` (default): [`Parallelism::Rayon`] uses the caller's thread pool.
//! * `serde`: `Serialize` and `Deserialize` for values that stand in scenes and settings: [`Address`], [`Format`],
//!   [`Semantic`] and [`slmesh::Lod`] as their text, [`Scalar`], [`VertexFormat`], [`Role`], [`Bounds`], [`Conventions`],
//!   [`Severity`], [`Limits`] and [`Options`]; `Serialize` for [`Finding`], [`Rule`] and [`Item`].
//!
//! Vectors, quaternions and matrices are arrays, which the crate `mint` converts, and with it glam, nalgebra and others:
//! `mint::Vector3::from(position)`, `mint::Quaternion::from(trs.rotate)`, `mint::RowMatrix3x4::from(matrix)`.
//!
//! Modules for the web, whose size counts, may be built with `RUSTFLAGS="--cfg meshmap_small"`: [`Decoder::Reference`] is
//! [`Decoder::Fast`] then, and [`Strictness::Strict`] is refused. It is not a feature, as it takes something away. Likewise,
//! `--cfg 'meshmap_without="iqm"'` leaves a format out, by its [name](Format::name): opening such a file is an error. The type of
//! its files has no values then, so that compilers leave out what would read them, also in packages that use this one.

// Layers, from bottom to top; `.ci/layers` checks them:
//
//     num format processor report/address: know nothing
//     conventions: what the formats say of axes, winding, texture origin and unit
//     codec: bytes in, bytes out; knows no source and no error of a file
//     dialect: how a CGeo file is read if its published text is silent
//     report: errors, findings, rules, and where in a file they are
//     limits options: what a caller asks for and allows
//     bytes: where the bytes of a file come from, and typed views of them
//     decode: codecs applied to parts of files
//     mesh: meshes as a renderer sees them
//     arrays: the entries of the table of arrays, and their values
//     formats/*: one for each format, and none knows another
//     file text_serde: detection and files of any format, the only ones that know all formats; what serde reads as text

#![cfg_attr(docsrs, feature(doc_cfg))]
// A format that is left out has no values: what needs one is not reached.
#![cfg_attr(
    any(
        meshmap_without = "cgeo",
        meshmap_without = "iqm",
        meshmap_without = "openctm",
        meshmap_without = "slmesh",
        meshmap_without = "tmf"
    ),
    allow(unreachable_code, unused_variables)
)]
#![warn(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::missing_errors_doc,
    clippy::incompatible_msrv
)]
#![cfg_attr(
    test,
    allow(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::unwrap_used,
        clippy::panic,
        clippy::cast_possible_truncation
    )
)]

mod arrays;
mod bytes;
mod codec;
mod conventions;
mod decode;
mod dialect;
mod file;
mod format;
mod formats;
mod limits;
mod mesh;
mod num;
mod options;
mod processor;
mod report;
#[cfg(feature = "serde")]
mod text_serde;

pub use crate::arrays::{ArrayData, ArrayEntry, Encoding};
pub use crate::bytes::{
    Array, Element, F16, Fragments, Identity, Out, ReadRange, ReadStats, Scalar, Source, Text,
};
/// Shared bytes, of the crate `bytes`.
pub use ::bytes::Bytes;
pub use codec::{Codec, Decoder, Fault, FaultKind};
pub use conventions::{Axis, Conventions, LengthUnit, VOrigin, Winding};
pub use decode::{Block, Scratch, decode_all};
pub use file::MeshFile;
pub use format::Format;
pub use formats::{cgeo, iqm, openctm, slmesh, tmf};
pub use limits::{Charge, Limits, Meter, cancellable};
pub use mesh::{
    Attribute, AttributeInfo, Bounds, Dequant, IndexFormat, Indices, Influences, LayoutAttribute,
    MaterialGroup, MeshCounts, MeshEntry, MeshView, Role, Semantic, VertexFormat, VertexLayout,
    VertexRemap, WriteResult, colors_to_linear, texture_paths,
};
pub use options::{Checksums, Options, Parallelism, Strictness};
pub use report::{
    Address, Cause, Error, ErrorKind, Finding, Item, Limit, ParseError, Result, Rule, Segment,
    Severity,
};

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The examples of the page for Rust.
#[cfg(doctest)]
#[doc = include_str!("../docs/start/rust.md")]
struct Page;
