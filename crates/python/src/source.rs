//! Where bytes come from: paths, memory, file objects, and readers of ranges in Python.

use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Mutex;

use bytes::Bytes;
use meshmap::{Checksums, Limits, Options, Parallelism, ReadRange, Source, Strictness};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyString};

use crate::error::OrRaise;
use crate::pool::detached;

/// How a file is read.
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
        let mut limits = Limits::default();
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

/// What was opened: a source, and how to say so, and to open it again in another process.
pub(crate) struct Opened {
    pub(crate) source: Source,
    pub(crate) path: Option<PathBuf>,
    /// What `open` was called with: the path, the bytes, the file object or the reader.
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
        path,
        origin: origin.clone().unbind(),
        is_reader: false,
        size: None,
    };
    let source = match (source, reader) {
        (Some(source), None) => source,
        (None, Some(reader)) if reader.is_callable() => {
            let source = of_reader(reader.clone().unbind(), size);
            return Ok(Opened { is_reader: true, size, ..opened(source, None, reader) });
        }
        (None, Some(_)) => return Err(PyTypeError::new_err("reader must be callable: reader(start, stop)")),
        _ => return Err(PyTypeError::new_err("open() takes a source or a reader")),
    };
    if size.is_some() {
        return Err(PyTypeError::new_err("size is for readers: open(reader=.., size=..)"));
    }
    if source.is_instance_of::<PyString>() || source.hasattr(intern!(py, "__fspath__"))? {
        if let Some(address) = source.extract::<String>().ok().filter(|text| meshmap_cli::is_address(text)) {
            if mmap {
                return Err(PyValueError::new_err("mmap=True is for paths"));
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
        // Where it is pickled, whoever reads it may be in another folder.
        let absolute = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
        let origin = absolute.into_os_string().into_pyobject(py)?;
        return Ok(opened(made, Some(path), origin.as_any()));
    }
    if mmap {
        return Err(PyValueError::new_err("mmap=True is for paths"));
    }
    if let Ok(bytes) = source.cast::<PyBytes>() {
        // Python's own bytes never change, so they are read where they are.
        let bytes = Bytes::from_owner(PyBackedBytes::from(bytes.clone()));
        return Ok(opened(Source::from_bytes(bytes), None, source));
    }
    if let Ok(buffer) = PyBuffer::<u8>::get(source) {
        // Others may change while they are read.
        return Ok(opened(Source::from_bytes(buffer.to_vec(py)?), None, source));
    }
    if source.hasattr(intern!(py, "read"))? && source.hasattr(intern!(py, "seek"))? {
        let end: u64 = source.call_method1(intern!(py, "seek"), (0, 2))?.extract()?;
        let file = FileObject { file: source.clone().unbind(), size: end, position: Mutex::new(()) };
        let name = source.getattr(intern!(py, "name")).ok().and_then(|name| name.extract::<PathBuf>().ok());
        return Ok(opened(Source::ranged(file), name, source));
    }
    let kind = source.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "cannot read a {kind}: expected a path, bytes, or a binary file object"
    )))
}

#[cfg(feature = "stores")]
fn at_address(py: Python<'_>, address: &str) -> PyResult<Source> {
    detached(py, false, || crate::store::at(address))?.map_err(PyErr::from)
}

#[cfg(not(feature = "stores"))]
fn at_address(py: Python<'_>, address: &str) -> PyResult<Source> {
    let message =
        format!("{address}: addresses are for builds with the feature `stores`; others take reader=");
    Err(crate::error::refuse(py, "unsupported", message))
}

fn map(path: &std::path::Path) -> meshmap::Result<Source> {
    #[allow(unsafe_code, reason = "the caller asked for a map, and was told what that takes")]
    // SAFETY: whoever says mmap=True promises that the file does not change; the documentation of `open` says so.
    let mapped = unsafe { Source::map(path) };
    mapped
}

/// A source that asks a callable in Python for ranges.
pub(crate) fn of_reader(read: Py<PyAny>, size: Option<u64>) -> Source {
    Source::ranged(Ranges { read, size })
}

/// A callable in Python that reads a range: `reader(start, stop)` gives bytes.
struct Ranges {
    read: Py<PyAny>,
    size: Option<u64>,
}

impl ReadRange for Ranges {
    fn len(&self) -> io::Result<Option<u64>> {
        Ok(self.size)
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        Python::attach(|py| {
            let read = self.read.call1(py, (range.start, range.end))?;
            shared(read.bind(py))
        })
        .map_err(io::Error::other)
    }
}

/// The bytes of an object, where they are if they cannot change.
fn shared(object: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Bytes::from_owner(PyBackedBytes::from(bytes.clone())));
    }
    Ok(PyBuffer::<u8>::get(object)?.to_vec(object.py())?.into())
}

/// A binary file object with `seek` and `read`.
struct FileObject {
    file: Py<PyAny>,
    size: u64,
    position: Mutex<()>,
}

impl ReadRange for FileObject {
    fn len(&self) -> io::Result<Option<u64>> {
        Ok(Some(self.size))
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        Python::attach(|py| {
            // Another thread may be between its seek and its read, without the interpreter's lock.
            let _guard =
                self.position.lock_py_attached(py).unwrap_or_else(std::sync::PoisonError::into_inner);
            let file = self.file.bind(py);
            file.call_method1(intern!(py, "seek"), (range.start,))?;
            let mut wanted = range.end.saturating_sub(range.start);
            let mut parts: Vec<Bytes> = Vec::new();
            while wanted > 0 {
                let read = shared(&file.call_method1(intern!(py, "read"), (wanted,))?)?;
                if read.is_empty() {
                    break;
                }
                wanted = wanted.saturating_sub(read.len() as u64);
                parts.push(read);
            }
            Ok(match parts.len() {
                1 => parts.swap_remove(0),
                _ => parts.concat().into(),
            })
        })
        .map_err(|error: PyErr| io::Error::other(error))
    }
}
