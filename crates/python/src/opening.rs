//! Opens files, as the class of their format.

use std::sync::Arc;

use meshmap::{Format, Parallelism};
use pyo3::prelude::*;

use crate::cgeo::CGeoFile;
use crate::error::OrRaise;
use crate::file::File;
use crate::iqm::IqmFile;
use crate::living::{Handle, detached};
use crate::openctm::OpenCtmFile;
use crate::slmesh::SlMeshFile;
use crate::source::Opened;
use crate::tmf::TmfFile;

/// Opens what the arguments mean, as the class of its format.
pub(crate) fn open(py: Python<'_>, opened: Opened) -> PyResult<Py<PyAny>> {
    let source = opened.source.clone();
    let reading = opened.reading.clone();
    let origin = Arc::clone(&opened.origin);
    let options = origin.how.options;
    let make = move || Handle::new(source, reading, options, origin);
    // Strict opening checks every value.
    let is_strict = options.strictness == meshmap::Strictness::Strict;
    let parallel = is_strict && options.parallelism != Parallelism::Off;
    let (handle, file) = detached(py, opened.reading.as_ref(), parallel, make).or_raise(py)?;
    let format = file.format();
    let base = PyClassInitializer::from(File::new(opened, handle, file));
    Ok(match format {
        Format::CGeo => Py::new(py, base.add_subclass(CGeoFile))?.into_any(),
        Format::Iqm => Py::new(py, base.add_subclass(IqmFile))?.into_any(),
        Format::OpenCtm => Py::new(py, base.add_subclass(OpenCtmFile))?.into_any(),
        Format::SlMesh => Py::new(py, base.add_subclass(SlMeshFile))?.into_any(),
        Format::Tmf => Py::new(py, base.add_subclass(TmfFile))?.into_any(),
        _ => Py::new(py, base)?.into_any(),
    })
}
