//! The columns of a catalogue: one table, from which files of all kinds are written.

#[cfg(feature = "arrow")]
use std::collections::HashSet;

#[cfg(feature = "arrow")]
use meshmap::Format;

use super::row::Row;
#[cfg(feature = "arrow")]
use crate::depth::Depth;
#[cfg(feature = "arrow")]
use crate::input::NOT_FOUND;

/// A column: its name, and its value in a row.
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) of: Of,
}

/// The type of a column. There are no unsigned integers because Spark has none.
pub(super) enum Of {
    Text(fn(&Row) -> Option<&str>),
    /// One of a few names.
    Name(fn(&Row) -> Option<&'static str>),
    Int32(fn(&Row) -> Option<i32>),
    Int64(fn(&Row) -> Option<i64>),
    Float32(fn(&Row) -> Option<f32>),
    Float64(fn(&Row) -> Option<f64>),
}

#[cfg(feature = "arrow")]
impl Column {
    /// Returns `false` for a column with a value in every row.
    pub(super) fn is_nullable(&self) -> bool {
        ![
            "path",
            "notes",
            "suspicious",
            "forbidden",
            "unusable",
            "damaged_parts",
        ]
        .contains(&self.name)
    }

    /// The depth to which files are decoded for the column.
    pub(super) fn depth(&self) -> Depth {
        match self.name {
            "vertices" | "triangles" | "min_x" | "min_y" | "min_z" | "max_x" | "max_y"
            | "max_z" => Depth::Meshes,
            "path" | "format" | "address" | "name" | "role" | "level" | "seconds"
            | "file_bytes" | "mesh_bytes" | "material" | "identity" | "hash" | "path_bytes" => {
                Depth::Headers
            }
            // Also any column to come.
            _ => Depth::Everything,
        }
    }

    /// The names that a column of names can have.
    pub(super) fn names(&self) -> Vec<&'static str> {
        match self.name {
            "format" => Format::ALL.map(Format::name).to_vec(),
            "role" => vec!["geometry", "lod", "physics", "snapshot"],
            "rule" => {
                let mut seen = HashSet::new();
                let all = Format::ALL
                    .into_iter()
                    .flat_map(Format::rules)
                    .map(|rule| rule.id);
                all.filter(|id| seen.insert(*id)).collect()
            }
            _ => {
                let of_files = [
                    "unknown_format",
                    "truncated",
                    "malformed",
                    "unsupported",
                    "limit_exceeded",
                ];
                let others = [
                    NOT_FOUND,
                    "io",
                    "mismatch",
                    "out_of_range",
                    "need_bytes",
                    "cancelled",
                    "panic",
                    // In jobs that read each file in a separate process.
                    "killed_worker",
                ];
                [&of_files[..], &others].concat()
            }
        }
    }

    /// Returns `true` if the column needs the hash of a file, or is about why there is none.
    pub(super) fn needs_hash(&self) -> bool {
        ["hash", "error_kind", "error"].contains(&self.name)
    }
}

/// All columns, in order.
pub(super) const COLUMNS: [Column; 31] = {
    use Of::{Float32, Float64, Int32, Int64, Name, Text};
    const fn column(name: &'static str, of: Of) -> Column {
        Column { name, of }
    }
    [
        column("path", Text(|row| Some(&row.path))),
        column("format", Name(|row| row.format)),
        column("address", Text(|row| row.address.as_deref())),
        column("name", Text(|row| row.name.as_deref())),
        column("role", Name(|row| row.role)),
        column("level", Int32(|row| row.level)),
        column("seconds", Float64(|row| row.seconds)),
        column("file_bytes", Int64(|row| row.file_bytes)),
        column("mesh_bytes", Int64(|row| row.mesh_bytes)),
        column("vertices", Int64(|row| row.vertices)),
        column("triangles", Int64(|row| row.triangles)),
        column("min_x", Float32(|row| row.bounds.map(|[min, _]| min[0]))),
        column("min_y", Float32(|row| row.bounds.map(|[min, _]| min[1]))),
        column("min_z", Float32(|row| row.bounds.map(|[min, _]| min[2]))),
        column("max_x", Float32(|row| row.bounds.map(|[_, max]| max[0]))),
        column("max_y", Float32(|row| row.bounds.map(|[_, max]| max[1]))),
        column("max_z", Float32(|row| row.bounds.map(|[_, max]| max[2]))),
        column("material", Text(|row| row.material.as_deref())),
        column("notes", Int64(|row| Some(row.findings[0]))),
        column("suspicious", Int64(|row| Some(row.findings[1]))),
        column("forbidden", Int64(|row| Some(row.findings[2]))),
        column("unusable", Int64(|row| Some(row.findings[3]))),
        column("identity", Text(|row| row.identity.as_deref())),
        column("hash", Text(|row| row.hash.as_deref())),
        column("error_kind", Name(|row| row.error_kind)),
        column("rule", Name(|row| row.rule)),
        column("error", Text(|row| row.error.as_deref())),
        column("damaged_parts", Int64(|row| Some(row.damaged_parts))),
        column("part_error_kind", Name(|row| row.part_error_kind)),
        column("part_error", Text(|row| row.part_error.as_deref())),
        column("path_bytes", Text(|row| row.path_bytes.as_deref())),
    ]
};
