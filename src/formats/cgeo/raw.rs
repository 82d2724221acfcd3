//! The tags and structures of the file as stored: little-endian, packed.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::bytes::raw_elements;

/// The first byte of the file.
pub const MAGIC: u8 = 0x43;

/// `TAG_ANIMATION_SNAPSHOT_START` (once spelled `SNAPHOT` in the published text).
pub const TAG_ANIMATION_SNAPSHOT_START: u32 = 0xA3CD_EF00;
/// `TAG_ANIMATION_SNAPSHOT_END`.
pub const TAG_ANIMATION_SNAPSHOT_END: u32 = 0xFED3_BA11;
/// `TAG_ANIM_TABLE_START`.
pub const TAG_ANIM_TABLE_START: u32 = 0xFAD0_CCA1;
/// `TAG_ANIM_TABLE_END`.
pub const TAG_ANIM_TABLE_END: u32 = 0xE580_AC23;
/// `TAG_BOUNDING_BOX`, a section.
pub const TAG_BOUNDING_BOX: u32 = 0x2F89_A8B5;
/// `TAG_MESH_DATA`, a section.
pub const TAG_MESH_DATA: u32 = 0x35F7_1EA8;
/// `TAG_MESH_VERTICES_END`, inside the mesh section.
pub const TAG_MESH_VERTICES_END: u32 = 0x42C3_42CC;
/// `TAG_MESH_NORMALS_END`, inside the mesh section.
pub const TAG_MESH_NORMALS_END: u32 = 0xB00B_06B0;
/// `TAG_MESH_MAP_COORDS_END`, inside the mesh section.
pub const TAG_MESH_MAP_COORDS_END: u32 = 0xCAAC_04CA;
/// `TAG_POINTCLOUD`, a section.
pub const TAG_POINTCLOUD: u32 = 0x1387_EBEB;

/// The fixed part before the text of the header.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Prologue {
    /// [`MAGIC`].
    pub magic: u8,
    /// The length of the text of the header, in bytes.
    pub header_size: U32,
}
const _: () = assert!(size_of::<Prologue>() == 5);

/// An entry of the offset table: where a snapshot begins.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Offset {
    /// Bytes from the start of the file.
    pub offset: U64,
}
const _: () = assert!(size_of::<Offset>() == 8);

/// The header of a section.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct SectionHeader {
    /// The kind of the section.
    pub tag: U32,
    /// Its size; the [`Dialect`](super::Dialect) says what it counts.
    pub size: U64,
}
const _: () = assert!(size_of::<SectionHeader>() == 12);

/// The counts of a complete mesh, after its first byte.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields are the published text's")]
pub struct MeshCounts {
    pub vertices: U32,
    pub normals: U32,
    pub map_channels: U32,
    pub triangles: U32,
}
const _: () = assert!(size_of::<MeshCounts>() == 16);

raw_elements!(Prologue, Offset, SectionHeader, MeshCounts);
