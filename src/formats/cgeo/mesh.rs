//! A decoded mesh.

use super::parts::{MeshArray, Parts};
use super::triangle_hash::TriangleHash;
use super::triangles::{Counts, Triangles};
use crate::bytes::{Array, Identity, Source};
use crate::dialect::Dialect;
use crate::limits::{Meter, resize_vec};
use crate::num::as_u64;
#[cfg(feature = "cache")]
use crate::options::Options;
use crate::report::Result;

/// Identifies the triangles of a mesh.
///
/// Equal ids mean equal triangles, and as many elements: what was made from them (a vertex remap, an acceleration structure) can be
/// kept and refitted. Snapshots of a file that store the same triangles again have the same id: their content is compared, by a hash.
///
/// A [`Mesh`] that is stored complete and was decoded without [`Parts::TRIANGLES`] has an id that no mesh of another snapshot has,
/// because its triangles have not been seen. [`Snapshot::topology`](super::Snapshot::topology) finds out.
///
/// IDs are of one file, and valid for the lifetime of the process. IDs of a file that is opened twice are equal, if the system identifies
/// files and it has not been changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TopologyId {
    pub(super) file: FileId,
    pub(super) dialect: Dialect,
    pub(super) triangles: SameTriangles,
}

impl TopologyId {
    /// `true` if the triangles have been seen, so that the id does not depend on their offset.
    #[cfg(feature = "cache")]
    pub(super) fn is_seen(&self) -> bool {
        !matches!(self.triangles, SameTriangles::At(_))
    }
}

/// The triangles of a file that are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SameTriangles {
    /// The triangles of the first snapshot, which differences share, or equal ones.
    First,
    /// Triangles with this hash.
    Hashed(TriangleHash),
    /// The triangles at this offset, which have not been seen.
    At(u64),
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
    #[doc(alias = "map_channels")]
    pub texcoords: Vec<Array<[f32; 3]>>,
    /// The triangles.
    pub triangles: Triangles,
    /// Identifies the triangles.
    pub topology: TopologyId,
    /// `true` if the mesh is stored complete. A difference shares the triangles of the first snapshot.
    pub is_complete: bool,
    /// The parts that were decoded. The others are empty.
    pub parts: Parts,
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
    #[doc(alias = "map_channels")]
    pub texcoords: Vec<Vec<[f32; 3]>>,
    /// The triangles.
    pub triangles: Triangles,
    /// Identifies the triangles; `None` before the first mesh.
    pub topology: Option<TopologyId>,
    /// `true` if the mesh is stored complete. A difference shares the triangles of the first snapshot.
    pub is_complete: bool,
    /// The parts that were decoded. The others are empty.
    pub parts: Parts,
    /// Memory of triangles while `triangles` shares the ones of the first snapshot.
    pub(super) spare_triangles: Triangles,
    /// Memory of map channels while there are none.
    pub(super) spare_texcoords: Vec<Vec<[f32; 3]>>,
}

/// Memory for a map channel in addition to its coordinates, in bytes: a vector, and the array that it becomes.
pub(super) const MAP_CHANNEL: u64 = 128;

/// The sizes of the arrays of a [`Mesh`] or a [`MeshBuffer`], in bytes. What a mesh weighs is asked in one way: the bytes of its
/// elements, for some parts; callers add what they hold besides.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ArraySizes {
    positions: u64,
    normals: u64,
    texcoords: u64,
    triangles: u64,
}

impl ArraySizes {
    /// The sizes of arrays of these numbers of triples.
    fn new(
        positions: usize,
        normals: usize,
        channels: impl Iterator<Item = usize>,
        triangles: &Triangles,
    ) -> Self {
        let size = |triples: usize| as_u64(triples).saturating_mul(12);
        let mut texcoords: u64 = 0;
        for channel in channels {
            texcoords = texcoords.saturating_add(size(channel));
        }
        Self {
            positions: size(positions),
            normals: size(normals),
            texcoords,
            triangles: as_u64(triangles.as_bytes().len()),
        }
    }

