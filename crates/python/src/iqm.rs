//! IQM: vertex arrays, skeleton, frames and skinning matrices.

use meshmap::iqm::{self, Model, Trs, VertexArrayType};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::again::{Reduced, value};
use crate::buffer::{self, Floats};
use crate::error::{OrRaise, check_frames};
use crate::file::File;
use crate::living::Handle;
use crate::mesh;

/// An Inter-Quake Model: meshes over common vertex arrays, a skeleton, and animations.
#[pyclass(extends = File, frozen, module = "meshmap")]
pub struct IqmFile;

fn model(file: &Bound<'_, IqmFile>) -> PyResult<Model> {
    let py = file.py();
    let file = file.as_super().get().get(py)?;
    file.as_iqm()
        .cloned()
        .ok_or_else(|| PyValueError::new_err("the file is no IQM file"))
}

fn text(text: &meshmap::Text) -> String {
    text.to_string_lossy().into_owned()
}

/// Ten numbers for each: translation, rotation (x y z w), scale.
fn ten(py: Python<'_>, transforms: Vec<Trs>, shape: &[usize]) -> PyResult<Py<PyAny>> {
    let values = py.detach(|| {
        let numbers = |trs: &Trs| trs.translate.into_iter().chain(trs.rotate).chain(trs.scale);
        transforms.iter().flat_map(numbers).collect()
    });
    buffer::of_floats(py, values, shape)
}

fn matrices(py: Python<'_>, matrices: &[iqm::Matrix]) -> PyResult<Py<PyAny>> {
    buffer::of_floats(
        py,
        matrices.as_flattened().as_flattened().to_vec(),
        &[matrices.len(), 3, 4],
    )
}

#[pymethods]
impl IqmFile {
    /// The version of the format: 1 or 2.
    #[getter]
    fn version(slf: &Bound<'_, Self>) -> PyResult<u32> {
        Ok(model(slf)?.version())
    }

    /// The number of vertices of all meshes.
    #[getter]
    fn vertex_count(slf: &Bound<'_, Self>) -> PyResult<usize> {
        Ok(model(slf)?.vertex_count())
    }

    /// The comment, if the file has one.
    #[getter]
    fn comment(slf: &Bound<'_, Self>) -> PyResult<Option<String>> {
        let model = model(slf)?;
        let comment = slf.as_super().get().run(slf.py(), || model.comment())?;
        Ok(comment.as_ref().map(text))
    }

    /// The meshes, as the file's table has them: ranges of the common triangles and vertices.
    #[getter]
    fn submeshes(slf: &Bound<'_, Self>) -> PyResult<Vec<Submesh>> {
        let submesh = |mesh: iqm::Mesh| Submesh {
            name: text(&mesh.name),
            material: text(&mesh.material),
            first_vertex: mesh.first_vertex,
            num_vertexes: mesh.num_vertexes,
            first_triangle: mesh.first_triangle,
            num_triangles: mesh.num_triangles,
        };
        Ok(model(slf)?.meshes().map(submesh).collect())
    }

    /// The vertex arrays, in the order of the file.
    #[getter]
    fn vertex_arrays(slf: &Bound<'_, Self>) -> PyResult<Vec<VertexArray>> {
        let array = |(index, array): (usize, iqm::VertexArray)| VertexArray {
            file: slf.clone().unbind(),
            index,
            kind: match array.kind {
                VertexArrayType::Position => "position".to_owned(),
                VertexArrayType::TexCoord => "texcoord".to_owned(),
                VertexArrayType::Normal => "normal".to_owned(),
                VertexArrayType::Tangent => "tangent".to_owned(),
                VertexArrayType::BlendIndexes => "blend_indexes".to_owned(),
                VertexArrayType::BlendWeights => "blend_weights".to_owned(),
                VertexArrayType::Color => "color".to_owned(),
                VertexArrayType::Custom(ref name) => text(name),
                VertexArrayType::Reserved(number) => format!("reserved {number}"),
                _ => "other".to_owned(),
            },
            format: array.vertex_format().to_string(),
        };
        Ok(model(slf)?.vertex_arrays().enumerate().map(array).collect())
    }

