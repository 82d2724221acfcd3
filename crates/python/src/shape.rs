//! `meshmap.Shape`: something that is drawn.

use meshmap::Role;
use meshmap_scene::Shape;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use crate::again::value;
use crate::arrays::{Arrays, Decoded, Wanted};
use crate::file::place;
use crate::mesh::Mesh;
use crate::whole::{Held, Whole};

/// Something that is drawn: a mesh, a face of a level of detail, or one object through time.
#[pyclass(frozen, name = "Shape", module = "meshmap")]
pub struct PyShape {
    pub(crate) scene: Held,
    pub(crate) index: usize,
}

value! {
    /// The surface of a shape. Vertex colours multiply the base colour and the image, as in glTF.
    pub struct Material as "Material" {
        /// The name of the image, or of a face, such as `face_0`.
        name: String,
        /// The name of the image of the first texture coordinates as it is stored, for `find_texture`; None without one.
        image: Option<String>,
    }
    fn repr(this) { format!("<meshmap.Material {:?}>", this.name) }
}

impl PyShape {
    fn look<T>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Whole, &Shape) -> PyResult<T>,
    ) -> PyResult<T> {
        self.scene.look_at_shape(py, self.index, work)
    }
}

/// The key that an index means; negative ones count from the end.
fn key_of(index: isize, count: usize) -> PyResult<usize> {
    place(index, count)
        .ok_or_else(|| PyIndexError::new_err(format!("no key {index}: the shape has {count}")))
}

#[pymethods]
impl PyShape {
    /// The name; empty if the file stores none. Faces of Second Life meshes have the names `face_0`, `face_0_lod1` and so on.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        self.look(py, |_, shape| Ok(shape.name().to_owned()))
    }

    /// The address of the mesh, or of the first snapshot.
    #[getter]
    fn address(&self, py: Python<'_>) -> PyResult<String> {
        self.look(py, |_, shape| Ok(shape.address().to_string()))
    }

    /// The level of detail, 0 the finest; None if the shape is not one.
    #[getter]
    fn level(&self, py: Python<'_>) -> PyResult<Option<u32>> {
        self.look(py, |_, shape| match shape.role() {
            Role::Lod(level) => Ok(Some(level)),
            _ => Ok(None),
        })
    }

    /// The number of the object that the shape is a level of detail of; None for others.
    #[getter]
    fn object(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        self.look(py, |_, shape| Ok(shape.object()))
    }

    /// True for a level of detail that is drawn in place of a finer one of the scene, and not with it.
    #[getter]
    fn is_coarser(&self, py: Python<'_>) -> PyResult<bool> {
        self.look(py, |_, shape| Ok(shape.is_coarser()))
    }

    /// The material of all triangles; None without one. Triangles may have numbers for their materials then.
    #[getter]
    fn material(&self, py: Python<'_>) -> PyResult<Option<Material>> {
        self.look(py, |_, shape| {
            let material = shape.material();
            Ok(material.map(|material| Material {
                name: material.name.to_owned(),
                image: material.image.map(str::to_owned),
            }))
        })
    }

    /// The colour of the material in sRGB, red, green and blue from 0 to 255, in which all programs of the project draw triangles of
    /// files that store no colours and no image; with `material_id`, the colour of the triangles with this number.
    #[pyo3(signature = (material_id=None))]
    fn tint(&self, py: Python<'_>, material_id: Option<u32>) -> PyResult<(u8, u8, u8)> {
        let whole = self.scene.get(py)?;
        Ok(whole.tints.color(self.index, material_id).into())
    }

    /// The numbers of the snapshots of the shape, ascending; None for a shape that stands still.
    #[getter]
    fn snapshots(&self, py: Python<'_>) -> PyResult<Option<Vec<usize>>> {
        self.look(py, |_, shape| {
            let numbers = (0..shape.key_count()).map(|key| shape.number_of(key));
            Ok(shape.has_keys().then(|| numbers.collect()))
        })
    }

    /// The seconds from one snapshot of the file to the next, if it stores them: 1/30 for 33,333 microseconds, and likewise for every usual rate
    /// whose step is rounded to the stored one. `CGeoFile.timing` has the stored one.
    #[getter]
    fn step(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.look(py, |_, shape| Ok(shape.stored_step().map(|_| shape.step())))
    }

    /// The number of keys: the number of snapshots, and 1 for a shape that stands still.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.look(py, |_, shape| Ok(shape.key_count()))
    }

    fn __bool__(&self) -> bool {
        true
    }

    /// The mesh as it is stored, with one index for all attributes of a vertex. `key` counts the snapshots of the shape.
    #[pyo3(signature = (key=0))]
    fn view(&self, py: Python<'_>, key: isize) -> PyResult<Mesh> {
        let handle = self.scene.handle().clone();
        let count = self.__len__(py)?;
        let key = key_of(key, count)?;
        let view = self
            .scene
            .run_on_shape(py, self.index, |_, shape| shape.view(key))?;
        Ok(Mesh::new(handle, view))
    }

    /// All arrays of the shape in one call, as programs draw them: positions in the pose of the scene, triangles counter-clockwise,
    /// V of texture coordinates upward, colours as linear light. `scene.upright` makes positions upright.
    ///
    /// Args:
    ///     key: Counts the snapshots of the shape; negative numbers count from the end.
    ///     attributes: The attributes besides positions, by their names in `Mesh`; by default all.
    ///     one_index: True for one index for all attributes of a vertex, as GPUs have it. Otherwise `positions` are the ones that the file
    ///         stores, and `corners` has the corners of the attributes that have others than `triangles`, as in programs that edit meshes.
    ///
    /// Raises:
    ///     Error: An array cannot be read.
    #[pyo3(signature = (key=0, *, attributes=None, one_index=true))]
    fn arrays(
        &self,
        py: Python<'_>,
        key: isize,
        attributes: Option<Vec<String>>,
        one_index: bool,
    ) -> PyResult<Arrays> {
        let count = self.__len__(py)?;
        let key = key_of(key, count)?;
        let wanted = Wanted {
            names: attributes,
            one_index,
        };
        let index = self.index;
        let decoded = self.scene.run_on_shape(py, index, |whole, shape| {
            Decoded::of(whole, index, shape, key, &wanted)
        })?;
        decoded.into_arrays(py, self.scene.handle())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.look(py, |_, shape| {
            Ok(format!(
                "<meshmap.Shape {} {:?}>",
                shape.address(),
                shape.name()
            ))
        })
    }
}
