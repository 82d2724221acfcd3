//! All arrays of a mesh on several threads.

use rayon::prelude::*;

use super::layout::{Method, Part, Section};
use super::mesh::Mesh;
use super::normals;
use super::rules::FILE;
use crate::bytes::Array;
use crate::codec::planes::Planes;
use crate::decode::Scratch;
use crate::limits::Budget;
use crate::num::{Span, as_u64, as_usize};
use crate::options::Parallelism;
use crate::report::Result;

/// Stored bytes beside the largest stream from which on another thread is worth waking.
const WORTH_A_THREAD: u64 = 16 << 10;

/// Vertices whose normals are worth a thread of their own.
const LEAST_VERTICES: usize = 16 << 10;

impl Mesh {
    /// Decodes what is not decoded yet, where threads pay; otherwise nothing.
    ///
    /// Streams cannot be split, so each is decoded by one thread. Normals of MG2 come last: they need positions and indices,
    /// and then every vertex is on its own.
    ///
    /// What cannot be decoded is left to whoever asks for it next, array by array, so that the error does not depend on
    /// threads.
    pub(crate) fn decode_in_parallel(&self) {
        if self.options.parallelism != Parallelism::Rayon || self.method() == Method::Raw {
            return;
        }
        let sections = self.layout.sections();
        let stored = sections.clone().map(|section| section.range.length());
        let largest = stored.clone().max().unwrap_or(0);
        if stored.fold(0, u64::saturating_add).saturating_sub(largest) < WORTH_A_THREAD {
            return;
        }
        // Grid indices are decoded with the positions.
        let alone: Vec<&Section> = sections.filter(|section| section.part != Part::GridIndices).collect();
        let decode = |scratch: &mut Scratch, section: &&Section| one(self, section, scratch);
        let results: Vec<Result<Option<Vec<u8>>>> =
            alone.par_iter().map_init(Scratch::default, decode).collect();
        if results.iter().all(Result::is_ok)
            && let Some(planes) = results.into_iter().flatten().flatten().next()
            && let Ok(Some(normals)) = predicted_normals(self, &planes)
        {
            self.arrays.normals.get_or_set(Array::from_vec(normals));
        }
    }
}

/// Decodes one array; of the normals of MG2, just their stream, which is returned.
fn one(mesh: &Mesh, section: &Section, scratch: &mut Scratch) -> Result<Option<Vec<u8>>> {
    match section.part {
        Part::Indices => mesh.indices_with(scratch).map(drop)?,
        Part::Positions | Part::GridIndices => mesh.positions_with(scratch).map(drop)?,
        Part::Normals if mesh.method() == Method::Mg2 => {
            if mesh.arrays.normals.get().is_none() {
                return mesh.decode().own_planes(section, scratch).map(Some);
            }
        }
        Part::Normals => mesh.normals_with(scratch).map(drop)?,
        Part::UvMap(index) => mesh.uv_map_with(place(index), scratch).map(drop)?,
        Part::AttributeMap(index) => mesh.attribute_map_with(place(index), scratch).map(drop)?,
    }
    Ok(None)
}

fn place(index: u64) -> usize {
    as_usize(index)
}

/// Normals of ranges of vertices, each on its own; `Ok(None)` where an index is out of range.
///
/// Nobody waits for what is made here: where another thread has made the normals meanwhile, those are kept.
fn predicted_normals(mesh: &Mesh, planes: &[u8]) -> Result<Option<Vec<[f32; 3]>>> {
    let Some(grid) = &mesh.layout.grid else { return Ok(None) };
    let (positions, triangles) = (mesh.positions()?, mesh.indices()?);
    let (positions, triangles) = (positions.to_native(), triangles.to_native());
    let mut normals: Vec<[f32; 3]> = Budget::new(&mesh.options.limits)
        .vec(as_u64(positions.len()), "NORM")
        .map_err(|error| FILE.locate(error))?;
    let part = normals.len().div_ceil(rayon::current_num_threads().max(1)).max(LEAST_VERTICES);
    let words = Planes::new(planes);
    let precision = grid.header.normal_precision.get();
    let are_all_in_range = normals.par_chunks_mut(part).enumerate().map(|(index, normals)| {
        let first = index.saturating_mul(part);
        let are_in_range = normals::add_triangles(&positions, &triangles, first, normals);
        normals::restore(&words.from(first), precision, normals);
        are_in_range
    });
    Ok(are_all_in_range.reduce(|| true, |one, other| one && other).then_some(normals))
}
