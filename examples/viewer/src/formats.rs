//! The library's vertex layouts and index formats, in the terms of wgpu.

use meshmap::{VertexFormat as Ours, VertexLayout};
use wgpu::VertexFormat as Theirs;

/// The attributes of a layout, at the shader locations 0, 1, 2..; an error where wgpu does not have a format.
pub fn attributes(layout: &VertexLayout) -> Result<Vec<wgpu::VertexAttribute>, String> {
    let attributes = layout
        .attributes()
        .iter()
        .zip(0..)
        .map(|(attribute, shader_location)| {
            let (semantic, ours) = (&attribute.semantic, attribute.format);
            let format =
                vertex_format(ours).ok_or_else(|| format!("wgpu has no {ours} for {semantic}"))?;
            Ok(wgpu::VertexAttribute {
                format,
                offset: attribute.offset as u64,
                shader_location,
            })
        });
    attributes.collect()
}

/// The wgpu format of a format of the library; `None` for formats that GPUs do not read, such as three bytes.
pub fn vertex_format(format: Ours) -> Option<Theirs> {
    Some(match format {
        Ours::UINT8 => Theirs::Uint8,
        Ours::UINT8X2 => Theirs::Uint8x2,
        Ours::UINT8X4 => Theirs::Uint8x4,
        Ours::SINT8 => Theirs::Sint8,
        Ours::SINT8X2 => Theirs::Sint8x2,
        Ours::SINT8X4 => Theirs::Sint8x4,
        Ours::UNORM8 => Theirs::Unorm8,
        Ours::UNORM8X2 => Theirs::Unorm8x2,
        Ours::UNORM8X4 => Theirs::Unorm8x4,
        Ours::SNORM8 => Theirs::Snorm8,
        Ours::SNORM8X2 => Theirs::Snorm8x2,
        Ours::SNORM8X4 => Theirs::Snorm8x4,
        Ours::UINT16 => Theirs::Uint16,
        Ours::UINT16X2 => Theirs::Uint16x2,
        Ours::UINT16X4 => Theirs::Uint16x4,
        Ours::SINT16 => Theirs::Sint16,
        Ours::SINT16X2 => Theirs::Sint16x2,
        Ours::SINT16X4 => Theirs::Sint16x4,
        Ours::UNORM10_10_10_2 => Theirs::Unorm10_10_10_2,
        Ours::UNORM16 => Theirs::Unorm16,
        Ours::UNORM16X2 => Theirs::Unorm16x2,
        Ours::UNORM16X4 => Theirs::Unorm16x4,
        Ours::SNORM16 => Theirs::Snorm16,
        Ours::SNORM16X2 => Theirs::Snorm16x2,
        Ours::SNORM16X4 => Theirs::Snorm16x4,
        Ours::FLOAT16 => Theirs::Float16,
        Ours::FLOAT16X2 => Theirs::Float16x2,
        Ours::FLOAT16X4 => Theirs::Float16x4,
        Ours::FLOAT32 => Theirs::Float32,
        Ours::FLOAT32X2 => Theirs::Float32x2,
        Ours::FLOAT32X3 => Theirs::Float32x3,
        Ours::FLOAT32X4 => Theirs::Float32x4,
        Ours::UINT32 => Theirs::Uint32,
        Ours::UINT32X2 => Theirs::Uint32x2,
        Ours::UINT32X3 => Theirs::Uint32x3,
        Ours::UINT32X4 => Theirs::Uint32x4,
        Ours::SINT32 => Theirs::Sint32,
        Ours::SINT32X2 => Theirs::Sint32x2,
        Ours::SINT32X3 => Theirs::Sint32x3,
        Ours::SINT32X4 => Theirs::Sint32x4,
        _ => return None,
    })
}

/// The wgpu format of an index format of the library.
pub fn index_format(format: meshmap::IndexFormat) -> Result<wgpu::IndexFormat, String> {
    match format {
        meshmap::IndexFormat::Uint16 => Ok(wgpu::IndexFormat::Uint16),
        meshmap::IndexFormat::Uint32 => Ok(wgpu::IndexFormat::Uint32),
        other => Err(format!("wgpu has no indices {other:?}")),
    }
}
