//! `meshmap.SceneSkeleton` and `meshmap.Clip`: joints, and their animations.

use meshmap_scene::{Clip, Skeleton};
use pyo3::prelude::*;

use crate::again::value;
use crate::error::check_frames;
use crate::whole::{Held, gone, matrices};

/// The joints that vertices follow, in the bind pose.
#[pyclass(frozen, module = "meshmap")]
pub struct SceneSkeleton {
    pub(crate) scene: Held,
}

impl SceneSkeleton {
    fn look<T>(&self, py: Python<'_>, work: impl FnOnce(&Skeleton) -> PyResult<T>) -> PyResult<T> {
        let whole = self.scene.get(py)?;
        work(whole.skeleton.as_ref().ok_or_else(|| gone("skeleton"))?)
    }
}

#[pymethods]
impl SceneSkeleton {
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.look(py, |skeleton| Ok(skeleton.joints.len()))
    }

    /// The names of the joints; `joint_3` for a joint of a file that stores no joints.
    #[getter]
    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.look(py, |skeleton| {
            let joints = skeleton.joints.iter();
            Ok(joints.map(|joint| joint.name().into_owned()).collect())
        })
    }

    /// The index of the parent of each joint; None for roots. In a Second Life mesh, a parent may come after its children.
    #[getter]
    fn parents(&self, py: Python<'_>) -> PyResult<Vec<Option<usize>>> {
        self.look(py, |skeleton| {
            Ok(skeleton.joints.iter().map(|joint| joint.parent).collect())
        })
    }

    /// The transform of each joint at rest relative to its parent: `float64 [joints, 4, 4]`, for column vectors.
    #[getter]
    fn rest(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.look(py, |skeleton| {
            let joints = skeleton.joints.iter();
            let rest: Vec<_> = joints.map(|joint| joint.rest.to_matrix()).collect();
            matrices(py, rest.iter(), &[rest.len()])
        })
    }

    /// The transform of each joint at rest in the model's space: `float64 [joints, 4, 4]`, for column vectors.
    #[getter]
    fn bind(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.look(py, |skeleton| {
            let bind = skeleton.bind_matrices();
            matrices(py, bind.iter(), &[bind.len()])
        })
    }

    /// The matrices that take a vertex in the bind pose into each joint: `float64 [joints, 4, 4]`, for column vectors.
    #[getter]
    fn inverse_bind(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.look(py, |skeleton| {
            let inverse = &skeleton.inverse_bind;
            matrices(py, inverse.iter(), &[inverse.len()])
        })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let count = self.__len__(py)?;
        Ok(format!("<meshmap.SceneSkeleton: {count} joints>"))
    }
}

value! {
    /// Something that happens at a time of an animation, such as a footstep.
    pub struct Event as "Event" {
        /// The time in seconds from the first frame.
        seconds: f32,
        /// The number of what happens, which a game defines.
        code: u32,
        /// The data of what happens.
        data: String,
    }
    fn repr(this) { format!("<meshmap.Event {} at {} s>", this.code, this.seconds) }
}

/// An animation of the joints of a skeleton.
#[pyclass(frozen, name = "Clip", module = "meshmap")]
pub struct PyClip {
    pub(crate) scene: Held,
    pub(crate) index: usize,
}

impl PyClip {
    fn look<T>(&self, py: Python<'_>, work: impl FnOnce(&Clip) -> PyResult<T>) -> PyResult<T> {
        let whole = self.scene.get(py)?;
        work(whole.clips.get(self.index).ok_or_else(|| gone("clip"))?)
    }

    fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Clip) -> meshmap_scene::Result<T> + Send,
    ) -> PyResult<T> {
        self.scene.run_on_clip(py, self.index, work)
    }
}

#[pymethods]
impl PyClip {
    /// The name.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        self.look(py, |clip| Ok(clip.name().into_owned()))
    }

    /// The frames per second: as stored, or 24 if the file stores none that can be used.
    #[getter]
    fn rate(&self, py: Python<'_>) -> PyResult<f32> {
        self.look(py, |clip| Ok(clip.rate()))
    }

    /// False if the file stores no rate, or one that cannot be used.
    #[getter]
    fn is_rate_stored(&self, py: Python<'_>) -> PyResult<bool> {
        self.look(py, |clip| Ok(clip.is_rate_stored()))
    }

    /// True if the first frame follows the last one.
    #[getter]
    fn repeats(&self, py: Python<'_>) -> PyResult<bool> {
        self.look(py, |clip| Ok(clip.repeats()))
    }

    /// True if poses are stored relative to other parents than the joints have.
    #[getter]
    fn is_rebased(&self, py: Python<'_>) -> PyResult<bool> {
        self.look(py, |clip| Ok(clip.is_rebased()))
    }

    /// The number of frames.
    #[getter]
    fn frame_count(&self, py: Python<'_>) -> PyResult<usize> {
        self.look(py, |clip| Ok(clip.frame_count()))
    }

    /// The events, in the order of the file.
    #[getter]
    fn events(&self, py: Python<'_>) -> PyResult<Vec<Event>> {
        let events = self.run(py, Clip::events)?;
        let event = |event: meshmap_scene::Event| Event {
            seconds: event.seconds,
            code: event.code,
            data: event.data.to_string_lossy().into_owned(),
        };
        Ok(events.into_iter().map(event).collect())
    }

    /// The matrix of each joint in the model's space in a frame, counted from the first of the clip: `float64 [joints, 4, 4]`, for column
    /// vectors.
    ///
    /// A vertex `v` in the bind pose moves to the sum of `weight * (sample[joint] @ skeleton.inverse_bind[joint] @ v)` over its joints;
    /// the joint after the last one is the identity. They are right for every file, also if poses have other parents than joints.
    fn sample(&self, py: Python<'_>, frame: u32) -> PyResult<Py<PyAny>> {
        let sample = self.run(py, |clip| clip.sample(frame))?;
        matrices(py, sample.iter(), &[sample.len()])
    }

    /// The samples of the frames `start` up to `stop`, by default all, in one call: `float64 [frames, joints, 4, 4]`.
    #[pyo3(signature = (start=0, stop=None))]
    fn samples(&self, py: Python<'_>, start: u32, stop: Option<u32>) -> PyResult<Py<PyAny>> {
        let count = u32::try_from(self.frame_count(py)?).unwrap_or(u32::MAX);
        let stop = stop.unwrap_or(count).max(start);
        let joints = self.look(py, |clip| Ok(clip.joint_count()))?;
        let frames = (stop - start) as usize;
        // As they are sampled, and as rows.
        check_frames(
            py,
            frames,
            joints.saturating_mul(2 * size_of::<[f64; 16]>()),
        )?;
        let samples = self.run(py, |clip| {
            let mut samples = Vec::with_capacity(frames * joints);
            for frame in start..stop {
                samples.extend(clip.sample(frame)?);
            }
            Ok(samples)
        })?;
        matrices(py, samples.iter(), &[frames, joints])
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.look(py, |clip| {
            Ok(format!(
                "<meshmap.Clip {:?}: {} frames at {}>",
                clip.name(),
                clip.frame_count(),
                clip.rate()
            ))
        })
    }
}
