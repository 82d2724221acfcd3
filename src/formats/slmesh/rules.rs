//! The rules that [`Asset::findings`](super::Asset::findings) and [`Asset::validate`](super::Asset::validate) check.
//!
//! Strict reading refuses files that break a rule of severity [`Forbidden`](crate::Severity::Forbidden) or
//! [`Unusable`](crate::Severity::Unusable).

use crate::format::Format;
use crate::report::{Place, rules};

/// The file as a whole. Locations in errors and findings are made from it.
pub(super) const FILE: Place = Place::file(Format::SlMesh);

rules! {
    /// `high_lod`, which the specification requires, is missing.
    HIGH_LOD_MISSING = forbidden("high_lod_missing", "high_lod");
    /// A level of detail exists without the next higher one. Viewers use the nearest one that exists.
    LOD_GAP = forbidden("lod_gap", "levels of detail");
    /// `physics_convex`, which the specification requires, is missing.
    CONVEX_MISSING = suspicious("convex_missing", "physics_convex")
        written by "the Second Life viewer, in parts of larger models";
    /// The version is above 999, which the caller allowed, or is not an integer.
    VERSION = suspicious("version", "version");
    /// The header has the key `404`: the asset does not exist.
    NOT_FOUND = suspicious("not_found", "404")
        written by "asset services, for assets that do not exist";
    /// Levels of detail have different numbers of faces.
    FACE_COUNT = forbidden("face_count", "number of faces")
        written by "test files of other readers";
    /// A level of detail does not have fewer triangles than the next higher one, as the specification requires.
    LOD_TRIANGLES = suspicious("lod_triangles", "number of triangles")
        written by "the Second Life viewer, which stores simple meshes with equal levels";
    /// An index is not less than the number of vertices. The viewer reads beyond its memory.
    INDEX_OUT_OF_RANGE = unusable("index_out_of_range", "index out of range");
    /// There are indices after the last whole triangle. They are not read, as in the viewer.
    ODD_INDICES = forbidden("odd_indices", "count of the indices");
    /// A triangle uses the same vertex twice.
    DEGENERATE = forbidden("degenerate", "degenerate triangle");
    /// A vertex is not used by any triangle.
    UNREFERENCED = forbidden("unreferenced", "vertex without a triangle");
    /// `NoGeometry` is not `true`, or is not the only field. The key by itself counts, as in the viewer.
    NO_GEOMETRY = forbidden("no_geometry", "NoGeometry");
    /// `PositionDomain` is missing. -0.5 to 0.5 is used, as the specification says; in the viewer all positions are
    /// then 0.
    DOMAIN_MISSING = note("domain_missing", "PositionDomain");
    /// A domain of positions is beyond -0.501 to 0.501, NaN or infinite.
    DOMAIN_OUTSIDE = forbidden("domain_outside", "bounds of PositionDomain");
    /// The `Min` of a domain is greater than its `Max`. It is used as stored.
    DOMAIN_INVERTED = suspicious("domain_inverted", "order of Min and Max");
    /// All vertices of a level of detail are at one point: the object is invisible at the distances that the level is for, usually on
    /// purpose. They are read as stored.
    NO_EXTENT = note("no_extent", "level of detail without extent");
    /// Texture coordinates have no `TexCoord0Domain`. All are 0, as in the viewer.
    TEX_COORD_DOMAIN_MISSING = forbidden("tex_coord_domain_missing", "TexCoord0Domain");
    /// The asset has a skin, but a face has no `Weights`.
    WEIGHTS_MISSING = forbidden("weights_missing", "Weights");
    /// A face has `Weights`, but the asset has no skin.
    WEIGHTS_WITHOUT_SKIN = suspicious("weights_without_skin", "Weights without a skin");
    /// A vertex is not moved by any joint: it has no influences, or all its weights are 0.
    WEIGHTLESS = suspicious("weightless", "vertex without a weight");
    /// A joint index is not less than the skin's number of joints. The viewer uses the last joint.
    JOINT_OUT_OF_RANGE = forbidden("joint_out_of_range", "joint out of range");
    /// The skin's numbers of inverse bind matrices and of joints differ. The viewer then drops all joints.
    MATRIX_COUNT = suspicious("matrix_count", "inverse_bind_matrix");
    /// The skin's numbers of alternative inverse bind matrices and of joints differ.
    ALT_MATRIX_COUNT = suspicious("alt_matrix_count", "alt_inverse_bind_matrix");
    /// `pelvis_offset` is not a number.
    PELVIS_OFFSET = suspicious("pelvis_offset", "pelvis_offset")
        written by "node-metaverse, which stores a matrix";
    /// A number of the skin is NaN or infinite.
    NOT_FINITE = suspicious("not_finite", "numbers that are not finite");
    /// A normal has length 0, and so no direction: its numbers are the two nearest to 0. It is read as stored.
    ZERO_NORMAL = suspicious("zero_normal", "normals of length 0");
    /// `BoundingVerts`, which the specification requires, is missing.
    BOUNDING_VERTS_MISSING = forbidden("bounding_verts_missing", "BoundingVerts");
    /// There are more points than the hulls have. The rest belongs to no hull.
    HULL_POINTS = forbidden("hull_points", "Positions");
    /// The asset has hulls and a `physics_mesh`, which is then never used.
    HULLS_AND_MESH = forbidden("hulls_and_mesh", "HullList beside physics_mesh");
    /// The hash in the header is not the MD5 of the stored block: one of them was changed, or the hash was not filled
    /// in. Checked by `Asset::check_hashes`, with the feature `hash`.
    HASH = suspicious("hash", "hash");
    /// Blocks share more bytes than could be compared with their hashes. Together they are more than 16 times as long as the file.
    SHARED_TOO_OFTEN = forbidden("shared_too_often", "blocks that overlap");
    /// A block is truncated, damaged, or not laid out as required. The other blocks are read.
    BLOCK = unusable("block", "block");
}
