//! Second Life meshes: levels of detail, skin, and hulls.

use meshmap::Array;
use meshmap::slmesh::{self, Asset, Lod, WeightScale};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::again::Reduced;
use crate::buffer;
use crate::error::OrRaise;
use crate::file::{File, each, items};
use crate::living::Handle;

/// A Second Life mesh asset: four levels of detail, a skin, and shapes for physics.
#[pyclass(extends = File, frozen, module = "meshmap")]
pub struct SlMeshFile;

fn asset(file: &Bound<'_, SlMeshFile>) -> PyResult<Asset> {
    let py = file.py();
    let file = file.as_super().get().get(py)?;
    file.as_slmesh()
        .cloned()
        .ok_or_else(|| PyValueError::new_err("the file is no Second Life mesh"))
}

fn lod_named(name: &str) -> PyResult<Lod> {
    let full = format!("{name}_lod");
    Lod::ALL
        .into_iter()
        .find(|lod| lod.name() == name || lod.name() == full)
        .ok_or_else(|| {
            PyValueError::new_err(format!(
                "there is no level of detail {name:?}: expected 'high', 'medium', 'low' or 'lowest'"
            ))
        })
}

#[pymethods]
impl SlMeshFile {
    /// The names of the levels of detail that are there, finest first: `high_lod`, `medium_lod`, `low_lod`, `lowest_lod`.
    #[getter]
    fn lods(slf: &Bound<'_, Self>) -> PyResult<Vec<&'static str>> {
        let asset = asset(slf)?;
        Ok(Lod::ALL
            .into_iter()
            .filter(|lod| matches!(asset.lod_range(*lod), Ok(Some(_))))
            .map(Lod::name)
            .collect())
    }

    /// A level of detail by its name, with or without `_lod`; None if the asset has none of that name.
    #[pyo3(signature = (name="high_lod"))]
    fn lod(slf: &Bound<'_, Self>, name: &str) -> PyResult<Option<Block>> {
        let asset = asset(slf)?;
        let lod = lod_named(name)?;
        let file = slf.as_super().get();
        let mesh = file.run(slf.py(), || asset.lod(lod))?;
        Ok(mesh.map(|mesh| Block {
            mesh,
            name: lod.name(),
            handle: file.handle.clone(),
        }))
    }

    /// The mesh for physics; None if the asset has none.
    #[getter]
    fn physics_mesh(slf: &Bound<'_, Self>) -> PyResult<Option<Block>> {
        let asset = asset(slf)?;
        let file = slf.as_super().get();
        let mesh = file.run(slf.py(), || asset.physics_mesh())?;
        Ok(mesh.map(|mesh| Block {
            mesh,
            name: PHYSICS,
            handle: file.handle.clone(),
        }))
    }

    /// The hulls for physics; None if the asset has none.
    #[getter]
    fn physics_convex(slf: &Bound<'_, Self>) -> PyResult<Option<Hulls>> {
        let asset = asset(slf)?;
        let file = slf.as_super().get();
        let hulls = file.run(slf.py(), || asset.physics_convex())?;
        Ok(hulls.map(|hulls| Hulls(hulls, file.handle.clone())))
    }

    /// The skin; None if the asset has none.
    #[getter]
    fn skin(slf: &Bound<'_, Self>) -> PyResult<Option<Skin>> {
        let asset = asset(slf)?;
        let file = slf.as_super().get();
        let skin = file.run(slf.py(), || asset.skin())?;
        Ok(skin.map(|skin| Skin(skin, file.handle.clone())))
    }

    /// The version that the header says.
    #[getter]
    fn version(slf: &Bound<'_, Self>) -> PyResult<Option<i32>> {
        Ok(asset(slf)?.version())
    }

    /// The blocks that the header names: first byte in the file and the byte after the last one; None for one that is not
    /// stored.
    #[getter]
    fn blocks<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(slf.py());
        for entry in asset(slf)?.entries() {
            let range = entry
                .range()
                .ok()
                .flatten()
                .map(|range| (range.start, range.end));
            dict.set_item(entry.name().to_string_lossy(), range)?;
        }
        Ok(dict)
    }

