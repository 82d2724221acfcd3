//! `meshmap.Mesh`: a mesh of any format, as renderers see it.

use meshmap::{
    Address, Array, Attribute, IndexFormat, Indices, Influences, MeshFile, MeshView, Scalar,
    Semantic,
};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::again::{Reduced, value};
use crate::buffer;
use crate::call::call;
use crate::entry::{Entry, FindingInfo};
use crate::living::{Handle, Living};
use crate::picture::picture;

/// A mesh: a mapping from the names of its attributes to arrays, one row for each vertex.
///
/// `position`, `normal`, `tangent`, `texcoord`, `texcoord[1]`, `color`, `joints`, `weights`, and other names of the file.
#[pyclass(frozen, module = "meshmap")]
pub struct Mesh {
    view: Living<MeshView>,
    address: Address,
    by_material: bool,
}

impl Mesh {
    pub(crate) fn new(handle: Handle, view: MeshView) -> Self {
        Self::made(handle, view, false)
    }

    fn made(handle: Handle, view: MeshView, by_material: bool) -> Self {
        let address = view.address().clone();
        let at = address.clone();
        let again = move |file: &MeshFile| {
            let view = file.mesh(&at)?;
            if by_material {
                view.by_material().map(Some)
            } else {
                Ok(Some(view))
            }
        };
        Self {
            view: Living::new(handle, view, again),
            address,
            by_material,
        }
    }

    /// The file that has the mesh, and its address there.
    pub(crate) fn origin(&self) -> (&Handle, &Address) {
        (&self.view.handle, &self.address)
    }

    fn attribute(&self, py: Python<'_>, name: &str) -> PyResult<Option<Attribute>> {
        let Ok(semantic) = name.parse::<Semantic>() else {
            return Ok(None);
        };
        self.view.run(py, |view| view.attribute(&semantic))
    }
}

#[pymethods]
impl Mesh {
    /// The address of the mesh in the file.
    #[getter]
    fn address(&self) -> String {
        self.address.to_string()
    }

