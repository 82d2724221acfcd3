//! Rows as Arrow tables.

use std::sync::{Arc, LazyLock};

use arrow_array::{ArrayRef, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use super::columns::{COLUMNS, Column, Of};
use super::row::Row;

/// The columns, in order.
#[must_use]
pub fn schema() -> SchemaRef {
    static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
        let field = |column: &Column| {
            let kind = match column.of {
                Of::Text(_) => DataType::Utf8,
                Of::Int32(_) => DataType::Int32,
                Of::Int64(_) => DataType::Int64,
                Of::Float32(_) => DataType::Float32,
                Of::Float64(_) => DataType::Float64,
            };
            Field::new(column.name, kind, column.is_nullable())
        };
        Arc::new(Schema::new(COLUMNS.iter().map(field).collect::<Vec<_>>()))
    });
    Arc::clone(&SCHEMA)
}

/// The rows as a table.
///
/// # Errors
///
/// Returns Arrow's errors, for texts of more than 2 GiB.
pub fn batch(rows: &[Row]) -> Result<RecordBatch, ArrowError> {
    let values = |column: &Column| -> ArrayRef {
        match column.of {
            Of::Text(of) => Arc::new(rows.iter().map(of).collect::<StringArray>()),
            Of::Int32(of) => Arc::new(rows.iter().map(of).collect::<Int32Array>()),
            Of::Int64(of) => Arc::new(rows.iter().map(of).collect::<Int64Array>()),
            Of::Float32(of) => Arc::new(rows.iter().map(of).collect::<Float32Array>()),
            Of::Float64(of) => Arc::new(rows.iter().map(of).collect::<Float64Array>()),
        }
    };
    RecordBatch::try_new(schema(), COLUMNS.iter().map(values).collect())
}
