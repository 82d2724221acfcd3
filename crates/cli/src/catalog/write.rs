//! Catalogues as files: Parquet, Arrow IPC and CSV.

use std::io::{self, Write};
use std::path::Path;

use arrow_ipc::writer::FileWriter;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, GzipLevel};
use parquet::file::properties::WriterProperties;

use super::batch::{batch, schema};
use super::row::Row;
use crate::text;

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Parquet,
    Arrow,
    Csv,
}

impl Kind {
    /// By the ending of the file's name.
    pub(crate) fn of_path(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        match ending.as_str() {
            "parquet" => Some(Self::Parquet),
            "arrow" | "feather" => Some(Self::Arrow),
            "csv" => Some(Self::Csv),
            _ => None,
        }
    }
}

/// Writes rows, some at a time.
pub(crate) enum Writer<W: Write + Send> {
    Parquet(ArrowWriter<W>),
    Arrow(FileWriter<W>),
    Csv(W),
}

impl<W: Write + Send> Writer<W> {
    pub(crate) fn new(kind: Kind, mut out: W) -> io::Result<Self> {
        Ok(match kind {
            Kind::Parquet => {
                let properties = WriterProperties::builder()
                    .set_compression(Compression::GZIP(GzipLevel::default()))
                    .build();
                let writer = ArrowWriter::try_new(out, schema(), Some(properties));
                Self::Parquet(writer.map_err(io::Error::other)?)
            }
            Kind::Arrow => Self::Arrow(FileWriter::try_new(out, &schema()).map_err(io::Error::other)?),
            Kind::Csv => {
                let schema = schema();
                let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
                writeln!(out, "{}", names.join(","))?;
                Self::Csv(out)
            }
        })
    }

    pub(crate) fn write(&mut self, rows: &[Row]) -> io::Result<()> {
        match self {
            Self::Parquet(writer) => {
                writer.write(&batch(rows).map_err(io::Error::other)?).map_err(io::Error::other)
            }
            Self::Arrow(writer) => {
                writer.write(&batch(rows).map_err(io::Error::other)?).map_err(io::Error::other)
            }
            Self::Csv(out) => rows.iter().try_for_each(|row| line(out, row)),
        }
    }

    pub(crate) fn finish(self) -> io::Result<W> {
        match self {
            Self::Parquet(writer) => writer.into_inner().map_err(io::Error::other),
            Self::Arrow(mut writer) => {
                writer.finish().map_err(io::Error::other)?;
                writer.into_inner().map_err(io::Error::other)
            }
            Self::Csv(out) => Ok(out),
        }
    }
}

/// A text of a file as a cell: control characters are escaped, and what spreadsheets take for a formula begins with an
/// apostrophe.
fn cell(text: &str) -> String {
    let mut cell = text::line(text);
    if cell.starts_with(['=', '+', '-', '@']) {
        cell.insert(0, '\'');
    }
    match cell.contains([',', '"']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell,
    }
}

fn line(out: &mut impl Write, row: &Row) -> io::Result<()> {
    fn shown<T: ToString>(value: Option<T>) -> String {
        value.map_or_else(String::new, |value| value.to_string())
    }
    let words = |text: Option<&String>| text.map_or_else(String::new, |text| cell(text));
    let corner = |corner: usize, axis: usize| shown(row.bounds.map(|bounds| bounds[corner][axis]));
    let cells = [
        cell(&row.path),
        shown(row.format),
        words(row.address.as_ref()),
        words(row.name.as_ref()),
        shown(row.role),
        shown(row.level),
        shown(row.seconds),
        shown(row.file_bytes),
        shown(row.mesh_bytes),
        shown(row.vertices),
        shown(row.triangles),
        corner(0, 0),
        corner(0, 1),
        corner(0, 2),
        corner(1, 0),
        corner(1, 1),
        corner(1, 2),
        words(row.material.as_ref()),
        row.findings[0].to_string(),
        row.findings[1].to_string(),
        row.findings[2].to_string(),
        row.findings[3].to_string(),
        words(row.identity.as_ref()),
        words(row.hash.as_ref()),
        shown(row.error_kind),
        words(row.error.as_ref()),
    ];
    writeln!(out, "{}", cells.join(","))
}
