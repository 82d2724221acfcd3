//! A GLB file while it is written: JSON in memory, the binary chunk on its way out.

use std::collections::HashMap;
use std::io::{Seek, SeekFrom, Write};

use super::document::{Accessor, Buffer, BufferView, Document, Index, Sparse, SparseIndices, SparseValues};
use crate::error::{Error, Result};

pub(super) const UNSIGNED_BYTE: u32 = 5121;
pub(super) const UNSIGNED_SHORT: u32 = 5123;
pub(super) const UNSIGNED_INT: u32 = 5125;
pub(super) const FLOAT: u32 = 5126;

/// What a buffer view is for.
#[derive(Clone, Copy)]
pub(super) enum Use {
    Vertices,
    Indices,
    /// Sparse values, keys, matrices.
    Other,
}

/// The file's header, and that of a chunk.
const HEADER: u64 = 12;
const CHUNK: u64 = 8;

pub(super) struct GlbFile<'a, W> {
    out: &'a mut W,
    /// Bytes that are kept for the JSON before the binary chunk.
    reserved: u64,
    /// Length of the binary chunk so far.
    length: u64,
    pub(super) document: Document,
    /// The materials of the document by name.
    pub(super) materials: HashMap<String, Index>,
}

impl<'a, W: Write + Seek> GlbFile<'a, W> {
    /// Begins a file, with room for this much JSON.
    pub(super) fn begin(out: &'a mut W, reserved: u64) -> Result<Self> {
        let reserved = reserved.next_multiple_of(4);
        out.seek(SeekFrom::Start(HEADER + CHUNK + reserved + CHUNK))?;
        Ok(Self { out, reserved, length: 0, document: Document::default(), materials: HashMap::new() })
    }

    /// Writes a part of the binary chunk.
    pub(super) fn view(&mut self, bytes: &[u8], of: Use) -> Result<Index> {
        let byte_offset = self.length;
        self.out.write_all(bytes)?;
        let padding = bytes.len().next_multiple_of(4) - bytes.len();
        self.out.write_all(&[0; 4][..padding])?;
        self.length += (bytes.len() + padding) as u64;
        let target = match of {
            Use::Vertices => Some(34_962),
            Use::Indices => Some(34_963),
            Use::Other => None,
        };
        self.document.buffer_views.push(BufferView {
            buffer: 0,
            byte_offset,
            byte_length: bytes.len() as u64,
            target,
        });
        Ok(self.document.buffer_views.len() - 1)
    }

    pub(super) fn accessor(&mut self, accessor: Accessor) -> Index {
        self.document.accessors.push(accessor);
        self.document.accessors.len() - 1
    }

    /// Floats; with their least and greatest where `has_bounds`.
    pub(super) fn floats<const N: usize>(
        &mut self,
        elements: &[[f32; N]],
        of: Use,
        has_bounds: bool,
    ) -> Result<Index> {
        let buffer_view = self.view(&bytes_of(elements), of)?;
        let (min, max) = if has_bounds { bounds(elements) } else { <_>::default() };
        Ok(self.accessor(Accessor {
            buffer_view: Some(buffer_view),
            component_type: FLOAT,
            count: elements.len(),
            kind: kind(N),
            min,
            max,
            ..Accessor::default()
        }))
    }

    /// Bytes, packed by fours.
    pub(super) fn bytes(&mut self, elements: &[[u8; 4]], normalized: bool) -> Result<Index> {
        let buffer_view = self.view(elements.as_flattened(), Use::Vertices)?;
        Ok(self.accessor(Accessor {
            buffer_view: Some(buffer_view),
            component_type: UNSIGNED_BYTE,
            normalized,
            count: elements.len(),
            kind: "VEC4",
            ..Accessor::default()
        }))
    }

    /// Numbers of 16 bits, by fours.
    pub(super) fn shorts(&mut self, elements: &[[u16; 4]]) -> Result<Index> {
        let bytes: Vec<u8> = elements.as_flattened().iter().flat_map(|number| number.to_le_bytes()).collect();
        let buffer_view = self.view(&bytes, Use::Vertices)?;
        Ok(self.accessor(Accessor {
            buffer_view: Some(buffer_view),
            component_type: UNSIGNED_SHORT,
            count: elements.len(),
            kind: "VEC4",
            ..Accessor::default()
        }))
    }

    /// Indices, of 16 bits where there are so few vertices that none is 65,535, which restarts primitives.
    pub(super) fn indices(&mut self, indices: &[u32], vertices: usize) -> Result<Index> {
        let (bytes, component_type) = index_bytes(indices, vertices);
        let buffer_view = self.view(&bytes, Use::Indices)?;
        Ok(self.accessor(Accessor {
            buffer_view: Some(buffer_view),
            component_type,
            count: indices.len(),
            kind: "SCALAR",
            ..Accessor::default()
        }))
    }

