//! The rules that [`Mesh::findings`](super::Mesh::findings) and [`Mesh::validate`](super::Mesh::validate) check.
//!
//! Strict reading refuses files that break a rule of severity [`Forbidden`](crate::Severity::Forbidden) or
//! [`Unusable`](crate::Severity::Unusable).

use crate::format::Format;
use crate::report::{Place, rules};

/// The file as a whole. Locations in errors and findings are made from it.
pub(super) const FILE: Place = Place::file(Format::OpenCtm);

rules! {
    /// The header's flags have bits without a meaning. They are ignored, as in the reference library.
    UNKNOWN_FLAGS = suspicious("unknown_flags", "flags");
    /// A comment, name or file reference is not UTF-8. Its bytes can be read.
    TEXT_NOT_UTF8 = forbidden("text_not_utf8", "string");
    /// Several UV maps, or several attribute maps, have one name, which must be unique. All are read, by index.
    REPEATED_NAME = forbidden("repeated_name", "name of a map");
    /// The grid has more cells than 32 bits can number. Cell numbers wrap, as in the reference library.
    GRID_TOO_FINE = suspicious("grid_too_fine", "div_x, div_y, div_z");
    /// The precision of normals is NaN, in a file without normals.
    NAN_PRECISION = suspicious("nan_precision", "normal precision");
    /// A grid index is beyond the grid. Coordinates are computed anyway, as in the reference library.
    OUTSIDE_GRID = forbidden("outside_grid", "grid index");
    /// An LZMA stream does not end where its array does: it has an end marker, more content, or bytes after it. The
    /// rest is ignored, as in the reference library.
    STREAM_TAIL = forbidden("stream_tail", "packed stream")
        written by "the C# port and JOpenCTM before 1.4.1, which append an end marker";
    /// The mesh is one triangle that uses one vertex.
    POINT_CLOUD = note("point_cloud", "triangle of one vertex")
        written by "MeshLib, for point clouds";
    /// The file has bytes after its last body. They are not read.
    TRAILING_BYTES = suspicious("trailing_bytes", "trailing bytes");
    /// The bytes after a body begin like another body, but cannot be read as one.
    DAMAGED_BODY = unusable("damaged_body", "body");
    /// An index is not less than the vertex count: the file is damaged.
    INDEX_OUT_OF_RANGE = unusable("index_out_of_range", "index out of range");
    /// A number is NaN or infinite. The reference library refuses such files.
    NOT_FINITE = unusable("not_finite", "numbers that are not finite");
    /// A normal has length 0, and so no direction. It is read as stored. Not checked in files of the method MG2, whose precision turns
    /// short normals into 0.
    ZERO_NORMAL = suspicious("zero_normal", "normals of length 0");
}