    /// Its name, empty if it has none.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.view.get(py)?.name().to_owned())
    }

    /// `geometry`, `lod`, `physics` or `snapshot`.
    #[getter]
    fn role(&self, py: Python<'_>) -> PyResult<String> {
        Ok(Entry::of_role(self.view.get(py)?.role()).role)
    }

    /// The level of detail, 0 the finest; None for other roles.
    #[getter]
    fn level(&self, py: Python<'_>) -> PyResult<Option<u32>> {
        Ok(Entry::of_role(self.view.get(py)?.role()).level)
    }

    /// The time in seconds of a snapshot, if the file has times.
    #[getter]
    fn seconds(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(Entry::of_role(self.view.get(py)?.role()).seconds)
    }

    /// The name of the image for the first texture coordinates, for `find_texture`: the file of an OpenCTM UV map, or the material of
    /// an IQM mesh, which is often the path of an image. None if the file stores no name.
    #[getter]
    fn texture(&self, py: Python<'_>) -> PyResult<Option<String>> {
        Ok(self.view.get(py)?.texture().map(str::to_owned))
    }

    /// The material of the whole mesh, if the file names one.
    #[getter]
    fn material(&self, py: Python<'_>) -> PyResult<Option<String>> {
        Ok(self.view.get(py)?.material().map(str::to_owned))
    }

    /// The number of vertices.
    #[getter]
    fn vertex_count(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.view.get(py)?.vertex_count())
    }

    /// The number of triangles.
    #[getter]
    fn triangle_count(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.view.get(py)?.triangle_count())
    }

    /// The names of the attributes, in the order of the file.
    fn keys(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self
            .view
            .get(py)?
            .attributes()
            .iter()
            .map(|info| info.semantic.to_string())
            .collect())
    }

    /// The names of the attributes, and what is stored of each: `{"position": "float32x3"}`.
    #[getter]
    fn formats(&self, py: Python<'_>) -> PyResult<std::collections::BTreeMap<String, String>> {
        let view = self.view.get(py)?;
        Ok(view
            .attributes()
            .iter()
            .map(|info| (info.semantic.to_string(), info.format.to_string()))
            .collect())
    }

    /// An attribute as numbers: `float32 [vertices, components]`.
    ///
    /// Values that are stored as float32 are viewed in place if the file is mapped or in memory, and not compressed. Other
    /// floats are converted, normalized integers are scaled to their range. Integers that are numbers of something, such
    /// as joints, stay integers. Raises KeyError if the mesh has no such attribute.
    fn __getitem__(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        self.lookup(py, name)?
            .ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }

    /// Like `mesh[name]`; `default` if the mesh does not have it.
    #[pyo3(name = "get", signature = (name, default=None, /))]
    fn get_item(
        &self,
        py: Python<'_>,
        name: &str,
        default: Option<Py<PyAny>>,
    ) -> PyResult<Option<Py<PyAny>>> {
        Ok(self.lookup(py, name)?.or(default))
    }

    /// An attribute as stored: its own type, `[vertices, components]`, in place if the file is mapped or in memory, and
    /// not compressed.
    fn raw(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        let attribute = self
            .attribute(py, name)?
            .ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        stored(py, attribute)
    }

    /// The scale and the offset of the integers of an attribute: `value * scale + offset` for each component; None
    /// if they have no such scale.
    fn dequantization(&self, py: Python<'_>, name: &str) -> PyResult<Option<([f32; 4], [f32; 4])>> {
        let attribute = self
            .attribute(py, name)?
            .ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        Ok(attribute
            .dequant()
            .map(|dequant| (dequant.scale, dequant.offset)))
    }

    fn __contains__(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        let view = self.view.get(py)?;
        Ok(name
            .parse::<Semantic>()
            .is_ok_and(|semantic| view.has(&semantic)))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.view.get(py)?.attributes().len())
    }

    fn __bool__(&self) -> bool {
        true
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyIterator>> {
        self.keys(py)?.into_pyobject(py)?.try_iter()
    }

    /// The arrays of the attributes.
    fn values(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        self.keys(py)?
            .iter()
            .map(|name| self.__getitem__(py, name))
            .collect()
    }

    /// Pairs of name and array.
    fn items(&self, py: Python<'_>) -> PyResult<Vec<(String, Py<PyAny>)>> {
        self.keys(py)?
            .into_iter()
            .map(|name| {
                let array = self.__getitem__(py, &name)?;
                Ok((name, array))
            })
            .collect()
    }

    /// The triangles: `uint32` or `uint16 [triangles, 3]`, all below `vertex_count`; in place if the file stores them like this.
    #[getter]
    fn indices(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let view = self.view.get(py)?;
        let indices = view.indices();
        let count = indices.len() / 3;
        if let Some(stored) = stored_triangles(indices) {
            return buffer::of_bytes(py, stored.clone().into_bytes(), Scalar::U32, &[count, 3]);
        }
        if indices.base() == 0
            && indices.format() == IndexFormat::Uint16
            && let Some(stored) = indices.stored_u16()
        {
            return buffer::of_bytes(py, stored.clone().into_bytes(), Scalar::U16, &[count, 3]);
        }
        let copied = self
            .view
            .handle
            .run(py, || Ok(meshmap::Array::from_vec(indices.to_vec())))?;
        buffer::of_bytes(py, copied.into_bytes(), Scalar::U32, &[count, 3])
    }

    /// The triangles of each material, one after the other.
    #[getter]
    fn groups(&self, py: Python<'_>) -> PyResult<Vec<Group>> {
        self.view.run(py, |view| {
            let group = |group: meshmap::MaterialGroup| Group {
                material: group.material,
                triangles: (group.triangles.start, group.triangles.end),
                vertices: (group.vertices.start, group.vertices.end),
            };
            Ok(view.groups().map(group).collect())
        })
    }

    /// The material of each triangle, `uint32 [triangles]`; None if the file has none.
    #[getter]
    fn material_ids(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let view = self.view.get(py)?;
        buffer::of_optional(py, view.material_ids().cloned())
    }

    /// This mesh with its triangles sorted by material, so that each has one group.
    fn by_material(&self, py: Python<'_>) -> PyResult<Self> {
        let sorted = self.view.run(py, MeshView::by_material)?;
        Ok(Self::made(self.view.handle.clone(), sorted, true))
    }

    /// The bounding box of the positions, `float32 [2, 3]`: minimum and maximum; None if there are no positions.
    #[getter]
    fn bounds(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let bounds = self.view.run(py, MeshView::bounds)?;
        bounds
            .map(|bounds| buffer::of_floats(py, [bounds.min, bounds.max].concat(), &[2, 3]))
            .transpose()
    }

    /// The joints that move each vertex, as programs draw them, of a skeleton of `joint_count` joints. None if the mesh has no joints or
    /// no weights.
    ///
    /// A dict of `joints` (`uint16 [vertices, 4]`) and `weights` (`float32 [vertices, 4]`): four of each a vertex, which exist, and
    /// have the sum 1. Vertices that no joint moves follow the joint `joint_count`, which rests. `resting` is the number of these, and
    /// `scaled`, `not_finite`, `beyond`, `clamped` and `dropped` count what was changed, as in the library.
    fn influences<'py>(
        &self,
        py: Python<'py>,
        joint_count: u16,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(found) = self.view.run(py, |view| view.influences(joint_count))? else {
            return Ok(None);
        };
        let dict = PyDict::new(py);
        let counts = influence_counts(&found);
        let count = found.joints.len();
        let joints = meshmap::Array::from_vec(found.joints.into_flattened()).into_bytes();
        dict.set_item(
            "joints",
            buffer::of_bytes(py, joints, Scalar::U16, &[count, 4])?,
        )?;
        dict.set_item(
            "weights",
            buffer::of_floats(py, found.weights.into_flattened(), &[count, 4])?,
        )?;
        for (name, number) in counts {
            dict.set_item(name, number)?;
        }
        Ok(Some(dict))
    }

    /// Rules of the format that the mesh breaks.
    #[getter]
    fn findings(&self, py: Python<'_>) -> PyResult<Vec<FindingInfo>> {
        Ok(self
            .view
            .get(py)?
            .findings()
            .iter()
            .map(FindingInfo::new)
            .collect())
    }

    /// The conventions of the file: as `File.conventions`.
    #[getter]
    fn conventions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.view.handle.conventions(py)
    }

    /// This mesh as a `trimesh.Trimesh`: vertices and triangles in the order of the file, triangles counter-clockwise.
    ///
    /// As in all objects of other packages, vertices of a Second Life mesh that follow joints are in the bind shape of the skin, and the V
    /// of texture coordinates runs upward from the bottom of the image, as in files that `convert` writes.
    fn to_trimesh<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        adapted(slf, "to_trimesh", None)
    }

    /// This mesh as a `pyvista.PolyData`. Normals and texture coordinates are active, other attributes are point data, and the
    /// material of each triangle is cell data `material_ids`.
    fn to_pyvista<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        adapted(slf, "to_pyvista", None)
    }

    /// This mesh as a `meshio.Mesh`.
    fn to_meshio<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        adapted(slf, "to_meshio", None)
    }

    /// This mesh as an `open3d.geometry.TriangleMesh`.
    fn to_open3d<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        adapted(slf, "to_open3d", None)
    }

    /// Shows the mesh by PyVista. Options are passed to `pyvista.plot`.
    #[pyo3(signature = (**options))]
    fn plot<'py>(
        slf: &Bound<'py, Self>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        adapted(slf, "plot", options)
    }

    /// A picture of the mesh, as PNG, for notebooks; None if it cannot be drawn.
    fn _repr_png_<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        picture(py, &self.view.handle, Some(self.address.clone()))
    }

    /// By its file: the mesh is read again.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let mesh = ("mesh", Some(PyTuple::new(py, [self.address.to_string()])?));
        let sorted = ("by_material", Some(PyTuple::empty(py)));
        let steps = [mesh, sorted];
        self.view.handle.origin.part(
            py,
            if self.by_material {
                &steps
            } else {
                &steps[..1]
            },
        )
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let view = self.view.get(py)?;
        let name = if view.name().is_empty() {
            String::new()
        } else {
            format!(" {:?}", view.name())
        };
        Ok(format!(
            "<meshmap.Mesh {}{name}: {} vertices, {} triangles, {}>",
            self.address,
            view.vertex_count(),
            view.triangle_count(),
            self.keys(py)?.join(", ")
        ))
    }
}

