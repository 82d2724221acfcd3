//! What [`Asset::findings`](super::Asset::findings) and [`Asset::validate`](super::Asset::validate) report.
//!
//! Strict reading refuses what is *forbidden* (it breaks the specification's text) or *unusable*. What is *suspicious* is
//! legal, or common in files that exist, but a problem for programs that do not expect it.

use crate::format::Format;
use crate::report::{Place, Rule};

/// The file as a whole, from which places in it are made.
pub(super) const FILE: Place = Place::file(Format::SlMesh);

/// There is no "high_lod", which the specification demands.
pub const HIGH_LOD_MISSING: Rule = Rule::forbidden("high_lod_missing", "high_lod");

/// A level of detail without the next higher one.
///
/// Viewers take the nearest one that is there.
pub const LOD_GAP: Rule = Rule::forbidden("lod_gap", "levels of detail");

/// There is no "physics_convex", which the specification demands.
///
/// The viewer itself writes parts of larger models without one.
pub const CONVEX_MISSING: Rule = Rule::suspicious("convex_missing", "physics_convex");

/// A version above 999, which the caller allowed, or one that is no whole number.
pub const VERSION: Rule = Rule::suspicious("version", "version");

/// A service put the key "404" into the header: there is no asset.
pub const NOT_FOUND: Rule = Rule::suspicious("not_found", "404");

/// Levels of detail have different numbers of faces.
///
/// Found in test files of other readers.
pub const FACE_COUNT: Rule = Rule::forbidden("face_count", "number of faces");

/// A level of detail does not have fewer triangles than the next higher one, as the specification demands.
///
/// What the viewer uploads of simple meshes has equal ones.
pub const LOD_TRIANGLES: Rule = Rule::suspicious("lod_triangles", "number of triangles");

/// An index that is not less than the number of vertices.
///
/// The viewer reads beyond its memory.
pub const INDEX_OUT_OF_RANGE: Rule = Rule::unusable("index_out_of_range", "index out of range");

/// Indices after the last whole triangle. Not read, as in the viewer.
pub const ODD_INDICES: Rule = Rule::forbidden("odd_indices", "count of the indices");

/// A triangle that has the same vertex twice.
pub const DEGENERATE: Rule = Rule::forbidden("degenerate", "degenerate triangle");

/// A vertex that no triangle uses.
pub const UNREFERENCED: Rule = Rule::forbidden("unreferenced", "vertex without a triangle");

/// "NoGeometry" that is not `true`, or is not the only field.
///
/// The key alone counts, as in the viewer.
pub const NO_GEOMETRY: Rule = Rule::forbidden("no_geometry", "NoGeometry");

/// No "PositionDomain": -0.5 to 0.5, as the specification says.
///
/// In the viewer all positions are then 0.
pub const DOMAIN_MISSING: Rule = Rule::note("domain_missing", "PositionDomain");

/// A domain of positions beyond -0.501 to 0.501, or that is not finite.
pub const DOMAIN_OUTSIDE: Rule = Rule::forbidden("domain_outside", "bounds of PositionDomain");

/// A domain whose "Min" is greater than its "Max". It is used as it is.
pub const DOMAIN_INVERTED: Rule = Rule::suspicious("domain_inverted", "order of Min and Max");

/// Texture coordinates without "TexCoord0Domain". All are 0, as in the viewer.
pub const TEX_COORD_DOMAIN_MISSING: Rule = Rule::forbidden("tex_coord_domain_missing", "TexCoord0Domain");

/// A skin, but a face without "Weights".
pub const WEIGHTS_MISSING: Rule = Rule::forbidden("weights_missing", "Weights");

/// "Weights" in an asset without a skin.
pub const WEIGHTS_WITHOUT_SKIN: Rule = Rule::suspicious("weights_without_skin", "Weights without a skin");

/// A vertex that no joint moves: it has no influences, or all of its weights are 0.
pub const WEIGHTLESS: Rule = Rule::suspicious("weightless", "vertex without a weight");

/// A joint that is not less than the number of joints of the skin.
///
/// The viewer takes the last joint.
pub const JOINT_OUT_OF_RANGE: Rule = Rule::unusable("joint_out_of_range", "joint out of range");

/// The skin does not have as many inverse bind matrices as joints.
///
/// The viewer drops all joints then.
pub const MATRIX_COUNT: Rule = Rule::suspicious("matrix_count", "inverse_bind_matrix");

/// The skin does not have as many alternative inverse bind matrices as joints.
pub const ALT_MATRIX_COUNT: Rule = Rule::suspicious("alt_matrix_count", "alt_inverse_bind_matrix");

/// "pelvis_offset" is no number; node-metaverse writes a matrix.
pub const PELVIS_OFFSET: Rule = Rule::suspicious("pelvis_offset", "pelvis_offset");

/// A number of the skin that is not finite.
pub const NOT_FINITE: Rule = Rule::suspicious("not_finite", "numbers that are not finite");

/// There is no "BoundingVerts", which the specification demands.
pub const BOUNDING_VERTS_MISSING: Rule = Rule::forbidden("bounding_verts_missing", "BoundingVerts");

/// More points than the hulls have. The rest belongs to no hull.
pub const HULL_POINTS: Rule = Rule::forbidden("hull_points", "Positions");

/// Hulls, and a "physics_mesh", which is never used then.
pub const HULLS_AND_MESH: Rule = Rule::forbidden("hulls_and_mesh", "HullList beside physics_mesh");

/// The hash in the header is not the MD5 of the stored block.
///
/// One of them was changed, or the hash was not filled in. Checked by `Asset::check_hashes`, with the feature `hash`.
pub const HASH: Rule = Rule::suspicious("hash", "hash");

/// Blocks share so many bytes that not all were compared with their hashes.
///
/// Together they are more than 16 times as long as the file.
pub const SHARED_TOO_OFTEN: Rule = Rule::forbidden("shared_too_often", "blocks that overlap");

/// A block that is cut off, damaged, or not laid out as it must be. The others are read all the same.
pub const BLOCK: Rule = Rule::unusable("block", "block");
