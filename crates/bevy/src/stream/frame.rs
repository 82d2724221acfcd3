//! Frames of a streamed proxy: meshes that tasks write.

use std::borrow::Cow;
use std::sync::Arc;

use bevy_asset::RenderAssetUsages;
use bevy_math::Vec3;
use bevy_mesh::{Mesh, MeshVertexAttribute, PrimitiveTopology, VertexAttributeValues};
use meshmap::cgeo::{self, Key, Parts, Proxy, SnapshotCache, Timing};
use meshmap::{Array, Bounds};

use crate::convert::indices_of;
use crate::error::MeshmapError;

/// The parts of a snapshot that differ from frame to frame: positions and normals.
pub(super) const PARTS: Parts = Parts::ALL.without(Parts::TEXCOORDS).without(Parts::TRIANGLES);

/// An animation, and the part of it that is shown.
#[derive(Clone)]
pub(super) struct Clip {
    pub(super) proxy: Proxy,
    pub(super) timing: Timing,
    pub(super) material: Option<u32>,
}

/// The triangles that snapshots share, and the stored elements of each vertex.
pub(super) struct Topology {
    /// Any snapshot with these triangles.
    snapshot: Arc<cgeo::Mesh>,
    positions: Vec<u32>,
    normals: Option<Vec<u32>>,
    /// Triangles and texture coordinates, without what differs from frame to frame.
    mesh: Mesh,
}

/// A mesh at a time, whose memory is used for the next one.
pub(super) struct Frame {
    pub(super) mesh: Mesh,
    pub(super) bounds: Option<Bounds>,
    pub(super) topology: Option<Arc<Topology>>,
}

impl Default for Frame {
    fn default() -> Self {
        let mesh = Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::default());
        Self { mesh, bounds: None, topology: None }
    }
}

impl Frame {
    /// Writes the mesh at a time. `topology` has the triangles that another frame has.
    pub(super) fn write(
        &mut self,
        clip: &Clip,
        key: Key,
        cache: &SnapshotCache,
        topology: Option<Arc<Topology>>,
    ) -> Result<(), MeshmapError> {
        let first = cache.get(&clip.proxy, key.from, PARTS)?;
        let topology = match topology {
            Some(topology) if topology.is_of(&first, key.from, clip, cache)? => topology,
            _ => {
                let whole = cache.get(&clip.proxy, key.from, Parts::ALL)?;
                Arc::new(Topology::new(whole, clip.material)?)
            }
        };
        if self.topology.as_ref().is_none_or(|own| !Arc::ptr_eq(own, &topology)) {
            self.mesh = topology.mesh.clone();
        }
        let mut second = None;
        if key.fraction > 0.0 {
            let mesh = cache.get(&clip.proxy, key.to, PARTS)?;
            // Triangles that differ change at the next snapshot, not between two.
            second = topology.is_of(&mesh, key.to, clip, cache)?.then_some(mesh);
        }
        let second = second.as_deref();
        let mut values = self.take(Mesh::ATTRIBUTE_POSITION);
        let positions = second.map(|second| (&second.positions, key.fraction));
        mix(&first.positions, positions, &topology.positions, &mut values);
        self.bounds = Bounds::around(values.iter().copied());
        self.mesh.insert_attribute(Mesh::ATTRIBUTE_POSITION, values);
        if let Some(sources) = &topology.normals {
            let mut values = self.take(Mesh::ATTRIBUTE_NORMAL);
            let normals = second.map(|second| (&second.normals, key.fraction));
            mix(&first.normals, normals, sources, &mut values);
            for normal in &mut values {
                *normal = Vec3::from_array(*normal).normalize_or_zero().to_array();
            }
            self.mesh.insert_attribute(Mesh::ATTRIBUTE_NORMAL, values);
        } else if self.mesh.primitive_topology() == PrimitiveTopology::TriangleList {
            self.mesh.compute_smooth_normals();
        }
        self.topology = Some(topology);
        Ok(())
    }

    /// The memory of an attribute.
    fn take(&mut self, attribute: MeshVertexAttribute) -> Vec<[f32; 3]> {
        match self.mesh.remove_attribute(attribute) {
            Some(VertexAttributeValues::Float32x3(values)) => values,
            _ => Vec::new(),
        }
    }
}

fn native(array: &Array<[f32; 3]>) -> Cow<'_, [[f32; 3]]> {
    array.as_native().map_or_else(|| Cow::Owned(array.to_vec()), Cow::Borrowed)
}

