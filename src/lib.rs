//! Zero-copy readers for 3D mesh formats.
//!
//! `meshmap` maps a file (or reads just the ranges that are asked for), casts headers, offset tables and arrays in
//! place, and decodes what is compressed only when it is wanted. Formats: [`cgeo`] (Corona Renderer proxy), [`iqm`]
//! (Inter-Quake Model), [`openctm`] (OpenCTM), [`slmesh`] (Second Life mesh asset), [`tmf`] (Tight Model Format).
//!
//! * [`Source`] is the one door to file bytes: [`Source::open`] reads positioned ranges, [`Source::map`] maps,
//!   [`Source::from_bytes`] takes memory, [`Source::ranged`] any store that answers byte ranges, and [`Fragments`]
//!   serves asynchronous clients.
//! * [`Array`] is a typed view of those bytes: reference-counted, `'static`, at any alignment, of either byte order.
//! * [`MeshFile`] opens whatever format a file turns out to have and shows its meshes as [`MeshView`]s; the modules
//!   of the formats show everything else that they store.
//! * [`Error`] names the format, the structure, the byte range, what was expected and what was found.
//!
//! # Examples
//!
//! ```
//! use meshmap::{MeshFile, Semantic};
//!
//! let file = MeshFile::open("tests/data/iqm/valid/skin_multi_anim.iqm")?;
//! for address in file.meshes() {
//!     let mesh = file.mesh(&address)?;
//!     let positions = mesh.attribute(&Semantic::Position)?.expect("this model has positions");
//!     println!("{address}: {} vertices, format {}", mesh.vertex_count(), positions.format());
//! }
//! # Ok::<(), meshmap::Error>(())
//! ```
//!
//! # Features
//!
//! * `cache` (default): `cgeo::SnapshotCache`.
//! * `hash`: `slmesh::Asset::check_hashes`.
//! * `mmap` (default): [`Source::map`].
//! * `rayon` (default): [`Parallelism::Rayon`] works in the caller's pool. Without it, on the calling thread.
//! * `zlib-rs` (default): inflate with zlib-rs; without it, with miniz_oxide, which is slower and has no unsafe code.
//! * `cli`: the command line `meshmap`.
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

mod bytes;
mod codec;
mod decode;
mod file;
mod format;
mod formats;
mod limits;
mod mesh;
mod num;
mod options;
mod report;

pub use crate::bytes::{
    Array, Element, F16, Fragments, Identity, ReadRange, ReadStats, Scalar, Source, Step, Text, coalesce,
};
pub use codec::{Codec, Decoder};
pub use decode::{Block, Scratch, decode_all};
pub use file::MeshFile;
pub use format::Format;
pub use formats::{cgeo, iqm, openctm, slmesh, tmf};
pub use limits::Limits;
pub use mesh::{
    Attribute, AttributeInfo, Bounds, Dequant, IndexFormat, Indices, MaterialGroup, MeshView, Role, Semantic,
    VertexFormat, VertexRemap, VertexUses,
};
pub use options::{Checksums, Options, Parallelism, Strictness};
pub use report::{
    Address, Error, ErrorKind, Finding, Item, ParseAddressError, Result, Rule, Segment, Severity,
};

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
