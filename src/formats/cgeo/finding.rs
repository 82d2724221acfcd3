//! What [`Proxy::findings`](super::Proxy::findings) and [`Proxy::validate`](super::Proxy::validate) report.
//!
//! No file that Corona itself wrote is public, so nothing is known of who writes what. *Forbidden* findings contradict
//! the published text, and strict reading refuses them.

/// The header's snapshot count is not the number of entries in the offset table, which counts. Forbidden.
pub const SNAPSHOT_COUNT: &str = "Animation snapshot count";

/// A property that the published text demands is absent, there twice, or not a number. Forbidden.
pub const PROPERTY: &str = "property";

/// A version that the published text does not describe. Forbidden.
pub const VERSION: &str = "Version";

/// `Compressed` says one thing, and the sections are another. Forbidden.
pub const COMPRESSED: &str = "Compressed";

/// The header's number of vertices, faces, normals or mapping channels is not that of the first snapshot.
pub const HEADER_COUNTS: &str = "counts of the header";

/// The header's box sizes are not those of the first snapshot's box.
pub const HEADER_BOX: &str = "bounding box size";

/// The header's scale contradicts its two box sizes.
pub const SCALE: &str = "Scale";

/// The stored box is not that of the positions.
pub const BOUNDING_BOX: &str = "TAG_BOUNDING_BOX";

/// A section comes twice in a snapshot. The first counts, but for meshes, which are samples.
pub const REPEATED_SECTION: &str = "repeated section";

/// Triangle records have another length than the version has. What lies behind the indices is taken for what its
/// length suggests.
pub const TRIANGLE_TAIL: &str = "triangle record";

/// Indices of triangles are out of range. Not tolerated.
pub const INDEX_OUT_OF_RANGE: &str = "triangle indices";

/// All indices of triangles begin at 1, and end at the number of elements: perhaps they count from 1.
pub const COUNTED_FROM_ONE: &str = "triangle indices from 1";

/// Positions, normals or map coordinates that are not finite.
pub const NOT_FINITE: &str = "numbers that are not finite";

/// A snapshot cannot be read; the others can. Not tolerated.
pub const SNAPSHOT: &str = "snapshot";

/// Bytes behind a stream, inside its section.
pub const TRAILING_BYTES: &str = "bytes behind the stream";
