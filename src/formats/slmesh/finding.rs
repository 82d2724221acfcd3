//! What [`Asset::findings`](super::Asset::findings) and [`Asset::validate`](super::Asset::validate) report.
//!
//! *Forbidden* findings break the specification's text, and strict reading refuses them. The others are suspicious: legal,
//! or common in files that exist, but a trap for programs that do not expect them.

/// There is no "high_lod", which the specification demands. Forbidden.
pub const HIGH_LOD_MISSING: &str = "high_lod";

/// A level of detail without the next higher one. Forbidden; viewers take the next one that is there.
pub const LOD_GAP: &str = "levels of detail";

/// There is no "physics_convex", which the specification demands. Forbidden.
pub const CONVEX_MISSING: &str = "physics_convex";

/// A version above 999, which the caller allowed, or one that is no whole number.
pub const VERSION: &str = "version";

/// A service put the key "404" into the header: there is no asset.
pub const NOT_FOUND: &str = "404";

/// Levels of detail have different numbers of faces. Forbidden; writers of the tests of other readers do it.
pub const FACE_COUNT: &str = "number of faces";

/// A level of detail does not have fewer triangles than the next higher one. Forbidden; uploads of simple meshes have
/// equal ones.
pub const LOD_TRIANGLES: &str = "number of triangles";

/// An index that no vertex has. Not tolerated: the viewer reads beyond its memory.
pub const INDEX_OUT_OF_RANGE: &str = "index out of range";

/// Indices behind the last whole triangle. Not read, as in the viewer. Forbidden.
pub const ODD_INDICES: &str = "count of the indices";

/// A triangle that has the same vertex twice. Forbidden.
pub const DEGENERATE: &str = "degenerate triangle";

/// A vertex that no triangle has. Forbidden.
pub const UNREFERENCED: &str = "vertex without a triangle";

/// "NoGeometry" that is not `true`, or is not the only field. The key alone counts, as in the viewer. Forbidden.
pub const NO_GEOMETRY: &str = "NoGeometry";

/// No "PositionDomain": -0.5 to 0.5, as the specification says. In the viewer all positions are then 0.
pub const DOMAIN_MISSING: &str = "PositionDomain";

/// A domain of positions that reaches beyond -0.501 to 0.501, or whose numbers are not finite. Forbidden.
pub const DOMAIN_OUTSIDE: &str = "bounds of PositionDomain";

/// A domain whose "Min" is greater than its "Max". It is used as it is.
pub const DOMAIN_INVERTED: &str = "order of Min and Max";

/// Texture coordinates without "TexCoord0Domain". All are 0, as in the viewer. Forbidden.
pub const TEX_COORD_DOMAIN_MISSING: &str = "TexCoord0Domain";

/// A skin, but a face without "Weights". Forbidden.
pub const WEIGHTS_MISSING: &str = "Weights";

/// "Weights" in an asset without a skin.
pub const WEIGHTS_WITHOUT_SKIN: &str = "Weights without a skin";

/// A vertex that no joint moves: it has no influences, or all of its weights are 0.
pub const WEIGHTLESS: &str = "vertex without a weight";

/// A joint that the skin does not have. Not tolerated, though the viewer takes the last joint.
pub const JOINT_OUT_OF_RANGE: &str = "joint out of range";

/// The skin does not have as many inverse bind matrices as joints; the viewer drops all joints then.
pub const MATRIX_COUNT: &str = "inverse_bind_matrix";

/// The skin does not have as many alternative inverse bind matrices as joints.
pub const ALT_MATRIX_COUNT: &str = "alt_inverse_bind_matrix";

/// "pelvis_offset" is no number; node-metaverse writes a matrix.
pub const PELVIS_OFFSET: &str = "pelvis_offset";

/// A number of the skin that is not finite.
pub const NOT_FINITE: &str = "numbers that are not finite";

/// There is no "BoundingVerts", which the specification demands. Forbidden.
pub const BOUNDING_VERTS_MISSING: &str = "BoundingVerts";

/// More points than the hulls have. The rest belongs to none. Forbidden.
pub const HULL_POINTS: &str = "Positions";

/// Hulls, and a "physics_mesh", which is never used then. Forbidden.
pub const HULLS_AND_MESH: &str = "HullList beside physics_mesh";

/// The hash in the header is not the MD5 of the stored block: the block was changed, or nobody filled the hash in. Looked
/// for with the feature `hash`, by `Asset::check_hashes`.
pub const HASH: &str = "hash";
