//! Pictures for notebooks.

use meshmap::Address;
use meshmap_render::Render;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::living::Handle;

/// A small picture of a file, or of a mesh of it, as PNG; `None` if it cannot be drawn.
pub(crate) fn picture<'py>(
    py: Python<'py>,
    handle: &Handle,
    mesh: Option<Address>,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let meshes = mesh.into_iter().collect();
    let render = Render {
        size: Some([384, 384]),
        zero_non_finite: true,
        meshes,
        ..Render::default()
    };
    let draw = || -> meshmap_export::Result<Vec<u8>> {
        let mut png = Vec::new();
        render.picture(&handle.open()?)?.0.write_png(&mut png)?;
        Ok(png)
    };
    Ok(handle
        .detached(py, true, draw)?
        .ok()
        .map(|png| PyBytes::new(py, &png)))
}
