//! A snapshot as a renderer sees it: welded to one vertex buffer and one index buffer.

use super::mesh::Mesh;
use super::snapshot::Snapshot;
use crate::bytes::Array;
use crate::mesh::sealed::Sealed;
use crate::mesh::{Attribute, AttributeInfo, Indices, MeshView, Semantic, VertexFormat, Weld};
use crate::report::{Finding, Result};

/// A welded snapshot; see [`Snapshot::mesh_view`].
#[derive(Clone, Debug)]
pub struct View {
    name: String,
    attributes: Vec<Attribute>,
    indices: Indices,
    vertex_count: usize,
}

impl Snapshot {
    /// The mesh with one index for each corner: positions, normals and map channels, each vertex once.
    ///
    /// Decodes the whole mesh, and welds it. To play an animation, weld once ([`Mesh::weld`]) and gather each
    /// snapshot's arrays as long as its [`topology`](Self::topology) is the same.
    ///
    /// # Errors
    ///
    /// Those of [`mesh`](Self::mesh) and [`Mesh::weld`].
    pub fn mesh_view(&self) -> Result<View> {
        let mesh = self.mesh()?;
        let weld = mesh.weld().map_err(|error| self.place(error))?;
        let mut attributes = Vec::new();
        for (stream, (semantic, elements)) in mesh.streams().into_iter().enumerate() {
            let gathered = weld.gather(stream, &elements.to_vec())?;
            let bytes = Array::from_vec(gathered).into_bytes();
            attributes.push(Attribute::new(semantic, VertexFormat::FLOAT32X3, bytes));
        }
        let vertex_count = weld.vertex_count();
        let indices = Indices::new(Array::from_vec(weld.into_indices()), 0);
        let name = self.object_name().unwrap_or_default();
        Ok(View { name, attributes, indices, vertex_count })
    }
}

impl Mesh {
    /// What the corners have indices for, in this order: positions, normals (where the triangles have indices of
    /// them), map channels.
    pub(crate) fn streams(&self) -> Vec<(Semantic, Array<[f32; 3]>)> {
        let mut streams = vec![(Semantic::Position, self.positions.clone())];
        if self.triangles.has_normals() && !self.normals.is_empty() {
            streams.push((Semantic::Normal, self.normals.clone()));
        }
        let channels = (0..).zip(&self.map_channels).filter(|(_, channel)| !channel.is_empty());
        streams.extend(channels.map(|(set, channel)| (Semantic::TexCoord(set), channel.clone())));
        streams
    }

    /// One vertex for each combination of indices that a corner has: of positions, then normals, then map channels,
    /// those of them that are not empty.
    ///
    /// Serves every mesh with the same [`topology`](Self::topology).
    ///
    /// # Errors
    ///
    /// [`OutOfRange`](crate::ErrorKind::OutOfRange) for an index of a triangle that is not less than its count, and
    /// those of [`Weld::new`].
    pub fn weld(&self) -> Result<Weld> {
        let (streams, counts) = self.corner_streams();
        Weld::new(&borrow(&streams), &counts)
    }

    /// The same, with triangles ordered by material; where the file does not tell the materials, all are material 0.
    ///
    /// # Errors
    ///
    /// Those of [`weld`](Self::weld).
    pub fn weld_by_material(&self) -> Result<Weld> {
        let (streams, counts) = self.corner_streams();
        let materials = self.triangles.material_ids().unwrap_or_else(|| vec![0; self.triangles.len()]);
        Weld::by_material(&borrow(&streams), &counts, &materials)
    }

    fn corner_streams(&self) -> (Vec<Vec<[u32; 3]>>, Vec<usize>) {
        let indices = |semantic: &Semantic| match semantic {
            Semantic::TexCoord(set) => {
                let channel = usize::try_from(*set).unwrap_or(usize::MAX);
                self.triangles.map_channel(channel).unwrap_or_default()
            }
            Semantic::Normal => self.triangles.normals().unwrap_or_default(),
            _ => self.triangles.positions(),
        };
        let streams = self.streams();
        (streams.iter().map(|(s, _)| indices(s)).collect(), streams.iter().map(|(_, e)| e.len()).collect())
    }
}

fn borrow(streams: &[Vec<[u32; 3]>]) -> Vec<&[u32]> {
    streams.iter().map(|stream| stream.as_flattened()).collect()
}

impl Sealed for View {}

impl MeshView for View {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn vertex_count(&self) -> usize {
        self.vertex_count
    }

    fn attributes(&self) -> Vec<AttributeInfo> {
        let info = |attribute: &Attribute| AttributeInfo {
            semantic: attribute.semantic().clone(),
            format: attribute.format(),
        };
        self.attributes.iter().map(info).collect()
    }

    fn attribute(&self, semantic: &Semantic) -> Result<Option<Attribute>> {
        Ok(self.attributes.iter().find(|attribute| attribute.semantic() == semantic).cloned())
    }

    fn indices(&self) -> Result<Indices> {
        Ok(self.indices.clone())
    }

    fn findings(&self) -> &[Finding] {
        &[]
    }
}