    /// Compares the hash of each block in the header with the hash of its bytes. Returns a finding for each hash that differs.
    fn check_hashes(slf: &Bound<'_, Self>) -> PyResult<Vec<crate::entry::FindingInfo>> {
        let asset = asset(slf)?;
        let findings = slf
            .as_super()
            .get()
            .run(slf.py(), || asset.check_hashes())?;
        Ok(findings
            .iter()
            .map(crate::entry::FindingInfo::new)
            .collect())
    }
}

/// The faces of a level of detail: a sequence.
#[pyclass(frozen, sequence, module = "meshmap")]
pub struct Block {
    mesh: slmesh::Mesh,
    name: &'static str,
    handle: Handle,
}

/// The name of the mesh for physics.
const PHYSICS: &str = "physics_mesh";

impl Block {
    /// The block, and a face of it, in another process.
    fn reduced<'py>(
        py: Python<'py>,
        name: &'static str,
        handle: &Handle,
        face: Option<usize>,
    ) -> PyResult<Reduced<'py>> {
        let block = match name {
            PHYSICS => (PHYSICS, None),
            lod => ("lod", Some(PyTuple::new(py, [lod])?)),
        };
        match face {
            None => handle.origin.part(py, &[block]),
            Some(face) => handle.origin.part(
                py,
                &[block, ("__getitem__", Some(PyTuple::new(py, [face])?))],
            ),
        }
    }
}

#[pymethods]
impl Block {
    fn __len__(&self) -> usize {
        self.mesh.faces().len()
    }

    /// A face by its index, or a list of faces by a slice. Negative indices count from the end.
    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let count = self.mesh.faces().len();
        items(
            index,
            count,
            || format!("{} has {count} faces", self.name),
            |index| {
                Ok(Face(
                    self.mesh.face(index).or_raise(py)?,
                    self.name,
                    self.handle.clone(),
                ))
            },
        )
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        Self::reduced(py, self.name, &self.handle, None)
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        each(slf.as_any(), slf.get().mesh.faces().len())
    }

    /// The name of the block: `high_lod`.
    #[getter]
    fn name(&self) -> &'static str {
        self.name
    }

    /// The number of vertices of all faces.
    #[getter]
    fn vertex_count(&self) -> usize {
        self.mesh.vertex_count()
    }

    /// The number of triangles of all faces.
    #[getter]
    fn triangle_count(&self) -> usize {
        self.mesh.triangle_count()
    }

    fn __repr__(&self) -> String {
        format!(
            "<meshmap.Block {}: {} faces, {} vertices, {} triangles>",
            self.name,
            self.mesh.faces().len(),
            self.mesh.vertex_count(),
            self.mesh.triangle_count()
        )
    }
}

