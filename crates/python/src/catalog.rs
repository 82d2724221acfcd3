//! Catalogues as streams of Arrow tables.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, SchemaRef};
use meshmap_cli::catalog::{self, How, Item, Row};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PyString, PyTuple};
use rayon::prelude::*;

use crate::call::{attached, call};
use crate::error::Raised;
use crate::pool::detached;
use crate::readers::{Interrupt, of_reader};

/// A row for each mesh of many files. Read again each time that it is asked for its stream.
#[pyclass(frozen, module = "meshmap")]
pub struct Catalog {
    items: Arc<Vec<Item>>,
    /// Of all readers.
    interrupt: Interrupt,
    how: How,
    batch_rows: usize,
}

/// A catalogue: a row for each mesh, or for why a file or a mesh cannot be read. Nothing is read before its stream is.
///
/// Args:
///     sources: A path, or several: files, and folders, of which all files that hold a mesh are taken. Or tuples
///         `(name, reader, size)` or `(name, reader, size, identity)` for objects of a store, where `identity` is an ETag.
///     full: Decodes and checks everything: every count and box, and the findings and errors that `meshmap verify` reports.
///         Otherwise only headers are read.
///     hash: Reads the bytes of each file for their SHA-256.
///     mmap: Maps files instead of reading them; they must not change meanwhile.
///     batch_rows: The most rows of a table of the stream.
///
/// An exception of a reader is a row with an error, except for KeyboardInterrupt, SystemExit and others that are not an
/// `Exception`: these end the stream with an error that names them.
///
/// Returns:
///     An object with `__arrow_c_stream__`, which pyarrow, Polars and DuckDB read.
#[pyfunction]
#[pyo3(name = "catalog", signature = (sources, *, full=false, hash=false, mmap=false, batch_rows=8192))]
pub(crate) fn make(
    sources: &Bound<'_, PyAny>,
    full: bool,
    hash: bool,
    mmap: bool,
    batch_rows: usize,
) -> PyResult<Catalog> {
    let (mut items, interrupt) = (Vec::new(), Interrupt::default());
    if is_path(sources)? {
        add(sources, &mut items, &interrupt)?;
    } else {
        let py = sources.py();
        let list = call(py.get_type::<PyList>().as_any(), &PyTuple::new(py, [sources])?, None)?;
        for source in list.cast_into::<PyList>()? {
            add(&source, &mut items, &interrupt)?;
        }
    }
    let how = How::default().with_full(full).with_hash(hash).with_mmap(mmap);
    Ok(Catalog { items: Arc::new(items), interrupt, how, batch_rows: batch_rows.max(1) })
}

fn is_path(source: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(source.is_instance_of::<PyString>() || source.hasattr("__fspath__")?)
}

/// A path, or a tuple `(name, reader, size)` or `(name, reader, size, identity)`.
fn add(source: &Bound<'_, PyAny>, items: &mut Vec<Item>, interrupt: &Interrupt) -> PyResult<()> {
    if is_path(source)? {
        let path: PathBuf = source.extract()?;
        let found = detached(source.py(), false, || catalog::find(&[path]))?;
        items.extend(found);
        return Ok(());
    }
    let wrong = || {
        let expected = "paths, or tuples (name, reader, size) or (name, reader, size, identity)";
        PyTypeError::new_err(format!("a catalogue is made of {expected}"))
    };
    let parts = source.cast::<PyTuple>().map_err(|_| wrong())?;
    let (name, reader, size, identity): (String, Bound<'_, PyAny>, Option<u64>, Option<String>) =
        match parts.len() {
            3 => {
                let (name, reader, size) = parts.extract()?;
                (name, reader, size, None)
            }
            4 => parts.extract()?,
            _ => return Err(wrong()),
        };
    let (reader, _) = of_reader(&reader, size, interrupt.clone());
    items.push(Item::source(name, identity, move || Ok(reader.source())));
    Ok(())
}

#[pymethods]
impl Catalog {
    /// The number of files.
    fn __len__(&self) -> usize {
        self.items.len()
    }

    fn __bool__(&self) -> bool {
        true
    }

    /// The stream of the Arrow PyCapsule interface: `pyarrow.table(catalog)`, `polars.from_arrow(catalog)`, and DuckDB,
    /// by the name of the variable, take it.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // Another schema may be asked for, and need not be given.
        drop(requested_schema);
        let rows = Rows {
            items: Arc::clone(&self.items),
            interrupt: self.interrupt.clone(),
            how: self.how,
            batch_rows: self.batch_rows,
            next: 0,
            waiting: Vec::new(),
        };
        let stream = FFI_ArrowArrayStream::new(Box::new(rows));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The columns, by the Arrow PyCapsule interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(catalog::schema().as_ref())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    fn __repr__(&self) -> String {
        format!("<meshmap.Catalog of {} files>", self.items.len())
    }
}

/// The rows of some files at a time, in the order of the files.
struct Rows {
    items: Arc<Vec<Item>>,
    interrupt: Interrupt,
    how: How,
    batch_rows: usize,
    next: usize,
    waiting: Vec<Row>,
}

impl Rows {
    fn read_more(&mut self) -> Result<(), ArrowError> {
        /// Files that are worked on side by side.
        const TOGETHER: usize = 256;
        let end = self.next.saturating_add(TOGETHER).min(self.items.len());
        let part = self.items.get(self.next..end).unwrap_or_default();
        let how = self.how;
        // Whoever asks for the rows may hold the interpreter's lock or not; readers in Python need it.
        let rows: PyResult<Vec<Vec<Row>>> = attached(|py| {
            detached(py, true, || part.par_iter().map(|item| catalog::rows(item, how)).collect())
        });
        // What interrupted a reader is not an error of its file.
        let rows = self.interrupt.take().map_or(rows, Err);
        let rows = rows.map_err(|error| ArrowError::from_external_error(Box::new(Raised(error))));
        // Nothing follows an error.
        self.next = if rows.is_ok() { end } else { self.items.len() };
        self.waiting.extend(rows?.into_iter().flatten());
        Ok(())
    }
}

impl Iterator for Rows {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.waiting.len() < self.batch_rows && self.next < self.items.len() {
            if let Err(error) = self.read_more() {
                return Some(Err(error));
            }
        }
        if self.waiting.is_empty() {
            return None;
        }
        let rest = self.waiting.split_off(self.waiting.len().min(self.batch_rows));
        let rows = std::mem::replace(&mut self.waiting, rest);
        Some(catalog::batch(&rows))
    }
}

impl RecordBatchReader for Rows {
    fn schema(&self) -> SchemaRef {
        catalog::schema()
    }
}
