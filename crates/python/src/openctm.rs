//! OpenCTM: bodies and their maps.

use meshmap::openctm::{self, Container};
use meshmap::{MeshFile, Severity};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::again::Reduced;
use crate::buffer;
use crate::entry::FindingInfo;
use crate::file::File;
use crate::living::Living;

/// An OpenCTM file: one body, or several written one after the other.
#[pyclass(extends = File, frozen, module = "meshmap")]
pub struct OpenCtmFile;

fn bodies(file: &Bound<'_, OpenCtmFile>) -> PyResult<Container> {
    let py = file.py();
    let file = file.as_super().get().get(py)?;
    file.as_openctm()
        .cloned()
        .ok_or_else(|| PyValueError::new_err("the file is no OpenCTM file"))
}

#[pymethods]
impl OpenCtmFile {
    /// The bodies.
    #[getter]
    fn bodies(slf: &Bound<'_, Self>) -> PyResult<Vec<Body>> {
        let file = slf.as_super().get();
        let bodies = bodies(slf)?;
        let body = |(index, mesh): (usize, &openctm::Mesh)| {
            let again = move |file: &MeshFile| {
                Ok(file
                    .as_openctm()
                    .and_then(|bodies| bodies.mesh(index).ok())
                    .cloned())
            };
            Body {
                mesh: Living::new(file.handle.clone(), mesh.clone(), again),
                index,
            }
        };
        Ok(bodies.meshes().enumerate().map(body).collect())
    }
}

/// A body of an OpenCTM file. Nothing is decoded before it is asked for.
#[pyclass(frozen, module = "meshmap")]
pub struct Body {
    mesh: Living<openctm::Mesh>,
    index: usize,
}

