//! Errors of the library as exceptions.

use std::error::Error as _;
use std::{fmt, io};

use meshmap::Format;
use meshmap_export::Limit;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};

use crate::call::{attached, call, imported};

/// An exception of a reader in Python, on its way through the library.
#[derive(Debug)]
pub(crate) struct Raised(pub(crate) PyErr);

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        attached(|_| write!(f, "{}", self.0))
    }
}

impl std::error::Error for Raised {}

/// The class is written in Python: exceptions with fields need it in the stable interface of Python 3.11.
fn class(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    imported(py, &CLASS, "meshmap._error", "Error")
}

/// The exception for an error: the one that a reader in Python raised, an `OSError` of the system, or `meshmap.Error`.
pub(crate) fn raise(py: Python<'_>, error: &meshmap::Error) -> PyErr {
    if let Some(cause) = error
        .source()
        .and_then(|source| source.downcast_ref::<io::Error>())
    {
        if let Some(raised) = cause
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<Raised>())
        {
            return raised.0.clone_ref(py);
        }
        if matches!(
            cause.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
        ) && cause.raw_os_error().is_none()
        {
            return io::Error::new(cause.kind(), cause.to_string()).into();
        }
        if let Some(code) = cause.raw_os_error() {
            let text = cause.to_string();
            let text = text
                .split(" (os error")
                .next()
                .unwrap_or_default()
                .to_owned();
            return match error.path() {
                Some(path) => PyOSError::new_err((code, text, path.as_os_str().to_owned())),
                None => PyOSError::new_err((code, text)),
            };
        }
    }
    let fields = || {
        let fields = PyDict::new(py);
        fields.set_item("kind", error.kind().name())?;
        fields.set_item("format", error.format().map(Format::name))?;
        fields.set_item("address", error.address().map(ToString::to_string))?;
        fields.set_item(
            "byte_range",
            error.byte_range().map(|range| (range.start, range.end)),
        )?;
        fields.set_item(
            "decoded_range",
            error.decoded_range().map(|range| (range.start, range.end)),
        )?;
        fields.set_item(
            "path",
            error.path().map(|path| path.to_string_lossy().into_owned()),
        )?;
        make(py, format!("{error:#}"), &fields)
    };
    fields().unwrap_or_else(|failed| failed)
}

/// `meshmap.Error` of a kind, for what only this package refuses.
pub(crate) fn refuse(py: Python<'_>, kind: &str, message: String) -> PyErr {
    let fields = || {
        let fields = PyDict::new(py);
        fields.set_item("kind", kind)?;
        make(py, message, &fields)
    };
    fields().unwrap_or_else(|failed| failed)
}

/// Refuses frames of animations that take too much memory. Constant frames take no bytes of a file, so their number says nothing about its size.
pub(crate) fn check_frames(py: Python<'_>, frames: usize, bytes_of_frame: usize) -> PyResult<()> {
    const MOST: usize = 1 << 30;
    if frames.saturating_mul(bytes_of_frame) <= MOST {
        return Ok(());
    }
    let message =
        format!("iqm: {frames} frames take more than {MOST} bytes: ask for fewer at a time");
    Err(refuse(py, "limit_exceeded", message))
}

fn make(py: Python<'_>, message: String, fields: &Bound<'_, PyDict>) -> PyResult<PyErr> {
    Ok(PyErr::from_value(call(
        class(py)?,
        &PyTuple::new(py, [message])?,
        Some(fields),
    )?))
}

/// Results of the library as results of Python.
pub(crate) trait OrRaise<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for meshmap::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raise(py, &error))
    }
}

impl<T> OrRaise<T> for PyResult<meshmap::Result<T>> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self?.or_raise(py)
    }
}

/// The `errno` of an error with its own text, by which Python chooses the class.
fn number_of(kind: std::io::ErrorKind) -> Option<i32> {
    match kind {
        std::io::ErrorKind::NotFound => Some(2),
        std::io::ErrorKind::NotADirectory => Some(20),
        std::io::ErrorKind::IsADirectory => Some(21),
        _ => None,
    }
}

/// An option as an argument of a function, such as `flip=`.
pub(crate) fn argument(option: &str) -> String {
    format!("{option}=")
}

/// Errors of questions about a scene.
pub(crate) fn raise_scene(py: Python<'_>, error: &meshmap_scene::Error) -> PyErr {
    let kind = match error {
        meshmap_scene::Error::Read(error) => return raise(py, error),
        meshmap_scene::Error::OtherJoints { .. } | meshmap_scene::Error::PoseCount { .. } => {
            "mismatch"
        }
        meshmap_scene::Error::NoFrame { .. } | meshmap_scene::Error::NoKey { .. } => "out_of_range",
        _ => "not_held",
    };
    refuse(py, kind, error.to_string())
}

/// Errors of what writes files.
pub(crate) fn raise_export(py: Python<'_>, error: &meshmap_export::Error) -> PyErr {
    match error {
        meshmap_export::Error::Read(error) => raise(py, error),
        meshmap_export::Error::Write(error) => {
            match error.raw_os_error().or(number_of(error.kind())) {
                Some(code) => {
                    let text = error.to_string();
                    PyOSError::new_err((
                        code,
                        text.split(" (os error")
                            .next()
                            .unwrap_or_default()
                            .to_owned(),
                    ))
                }
                None => PyOSError::new_err(error.to_string()),
            }
        }
        meshmap_export::Error::Unused { .. } | meshmap_export::Error::WithoutEffect { .. } => {
            PyValueError::new_err(error.words(&argument))
        }
        meshmap_export::Error::NonFinite { address, value } => {
            let message =
                format!("{address} is {value}; zero_non_finite=True writes 0 in its place");
            refuse(py, "not_finite", message)
        }
        meshmap_export::Error::LimitExceeded {
            what,
            limit,
            most,
            needed,
        } => {
            let raised = match limit {
                Limit::Output => "raise the limit with max_output_bytes=",
                _ => "leave some out with every=",
            };
            let message =
                format!("{what}: expected at most {most} {limit}, found {needed}; {raised}");
            refuse(py, "limit_exceeded", message)
        }
        meshmap_export::Error::NothingToConvert { has_unusable, .. } => {
            let kind = if *has_unusable {
                "malformed"
            } else {
                "nothing_to_convert"
            };
            refuse(
                py,
                kind,
                "nothing to convert: the file has no vertices".to_owned(),
            )
        }
        meshmap_export::Error::NothingToDraw { has_unusable } => {
            let kind = if *has_unusable {
                "malformed"
            } else {
                "nothing_to_draw"
            };
            refuse(py, kind, error.to_string())
        }
        _ => refuse(py, "not_held", error.words(&argument)),
    }
}
