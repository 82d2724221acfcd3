//! Outputs that are up to date.

use std::io::Write;
use std::path::PathBuf;

use meshmap_catalog::{Index, IndexFile};
use meshmap_export::Output;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

/// The index is opened and replaced as outputs are.
const INDEX_FILE: IndexFile = IndexFile {
    open: |path, options| Output::open_regular(path, options),
    replace: |path, content| {
        let mut file = Output::create(path)?;
        file.write_all(content)?;
        file.finish().map(drop)
    },
};

/// The outputs in a folder, and what they were made from, as `meshmap convert` records them.
#[pyclass(frozen, module = "meshmap._meshmap")]
pub struct Outputs(Index);

#[pymethods]
impl Outputs {
    /// `options` is a text that names everything that decides about an output, except for its source.
    #[new]
    fn new(py: Python<'_>, folder: PathBuf, options: &str) -> Self {
        Self(py.detach(|| Index::read(&folder, options, &[], INDEX_FILE)))
    }

    /// A text that identifies the source and the options; None if the source may change unnoticed.
    fn fingerprint(&self, py: Python<'_>, source: PathBuf) -> Option<String> {
        py.detach(|| self.0.fingerprint(&source))
    }

    /// True if the output was made from this fingerprint, and has not been changed or removed since then.
    fn is_up_to_date(&self, py: Python<'_>, output: PathBuf, fingerprint: &str) -> bool {
        py.detach(|| self.0.is_up_to_date(&output, fingerprint))
    }

    /// Records an output and the files that were written for it.
    fn add(&self, py: Python<'_>, output: PathBuf, fingerprint: String, files: Vec<PathBuf>) -> PyResult<()> {
        py.detach(|| self.0.add(&output, fingerprint, &files)).map_err(PyOSError::new_err)
    }
}
