//! A snapshot as a renderer sees it: one vertex buffer and one index buffer.

use super::mesh::Mesh;
use super::parts::Parts;
use super::proxy::Proxy;
use super::rules::FILE;
use super::snapshot::Snapshot;
use crate::bytes::Array;
use crate::decode::Scratch;
use crate::limits::job;
use crate::mesh::{
    Attribute, Bounds, CornerRemap, Indices, Loaded, MeshCounts, MeshView, Role, Semantic,
    VertexFormat, VertexRemap, is_against, step,
};
use crate::num::{as_u64, as_usize};
use crate::report::{Address, Result};

impl Proxy {
    /// The snapshot at an address `snapshots[i]` as a renderer sees it; see [`Snapshot::view`].
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](crate::ErrorKind::OutOfRange) if the file has no such snapshot, and the errors of [`Snapshot::view`].
    pub fn mesh_view(&self, address: &Address) -> Result<MeshView> {
        self.snapshot_at(address)?.view()
    }

    fn snapshot_at(&self, address: &Address) -> Result<Snapshot> {
        let count = self.snapshot_count();
        match address.index_in("snapshots", |_| None) {
            Some(index) if index < count => self.snapshot(index),
            _ => {
                let error = FILE.out_of_range("mesh").of(address.clone());
                Err(error.expected(format!("snapshots[i] with i below {count}")))
            }
        }
    }

    pub(crate) fn mesh_counts(&self, address: &Address) -> Result<MeshCounts> {
        let counts = self.snapshot_at(address)?.counts(&mut Scratch::default())?;
        Ok(MeshCounts {
            vertices: counts.vertices.into(),
            triangles: counts.triangles.into(),
            has_positions: true,
        })
    }

    pub(crate) fn mesh_bounds(&self, address: &Address) -> Result<Option<Bounds>> {
        let positions = self.snapshot_at(address)?.positions()?;
        Ok(Bounds::around(positions.iter()))
    }
}

impl Snapshot {
    /// The mesh with one index for each corner: positions, normals and map channels.
    ///
    /// A mesh without triangles has a vertex for each position, and no other attributes: nothing has indices for them.
    ///
    /// Decodes the whole mesh and remaps its vertices. To play an animation, make one [`Mesh::vertex_remap`] and gather
    /// the arrays of each snapshot with it, as long as their [`topology`](Self::topology) is the same.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`mesh`](Self::mesh) and [`Mesh::vertex_remap`].
    pub fn view(&self) -> Result<MeshView> {
        let meter = self.meter();
        let take = |bytes, what| {
            let charge = meter.take(bytes, what);
            charge.map_err(|error| self.place().locate(error))
        };
        let mesh = self.mesh_within(Parts::ALL, &meter)?;
        let streams = mesh.streams();
        let material_size = as_u64(mesh.triangles.len()).saturating_mul(4);
        take(material_size, "materials of a mesh")?.keep();
        let materials: Option<Vec<u32>> = if mesh.triangles.is_empty() {
            None
        } else {
            mesh.triangles.material_ids().map(Iterator::collect)
        };
        let working = take(mesh.remap_memory(), "vertices of a mesh")?;
        // The records are dropped before other memory is allocated, and each array when its vertices are there.
        let remap = if let Some(remap) = mesh.remap_of_records() {
            drop(mesh);
            remap
        } else {
            let corners = mesh.corner_streams();
            drop(mesh);
            let remap = VertexRemap::new(&corners.indices(), &corners.counts);
            remap.map_err(|error| self.place().locate(error))?
        };
        drop(working);
        let vertex_count = remap.vertex_count();
        let gathered = as_u64(vertex_count)
            .saturating_mul(as_u64(streams.len()))
            .saturating_mul(12)
            .saturating_add(remap.memory());
        take(gathered, "vertices of a mesh")?.keep();
        let mut attributes = Vec::new();
        let mut infos = Vec::new();
        for (stream, (semantic, elements)) in streams.into_iter().enumerate() {
            let gathered = remap.gather(stream, &elements.to_native())?;
            drop(elements);
            let bytes = Array::from_vec(gathered).into_bytes();
            let attribute = Attribute::new(semantic, VertexFormat::FLOAT32X3, bytes);
            infos.push(attribute.info());
            attributes.push(Ok(attribute));
        }
        let role = Role::Snapshot {
            index: as_u64(self.index()),
            seconds: self.time(),
        };
        let indices = Indices::new(Array::from_vec(remap.into_indices()), 0);
        let decoded = Loaded {
            attributes,
            limits: self.limits(),
        };
        let address = self.address();
        let view = MeshView::new(FILE, address, role, vertex_count, indices, infos, decoded);
        let view = view.with_name(self.object_name().unwrap_or_default());
        match materials {
            Some(materials) => Ok(view.with_material_ids(Array::from_vec(materials))),
            None => Ok(view),
        }
    }
}

