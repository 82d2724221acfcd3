//! Fills an interleaved vertex buffer and an index buffer, as a graphics API takes them.
//!
//!     cargo run --example gpu_buffers [FILE]

use meshmap::{IndexFormat, MeshFile, Semantic, VertexFormat};

/// What the shader reads of a vertex, in this order.
const LAYOUT: [(Semantic, VertexFormat); 3] = [
    (Semantic::Position, VertexFormat::FLOAT32X3),
    (Semantic::Normal, VertexFormat::FLOAT32X3),
    (Semantic::TexCoord(0), VertexFormat::FLOAT32X2),
];

fn main() -> meshmap::Result<()> {
    let path =
        std::env::args().nth(1).unwrap_or_else(|| "tests/data/iqm/valid/skin_multi_anim.iqm".to_owned());
    let stride: usize = LAYOUT.iter().map(|(_, format)| format.size()).sum();
    let file = MeshFile::open(path)?;
    for address in file.meshes()? {
        let mesh = file.mesh(&address)?;
        // These stand for memory of the graphics card: written once, in order, and never read.
        let mut vertices = vec![0; mesh.vertex_count() * stride];
        let mut indices = vec![0; mesh.indices().len() * 4];

        let mut start = 0;
        for (semantic, format) in &LAYOUT {
            // An attribute that the mesh does not have stays 0.
            if let Some(attribute) = mesh.attribute(semantic)? {
                attribute.write_chunks(*format, stride, |offset, bytes| {
                    vertices[start + offset..][..bytes.len()].copy_from_slice(bytes);
                })?;
            }
            start += format.size();
        }
        mesh.indices().write_chunks(IndexFormat::Uint32, |offset, bytes| {
            indices[offset..offset + bytes.len()].copy_from_slice(bytes);
        })?;
        println!(
            "{address} {:?}: {} bytes of vertices, {} of indices",
            mesh.name(),
            vertices.len(),
            indices.len()
        );
    }
    Ok(())
}
