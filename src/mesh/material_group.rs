use std::ops::Range;

use super::indices::vertex_range;

/// The triangles of one material: one draw call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MaterialGroup {
    /// The index of the group among all groups of the mesh, as accepted by [`MeshView::group`](super::MeshView::group).
    pub index: usize,
    /// The material ID: in CGeo, the number that the file has for each triangle; in a Second Life mesh, the number of the face,
    /// which is also the number of its texture; otherwise 0.
    pub material: u32,
    /// The triangles, in the order of the mesh or remap; three indices each.
    pub triangles: Range<usize>,
    /// A range of vertices that contains all that the triangles use.
    pub vertices: Range<u32>,
}

impl MaterialGroup {
    /// A group whose triangles have these corners.
    pub(super) fn new(
        index: usize,
        material: u32,
        triangles: Range<usize>,
        corners: impl Iterator<Item = u32>,
    ) -> Self {
        Self {
            index,
            material,
            triangles,
            vertices: vertex_range(corners),
        }
    }
}