    /// All triangles, `uint32 [triangles, 3]`. Raises `Error` if an index is out of range.
    #[getter]
    fn triangles(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let model = model(slf)?;
        let triangles = slf.as_super().get().run(slf.py(), || model.triangles())?;
        buffer::of_array(slf.py(), triangles)
    }

    /// The neighbours of each triangle, `uint32 [triangles, 3]`; None if the file has none.
    #[getter]
    fn adjacency(slf: &Bound<'_, Self>) -> PyResult<Option<Py<PyAny>>> {
        let model = model(slf)?;
        let adjacency = slf.as_super().get().run(slf.py(), || model.adjacency())?;
        buffer::of_optional(slf.py(), adjacency)
    }

    /// The joints: name and parent of each.
    #[getter]
    fn joints(slf: &Bound<'_, Self>) -> PyResult<Vec<Joint>> {
        Ok(model(slf)?
            .joints()
            .map(|joint| Joint {
                name: text(&joint.name),
                parent: joint.parent,
            })
            .collect())
    }

    /// The bind pose of the joints, relative to their parents: `float32 [joints, 10]`, translation (3), rotation (x y z w)
    /// and scale (3).
    #[getter]
    fn joint_transforms(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let transforms: Vec<Trs> = model(slf)?.joints().map(|joint| joint.trs).collect();
        let count = transforms.len();
        ten(slf.py(), transforms, &[count, 10])
    }

    /// The animations.
    #[getter]
    fn anims(slf: &Bound<'_, Self>) -> PyResult<Vec<Anim>> {
        let anim = |anim: iqm::Anim| Anim {
            name: text(&anim.name),
            first_frame: anim.first_frame,
            num_frames: anim.num_frames,
            framerate: anim.framerate,
            rate: anim.rate(),
            is_loop: anim.is_loop(),
        };
        Ok(model(slf)?.anims().map(anim).collect())
    }

    /// The number of frames of all animations.
    #[getter]
    fn frame_count(slf: &Bound<'_, Self>) -> PyResult<u32> {
        Ok(model(slf)?.frames().len())
    }

    /// The number of poses of a frame: one for each joint, in most files.
    #[getter]
    fn pose_count(slf: &Bound<'_, Self>) -> PyResult<usize> {
        Ok(model(slf)?.frames().pose_count())
    }

