//! Rows with geometry, of a few meshes at a time.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::{Array as _, RecordBatch};
use arrow_schema::ArrowError;
use meshmap::{MeshEntry, MeshFile, Meter, Role};
use rayon::prelude::*;

use super::facts::fitting;
use super::file::{of_item, open};
use super::geometry::{Geometry, Shape};
use super::item::Item;
use super::look::too_many;
use super::options::Options;
use super::row::{Row, name_of};
use crate::input::{Problem, memory_for, meter_of, remedy_for_memory};
use crate::text;

/// The most files that are opened together, and meshes that are decoded together.
const FILES: usize = 64;
const MESHES: usize = 256;
/// Bytes that a byte of a file usually becomes, if its headers do not contain the numbers of vertices and triangles.
const RATIO: u64 = 8;
/// The most rows of a table.
const ROWS: usize = 8192;

/// A row for each mesh of many files, with its arrays. An invalid file or mesh is also a row.
///
/// Memory is bounded by the bytes of a table, and by the meshes that are decoded together: one for each thread if they are large.
pub struct Shapes {
    items: Arc<Vec<Item>>,
    how: Options,
    geometry: Arc<Geometry>,
    drawn: bool,
    batch_bytes: usize,
    next_item: usize,
    waiting: VecDeque<Waiting>,
    /// Rows that are decoded and in no table yet.
    ready: VecDeque<Shape>,
}

/// A row that is not read yet.
enum Waiting {
    Done(Box<Row>),
    Mesh(Arc<Job>, MeshEntry),
}

/// A file whose meshes are read. What they cost is counted mesh by mesh, in their order: the row that exceeds the limit of work is the
/// last one of the file, however many threads read.
struct Job {
    file: MeshFile,
    row: Row,
    meter: Meter<'static>,
    /// An estimate of the size of a row.
    each: u64,
}

impl Shapes {
    /// Nothing is read before the first table. With `drawn`, only the meshes that viewers show have rows: the finest level of detail,
    /// the first snapshot, and nothing for physics. A table ends with the mesh that reaches `batch_bytes`.
    #[must_use]
    pub fn new(
        items: Arc<Vec<Item>>,
        how: Options,
        geometry: Arc<Geometry>,
        drawn: bool,
        batch_bytes: usize,
    ) -> Self {
        Self {
            items,
            how,
            geometry,
            drawn,
            batch_bytes,
            next_item: 0,
            waiting: VecDeque::new(),
            ready: VecDeque::new(),
        }
    }

    /// The next table; `None` at the end.
    ///
    /// # Errors
    ///
    /// Returns Arrow's errors, for texts of more than 2 GiB.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let mut shapes = Vec::new();
        let mut bytes = 0_usize;
        while bytes < self.batch_bytes && shapes.len() < ROWS {
            let Some(shape) = self.ready.pop_front() else {
                if self.read_more() { continue } else { break }
            };
            bytes = bytes.saturating_add(shape.byte_len());
            shapes.push(shape);
        }
        if shapes.is_empty() {
            Ok(None)
        } else {
            self.geometry.batch(shapes).map(Some)
        }
    }

    /// Decodes the next meshes. `false` if there are none.
    fn read_more(&mut self) -> bool {
        if self.waiting.is_empty() && !self.open_more() {
            return false;
        }
        let sizes = self
            .waiting
            .iter()
            .map(|waiting| waiting.byte_len(&self.geometry));
        let count = fitting(sizes, self.batch_bytes as u64 / 2, MESHES);
        let part: Vec<Waiting> = self.waiting.drain(..count).collect();
        let made = part
            .into_par_iter()
            .map(|waiting| waiting.read(&self.geometry))
            .collect();
        self.ready = self.charged(made).into();
        true
    }

    /// The rows whose files allow the work, and one row in place of the others of each file.
    fn charged(&mut self, made: Vec<Read>) -> Vec<Shape> {
        let mut shapes = Vec::with_capacity(made.len());
        for Read { shape, job } in made {
            let Some((job, work)) = job else {
                shapes.push(shape);
                continue;
            };
            if job.meter.work(0, WORK).is_err() {
                continue;
            }
            let work = work.saturating_add(shape.byte_len() as u64);
            match job.meter.work(work, WORK) {
                Ok(()) => shapes.push(shape),
                Err(error) => {
                    shapes.push(Shape::without_parts(
                        shape.row.failed(&error),
                        &self.geometry,
                    ));
                    self.waiting.retain(
                        |other| !matches!(other, Waiting::Mesh(of, _) if Arc::ptr_eq(of, &job)),
                    );
                }
            }
        }
        shapes
    }

    /// Opens the next files. `false` if there are none.
    fn open_more(&mut self) -> bool {
        let left = self.items.get(self.next_item..).unwrap_or_default();
        let sizes = left
            .iter()
            .map(|item| item.byte_len().saturating_mul(RATIO));
        let count = fitting(sizes, self.batch_bytes as u64 / 2, FILES);
        let Some(part) = left.get(..count).filter(|part| !part.is_empty()) else {
            return false;
        };
        self.next_item += count;
        let opened: Vec<Vec<Waiting>> = part.par_iter().map(|item| self.meshes(item)).collect();
        self.waiting.extend(opened.into_iter().flatten());
        true
    }

    fn meshes(&self, item: &Item) -> Vec<Waiting> {
        let meshes = || match open(item, &self.how) {
            Ok(None) => Vec::new(),
            Ok(Some((row, file))) => self.listed(&file, row),
            Err(row) => vec![Waiting::Done(row)],
        };
        catch_unwind(AssertUnwindSafe(meshes))
            .unwrap_or_else(|_| vec![Waiting::Done(Box::new(of_item(item).panicked()))])
    }

    fn listed(&self, file: &MeshFile, row: Row) -> Vec<Waiting> {
        let entries = match file.meshes() {
            Ok(entries) => entries,
            Err(error) => return vec![Waiting::Done(Box::new(row.failed(&error)))],
        };
        if let Some(row) = too_many(file, entries.len(), &row) {
            return vec![Waiting::Done(Box::new(row))];
        }
        // A name in the header of a file may be the name of each mesh.
        let most = memory_for(file.limits(), row.file_bytes.map_or(0, i64::unsigned_abs));
        let mut held = 0;
        let mut listed = Vec::new();
        for entry in entries {
            held += (size_of::<MeshEntry>() + entry.name.as_bytes().len()) as u64;
            if held > most {
                let most = text::size(most);
                let remedy = remedy_for_memory(file.limits());
                let error = format!(
                    "the names of meshes need more than the limit of {most} of memory{remedy}"
                );
                return vec![Waiting::Done(Box::new(
                    row.problem(&Problem::other("limit_exceeded", error)),
                ))];
            }
            listed.push(entry);
        }
        let entries = listed;
        let level = |entry: &MeshEntry| {
            if let Role::Lod(level) = entry.role {
                Some(level)
            } else {
                None
            }
        };
        let finest = entries.iter().filter_map(level).min();
        let is_drawn = |entry: &MeshEntry| match entry.role {
            Role::Lod(level) => Some(level) == finest,
            Role::Physics => false,
            Role::Snapshot { index, .. } => index == 0,
            _ => true,
        };
        let drawn: Vec<MeshEntry> = entries
            .into_iter()
            .filter(|entry| !self.drawn || is_drawn(entry))
            .collect();
        // A file without meshes is not lost.
        if drawn.is_empty() {
            return vec![Waiting::Done(Box::new(row))];
        }
        let stored = row.file_bytes.map_or(0, i64::unsigned_abs);
        let each = stored.saturating_mul(RATIO) / drawn.len() as u64;
        let job = Arc::new(Job {
            file: file.clone(),
            row,
            meter: meter_of(file),
            each,
        });
        drawn
            .into_iter()
            .map(|entry| Waiting::Mesh(Arc::clone(&job), entry))
            .collect()
    }
}

