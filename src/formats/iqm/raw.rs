//! The structures of the file as stored, with the specification's names.
//!
//! Little-endian and packed.

use zerocopy::little_endian::{F32, I32, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::bytes::raw_elements;

/// `iqmheader.magic`, the 0 byte included.
pub const MAGIC: &[u8; 16] = b"INTERQUAKEMODEL\0";

/// `iqmheader`. Offsets count from its first byte, and are 0 for absent sections.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[allow(
    missing_docs,
    reason = "the fields are the specification's; what is not plain is said in `layout`"
)]
pub struct Header {
    pub magic: [u8; 16],
    pub version: U32,
    pub filesize: U32,
    pub flags: U32,
    pub num_text: U32,
    pub ofs_text: U32,
    pub num_meshes: U32,
    pub ofs_meshes: U32,
    pub num_vertexarrays: U32,
    pub num_vertexes: U32,
    pub ofs_vertexarrays: U32,
    pub num_triangles: U32,
    pub ofs_triangles: U32,
    pub ofs_adjacency: U32,
    pub num_joints: U32,
    pub ofs_joints: U32,
    pub num_poses: U32,
    pub ofs_poses: U32,
    pub num_anims: U32,
    pub ofs_anims: U32,
    pub num_frames: U32,
    pub num_framechannels: U32,
    pub ofs_frames: U32,
    pub ofs_bounds: U32,
    pub num_comment: U32,
    pub ofs_comment: U32,
    pub num_extensions: U32,
    pub ofs_extensions: U32,
}
const _: () = assert!(size_of::<Header>() == 124);

/// `iqmmesh`.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields are the specification's")]
pub struct Mesh {
    pub name: U32,
    pub material: U32,
    pub first_vertex: U32,
    pub num_vertexes: U32,
    pub first_triangle: U32,
    pub num_triangles: U32,
}
const _: () = assert!(size_of::<Mesh>() == 24);

/// `iqmvertexarray.type` of positions.
pub(crate) const IQM_POSITION: u32 = 0;
/// `iqmvertexarray.type` of texture coordinates.
pub(crate) const IQM_TEXCOORD: u32 = 1;
/// `iqmvertexarray.type` of normals.
pub(crate) const IQM_NORMAL: u32 = 2;
/// `iqmvertexarray.type` of tangents.
pub(crate) const IQM_TANGENT: u32 = 3;
/// `iqmvertexarray.type` of the joints of each vertex.
pub(crate) const IQM_BLENDINDEXES: u32 = 4;
/// `iqmvertexarray.type` of the weights of these joints.
pub(crate) const IQM_BLENDWEIGHTS: u32 = 5;
/// `iqmvertexarray.type` of vertex colours.
pub(crate) const IQM_COLOR: u32 = 6;
/// The first `iqmvertexarray.type` that is a name: the offset in the text + this.
pub(crate) const IQM_CUSTOM: u32 = 0x10;

/// `iqmvertexarray`.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields are the specification's")]
pub struct VertexArray {
    pub type_: U32,
    pub flags: U32,
    pub format: U32,
    pub size: U32,
    pub offset: U32,
}
const _: () = assert!(size_of::<VertexArray>() == 20);

/// `iqmjoint` of version 2.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields are the specification's")]
pub struct Joint {
    pub name: U32,
    pub parent: I32,
    pub translate: [F32; 3],
    pub rotate: [F32; 4],
    pub scale: [F32; 3],
}
const _: () = assert!(size_of::<Joint>() == 48);

/// `iqmjoint` of version 1, which does not store the quaternion's w.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields are the specification's")]
pub struct JointV1 {
    pub name: U32,
    pub parent: I32,
    pub translate: [F32; 3],
    pub rotate: [F32; 3],
    pub scale: [F32; 3],
}
const _: () = assert!(size_of::<JointV1>() == 44);

/// `iqmpose` of version 2.
///
/// Channels 0 to 2 translate, 3 to 6 rotate (x y z w), 7 to 9 scale.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields are the specification's")]
pub struct Pose {
    pub parent: I32,
    pub channelmask: U32,
    pub channeloffset: [F32; 10],
    pub channelscale: [F32; 10],
}
const _: () = assert!(size_of::<Pose>() == 88);

