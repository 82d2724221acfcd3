//! The meshes of a file of any format, in buffers of the GPU: what a renderer would copy.

use std::collections::HashMap;
use std::error::Error;
use std::ops::Range;

use meshmap::{Bounds, MeshFile, Role, VertexLayout};
use wgpu::{Buffer, BufferDescriptor, BufferUsages, Device};

/// A mesh: two buffers, and for each material a draw call.
pub struct Mesh {
    pub vertices: Buffer,
    pub indices: Buffer,
    pub format: wgpu::IndexFormat,
    /// Runs of indices, with the number of their material.
    pub draws: Vec<(Range<u32>, u32)>,
}

/// Everything that is drawn of a file, and the box around it: the finest level of detail, the first snapshot, or all
/// meshes, but no physics.
pub fn load(
    device: &Device,
    file: &MeshFile,
    layout: &VertexLayout,
) -> Result<(Vec<Mesh>, Bounds), Box<dyn Error>> {
    let (mut meshes, mut bounds, mut names) = (Vec::new(), Bounds::default(), HashMap::new());
    for entry in file.meshes_where(Role::is_drawn_by_default)? {
        let mesh = file.mesh(&entry.address)?.by_material()?;
        if mesh.is_empty() {
            continue; // without triangles or positions; a buffer without bytes cannot be mapped
        }
        let size = mesh.vertex_count() * layout.stride();
        let vertices = filled(device, BufferUsages::VERTEX, size, |write| {
            mesh.write_interleaved(layout, write)
        })?;
        let format = mesh.indices().narrowest();
        let size = mesh.indices().len() * format.size();
        let indices = filled(device, BufferUsages::INDEX, size, |write| {
            mesh.indices().write_chunks(format, write)
        })?;
        let mut draws = Vec::new();
        for group in mesh.groups() {
            // Formats have a number for each triangle, or a name for the whole mesh, which is counted here.
            let count = names.len() as u32;
            let named = mesh
                .material()
                .map(|name| *names.entry(name.to_owned()).or_insert(count));
            let index = |triangle: usize| u32::try_from(3 * triangle);
            let run = index(group.triangles.start)?..index(group.triangles.end)?;
            draws.push((run, named.unwrap_or(group.material)));
        }
        bounds = mesh.bounds()?.map_or(bounds, |other| bounds.union(other));
        meshes.push(Mesh {
            vertices,
            indices,
            format: crate::formats::index_format(format)?,
            draws,
        });
    }
    Ok((meshes, bounds))
}

/// A buffer that is filled where the driver has it: each byte is written once, and none is read back.
fn filled(
    device: &Device,
    usage: BufferUsages,
    size: usize,
    fill: impl FnOnce(&mut dyn FnMut(usize, &[u8])) -> meshmap::Result<()>,
) -> Result<Buffer, Box<dyn Error>> {
    let size = (size as u64).next_multiple_of(wgpu::COPY_BUFFER_ALIGNMENT); // the rest is 0
    let most = device.limits().max_buffer_size;
    if size > most {
        return Err(
            format!("needs a buffer of {size} bytes, and this device has at most {most}").into(),
        );
    }
    let buffer = device.create_buffer(&BufferDescriptor {
        label: None,
        size,
        usage,
        mapped_at_creation: true,
    });
    let mut mapped = buffer.get_mapped_range_mut(..)?;
    fill(&mut |offset, bytes| {
        mapped
            .slice(offset..offset + bytes.len())
            .copy_from_slice(bytes)
    })?;
    drop(mapped);
    buffer.unmap();
    Ok(buffer)
}
