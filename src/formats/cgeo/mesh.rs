//! A decoded mesh.

use super::triangles::Triangles;
use crate::bytes::Array;
use crate::num::as_u64;

/// Identifies the triangles of a mesh.
///
/// Equal ids mean the very same triangles: what was made from them (a vertex remap, an acceleration structure) can be
/// kept and refitted. Different ids may mean equal triangles that are stored twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TopologyId {
    /// [`Proxy::id`](super::Proxy::id).
    pub(crate) proxy: u64,
    /// Where the complete mesh is stored.
    pub(crate) offset: u64,
}

/// A decoded mesh. Cloning shares everything.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Mesh {
    /// Positions.
    pub positions: Array<[f32; 3]>,
    /// Normals. Where a difference was added, not exactly of length 1.
    pub normals: Array<[f32; 3]>,
    /// Texture coordinates u, v, w of each map channel.
    pub map_channels: Vec<Array<[f32; 3]>>,
    /// The triangles.
    pub triangles: Triangles,
    /// Identifies the triangles.
    pub topology: TopologyId,
    /// Whether the mesh is stored complete. A difference shares the triangles of the first snapshot.
    pub is_complete: bool,
}

/// A decoded mesh in memory that is reused for the next one.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct MeshBuffer {
    /// Positions.
    pub positions: Vec<[f32; 3]>,
    /// Normals.
    pub normals: Vec<[f32; 3]>,
    /// Texture coordinates u, v, w of each map channel.
    pub map_channels: Vec<Vec<[f32; 3]>>,
    /// The triangles.
    pub triangles: Triangles,
    /// Identifies the triangles; `None` before the first mesh.
    pub topology: Option<TopologyId>,
    /// Whether the mesh is stored complete. A difference shares the triangles of the first snapshot.
    pub is_complete: bool,
}

impl Mesh {
    /// The bytes of the positions, normals and map channels.
    pub(crate) fn arrays_size(&self) -> u64 {
        let arrays = [&self.positions, &self.normals].into_iter().chain(&self.map_channels);
        arrays.fold(0, |sum, array| sum.saturating_add(as_u64(array.as_bytes().len())))
    }
}

impl MeshBuffer {
    /// The mesh as shared arrays, which take over the memory.
    pub(crate) fn into_mesh(self, topology: TopologyId) -> Mesh {
        Mesh {
            positions: Array::from_vec(self.positions),
            normals: Array::from_vec(self.normals),
            map_channels: self.map_channels.into_iter().map(Array::from_vec).collect(),
            triangles: self.triangles,
            topology: self.topology.unwrap_or(topology),
            is_complete: self.is_complete,
        }
    }
}