impl Mesh {
    fn lookup(&self, py: Python<'_>, name: &str) -> PyResult<Option<Py<PyAny>>> {
        let Some(attribute) = self.attribute(py, name)? else {
            return Ok(None);
        };
        numbers(py, &self.view.handle, attribute).map(Some)
    }
}

/// The result of a function of `_adapters.py`.
fn adapted<'py>(
    mesh: &Bound<'py, Mesh>,
    function: &str,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = mesh.py();
    call(
        &py.import("meshmap._adapters")?.getattr(function)?,
        &PyTuple::new(py, [mesh])?,
        options,
    )
}

/// The number of vertices that no joint moves, and of weights that were changed.
pub(crate) fn influence_counts(found: &Influences) -> [(&'static str, u64); 6] {
    [
        ("resting", found.resting),
        ("scaled", found.scaled),
        ("not_finite", found.not_finite),
        ("beyond", found.beyond),
        ("clamped", found.clamped),
        ("dropped", found.dropped),
    ]
}

/// The triangles of a mesh in place; `None` if the file stores them in another form.
pub(crate) fn stored_triangles(indices: &Indices) -> Option<&Array<u32>> {
    let is_plain = indices.base() == 0 && indices.format() == IndexFormat::Uint32;
    indices.stored().filter(|_| is_plain)
}

/// The elements as numbers: floats, or integers that are numbers of something.
pub(crate) fn numbers(
    py: Python<'_>,
    handle: &Handle,
    attribute: Attribute,
) -> PyResult<Py<PyAny>> {
    let format = attribute.format();
    let is_number =
        !format.scalar.is_float() && !format.normalized && attribute.dequant().is_none();
    let is_plain = format.scalar == Scalar::F32 && attribute.dequant().is_none();
    if is_number || is_plain {
        return stored(py, attribute);
    }
    let count = attribute.len();
    let lanes = format.components as usize;
    let values = handle.run(py, || {
        Ok(match lanes {
            1 => attribute.to_f32::<1>().into_flattened(),
            2 => attribute.to_f32::<2>().into_flattened(),
            3 => attribute.to_f32::<3>().into_flattened(),
            4 => attribute.to_f32::<4>().into_flattened(),
            _ => Vec::new(),
        })
    })?;
    if values.is_empty() && count > 0 {
        return stored(py, attribute);
    }
    buffer::of_floats(py, values, &[count, lanes])
}

/// The elements as they are in the file.
pub(crate) fn stored(py: Python<'_>, attribute: Attribute) -> PyResult<Py<PyAny>> {
    let count = attribute.len();
    let format = attribute.format();
    buffer::of_bytes(
        py,
        attribute.into_bytes(),
        format.scalar,
        &[count, format.components as usize],
    )
}

value! {
    /// Triangles of one material.
    pub struct Group as "Group" {
        /// The number of the material.
        material: u32,
        /// First triangle, and the one after the last.
        triangles: (usize, usize),
        /// First vertex that they use, and the one after the last.
        vertices: (u32, u32),
    }
    fn repr(this) {{
        format!(
            "<meshmap.Group material {}, triangles {}..{}>",
            this.material, this.triangles.0, this.triangles.1
        )
    }}
}
