//! Frames of a streamed proxy: meshes that tasks write.

use std::sync::Arc;

use bevy_asset::RenderAssetUsages;
use bevy_mesh::{Mesh, MeshVertexAttribute, PrimitiveTopology, VertexAttributeValues};
use meshmap::cgeo::{self, Parts, Proxy, SnapshotCache, Timing, TopologyId, VertexWriter, Wrap};
use meshmap::{Bounds, ErrorKind, Semantic, VertexFormat, VertexLayout, VertexRemap};

use crate::convert::{indices_of, turn_upside_down};
use crate::error::MeshmapError;

/// An animation, and the part of it that is shown.
#[derive(Clone)]
pub(super) struct Clip {
    pub(super) proxy: Proxy,
    pub(super) timing: Timing,
    pub(super) material: Option<u32>,
    /// `true` if corners of triangles are reversed, as in the meshes of the file.
    pub(super) turns_triangles: bool,
}

/// A mesh at a time, whose memory is used for the next one.
pub(super) struct Frame {
    pub(super) mesh: Mesh,
    pub(super) bounds: Option<Bounds>,
    /// The vertices of the mesh.
    pub(super) remap: Option<Arc<VertexRemap>>,
}

impl Default for Frame {
    fn default() -> Self {
        let mesh = Mesh::new(
            PrimitiveTopology::TriangleList,
            RenderAssetUsages::default(),
        );
        Self {
            mesh,
            bounds: None,
            remap: None,
        }
    }
}

/// Writes the frames of a stream: snapshots of the cache, straight into the attributes of meshes.
pub(super) struct FrameWriter {
    cache: SnapshotCache,
    writer: VertexWriter,
    /// The attributes that are stored, each of which is a buffer of the writer.
    attributes: Vec<MeshVertexAttribute>,
    /// The triangles that have them.
    topology: Option<TopologyId>,
}

impl FrameWriter {
    pub(super) fn new(clip: &Clip, cache: &SnapshotCache) -> Result<Self, MeshmapError> {
        let attributes = vec![Mesh::ATTRIBUTE_POSITION];
        let writer = writer(&attributes, clip, cache)?;
        Ok(Self {
            cache: cache.clone(),
            writer,
            attributes,
            topology: None,
        })
    }

    /// The parts of snapshots that frames need.
    pub(super) fn parts(&self) -> Parts {
        self.writer.parts()
    }

    /// Writes the mesh at a time of the file.
    pub(super) fn write(
        &mut self,
        clip: &Clip,
        (seconds, wrap): (f64, Wrap),
        frame: &mut Frame,
    ) -> Result<(), MeshmapError> {
        let key = clip.timing.index_at(seconds, wrap);
        let key = key.ok_or_else(|| {
            MeshmapError::Unusable(format!("time: expected a number, found {seconds}"))
        })?;
        let snapshot = clip.proxy.snapshot(key.from)?;
        let topology = self
            .cache
            .get(&clip.proxy, key.from, self.parts())?
            .topology;
        if self.topology != Some(topology) {
            let attributes = attributes(&*self.cache.get(&clip.proxy, key.from, Parts::ALL)?);
            if attributes != self.attributes {
                self.writer = writer(&attributes, clip, &self.cache)?;
                self.attributes = attributes;
            }
            self.topology = Some(topology);
        }
        let remap = self.writer.remap(&snapshot)?;
        if frame
            .remap
            .as_ref()
            .is_none_or(|own| !Arc::ptr_eq(own, &remap))
        {
            *frame = Frame {
                mesh: triangles(&remap, clip.turns_triangles),
                ..Frame::default()
            };
        }
        let take = |at: &MeshVertexAttribute| memory(&mut frame.mesh, *at, remap.vertex_count());
        let mut values: Vec<_> = self.attributes.iter().map(take).collect();
        let mut out: Vec<&mut [u8]> = values.iter_mut().map(bytes).collect();
        let mut written = self
            .writer
            .write_at(&clip.proxy, &clip.timing, seconds, wrap, &mut out);
        if key.fraction > 0.0
            && written
                .as_ref()
                .is_err_and(|error| error.kind() == ErrorKind::Mismatch)
        {
            // Triangles that differ change at the next snapshot, not between two.
            written = self.writer.write(&snapshot, &mut out);
        }
        written?;
        for values in &mut values {
            if let VertexAttributeValues::Float32x2(texcoords) = values {
                turn_upside_down(texcoords);
            }
        }
        if let Some(VertexAttributeValues::Float32x3(positions)) = values.first() {
            frame.bounds = Bounds::around(positions.iter().copied());
        }
        self.attributes
            .iter()
            .zip(values)
            .for_each(|(at, values)| frame.mesh.insert_attribute(*at, values));
        let is_cloud = remap.indices().is_empty();
        if !is_cloud && !self.attributes.contains(&Mesh::ATTRIBUTE_NORMAL) {
            frame.mesh.compute_smooth_normals();
        }
        frame.remap = Some(remap);
        Ok(())
    }
}

