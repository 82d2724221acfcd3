//! The rules that [`Proxy::findings`](super::Proxy::findings) and [`Proxy::validate`](super::Proxy::validate) check.
//!
//! Rules of severity [`Forbidden`](crate::Severity::Forbidden) come from the published text. No file that Corona itself
//! wrote is public, so it is not known which programs break which rule.

use crate::format::Format;
use crate::report::{Place, rules};

/// The file as a whole. Locations in errors and findings are made from it.
pub(super) const FILE: Place = Place::file(Format::CGeo);

rules! {
    /// The header's snapshot count differs from the number of entries in the offset table. The table is used.
    SNAPSHOT_COUNT = forbidden("snapshot_count", "Animation snapshot count");
    /// A property that the published text requires is missing, repeated, or not a number.
    PROPERTY = forbidden("property", "property");
    /// The published text does not describe this version. Newer versions are read like version 7.
    VERSION = suspicious("version", "Version");
    /// The property `Compressed` contradicts the sections. The sections are used.
    COMPRESSED = forbidden("compressed", "Compressed");
    /// The header's number of vertices, faces, normals or mapping channels differs from the first snapshot.
    HEADER_COUNTS = note("header_counts", "counts of the header");
    /// The header's bounding box sizes differ from the bounding box of the first snapshot.
    HEADER_BOX = note("header_box", "bounding box size");
    /// The header's scale contradicts its two bounding box sizes.
    SCALE = suspicious("scale", "Scale");
    /// The stored bounding box differs from the bounding box of the positions.
    BOUNDING_BOX = suspicious("bounding_box", "TAG_BOUNDING_BOX");
    /// A section occurs twice in a snapshot. The first one is used; several meshes are samples.
    REPEATED_SECTION = forbidden("repeated_section", "repeated section");
    /// Triangle records differ in length from the records of version 7. The number of bytes after the indices decides how
    /// they are read.
    TRIANGLE_TAIL = forbidden("triangle_tail", "triangle record");
    /// An index of a triangle is out of range.
    INDEX_OUT_OF_RANGE = unusable("index_out_of_range", "triangle indices");
    /// The minimum index is 1 and the maximum is the number of elements: the indices may count from 1.
    COUNTED_FROM_ONE = suspicious("counted_from_one", "triangle indices from 1");
    /// A position, normal or texture coordinate is NaN or infinite.
    NOT_FINITE = suspicious("not_finite", "numbers that are not finite");
    /// A normal has length 0, and so no direction. It is read as stored.
    ZERO_NORMAL = suspicious("zero_normal", "normals of length 0");
    /// A snapshot cannot be read. The other snapshots can.
    SNAPSHOT = unusable("snapshot", "snapshot");
    /// A section contains bytes after its stream.
    TRAILING_BYTES = suspicious("trailing_bytes", "bytes after the stream");
}
