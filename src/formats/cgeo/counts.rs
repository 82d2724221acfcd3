//! How many elements the arrays of a mesh have.

use super::raw;

/// The numbers of elements of a mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Positions.
    pub vertices: u32,
    /// Normals.
    pub normals: u32,
    /// Map channels.
    pub map_channels: u32,
    /// Triangles.
    pub triangles: u32,
}

impl Counts {
    pub(crate) fn new(stored: &raw::MeshCounts) -> Self {
        Self {
            vertices: stored.vertices.get(),
            normals: stored.normals.get(),
            map_channels: stored.map_channels.get(),
            triangles: stored.triangles.get(),
        }
    }
}
