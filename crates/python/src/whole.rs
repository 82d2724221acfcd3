//! A scene, as the objects of Python share it.

use std::sync::Arc;

use meshmap::{Array, MeshFile, Scalar, VOrigin, Winding};
use meshmap_scene::{Clip, Remark, Scene, SceneOptions, Shape, Skeleton, Tints};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::buffer;
use crate::error::raise_scene;
use crate::living::{Handle, Living};

/// A scene, and what moves its shapes.
pub(crate) struct Whole {
    pub(crate) scene: Scene,
    pub(crate) skeleton: Option<Skeleton>,
    pub(crate) clips: Vec<Clip>,
    /// Joints and animations that cannot be used.
    pub(crate) joint_remarks: Vec<Remark>,
    /// The colours of shapes that store none.
    pub(crate) tints: Tints,
}

/// The arguments of `scene`, with which a forked process makes it again.
pub(crate) struct Arguments {
    pub(crate) options: SceneOptions,
    /// The files of `animations`.
    pub(crate) others: Vec<(String, Handle)>,
}

impl Arguments {
    fn make(&self, file: &MeshFile) -> meshmap_scene::Result<Arc<Whole>> {
        let mut options = self.options.clone();
        for (name, handle) in &self.others {
            if let Some(model) = handle.open()?.as_iqm() {
                options.animations.push((name.clone(), model.clone()));
            }
        }
        let scene = Scene::new(file, &options)?;
        Ok(Arc::new(Whole::new(scene)?))
    }
}

impl Whole {
    fn new(scene: Scene) -> meshmap_scene::Result<Self> {
        let mut remarks = Vec::new();
        let skeleton = scene.skeleton(&mut remarks)?;
        let clips = match &skeleton {
            Some(skeleton) => scene.clips(skeleton.joints.len(), &mut remarks),
            None => Vec::new(),
        };
        Ok(Self {
            skeleton,
            clips,
            joint_remarks: remarks,
            tints: scene.tints(),
            scene,
        })
    }

    /// The number of joints, as indices of joints count them; `None` if there are more joints than indices.
    pub(crate) fn joint_count(&self) -> Option<u16> {
        let count = self.skeleton.as_ref().map_or(0, |it| it.joints.len());
        u16::try_from(count).ok()
    }

    /// `true` if the corners of triangles have to be reversed, so that they run counter-clockwise around the front.
    pub(crate) fn turns_triangles(&self) -> meshmap_scene::Result<bool> {
        self.scene.turns_triangles(Winding::CounterClockwise)
    }

    pub(crate) fn is_from_top(&self) -> bool {
        self.scene.v_origin() == VOrigin::Top
    }
}

/// A scene that this process may use.
#[derive(Clone)]
pub(crate) struct Held(Arc<Living<Arc<Whole>>>);

impl Held {
    pub(crate) fn new(
        py: Python<'_>,
        handle: Handle,
        file: &MeshFile,
        arguments: Arguments,
    ) -> PyResult<Self> {
        let made = handle.detached(py, handle.is_large, || arguments.make(file))?;
        let whole = made.map_err(|error| raise_scene(py, &error))?;
        let again = move |file: &MeshFile| Ok(arguments.make(file).ok());
        Ok(Self(Arc::new(Living::new(handle, whole, again))))
    }

    pub(crate) fn handle(&self) -> &Handle {
        &self.0.handle
    }

    pub(crate) fn get(&self, py: Python<'_>) -> PyResult<Arc<Whole>> {
        self.0.get(py)
    }

    /// Runs `work` on the scene without the GIL.
    pub(crate) fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Whole) -> meshmap_scene::Result<T> + Send,
    ) -> PyResult<T> {
        let whole = self.get(py)?;
        let handle = self.handle();
        let done = handle.detached(py, handle.is_large, || work(&whole))?;
        done.map_err(|error| raise_scene(py, &error))
    }

    /// Runs `work` on a shape.
    pub(crate) fn look_at_shape<T>(
        &self,
        py: Python<'_>,
        index: usize,
        work: impl FnOnce(&Whole, &Shape) -> PyResult<T>,
    ) -> PyResult<T> {
        let whole = self.get(py)?;
        let shape = whole.scene.shapes().get(index);
        work(&whole, shape.ok_or_else(|| gone("shape"))?)
    }

    /// Runs `work` on a shape without the GIL.
    pub(crate) fn run_on_shape<T: Send>(
        &self,
        py: Python<'_>,
        index: usize,
        work: impl FnOnce(&Whole, &Shape) -> meshmap_scene::Result<T> + Send,
    ) -> PyResult<T> {
        let done = self.run(py, |whole| match whole.scene.shapes().get(index) {
            Some(shape) => work(whole, shape).map(Some),
            None => Ok(None),
        })?;
        done.ok_or_else(|| gone("shape"))
    }

    /// Runs `work` on a clip without the GIL.
    pub(crate) fn run_on_clip<T: Send>(
        &self,
        py: Python<'_>,
        index: usize,
        work: impl FnOnce(&Clip) -> meshmap_scene::Result<T> + Send,
    ) -> PyResult<T> {
        let done = self.run(py, |whole| match whole.clips.get(index) {
            Some(clip) => work(clip).map(Some),
            None => Ok(None),
        })?;
        done.ok_or_else(|| gone("clip"))
    }
}

/// The error for a part that a file, opened again by another process, does not have any more.
pub(crate) fn gone(what: &str) -> PyErr {
    PyValueError::new_err(format!(
        "the {what} is not there: the file has been changed since it was opened"
    ))
}

/// A matrix of columns as rows, which NumPy multiplies with column vectors.
fn transposed(matrix: &[f64; 16]) -> [f64; 16] {
    std::array::from_fn(|index| {
        let row = index / 4;
        let column = index % 4;
        matrix.get(column * 4 + row).copied().unwrap_or_default()
    })
}

/// Matrices of columns as `float64`, of this shape and then `[4, 4]`.
pub(crate) fn matrices<'a>(
    py: Python<'_>,
    matrices: impl Iterator<Item = &'a [f64; 16]>,
    shape: &[usize],
) -> PyResult<Py<PyAny>> {
    let mut numbers: Vec<f64> = Vec::new();
    for matrix in matrices {
        numbers.extend(transposed(matrix));
    }
    let mut shape = shape.to_vec();
    shape.extend([4, 4]);
    let bytes = Array::from_vec(numbers).into_bytes();
    buffer::of_bytes(py, bytes, Scalar::F64, &shape)
}
