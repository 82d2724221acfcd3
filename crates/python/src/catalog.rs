//! Catalogues and geometry as streams of Arrow tables.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, SchemaRef};
use meshmap::Format;
use meshmap_catalog::rows::{self, Columns, Facts, Geometry, Item, Options, Shapes};
use meshmap_catalog::{Depth, Reading};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PyTuple};
use rayon::prelude::*;

use crate::again::Reduced;
use crate::call::{attached, call};
use crate::error::Raised;
use crate::pool::{detached, trim};
use crate::readers::{Interrupt, of_reader};
use crate::source::is_named;
use crate::url::Named;

/// A row for each mesh of many files. Read again each time that it is asked for its stream.
#[pyclass(frozen, module = "meshmap")]
pub struct Catalog {
    items: Arc<Vec<Item>>,
    /// The interrupts of all readers.
    interrupt: Interrupt,
    how: Options,
    table: Table,
    limit: usize,
    /// The call that makes the same catalogue in another process: the name of the function, its sources and its options.
    origin: (&'static str, Py<PyAny>, Py<PyDict>),
}

/// The columns, and how large tables become.
enum Table {
    Facts {
        columns: Arc<Columns>,
        batch_rows: usize,
    },
    Arrays {
        geometry: Arc<Geometry>,
        drawn: bool,
        batch_bytes: usize,
    },
}

/// A catalogue: a row for each mesh, or for why a file or a mesh cannot be read. Nothing is read before its stream is.
///
/// Args:
///     sources: A path, or several: files, and folders, of which all files that hold a mesh are taken. Or tuples
///         `(name, reader, size)` or `(name, reader, size, identity)` for objects of a store, where `identity` is an ETag. A path
///         that does not exist is a row whose `error_kind` is `not_found`; `meshmap.scan` and `meshmap.find` raise FileNotFoundError.
///     full: Decodes and checks everything: every count and box, and the findings and errors that `meshmap verify` reports.
///         Otherwise only headers are read. It changes values, never which rows there are.
///     hash: Reads the bytes of each file for their SHA-256.
///     columns: The names of the columns, in order; by default all. With `full`, files are decoded only as far as the columns need:
///         positions and triangles for counts and boxes, everything for findings and errors, nothing for other columns.
///     formats: The formats that have rows, such as `["cgeo"]`; by default all, and files of no known format.
///     limit: The most rows. Files that no row is needed of are not read.
///     mmap: Maps files instead of reading them; they must not change meanwhile.
///     batch_rows: The most rows of a table of the stream. A table also ends with the row that reaches 8 MiB.
///     max_total_bytes: The memory for one file, as `--max-memory` of the command. By default 1 GiB, or 16 times the file if that is more. A
///         file that needs more is a row with an error.
///
/// An exception of a reader is a row with an error, except for KeyboardInterrupt, SystemExit and others that are not an
/// `Exception`: these end the stream with an error that names them.
///
/// Returns:
///     An object with `__arrow_c_stream__`, which pyarrow, Polars and DuckDB read.
#[pyfunction]
#[pyo3(name = "catalog", signature = (
    sources, *, full=false, hash=false, columns=None, formats=None, limit=None, mmap=false, batch_rows=8192,
    max_total_bytes=None
))]
#[expect(
    clippy::too_many_arguments,
    reason = "each has a name and a default in Python"
)]
pub(crate) fn make(
    sources: &Bound<'_, PyAny>,
    full: bool,
    hash: bool,
    columns: Option<Vec<String>>,
    formats: Option<Vec<String>>,
    limit: Option<usize>,
    mmap: bool,
    batch_rows: usize,
    max_total_bytes: Option<u64>,
) -> PyResult<Catalog> {
    let options = PyDict::new(sources.py());
    options.set_item("full", full)?;
    options.set_item("hash", hash)?;
    options.set_item("columns", &columns)?;
    options.set_item("formats", &formats)?;
    options.set_item("limit", limit)?;
    options.set_item("mmap", mmap)?;
    options.set_item("batch_rows", batch_rows)?;
    options.set_item("max_total_bytes", max_total_bytes)?;
    let columns = columns
        .map_or_else(|| Ok(Columns::all()), |names| Columns::named(&names))
        .map_err(PyValueError::new_err)?;
    let depth = if full {
        columns.depth()
    } else {
        Depth::Headers
    };
    let hash = hash && columns.need_hash();
    let how = Options {
        depth,
        hash,
        ..own_how(mmap, formats, max_total_bytes)?
    };
    let table = Table::Facts {
        columns: Arc::new(columns),
        batch_rows: batch_rows.max(1),
    };
    made(("catalog", sources, options), how, table, limit)
}

