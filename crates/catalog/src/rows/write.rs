//! Catalogues as files: CSV and JSON Lines, and with the feature `parquet` also Parquet and Arrow IPC.

use std::io::{self, Write};
use std::path::Path;

#[cfg(feature = "parquet")]
use arrow_ipc::writer::FileWriter;
#[cfg(feature = "parquet")]
use parquet::arrow::ArrowWriter;
#[cfg(feature = "parquet")]
use parquet::basic::{Compression, GzipLevel};
#[cfg(feature = "parquet")]
use parquet::file::properties::WriterProperties;
use serde::ser::{Serialize, SerializeMap, Serializer};

#[cfg(feature = "parquet")]
use super::batch::Columns;
use super::columns::{COLUMNS, Of};
use super::row::Row;
use crate::{json, text};

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileKind {
    /// Comma-separated values, with a line of column names.
    Csv,
    /// An object on each line.
    Json,
    /// Parquet, compressed with gzip.
    #[cfg(feature = "parquet")]
    Parquet,
    /// Arrow IPC.
    #[cfg(feature = "parquet")]
    Arrow,
}

impl FileKind {
    /// The kind by the extension of a file.
    ///
    /// # Errors
    ///
    /// Returns a message with the extensions that this build supports.
    pub fn of_path(path: &Path) -> Result<Self, &'static str> {
        let ending = path
            .extension()
            .and_then(|ending| ending.to_str())
            .unwrap_or_default();
        match ending.to_ascii_lowercase().as_str() {
            "csv" => Ok(Self::Csv),
            "jsonl" | "ndjson" => Ok(Self::Json),
            #[cfg(feature = "parquet")]
            "parquet" => Ok(Self::Parquet),
            #[cfg(feature = "parquet")]
            "arrow" | "feather" => Ok(Self::Arrow),
            #[cfg(not(feature = "parquet"))]
            "parquet" | "arrow" | "feather" => Err(
                "this build writes .csv and .jsonl; for .parquet and .arrow, build it with `--features parquet`",
            ),
            _ => Err("expected an ending .parquet, .arrow, .csv or .jsonl"),
        }
    }
}

/// Writes rows, some at a time.
pub struct Writer<W: Write + Send>(Inner<W>);

enum Inner<W: Write + Send> {
    Csv(W),
    Json(W),
    #[cfg(feature = "parquet")]
    Parquet(ArrowWriter<W>),
    #[cfg(feature = "parquet")]
    Arrow(FileWriter<W>),
}

impl<W: Write + Send> Writer<W> {
    /// Begins a file of this kind.
    ///
    /// # Errors
    ///
    /// Returns the errors of `out`.
    pub fn new(kind: FileKind, mut out: W) -> io::Result<Self> {
        Ok(Self(match kind {
            FileKind::Csv => {
                writeln!(out, "{}", COLUMNS.map(|column| column.name).join(","))?;
                Inner::Csv(out)
            }
            FileKind::Json => Inner::Json(out),
            #[cfg(feature = "parquet")]
            FileKind::Parquet => {
                let properties = WriterProperties::builder()
                    .set_compression(Compression::GZIP(GzipLevel::default()))
                    .build();
                let writer = ArrowWriter::try_new(out, Columns::all().schema(), Some(properties));
                Inner::Parquet(writer.map_err(io::Error::other)?)
            }
            #[cfg(feature = "parquet")]
            FileKind::Arrow => Inner::Arrow(
                FileWriter::try_new(out, &Columns::all().schema()).map_err(io::Error::other)?,
            ),
        }))
    }

    /// Writes rows.
    ///
    /// # Errors
    ///
    /// Returns the errors of the output.
    pub fn write(&mut self, rows: &[Row]) -> io::Result<()> {
        match &mut self.0 {
            Inner::Csv(out) => rows.iter().try_for_each(|row| {
                let cells: Vec<String> =
                    COLUMNS.iter().map(|column| cell(&column.of, row)).collect();
                writeln!(out, "{}", cells.join(","))
            }),
            Inner::Json(out) => rows.iter().try_for_each(|row| {
                json::write(&mut *out, &Object(row))?;
                writeln!(out)
            }),
            #[cfg(feature = "parquet")]
            Inner::Parquet(writer) => writer
                .write(&Columns::all().batch(rows).map_err(io::Error::other)?)
                .map_err(io::Error::other),
            #[cfg(feature = "parquet")]
            Inner::Arrow(writer) => writer
                .write(&Columns::all().batch(rows).map_err(io::Error::other)?)
                .map_err(io::Error::other),
        }
    }

    /// Completes the file, and returns the output.
    ///
    /// # Errors
    ///
    /// Returns the errors of the output.
    pub fn finish(self) -> io::Result<W> {
        match self.0 {
            Inner::Csv(out) | Inner::Json(out) => Ok(out),
            #[cfg(feature = "parquet")]
            Inner::Parquet(writer) => writer.into_inner().map_err(io::Error::other),
            #[cfg(feature = "parquet")]
            Inner::Arrow(mut writer) => {
                writer.finish().map_err(io::Error::other)?;
                writer.into_inner().map_err(io::Error::other)
            }
        }
    }
}

/// A cell of CSV. Without a value it is empty.
fn cell(of: &Of, row: &Row) -> String {
    fn shown<T: ToString>(value: Option<T>) -> String {
        value.map_or_else(String::new, |value| value.to_string())
    }
    match of {
        Of::Text(of) => of(row).map_or_else(String::new, text_cell),
        Of::Name(of) => shown(of(row)),
        Of::Int32(of) => shown(of(row)),
        Of::Int64(of) => shown(of(row)),
        Of::Float32(of) => shown(of(row)),
        Of::Float64(of) => shown(of(row)),
    }
}

/// A text of a file as a cell: control characters are escaped, and what spreadsheets take for a formula begins with an
/// apostrophe.
fn text_cell(text: &str) -> String {
    let mut cell = text::line(text);
    if cell.starts_with(['=', '+', '-', '@']) {
        cell.insert(0, '\'');
    }
    match cell.contains([',', '"']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell,
    }
}

/// A row as a JSON object with all columns: `null` stands for a missing value, and for a number that JSON cannot represent.
struct Object<'a>(&'a Row);

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(COLUMNS.len()))?;
        for column in &COLUMNS {
            match column.of {
                Of::Text(of) => object.serialize_entry(column.name, &of(self.0))?,
                Of::Name(of) => object.serialize_entry(column.name, &of(self.0))?,
                Of::Int32(of) => object.serialize_entry(column.name, &of(self.0))?,
                Of::Int64(of) => object.serialize_entry(column.name, &of(self.0))?,
                Of::Float32(of) => object.serialize_entry(column.name, &of(self.0))?,
                Of::Float64(of) => object.serialize_entry(column.name, &of(self.0))?,
            }
        }
        object.end()
    }
}