/// The purpose of the work, in messages.
const WORK: &str = "geometry of the meshes";

/// A row, and the job that its work is not charged to yet.
struct Read {
    shape: Shape,
    job: Option<(Arc<Job>, u64)>,
}

impl Waiting {
    /// An estimate of the size of the row.
    fn byte_len(&self, geometry: &Geometry) -> u64 {
        match self {
            Self::Done(_) => 0,
            Self::Mesh(job, entry) => entry
                .counts
                .map_or(job.each, |counts| geometry.byte_len(&counts)),
        }
    }

    fn read(self, geometry: &Geometry) -> Read {
        match self {
            Self::Done(row) => Read {
                shape: Shape::without_parts(*row, geometry),
                job: None,
            },
            Self::Mesh(job, entry) => {
                let row = described(&job.row, &entry);
                let meter = Arc::new(meter_of(&job.file));
                let read = || meter.run(|| read(&job.file, &entry, row.clone(), geometry));
                let shape = catch_unwind(AssertUnwindSafe(read))
                    .unwrap_or_else(|_| Shape::without_parts(row.panicked(), geometry));
                Read {
                    shape,
                    job: Some((job, meter.worked())),
                }
            }
        }
    }
}

impl Shape {
    fn without_parts(row: Row, geometry: &Geometry) -> Self {
        Self {
            row,
            parts: geometry.parts().map(|_| None).collect(),
        }
    }

    fn byte_len(&self) -> usize {
        let parts = self
            .parts
            .iter()
            .flatten()
            .map(|items| items.get_buffer_memory_size());
        parts
            .sum::<usize>()
            .saturating_add(usize::try_from(self.row.byte_len()).unwrap_or(usize::MAX))
    }
}

/// The facts that the list of meshes contains.
fn described(file_row: &Row, entry: &MeshEntry) -> Row {
    let row = Row {
        address: Some(entry.address.to_string()),
        name: name_of(entry),
        ..file_row.clone()
    };
    match entry.role {
        Role::Lod(level) => Row {
            role: Some("lod"),
            level: i32::try_from(level).ok(),
            ..row
        },
        Role::Physics => Row {
            role: Some("physics"),
            ..row
        },
        Role::Snapshot { seconds, .. } => Row {
            role: Some("snapshot"),
            seconds,
            ..row
        },
        _ => Row {
            role: Some("geometry"),
            ..row
        },
    }
}

/// The row of a mesh, with what can be decoded of it.
fn read(file: &MeshFile, entry: &MeshEntry, row: Row, geometry: &Geometry) -> Shape {
    let mesh = match file.mesh(&entry.address) {
        Ok(mesh) => mesh,
        Err(error) => return Shape::without_parts(row.failed(&error), geometry),
    };
    let number = |count: usize| i64::try_from(count).ok();
    let mut row = Row {
        vertices: number(mesh.vertex_count()),
        triangles: number(mesh.triangle_count()),
        material: mesh.material().map(str::to_owned),
        ..row
    };
    let mut parts = Vec::new();
    for part in geometry.parts() {
        parts.push(match part.of(&mesh) {
            Ok(values) => values,
            Err(problem) => {
                if row.error.is_none() {
                    row = row.problem(&problem);
                }
                None
            }
        });
    }
    Shape { row, parts }
}
