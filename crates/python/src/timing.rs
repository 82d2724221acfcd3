//! When the snapshots of a CGeo file are.

use meshmap::cgeo::{Proxy, Timing, Wrap};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::{OrRaise, refuse};

/// When the snapshots of a file are: the first at `start`, each later one `step` seconds after the one before.
#[pyclass(frozen, name = "Timing", module = "meshmap")]
pub struct TimingInfo(pub(crate) Timing);

#[pymethods]
impl TimingInfo {
    #[new]
    fn new(start: f64, step: f64, count: usize) -> Self {
        Self(Timing::new(start, step, count))
    }

    /// The time of the first snapshot, in seconds.
    #[getter]
    fn start(&self) -> f64 {
        self.0.start()
    }

    /// The time between two snapshots, in seconds.
    #[getter]
    fn step(&self) -> f64 {
        self.0.step()
    }

    /// The number of snapshots.
    #[getter]
    fn count(&self) -> usize {
        self.0.count()
    }

    /// The time of a snapshot, in seconds.
    fn time_of(&self, index: usize) -> f64 {
        self.0.time_of(index)
    }

    /// The times of motion keys while a shutter is open: when it opens, when it closes, and at every snapshot between.
    #[pyo3(signature = (open, close, *, wrap="clamp"))]
    fn keys(&self, py: Python<'_>, open: f64, close: f64, wrap: &str) -> PyResult<Vec<f64>> {
        self.0.keys(open, close, self::wrap(wrap)?).or_raise(py)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (f64, f64, usize))> {
        let class = py.get_type::<Self>().into_any();
        Ok((class, (self.0.start(), self.0.step(), self.0.count())))
    }

    fn __repr__(&self) -> String {
        format!(
            "meshmap.Timing(start={:?}, step={:?}, count={})",
            self.0.start(),
            self.0.step(),
            self.0.count()
        )
    }
}

pub(crate) fn timing_of(
    py: Python<'_>,
    proxy: &Proxy,
    given: Option<&Bound<'_, TimingInfo>>,
) -> PyResult<Timing> {
    match given {
        Some(timing) => Ok(timing.get().0),
        None => proxy.timing().ok_or_else(|| {
            refuse(
                py,
                "out_of_range",
                "cgeo: the file has no times: pass timing=meshmap.Timing(..)".to_owned(),
            )
        }),
    }
}

pub(crate) fn wrap(name: &str) -> PyResult<Wrap> {
    match name {
        "clamp" => Ok(Wrap::Clamp),
        "loop" => Ok(Wrap::Loop),
        "ping-pong" => Ok(Wrap::PingPong),
        _ => Err(PyValueError::new_err(format!(
            "wrap is {name:?}: expected 'clamp', 'loop' or 'ping-pong'"
        ))),
    }
}
