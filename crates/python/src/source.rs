//! Sources of bytes: paths, memory, file objects, and readers of ranges in Python.

use std::path::PathBuf;

use bytes::Bytes;
use meshmap::{Checksums, Limits, Options, Parallelism, Source, Strictness};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyString};

use crate::call::unless_raised;
use crate::error::OrRaise;
use crate::pool::detached;
use crate::readers::{Interrupt, Reading, of_file_object, of_reader};

/// The settings for reading a file.
#[derive(Clone, Copy)]
pub(crate) struct How {
    pub(crate) mmap: bool,
    pub(crate) options: Options,
}

impl How {
    pub(crate) fn new(
        mmap: bool,
        strict: bool,
        parallel: bool,
        checksums: bool,
        max_block_bytes: Option<u64>,
        max_total_bytes: Option<u64>,
    ) -> Self {
        let mut limits =
            Limits::default().with_remedies(["open(.., max_block_bytes=)", "open(.., max_total_bytes=)", ""]);
        if let Some(bytes) = max_block_bytes {
            limits = limits.with_max_block_bytes(bytes).with_free_ratio(0);
        }
        if let Some(bytes) = max_total_bytes {
            limits = limits.with_max_total_bytes(bytes).with_free_ratio(0);
        }
        let options = Options::default()
            .with_limits(limits)
            .with_strictness(if strict { Strictness::Strict } else { Strictness::Tolerant })
            .with_parallelism(if parallel { Parallelism::Rayon } else { Parallelism::Off })
            .with_checksums(if checksums { Checksums::Verify } else { Checksums::Ignore });
        Self { mmap, options }
    }
}

/// A source, its path, and the arguments that opened it.
pub(crate) struct Opened {
    pub(crate) source: Source,
    /// For file objects and readers.
    pub(crate) reading: Option<Reading>,
    pub(crate) path: Option<PathBuf>,
    /// The argument of `open`: the path, the bytes, the file object or the reader.
    pub(crate) origin: Py<PyAny>,
    pub(crate) is_reader: bool,
    pub(crate) size: Option<u64>,
}

/// The source that the arguments of `open` mean.
pub(crate) fn open(
    py: Python<'_>,
    source: Option<&Bound<'_, PyAny>>,
    reader: Option<&Bound<'_, PyAny>>,
    size: Option<u64>,
    mmap: bool,
) -> PyResult<Opened> {
    let opened = |source, path, origin: &Bound<'_, PyAny>| Opened {
        source,
        reading: None,
        path,
        origin: origin.clone().unbind(),
        is_reader: false,
        size: None,
    };
    let source = match (source, reader) {
        (Some(source), None) => source,
        (None, Some(reader)) if reader.is_callable() => {
            let (made, reading) = of_reader(reader, size, Interrupt::default());
            let opened = opened(made.source(), None, reader);
            return Ok(Opened { is_reader: true, size, reading: Some(reading), ..opened });
        }
        (None, Some(_)) => return Err(PyTypeError::new_err("reader must be callable: reader(start, stop)")),
        _ => return Err(PyTypeError::new_err("open() takes a source or a reader")),
    };
    if size.is_some() {
        return Err(PyTypeError::new_err("size is for readers: open(reader=.., size=..)"));
    }
    if source.is_instance_of::<PyString>() || source.hasattr(intern!(py, "__fspath__"))? {
        if let Some(address) =
            source.extract::<String>().ok().filter(|text| meshmap_catalog::is_address(text))
        {
            if mmap {
                return Err(PyValueError::new_err(FOR_PATHS));
            }
            return Ok(opened(at_address(py, &address)?, Some(address.into()), source));
        }
        let path: PathBuf = source.extract()?;
        let made = if mmap {
            detached(py, false, || map(&path))
        } else {
            detached(py, false, || Source::open(&path))
        };
        let made = made.or_raise(py)?;
        // The process that reads the pickled file may be in another folder.
        let absolute = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
        let origin = absolute.into_os_string().into_pyobject(py)?;
        return Ok(opened(made, Some(path), origin.as_any()));
    }
    if let Ok(bytes) = source.cast::<PyBytes>() {
        // A `bytes` object never changes, so its memory is read directly.
        let bytes = Bytes::from_owner(PyBackedBytes::from(bytes.clone()));
        return Ok(opened(Source::from_bytes(bytes), None, source));
    }
    if let Some(buffer) = unless_raised(py, PyBuffer::<u8>::get(source))? {
        // Other buffers may change while they are read.
        let bytes = match mmap && buffer.is_c_contiguous() {
            true => Bytes::from_owner(Unchanging(buffer)),
            false => buffer.to_vec(py)?.into(),
        };
        return Ok(opened(Source::from_bytes(bytes), None, source));
    }
    if mmap {
        return Err(PyValueError::new_err(FOR_PATHS));
    }
    if source.hasattr(intern!(py, "read"))? && source.hasattr(intern!(py, "seek"))? {
        let (made, reading) = of_file_object(source)?;
        let name = unless_raised(py, source.getattr(intern!(py, "name")))?;
        let name = name.map(|name| unless_raised(py, name.extract::<PathBuf>())).transpose()?.flatten();
        return Ok(Opened { reading: Some(reading), ..opened(made, name, source) });
    }
    let kind = source.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "cannot read a {kind}: expected a path, bytes, or a binary file object"
    )))
}

