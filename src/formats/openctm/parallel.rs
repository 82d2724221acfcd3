//! All arrays of a mesh on several threads.

use rayon::prelude::*;

use super::decode::{Decoded, NormalPlanes};
use super::layout::{Grid, Method, Section, SectionKind};
use super::mesh::Mesh;
use super::normals;
use crate::bytes::Array;
use crate::codec::planes::Planes;
use crate::decode::{Context, Scratch};
use crate::limits::{Meter, job, zeroed_vec};
use crate::num::{Span, as_usize};
use crate::options::Parallelism;
use crate::report::Result;

/// The minimum number of stored bytes, without the largest stream, for which other threads are woken.
const MIN_PARALLEL_BYTES: u64 = 16 << 10;

/// The minimum number of vertices whose normals are a task.
const MIN_TASK_VERTICES: usize = 16 << 10;

impl Mesh {
    /// Decodes all arrays that are not cached yet, if several threads are faster than one; otherwise does nothing.
    ///
    /// An LZMA stream cannot be split, so each is decoded by one thread. Normals of MG2 come last: they need positions and
    /// indices, and then every vertex is independent of the others.
    ///
    /// Errors are dropped: the accessors decode the missing arrays one by one and report the errors, so that the reported
    /// error does not depend on threads.
    pub(crate) fn decode_in_parallel(&self) {
        if !self.is_faster_in_parallel() {
            return;
        }
        // Cached data is charged to the calls that use it, so this meter has no job that it charges.
        let meter = &job::unmetered(|| self.meter());
        let mut sections: Vec<&Section> = self.layout.sections().collect();
        // Grid indices are decoded with the positions.
        sections.retain(|section| section.part != SectionKind::GridIndices);
        let mut normal_planes = None;
        for result in self.decode_sections(&sections, meter) {
            match result {
                Ok(Some(planes)) => normal_planes = Some(planes),
                Ok(None) => {}
                Err(_) => return,
            }
        }
        if let Some(planes) = normal_planes {
            self.cache_normals(&planes, meter);
        }
    }

    fn is_faster_in_parallel(&self) -> bool {
        if self.options.parallelism != Parallelism::Rayon || self.method() == Method::Raw {
            return false;
        }
        // Arrays that are not cached would be decoded a second time.
        if self.decoded.kept.left() < self.layout.decoded_len() {
            return false;
        }
        let mut stored = 0_u64;
        let mut largest = 0;
        for section in self.layout.sections() {
            let length = section.range.length();
            stored = stored.saturating_add(length);
            largest = length.max(largest);
        }
        stored.saturating_sub(largest) >= MIN_PARALLEL_BYTES
    }

    /// Decodes arrays, each as a task of the pool.
    fn decode_sections(
        &self,
        sections: &[&Section],
        meter: &Meter,
    ) -> Vec<Result<Option<NormalPlanes>>> {
        job::in_pool(|job| {
            // `Job::task` makes the work of other threads a part of this job, which may be cancelled.
            // rayon makes a scratch for each run of arrays that one thread decodes.
            let new_scratch = || job.task(Scratch::default);
            let decode = |scratch: &mut Scratch, section: &&Section| {
                job.task(|| self.decode_section(section, Context::new(meter, scratch)))
            };
            sections.par_iter().map_init(new_scratch, decode).collect()
        })
    }

    /// Decodes one array. For normals of MG2, decodes only their stream and returns it.
    fn decode_section(
        &self,
        section: &Section,
        context: Context<'_>,
    ) -> Result<Option<NormalPlanes>> {
        match section.part {
            SectionKind::Indices => {
                self.decoded_indices(context)?;
            }
            SectionKind::Positions | SectionKind::GridIndices => {
                self.decoded_positions(context)?;
            }
            SectionKind::Normals => {
                if self.method() != Method::Mg2 {
                    self.decoded_normals(None, context)?;
                } else if self.decoded.normals.get().is_none() {
                    let Context { meter, scratch } = context;
                    let planes = self.decode(meter).normal_planes(section, scratch)?;
                    return Ok(Some(planes));
                }
            }
            SectionKind::UvMap(index) => {
                self.decoded_uv_map(as_usize(index), context)?;
            }
            SectionKind::AttributeMap(index) => {
                self.decoded_attribute_map(as_usize(index), context)?;
            }
        }
        Ok(None)
    }

    /// Computes the normals of MG2 and caches them. Caches nothing if they cannot be computed.
    fn cache_normals(&self, planes: &NormalPlanes, meter: &Meter) {
        let layout = &self.layout;
        let (Some(section), Some(grid)) = (&layout.normals, &layout.grid) else {
            return;
        };
        let Ok(Some(normals)) = self.parallel_normals(section, grid, &planes.bytes, meter) else {
            return;
        };
        let normals = Decoded {
            array: Array::from_vec(normals),
            ending: planes.ending,
        };
        if self.decoded.kept.admits(normals.bytes()) {
            // No thread waits for these: if another one has made the normals meanwhile, those stay.
            self.decoded.normals.get_or_set(normals);
        }
    }

    /// Computes the normals of ranges of vertices, each as a task; `Ok(None)` if an index is out of range.
    fn parallel_normals(
        &self,
        section: &Section,
        grid: &Grid,
        planes: &[u8],
        meter: &Meter,
    ) -> Result<Option<Vec<[f32; 3]>>> {
        let positions = self.positions()?;
        let triangles = self.raw_triangles()?;
        let geometry = NormalGeometry {
            positions: &positions.to_native(),
            triangles: &triangles.to_native(),
            words: Planes::new(planes),
            precision: grid.header.normal_precision.get(),
        };
        let mut normals: Vec<[f32; 3]> =
            zeroed_vec(meter, section.range.length(), section.count, section.what)
                .map_err(|error| self.layout.place_of(section).locate(error))?;
        let threads = rayon::current_num_threads().max(1);
        let task_length = normals.len().div_ceil(threads).max(MIN_TASK_VERTICES);
        let are_in_range = job::in_pool(|job| {
            let tasks = normals.par_chunks_mut(task_length).enumerate();
            let results = tasks.map(|(index, normals)| {
                let first = index.saturating_mul(task_length);
                job.task(|| geometry.compute_normals(first, normals))
            });
            results.try_reduce(|| true, |one, other| Ok(one && other))
        })?;
        if !are_in_range {
            return Ok(None);
        }
        Ok(Some(normals))
    }
}

/// The arrays from which the normals of MG2 are computed.
struct NormalGeometry<'a> {
    positions: &'a [[f32; 3]],
    triangles: &'a [[u32; 3]],
    /// The stored normals: a magnitude, and two angles relative to the normal that the triangles predict.
    words: Planes<'a, 3>,
    precision: f32,
}

impl NormalGeometry<'_> {
    /// Computes the normals of the vertices from `first` on. Returns `false` if an index is out of range.
    ///
    /// Goes through all triangles, and adds only to these vertices. The sum of each vertex then has
    /// the same terms in the same order as without threads, and therefore the same bits.
    fn compute_normals(&self, first: usize, normals: &mut [[f32; 3]]) -> Result<bool> {
        let are_in_range =
            normals::add_triangles_of_job(self.positions, self.triangles, first, normals)?;
        normals::restore(&self.words.from(first), self.precision, normals);
        Ok(are_in_range)
    }
}
