//! A decoded mesh.

use super::identity::StoredMesh;
use super::triangles::Triangles;
use crate::bytes::Array;
#[cfg(feature = "rayon")]
use crate::limits::Budget;
use crate::num::as_u64;
#[cfg(feature = "rayon")]
use crate::report::Result;

/// Identifies the triangles of a mesh.
///
/// Equal ids mean the very same triangles: what was made from them (a vertex remap, an acceleration structure) can be
/// kept and refitted. Different ids may mean equal triangles that are stored twice.
///
/// Ids of a file that is opened twice are equal, where the system identifies files and it has not been changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TopologyId(pub(super) StoredMesh);

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

/// Memory for a map channel beside its coordinates, in bytes: a vector, and the array that it becomes.
pub(super) const MAP_CHANNEL: u64 = 128;

impl Mesh {
    /// The bytes of the positions, normals and map channels.
    pub(crate) fn arrays_size(&self) -> u64 {
        let arrays = [&self.positions, &self.normals].into_iter().chain(&self.map_channels);
        arrays.fold(0, |sum, array| sum.saturating_add(as_u64(array.as_bytes().len())))
    }

    /// The memory of all arrays, triangles included, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let channels = as_u64(self.map_channels.len()).saturating_mul(MAP_CHANNEL);
        let triangles = as_u64(self.triangles.as_bytes().len());
        self.arrays_size().saturating_add(channels).saturating_add(triangles)
    }

    /// Copies it, which is stored in so many bytes. The triangles are shared.
    #[cfg(feature = "rayon")]
    pub(crate) fn copy_into(&self, stored: u64, budget: &Budget, out: &mut MeshBuffer) -> Result<()> {
        const WHAT: &str = "mesh of the first snapshot";
        budget.spend_all(as_u64(self.map_channels.len()).saturating_mul(MAP_CHANNEL), WHAT)?;
        let copy = |from: &Array<[f32; 3]>, to: &mut Vec<[f32; 3]>| -> Result<()> {
            budget.resize(to, stored, from.len_u64(), WHAT)?;
            to.iter_mut().zip(from).for_each(|(to, from)| *to = from);
            Ok(())
        };
        copy(&self.positions, &mut out.positions)?;
        copy(&self.normals, &mut out.normals)?;
        out.map_channels.resize_with(self.map_channels.len(), Vec::new);
        self.map_channels.iter().zip(&mut out.map_channels).try_for_each(|(from, to)| copy(from, to))?;
        out.triangles = self.triangles.clone();
        (out.topology, out.is_complete) = (Some(self.topology), self.is_complete);
        Ok(())
    }
}

impl MeshBuffer {
    /// The memory that it holds, used or not, in bytes. Triangles that it shares are not counted.
    #[cfg(feature = "rayon")]
    pub(crate) fn memory(&self) -> u64 {
        let arrays = [&self.positions, &self.normals].into_iter().chain(&self.map_channels);
        let triples = arrays.fold(0, |sum: u64, array| sum.saturating_add(as_u64(array.capacity())));
        let channels = as_u64(self.map_channels.capacity()).saturating_mul(MAP_CHANNEL);
        triples.saturating_mul(12).saturating_add(channels).saturating_add(self.triangles.memory())
    }

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