/// The columns of `geometry` by default.
const GEOMETRY: [&str; 17] = [
    "path",
    "format",
    "address",
    "name",
    "role",
    "level",
    "seconds",
    "vertices",
    "triangles",
    "material",
    "identity",
    "error_kind",
    "error",
    "position",
    "normal",
    "texcoord",
    "index",
];

/// The geometry of many files: a row for each mesh, snapshot or level of detail, with its arrays as lists. Nothing is read before its
/// stream is.
///
/// The values are equal to the arrays of `file.mesh(address)`: `position`, `normal` and `texcoord` are lists of `float32 [3]` (a third texture
/// coordinate that the file has not is 0), `tangent`, `color` and `weights` of `float32 [4]`, `joints` of `int32 [4]`, `index` of
/// `int32 [3]`, `material_id` of `int64`, and other attributes of a file of lists of `float64`. A mesh without an array has null. A file, a mesh or
/// an array that cannot be read is also null, in a row with `error_kind` and `error`.
///
/// Args:
///     sources: As of `catalog`.
///     columns: The names of the columns, in order: columns of a catalogue from `path` to `triangles`, `material`, `identity`, `hash`,
///         `error_kind`, `error` and `path_bytes`, and those above, such as `texcoord[1]`. What no column needs is not decoded.
///     formats: The formats that have rows, such as `["cgeo"]`; by default all, and files of no known format.
///     drawn: True if only meshes that viewers show have rows: the finest level of detail, the first snapshot, nothing for physics.
///     limit: The most rows.
///     mmap: Maps files instead of reading them; they must not change meanwhile.
///     batch_bytes: A table of the stream ends with the row that reaches this size.
///     max_total_bytes: As of `catalog`.
///
/// Returns:
///     An object with `__arrow_c_stream__`, which pyarrow, Polars and DuckDB read.
#[pyfunction]
#[pyo3(name = "geometry", signature = (
    sources, *, columns=None, formats=None, drawn=false, limit=None, mmap=false, batch_bytes=33_554_432,
    max_total_bytes=None
))]
#[expect(
    clippy::too_many_arguments,
    reason = "each has a name and a default in Python"
)]
pub(crate) fn make_geometry(
    sources: &Bound<'_, PyAny>,
    columns: Option<Vec<String>>,
    formats: Option<Vec<String>>,
    drawn: bool,
    limit: Option<usize>,
    mmap: bool,
    batch_bytes: usize,
    max_total_bytes: Option<u64>,
) -> PyResult<Catalog> {
    let columns = columns.unwrap_or_else(|| GEOMETRY.map(str::to_owned).to_vec());
    let options = PyDict::new(sources.py());
    options.set_item("columns", &columns)?;
    options.set_item("formats", &formats)?;
    options.set_item("drawn", drawn)?;
    options.set_item("limit", limit)?;
    options.set_item("mmap", mmap)?;
    options.set_item("batch_bytes", batch_bytes)?;
    options.set_item("max_total_bytes", max_total_bytes)?;
    let geometry = Arc::new(Geometry::new(&columns).map_err(PyValueError::new_err)?);
    let has_hash = columns.iter().any(|name| name == "hash");
    let how = Options {
        hash: has_hash,
        ..own_how(mmap, formats, max_total_bytes)?
    };
    made(
        ("geometry", sources, options),
        how,
        Table::Arrays {
            geometry,
            drawn,
            batch_bytes,
        },
        limit,
    )
}