/// The indices of all corners of a mesh, one stream for each array.
struct CornerStreams {
    triangles: Vec<Vec<[u32; 3]>>,
    /// The number of elements of each array.
    counts: Vec<usize>,
}

impl CornerStreams {
    /// The indices of each stream, corner by corner.
    fn indices(&self) -> Vec<&[u32]> {
        let streams = self.triangles.iter();
        streams.map(|triangles| triangles.as_flattened()).collect()
    }
}

impl Mesh {
    /// Returns the maximum memory that making a remap needs, in bytes.
    pub(super) fn remap_memory(&self) -> u64 {
        let streams = self.streams();
        let counts: Vec<usize> = streams.iter().map(|(_, elements)| elements.len()).collect();
        let corners = as_u64(self.triangles.len()).saturating_mul(3);
        let indices = corners
            .saturating_mul(4)
            .saturating_mul(as_u64(counts.len()));
        let points = if corners == 0 {
            as_u64(self.positions.len()).saturating_mul(4)
        } else {
            0
        };
        indices
            .max(points)
            .saturating_add(VertexRemap::most_memory(corners, &counts))
    }

    /// Returns `true` if the normals of most triangles point away from their counter-clockwise fronts, as
    /// [`MeshView::runs_against_normals`] does.
    #[must_use]
    pub fn runs_against_normals(&self) -> bool {
        if self.normals.is_empty() {
            return false;
        }
        let Some(corner_normals) = self.triangles.normals() else {
            return false;
        };
        let corner_positions = self.triangles.positions();
        let triangles = corner_positions.iter().zip(&corner_normals);
        let sample = triangles.step_by(step(corner_positions.len()));
        // Triangles with indices out of range are left out.
        let sides = sample.filter_map(|(positions, normals)| {
            let positions = elements_of(&self.positions, positions)?;
            let normals = elements_of(&self.normals, normals)?;
            Some((positions, normals))
        });
        is_against(sides).unwrap_or(false)
    }

    /// The streams that corners have indices for, in this order: positions, normals (if the triangles have indices of normals), map
    /// channels. Without corners, positions only.
    pub(crate) fn streams(&self) -> Vec<(Semantic, Array<[f32; 3]>)> {
        let mut streams = vec![(Semantic::Position, self.positions.clone())];
        if self.triangles.is_empty() {
            return streams;
        }
        if self.triangles.has_normals() && !self.normals.is_empty() {
            streams.push((Semantic::Normal, self.normals.clone()));
        }
        for (set, channel) in (0..).zip(&self.texcoords) {
            if !channel.is_empty() {
                streams.push((Semantic::TexCoord(set), channel.clone()));
            }
        }
        streams
    }

