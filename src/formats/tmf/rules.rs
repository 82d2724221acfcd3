//! The rules of findings.
//!
//! Reported by [`Document::findings`](super::Document::findings), [`Document::validate`](super::Document::validate) and
//! [`MeshView::findings`](crate::MeshView::findings).
//!
//! [`Severity`](crate::Severity) says how serious each is: strict reading refuses what the specification forbids.

use crate::format::Format;
use crate::report::{Place, Rule};

/// The file as a whole; places in it are made from this.
pub(super) const FILE: Place = Place::file(Format::Tmf);

/// The box in a vertex segment is not that of its points, by more than a step.
///
/// Every release of the crate `tmf` confuses the axes of the box, so it is wrong in most files. It is still what
/// coordinates are computed from; bounds are computed from the points.
pub const STORED_BOX: Rule = Rule::note("stored_box", "bounding box of a vertex segment");

/// Coordinates have more than 32 bits.
///
/// All releases of the crate `tmf` write them for meshes with an edge of almost no length, and wrongly: their scale is
/// `2^(bits mod 32) - 1`, and only the first 64 bits of wider fields are used. Where every number of the segment fits
/// that scale, it is used, which restores the geometry; otherwise the formula of the specification is.
pub const WIDE_COORDINATES: Rule = Rule::suspicious("wide_coordinates", "prec_x, prec_y, prec_z");

/// A coordinate, texture coordinate, colour or custom float has no bits.
///
/// Read as the minimum, or as 0; the crate `tmf` divides 0 by 0.
pub const NO_BITS: Rule = Rule::suspicious("no_bits", "precision");

/// A segment is longer than its data. The rest is not read.
pub const SEGMENT_TAIL: Rule = Rule::suspicious("segment_tail", "data_length");

/// Bytes after the last mesh. They are not read.
pub const TRAILING_BYTES: Rule = Rule::suspicious("trailing_bytes", "trailing bytes");

/// A segment has an invalid, reserved or unknown type.
///
/// It is listed and skipped, as the specification demands.
pub const UNKNOWN_SEGMENT: Rule = Rule::suspicious("unknown_segment", "seg_type");

/// A segment has a type of layout B in layout A: tangents, shared or custom data.
///
/// Read as by the crate `tmf` 0.2, without a base for indices.
pub const TYPE_OF_OTHER_LAYOUT: Rule = Rule::forbidden("type_of_other_layout", "seg_type of another layout");

/// Normal triangles are omitted in layout B.
///
/// The crate `tmf` neither writes nor reads such files.
pub const OMITTED_IN_LAYOUT_B: Rule = Rule::suspicious("omitted_in_layout_b", "compresion_type");

/// The mask of shared triangles is 0 or has unknown bits.
pub const SHARED_MASK: Rule = Rule::suspicious("shared_mask", "mask of shared triangles");

/// A name is not UTF-8.
pub const NAME_NOT_UTF8: Rule = Rule::forbidden("name_not_utf8", "str_bytes");

/// A coordinate or custom float is not finite, because its box or range is not.
pub const NOT_FINITE: Rule = Rule::suspicious("not_finite", "numbers that are not finite");

/// An index is not less than the number of elements: the file is damaged.
pub const INDEX_OUT_OF_RANGE: Rule = Rule::unusable("index_out_of_range", "index out of range");

/// An index or custom integer does not fit 32 bits; its array cannot be decoded.
pub const INDEX_TOO_LARGE: Rule = Rule::unusable("index_too_large", "index beyond 32 bits");

/// The number of vertex indices is not a multiple of three. The rest is ignored.
pub const ODD_INDICES: Rule = Rule::suspicious("odd_indices", "count of the vertex triangle indices");

/// Normals, texture coordinates or tangents cannot be assigned to vertices.
///
/// They have neither an index for each corner nor one element for each vertex. A [`MeshView`](crate::MeshView) leaves
/// them out.
pub const UNASSIGNED: Rule = Rule::suspicious("unassigned", "elements without a vertex");
