//! The vertices of one mesh: a range of the file's vertices, or a list where meshes share vertices.

use std::ops::Range;
use std::sync::Arc;

use super::model::range_of;
use super::raw;
use crate::bytes::{Array, Source};
use crate::limits::{Meter, zeroed_vec};
use crate::num::{Span, as_u64, as_usize};
use crate::report::Result;

/// The vertices of a view.
#[derive(Clone)]
pub(super) enum OwnVertices {
    /// The declared range, which no other mesh uses.
    Range(Range<u32>),
    /// The vertices that the triangles use, in ascending order.
    List(Arc<[u32]>),
}

impl OwnVertices {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Range(range) => as_usize(range.end.saturating_sub(range.start)),
            Self::List(list) => list.len(),
        }
    }

    /// Reads the elements of these vertices from a vertex array at a range of the source.
    pub(super) fn read(
        &self,
        source: &Source,
        array: &Range<u64>,
        size: usize,
        meter: &Meter,
    ) -> Result<bytes::Bytes> {
        match self {
            Self::Range(vertices) => {
                let range = elements(array, vertices, size);
                // Vertex arrays may overlap, so that all of them are more than the file.
                if !source.is_in_memory() {
                    meter.count_read(&range);
                    meter.take(range.length(), WHAT)?.keep();
                }
                source.get(range, WHAT)
            }
            Self::List(list) => read_list(list, source, array, size, meter),
        }
    }
}

/// The name of the bytes in errors.
const WHAT: &str = "vertex array";

/// Copies the elements of vertices, in ascending order, out of a vertex array at a range of the
/// source.
fn read_list(
    list: &[u32],
    source: &Source,
    array: &Range<u64>,
    size: usize,
    meter: &Meter,
) -> Result<bytes::Bytes> {
    for run in runs(list, size) {
        meter.count_read(&elements(array, &span(run), size));
    }
    let stored = as_u64(list.len()).saturating_mul(as_u64(size));
    let mut out: Vec<u8> = zeroed_vec(meter, stored, stored, WHAT)?;
    let ranges = runs(list, size).map(|run| elements(array, &span(run), size));
    source.want(ranges, WHAT)?;
    let mut copies = out.chunks_exact_mut(size.max(1));
    for run in runs(list, size) {
        let vertices = span(run);
        let bytes = source.get(elements(array, &vertices, size), WHAT)?;
        for (vertex, copy) in run.iter().zip(&mut copies) {
            let start = as_usize(vertex.saturating_sub(vertices.start)).saturating_mul(size);
            if let Some(element) = bytes.get(start..start.saturating_add(size)) {
                copy.copy_from_slice(element);
            }
        }
    }
    Ok(out.into())
}

/// The vertices that a mesh declares.
struct DeclaredVertices {
    mesh: usize,
    range: Range<u32>,
}

/// Returns `true` for each mesh whose range of vertices overlaps the range of another mesh.
pub(super) fn overlaps(meshes: &Array<raw::Mesh>) -> Arc<[bool]> {
    let mut declared = Vec::with_capacity(meshes.len());
    for (mesh, raw) in meshes.iter().enumerate() {
        let range = range_of(raw.first_vertex.get(), raw.num_vertexes.get());
        if !range.is_empty() {
            declared.push(DeclaredVertices { mesh, range });
        }
    }
    declared.sort_unstable_by_key(|declared| declared.range.start);
    let mut overlaps = vec![false; meshes.len()];
    // The mesh whose range ends last, of those before.
    let mut last: Option<&DeclaredVertices> = None;
    for own in &declared {
        let Some(before) = last else {
            last = Some(own);
            continue;
        };
        if own.range.start < before.range.end {
            for mesh in [own.mesh, before.mesh] {
                if let Some(overlaps) = overlaps.get_mut(mesh) {
                    *overlaps = true;
                }
            }
        }
        if own.range.end > before.range.end {
            last = Some(own);
        }
    }
    overlaps.into()
}

/// Splits ascending vertices where more than a page of a vertex array lies between two: reading the whole range of each mesh
/// would multiply the number of meshes by the number of vertices.
fn runs(vertices: &[u32], size: usize) -> impl Iterator<Item = &[u32]> {
    const GAP: u64 = 4 << 10;
    vertices.chunk_by(move |a, b| {
        let vertices_between = u64::from(b.saturating_sub(*a));
        vertices_between.saturating_mul(as_u64(size)) <= GAP
    })
}

/// The range from the first to the last of ascending vertices.
fn span(vertices: &[u32]) -> Range<u32> {
    let first = vertices.first().copied().unwrap_or_default();
    let last = vertices.last().copied().unwrap_or_default();
    first..last.saturating_add(1)
}

/// The bytes of vertices in a vertex array.
fn elements(array: &Range<u64>, vertices: &Range<u32>, size: usize) -> Range<u64> {
    let size = as_u64(size);
    let start = u64::from(vertices.start).saturating_mul(size);
    let end = u64::from(vertices.end).saturating_mul(size);
    array.part(start, end.saturating_sub(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meshes(ranges: &[Range<u32>]) -> Array<raw::Mesh> {
        let fields = ranges
            .iter()
            .flat_map(|range| [0, 0, range.start, range.end - range.start, 0, 0]);
        Array::new(
            fields
                .flat_map(u32::to_le_bytes)
                .collect::<Vec<u8>>()
                .into(),
        )
    }

    #[test]
    fn overlaps_are_found_whatever_lies_between() {
        let cases: &[(&[Range<u32>], &[bool])] = &[
            (&[], &[]),
            (&[0..3, 3..6, 6..9], &[false; 3]),
            (&[6..9, 0..4, 3..6], &[false, true, true]),
            (
                &[0..100, 1..2, 50..51, 100..101],
                &[true, true, true, false],
            ),
            (&[0..10, 2..4, 9..12, 11..13], &[true; 4]),
            (&[5..5, 0..10, 10..10], &[false; 3]),
            (&[0..4, 0..4], &[true, true]),
        ];
        for (ranges, expected) in cases {
            assert_eq!(*overlaps(&meshes(ranges)), **expected, "{ranges:?}");
        }
    }

    #[test]
    fn vertices_far_apart_are_runs_of_their_own() {
        let vertices = [3, 4, 300, 1000, 1001];
        assert_eq!(
            runs(&vertices, 12).map(<[u32]>::len).collect::<Vec<_>>(),
            [3, 2]
        );
        assert_eq!(runs(&vertices, 1).count(), 1);
        assert_eq!(runs(&[], 12).count(), 0);
    }
}
