//! Rows as Arrow tables.

use std::sync::{Arc, LazyLock};

use arrow_array::{ArrayRef, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use super::row::Row;

/// The columns, in order. No unsigned numbers, which Spark does not have.
#[must_use]
pub fn schema() -> SchemaRef {
    static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
        use DataType::{Float32, Float64, Int32, Int64, Utf8};
        let columns = [
            ("path", Utf8),
            ("format", Utf8),
            ("address", Utf8),
            ("name", Utf8),
            ("role", Utf8),
            ("level", Int32),
            ("seconds", Float64),
            ("file_bytes", Int64),
            ("mesh_bytes", Int64),
            ("vertices", Int64),
            ("triangles", Int64),
            ("min_x", Float32),
            ("min_y", Float32),
            ("min_z", Float32),
            ("max_x", Float32),
            ("max_y", Float32),
            ("max_z", Float32),
            ("material", Utf8),
            ("notes", Int64),
            ("suspicious", Int64),
            ("forbidden", Int64),
            ("unusable", Int64),
            ("identity", Utf8),
            ("hash", Utf8),
            ("error_kind", Utf8),
            ("error", Utf8),
        ];
        let always = ["path", "notes", "suspicious", "forbidden", "unusable"];
        let field = |(name, kind): (&str, DataType)| Field::new(name, kind, !always.contains(&name));
        Arc::new(Schema::new(columns.map(field).to_vec()))
    });
    Arc::clone(&SCHEMA)
}

/// The rows as a table.
///
/// # Errors
///
/// Those of Arrow, for texts of more than 2 GiB.
pub fn batch(rows: &[Row]) -> Result<RecordBatch, ArrowError> {
    let text =
        |of: fn(&Row) -> Option<&str>| -> ArrayRef { Arc::new(rows.iter().map(of).collect::<StringArray>()) };
    let whole =
        |of: fn(&Row) -> Option<i64>| -> ArrayRef { Arc::new(rows.iter().map(of).collect::<Int64Array>()) };
    let corner = |least: bool, axis: usize| -> ArrayRef {
        let of = |row: &Row| {
            let [min, max] = row.bounds?;
            (if least { min } else { max }).get(axis).copied()
        };
        Arc::new(rows.iter().map(of).collect::<Float32Array>())
    };
    let found = |severity: usize| -> ArrayRef {
        let of = |row: &Row| row.findings.get(severity).copied();
        Arc::new(rows.iter().map(of).collect::<Int64Array>())
    };
    let columns = vec![
        text(|row| Some(&row.path)),
        text(|row| row.format),
        text(|row| row.address.as_deref()),
        text(|row| row.name.as_deref()),
        text(|row| row.role),
        Arc::new(rows.iter().map(|row| row.level).collect::<Int32Array>()),
        Arc::new(rows.iter().map(|row| row.seconds).collect::<Float64Array>()),
        whole(|row| row.file_bytes),
        whole(|row| row.mesh_bytes),
        whole(|row| row.vertices),
        whole(|row| row.triangles),
        corner(true, 0),
        corner(true, 1),
        corner(true, 2),
        corner(false, 0),
        corner(false, 1),
        corner(false, 2),
        text(|row| row.material.as_deref()),
        found(0),
        found(1),
        found(2),
        found(3),
        text(|row| row.identity.as_deref()),
        text(|row| row.hash.as_deref()),
        text(|row| row.error_kind),
        text(|row| row.error.as_deref()),
    ];
    RecordBatch::try_new(schema(), columns)
}
