//! Fills vertex and index buffers as a graphics API takes them, from a file of any format.
//!
//!     cargo run --example gpu_buffers [FILE]

use std::error::Error;

use meshmap::{IndexFormat, MaterialGroup, MeshFile, Role, Semantic, VertexFormat, VertexLayout};

/// The data that a renderer draws: two buffers, and a draw call for each material.
struct Drawable {
    vertices: Vec<u8>,
    indices: Vec<u8>,
    format: IndexFormat,
    draws: Vec<MaterialGroup>,
}

/// Everything that is drawn of a file: the finest level of detail, the first snapshot, or all meshes.
fn load(path: &str, layout: &VertexLayout) -> meshmap::Result<Vec<Drawable>> {
    let file = MeshFile::open(path)?;
    let mut drawables = Vec::new();
    for entry in file.meshes_where(Role::is_drawn_by_default)? {
        let mesh = file.mesh(&entry.address)?;
        if mesh.is_empty() {
            continue; // no triangles, or no positions
        }
        let mesh = mesh.by_material()?;
        let mut vertices = Vec::with_capacity(mesh.vertex_count() * layout.stride());
        mesh.write_interleaved(layout, |_, bytes| vertices.extend_from_slice(bytes))?;
        let mut indices = Vec::with_capacity(mesh.indices().len() * 4);
        let format = mesh
            .indices()
            .write_narrowest(|_, bytes| indices.extend_from_slice(bytes))?;
        drawables.push(Drawable {
            vertices,
            indices,
            format,
            draws: mesh.groups().collect(),
        });
    }
    Ok(drawables)
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "tests/data/iqm/valid/skin_multi_anim.iqm".to_owned());
    // Attributes that a mesh does not have get a default; positions it must have.
    let layout = VertexLayout::new()
        .with(Semantic::Position, VertexFormat::FLOAT32X3)
        .with_default(
            Semantic::Normal,
            VertexFormat::SNORM8X4,
            [0.0, 0.0, 1.0, 0.0],
        )
        .with_default(Semantic::TexCoord(0), VertexFormat::FLOAT32X2, [0.0; 4])
        .with_default(Semantic::Color(0), VertexFormat::UNORM8X4, [1.0; 4]);
    for Drawable {
        vertices,
        indices,
        format,
        draws,
    } in load(&path, &layout)?
    {
        let (vertex_bytes, index_bytes) = (vertices.len(), indices.len());
        println!(
            "{vertex_bytes} bytes of vertices, {index_bytes} of indices ({format:?}), {} draws",
            draws.len()
        );
    }
    Ok(())
}
