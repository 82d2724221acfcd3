//! The structures of the file as stored, with the specification's names.
//!
//! Little-endian and packed.

use zerocopy::little_endian::{F32, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::bytes::raw_elements;

/// `Magic identifier`.
pub const MAGIC: [u8; 4] = *b"OCTM";

/// `File format version`: the only one in use.
pub const VERSION: u32 = 5;

/// `Compression method`: arrays as they are.
pub const METHOD_RAW: [u8; 4] = *b"RAW\0";

/// `Compression method`: lossless.
pub const METHOD_MG1: [u8; 4] = *b"MG1\0";

/// `Compression method`: numbers in fixed point.
pub const METHOD_MG2: [u8; 4] = *b"MG2\0";

/// The only one of the `Boolean flags`: the file contains per-vertex normals.
pub const FLAG_NORMALS: u32 = 1;

/// The header, up to the comment.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields are the specification's")]
pub struct Header {
    pub magic: [u8; 4],
    pub version: U32,
    pub method: [u8; 4],
    pub vertex_count: U32,
    pub triangle_count: U32,
    pub uv_map_count: U32,
    pub attribute_map_count: U32,
    pub flags: U32,
}
const _: () = assert!(size_of::<Header>() == 32);

/// The MG2 header: precisions and the grid.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields are the specification's")]
pub struct Mg2Header {
    pub identifier: [u8; 4],
    pub vertex_precision: F32,
    pub normal_precision: F32,
    pub lower_bound: [F32; 3],
    pub higher_bound: [F32; 3],
    pub div: [U32; 3],
}
const _: () = assert!(size_of::<Mg2Header>() == 48);

/// The header of an LZMA stream: its length, and what its decoder needs.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields are the specification's")]
pub struct PackedData {
    pub packed_size: U32,
    pub props: [u8; 5],
}
const _: () = assert!(size_of::<PackedData>() == 9);

raw_elements!(Header, Mg2Header, PackedData);
