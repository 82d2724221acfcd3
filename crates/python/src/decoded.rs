//! Decoded snapshots of CGeo files, and their triangles.

use std::sync::Arc;

use meshmap::Array;
use meshmap::cgeo::{self, Parts};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::again::{Origin, Reduced};
use crate::buffer;

/// Names of parts of a mesh, as Python has them.
#[derive(FromPyObject)]
pub enum PartNames {
    One(String),
    Several(Vec<String>),
}

impl PartNames {
    const ALL: [(&str, Parts); 4] = [
        ("positions", Parts::POSITIONS),
        ("normals", Parts::NORMALS),
        ("texcoords", Parts::TEXCOORDS),
        ("triangles", Parts::TRIANGLES),
    ];

    /// The parts with these names; all of them without names.
    pub(crate) fn parts(names: Option<Self>) -> PyResult<Parts> {
        let names = match names {
            None => return Ok(Parts::ALL),
            Some(Self::One(name)) => vec![name],
            Some(Self::Several(names)) => names,
        };
        names.iter().try_fold(Parts::NONE, |parts, name| {
            let known = Self::ALL.iter().find(|(known, _)| known == name);
            known.map(|(_, part)| parts | *part).ok_or_else(|| {
                let known = Self::ALL.map(|(known, _)| known).join(", ");
                PyValueError::new_err(format!("expected parts of {known}, found {name:?}"))
            })
        })
    }
}

/// The snapshot that a value was decoded from: a pickled value is decoded again.
#[derive(Clone)]
pub(crate) struct Stored {
    pub(crate) origin: Arc<Origin>,
    pub(crate) index: usize,
}

/// A decoded snapshot. Its arrays are not copied when they are read.
#[pyclass(frozen, module = "meshmap")]
pub struct Decoded {
    positions: Array<[f32; 3]>,
    normals: Array<[f32; 3]>,
    texcoords: Vec<Array<[f32; 3]>>,
    triangles: cgeo::Triangles,
    is_complete: bool,
    parts: Parts,
    stored: Stored,
}

impl Decoded {
    /// Returns an error if a part was not decoded.
    fn has(&self, part: Parts) -> PyResult<()> {
        if self.parts.contains(part) {
            return Ok(());
        }
        let name = PartNames::ALL
            .iter()
            .find(|(_, known)| *known == part)
            .map_or("", |(name, _)| name);
        Err(PyValueError::new_err(format!(
            "the {name} were not decoded: ask for them with `parts`"
        )))
    }

    pub(crate) fn new(mesh: &cgeo::Mesh, stored: Stored) -> Self {
        Self {
            positions: mesh.positions.clone(),
            normals: mesh.normals.clone(),
            texcoords: mesh.texcoords.clone(),
            triangles: mesh.triangles.clone(),
            is_complete: mesh.is_complete,
            parts: mesh.parts,
            stored,
        }
    }
}

#[pymethods]
impl Decoded {
    /// `float32 [vertices, 3]`.
    #[getter]
    fn positions(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.has(Parts::POSITIONS)?;
        buffer::of_array(py, self.positions.clone())
    }

    /// `float32 [normals, 3]`.
    #[getter]
    fn normals(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.has(Parts::NORMALS)?;
        buffer::of_array(py, self.normals.clone())
    }

    /// The texture coordinates of each set, `float32 [coordinates, 3]`.
    #[getter]
    fn texcoords(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        self.has(Parts::TEXCOORDS)?;
        self.texcoords
            .iter()
            .map(|channel| buffer::of_array(py, channel.clone()))
            .collect()
    }

    /// The triangles.
    #[getter]
    fn triangles(&self) -> PyResult<Triangles> {
        self.has(Parts::TRIANGLES)?;
        Ok(Triangles {
            triangles: self.triangles.clone(),
            stored: self.stored.clone(),
        })
    }

    /// The names of the parts that were decoded. Reading another part raises ValueError.
    #[getter]
    fn parts(&self) -> Vec<&'static str> {
        let there = PartNames::ALL
            .into_iter()
            .filter(|(_, part)| self.parts.contains(*part));
        there.map(|(name, _)| name).collect()
    }

    /// True if the snapshot holds positions; False if it holds differences to the first snapshot.
    #[getter]
    fn is_complete(&self) -> bool {
        self.is_complete
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        self.stored
            .origin
            .decoded(py, self.stored.index, &self.parts())
    }

    fn __repr__(&self) -> String {
        format!("<meshmap.Decoded: {}>", self.parts().join(", "))
    }
}

/// The triangles of a snapshot: an index for each of position, normal and map channel.
#[pyclass(frozen, module = "meshmap")]
pub struct Triangles {
    pub(crate) triangles: cgeo::Triangles,
    pub(crate) stored: Stored,
}

#[pymethods]
impl Triangles {
    fn __len__(&self) -> usize {
        self.triangles.len()
    }

    fn __bool__(&self) -> bool {
        true
    }

    /// Indices of positions, `uint32 [triangles, 3]`.
    #[getter]
    fn positions(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let indices = py.detach(|| Array::from_vec(self.triangles.positions()));
        buffer::of_array(py, indices)
    }

    /// Indices of normals, `uint32 [triangles, 3]`; None if the file has none.
    #[getter]
    fn normals(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let indices = py.detach(|| self.triangles.normals().map(Array::from_vec));
        buffer::of_optional(py, indices)
    }

    /// Indices of the coordinates of each map channel, `uint32 [triangles, 3]`.
    #[getter]
    fn texcoords(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        (0..self.triangles.texcoord_sets())
            .filter_map(|channel| py.detach(|| self.triangles.texcoords(channel)))
            .map(|indices| buffer::of_array(py, Array::from_vec(indices)))
            .collect()
    }

    /// The material of each triangle, `uint32 [triangles]`; None if the file has none.
    #[getter]
    fn material_ids(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let ids = py.detach(|| {
            self.triangles
                .material_ids()
                .map(|ids| Array::from_vec(ids.collect()))
        });
        buffer::of_optional(py, ids)
    }

    /// The visible edges of each triangle, a bit each, `uint8 [triangles]`; None if the file has none.
    #[getter]
    fn edge_visibility(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let edges = py.detach(|| {
            self.triangles
                .edge_visibility()
                .map(|edges| Array::from_vec(edges.collect()))
        });
        buffer::of_optional(py, edges)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let index = PyTuple::new(py, [self.stored.index])?;
        let steps = [
            ("snapshots", None),
            ("__getitem__", Some(index)),
            ("triangles", Some(PyTuple::empty(py))),
        ];
        self.stored.origin.part(py, &steps)
    }

    fn __repr__(&self) -> String {
        format!("<meshmap.Triangles: {}>", self.triangles.len())
    }
}
