//! Outputs that are up to date.

use std::path::PathBuf;

use meshmap_catalog::text;
use meshmap_export::{Index, Origin, Textures};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

/// The outputs in a folder, and what they were made from, as `meshmap convert` records them.
#[pyclass(frozen, module = "meshmap._meshmap")]
pub struct Outputs(Index);

#[pymethods]
impl Outputs {
    /// `options` is a text that names everything that decides about an output, except for its source. `outputs` are the outputs that
    /// `is_up_to_date` will be called with.
    #[new]
    fn new(py: Python<'_>, folder: PathBuf, options: &str, outputs: Vec<PathBuf>) -> Self {
        let outputs = outputs.iter().map(PathBuf::as_path);
        Self(py.detach(|| Index::read(&folder, options, Some(&[]), outputs)))
    }

    /// A text that identifies the source and the options; None if the source may change unnoticed. `version` is the version of a source in
    /// a store.
    fn fingerprint(&self, py: Python<'_>, source: PathBuf, version: Option<&str>) -> Option<String> {
        let address = source.to_str().filter(|text| meshmap_catalog::is_address(text));
        let origin = match address {
            Some(address) => Some(Origin::of_address(&text::without_signature(address), version?)),
            None => py.detach(|| Origin::of_path(&source)),
        };
        self.0.fingerprint(&origin?)
    }

    /// True if the output was made from this fingerprint, and has not been changed or removed since then.
    fn is_up_to_date(&self, py: Python<'_>, output: PathBuf, fingerprint: &str) -> bool {
        py.detach(|| self.0.is_up_to_date(&output, fingerprint))
    }

    /// Records an output, the files that were written for it, and the images that were looked for.
    fn add(
        &self,
        py: Python<'_>,
        output: PathBuf,
        fingerprint: String,
        files: Vec<PathBuf>,
        looked_for: &str,
    ) -> PyResult<()> {
        let textures: Textures =
            serde_json::from_str(looked_for).map_err(|error| PyValueError::new_err(error.to_string()))?;
        py.detach(|| self.0.add(&output, fingerprint, (&files, textures), String::new()))
            .map_err(|why| PyOSError::new_err(text::line(&why)))
    }
}
