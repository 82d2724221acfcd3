//! A row of a catalogue.

use meshmap::{Error, Format, MeshEntry};

use crate::input::{Problem, kind_of};
use crate::inspect::Damage;
use crate::text;

/// A mesh, or why a file or a mesh cannot be read.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Row {
    /// The path or the name of the file.
    pub path: String,
    /// The bytes of the path as base64, if they are not UTF-8 and `path` has U+FFFD.
    pub path_bytes: Option<String>,
    /// The name of the format, if it is known.
    pub format: Option<&'static str>,
    /// The address of the mesh in the file.
    pub address: Option<String>,
    /// The name of the mesh, if it has one.
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
    /// The number of stored positions.
    pub vertices: Option<i64>,
    /// The number of stored triangles.
    pub triangles: Option<i64>,
    /// The box around the positions: least and greatest.
    pub bounds: Option<[[f32; 3]; 2]>,
    /// The name of the material, where the file has one.
    pub material: Option<String>,
    /// Findings of the file by severity: notes, suspicious, forbidden, unusable.
    pub findings: [i64; 4],
    /// Identifies a version of the file at its path: inode, time of modification and length, or an ETag.
    pub identity: Option<String>,
    /// SHA-256 of the bytes of the file, in hexadecimal.
    pub hash: Option<String>,
    /// The kind of the error, if the file or the mesh cannot be read.
    pub error_kind: Option<&'static str>,
    /// The rule that the mesh breaks, if this is the error.
    pub rule: Option<&'static str>,
    /// The error on one line.
    pub error: Option<String>,
    /// The number of parts of the file that cannot be used and that no row has as its error, such as a skin.
    pub damaged_parts: i64,
    /// The kind of the error of the first of these parts.
    pub part_error_kind: Option<&'static str>,
    /// Its error on one line.
    pub part_error: Option<String>,
}

impl Row {
    /// Bytes in memory, and about as many in a file; up to six times as many if names consist of characters that JSON escapes.
    #[must_use]
    pub fn byte_len(&self) -> u64 {
        let texts = [&self.error, &self.part_error].into_iter().flatten();
        self.byte_len_without_errors() + texts.map(|text| text.len() as u64).sum::<u64>()
    }

    /// The same number for a row of headers and for a row of decoded values.
    pub(super) fn byte_len_without_errors(&self) -> u64 {
        let Self {
            path,
            path_bytes,
            address,
            name,
            material,
            identity,
            hash,
            ..
        } = self;
        let texts = [path_bytes, address, name, material, identity, hash]
            .into_iter()
            .flatten();
        (size_of::<Self>() + path.len() + texts.map(String::len).sum::<usize>()) as u64
    }

    pub(super) fn failed(self, error: &Error) -> Self {
        let told = Some(text::line(&error.message()));
        Self {
            error_kind: Some(kind_of(error)),
            error: told,
            ..self
        }
    }

    /// The row of something that is, contains or belongs to a part that cannot be used.
    pub(super) fn damaged(self, part: &Damage, format: Format) -> Self {
        let rule = part.rule.map(|rule| rule.id);
        Self {
            error_kind: Some(part.problem.kind()),
            rule,
            error: Some(part.line(format)),
            ..self
        }
    }

    /// The row of a file or a mesh that this program cannot read because of a defect.
    pub(super) fn panicked(self) -> Self {
        self.problem(&Problem::other(
            "panic",
            "a defect of this program; please report the file".to_owned(),
        ))
    }

    pub(super) fn problem(self, problem: &Problem) -> Self {
        match problem {
            Problem::Library(error) => {
                let format = error.format().map(Format::name).or(self.format);
                Self { format, ..self }.failed(error)
            }
            Problem::Other { kind, .. } => Self {
                error_kind: Some(*kind),
                error: Some(problem.to_string()),
                ..self
            },
        }
    }
}

/// The name of a mesh as a row has it; `None` if it has none.
pub(crate) fn name_of(entry: &MeshEntry) -> Option<String> {
    let name = entry.name.to_string_lossy();
    (!name.is_empty()).then(|| name.into_owned())
}
