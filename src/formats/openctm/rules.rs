//! What [`Mesh::findings`](super::Mesh::findings), [`Mesh::validate`](super::Mesh::validate) and
//! [`Bodies::findings`](super::Bodies::findings) report.
//!
//! Strict reading refuses what is *forbidden* (it breaks the specification's text) or *unusable*. What is *suspicious* is
//! legal, but a problem for programs that do not expect it; a *note* is harmless.

use crate::format::Format;
use crate::report::{Place, Rule};

/// The file as a whole, from which places in it are made.
pub(super) const FILE: Place = Place::file(Format::OpenCtm);

/// Bits of the header's flags that have no meaning.
///
/// Ignored, as the reference library does.
pub const UNKNOWN_FLAGS: Rule = Rule::suspicious("unknown_flags", "flags");

/// A comment, name or file reference that is not UTF-8.
///
/// The bytes are there all the same.
pub const TEXT_NOT_UTF8: Rule = Rule::forbidden("text_not_utf8", "string");

/// Several UV maps, or several attribute maps, of one name, which is to be unique.
///
/// All are read, by index.
pub const REPEATED_NAME: Rule = Rule::forbidden("repeated_name", "name of a map");

/// A grid of more cells than 32 bits can number.
///
/// Cell numbers wrap, as in the reference library.
pub const GRID_TOO_FINE: Rule = Rule::suspicious("grid_too_fine", "div_x, div_y, div_z");

/// A precision of normals that is not a number, in a file without normals.
pub const NAN_PRECISION: Rule = Rule::suspicious("nan_precision", "normal precision");

/// A grid index beyond the grid.
///
/// Coordinates are computed all the same, as the reference library does.
pub const OUTSIDE_GRID: Rule = Rule::forbidden("outside_grid", "grid index");

/// An LZMA stream that does not end where its array does.
///
/// It has an end marker (written by the C# port and by JOpenCTM before 1.4.1), more content, or bytes after it. The rest
/// is ignored, as the reference library does.
pub const STREAM_TAIL: Rule = Rule::forbidden("stream_tail", "packed stream");

/// The mesh is one triangle of one vertex: MeshLib stores a cloud of points so.
pub const POINT_CLOUD: Rule = Rule::note("point_cloud", "triangle of one vertex");

/// Bytes after the last body. They are not read.
pub const TRAILING_BYTES: Rule = Rule::suspicious("trailing_bytes", "trailing bytes");

/// Bytes after a body begin like another body, but cannot be read as one.
pub const DAMAGED_BODY: Rule = Rule::unusable("damaged_body", "body");

/// An index that is not less than the vertex count: the file is damaged.
pub const INDEX_OUT_OF_RANGE: Rule = Rule::unusable("index_out_of_range", "index out of range");

/// A number that is not finite, for which the reference library refuses the file.
pub const NOT_FINITE: Rule = Rule::unusable("not_finite", "numbers that are not finite");