    /// Frames `start` up to `stop`: `float32 [frames, poses, 10]`, translation (3), rotation (x y z w), not normalized, and
    /// scale (3), relative to the parents of the poses, which are not the parents of the joints in a few files. With `animation`, frames of
    /// that file for the joints of this one.
    #[pyo3(signature = (start=0, stop=None, *, animation=None))]
    fn frames(
        slf: &Bound<'_, Self>,
        start: u32,
        stop: Option<u32>,
        animation: Option<&Bound<'_, Self>>,
    ) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let frames = match animation {
            Some(animation) => model(slf)?
                .attach(&model(animation)?)
                .or_raise(py)?
                .frames(),
            None => model(slf)?.frames(),
        };
        let stop = stop.unwrap_or(frames.len());
        let count = usize::try_from(stop.saturating_sub(start)).unwrap_or(usize::MAX);
        check_frames(
            py,
            count,
            frames.pose_count().saturating_mul(size_of::<Trs>()),
        )?;
        let poses = count.saturating_mul(frames.pose_count());
        let decoded = slf.as_super().get().run(py, || {
            let mut transforms = Vec::new();
            if transforms.try_reserve_exact(poses).is_err() {
                return Ok(None);
            }
            transforms.resize(poses, Trs::default());
            frames.read_range_into(start..stop.max(start), &mut transforms)?;
            Ok(Some(transforms))
        })?;
        let transforms =
            decoded.ok_or_else(|| PyMemoryError::new_err("no memory for the frames"))?;
        ten(py, transforms, &[count, frames.pose_count(), 10])
    }

    /// The boxes of the frames, `float32 [frames, 8]`: minimum (3), maximum (3), radius in the plane, radius; None if
    /// the file has none.
    #[getter]
    fn frame_bounds(slf: &Bound<'_, Self>) -> PyResult<Option<Py<PyAny>>> {
        let model = model(slf)?;
        let bounds = slf.as_super().get().run(slf.py(), || model.bounds())?;
        buffer::of_optional(slf.py(), bounds)
    }

    /// The names of the joints of this file that frames of `animation` do not move, which keep their places. Raises `Error` of the
    /// kind `mismatch` if they cannot move this file: joints are matched by their names and the names of their parents or, without names,
    /// by their order. `animation` can be this file.
    fn check_animation(
        slf: &Bound<'_, Self>,
        animation: &Bound<'_, Self>,
    ) -> PyResult<Vec<String>> {
        let joined = model(slf)?.attach(&model(animation)?).or_raise(slf.py())?;
        let names: Vec<String> = joined.joints().map(|joint| text(&joint.name)).collect();
        Ok(joined
            .resting_joints()
            .filter_map(|joint| names.get(joint).cloned())
            .collect())
    }

    /// The skeleton; None if the file has no joints.
    #[getter]
    fn skeleton(slf: &Bound<'_, Self>) -> PyResult<Option<Skeleton>> {
        let model = model(slf)?;
        let handle = &slf.as_super().get().handle;
        Ok(slf
            .py()
            .detach(|| model.skeleton())
            .map(|skeleton| Skeleton {
                skeleton,
                model,
                handle: handle.clone(),
            }))
    }
}

value! {
    /// A mesh of the file's table.
    pub struct Submesh as "Submesh" {
        /// Its name.
        name: String,
        /// The name of its material.
        material: String,
        /// The first of its vertices.
        first_vertex: u32,
        /// The number of its vertices.
        num_vertexes: u32,
        /// The first of its triangles.
        first_triangle: u32,
        /// The number of its triangles.
        num_triangles: u32,
    }
    fn repr(this) {{
        format!(
            "<meshmap.Submesh {:?}: {} vertices, {} triangles>",
            this.name, this.num_vertexes, this.num_triangles
        )
    }}
}

value! {
    /// A joint.
    pub struct Joint as "Joint" {
        /// Its name.
        name: String,
        /// The index of the joint that it hangs on; None for a root.
        parent: Option<u32>,
    }
    fn repr(this) { format!("<meshmap.Joint {:?}, parent {:?}>", this.name, this.parent) }
}

value! {
    /// An animation: a range of frames.
    pub struct Anim as "Anim" {
        /// Its name.
        name: String,
        /// The first of its frames.
        first_frame: u32,
        /// The number of its frames.
        num_frames: u32,
        /// Frames per second, as stored.
        framerate: f32,
        /// Frames per second for playing: 24 if the file does not store a rate.
        rate: f32,
        /// True if the first frame follows on the last one.
        is_loop: bool,
    }
    fn repr(this) { format!("<meshmap.Anim {:?}: {} frames at {}>", this.name, this.num_frames, this.framerate) }
}

/// A vertex array, as the file has it.
#[pyclass(frozen, module = "meshmap")]
pub struct VertexArray {
    file: Py<IqmFile>,
    index: usize,
    /// The meaning of the array, or its name in the file.
    #[pyo3(get)]
    kind: String,
    /// The type and the number of its components, such as `f32x3`.
    #[pyo3(get)]
    format: String,
}

#[pymethods]
impl VertexArray {
    /// The elements as stored: `[vertices, components]`, in place if the file is mapped or in memory.
    #[getter]
    fn values(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let file = self.file.bind(py);
        let model = model(file)?;
        let attribute = file
            .as_super()
            .get()
            .run(py, || model.vertex_array(self.index))?;
        mesh::stored(py, attribute)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let index = PyTuple::new(py, [self.index])?;
        let handle = &self.file.bind(py).as_super().get().handle;
        handle
            .origin
            .part(py, &[("vertex_arrays", None), ("__getitem__", Some(index))])
    }

