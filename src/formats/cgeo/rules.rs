//! The rules that [`Proxy::findings`](super::Proxy::findings) and [`Proxy::validate`](super::Proxy::validate) check.
//!
//! Rules of severity [`Forbidden`](crate::Severity::Forbidden) are those of the published text. No file that Corona itself
//! wrote is public, so it is not known which programs break which rule.

use crate::format::Format;
use crate::report::{Place, Rule};

/// The file as a whole, from which places in it are made.
pub(super) const FILE: Place = Place::file(Format::CGeo);

/// The header's snapshot count is not the number of entries in the offset table. The table counts.
pub const SNAPSHOT_COUNT: Rule = Rule::forbidden("snapshot_count", "Animation snapshot count");

/// A property that the published text demands is absent, there twice, or not a number.
pub const PROPERTY: Rule = Rule::forbidden("property", "property");

/// A version that the published text does not describe. Newer ones are read like the last that it describes.
pub const VERSION: Rule = Rule::suspicious("version", "Version");

/// `Compressed` contradicts the sections. The sections count.
pub const COMPRESSED: Rule = Rule::forbidden("compressed", "Compressed");

/// The header's number of vertices, faces, normals or mapping channels is not that of the first snapshot.
pub const HEADER_COUNTS: Rule = Rule::note("header_counts", "counts of the header");

/// The header's box sizes are not those of the first snapshot's box.
pub const HEADER_BOX: Rule = Rule::note("header_box", "bounding box size");

/// The header's scale contradicts its two box sizes.
pub const SCALE: Rule = Rule::suspicious("scale", "Scale");

/// The stored box is not that of the positions.
pub const BOUNDING_BOX: Rule = Rule::suspicious("bounding_box", "TAG_BOUNDING_BOX");

/// A section comes twice in a snapshot. The first counts; several meshes are samples.
pub const REPEATED_SECTION: Rule = Rule::forbidden("repeated_section", "repeated section");

/// Triangle records have another length than those of version 7. The bytes after the indices are read by their number.
pub const TRIANGLE_TAIL: Rule = Rule::forbidden("triangle_tail", "triangle record");

/// Indices of triangles are out of range.
pub const INDEX_OUT_OF_RANGE: Rule = Rule::unusable("index_out_of_range", "triangle indices");

/// The least index of triangles is 1 and the greatest the number of elements: they may count from 1.
pub const COUNTED_FROM_ONE: Rule = Rule::suspicious("counted_from_one", "triangle indices from 1");

/// Positions, normals or map coordinates that are not finite.
pub const NOT_FINITE: Rule = Rule::suspicious("not_finite", "numbers that are not finite");

/// A snapshot cannot be read. The others can.
pub const SNAPSHOT: Rule = Rule::unusable("snapshot", "snapshot");

/// Bytes after a stream, inside its section.
pub const TRAILING_BYTES: Rule = Rule::suspicious("trailing_bytes", "bytes after the stream");
