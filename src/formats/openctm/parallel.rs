//! All arrays of a mesh on several threads.

use rayon::prelude::*;

use super::decode::{Decoded, Ending};
use super::layout::{Grid, Method, Section, SectionKind};
use super::mesh::Mesh;
use super::normals;
use crate::bytes::Array;
use crate::codec::planes::Planes;
use crate::decode::Scratch;
use crate::limits::{Meter, job};
use crate::num::{Span, as_usize};
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
    pub(crate) fn decode_in_parallel(&self) {
        if self.options.parallelism != Parallelism::Rayon || self.method() == Method::Raw {
            return;
        }
        if self.decoded.kept.left() < self.layout.decoded_len() {
            return;
        }
        let sections = self.layout.sections();
        let stored = sections.clone().map(|section| section.range.length());
        let largest = stored.clone().max().unwrap_or(0);
        if stored.fold(0, u64::saturating_add).saturating_sub(largest) < WORTH_A_THREAD {
            return;
        }
        // Data that is kept is charged to the calls that use it.
        let meter = &job::unmetered(|| self.meter());
        // Grid indices are decoded with the positions.
        let alone: Vec<&Section> = sections
            .filter(|section| section.part != SectionKind::GridIndices)
            .collect();
        let decode =
            |scratch: &mut Scratch, section: &&Section| self.decode_one(section, meter, scratch);
        let results: Vec<Result<Option<NormalPlanes>>> = job::in_pool(|job| {
            let decode =
                |scratch: &mut Scratch, section: &&Section| job.task(|| decode(scratch, section));
            alone
                .par_iter()
                .map_init(|| job.task(Scratch::default), decode)
                .collect()
        });
        if results.iter().all(Result::is_ok)
            && let Some((planes, ending)) = results.into_iter().flatten().flatten().next()
            && let (Some(section), Some(grid)) = (&self.layout.normals, &self.layout.grid)
            && let Ok(Some(normals)) = predicted_normals(self, (section, grid), &planes, meter)
        {
            let normals = Decoded {
                array: Array::from_vec(normals),
                ending,
            };
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
        meter: &Meter,
        scratch: &mut Scratch,
    ) -> Result<Option<NormalPlanes>> {
        match section.part {
            SectionKind::Indices => {
                self.decoded_indices(meter, scratch)?;
            }
            SectionKind::Positions | SectionKind::GridIndices => {
                self.decoded_positions(meter, scratch)?;
            }
            SectionKind::Normals if self.method() != Method::Mg2 => {
                self.decoded_normals(None, meter, scratch)?;
            }
            SectionKind::Normals if self.decoded.normals.get().is_some() => {}
            SectionKind::Normals => {
                return self.decode(meter).own_planes(section, scratch).map(Some);
            }
            SectionKind::UvMap(index) => {
                self.decoded_uv_map(as_usize(index), meter, scratch)?;
            }
            SectionKind::AttributeMap(index) => {
                self.decoded_attribute_map(as_usize(index), meter, scratch)?;
            }
        }
        Ok(None)
    }
}

/// Normals of ranges of vertices, each on its own; `Ok(None)` where an index is out of range.
fn predicted_normals(
    mesh: &Mesh,
    (section, grid): (&Section, &Grid),
    planes: &[u8],
    meter: &Meter,
) -> Result<Option<Vec<[f32; 3]>>> {
    let (positions, triangles) = (mesh.positions()?, mesh.raw_triangles()?);
    let (positions, triangles) = (positions.to_native(), triangles.to_native());
    let mut normals: Vec<[f32; 3]> = meter
        .vec(section.range.length(), section.count, section.what)
        .map_err(|error| mesh.layout.place_of(section).locate(error))?;
    let part = normals
        .len()
        .div_ceil(rayon::current_num_threads().max(1))
        .max(LEAST_VERTICES);
    let words = Planes::new(planes);
    let precision = grid.header.normal_precision.get();
    let add = |(index, normals): (usize, &mut [[f32; 3]])| -> Result<bool> {
        let first = index.saturating_mul(part);
        let are_in_range = normals::add_triangles_of_job(&positions, &triangles, first, normals)?;
        normals::restore(&words.from(first), precision, normals);
        Ok(are_in_range)
    };
    let are_all_in_range = job::in_pool(|job| {
        let added = normals
            .par_chunks_mut(part)
            .enumerate()
            .map(|part| job.task(|| add(part)));
        added.try_reduce(|| true, |one, other| Ok(one && other))
    });
    Ok(are_all_in_range?.then_some(normals))
}