    /// One vertex for each combination of indices that a corner has: of positions, then normals, then map channels,
    /// leaving out empty streams. A mesh without triangles has a vertex for each position, and no other attributes.
    ///
    /// Valid for every mesh with the same [`topology`](Self::topology).
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](crate::ErrorKind::OutOfRange) for an index of a triangle that is not less than its count, and the
    /// errors of [`VertexRemap::new`].
    pub fn vertex_remap(&self) -> Result<VertexRemap> {
        if let Some(remap) = self.remap_of_records() {
            return Ok(remap);
        }
        let corners = self.corner_streams();
        VertexRemap::new(&corners.indices(), &corners.counts)
    }

    /// Makes the remap in one pass over the records, whose indices are not copied first. Returns `None` if the general way must do
    /// it: for indices out of range, many map channels, and many vertices on one position.
    fn remap_of_records(&self) -> Option<VertexRemap> {
        if self.triangles.is_empty() {
            return Some(VertexRemap::points(self.positions.len()));
        }
        let first_channel = if self.triangles.has_normals() { 2 } else { 1 };
        // The places of the streams in a record, and the numbers of their elements.
        let mut kinds = Vec::new();
        let mut counts = Vec::new();
        for (semantic, elements) in self.streams() {
            let kind = match semantic {
                Semantic::TexCoord(set) => {
                    let channel = as_usize(set);
                    if channel >= self.triangles.texcoord_sets() {
                        return None;
                    }
                    channel.saturating_add(first_channel)
                }
                Semantic::Normal => 1,
                _ => 0,
            };
            kinds.push(kind);
            counts.push(elements.len());
        }
        match kinds.len() {
            1 => self.remap_of_kinds::<1>(&kinds, &counts),
            2 => self.remap_of_kinds::<2>(&kinds, &counts),
            3 => self.remap_of_kinds::<3>(&kinds, &counts),
            4 => self.remap_of_kinds::<4>(&kinds, &counts),
            _ => None,
        }
    }

    fn remap_of_kinds<const N: usize>(
        &self,
        kinds: &[usize],
        counts: &[usize],
    ) -> Option<VertexRemap> {
        let corner_count = self.triangles.len().checked_mul(3)?;
        let mut remap = CornerRemap::<N>::new(counts.try_into().ok()?, corner_count)?;
        let add = |corners: &[[u32; N]]| {
            remap.add(corners)?;
            // The general way, which comes after this, reports that the job is cancelled.
            job::check("vertex remap").ok()
        };
        self.triangles
            .corners_in_pieces(kinds.try_into().ok()?, add)?;
        Some(remap.finish())
    }

    /// Like [`vertex_remap`](Self::vertex_remap), with triangles ordered by material. Where the file does not store
    /// materials, all are material 0.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`vertex_remap`](Self::vertex_remap).
    pub fn vertex_remap_by_material(&self) -> Result<VertexRemap> {
        if self.triangles.is_empty() {
            return self.vertex_remap();
        }
        let corners = self.corner_streams();
        let materials: Vec<u32> = match self.triangles.material_ids() {
            Some(ids) => ids.collect(),
            None => vec![0; self.triangles.len()],
        };
        VertexRemap::by_material(&corners.indices(), &corners.counts, &materials)
    }

    /// A remap of the triangles of one material: vertices that only others use are none of it. A mesh without triangles has all.
    pub(super) fn vertex_remap_of(&self, material: u32) -> Result<VertexRemap> {
        if self.triangles.is_empty() {
            return self.vertex_remap();
        }
        let mut corners = self.corner_streams();
        if let Some(materials) = self.triangles.material_ids() {
            let is_of_material: Vec<bool> = materials.map(|id| id == material).collect();
            for triangles in &mut corners.triangles {
                let mut is_of_material = is_of_material.iter();
                triangles.retain(|_| is_of_material.next() == Some(&true));
            }
        } else if material != 0 {
            for triangles in &mut corners.triangles {
                triangles.clear();
            }
        }
        VertexRemap::new(&corners.indices(), &corners.counts)
    }

    fn corner_streams(&self) -> CornerStreams {
        let mut corners = CornerStreams {
            triangles: Vec::new(),
            counts: Vec::new(),
        };
        for (semantic, elements) in self.streams() {
            let triangles = match semantic {
                Semantic::TexCoord(set) => {
                    let indices = self.triangles.texcoords(as_usize(set));
                    indices.unwrap_or_default()
                }
                Semantic::Normal => self.triangles.normals().unwrap_or_default(),
                _ => self.triangles.positions(),
            };
            corners.triangles.push(triangles);
            corners.counts.push(elements.len());
        }
        corners
    }
}