/// The usual options, with another memory for each file if one is given.
fn own_how(
    mmap: bool,
    formats: Option<Vec<String>>,
    max_total_bytes: Option<u64>,
) -> PyResult<Options> {
    let usual = Options::default();
    let reading = match max_total_bytes {
        Some(memory) => usual.reading.within(memory),
        None => usual.reading,
    };
    let reading = Reading {
        mmap,
        limits: reading.limits.with_remedies(REMEDIES),
        ..reading
    };
    #[cfg(feature = "stores")]
    let reading = Reading {
        network: crate::store::network()?,
        ..reading
    };
    Ok(Options {
        formats: named_formats(formats)?,
        reading,
        ..usual
    })
}

/// The options that raise limits.
const REMEDIES: [&str; 3] = ["max_total_bytes=", "max_total_bytes=", ""];

fn named_formats(names: Option<Vec<String>>) -> PyResult<Vec<Format>> {
    let format = |name: &String| {
        let known = || Format::ALL.map(Format::name).join(", ");
        name.parse().map_err(|_| {
            PyValueError::new_err(format!(
                "{name:?} is no format: expected some of {}",
                known()
            ))
        })
    };
    names.unwrap_or_default().iter().map(format).collect()
}

fn made(
    (function, sources, options): (&'static str, &Bound<'_, PyAny>, Bound<'_, PyDict>),
    how: Options,
    table: Table,
    limit: Option<usize>,
) -> PyResult<Catalog> {
    let mut items = Vec::new();
    let interrupt = Interrupt::default();
    let py = sources.py();
    let sources = if is_named(sources)? {
        add(sources, &mut items, &interrupt)?;
        sources.clone()
    } else {
        let list = call(
            py.get_type::<PyList>().as_any(),
            &PyTuple::new(py, [sources])?,
            None,
        )?;
        for source in list.cast::<PyList>()? {
            add(&source, &mut items, &interrupt)?;
        }
        list
    };
    let origin = (function, sources.unbind(), options.unbind());
    Ok(Catalog {
        items: Arc::new(items),
        interrupt,
        how,
        table,
        limit: limit.unwrap_or(usize::MAX),
        origin,
    })
}

/// The files that a catalogue of paths has rows of, and their sizes: those named, and those below folders that hold a mesh. `wanted` takes the
/// column `path` of all of them, and returns for each whether it is needed; others are not opened.
#[pyfunction]
#[pyo3(signature = (paths, wanted=None))]
pub(crate) fn find_files(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    wanted: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<(std::ffi::OsString, u64)>> {
    let mut found = detached(py, true, || rows::find(&paths))?;
    if let Some(wanted) = wanted {
        let shown: Vec<String> = found.iter().map(|item| rows::of_item(item).path).collect();
        let answer = call(wanted, &PyTuple::new(py, [shown])?, None)?;
        let mut answer = answer.extract::<Vec<bool>>()?.into_iter();
        found.retain(|_| answer.next().unwrap_or(true));
    }
    let found: Vec<Item> = detached(py, true, || {
        found.into_par_iter().filter(Item::is_mesh).collect()
    })?;
    Ok(found
        .into_iter()
        .map(|item| (item.path().as_os_str().to_owned(), item.byte_len()))
        .collect())
}

/// The columns `path`, `path_bytes` and `identity` of a file.
type Identified = (String, Option<String>, Option<String>);

/// The columns `path`, `path_bytes` and `identity` of files, each a tuple of a path or a URL and its version, which is fetched if it is
/// None.
#[pyfunction]
pub(crate) fn versions(
    py: Python<'_>,
    files: Vec<(Named, Option<String>)>,
) -> PyResult<Vec<Identified>> {
    let how = own_how(false, None, None)?;
    let of = |(Named(path), version): (Named, Option<String>)| {
        let item = Item::file(&path);
        let row = if version.is_some() {
            rows::of_item(&item)
        } else {
            rows::identify(&item, &how)
        };
        (row.path, row.path_bytes, version.or(row.identity))
    };
    detached(py, true, || files.into_par_iter().map(of).collect())
}

/// A path, or a tuple `(name, reader, size)` or `(name, reader, size, identity)`.
fn add(source: &Bound<'_, PyAny>, items: &mut Vec<Item>, interrupt: &Interrupt) -> PyResult<()> {
    if is_named(source)? {
        let Named(path) = source.extract()?;
        let found = detached(source.py(), false, || rows::find(&[path]))?;
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
        let items = Arc::clone(&self.items);
        let how = self.how.clone();
        let next_batch: NextBatch = match &self.table {
            Table::Facts {
                columns,
                batch_rows,
            } => {
                let mut facts = Facts::new(items, how, Arc::clone(columns), *batch_rows);
                Box::new(move |most| facts.next_batch(most))
            }
            Table::Arrays {
                geometry,
                drawn,
                batch_bytes,
            } => {
                let mut shapes =
                    Shapes::new(items, how, Arc::clone(geometry), *drawn, *batch_bytes);
                Box::new(move |_| shapes.next_batch().inspect(|_| trim()))
            }
        };
        let interrupt = self.interrupt.clone();
        let stream = Stream {
            schema: self.schema(),
            next_batch,
            interrupt,
            left: self.limit,
        };
        PyCapsule::new_with_value(
            py,
            FFI_ArrowArrayStream::new(Box::new(stream)),
            c"arrow_array_stream",
        )
    }

    /// The columns, by the Arrow PyCapsule interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema().as_ref())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema()
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect()
    }

    /// By its sources and options: its folders are searched again. Readers have to be picklable.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let (function, sources, options) = &self.origin;
        let again = py.import("meshmap")?.getattr("_again")?;
        Ok((
            again,
            (*function, sources.clone_ref(py), options.clone_ref(py)).into_pyobject(py)?,
        ))
    }

    fn __repr__(&self) -> String {
        let what = match &self.table {
            Table::Facts { .. } => "Catalog of",
            Table::Arrays { .. } => "Catalog with geometry of",
        };
        format!("<meshmap.{what} {} files>", self.items.len())
    }
}

