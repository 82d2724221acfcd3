//! What [`Model::findings`](super::Model::findings) and [`Model::validate`](super::Model::validate) report.
//!
//! *Forbidden* findings break the specification's text, and strict reading refuses them. The others are suspicious:
//! legal, but a sign that something went wrong, or a trap for programs that do not expect them.

use crate::format::Format;
use crate::report::{Place, Rule};

/// The file as a whole, from which places in it are made.
pub(super) const FILE: Place = Place::file(Format::Iqm);

/// A section or vertex array is not aligned as the specification demands.
///
/// About one real file in ten: the exporters of Red Eclipse and early versions of the FTE engine's compiler. Read as
/// any other here; some engines crash on it.
pub const UNALIGNED: Rule = Rule::forbidden("alignment");

/// Bytes behind `filesize`, or four and more behind the last section. They are not read.
pub const TRAILING_BYTES: Rule = Rule::suspicious("trailing bytes");

/// A comment whose text goes on behind `num_comment`. Written by the exporter iqm-exm, which stores a count of 1; see
/// [`Model::comment_to_end`](super::Model::comment_to_end).
pub const LONGER_COMMENT: Rule = Rule::suspicious("num_comment");

/// The text does not begin with the empty string.
pub const TEXT_WITHOUT_EMPTY_STRING: Rule = Rule::forbidden("text[0]");

/// The text is not UTF-8.
pub const TEXT_NOT_UTF8: Rule = Rule::suspicious("text encoding");

/// The text does not end with a 0 byte, although every name that is used does.
pub const TEXT_UNTERMINATED: Rule = Rule::suspicious("text end");

/// A parent less than -1: a root by the specification, which some engines refuse.
pub const ODD_ROOT: Rule = Rule::suspicious("parent");

/// Triangles of a mesh use vertices outside the mesh's own range. Blender's exporter wrote such files until 2023, for
/// objects that share a mesh.
pub const INDEX_OUTSIDE_MESH: Rule = Rule::suspicious("indices outside the mesh");

/// There are joints and poses, but not as many of one as of the other. Many engines refuse such files.
pub const POSES_NOT_JOINTS: Rule = Rule::suspicious("num_poses");

/// A vertex array has another format or size than the specification recommends. Noesis writes blend indexes and
/// weights as 32-bit numbers, the compiler of FTE blend indexes as 16-bit ones.
pub const UNUSUAL_FORMAT: Rule = Rule::suspicious("iqmvertexarray.format");

/// Vertex arrays are not in the order of their types.
pub const ARRAY_ORDER: Rule = Rule::forbidden("order of iqmvertexarray[]");

/// Two vertex arrays have the same type. The first is used.
pub const REPEATED_ARRAY: Rule = Rule::suspicious("repeated iqmvertexarray.type");

/// A vertex array has a type that is reserved. It can be read by its index.
pub const RESERVED_TYPE: Rule = Rule::forbidden("iqmvertexarray.type");

/// A number that is not finite. The compiler of FTE writes tangents that are not a number.
pub const NOT_FINITE: Rule = Rule::suspicious("numbers that are not finite");

/// A joint's rotation is not of length 1, within 0.001.
pub const NOT_UNIT: Rule = Rule::suspicious("iqmjoint.rotate");

/// Blend weights do not sum to 1, within 1/255. Blender's exporter writes zeros for vertices that no joint moves.
pub const WEIGHT_SUM: Rule = Rule::suspicious("sum of the blend weights");

/// A blend index names a joint that does not exist, with a weight that is not 0.
pub const BLEND_INDEX: Rule = Rule::suspicious("blend index");

/// An animation's framerate is not positive. Exporters write 0 where the rate is not known.
pub const FRAMERATE: Rule = Rule::suspicious("iqmanim.framerate");

/// A channel mask has bits beyond the version's channels, which mean nothing.
pub const MASK_BITS: Rule = Rule::suspicious("iqmpose.channelmask");

/// An adjacent triangle does not exist.
pub const ADJACENCY: Rule = Rule::forbidden("iqmadjacency.triangle");

/// A section that is empty has an offset that is not 0.
pub const EMPTY_WITH_OFFSET: Rule = Rule::forbidden("offset of an empty section");

/// Sections or vertex arrays share bytes. Of files with more than 4,096 vertex arrays, the sections and the first
/// 4,096 arrays are looked at.
pub const OVERLAP: Rule = Rule::suspicious("sections that overlap");

/// A mesh without vertices or without triangles.
pub const EMPTY_MESH: Rule = Rule::suspicious("empty mesh");

/// The extension list is shorter or longer than `num_extensions`.
pub const EXTENSION_COUNT: Rule = Rule::forbidden("num_extensions");

/// The box of a frame has a minimum above its maximum.
pub const INVERTED_BOUNDS: Rule = Rule::suspicious("iqmbounds");

/// A triangle has an index that is not less than `num_vertexes`: the file is damaged.
pub const INDEX_OUT_OF_RANGE: Rule = Rule::unusable("iqmtriangle.vertex");

/// Meshes or vertex arrays share so many bytes that checking each would take more than 64 times as long as reading
/// the file; those that were not checked are unknown.
pub const SHARED_TOO_OFTEN: Rule = Rule::forbidden("parts that overlap");