/// `iqmpose` of version 1.
///
/// Channels 0 to 2 translate, 3 to 5 rotate (x y z), 6 to 8 scale.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields are the specification's")]
pub struct PoseV1 {
    pub parent: I32,
    pub channelmask: U32,
    pub channeloffset: [F32; 9],
    pub channelscale: [F32; 9],
}
const _: () = assert!(size_of::<PoseV1>() == 80);

/// `iqmanim`.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields are the specification's")]
pub struct Anim {
    pub name: U32,
    pub first_frame: U32,
    pub num_frames: U32,
    pub framerate: F32,
    pub flags: U32,
}
const _: () = assert!(size_of::<Anim>() == 20);

/// `IQM_LOOP` of `iqmanim.flags`.
pub const IQM_LOOP: u32 = 1 << 0;

/// `iqmbounds`: the box of a frame, and its radii around the origin.
///
/// `xyradius` is measured in the X-Y plane, `radius` in space.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields are the specification's")]
pub struct Bounds {
    pub bbmins: [F32; 3],
    pub bbmaxs: [F32; 3],
    pub xyradius: F32,
    pub radius: F32,
}
const _: () = assert!(size_of::<Bounds>() == 32);

/// `iqmextension`, a node of a linked list.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields are the specification's")]
pub struct Extension {
    pub name: U32,
    pub num_data: U32,
    pub ofs_data: U32,
    pub ofs_extensions: U32,
}
const _: () = assert!(size_of::<Extension>() == 16);

/// An element of the extension `FTE_MESH` of the FTE engine: one for each mesh.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[allow(
    missing_docs,
    reason = "the fields are those of the engine's iqm compiler"
)]
pub struct FteMesh {
    pub contents: U32,
    pub surfaceflags: U32,
    pub surfaceid: U32,
    pub geomset: U32,
    pub geomid: U32,
    pub mindist: F32,
    pub maxdist: F32,
}
const _: () = assert!(size_of::<FteMesh>() == 28);

/// An element of the extension `FTE_EVENT` of the FTE engine.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[allow(
    missing_docs,
    reason = "the fields are those of the engine's iqm compiler"
)]
pub struct FteEvent {
    pub anim: U32,
    /// Seconds from the start of the animation.
    pub timestamp: F32,
    pub evcode: U32,
    /// Offset into the text.
    pub evdata: U32,
}
const _: () = assert!(size_of::<FteEvent>() == 16);

/// The header of the extension `FTE_SKINS` of the FTE engine.
///
/// Followed by `numskins` (one `u32` for each mesh), the skin frames and the mesh skins.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[allow(
    missing_docs,
    reason = "the fields are those of the engine's iqm compiler"
)]
pub struct FteSkins {
    pub numskinframes: U32,
    pub nummeshskins: U32,
}
const _: () = assert!(size_of::<FteSkins>() == 8);

/// A skin frame of `FTE_SKINS`.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[allow(
    missing_docs,
    reason = "the fields are those of the engine's iqm compiler"
)]
pub struct FteSkinFrame {
    /// Offset into the text.
    pub material: U32,
    /// Offset into the text.
    pub shadertext: U32,
}
const _: () = assert!(size_of::<FteSkinFrame>() == 8);

/// A mesh skin of `FTE_SKINS`: a run of skin frames.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[allow(
    missing_docs,
    reason = "the fields are those of the engine's iqm compiler"
)]
pub struct FteMeshSkin {
    pub firstframe: U32,
    pub countframes: U32,
    /// Seconds.
    pub interval: F32,
}
const _: () = assert!(size_of::<FteMeshSkin>() == 12);

raw_elements!(
    Header,
    Mesh,
    VertexArray,
    Joint,
    JointV1,
    Pose,
    PoseV1,
    Anim,
    Bounds,
    Extension,
    FteMesh,
    FteEvent,
    FteSkins,
    FteSkinFrame,
    FteMeshSkin,
);
