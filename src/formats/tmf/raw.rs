//! The structures of the file as stored, with the specification's names.
//!
//! Little-endian and packed.
//!
//! The specification describes layout A; structures that only layout B has are named as in the crate `tmf`.

use zerocopy::little_endian::{F64, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::bytes::raw_elements;

/// `Magic`.
pub const MAGIC: [u8; 3] = *b"TMF";

/// `TMF Header` (1.1).
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields are the specification's")]
pub struct Header {
    pub magic: [u8; 3],
    pub tmf_major: U16,
    pub tmf_minor: U16,
    pub min_tmf_major: U16,
    pub min_tmf_minor: U16,
    pub mesh_count: U32,
}
const _: () = assert!(size_of::<Header>() == 15);

/// `Segment Header` (1.3) of layout A.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields are the specification's")]
pub struct SegmentHeaderA {
    pub seg_type: U16,
    pub data_length: U64,
    pub compresion_type: u8,
}
const _: () = assert!(size_of::<SegmentHeaderA>() == 11);

/// The segment header of layout B.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields are the specification's")]
pub struct SegmentHeaderB {
    pub seg_type: u8,
    pub data_length: U32,
    pub compresion_type: u8,
}
const _: () = assert!(size_of::<SegmentHeaderB>() == 6);

/// The header of the bit array of a `Vertex Segment` (2.2).
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields are the specification's")]
pub struct Vertex {
    pub vertex_count: U64,
    pub min_x: F64,
    pub max_x: F64,
    pub min_y: F64,
    pub max_y: F64,
    pub min_z: F64,
    pub max_z: F64,
    pub prec: [u8; 3],
}
const _: () = assert!(size_of::<Vertex>() == 59);

/// The header of the bit array of indices (2.3) and of texture coordinates.
///
/// In layout B, the header of indices is followed by a `u64` that is added to each.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields are the specification's")]
pub struct PrecisionCount {
    pub precision: u8,
    pub count: U64,
}
const _: () = assert!(size_of::<PrecisionCount>() == 9);

/// The header of the bit array of normals, tangents and colours.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields are those of the crate `tmf`")]
pub struct CountPrecision {
    pub count: U64,
    pub precision: u8,
}
const _: () = assert!(size_of::<CountPrecision>() == 9);

/// The header of the bit array of custom floats.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields are those of the crate `tmf`")]
pub struct CustomFloat {
    pub count: U64,
    pub min: F64,
    pub max: F64,
    pub precision: u8,
}
const _: () = assert!(size_of::<CustomFloat>() == 25);

raw_elements!(
    Header,
    SegmentHeaderA,
    SegmentHeaderB,
    Vertex,
    PrecisionCount,
    CountPrecision,
    CustomFloat
);
