//! Rows as Arrow tables.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{
    ArrayRef, DictionaryArray, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    RecordBatchOptions, StringArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use super::columns::{COLUMNS, Column, Of};
use super::row::Row;
use crate::depth::Depth;

/// The columns of a catalogue with these names, in the order of the catalogue, or all of them.
pub struct Columns {
    columns: Vec<&'static Column>,
    schema: SchemaRef,
}

impl Columns {
    /// All columns.
    #[must_use]
    pub fn all() -> Self {
        Self::of(COLUMNS.iter().collect())
    }

    /// The columns with these names, in this order.
    ///
    /// # Errors
    ///
    /// Returns a message if a name is not the name of a column, or occurs twice.
    pub fn named(names: &[String]) -> Result<Self, String> {
        check_unique(names)?;
        let column = |name: &String| {
            COLUMNS
                .iter()
                .find(|column| column.name == name)
                .ok_or_else(|| {
                    let known = COLUMNS.each_ref().map(|column| column.name).join(", ");
                    format!("{name:?} is no column: expected some of {known}")
                })
        };
        Ok(Self::of(
            names.iter().map(column).collect::<Result<_, _>>()?,
        ))
    }

    fn of(columns: Vec<&'static Column>) -> Self {
        let fields: Vec<Field> = columns.iter().map(|column| field(column)).collect();
        Self {
            columns,
            schema: schema(fields),
        }
    }

    /// The schema of the tables.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The depth to which files are decoded for the columns.
    #[must_use]
    pub fn depth(&self) -> Depth {
        self.columns
            .iter()
            .map(|column| column.depth())
            .max()
            .unwrap_or_default()
    }

    /// Returns `true` if the bytes of a file are hashed for the columns.
    #[must_use]
    pub fn need_hash(&self) -> bool {
        self.columns.iter().any(|column| column.needs_hash())
    }

    /// The rows as a table.
    ///
    /// # Errors
    ///
    /// Returns Arrow's errors, for texts of more than 2 GiB.
    pub fn batch(&self, rows: &[Row]) -> Result<RecordBatch, ArrowError> {
        let columns = self
            .columns
            .iter()
            .map(|column| values(column, rows))
            .collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        RecordBatch::try_new_with_options(self.schema(), columns, &options)
    }
}

/// The version of the tables, which the metadata of each schema has: the names, the types and the meaning of columns. New columns do not
/// change it.
///
/// Version 2: the identity of a file on a machine has no longer the number of its device.
pub const SCHEMA_VERSION: u32 = 2;

const VERSION_KEY: &str = "meshmap.schema";

/// A schema with its version.
pub(super) fn schema(fields: Vec<Field>) -> SchemaRef {
    let metadata = HashMap::from([(VERSION_KEY.to_owned(), SCHEMA_VERSION.to_string())]);
    Arc::new(Schema::new_with_metadata(fields, metadata))
}

/// Returns an error if a name occurs twice.
pub(super) fn check_unique(names: &[String]) -> Result<(), String> {
    let mut seen = HashSet::new();
    names
        .iter()
        .find(|name| !seen.insert(name.as_str()))
        .map_or(Ok(()), |name| {
            Err(format!("column {name:?} is there twice"))
        })
}

pub(super) fn field(column: &Column) -> Field {
    let kind = match column.of {
        Of::Text(_) => DataType::Utf8,
        Of::Name(_) => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        Of::Int32(_) => DataType::Int32,
        Of::Int64(_) => DataType::Int64,
        Of::Float32(_) => DataType::Float32,
        Of::Float64(_) => DataType::Float64,
    };
    Field::new(column.name, kind, column.is_nullable())
}

pub(super) fn values(column: &Column, rows: &[Row]) -> ArrayRef {
    match column.of {
        Of::Text(of) => Arc::new(rows.iter().map(of).collect::<StringArray>()),
        Of::Name(of) => names(rows.iter().map(of), column.names()),
        Of::Int32(of) => Arc::new(rows.iter().map(of).collect::<Int32Array>()),
        Of::Int64(of) => Arc::new(rows.iter().map(of).collect::<Int64Array>()),
        Of::Float32(of) => Arc::new(rows.iter().map(of).collect::<Float32Array>()),
        Of::Float64(of) => Arc::new(rows.iter().map(of).collect::<Float64Array>()),
    }
}

/// Names as positions in a dictionary, which is the same in each table: files of Arrow IPC have one of each column.
fn names(
    values: impl Iterator<Item = Option<&'static str>>,
    mut known: Vec<&'static str>,
) -> ArrayRef {
    let mut key = |name: &'static str| {
        let place = known
            .iter()
            .position(|known| *known == name)
            .unwrap_or_else(|| {
                known.push(name);
                known.len() - 1
            });
        i32::try_from(place).unwrap_or(i32::MAX)
    };
    let keys: Int32Array = values.map(|name| name.map(&mut key)).collect();
    Arc::new(DictionaryArray::new(
        keys,
        Arc::new(StringArray::from(known)),
    ))
}
