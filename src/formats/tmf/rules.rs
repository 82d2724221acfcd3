//! The rules that [`Document::findings`](super::Document::findings) and [`Document::validate`](super::Document::validate) check.
//!
//! Strict reading refuses files that break a rule of severity [`Forbidden`](crate::Severity::Forbidden) or
//! [`Unusable`](crate::Severity::Unusable).

use crate::format::Format;
use crate::report::{Place, rules};

/// The file as a whole. Locations in errors and findings are made from it.
pub(super) const FILE: Place = Place::file(Format::Tmf);

rules! {
    /// The stored bounding box of a vertex segment differs from the bounding box of its points by more than one quantization step.
    /// Coordinates are still computed from it; bounds are computed from the points.
    STORED_BOX = note("stored_box", "bounding box of a vertex segment")
        written by "every release of the `tmf` crate, which confuses the axes of the box";
    /// Coordinates have more than 32 bits. The `tmf` crate stores such fields wrongly: their scale is `2^(bits mod
    /// 32) - 1`, and only the first 64 bits of wider fields are used. If every number of the segment fits that scale,
    /// it is used, which restores the geometry; otherwise the specification's formula is used.
    WIDE_COORDINATES = suspicious("wide_coordinates", "prec_x, prec_y, prec_z")
        written by "every release of the `tmf` crate, for meshes with an edge of almost no length";
    /// A coordinate, texture coordinate, colour or custom float has 0 bits. It is read as the minimum, or as 0; the
    /// `tmf` crate divides 0 by 0.
    NO_BITS = suspicious("no_bits", "precision");
    /// A segment is longer than its data. The rest is not read.
    SEGMENT_TAIL = suspicious("segment_tail", "data_length");
    /// The file has bytes after its last mesh. They are not read.
    TRAILING_BYTES = suspicious("trailing_bytes", "trailing bytes");
    /// A segment has an invalid, reserved or unknown type. It is listed and skipped, as the specification requires.
    UNKNOWN_SEGMENT = suspicious("unknown_segment", "seg_type");
    /// A segment in layout A has a type of layout B: tangents, shared or custom data. It is read as by version 0.2 of
    /// the `tmf` crate, without a base for indices.
    TYPE_OF_OTHER_LAYOUT = forbidden("type_of_other_layout", "seg_type of another layout");
    /// Normal triangles are omitted in layout B. The `tmf` crate neither writes nor reads such files.
    OMITTED_IN_LAYOUT_B = suspicious("omitted_in_layout_b", "compresion_type");
    /// The mask of shared triangles is 0 or has unknown bits.
    SHARED_MASK = suspicious("shared_mask", "mask of shared triangles");
    /// A name is not UTF-8.
    NAME_NOT_UTF8 = forbidden("name_not_utf8", "str_bytes");
    /// A coordinate or custom float is NaN or infinite, because its bounding box or range is.
    NOT_FINITE = suspicious("not_finite", "numbers that are not finite");
    /// An index is not less than the number of elements: the file is damaged.
    INDEX_OUT_OF_RANGE = unusable("index_out_of_range", "index out of range");
    /// An index or custom integer does not fit 32 bits. Its array cannot be decoded.
    INDEX_TOO_LARGE = unusable("index_too_large", "index beyond 32 bits");
    /// The number of vertex indices is not a multiple of three. The rest is ignored.
    ODD_INDICES = suspicious("odd_indices", "count of the vertex triangle indices");
    /// Normals, texture coordinates or tangents cannot be assigned to vertices: they have neither an index per corner
    /// nor one element per vertex. A `MeshView` omits them.
    UNASSIGNED = suspicious("unassigned", "elements without a vertex");
}
