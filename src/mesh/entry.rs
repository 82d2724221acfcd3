use std::fmt;

use crate::bytes::Text;
use crate::report::Address;

/// A mesh in the list of a file, before it is read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MeshEntry {
    /// The mesh's address, as accepted by [`MeshFile::mesh`](crate::MeshFile::mesh).
    pub address: Address,
    /// The mesh's name as stored, which is shared: all snapshots of a CGeo file have one. Empty if the mesh has no name.
    pub name: Text,
    /// The purpose of the mesh.
    pub role: Role,
    /// The numbers of vertices and triangles; `None` if another read is needed: see
    /// [`MeshFile::counts`](crate::MeshFile::counts).
    pub counts: Option<MeshCounts>,
}

/// The numbers of vertices and triangles of a mesh, as stored.
///
/// A [`MeshView`](super::MeshView) may have more vertices, in formats with several indices per corner (CGeo, TMF), or fewer, if
/// IQM meshes declare vertices of other meshes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct MeshCounts {
    /// Stored positions.
    pub vertices: u64,
    /// Triangles.
    pub triangles: u64,
    /// `true` if the mesh stores positions at all.
    pub has_positions: bool,
}

impl MeshEntry {
    pub(crate) fn new(address: Address, name: Text, role: Role) -> Self {
        Self {
            address,
            name,
            role,
            counts: None,
        }
    }

    pub(crate) fn with_counts(self, counts: MeshCounts) -> Self {
        Self {
            counts: Some(counts),
            ..self
        }
    }

    /// Returns `true` if a viewer draws the mesh by default: its [role](Role::is_drawn_by_default) is drawn, and its counts,
    /// if they are known, are not [empty](MeshCounts::is_empty).
    ///
    /// Only CGeo entries do not know their counts. [`MeshView::is_empty`](super::MeshView::is_empty) decides for every format.
    ///
    /// # Examples
    ///
    /// ```
    /// use meshmap::{MeshFile, Semantic};
    ///
    /// let file = MeshFile::open("tests/data/iqm/valid/skin_multi_anim.iqm")?;
    /// for entry in file.meshes()?.filter(|entry| entry.is_drawn_by_default()) {
    ///     assert!(file.mesh(&entry.address)?.has(&Semantic::Position));
    /// }
    /// # Ok::<(), meshmap::Error>(())
    /// ```
    #[must_use]
    pub fn is_drawn_by_default(&self) -> bool {
        self.role.is_drawn_by_default() && !self.counts.is_some_and(MeshCounts::is_empty)
    }
}

impl MeshCounts {
    /// Returns `true` if there is nothing to draw: no triangles, or no positions.
    ///
    /// A mesh with triangles always has vertices. A point cloud, which has vertices only, counts as empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.triangles == 0 || !self.has_positions
    }
}

/// The meshes of a file, each described when it is asked for.
pub(crate) type Entries<'a> = Box<dyn ExactSizeIterator<Item = MeshEntry> + Send + 'a>;

/// The purpose of a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[non_exhaustive]
pub enum Role {
    /// Geometry that is drawn.
    Geometry,
    /// A level of detail; 0 is the finest.
    Lod(u32),
    /// Geometry for physics, which is not drawn.
    Physics,
    /// A snapshot of an animation.
    Snapshot {
        /// Its index.
        index: u64,
        /// The time of the snapshot in seconds, if the file has times.
        seconds: Option<f64>,
    },
}

impl Role {
    /// Returns `true` if a viewer draws meshes with this role by default: all geometry, the finest level of detail, the first
    /// snapshot.
    ///
    /// A role does not depend on the contents of a mesh: see [`MeshEntry::is_drawn_by_default`].
    #[must_use]
    pub fn is_drawn_by_default(self) -> bool {
        match self {
            Self::Geometry | Self::Lod(0) | Self::Snapshot { index: 0, .. } => true,
            Self::Lod(_) | Self::Physics | Self::Snapshot { .. } => false,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Geometry => f.write_str("geometry"),
            Self::Lod(level) => write!(f, "level of detail {level}"),
            Self::Physics => f.write_str("physics"),
            Self::Snapshot { index, .. } => write!(f, "snapshot {index}"),
        }
    }
}
