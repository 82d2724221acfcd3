//! Sources of bytes: paths, memory, file objects, and readers of ranges in Python.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use meshmap::Source;
use meshmap_url::{RemoteUrl, has_scheme};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyFileNotFoundError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyString};

use crate::again::{How, Origin};
use crate::call::unless_raised;
use crate::error::OrRaise;
use crate::pool::detached;
use crate::readers::{Interrupt, Reading, of_file_object, of_reader};
use crate::url::{Named, shown_path};

/// A source, its path, and what `open` was called with.
pub(crate) struct Opened {
    pub(crate) source: Source,
    /// For file objects and readers.
    pub(crate) reading: Option<Reading>,
    pub(crate) path: Option<PathBuf>,
    pub(crate) origin: Arc<Origin>,
}

/// The source that the arguments of `open` mean.
pub(crate) fn open(
    py: Python<'_>,
    source: Option<&Bound<'_, PyAny>>,
    reader: Option<&Bound<'_, PyAny>>,
    size: Option<u64>,
    how: How,
) -> PyResult<Opened> {
    let mmap = how.mmap;
    let opened = |source, reading, path: Option<PathBuf>, object: &Bound<'_, PyAny>| {
        let origin = Origin::new(object, path.as_deref(), reader.is_some(), size, how)?;
        Ok(Opened {
            source,
            reading,
            path,
            origin,
        })
    };
    let source = match (source, reader) {
        (Some(source), None) => source,
        (None, Some(reader)) if reader.is_callable() => {
            let (made, reading) = of_reader(reader, size, Interrupt::default());
            return opened(made.source(), Some(reading), None, reader);
        }
        (None, Some(_)) => {
            return Err(PyTypeError::new_err(
                "reader must be callable: reader(start, stop)",
            ));
        }
        _ => return Err(PyTypeError::new_err("open() takes a source or a reader")),
    };
    if size.is_some() {
        return Err(PyTypeError::new_err(
            "size is for readers: open(reader=.., size=..)",
        ));
    }
    if is_named(source)? {
        let Named(path) = source.extract()?;
        if let Some(url) = path.to_str().and_then(RemoteUrl::of_remote) {
            if mmap {
                return Err(PyValueError::new_err(FOR_PATHS));
            }
            let source_of_url = at_url(py, &url, how)?;
            return opened(source_of_url, None, Some(path), source);
        }
        if path.to_str().is_some_and(has_scheme) && !path.exists() {
            return Err(PyFileNotFoundError::new_err(format!(
                "no such file: {}; URLs begin with https://, http://, s3://, gs://, az://, abfss:// or file://",
                shown_path(&path).display()
            )));
        }
        let made = if mmap {
            detached(py, false, || map(&path))
        } else {
            detached(py, false, || Source::open(&path))
        };
        let made = made.or_raise(py)?;
        // The process that reads the pickled file may be in another folder.
        let absolute = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
        let origin = absolute.into_os_string().into_pyobject(py)?;
        return opened(made, None, Some(path), origin.as_any());
    }
    if let Ok(bytes) = source.cast::<PyBytes>() {
        // A `bytes` object never changes, so its memory is read directly.
        let bytes = Bytes::from_owner(PyBackedBytes::from(bytes.clone()));
        return opened(Source::from_bytes(bytes), None, None, source);
    }
    if let Some(buffer) = unless_raised(py, PyBuffer::<u8>::get(source))? {
        // Other buffers may change while they are read.
        let bytes = match mmap && buffer.is_c_contiguous() {
            true => Bytes::from_owner(Unchanging(buffer)),
            false => buffer.to_vec(py)?.into(),
        };
        return opened(Source::from_bytes(bytes), None, None, source);
    }
    if mmap {
        return Err(PyValueError::new_err(FOR_PATHS));
    }
    if source.hasattr(intern!(py, "read"))? && source.hasattr(intern!(py, "seek"))? {
        let (made, reading) = of_file_object(source)?;
        let name = unless_raised(py, source.getattr(intern!(py, "name")))?;
        let name = name
            .map(|name| unless_raised(py, name.extract::<PathBuf>()))
            .transpose()?
            .flatten();
        return opened(made, Some(reading), name, source);
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
        let Some(start) = self.0.as_slice_ptr() else {
            return &[];
        };
        // SAFETY: the buffer is contiguous, and stays in place as long as `self` holds it. Callers who say mmap=True promise that nobody
        // writes into it; the documentation of `open` says so.
        unsafe { start.as_ref() }
    }
}