    fn __repr__(&self) -> String {
        format!("<meshmap.VertexArray {}: {}>", self.kind, self.format)
    }
}

/// Joints, their parents, and the matrices of the bind pose.
#[pyclass(frozen, module = "meshmap")]
pub struct Skeleton {
    skeleton: iqm::Skeleton,
    /// The file that the joints come from.
    model: Model,
    handle: Handle,
}

#[pymethods]
impl Skeleton {
    fn __len__(&self) -> usize {
        self.skeleton.parents().len()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        self.handle.origin.part(py, &[("skeleton", None)])
    }

    fn __repr__(&self) -> String {
        format!(
            "<meshmap.Skeleton: {} joints>",
            self.skeleton.parents().len()
        )
    }

    /// The index of the joint that each hangs on; None for roots.
    #[getter]
    fn parents(&self) -> Vec<Option<u32>> {
        self.skeleton.parents().to_vec()
    }

    /// From each joint to the model, in the bind pose: `float32 [joints, 3, 4]`, rows.
    #[getter]
    fn bind_matrices(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        matrices(py, self.skeleton.bind_matrices())
    }

    /// From the model to each joint, in the bind pose: `float32 [joints, 3, 4]`, rows.
    #[getter]
    fn inverse_bind_matrices(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        matrices(py, self.skeleton.inverse_bind_matrices())
    }

    /// The matrices that move vertices from the bind pose to a frame: `float32 [joints, 3, 4]`, rows. `frame` is
    /// `[joints, 10]`, such as `file.frames()[7]`. Frames `float32 [frames, joints, 10]`, such as `file.frames()`, give
    /// `float32 [frames, joints, 3, 4]`. Frames are relative to the parents of the file's poses, also if its joints have other parents.
    /// For frames of another file, such as `file.frames(animation=other)`, pass the same `animation`.
    #[pyo3(signature = (frame, *, animation=None))]
    fn skinning_matrices(
        &self,
        py: Python<'_>,
        frame: &Bound<'_, PyAny>,
        animation: Option<&Bound<'_, IqmFile>>,
    ) -> PyResult<Py<PyAny>> {
        let joined = match animation {
            Some(animation) => self
                .model
                .attach(&model(animation)?)
                .or_raise(py)?
                .skeleton(),
            None => None,
        };
        let skeleton = joined.as_ref().unwrap_or(&self.skeleton);
        let frame = Floats::of("frame", frame)?;
        let mut shape = frame.shape().to_vec();
        match *shape {
            [_, 10] => {}
            [_, joints, 10] if joints == self.skeleton.parents().len() => {}
            _ => {
                return Err(frame.expected_shape(&[
                    self.skeleton.parents().len().to_string(),
                    "10".to_owned(),
                ]));
            }
        }
        let numbers = frame.to_vec()?;
        let (transforms, _) = numbers.as_chunks::<10>();
        let transforms: Vec<Trs> = transforms
            .iter()
            .map(|[tx, ty, tz, rx, ry, rz, rw, sx, sy, sz]| {
                Trs::new([*tx, *ty, *tz], [*rx, *ry, *rz, *rw], [*sx, *sy, *sz])
            })
            .collect();
        let made = py.detach(|| match shape.len() {
            2 => skeleton.skinning_matrices(&transforms),
            _ => {
                let mut palettes = vec![iqm::Matrix::default(); transforms.len()];
                skeleton
                    .palettes_into(&transforms, &mut palettes)
                    .map(|()| palettes)
            }
        });
        shape.pop();
        shape.extend([3, 4]);
        buffer::of_floats(
            py,
            made.or_raise(py)?.into_flattened().into_flattened(),
            &shape,
        )
    }
}
