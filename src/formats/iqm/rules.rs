//! The rules that [`Model::findings`](super::Model::findings) and [`Model::validate`](super::Model::validate) check.
//!
//! Strict reading refuses files that break a rule of severity [`Forbidden`](crate::Severity::Forbidden) or
//! [`Unusable`](crate::Severity::Unusable).

use crate::format::Format;
use crate::report::{Place, rules};

/// The file as a whole. Locations in errors and findings are made from it.
pub(super) const FILE: Place = Place::file(Format::Iqm);

rules! {
    /// A section or vertex array is not aligned as the specification requires. It is read anyway; some engines crash
    /// on it.
    UNALIGNED = suspicious("unaligned", "alignment")
        written by "the exporters of Red Eclipse and early versions of the FTE engine's compiler: about one file in ten";
    /// The file has bytes after `filesize`, or four or more after its last section. They are not read.
    TRAILING_BYTES = suspicious("trailing_bytes", "trailing bytes");
    /// The text of the comment may continue after `num_comment` bytes.
    LONGER_COMMENT = suspicious("longer_comment", "num_comment")
        written by "the exporter iqm-exm, which stores a count of 1";
    /// The text section does not begin with the empty string.
    TEXT_WITHOUT_EMPTY_STRING = forbidden("text_without_empty_string", "text[0]");
    /// The text section is not UTF-8.
    TEXT_NOT_UTF8 = suspicious("text_not_utf8", "text encoding");
    /// The text section does not end with a 0 byte, although every name in use does.
    TEXT_UNTERMINATED = suspicious("text_unterminated", "text end");
    /// A parent is less than -1. This is valid for a root, but some engines refuse it.
    ODD_ROOT = suspicious("odd_root", "parent");
    /// Triangles of a mesh use vertices outside the mesh's own range.
    INDEX_OUTSIDE_MESH = suspicious("index_outside_mesh", "indices outside the mesh")
        written by "Blender's exporter until 2023, for objects that share a mesh";
    /// The file has joints and poses, but in different numbers. Many engines refuse it.
    POSES_NOT_JOINTS = suspicious("poses_not_joints", "num_poses");
    /// A vertex array has a format or size that the specification allows but does not recommend.
    UNUSUAL_FORMAT = note("unusual_format", "iqmvertexarray.format")
        written by "Noesis (32-bit blend indexes and weights) and the FTE compiler (16-bit blend indexes)";
    /// Vertex arrays are not in the order of their types.
    ARRAY_ORDER = forbidden("array_order", "order of iqmvertexarray[]");
    /// Two vertex arrays have the same type. The first one is used.
    REPEATED_ARRAY = suspicious("repeated_array", "repeated iqmvertexarray.type");
    /// A vertex array has a reserved type. It can be read by its index.
    RESERVED_TYPE = forbidden("reserved_type", "iqmvertexarray.type");
    /// A number is NaN or infinite.
    NOT_FINITE = suspicious("not_finite", "numbers that are not finite")
        written by "the FTE compiler, in tangents";
    /// A normal has length 0, and so no direction. Only arrays of floats are checked. It is read as stored.
    ZERO_NORMAL = suspicious("zero_normal", "normals of length 0");
    /// A tangent has length 0, or its fourth component, the sign of the bitangent, is neither 1 nor -1. Only arrays of floats are
    /// checked. It is read as stored.
    BAD_TANGENT = suspicious("bad_tangent", "tangents without a direction or a sign");
    /// The rotation of a joint is not a unit quaternion, within 0.001.
    NOT_UNIT = suspicious("not_unit", "iqmjoint.rotate");
    /// The blend weights of a vertex do not sum to 1, within 1/255.
    WEIGHT_SUM = suspicious("weight_sum", "sum of the blend weights")
        written by "Blender's exporter, which stores zeros for vertices that no joint moves";
    /// A blend index with a non-zero weight names a joint that does not exist.
    BLEND_INDEX = suspicious("blend_index", "blend index");
    /// The frame rate of an animation is not positive.
    FRAMERATE = suspicious("framerate", "iqmanim.framerate")
        written by "exporters that do not know the rate and store 0";
    /// A channel mask has bits beyond the channels of the version. They are ignored.
    MASK_BITS = suspicious("mask_bits", "iqmpose.channelmask");
    /// The index of an adjacent triangle is not less than `num_triangles`.
    ADJACENCY = forbidden("adjacency", "iqmadjacency.triangle");
    /// An empty section has an offset other than 0.
    EMPTY_WITH_OFFSET = forbidden("empty_with_offset", "offset of an empty section");
    /// Sections or vertex arrays share bytes. Only the sections and the first 4,096 vertex arrays are checked.
    OVERLAP = suspicious("overlap", "sections that overlap");
    /// A mesh has no vertices or no triangles.
    EMPTY_MESH = suspicious("empty_mesh", "empty mesh");
    /// Meshes declare the same vertices. A `MeshView` of such a mesh has only the vertices that its triangles use.
    SHARED_VERTICES = note("shared_vertices", "vertices of several meshes");
    /// The extension list is shorter or longer than `num_extensions`.
    EXTENSION_COUNT = forbidden("extension_count", "num_extensions");
    /// The bounding box of a frame has a minimum above its maximum.
    INVERTED_BOUNDS = suspicious("inverted_bounds", "iqmbounds");
    /// The bounding box of a frame does not contain vertices of its triangles, which programs then may not draw. A twentieth of the size
    /// and the precision of the frame are allowed. For each joint, the outermost of the vertices that it moves most are posed, along each
    /// axis; in frames that take up few bytes of the file, only the first frames are checked.
    FRAME_BOUNDS = suspicious("frame_bounds", "vertices outside of iqmbounds");
    /// The index of a vertex is not less than `num_vertexes`: the file is damaged.
    INDEX_OUT_OF_RANGE = unusable("index_out_of_range", "iqmtriangle.vertex");
    /// Meshes or vertex arrays share more bytes than could be checked. Checking each would take more than 64 times as long as
    /// reading the file.
    SHARED_TOO_OFTEN = forbidden("shared_too_often", "parts that overlap");
}
