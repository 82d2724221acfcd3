//! A file, and parts of it, in the process that uses them: a forked child makes its own.

use std::sync::{Arc, Mutex, PoisonError};

use meshmap::{Format, MeshFile, Options, Parallelism, Source};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::again::Origin;
use crate::error::OrRaise;
use crate::pool;
use crate::readers::Reading;

/// The means to open a file once more, in a process that was forked.
#[derive(Clone)]
pub(crate) struct Handle {
    source: Source,
    reading: Option<Reading>,
    options: Options,
    pub(crate) origin: Arc<Origin>,
    pub(crate) format: Format,
    /// True if work on it is worth several threads.
    pub(crate) is_large: bool,
}

impl Handle {
    /// Opens a file.
    pub(crate) fn new(
        source: Source,
        reading: Option<Reading>,
        options: Options,
        origin: Arc<Origin>,
    ) -> meshmap::Result<(Self, MeshFile)> {
        const LARGE: u64 = 256 << 10;
        let is_large = options.parallelism != Parallelism::Off
            && source.len()?.is_none_or(|bytes| bytes > LARGE);
        let parallelism = if is_large {
            Parallelism::Rayon
        } else {
            Parallelism::Off
        };
        let options = options.with_parallelism(parallelism);
        let file = MeshFile::from_source(source.clone(), &options)?;
        Ok((
            Self {
                source,
                reading,
                options,
                origin,
                format: file.format(),
                is_large,
            },
            file,
        ))
    }

    /// The conventions of the format: axes, winding, texture origin and unit.
    pub(crate) fn conventions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        use meshmap::{Axis, LengthUnit, VOrigin, Winding};
        let conventions = self.format.conventions();
        let dict = PyDict::new(py);
        dict.set_item("up", conventions.up.map(Axis::name))?;
        dict.set_item("usual_up", self.format.usual_up().name())?;
        let front = conventions.front_face.map(|winding| match winding {
            Winding::Clockwise => "clockwise",
            _ => "counter-clockwise",
        });
        dict.set_item("front_face", front)?;
        let origin = conventions.v_origin.map(|origin| match origin {
            VOrigin::Top => "top",
            _ => "bottom",
        });
        dict.set_item("v_origin", origin)?;
        let unit = conventions.unit.map(|unit| match unit {
            LengthUnit::ObjectSize => "object size",
            _ => "in file",
        });
        dict.set_item("unit", unit)?;
        Ok(dict)
    }

    pub(crate) fn open(&self) -> meshmap::Result<MeshFile> {
        MeshFile::from_source(self.source.clone(), &self.options)
    }

    /// Runs `work` without the interpreter's lock, on as many threads as the file is worth.
    pub(crate) fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce() -> meshmap::Result<T> + Send,
    ) -> PyResult<T> {
        self.detached(py, self.is_large, work)?.or_raise(py)
    }

    /// Runs `work` without the GIL; in the pool if it is large. Readers in Python must not get here for their own file.
    pub(crate) fn detached<T: Send>(
        &self,
        py: Python<'_>,
        is_large: bool,
        work: impl FnOnce() -> T + Send,
    ) -> PyResult<T> {
        detached(py, self.reading.as_ref(), is_large, work)
    }
}

/// Like [`pool::detached`], for work that may call a reader in Python. Raises what interrupted the reader, whatever the work
/// made of it.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    reading: Option<&Reading>,
    is_large: bool,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let Some(reading) = reading else {
        return pool::detached(py, is_large, work);
    };
    reading.refuse_reentry(py)?;
    let done = pool::detached(py, is_large, work);
    reading.interrupt.take().map_or(done, Err)
}

/// Something of a file that this process may use.
///
/// A block that a parent was decoding when it was forked never becomes complete, so a child makes its own. The lock is held only
/// with the interpreter's lock, and forks happen with it: no child finds it locked.
pub(crate) struct Living<T> {
    pub(crate) handle: Handle,
    make: Make<T>,
    state: Mutex<(u32, T)>,
}

/// Finds it in a file that was opened again; `None` if the file does not have it any more.
type Make<T> = Box<dyn Fn(&MeshFile) -> meshmap::Result<Option<T>> + Send + Sync>;

impl<T: Clone + Send + Sync> Living<T> {
    pub(crate) fn new(
        handle: Handle,
        value: T,
        make: impl Fn(&MeshFile) -> meshmap::Result<Option<T>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            handle,
            make: Box::new(make),
            state: Mutex::new((std::process::id(), value)),
        }
    }

    /// Runs `work` on it, as [`Handle::run`] does.
    pub(crate) fn run<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&T) -> meshmap::Result<R> + Send,
    ) -> PyResult<R> {
        let value = self.get(py)?;
        self.handle.run(py, || work(&value))
    }

    /// Something that does not depend on the process.
    pub(crate) fn peek<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        look(&self.state.lock().unwrap_or_else(PoisonError::into_inner).1)
    }

    pub(crate) fn get(&self, py: Python<'_>) -> PyResult<T> {
        let process = std::process::id();
        {
            let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.0 == process {
                return Ok(state.1.clone());
            }
        }
        let Self { handle, make, .. } = self;
        let made = handle.run(py, || make(&handle.open()?))?;
        let value = made.ok_or_else(|| {
            PyValueError::new_err("the file has been changed since it was opened")
        })?;
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = (process, value.clone());
        Ok(value)
    }
}