/// Returns `true` for a path or a URL.
pub(crate) fn is_named(source: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(source.is_instance_of::<PyString>()
        || source.is_instance_of::<crate::url::RemoteUrl>()
        || source.hasattr(intern!(source.py(), "__fspath__"))?)
}

#[cfg(feature = "stores")]
fn at_url(py: Python<'_>, url: &RemoteUrl, how: How) -> PyResult<Source> {
    let source = detached(py, false, || crate::store::at(url, how.options))?;
    source.map_err(|error| crate::store::raised(py, error))
}

#[cfg(not(feature = "stores"))]
fn at_url(py: Python<'_>, url: &RemoteUrl, _: How) -> PyResult<Source> {
    Err(without_stores(py, url))
}

#[cfg(not(feature = "stores"))]
pub(crate) fn without_stores(py: Python<'_>, url: &RemoteUrl) -> PyErr {
    let message = format!(
        "{url}: this build cannot read URLs; build it with the feature `stores`, or pass reader="
    );
    crate::error::refuse(py, "unsupported", message)
}

/// Refuses a URL in place of the path of an output: it would be a folder with the name of its scheme.
pub(crate) fn check_output(path: &Path) -> PyResult<()> {
    if !path.to_str().is_some_and(has_scheme) {
        return Ok(());
    }
    Err(PyValueError::new_err(format!(
        "outputs are files on this machine: expected a path, found {}; write to a folder, and copy the files from there",
        shown_path(path).display()
    )))
}

/// The files below a URL of a store whose keys are greater than `after`, in the order of their keys: an iterator of lists of tuples
/// `(url, key, size, version)`.
#[pyfunction]
#[pyo3(signature = (url, after=""))]
pub(crate) fn list_url(
    py: Python<'_>,
    url: &crate::url::RemoteUrl,
    after: &str,
) -> PyResult<Py<PyAny>> {
    #[cfg(feature = "stores")]
    {
        let list = detached(py, false, || crate::store::list(&url.0, after))?;
        let list = list.map_err(|error| crate::store::raised(py, error))?;
        Ok(Py::new(py, list)?.into_any())
    }
    #[cfg(not(feature = "stores"))]
    {
        let _ = after;
        Err(without_stores(py, &url.0))
    }
}

/// Keys greater than `after` that divide the list of a URL into parts, in order: names of folders. Each part can be listed by itself, from the
/// key at its beginning on. None if the store does not sort its lists.
#[pyfunction]
pub(crate) fn boundaries_of_url(
    py: Python<'_>,
    url: &crate::url::RemoteUrl,
    after: &str,
) -> PyResult<Vec<String>> {
    #[cfg(feature = "stores")]
    {
        let found = detached(py, false, || crate::store::boundaries(&url.0, after))?;
        found.map_err(|error| crate::store::raised(py, error))
    }
    #[cfg(not(feature = "stores"))]
    {
        let _ = after;
        Err(without_stores(py, &url.0))
    }
}

/// The URL of the object with a key in a bucket.
#[pyfunction]
pub(crate) fn url_of_key(
    py: Python<'_>,
    bucket: &crate::url::RemoteUrl,
    key: &str,
) -> PyResult<crate::url::RemoteUrl> {
    #[cfg(feature = "stores")]
    {
        let _ = py;
        Ok(crate::url::RemoteUrl(crate::store::url_of_key(
            &bucket.0, key,
        )?))
    }
    #[cfg(not(feature = "stores"))]
    {
        let _ = key;
        Err(without_stores(py, &bucket.0))
    }
}

/// The size in bytes and the version of the file at a URL, which must exist. No part of it is fetched.
#[pyfunction]
pub(crate) fn head_of_url(
    py: Python<'_>,
    url: &crate::url::RemoteUrl,
) -> PyResult<(u64, Option<String>)> {
    #[cfg(feature = "stores")]
    return detached(py, false, || crate::store::head(&url.0))?.map_err(PyErr::from);
    #[cfg(not(feature = "stores"))]
    Err(without_stores(py, &url.0))
}

fn map(path: &Path) -> meshmap::Result<Source> {
    #[allow(
        unsafe_code,
        reason = "the caller asked for a map, and was told what that takes"
    )]
    // SAFETY: whoever says mmap=True promises that the file does not change; the documentation of `open` says so.
    let mapped = unsafe { Source::map(path) };
    mapped
}