impl Catalog {
    fn schema(&self) -> SchemaRef {
        match &self.table {
            Table::Facts { columns, .. } => columns.schema(),
            Table::Arrays { geometry, .. } => geometry.schema(),
        }
    }
}

/// Returns one table after the other, of which this number of rows is needed at most. Runs in the pool, without the interpreter's lock.
type NextBatch = Box<dyn FnMut(usize) -> Result<Option<RecordBatch>, ArrowError> + Send>;

struct Stream {
    schema: SchemaRef,
    next_batch: NextBatch,
    interrupt: Interrupt,
    /// Rows that may still follow.
    left: usize,
}

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        // Whoever asks for the rows may hold the interpreter's lock or not; readers in Python need it.
        let next = || (self.next_batch)(self.left);
        let made = attached(|py| detached(py, true, next));
        // An interrupt of a reader is not an error of its file.
        let made = self.interrupt.take().map_or(made, Err);
        let batch = match made {
            Ok(Ok(batch)) => batch?,
            Ok(Err(error)) => return Some(self.stop(error)),
            Err(error) => {
                return Some(self.stop(ArrowError::from_external_error(Box::new(Raised(error)))));
            }
        };
        let batch = batch.slice(0, batch.num_rows().min(self.left));
        self.left = self.left.saturating_sub(batch.num_rows());
        Some(Ok(batch))
    }
}

impl Stream {
    /// The error, after which nothing follows.
    fn stop(&mut self, error: ArrowError) -> Result<RecordBatch, ArrowError> {
        self.left = 0;
        Err(error)
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
