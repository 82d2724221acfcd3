//! TMF: the segments of each mesh.

use meshmap::tmf::{self, CustomValues, Document, Packed, PackedElement};
use meshmap::{Array, MeshFile};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::again::Reduced;
use crate::buffer;
use crate::file::File;
use crate::living::Living;

/// A TMF file: meshes with an index for each of position, normal, texture coordinate and tangent.
#[pyclass(extends = File, frozen, module = "meshmap")]
pub struct TmfFile;

fn document(file: &Bound<'_, TmfFile>) -> PyResult<Document> {
    let py = file.py();
    let file = file.as_super().get().get(py)?;
    file.as_tmf()
        .cloned()
        .ok_or_else(|| PyValueError::new_err("the file is no TMF file"))
}

#[pymethods]
impl TmfFile {
    /// The meshes, as the file stores them.
    #[getter]
    fn stored_meshes(slf: &Bound<'_, Self>) -> PyResult<Vec<Stored>> {
        let file = slf.as_super().get();
        let document = document(slf)?;
        let stored = |(index, mesh)| {
            let again = move |file: &MeshFile| {
                Ok(file.as_tmf().and_then(|document| document.mesh(index).ok()))
            };
            Stored {
                mesh: Living::new(file.handle.clone(), mesh, again),
                index,
            }
        };
        Ok(document.meshes().enumerate().map(stored).collect())
    }
}

/// A mesh as a TMF file stores it. Nothing is decoded before it is asked for.
#[pyclass(frozen, name = "TmfMesh", module = "meshmap")]
pub struct Stored {
    mesh: Living<tmf::Mesh>,
    index: usize,
}

impl Stored {
    fn decode<T: PackedElement>(
        &self,
        py: Python<'_>,
        packed: impl FnOnce(&tmf::Mesh) -> Option<Packed<T>>,
    ) -> PyResult<Option<Py<PyAny>>> {
        let Some(packed) = packed(&self.mesh.get(py)?) else {
            return Ok(None);
        };
        let array = self.mesh.handle.run(py, || packed.read())?;
        buffer::of_array(py, array).map(Some)
    }
}

#[pymethods]
impl Stored {
    /// Its name.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.mesh.get(py)?.name().to_string_lossy().into_owned())
    }

    /// The positions, `float32 [vertices, 3]`; None if there are none.
    #[getter]
    fn positions(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.decode(py, tmf::Mesh::positions)
    }

    /// The normals, `float32 [normals, 3]`; None if there are none.
    #[getter]
    fn normals(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.decode(py, tmf::Mesh::normals)
    }

    /// The texture coordinates, `float32 [texcoords, 2]`; None if there are none.
    #[getter]
    fn texcoords(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.decode(py, |mesh| mesh.texcoords(0))
    }

    /// The tangents, `float32 [tangents, 4]`; None if there are none.
    #[getter]
    fn tangents(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.decode(py, tmf::Mesh::tangents)
    }

    /// Three indices of `positions` for each triangle, `uint32 [indices]`; None if there are none.
    #[getter]
    fn position_indices(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.decode(py, tmf::Mesh::position_indices)
    }

    /// Three indices of `normals` for each triangle, `uint32 [indices]`; None if there are none.
    #[getter]
    fn normal_indices(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.decode(py, tmf::Mesh::normal_indices)
    }

    /// Three indices of `texcoords` for each triangle, `uint32 [indices]`; None if there are none.
    #[getter]
    fn texcoord_indices(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.decode(py, tmf::Mesh::texcoord_indices)
    }

    /// Three indices of `tangents` for each triangle, `uint32 [indices]`; None if there are none.
    #[getter]
    fn tangent_indices(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.decode(py, tmf::Mesh::tangent_indices)
    }

    /// Data of the file's own, in its order: pairs of name and array. `float32 [n, 1]` and `[n, 4]` (colours),
    /// `uint32 [n]` (indices and integers).
    #[getter]
    fn custom(&self, py: Python<'_>) -> PyResult<Vec<(String, Py<PyAny>)>> {
        enum Values {
            One(Array<[f32; 1]>),
            Four(Array<[f32; 4]>),
            Whole(Array<u32>),
        }
        let decoded = self.mesh.run(py, |mesh| {
            let mut decoded = Vec::new();
            for custom in mesh.custom()? {
                let name = custom.name.to_string_lossy().into_owned();
                let values = match custom.values {
                    CustomValues::Float(values) => Values::One(Array::from_vec(
                        values.read()?.iter().map(|value| [value]).collect(),
                    )),
                    CustomValues::ColorRgba(values) => Values::Four(values.read()?),
                    CustomValues::Index(values) | CustomValues::Integer(values) => {
                        Values::Whole(values.read()?)
                    }
                    _ => continue,
                };
                decoded.push((name, values));
            }
            Ok(decoded)
        })?;
        decoded
            .into_iter()
            .map(|(name, values)| {
                let array = match values {
                    Values::One(values) => buffer::of_array(py, values)?,
                    Values::Four(values) => buffer::of_array(py, values)?,
                    Values::Whole(values) => buffer::of_array(py, values)?,
                };
                Ok((name, array))
            })
            .collect()
    }

    /// All indices, flat lists: a dict of `positions`, `normals`, `texcoords` and `tangents`, `uint32 [indices]` each, if they
    /// are there.
    fn indices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyDict>> {
        let indices = self.mesh.run(py, tmf::Mesh::indices)?;
        let dict = pyo3::types::PyDict::new(py);
        let all = [
            ("positions", indices.positions),
            ("normals", indices.normals),
            ("texcoords", indices.texcoords),
            ("tangents", indices.tangents),
        ];
        for (name, indices) in all {
            if let Some(indices) = indices {
                dict.set_item(name, buffer::of_array(py, indices)?)?;
            }
        }
        Ok(dict)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let index = PyTuple::new(py, [self.index])?;
        self.mesh
            .handle
            .origin
            .part(py, &[("stored_meshes", None), ("__getitem__", Some(index))])
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<meshmap.TmfMesh {:?}>", self.name(py)?))
    }
}
