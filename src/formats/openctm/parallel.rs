//! All arrays of a mesh on several threads.

use rayon::prelude::*;

use super::decode::{Decoded, Ending};
use super::layout::{Grid, Method, Part, Section};
use super::mesh::Mesh;
use super::normals;
use crate::bytes::{Array, Element};
use crate::codec::planes::Planes;
use crate::decode::{Scratch, Slot};
use crate::limits::{Budget, cancel};
use crate::num::{Span, as_u64, as_usize};
use crate::options::Parallelism;
use crate::report::Result;

/// Stored bytes besides the largest stream that are worth waking another thread.
const WORTH_A_THREAD: u64 = 16 << 10;

/// Vertices whose normals are worth a thread of their own.
const LEAST_VERTICES: usize = 16 << 10;

/// The stream of the normals of MG2: its bytes, and how it ended.
type NormalPlanes = (Vec<u8>, Ending);

impl Mesh {
    /// Decodes what is not decoded yet, where threads pay; otherwise nothing.
    ///
    /// Streams cannot be split, so each is decoded by one thread. Normals of MG2 come last: they need positions and
    /// indices, and then every vertex is on its own.
    ///
    /// Errors are dropped: the accessors decode what is missing, array by array, and report them, so that the error
    /// does not depend on threads.
    pub(crate) fn decode_in_parallel(&self, budget: &Budget) {
        if self.options.parallelism != Parallelism::Rayon || self.method() == Method::Raw {
            return;
        }
        if !self.decoded.kept.has_room(self.layout.decoded_len()) {
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
        let decode = |scratch: &mut Scratch, section: &&Section| self.decode_one(section, budget, scratch);
        let results: Vec<Result<Option<NormalPlanes>>> = cancel::in_pool(|job| {
            let decode = |scratch: &mut Scratch, section: &&Section| job.task(|| decode(scratch, section));
            alone.par_iter().map_init(|| job.task(Scratch::default), decode).collect()
        });
        if results.iter().all(Result::is_ok)
            && let Some((planes, ending)) = results.into_iter().flatten().flatten().next()
            && let (Some(section), Some(grid)) = (&self.layout.normals, &self.layout.grid)
            && let Ok(Some(normals)) = predicted_normals(self, (section, grid), &planes, budget)
        {
            let normals = Decoded { array: Array::from_vec(normals), ending };
            budget.give_back(as_u64(planes.len()));
            if self.decoded.kept.admits(normals.bytes()) {
                // Nobody waits for this: where another thread has made the normals meanwhile, those are kept.
                self.decoded.normals.get_or_set(normals);
            }
        }
    }

    /// Decodes one array; of the normals of MG2, just their stream, which is returned.
    fn decode_one(
        &self,
        section: &Section,
        budget: &Budget,
        scratch: &mut Scratch,
    ) -> Result<Option<NormalPlanes>> {
        match section.part {
            Part::Indices => {
                give_back(budget, Some(&self.decoded.indices), &self.decoded_indices(budget, scratch)?);
            }
            Part::Positions | Part::GridIndices => {
                give_back(budget, Some(&self.decoded.positions), &self.decoded_positions(budget, scratch)?);
            }
            Part::Normals if self.method() != Method::Mg2 => {
                if let Some(normals) = self.decoded_normals(None, budget, scratch)? {
                    give_back(budget, Some(&self.decoded.normals), &normals);
                }
            }
            Part::Normals if self.decoded.normals.get().is_some() => {}
            Part::Normals => return self.decode(budget).own_planes(section, scratch).map(Some),
            Part::UvMap(index) => {
                let map = self.decoded_uv_map(as_usize(index), budget, scratch)?;
                give_back(budget, self.decoded.uv_maps.get(as_usize(index)), &map);
            }
            Part::AttributeMap(index) => {
                let map = self.decoded_attribute_map(as_usize(index), budget, scratch)?;
                give_back(budget, self.decoded.attribute_maps.get(as_usize(index)), &map);
            }
        }
        Ok(None)
    }
}

/// Gives back the memory of an array that the mesh does not keep: it will be decoded again.
fn give_back<T: Element>(budget: &Budget, kept: Option<&Slot<Decoded<T>>>, decoded: &Decoded<T>) {
    if kept.and_then(Slot::get).is_none() {
        budget.give_back(decoded.bytes());
    }
}

/// Normals of ranges of vertices, each on its own; `Ok(None)` where an index is out of range.
fn predicted_normals(
    mesh: &Mesh,
    (section, grid): (&Section, &Grid),
    planes: &[u8],
    budget: &Budget,
) -> Result<Option<Vec<[f32; 3]>>> {
    let (positions, triangles) = (mesh.positions()?, mesh.raw_triangles()?);
    let (positions, triangles) = (positions.to_native(), triangles.to_native());
    let mut normals: Vec<[f32; 3]> = budget
        .vec(section.range.length(), section.count, section.what)
        .map_err(|error| mesh.layout.place_of(section).locate(error))?;
    let part = normals.len().div_ceil(rayon::current_num_threads().max(1)).max(LEAST_VERTICES);
    let words = Planes::new(planes);
    let precision = grid.header.normal_precision.get();
    let add = |(index, normals): (usize, &mut [[f32; 3]])| -> Result<bool> {
        let first = index.saturating_mul(part);
        let are_in_range = normals::add_triangles_of_job(&positions, &triangles, first, normals)?;
        normals::restore(&words.from(first), precision, normals);
        Ok(are_in_range)
    };
    let are_all_in_range = cancel::in_pool(|job| {
        let added = normals.par_chunks_mut(part).enumerate().map(|part| job.task(|| add(part)));
        added.try_reduce(|| true, |one, other| Ok(one && other))
    });
    Ok(are_all_in_range?.then_some(normals))
}