/// The elements of the corners of a triangle; `None` if an index is out of range.
fn elements_of(array: &Array<[f32; 3]>, triangle: &[u32; 3]) -> Option<[[f32; 3]; 3]> {
    let [a, b, c] = triangle.map(|index| array.get(as_usize(index)));
    Some([a?, b?, c?])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::mesh::{FileId, SameTriangles, TopologyId};
    use super::super::triangles::{Counts, Shape, Triangles};
    use super::*;
    use crate::dialect::Dialect;

    /// Makes a mesh of records of version 7, with `elements` elements of each kind and these indices.
    fn mesh(elements: &[usize; 4], triangles: &[[[u32; 3]; 4]], channels: usize) -> Mesh {
        let points = |count: usize| Array::from_vec(vec![[0.0_f32; 3]; count]);
        let [positions, normals, first, second] = elements.map(points);
        let counts = Counts {
            vertices: 0,
            normals: 0,
            texcoord_sets: u32::try_from(channels).unwrap(),
            triangles: u32::try_from(triangles.len()).unwrap(),
        };
        let mut records = Triangles::default();
        for triangle in triangles {
            let indices = triangle[..2 + channels].as_flattened();
            records
                .take_records()
                .extend(indices.iter().flat_map(|index| index.to_le_bytes()));
            records.take_records().extend([0; 3]);
        }
        records.set_shape(Shape::of_version_7(&counts));
        let texcoords = [first, second].into_iter().take(channels).collect();
        let file = FileId::Proxy(0);
        let dialect = Dialect::default();
        let topology = TopologyId {
            file,
            dialect,
            triangles: SameTriangles::First,
        };
        Mesh {
            positions,
            normals,
            texcoords,
            triangles: records,
            topology,
            is_complete: true,
            parts: Parts::ALL,
        }
    }

    proptest! {
        /// In one pass or not, the remap and its errors are the same as with `VertexRemap::new`.
        #[test]
        fn one_pass_makes_what_the_general_way_makes(
            triangles in prop::collection::vec(prop::array::uniform4(prop::array::uniform3(0..6_u32)), 0..40),
            elements in prop::array::uniform4(prop_oneof![Just(0_usize), 4..9_usize]),
            channels in 0..3_usize,
        ) {
            let mesh = mesh(&elements, &triangles, channels);
            if triangles.is_empty() {
                // Points: each position is a vertex, and nothing else has indices.
                let positions: Vec<u32> = (0..).take(elements[0]).collect();
                for remap in [mesh.vertex_remap().unwrap(), mesh.vertex_remap_by_material().unwrap()] {
                    prop_assert_eq!(remap.sources(0).unwrap(), &positions);
                    prop_assert!(remap.indices().is_empty() && remap.sources(1).is_none());
                }
                return Ok(());
            }
            let corners = mesh.corner_streams();
            match (mesh.vertex_remap(), VertexRemap::new(&corners.indices(), &corners.counts)) {
                (Ok(found), Ok(expected)) => {
                    prop_assert_eq!(&mesh.remap_of_records().unwrap(), &found);
                    prop_assert_eq!(found, expected);
                }
                (found, expected) => {
                    prop_assert!(mesh.remap_of_records().is_none());
                    prop_assert_eq!(found.unwrap_err().to_string(), expected.unwrap_err().to_string());
                }
            }
        }
    }
}