/// The attributes that a mesh stores. A cloud of points has positions.
fn attributes(mesh: &cgeo::Mesh) -> Vec<MeshVertexAttribute> {
    let mut attributes = vec![Mesh::ATTRIBUTE_POSITION];
    if mesh.triangles.is_empty() {
        return attributes;
    }
    if mesh.triangles.has_normals() && !mesh.normals.is_empty() {
        attributes.push(Mesh::ATTRIBUTE_NORMAL);
    }
    let sets = [Mesh::ATTRIBUTE_UV_0, Mesh::ATTRIBUTE_UV_1]
        .into_iter()
        .zip(&mesh.texcoords);
    attributes.extend(
        sets.filter(|(_, values)| !values.is_empty())
            .map(|(attribute, _)| attribute),
    );
    attributes
}

/// A writer whose buffers are these attributes, positions first.
fn writer(
    attributes: &[MeshVertexAttribute],
    clip: &Clip,
    cache: &SnapshotCache,
) -> Result<VertexWriter, MeshmapError> {
    let layout = |semantic, format| VertexLayout::new().with(semantic, format);
    let positions = layout(Semantic::Position, VertexFormat::FLOAT32X3);
    let mut writer = VertexWriter::new(positions)?.with_cache(cache.clone());
    for attribute in attributes.iter().skip(1) {
        writer = writer.with_buffer(match *attribute {
            Mesh::ATTRIBUTE_NORMAL => layout(Semantic::Normal, VertexFormat::FLOAT32X3),
            Mesh::ATTRIBUTE_UV_0 => layout(Semantic::TexCoord(0), VertexFormat::FLOAT32X2),
            _ => layout(Semantic::TexCoord(1), VertexFormat::FLOAT32X2),
        })?;
    }
    Ok(match clip.material {
        Some(material) => writer.with_material(material),
        None => writer,
    })
}

/// A mesh with these triangles, or points, and no attributes.
fn triangles(remap: &VertexRemap, turns_triangles: bool) -> Mesh {
    let indices = remap.indices();
    let kind = if indices.is_empty() {
        PrimitiveTopology::PointList
    } else {
        PrimitiveTopology::TriangleList
    };
    let mut mesh = Mesh::new(kind, RenderAssetUsages::default());
    if !indices.is_empty() {
        let count = remap.vertex_count();
        mesh.insert_indices(indices_of(indices.to_vec(), count, turns_triangles));
    }
    mesh
}

/// The memory of an attribute for a number of vertices.
fn memory(mesh: &mut Mesh, attribute: MeshVertexAttribute, count: usize) -> VertexAttributeValues {
    match mesh.remove_attribute(attribute) {
        Some(VertexAttributeValues::Float32x3(mut values)) => {
            values.resize(count, [0.0; 3]);
            values.into()
        }
        Some(VertexAttributeValues::Float32x2(mut values)) => {
            values.resize(count, [0.0; 2]);
            values.into()
        }
        _ if attribute == Mesh::ATTRIBUTE_POSITION || attribute == Mesh::ATTRIBUTE_NORMAL => {
            vec![[0.0_f32; 3]; count].into()
        }
        _ => vec![[0.0_f32; 2]; count].into(),
    }
}

fn bytes(values: &mut VertexAttributeValues) -> &mut [u8] {
    match values {
        VertexAttributeValues::Float32x3(values) => bytemuck::cast_slice_mut(values),
        VertexAttributeValues::Float32x2(values) => bytemuck::cast_slice_mut(values),
        _ => &mut [],
    }
}
