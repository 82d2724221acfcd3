//! What [`Document::findings`](super::Document::findings), [`Document::validate`](super::Document::validate) and a
//! [`View`](super::View) report.
//!
//! *Forbidden* findings break the specification's text, and strict reading refuses them. The others are suspicious:
//! legal, or common to all files that exist, but a trap for programs that do not expect them.

use crate::format::Format;
use crate::report::{Place, Rule};

/// The file as a whole, from which places in it are made.
pub(super) const FILE: Place = Place::file(Format::Tmf);

/// The box in a vertex segment is not the box of its points, by more than one step of their precision.
///
/// Every release of the crate `tmf` confuses the axes when it collects the box, so it is wrong in most files, and not
/// held against them. It is used for what it is good for, which is making coordinates of the stored integers; bounds are
/// those of the points.
pub const STORED_BOX: Rule = Rule::suspicious("bounding box of a vertex segment");

/// Coordinates of more than 32 bits, which all releases of the crate `tmf` write for meshes with an edge of next to no
/// length, and wrongly: their scale is `2^(bits mod 32) - 1`, and of fields of 64 bits and more just the first 64 hold
/// something.
///
/// Where every number of the segment fits that scale, it is used, and the geometry comes back; else the formula of the
/// specification is.
pub const WIDE_COORDINATES: Rule = Rule::suspicious("prec_x, prec_y, prec_z");

/// A coordinate, texture coordinate, colour or custom number of no bits. Read as the least value there is, or as 0; the
/// crate `tmf` divides 0 by 0.
pub const NO_BITS: Rule = Rule::suspicious("precision");

/// A segment is longer than its data. The rest is not read.
pub const SEGMENT_TAIL: Rule = Rule::suspicious("data_length");

/// Bytes behind the last mesh. They are not read.
pub const TRAILING_BYTES: Rule = Rule::suspicious("trailing bytes");

/// A segment of a type that is invalid, reserved or unknown. It is listed and skipped, as the specification demands.
pub const UNKNOWN_SEGMENT: Rule = Rule::suspicious("seg_type");

/// A segment of a type that its layout does not have: tangents, shared or custom data in layout A. Read as the crate
/// `tmf` 0.2 does, without a base for indices.
pub const TYPE_OF_OTHER_LAYOUT: Rule = Rule::forbidden("seg_type of another layout");

/// Normal triangles that are omitted in layout B, which the crate `tmf` neither writes nor reads.
pub const OMITTED_IN_LAYOUT_B: Rule = Rule::suspicious("compresion_type");

/// Shared triangles for no array, or for arrays that do not exist.
pub const SHARED_MASK: Rule = Rule::suspicious("mask of shared triangles");

/// A name that is not UTF-8.
pub const NAME_NOT_UTF8: Rule = Rule::forbidden("str_bytes");

/// A coordinate or custom number that is not finite: its box is not.
pub const NOT_FINITE: Rule = Rule::suspicious("numbers that are not finite");

/// An index that is not less than the number of elements of its array: the file is damaged.
pub const INDEX_OUT_OF_RANGE: Rule = Rule::unusable("index out of range");

/// An index, or a custom integer, that does not fit 32 bits; its array cannot be decoded.
pub const INDEX_TOO_LARGE: Rule = Rule::unusable("index beyond 32 bits");

/// The number of vertex triangle indices is not a multiple of three. What is left over is no triangle.
pub const ODD_INDICES: Rule = Rule::suspicious("count of the vertex triangle indices");

/// Normals, texture coordinates or tangents that cannot be told which vertex they belong to: they have no indices, or
/// not as many as the vertices have, and there are not as many of them as vertices. A [`View`](super::View) leaves them
/// out.
pub const UNASSIGNED: Rule = Rule::suspicious("elements without a vertex");
