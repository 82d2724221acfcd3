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
        // Not charged here: cached data is charged to the calls that use it.
        let meter = &job::unmetered(|| self.meter());
        let mut sections: Vec<&Section> = self.layout.sections().collect();
        // Grid indices are decoded with the positions.
        sections.retain(|section| section.part != SectionKind::GridIndices);
        let results: Vec<Result<Option<NormalPlanes>>> = job::in_pool(|job| {
            sections
                .par_iter()
                .map_init(
                    || job.task(Scratch::default),
                    |scratch, section| {
                        job.task(|| self.decode_section(section, Context::new(meter, scratch)))
                    },
                )
                .collect()
        });
        let mut normal_planes = None;
        for result in results {
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
            SectionKind::Normals if self.method() != Method::Mg2 => {
                self.decoded_normals(None, context)?;
            }
            SectionKind::Normals if self.decoded.normals.get().is_some() => {}
            SectionKind::Normals => {
                let Context { meter, scratch } = context;
                let planes = self.decode(meter).normal_planes(section, scratch)?;
                return Ok(Some(planes));
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
        let positions = positions.to_native();
        let triangles = self.raw_triangles()?;
        let triangles = triangles.to_native();
        let mut normals: Vec<[f32; 3]> =
            zeroed_vec(meter, section.range.length(), section.count, section.what)
                .map_err(|error| self.layout.place_of(section).locate(error))?;
        let threads = rayon::current_num_threads().max(1);
        let task_length = normals.len().div_ceil(threads).max(MIN_TASK_VERTICES);
        let words = Planes::new(planes);
        let precision = grid.header.normal_precision.get();

        // Every task goes through all triangles, and adds only to its vertices. The sum of each vertex then has the same
        // terms in the same order as without threads, and therefore the same bits.
        let compute = |first: usize, normals: &mut [[f32; 3]]| -> Result<bool> {
            let are_in_range =
                normals::add_triangles_of_job(&positions, &triangles, first, normals)?;
            normals::restore(&words.from(first), precision, normals);
            Ok(are_in_range)
        };
        let are_in_range = job::in_pool(|job| {
            let tasks = normals.par_chunks_mut(task_length).enumerate();
            let results = tasks.map(|(index, normals)| {
                job.task(|| compute(index.saturating_mul(task_length), normals))
            });
            results.try_reduce(|| true, |one, other| Ok(one && other))
        })?;
        if !are_in_range {
            return Ok(None);
        }
        Ok(Some(normals))
    }
}
