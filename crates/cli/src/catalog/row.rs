//! The rows of a file.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::UNIX_EPOCH;

use meshmap::{Error, MeshFile, Severity, Source};
use sha2::{Digest, Sha256};

use super::How;
use super::item::{Item, Kind};
use super::look;
use crate::inputs::{Problem, Reading};
use crate::{text, words};

/// A mesh, or why a file or a mesh cannot be read.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Row {
    /// The path or the name of the file.
    pub path: String,
    /// The name of the format, where that is known.
    pub format: Option<&'static str>,
    /// Where the mesh is in the file.
    pub address: Option<String>,
    /// The name of the mesh, where it has one.
    pub name: Option<String>,
    /// `geometry`, `lod`, `physics` or `snapshot`.
    pub role: Option<&'static str>,
    /// The level of detail, 0 the finest.
    pub level: Option<i32>,
    /// The time of a snapshot, in seconds.
    pub seconds: Option<f64>,
    /// The length of the file in bytes.
    pub file_bytes: Option<i64>,
    /// The bytes of the file that the mesh takes.
    pub mesh_bytes: Option<i64>,
    /// How many positions are stored.
    pub vertices: Option<i64>,
    /// How many triangles are stored.
    pub triangles: Option<i64>,
    /// The box around the positions: least and greatest.
    pub bounds: Option<[[f32; 3]; 2]>,
    /// The name of the material, where the file has one.
    pub material: Option<String>,
    /// Findings of the file by severity: notes, suspicious, forbidden, unusable.
    pub findings: [i64; 4],
    /// What tells versions of the file apart: device, inode, time of modification and length, or an ETag.
    pub identity: Option<String>,
    /// SHA-256 of the bytes of the file, in hexadecimal.
    pub hash: Option<String>,
    /// The kind of the error, where the file or the mesh cannot be read.
    pub error_kind: Option<&'static str>,
    /// The error on one line.
    pub error: Option<String>,
}

impl Row {
    pub(super) fn failed(self, error: &Error) -> Self {
        let told = Some(text::line(&words::error(error)));
        Self { error_kind: Some(error.kind().name()), error: told, ..self }
    }

    fn problem(self, problem: &Problem) -> Self {
        match problem {
            Problem::Library(error) => {
                let format = error.format().map(meshmap::Format::name).or(self.format);
                Self { format, ..self }.failed(error)
            }
            Problem::Other(kind, _) => {
                Self { error_kind: Some(*kind), error: Some(problem.to_string()), ..self }
            }
        }
    }
}

/// The rows of a file: at least one, but for a file that was found and holds no mesh at all.
///
/// Never fails, whatever the file is.
#[must_use]
pub fn rows(item: &Item, how: How) -> Vec<Row> {
    let read = catch_unwind(AssertUnwindSafe(|| read(item, how)));
    read.unwrap_or_else(|_| {
        let problem = Problem::other("panic", "a defect of this program; please report the file".to_owned());
        vec![Row { path: path(item), ..Row::default() }.problem(&problem)]
    })
}

fn path(item: &Item) -> String {
    match &item.0 {
        Kind::File(input) => input.path.to_string_lossy().into_owned(),
        Kind::Source { name, .. } => name.clone(),
        Kind::Unreadable(path, _) => path.to_string_lossy().into_owned(),
    }
}

fn read(item: &Item, how: How) -> Vec<Row> {
    let mut row = Row { path: path(item), ..Row::default() };
    // Files are worked on side by side, each by one thread.
    let reading = Reading { mmap: how.mmap, is_one_of_many: true, ..Reading::default() };
    let opened = match &item.0 {
        Kind::Unreadable(_, error) => return vec![row.problem(&Problem::other("io", error.clone()))],
        Kind::File(input) => input.source(how.mmap).and_then(|source| {
            describe(&mut row, &source, None, how)?;
            input.open(&source, &reading)
        }),
        Kind::Source { identity, open, .. } => open().map_err(Problem::from).and_then(|source| {
            describe(&mut row, &source, identity.as_deref(), how)?;
            Ok(Some(MeshFile::from_source_with(source, &reading.options())?))
        }),
    };
    match opened {
        Ok(None) => Vec::new(),
        Ok(Some(file)) => {
            row.format = Some(file.format().name());
            findings(&mut row, &file);
            look::meshes(&file, &row, how.full)
        }
        Err(problem) => vec![row.problem(&problem)],
    }
}

/// What is known of a file before it is opened.
fn describe(row: &mut Row, source: &Source, identity: Option<&str>, how: How) -> Result<(), Problem> {
    row.file_bytes = source.len()?.and_then(|bytes| i64::try_from(bytes).ok());
    row.identity = identity.map(str::to_owned).or_else(|| of_file(source));
    if how.hash {
        row.hash = Some(hash(source)?);
    }
    Ok(())
}

fn of_file(source: &Source) -> Option<String> {
    let identity = source.identity()?;
    let (device, inode) = identity.file_id.unwrap_or_default();
    let modified = identity.modified?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
    Some(format!("{device:x}-{inode:x}-{modified:x}-{:x}", identity.len))
}

/// Of the bytes, a part at a time.
fn hash(source: &Source) -> Result<String, Problem> {
    const PART: u64 = 1 << 20;
    let mut hash = Sha256::new();
    let Some(len) = source.len()? else {
        return Err(Problem::other("unsupported", "a hash of a source of unknown length".to_owned()));
    };
    let mut start = 0;
    while start < len {
        let end = start.saturating_add(PART).min(len);
        hash.update(source.get(start..end, "file")?);
        start = end;
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn findings(row: &mut Row, file: &MeshFile) {
    for finding in file.findings() {
        let place = match finding.severity() {
            Severity::Note => 0,
            Severity::Suspicious => 1,
            Severity::Forbidden => 2,
            _ => 3,
        };
        row.findings[place] += i64::try_from(finding.count.max(1)).unwrap_or(i64::MAX);
    }
}