/// A face of a level of detail: what has one material.
#[pyclass(frozen, module = "meshmap")]
pub struct Face(slmesh::Face, &'static str, Handle);

#[pymethods]
impl Face {
    /// Its index among the faces, and the index of its material.
    #[getter]
    fn index(&self) -> usize {
        self.0.index()
    }

    /// True if it has geometry; one without has no arrays.
    #[getter]
    fn has_geometry(&self) -> bool {
        self.0.has_geometry()
    }

    /// The number of vertices.
    #[getter]
    fn vertex_count(&self) -> usize {
        self.0.vertex_count()
    }

    /// The number of triangles.
    #[getter]
    fn triangle_count(&self) -> usize {
        self.0.triangle_count()
    }

    /// The positions, `float32 [vertices, 3]`, in the domain of the face.
    #[getter]
    fn positions(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        buffer::of_array(py, py.detach(|| self.0.positions()).or_raise(py)?)
    }

    /// The normals, `float32 [vertices, 3]`, -1 to 1; None if there are none.
    #[getter]
    fn normals(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        buffer::of_optional(py, py.detach(|| self.0.normals()).or_raise(py)?)
    }

    /// The texture coordinates, `float32 [vertices, 2]`; None if there are none.
    #[getter]
    fn texcoords(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        buffer::of_optional(py, py.detach(|| self.0.texcoords(0)).or_raise(py)?)
    }

    /// The positions as stored, `uint16 [vertices, 3]`: 0 to 65535 over the domain.
    #[getter]
    fn raw_positions(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        buffer::of_array(py, self.0.raw_positions())
    }

    /// The normals as stored, `uint16 [vertices, 3]`: 0 to 65535 over -1 to 1.
    #[getter]
    fn raw_normals(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        buffer::of_optional(py, self.0.raw_normals())
    }

    /// The texture coordinates as stored, `uint16 [vertices, 2]`: 0 to 65535 over the domain.
    #[getter]
    fn raw_texcoords(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        buffer::of_optional(py, self.0.raw_texcoords())
    }

    /// The range of stored positions, `float32 [2, 3]`: minimum and maximum.
    #[getter]
    fn position_domain(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let domain = self.0.position_domain();
        buffer::of_floats(py, [domain.min, domain.max].concat(), &[2, 3])
    }

    /// The range of stored texture coordinates, `float32 [2, 2]`: minimum and maximum.
    #[getter]
    fn texcoord_domain(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let domain = self.0.texcoord_domain();
        buffer::of_floats(py, [domain.min, domain.max].concat(), &[2, 2])
    }

    /// The indices of the corners, `uint16 [indices]`, all below `vertex_count`. Raises `Error` where one is not.
    #[getter]
    fn indices(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        buffer::of_array(py, py.detach(|| self.0.indices()).or_raise(py)?)
    }

    /// The joints that move each vertex, `uint8 [vertices, 4]`, 255 where unused; None if the face has no weights.
    #[getter]
    fn joint_indices(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let arrays = self.weights(py, WeightScale::Stored)?;
        buffer::of_optional(py, arrays.map(|arrays| arrays.joints))
    }

    /// The weight of each of these joints, `float32 [vertices, 4]`, 0 to 1 as stored, 0 where unused; None if the face has no
    /// weights. With `normalized_weights`, the weights of a vertex add up to 1.
    #[getter]
    fn joint_weights(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let arrays = self.weights(py, WeightScale::Stored)?;
        buffer::of_optional(py, arrays.map(|arrays| arrays.weights))
    }

    /// Like `joint_weights`, scaled so that the weights of a vertex add up to 1.
    #[getter]
    fn normalized_weights(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let arrays = self.weights(py, WeightScale::Normalized)?;
        buffer::of_optional(py, arrays.map(|arrays| arrays.weights))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        Block::reduced(py, self.1, &self.2, Some(self.0.index()))
    }

    fn __repr__(&self) -> String {
        format!(
            "<meshmap.Face {}: {} vertices, {} triangles>",
            self.0.index(),
            self.0.vertex_count(),
            self.0.triangle_count()
        )
    }
}

impl Face {
    fn weights(
        &self,
        py: Python<'_>,
        scale: WeightScale,
    ) -> PyResult<Option<slmesh::WeightArrays>> {
        py.detach(|| {
            self.0
                .weights()
                .map(|weights| weights.arrays(scale))
                .transpose()
        })
        .or_raise(py)
    }
}

/// Convex hulls for physics.
#[pyclass(frozen, module = "meshmap")]
pub struct Hulls(slmesh::PhysicsConvex, Handle);

#[pymethods]
impl Hulls {
    /// The number of points of each hull, `uint32 [hulls]`; None if there are no hulls.
    #[getter]
    fn hull_sizes(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let narrow = |size: usize| u32::try_from(size).unwrap_or(u32::MAX);
        let sizes = self
            .0
            .hull_sizes()
            .map(|sizes| Array::from_vec(sizes.map(narrow).collect()));
        buffer::of_optional(py, sizes)
    }

    /// The points of all hulls, one hull after the other, `float32 [points, 3]`; None if there are none.
    #[getter]
    fn hull_points(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        buffer::of_optional(py, py.detach(|| self.0.hull_points()).or_raise(py)?)
    }

    /// The points of the hull around everything, `float32 [points, 3]`; None if there are none.
    #[getter]
    fn bounding_verts(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        buffer::of_optional(py, py.detach(|| self.0.bounding_verts()).or_raise(py)?)
    }

    /// The points of each hull, `float32 [points, 3]`.
    #[getter]
    fn hulls(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        let Some(points) = py.detach(|| self.0.hull_points()).or_raise(py)? else {
            return Ok(Vec::new());
        };
        let mut first = 0_usize;
        let mut hulls = Vec::new();
        for size in self.0.hull_sizes().into_iter().flatten() {
            let end = first.saturating_add(size);
            let Some(hull) = points.slice(first..end) else {
                break;
            };
            hulls.push(buffer::of_array(py, hull)?);
            first = end;
        }
        Ok(hulls)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        self.1.origin.part(py, &[("physics_convex", None)])
    }

    fn __repr__(&self) -> String {
        let count = self.0.hull_sizes().map_or(0, Iterator::count);
        format!("<meshmap.Hulls: {count}>")
    }
}

/// The skin, which moves the vertices with the joints of an avatar.
#[pyclass(frozen, module = "meshmap")]
pub struct Skin(slmesh::Skin, Handle);

#[pymethods]
impl Skin {
    /// The names of the joints; empty if the skin has none.
    #[getter]
    fn joint_names(&self) -> Vec<String> {
        self.0
            .joint_names
            .iter()
            .flatten()
            .map(|name| name.to_string_lossy().into_owned())
            .collect()
    }

    /// For each joint, the index of the nearest joint above it in the viewer's avatar that the skin also has; None for joints
    /// without one. Assets do not store the hierarchy.
    #[getter]
    fn joint_parents(&self) -> Vec<Option<usize>> {
        slmesh::joint_parents(&self.joint_names())
    }

    /// The joints in the bind pose, for drawing. None if there is not one matrix for each joint, for which the viewer drops all joints.
    ///
    /// A dict of `parents` (as `joint_parents`; None also if a translation, a rotation and a scale cannot express the place), and of
    /// matrices, `float32 [joints, 16]`, column by column: `places` in the space of the bind pose, `locals` relative to the
    /// parents, `inverses` of the places. `replaced` has the joints whose stored matrix is sheared or has no inverse: they have another
    /// one, with which the mesh rests in the bind pose.
    fn bind_pose<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(pose) = self.0.bind_pose() else {
            return Ok(None);
        };
        let dict = PyDict::new(py);
        let matrices = |of: fn(&slmesh::BoundJoint) -> [f32; 16]| {
            buffer::of_floats(
                py,
                pose.joints.iter().flat_map(of).collect(),
                &[pose.joints.len(), 16],
            )
        };
        dict.set_item(
            "parents",
            pose.joints
                .iter()
                .map(|joint| joint.parent)
                .collect::<Vec<_>>(),
        )?;
        dict.set_item("places", matrices(|joint| joint.place)?)?;
        dict.set_item("locals", matrices(|joint| joint.local)?)?;
        dict.set_item("inverses", matrices(|joint| joint.inverse)?)?;
        dict.set_item("replaced", pose.replaced)?;
        Ok(Some(dict))
    }

    /// `float32 [16]`, in the order of the file; None if there is none.
    #[getter]
    fn bind_shape_matrix(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.0
            .bind_shape_matrix
            .map(|matrix| buffer::of_floats(py, matrix.to_vec(), &[16]))
            .transpose()
    }

    /// `float32 [joints, 16]`, in the order of the file; None if there are none.
    #[getter]
    fn inverse_bind_matrices(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        buffer::of_optional(py, self.0.inverse_bind_matrices.clone())
    }

    /// `float32 [joints, 16]`, in the order of the file; None if there are none.
    #[getter]
    fn alt_inverse_bind_matrices(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        buffer::of_optional(py, self.0.alt_inverse_bind_matrices.clone())
    }

    /// The offset of the pelvis in metres; None if the skin does not store it.
    #[getter]
    fn pelvis_offset(&self) -> Option<f32> {
        self.0.pelvis_offset
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        self.1.origin.part(py, &[("skin", None)])
    }

    fn __repr__(&self) -> String {
        format!(
            "<meshmap.Skin: {} joints>",
            self.0.joint_names.iter().flatten().count()
        )
    }
}
