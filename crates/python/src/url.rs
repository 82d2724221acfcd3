//! URLs, which print without their secrets, and the paths and URLs that arguments name.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::{PyBool, PyString, PyTuple};

/// The URL of a file or a folder in a store or on a server, such as `https://..` or `s3://..`.
///
/// It prints without its user, its password, its query and its fragment, also in `repr`, in errors and in columns of tables, so that no log
/// has the signature of a presigned URL by accident. `?..` is in place of a query, except for the version of an object. Functions that take a
/// path take a URL as text, or as this. URLs are equal, and ordered, by their whole texts, also to texts. A pickled one has its secrets,
/// which the process that reads the file needs.
#[pyclass(frozen, module = "meshmap", name = "RemoteUrl")]
pub struct RemoteUrl(pub(crate) meshmap_url::RemoteUrl);

#[pymethods]
impl RemoteUrl {
    #[new]
    fn new(text: &str) -> Self {
        Self(text.into())
    }

    fn __str__(&self) -> &str {
        self.0.as_shown()
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }

    /// The name of the file: the last part of the path, as it is encoded. Empty for a folder, whose path ends with a slash.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// The whole text, which may have a password or a signature: for requests, and never for messages, names or logs.
    fn with_secrets(&self) -> &str {
        self.0.with_secrets()
    }

    fn __richcmp__(&self, other: &Bound<'_, PyAny>, operation: CompareOp) -> PyResult<Py<PyAny>> {
        let py = other.py();
        let own = self.0.with_secrets();
        let ordering = if let Ok(url) = other.cast::<Self>() {
            own.cmp(url.get().0.with_secrets())
        } else if let Ok(text) = other.cast::<PyString>() {
            own.cmp(text.to_cow()?.as_ref())
        } else {
            return Ok(py.NotImplemented());
        };
        let is_so = operation.matches(ordering);
        Ok(PyBool::new(py, is_so).to_owned().into_any().unbind())
    }

    /// As of the whole text, which is equal.
    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        PyString::new(py, self.0.with_secrets()).hash()
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let class = py.get_type::<Self>().into_any();
        Ok((class, PyTuple::new(py, [self.0.with_secrets()])?))
    }
}

/// A path, or the whole text of a URL: what an argument names. It is never printed.
pub(crate) struct Named(pub(crate) PathBuf);

impl<'py> FromPyObject<'_, 'py> for Named {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.cast::<RemoteUrl>() {
            Ok(url) => Ok(Self(url.get().0.with_secrets().into())),
            Err(_) => object.extract().map(Self),
        }
    }
}

/// A path or a URL as attributes of Python have it: a text, or a `RemoteUrl`.
pub(crate) fn of_path<'py>(py: Python<'py>, path: &Path) -> PyResult<Bound<'py, PyAny>> {
    match path.to_str().and_then(meshmap_url::RemoteUrl::of_remote) {
        Some(url) => Ok(Bound::new(py, RemoteUrl(url))?.into_any()),
        None => Ok(path.as_os_str().into_pyobject(py)?.into_any()),
    }
}

/// A path as it is, or a URL as it prints.
pub(crate) fn shown_path(path: &Path) -> PathBuf {
    match path.to_str() {
        Some(text) => meshmap_url::without_secrets(text).as_ref().into(),
        None => path.to_owned(),
    }
}

/// A path as it is, or a text that begins like a URL as it prints.
#[pyfunction]
pub(crate) fn without_secrets(path: Named) -> OsString {
    shown_path(&path.0).into_os_string()
}

/// True for the URL of an object or a folder of S3, Google Cloud or Azure.
#[pyfunction]
pub(crate) fn is_of_store(path: Named) -> bool {
    let text = path.0.to_str();
    text.is_some_and(|text| meshmap_url::RemoteUrl::new(text).is_of_store())
}

/// The source that a path or a URL as text names: the text of the path, or a `RemoteUrl`.
#[pyfunction]
pub(crate) fn named<'py>(py: Python<'py>, path: Named) -> PyResult<Bound<'py, PyAny>> {
    of_path(py, &path.0)
}
