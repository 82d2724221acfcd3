//! Outputs that are up to date.

use std::path::PathBuf;

use meshmap_cli::Index;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

/// The outputs in a folder, and what they were made from, as `meshmap convert` records them.
#[pyclass(frozen, module = "meshmap._meshmap")]
pub struct Outputs(Index);

#[pymethods]
impl Outputs {
    /// `options` is a text that names everything that decides about an output, except for its source.
    #[new]
    fn new(py: Python<'_>, folder: PathBuf, options: &str) -> Self {
        Self(py.detach(|| Index::read(&folder, options, &[])))
    }

    /// What an output of this source is made from, as a text; None if that may change unnoticed.
    fn fingerprint(&self, py: Python<'_>, source: PathBuf) -> Option<String> {
        py.detach(|| self.0.fingerprint(&source))
    }

    /// Whether the output was made from what the fingerprint says, and has not been changed or removed since then.
    fn is_up_to_date(&self, py: Python<'_>, output: PathBuf, fingerprint: &str) -> bool {
        py.detach(|| self.0.is_up_to_date(&output, fingerprint))
    }

    /// Records an output and the files that were written for it.
    fn add(&self, py: Python<'_>, output: PathBuf, fingerprint: String, files: Vec<PathBuf>) -> PyResult<()> {
        py.detach(|| self.0.add(&output, fingerprint, &files)).map_err(PyOSError::new_err)
    }
}
