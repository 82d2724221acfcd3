//! File objects and readers of ranges in Python, and what a call has to know of them.

use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use meshmap::{ReadRange, Source};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyException, PyFileNotFoundError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyTuple};

use crate::call::{attached, call};
use crate::error::{Raised, refuse};

/// The exceptions of readers that end a call whatever becomes of its errors: KeyboardInterrupt, SystemExit, and others that are
/// not an `Exception`.
#[derive(Clone, Default)]
pub(crate) struct Interrupt(Arc<Mutex<Option<PyErr>>>);

impl Interrupt {
    fn set(&self, py: Python<'_>, error: &PyErr) {
        if !error.is_instance_of::<PyException>(py) {
            *self.lock() = Some(error.clone_ref(py));
        }
    }

    /// The exception that was raised, once.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.lock().take()
    }

    /// Ends a read before it begins.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.lock()
            .as_ref()
            .map_or(Ok(()), |error| Err(error.clone_ref(py)))
    }

    fn lock(&self) -> MutexGuard<'_, Option<PyErr>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

thread_local! {
    /// The addresses of the Python objects that are reading on this thread. The innermost one is the last.
    static RUNNING: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// A source that Python reads.
#[derive(Clone)]
pub(crate) struct Reading {
    /// The address of the file object or reader, which lives as long as the source.
    object: usize,
    pub(crate) interrupt: Interrupt,
}

impl Reading {
    fn new(object: &Bound<'_, PyAny>, interrupt: Interrupt) -> Self {
        Self {
            object: object.as_ptr() as usize,
            interrupt,
        }
    }

    /// Returns an error if the calling thread is in a call of this reader.
    pub(crate) fn refuse_reentry(&self, py: Python<'_>) -> PyResult<()> {
        if RUNNING.with_borrow(|running| running.contains(&self.object)) {
            let text = "cannot read file: the reader uses the file that it reads, which would wait for the reader";
            return Err(refuse(py, "io", text.to_owned()));
        }
        Ok(())
    }

    /// Calls Python to read.
    fn read(
        &self,
        may_reenter: bool,
        work: impl FnOnce(Python<'_>) -> PyResult<Bytes>,
    ) -> io::Result<Bytes> {
        attached(|py| {
            let read = || {
                self.interrupt.check(py)?;
                if !may_reenter {
                    self.refuse_reentry(py)?;
                }
                let _running = Running::new(self.object);
                work(py).inspect_err(|error| self.interrupt.set(py, error))
            };
            read().map_err(|error: PyErr| {
                let is_gone = error.is_instance_of::<PyFileNotFoundError>(py);
                let kind = if is_gone {
                    io::ErrorKind::NotFound
                } else {
                    io::ErrorKind::Other
                };
                io::Error::new(kind, Raised(error))
            })
        })
    }
}

struct Running;

impl Running {
    fn new(object: usize) -> Self {
        RUNNING.with_borrow_mut(|running| running.push(object));
        Self
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.with_borrow_mut(|running| running.pop());
    }
}

/// A source that asks a callable in Python for ranges: `reader(start, stop)` gives bytes.
pub(crate) fn of_reader(
    read: &Bound<'_, PyAny>,
    size: Option<u64>,
    interrupt: Interrupt,
) -> (ReaderSource, Reading) {
    let reading = Reading::new(read, interrupt);
    (
        ReaderSource {
            read: Arc::new(read.clone().unbind()),
            size,
            reading: reading.clone(),
        },
        reading,
    )
}

/// A callable in Python that reads a range.
#[derive(Clone)]
pub(crate) struct ReaderSource {
    read: Arc<Py<PyAny>>,
    size: Option<u64>,
    reading: Reading,
}

impl ReaderSource {
    pub(crate) fn source(&self) -> Source {
        Source::ranged(self.clone())
    }
}

impl ReadRange for ReaderSource {
    fn len(&self) -> io::Result<Option<u64>> {
        Ok(self.size)
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        // A worker that waits inside of a reader may be given another read of the same file.
        self.reading.read(true, |py| {
            let range = PyTuple::new(py, [range.start, range.end])?;
            shared(&call(self.read.bind(py), &range, None)?)
        })
    }
}

/// The bytes of an object, in place if they cannot change.
fn shared(object: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Bytes::from_owner(PyBackedBytes::from(bytes.clone())));
    }
    Ok(PyBuffer::<u8>::get(object)?.to_vec(object.py())?.into())
}

/// A source that reads a binary file object with `seek` and `read`.
pub(crate) fn of_file_object(file: &Bound<'_, PyAny>) -> PyResult<(Source, Reading)> {
    let reading = Reading::new(file, Interrupt::default());
    // A reader that opens itself would move the position that it is reading at.
    reading.refuse_reentry(file.py())?;
    let seek = file.getattr(intern!(file.py(), "seek"))?;
    let size: u64 = call(&seek, &PyTuple::new(file.py(), [0, 2])?, None)?.extract()?;
    let file = FileObject {
        file: file.clone().unbind(),
        size,
        position: Mutex::new(()),
        reading: reading.clone(),
    };
    Ok((Source::ranged(file), reading))
}

/// A binary file object with `seek` and `read`.
struct FileObject {
    file: Py<PyAny>,
    size: u64,
    position: Mutex<()>,
    reading: Reading,
}

impl ReadRange for FileObject {
    fn len(&self) -> io::Result<Option<u64>> {
        Ok(Some(self.size))
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        // A second read on the same thread would move the position that the first one reads at.
        self.reading.read(false, |py| {
            // Another thread may be between its seek and its read, without the GIL.
            let _guard = self
                .position
                .lock_py_attached(py)
                .unwrap_or_else(PoisonError::into_inner);
            let file = self.file.bind(py);
            let seek = file.getattr(intern!(py, "seek"))?;
            call(&seek, &PyTuple::new(py, [range.start])?, None)?;
            let mut wanted = range.end.saturating_sub(range.start);
            let mut parts: Vec<Bytes> = Vec::new();
            while wanted > 0 {
                let read = file.getattr(intern!(py, "read"))?;
                let read = shared(&call(&read, &PyTuple::new(py, [wanted])?, None)?)?;
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
    }
}