    /// The sum for these parts.
    pub(super) fn of(self, parts: Parts) -> u64 {
        let sizes = [
            (Parts::POSITIONS, self.positions),
            (Parts::NORMALS, self.normals),
            (Parts::TEXCOORDS, self.texcoords),
            (Parts::TRIANGLES, self.triangles),
        ];
        let mut sum: u64 = 0;
        for (part, size) in sizes {
            if parts.contains(part) {
                sum = sum.saturating_add(size);
            }
        }
        sum
    }
}

impl Mesh {
    /// The bytes of its elements.
    pub(super) fn sizes(&self) -> ArraySizes {
        let channels = self.texcoords.iter().map(Array::len);
        ArraySizes::new(
            self.positions.len(),
            self.normals.len(),
            channels,
            &self.triangles,
        )
    }

    /// The memory of the whole mesh: all elements, and the objects of the map channels.
    pub(super) fn memory(&self) -> u64 {
        let channels = as_u64(self.texcoords.len()).saturating_mul(MAP_CHANNEL);
        self.sizes().of(Parts::ALL).saturating_add(channels)
    }

    /// The numbers of elements of a mesh with all parts.
    pub(crate) fn counts(&self) -> Counts {
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        Counts {
            vertices: count(self.positions.len()),
            normals: count(self.normals.len()),
            texcoord_sets: count(self.texcoords.len()),
            triangles: count(self.triangles.len()),
        }
    }

    /// Copies parts of the mesh, which occupies `stored` bytes in the file. The triangles are shared.
    pub(crate) fn copy_into(
        &self,
        parts: Parts,
        stored: u64,
        meter: &Meter,
        out: &mut MeshBuffer,
    ) -> Result<()> {
        const WHAT: &str = "mesh of the first snapshot";
        out.clear_all_but(parts);
        let copy = |from: &Array<[f32; 3]>, to: &mut Vec<[f32; 3]>| -> Result<()> {
            resize_vec(meter, to, stored, from.len_u64(), WHAT)?;
            for (to, from) in to.iter_mut().zip(from.iter()) {
                *to = from;
            }
            Ok(())
        };
        if parts.contains(Parts::POSITIONS) {
            copy(&self.positions, &mut out.positions)?;
        }
        if parts.contains(Parts::NORMALS) {
            copy(&self.normals, &mut out.normals)?;
        }
        if parts.contains(Parts::TEXCOORDS) {
            let channels = self.texcoords.len();
            let objects = as_u64(channels).saturating_mul(MAP_CHANNEL);
            meter.take(objects, WHAT)?.keep();
            out.make_texcoords(channels);
            for (from, to) in self.texcoords.iter().zip(&mut out.texcoords) {
                copy(from, to)?;
            }
        }
        if parts.contains(Parts::TRIANGLES) {
            out.share_triangles(&self.triangles);
        }
        out.topology = Some(self.topology);
        out.is_complete = self.is_complete;
        out.parts = parts;
        Ok(())
    }
}

impl MeshBuffer {
    /// The bytes of its elements, however much memory they are in.
    pub(super) fn sizes(&self) -> ArraySizes {
        let channels = self.texcoords.iter().map(Vec::len);
        ArraySizes::new(
            self.positions.len(),
            self.normals.len(),
            channels,
            &self.triangles,
        )
    }

    /// The memory that it holds, used or not, in bytes. Triangles that it shares are not counted.
    pub(super) fn memory(&self) -> u64 {
        let mut triples = as_u64(self.positions.capacity());
        triples = triples.saturating_add(as_u64(self.normals.capacity()));
        for channel in self.texcoords.iter().chain(&self.spare_texcoords) {
            triples = triples.saturating_add(as_u64(channel.capacity()));
        }
        let channels = as_u64(self.texcoords.capacity())
            .saturating_add(as_u64(self.spare_texcoords.capacity()))
            .saturating_mul(MAP_CHANNEL);
        triples
            .saturating_mul(12)
            .saturating_add(channels)
            .saturating_add(self.triangles.memory())
            .saturating_add(self.spare_triangles.memory())
    }