    /// Triples of which only those are written that are not 0, unless all take less room.
    pub(super) fn sparse(&mut self, elements: &[[f32; 3]], is_dense: bool) -> Result<Index> {
        let mut moved: Vec<u32> = Vec::new();
        for (index, element) in (0_u32..).zip(elements) {
            if element.iter().any(|number| *number != 0.0) {
                moved.push(index);
            }
        }
        let index_size = if elements.len() <= 65_535 { 2 } else { 4 };
        if is_dense || moved.len() * (12 + index_size) >= elements.len() * 12 {
            return self.floats(elements, Use::Vertices, true);
        }
        if moved.is_empty() {
            // Readers want a place for the values.
            moved.push(0);
        }
        let values: Vec<[f32; 3]> =
            moved.iter().filter_map(|index| elements.get(*index as usize)).copied().collect();
        let (mut min, mut max) = bounds(&values);
        if values.len() < elements.len() {
            // Those that are not listed are 0.
            min.iter_mut().for_each(|number| *number = number.min(0.0));
            max.iter_mut().for_each(|number| *number = number.max(0.0));
        }
        let (bytes, component_type) = index_bytes(&moved, elements.len());
        let indices = SparseIndices { buffer_view: self.view(&bytes, Use::Other)?, component_type };
        let sparse_values = SparseValues { buffer_view: self.view(&bytes_of(&values), Use::Other)? };
        Ok(self.accessor(Accessor {
            component_type: FLOAT,
            count: elements.len(),
            kind: "VEC3",
            min,
            max,
            sparse: Some(Sparse { count: moved.len(), indices, values: sparse_values }),
            ..Accessor::default()
        }))
    }

    /// Writes the headers and the JSON. `Err` with the length that the JSON takes, where less is reserved.
    pub(super) fn finish(mut self) -> Result<Result<(), u64>> {
        if self.length > 0 {
            self.document.buffers.push(Buffer { byte_length: self.length });
        }
        let mut json = serde_json::to_vec(&self.document)?;
        if json.len() as u64 > self.reserved {
            return Ok(Err(json.len() as u64));
        }
        json.resize(usize::try_from(self.reserved).unwrap_or(usize::MAX), b' ');
        // A file without numbers has no binary chunk.
        let binary = if self.length > 0 { CHUNK + self.length } else { 0 };
        let total = HEADER + CHUNK + self.reserved + binary;
        let number = |length: u64| {
            let what = || format!("{length} bytes, where 4,294,967,295 are the most");
            u32::try_from(length).map_err(|_| Error::NotHeld { target: "glb", what: what() })
        };
        let end = self.out.stream_position()?;
        self.out.seek(SeekFrom::Start(0))?;
        let mut head = Vec::new();
        head.extend(b"glTF");
        head.extend(2_u32.to_le_bytes());
        head.extend(number(total)?.to_le_bytes());
        head.extend(number(self.reserved)?.to_le_bytes());
        head.extend(b"JSON");
        self.out.write_all(&head)?;
        self.out.write_all(&json)?;
        if self.length > 0 {
            self.out.write_all(&number(self.length)?.to_le_bytes())?;
            self.out.write_all(b"BIN\0")?;
        }
        self.out.seek(SeekFrom::Start(end))?;
        Ok(Ok(()))
    }
}

fn bytes_of<const N: usize>(elements: &[[f32; N]]) -> Vec<u8> {
    elements.as_flattened().iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn index_bytes(indices: &[u32], vertices: usize) -> (Vec<u8>, u32) {
    if vertices <= 65_535 {
        let narrow = indices.iter().map(|index| u16::try_from(*index).unwrap_or(u16::MAX));
        (narrow.flat_map(u16::to_le_bytes).collect(), UNSIGNED_SHORT)
    } else {
        (indices.iter().flat_map(|index| index.to_le_bytes()).collect(), UNSIGNED_INT)
    }
}

fn kind(components: usize) -> &'static str {
    match components {
        1 => "SCALAR",
        2 => "VEC2",
        3 => "VEC3",
        4 => "VEC4",
        _ => "MAT4",
    }
}

fn bounds<const N: usize>(elements: &[[f32; N]]) -> (Vec<f32>, Vec<f32>) {
    let mut min = [f32::INFINITY; N];
    let mut max = [f32::NEG_INFINITY; N];
    for element in elements {
        for component in 0..N {
            min[component] = min[component].min(element[component]);
            max[component] = max[component].max(element[component]);
        }
    }
    (min.to_vec(), max.to_vec())
}