const FOR_PATHS: &str = "mmap=True is for paths and buffers";

/// A contiguous buffer that the caller promises not to change. Python releases it with the last array of it.
struct Unchanging(PyBuffer<u8>);

impl AsRef<[u8]> for Unchanging {
    #[allow(
        unsafe_code,
        reason = "the caller asked for the memory itself, which the documentation of `open` warns of"
    )]
    fn as_ref(&self) -> &[u8] {
        let Some(start) = self.0.as_slice_ptr() else { return &[] };
        // SAFETY: the buffer is contiguous, and stays in place as long as `self` holds it. Callers who say mmap=True promise that nobody
        // writes into it; the documentation of `open` says so.
        unsafe { start.as_ref() }
    }
}

#[cfg(feature = "stores")]
fn at_address(py: Python<'_>, address: &str) -> PyResult<Source> {
    detached(py, false, || crate::store::at(address))?.map_err(PyErr::from)
}

#[cfg(not(feature = "stores"))]
fn at_address(py: Python<'_>, address: &str) -> PyResult<Source> {
    Err(without_stores(py, address))
}

#[cfg(not(feature = "stores"))]
fn without_stores(py: Python<'_>, address: &str) -> PyErr {
    let message = format!(
        "{address}: this build cannot read URLs; build it with the feature `stores`, or pass reader="
    );
    crate::error::refuse(py, "unsupported", message)
}

/// True if a text is the address of a file in a store, and not a path.
#[pyfunction]
pub(crate) fn is_address(text: &str) -> bool {
    meshmap_catalog::is_address(text)
}

/// The files below an address of a store whose keys are greater than `after`, in the order of their keys: an iterator of lists of tuples
/// `(address, key, size, version)`.
#[pyfunction]
#[pyo3(signature = (address, after=""))]
pub(crate) fn list_address(py: Python<'_>, address: &str, after: &str) -> PyResult<Py<PyAny>> {
    #[cfg(feature = "stores")]
    return Ok(Py::new(py, detached(py, false, || crate::store::list(address, after))??)?.into_any());
    #[cfg(not(feature = "stores"))]
    {
        let _ = after;
        Err(without_stores(py, address))
    }
}

/// The size in bytes and the version of the file at an address, which must exist. No part of it is fetched.
#[pyfunction]
pub(crate) fn head_of_address(py: Python<'_>, address: &str) -> PyResult<(u64, Option<String>)> {
    #[cfg(feature = "stores")]
    return detached(py, false, || crate::store::head(address))?.map_err(PyErr::from);
    #[cfg(not(feature = "stores"))]
    Err(without_stores(py, address))
}

fn map(path: &std::path::Path) -> meshmap::Result<Source> {
    #[allow(unsafe_code, reason = "the caller asked for a map, and was told what that takes")]
    // SAFETY: whoever says mmap=True promises that the file does not change; the documentation of `open` says so.
    let mapped = unsafe { Source::map(path) };
    mapped
}
