//! The columns of a catalogue: one table, from which files of all kinds are written.

use super::row::Row;

/// A column: its name, and its value in a row.
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) of: Of,
}

/// The type of a column. There are no unsigned integers because Spark has none.
pub(super) enum Of {
    Text(fn(&Row) -> Option<&str>),
    Int32(fn(&Row) -> Option<i32>),
    Int64(fn(&Row) -> Option<i64>),
    Float32(fn(&Row) -> Option<f32>),
    Float64(fn(&Row) -> Option<f64>),
}

impl Column {
    /// Returns `false` for a column with a value in every row.
    #[cfg(feature = "arrow")]
    pub(super) fn is_nullable(&self) -> bool {
        !["path", "notes", "suspicious", "forbidden", "unusable"].contains(&self.name)
    }

    /// Returns `false` for a column whose values the headers of a file contain, or its name, its size and its identity.
    #[cfg(feature = "arrow")]
    pub(super) fn needs_values(&self) -> bool {
        const KNOWN: [&str; 13] = [
            "path",
            "format",
            "address",
            "name",
            "role",
            "level",
            "seconds",
            "file_bytes",
            "mesh_bytes",
            "material",
            "identity",
            "hash",
            "path_bytes",
        ];
        !KNOWN.contains(&self.name)
    }
}

/// All columns, in order.
pub(super) const COLUMNS: [Column; 27] = {
    use Of::{Float32, Float64, Int32, Int64, Text};
    const fn column(name: &'static str, of: Of) -> Column {
        Column { name, of }
    }
    [
        column("path", Text(|row| Some(&row.path))),
        column("format", Text(|row| row.format)),
        column("address", Text(|row| row.address.as_deref())),
        column("name", Text(|row| row.name.as_deref())),
        column("role", Text(|row| row.role)),
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
        column("error_kind", Text(|row| row.error_kind)),
        column("error", Text(|row| row.error.as_deref())),
        column("path_bytes", Text(|row| row.path_bytes.as_deref())),
    ]
};
