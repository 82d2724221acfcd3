//! The rules of findings.
//!
//! Reported by [`Model::findings`](super::Model::findings) and [`Model::validate`](super::Model::validate).
//!
//! [`Severity`](crate::Severity) says how serious each is: strict reading refuses what the specification forbids.

use crate::format::Format;
use crate::report::{Place, Rule};

/// The file as a whole; places in it are made from this.
pub(super) const FILE: Place = Place::file(Format::Iqm);

/// A section or vertex array is not aligned as the specification demands.
///
/// About one real file in ten, written by the exporters of Red Eclipse and early versions of the FTE engine's compiler.
/// Read like any other file; some engines crash on it.
pub const UNALIGNED: Rule = Rule::suspicious("unaligned", "alignment");

/// Bytes after `filesize`, or four or more after the last section; not read.
pub const TRAILING_BYTES: Rule = Rule::suspicious("trailing_bytes", "trailing bytes");

/// A comment whose text may continue after `num_comment`.
///
/// Written by the exporter iqm-exm, which stores a count of 1; see
/// [`Model::comment_to_end`](super::Model::comment_to_end).
pub const LONGER_COMMENT: Rule = Rule::suspicious("longer_comment", "num_comment");

/// The text does not begin with the empty string.
pub const TEXT_WITHOUT_EMPTY_STRING: Rule = Rule::forbidden("text_without_empty_string", "text[0]");

/// The text is not UTF-8.
pub const TEXT_NOT_UTF8: Rule = Rule::suspicious("text_not_utf8", "text encoding");

/// The text does not end with a 0 byte, although every used name does.
pub const TEXT_UNTERMINATED: Rule = Rule::suspicious("text_unterminated", "text end");

/// A parent less than -1: legal for a root, but some engines refuse it.
pub const ODD_ROOT: Rule = Rule::suspicious("odd_root", "parent");

/// Triangles of a mesh use vertices outside the mesh's own range.
///
/// Blender's exporter wrote such files until 2023, for objects that share a mesh.
pub const INDEX_OUTSIDE_MESH: Rule = Rule::suspicious("index_outside_mesh", "indices outside the mesh");

/// The file has joints and poses, but in different numbers. Many engines refuse it.
pub const POSES_NOT_JOINTS: Rule = Rule::suspicious("poses_not_joints", "num_poses");

/// A vertex array has another format or size than the specification recommends.
///
/// Legal. Noesis writes blend indexes and weights as 32-bit numbers, the compiler of FTE blend indexes as 16-bit ones.
pub const UNUSUAL_FORMAT: Rule = Rule::note("unusual_format", "iqmvertexarray.format");

/// Vertex arrays are not in the order of their types.
pub const ARRAY_ORDER: Rule = Rule::forbidden("array_order", "order of iqmvertexarray[]");

/// Two vertex arrays have the same type. The first is used.
pub const REPEATED_ARRAY: Rule = Rule::suspicious("repeated_array", "repeated iqmvertexarray.type");

/// A vertex array has a type that is reserved. It can be read by its index.
pub const RESERVED_TYPE: Rule = Rule::forbidden("reserved_type", "iqmvertexarray.type");

/// A number is not finite. The compiler of FTE writes tangents that are NaN.
pub const NOT_FINITE: Rule = Rule::suspicious("not_finite", "numbers that are not finite");

/// A joint's rotation is not of length 1, within 0.001.
pub const NOT_UNIT: Rule = Rule::suspicious("not_unit", "iqmjoint.rotate");

/// Blend weights do not sum to 1, within 1/255.
///
/// Blender's exporter writes zeros for vertices that no joint moves.
pub const WEIGHT_SUM: Rule = Rule::suspicious("weight_sum", "sum of the blend weights");

/// A blend index names a joint that does not exist, with a weight that is not 0.
pub const BLEND_INDEX: Rule = Rule::suspicious("blend_index", "blend index");

/// An animation's framerate is not positive.
///
/// Exporters write 0 where the rate is not known.
pub const FRAMERATE: Rule = Rule::suspicious("framerate", "iqmanim.framerate");

/// A channel mask has bits beyond the channels of the version, which are ignored.
pub const MASK_BITS: Rule = Rule::suspicious("mask_bits", "iqmpose.channelmask");

/// The index of an adjacent triangle is not less than `num_triangles`.
pub const ADJACENCY: Rule = Rule::forbidden("adjacency", "iqmadjacency.triangle");

/// An empty section has an offset other than 0.
pub const EMPTY_WITH_OFFSET: Rule = Rule::forbidden("empty_with_offset", "offset of an empty section");

/// Sections or vertex arrays share bytes.
///
/// Checked for the sections and the first 4,096 vertex arrays.
pub const OVERLAP: Rule = Rule::suspicious("overlap", "sections that overlap");

/// A mesh has no vertices or no triangles.
pub const EMPTY_MESH: Rule = Rule::suspicious("empty_mesh", "empty mesh");

/// The extension list is shorter or longer than `num_extensions`.
pub const EXTENSION_COUNT: Rule = Rule::forbidden("extension_count", "num_extensions");

/// The box of a frame has a minimum above its maximum.
pub const INVERTED_BOUNDS: Rule = Rule::suspicious("inverted_bounds", "iqmbounds");

/// The index of a vertex is not less than `num_vertexes`: the file is damaged.
pub const INDEX_OUT_OF_RANGE: Rule = Rule::unusable("index_out_of_range", "iqmtriangle.vertex");

/// Meshes or vertex arrays share so many bytes that not all were checked.
///
/// Checking each would take more than 64 times as long as reading the file.
pub const SHARED_TOO_OFTEN: Rule = Rule::forbidden("shared_too_often", "parts that overlap");