#[pymethods]
impl Body {
    /// The method of compression: `RAW`, `MG1` or `MG2`.
    #[getter]
    fn method(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("{:?}", self.mesh.get(py)?.method()).to_uppercase())
    }

    /// The comment, empty if there is none.
    #[getter]
    fn comment(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self
            .mesh
            .run(py, openctm::Mesh::comment)?
            .to_string_lossy()
            .into_owned())
    }

    /// The number of vertices.
    #[getter]
    fn vertex_count(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.mesh.get(py)?.vertex_count())
    }

    /// The number of triangles.
    #[getter]
    fn triangle_count(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.mesh.get(py)?.triangle_count())
    }

    /// The triangles, `uint32 [triangles, 3]`. Raises `Error` if an index is out of range.
    #[getter]
    fn triangles(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        buffer::of_array(py, self.mesh.run(py, openctm::Mesh::triangles)?)
    }

    /// The positions, `float32 [vertices, 3]`.
    #[getter]
    fn positions(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        buffer::of_array(py, self.mesh.run(py, openctm::Mesh::positions)?)
    }

    /// The normals, `float32 [vertices, 3]`; None if the file has none.
    #[getter]
    fn normals(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        buffer::of_optional(py, self.mesh.run(py, openctm::Mesh::normals)?)
    }

    /// The sets of texture coordinates.
    #[getter]
    fn uv_maps(slf: &Bound<'_, Self>) -> PyResult<Vec<Map>> {
        let mesh = slf.get().mesh.get(slf.py())?;
        let map = |(index, map): (usize, openctm::UvMap)| Map {
            body: slf.clone().unbind(),
            index,
            is_uv: true,
            name: map.name().to_string_lossy().into_owned(),
            file: Some(map.file().to_string_lossy().into_owned()),
            precision: map.precision(),
        };
        Ok(mesh.uv_maps().enumerate().map(map).collect())
    }

    /// The sets of attributes.
    #[getter]
    fn attribute_maps(slf: &Bound<'_, Self>) -> PyResult<Vec<Map>> {
        let mesh = slf.get().mesh.get(slf.py())?;
        let map = |(index, map): (usize, openctm::AttributeMap)| Map {
            body: slf.clone().unbind(),
            index,
            is_uv: false,
            name: map.name().to_string_lossy().into_owned(),
            file: None,
            precision: map.precision(),
        };
        Ok(mesh.attribute_maps().enumerate().map(map).collect())
    }

    /// All arrays, decoded at once by all threads: a dict of `triangles`, `positions`, `normals` (if the file has
    /// them), `texcoords` and `attribute_maps` (lists of arrays).
    fn decode<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let arrays = self.mesh.run(py, openctm::Mesh::arrays)?;
        let dict = PyDict::new(py);
        dict.set_item("triangles", buffer::of_array(py, arrays.triangles)?)?;
        dict.set_item("positions", buffer::of_array(py, arrays.positions)?)?;
        if let Some(normals) = arrays.normals {
            dict.set_item("normals", buffer::of_array(py, normals)?)?;
        }
        let maps = arrays
            .texcoords
            .into_iter()
            .map(|map| buffer::of_array(py, map));
        dict.set_item("texcoords", maps.collect::<PyResult<Vec<_>>>()?)?;
        let maps = arrays
            .attribute_maps
            .into_iter()
            .map(|map| buffer::of_array(py, map));
        dict.set_item("attribute_maps", maps.collect::<PyResult<Vec<_>>>()?)?;
        Ok(dict)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let index = PyTuple::new(py, [self.index])?;
        self.mesh
            .handle
            .origin
            .part(py, &[("bodies", None), ("__getitem__", Some(index))])
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mesh = self.mesh.get(py)?;
        let method = format!("{:?}", mesh.method()).to_uppercase();
        let vertices = mesh.vertex_count();
        let triangles = mesh.triangle_count();
        Ok(format!(
            "<meshmap.Body {}: {method}, {vertices} vertices, {triangles} triangles>",
            self.index
        ))
    }

    /// Checks every value of the body. Gives all findings.
    fn validate(&self, py: Python<'_>) -> PyResult<Vec<FindingInfo>> {
        Ok(self
            .mesh
            .run(py, openctm::Mesh::validate)?
            .iter()
            .map(FindingInfo::new)
            .collect())
    }

    /// Raises `Error` for the first finding that makes the body unusable.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        let findings = self.mesh.run(py, openctm::Mesh::validate)?;
        match findings
            .iter()
            .find(|finding| finding.severity() == Severity::Unusable)
        {
            Some(finding) => {
                let message = format!(
                    "openctm: malformed {}: {}",
                    finding.rule.name, finding.detail
                );
                Err(crate::error::refuse(py, "malformed", message))
            }
            None => Ok(()),
        }
    }
}

/// A set of texture coordinates or of attributes.
#[pyclass(frozen, module = "meshmap")]
pub struct Map {
    body: Py<Body>,
    index: usize,
    is_uv: bool,
    /// Its name.
    #[pyo3(get)]
    name: String,
    /// The file of the texture; None for attributes.
    #[pyo3(get)]
    file: Option<String>,
    /// The step of the grid that MG2 rounds to; None for other methods.
    #[pyo3(get)]
    precision: Option<f32>,
}

#[pymethods]
impl Map {
    /// Texture coordinates, `float32 [vertices, 2]`, or attributes, `float32 [vertices, 4]`.
    #[getter]
    fn values(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let body = self.body.get();
        let index = self.index;
        if self.is_uv {
            let coords = body.mesh.run(py, |mesh| {
                mesh.uv_maps().nth(index).map(|map| map.read()).transpose()
            })?;
            return buffer::of_optional(py, coords);
        }
        let values = body.mesh.run(py, |mesh| {
            mesh.attribute_maps()
                .nth(index)
                .map(|map| map.read())
                .transpose()
        })?;
        buffer::of_optional(py, values)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let body = self.body.get();
        let maps = if self.is_uv {
            "uv_maps"
        } else {
            "attribute_maps"
        };
        let index = |index: usize| PyTuple::new(py, [index]).map(Some);
        let steps = [
            ("bodies", None),
            ("__getitem__", index(body.index)?),
            (maps, None),
            ("__getitem__", index(self.index)?),
        ];
        body.mesh.handle.origin.part(py, &steps)
    }

    fn __repr__(&self) -> String {
        format!("<meshmap.Map {:?}>", self.name)
    }
}