/// The elements of vertices, interpolated to a fraction of the way to another snapshot.
fn mix(
    from: &Array<[f32; 3]>,
    to: Option<(&Array<[f32; 3]>, f32)>,
    sources: &[u32],
    out: &mut Vec<[f32; 3]>,
) {
    out.clear();
    let from = native(from);
    // The library has checked the indices.
    let at = |array: &[[f32; 3]], index: u32| array.get(index as usize).copied().unwrap_or_default();
    match to {
        None => out.extend(sources.iter().map(|index| at(&from, *index))),
        Some((to, fraction)) => {
            let to = native(to);
            out.extend(sources.iter().map(|index| {
                let ([a, b, c], [d, e, f]) = (at(&from, *index), at(&to, *index));
                [a + (d - a) * fraction, b + (e - b) * fraction, c + (f - c) * fraction]
            }));
        }
    }
}

impl Topology {
    fn new(snapshot: Arc<cgeo::Mesh>, material: Option<u32>) -> Result<Self, MeshmapError> {
        let triangles = &snapshot.triangles;
        let is_cloud = triangles.is_empty();
        let remap = match material {
            Some(_) => snapshot.vertex_remap_by_material()?,
            None => snapshot.vertex_remap()?,
        };
        let range = material.map_or(0..triangles.len(), |material| {
            let group = remap.groups().iter().find(|group| group.material == material);
            group.map(|group| group.triangles.clone()).unwrap_or_default()
        });
        let corners = remap.indices().get(range.start * 3..range.end * 3).unwrap_or_default();
        // The vertices of these triangles, in the order of their first use, and their numbers in it.
        let mut used: Vec<u32> =
            if is_cloud { (0..).take(remap.vertex_count()).collect() } else { Vec::new() };
        let mut numbers = vec![None; remap.vertex_count()];
        let mut indices = Vec::with_capacity(corners.len());
        for corner in corners {
            let Some(number) = numbers.get_mut(*corner as usize) else { continue };
            indices.push(*number.get_or_insert_with(|| {
                used.push(*corner);
                used.len() as u32 - 1
            }));
        }
        let sources = |stream: usize| -> Vec<u32> {
            let sources = remap.sources(stream).unwrap_or_default();
            used.iter().filter_map(|vertex| sources.get(*vertex as usize)).copied().collect()
        };
        let kind = if is_cloud { PrimitiveTopology::PointList } else { PrimitiveTopology::TriangleList };
        let mut mesh = Mesh::new(kind, RenderAssetUsages::default());
        if !is_cloud {
            mesh.insert_indices(indices_of(indices.into_iter(), used.len()));
        }
        // The remap has streams of what is there: positions, normals, map channels.
        let has_normals = triangles.has_normals() && !snapshot.normals.is_empty();
        let first = 1 + usize::from(has_normals);
        let channels = snapshot.texcoords.iter().enumerate().filter(|(_, values)| !values.is_empty());
        for (stream, (channel, values)) in (first..).zip(channels) {
            let attribute = [Mesh::ATTRIBUTE_UV_0, Mesh::ATTRIBUTE_UV_1].get(channel).copied();
            if let Some(attribute) = attribute.filter(|_| !is_cloud) {
                let values = sources(stream).into_iter().filter_map(|index| values.get(index as usize));
                mesh.insert_attribute(attribute, values.map(|[u, v, _]| [u, v]).collect::<Vec<_>>());
            }
        }
        let normals = (has_normals && !is_cloud).then(|| sources(1));
        Ok(Self { positions: sources(0), normals, mesh, snapshot })
    }

    /// `true` if a snapshot has these triangles: the same, or equal ones that are stored again.
    fn is_of(
        &self,
        mesh: &cgeo::Mesh,
        index: usize,
        clip: &Clip,
        cache: &SnapshotCache,
    ) -> Result<bool, MeshmapError> {
        let own = &self.snapshot;
        if mesh.positions.len() != own.positions.len() || mesh.normals.len() != own.normals.len() {
            return Ok(false);
        }
        if mesh.topology == own.topology {
            return Ok(true);
        }
        let whole = cache.get(&clip.proxy, index, Parts::ALL)?;
        let (triangles, own) = (&whole.triangles, &own.triangles);
        let layout = |triangles: &cgeo::Triangles| (triangles.has_normals(), triangles.texcoord_sets());
        Ok(layout(triangles) == layout(own) && triangles.as_bytes() == own.as_bytes())
    }
}