    /// The vector of an array that is among these parts.
    pub(super) fn array_of(
        &mut self,
        array: MeshArray,
        parts: Parts,
    ) -> Option<&mut Vec<[f32; 3]>> {
        match array {
            MeshArray::Positions if parts.contains(Parts::POSITIONS) => Some(&mut self.positions),
            MeshArray::Normals if parts.contains(Parts::NORMALS) => Some(&mut self.normals),
            MeshArray::MapChannel(channel) if parts.contains(Parts::TEXCOORDS) => {
                self.texcoords.get_mut(channel)
            }
            _ => None,
        }
    }

    /// Makes this number of map channels, of memory that there was before.
    pub(crate) fn make_texcoords(&mut self, channels: usize) {
        if self.texcoords.is_empty() {
            std::mem::swap(&mut self.texcoords, &mut self.spare_texcoords);
        }
        self.texcoords.resize_with(channels, Vec::new);
    }

    /// Takes the triangles of another mesh, and keeps its own memory for later ones.
    pub(crate) fn share_triangles(&mut self, triangles: &Triangles) {
        if !self.triangles.is_shared() {
            std::mem::swap(&mut self.triangles, &mut self.spare_triangles);
        }
        self.triangles = triangles.clone();
    }

    /// The triangles in memory that is not shared, to be filled again.
    pub(crate) fn own_triangles(&mut self) -> &mut Triangles {
        if self.triangles.is_shared() {
            std::mem::swap(&mut self.triangles, &mut self.spare_triangles);
        }
        &mut self.triangles
    }

    /// Empties what belongs to other parts than these, and keeps the memory.
    pub(crate) fn clear_all_but(&mut self, parts: Parts) {
        if !parts.contains(Parts::POSITIONS) {
            self.positions.clear();
        }
        if !parts.contains(Parts::NORMALS) {
            self.normals.clear();
        }
        if !parts.contains(Parts::TEXCOORDS) && !self.texcoords.is_empty() {
            std::mem::swap(&mut self.texcoords, &mut self.spare_texcoords);
            self.texcoords.clear();
        }
        if !parts.contains(Parts::TRIANGLES) {
            self.own_triangles().clear();
        }
    }

    /// The mesh as shared arrays, which take over the memory.
    pub(crate) fn into_mesh(self, topology: TopologyId) -> Mesh {
        Mesh {
            positions: Array::from_vec(self.positions),
            normals: Array::from_vec(self.normals),
            texcoords: self.texcoords.into_iter().map(Array::from_vec).collect(),
            triangles: self.triangles,
            topology: self.topology.unwrap_or(topology),
            is_complete: self.is_complete,
            parts: self.parts,
        }
    }
}

/// A file that the system identifies, or else one separate proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FileId {
    /// Device and inode are known, and the time of the last change: no two files have all of them.
    File(Identity),
    /// [`Proxy::id`](super::Proxy::id).
    Proxy(u64),
}

impl FileId {
    pub(super) fn new(source: &Source, proxy: u64) -> Self {
        match source.identity() {
            Some(identity) if identity.file_id.is_some() && identity.modified.is_some() => {
                Self::File(*identity)
            }
            _ => Self::Proxy(proxy),
        }
    }
}

/// A file and all that its decoded snapshots depend on.
#[cfg(feature = "cache")]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileKey {
    pub(super) file: FileId,
    pub(super) dialect: Dialect,
    pub(super) options: Options,
}

/// Files that are read in several ways are few.
#[cfg(feature = "cache")]
impl std::hash::Hash for FileKey {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.file.hash(state);
    }
}
