//! Pictures for notebooks.

use meshmap::Address;
use meshmap_export::{NonFinite, Render};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::living::Handle;

/// A small picture of a file, or of a mesh of it, as PNG; `None` if it cannot be drawn.
pub(crate) fn picture<'py>(
    py: Python<'py>,
    handle: &Handle,
    mesh: Option<Address>,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let render = Render::new().with_size(384, 384).with_non_finite(NonFinite::Zero);
    let render = mesh.into_iter().fold(render, Render::with_mesh);
    let draw = || -> meshmap_export::Result<Vec<u8>> {
        let mut png = Vec::new();
        render.picture(&handle.open()?)?.0.write_png(&mut png)?;
        Ok(png)
    };
    Ok(handle.detached(py, true, draw)?.ok().map(|png| PyBytes::new(py, &png)))
}
