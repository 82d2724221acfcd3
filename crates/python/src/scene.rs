//! `meshmap.Scene`: what a file looks like, as all programs of the project draw it.

use meshmap::{Address, Axis};
use meshmap_export::Lods;
use meshmap_scene::{Joints, Levels, PosedFrame, Remark, SceneOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::again::{Reduced, value};
use crate::buffer;
use crate::export::file_of;
use crate::mesh::Mesh;
use crate::rig::{PyClip, SceneSkeleton};
use crate::shape::PyShape;
use crate::whole::{Arguments, Held, Whole, matrices};

/// The look of a file: shapes, the joints that move them, and the meaning of their numbers.
///
/// `meshmap.scene` makes it. The same code decides for `convert`, `render`, the command and other languages.
#[pyclass(frozen, name = "Scene", module = "meshmap")]
pub struct PyScene {
    scene: Held,
    /// The arguments of `scene` except for the file.
    options: Py<PyDict>,
}

/// The levels of detail of a name, as in `convert`; also of the name of a block, such as `high_lod`.
fn levels_of(lod: &str) -> PyResult<Levels> {
    let name = lod.strip_suffix("_lod").unwrap_or(lod);
    let lods = name.parse::<Lods>().map_err(|_| {
        PyValueError::new_err(format!(
            "lod is '{lod}': expected finest, all, high, medium, low or lowest"
        ))
    })?;
    Ok(lods.levels())
}

fn axis_of(name: &str) -> PyResult<Axis> {
    name.parse().map_err(|_| {
        PyValueError::new_err(format!("up is '{name}': expected x, y, z, -x, -y or -z"))
    })
}

/// Makes the scene of a file: shapes, materials, a skeleton and its animations, with what their numbers mean.
///
/// Reads headers and tables; shapes are decoded when they are asked for.
///
/// Args:
///     source: A file, or what `open` takes.
///     meshes: Addresses of meshes, or of parts that contain some, as `high_lod` or `physics_convex`; by default what viewers show.
///     lod: The level of detail of a Second Life asset: `finest`, `all`, `high`, `medium`, `low` or `lowest`.
///     snapshots: Snapshots of a CGeo file, by their numbers; by default all.
///     frame: The frame of an IQM file in which vertices stand, counted over all animations. By default they are in the bind pose.
///     anim: The name of the only animation.
///     animations: IQM files with animations for the joints of this one, which are added to its own.
///     up: The axis that points up in the file, instead of the axis of the format.
///     unit_millimeters: Millimetres per unit of the file, instead of the unit that it stores.
///     drop_degenerate: Does not draw triangles with two equal corners: vertices of nothing but these are points.
///     skip_unreadable: Leaves out meshes that cannot be read, which `unreadable` lists. Otherwise the first of them is raised.
///
/// Raises:
///     Error: The file cannot be read, or a part that was asked for is not there or does not fit.
#[pyfunction]
#[pyo3(signature = (
    source, /, *, meshes=None, lod="finest", snapshots=None, frame=None, anim=None, animations=None, up=None,
    unit_millimeters=None, drop_degenerate=false, skip_unreadable=false
))]
#[expect(
    clippy::too_many_arguments,
    reason = "each has a name and a default in Python"
)]
pub(crate) fn scene(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    meshes: Option<Vec<String>>,
    lod: &str,
    snapshots: Option<Vec<usize>>,
    frame: Option<u32>,
    anim: Option<String>,
    animations: Option<Vec<Bound<'_, PyAny>>>,
    up: Option<&str>,
    unit_millimeters: Option<f64>,
    drop_degenerate: bool,
    skip_unreadable: bool,
) -> PyResult<PyScene> {
    let given = PyDict::new(py);
    given.set_item("meshes", &meshes)?;
    given.set_item("lod", lod)?;
    given.set_item("snapshots", &snapshots)?;
    given.set_item("frame", frame)?;
    given.set_item("anim", &anim)?;
    given.set_item("animations", &animations)?;
    given.set_item("up", up)?;
    given.set_item("unit_millimeters", unit_millimeters)?;
    given.set_item("drop_degenerate", drop_degenerate)?;
    given.set_item("skip_unreadable", skip_unreadable)?;

    let mut options = SceneOptions::default();
    for mesh in meshes.unwrap_or_default() {
        let address = mesh
            .parse::<Address>()
            .map_err(|_| PyValueError::new_err(format!("{mesh:?} is not the address of a mesh")))?;
        options.meshes.push(address);
    }
    options.levels = levels_of(lod)?;
    options.snapshots = snapshots;
    options.frame = frame.map(PosedFrame::new);
    options.animation = anim;
    options.up = up.map(axis_of).transpose()?;
    options.unit_millimeters = unit_millimeters;
    options.drops_degenerate = drop_degenerate;
    options.skips_unreadable = skip_unreadable;
    let mut others = Vec::new();
    for animation in animations.unwrap_or_default() {
        let (file, handle, name, _) = file_of(py, &animation)?;
        if file.as_iqm().is_none() {
            let message = format!("animations: expected IQM files, found {}", file.format());
            return Err(PyValueError::new_err(message));
        }
        others.push((name, handle));
    }
    let arguments = Arguments { options, others };
    let (file, handle, _, _) = file_of(py, source)?;
    let scene = Held::new(py, handle, &file, arguments)?;
    let options = given.unbind();
    Ok(PyScene { scene, options })
}

value! {
    /// A kind of data that a file has.
    pub struct Fact as "Fact" {
        /// The kind, such as `tangents`.
        kind: String,
        /// The number of items.
        count: u64,
        /// The first items by their addresses or names.
        first: Vec<String>,
    }
    fn repr(this) { format!("<meshmap.Fact {}: {}>", this.kind, this.count) }
}

/// The scene of a mesh, for the loaders of other packages.
#[pyfunction]
pub(crate) fn scene_of_mesh(mesh: &Bound<'_, Mesh>) -> PyResult<PyScene> {
    let py = mesh.py();
    let (handle, address) = mesh.get().origin();
    let given = PyDict::new(py);
    given.set_item("meshes", [address.to_string()])?;
    let mut options = SceneOptions::default();
    options.meshes.push(address.clone());
    let others = Vec::new();
    let arguments = Arguments { options, others };
    let file = handle.run(py, || handle.open())?;
    let scene = Held::new(py, handle.clone(), &file, arguments)?;
    let options = given.unbind();
    Ok(PyScene { scene, options })
}

#[pymethods]
impl PyScene {
    /// The name of the format: `cgeo`, `iqm`, `openctm`, `slmesh` or `tmf`.
    #[getter]
    fn format(&self) -> &'static str {
        self.scene.handle().format.name()
    }

    /// The axis that points up: `x`, `y`, `z`, `-x`, `-y` or `-z`. If the format has none, the axis of the programs that usually write it.
    #[getter]
    fn up(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(self.scene.get(py)?.scene.up().name())
    }

    /// False if neither the format nor the arguments say which axis points up.
    #[getter]
    fn knows_up(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.scene.get(py)?.scene.knows_up())
    }

    /// The length of 1 in metres; None if the file does not say, and programs take 1 for a metre.
    #[getter]
    fn metres_per_unit(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(self.scene.get(py)?.scene.unit().metres())
    }

    /// The matrix that makes positions upright and metres, `float64 [4, 4]`, for column vectors: Y points up.
    #[getter]
    fn upright(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let upright = self.scene.get(py)?.scene.upright();
        matrices(py, [&upright].into_iter(), &[])
    }

    /// True if the vertices of all shapes are points: no triangle is drawn.
    #[getter]
    fn are_points(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.scene.get(py)?.scene.are_points())
    }

    /// True if `arrays` have the corners of triangles in another order than the file, so that they run counter-clockwise around the front.
    #[getter]
    fn turns_triangles(&self, py: Python<'_>) -> PyResult<bool> {
        self.scene.run(py, Whole::turns_triangles)
    }

    /// The shapes that are drawn, in the order of the file.
    #[getter]
    fn shapes(slf: &Bound<'_, Self>) -> PyResult<Vec<PyShape>> {
        let count = slf.get().scene.get(slf.py())?.scene.shapes().len();
        let shape = |index| PyShape {
            scene: slf.get().scene.clone(),
            index,
        };
        Ok((0..count).map(shape).collect())
    }

    /// The joints that vertices follow; None if there are none, if vertices stand in a `frame`, or if joints cannot be used.
    #[getter]
    fn skeleton(slf: &Bound<'_, Self>) -> PyResult<Option<SceneSkeleton>> {
        let whole = slf.get().scene.get(slf.py())?;
        Ok(whole.skeleton.is_some().then(|| SceneSkeleton {
            scene: slf.get().scene.clone(),
        }))
    }

    /// The animations of the skeleton: first the file's own, then the ones of `animations`.
    #[getter]
    fn clips(slf: &Bound<'_, Self>) -> PyResult<Vec<PyClip>> {
        let count = slf.get().scene.get(slf.py())?.clips.len();
        let clip = |index| PyClip {
            scene: slf.get().scene.clone(),
            index,
        };
        Ok((0..count).map(clip).collect())
    }

    /// The joints of a file without meshes, `float32 [bones, 2, 3]`: the places of the parent of each and of the joint itself. Joints that
    /// stand in one place are one.
    #[getter]
    fn bones(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let whole = self.scene.get(py)?;
        let bones = whole.scene.bones();
        let numbers = bones.as_flattened().as_flattened().to_vec();
        buffer::of_floats(py, numbers, &[bones.len(), 2, 3])
    }

    /// True if there are joints and no meshes.
    #[getter]
    fn has_only_joints(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.scene.get(py)?.scene.has_only_joints())
    }

    /// Parts of shapes that cannot be used as they are stored, a line each.
    #[getter]
    fn remarks(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let whole = self.scene.get(py)?;
        Ok(whole
            .scene
            .remarks()
            .iter()
            .map(Remark::to_string)
            .collect())
    }

    /// The errors of meshes that cannot be read, with `skip_unreadable`.
    #[getter]
    fn unreadable(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let whole = self.scene.get(py)?;
        let errors = whole.scene.unreadable().iter();
        Ok(errors.map(|error| format!("{error:#}")).collect())
    }

    /// The data of the file that somebody could miss in what is made of the scene: kind, count and the names of the first items of each.
    ///
    /// It covers the parts that were asked for; other parts are counted as a whole.
    fn facts(&self, py: Python<'_>) -> PyResult<Vec<Fact>> {
        let facts = self.scene.run(py, |whole| Ok(whole.scene.facts()))?;
        let fact = |fact: meshmap_scene::Fact| Fact {
            kind: fact.kind.name().to_owned(),
            count: fact.count,
            first: fact.first,
        };
        Ok(facts.into_iter().map(fact).collect())
    }

    /// Joints and animations that cannot be used as they are stored, a line each.
    #[getter]
    fn joint_remarks(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let whole = self.scene.get(py)?;
        Ok(whole.joint_remarks.iter().map(Remark::to_string).collect())
    }

    /// By its file: the scene is made again.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let again = py.import("meshmap._again")?.getattr("_scene")?;
        let (_, file) = self.scene.handle().origin.reduced(py)?;
        let arguments = (file, self.options.clone_ref(py)).into_pyobject(py)?;
        Ok((again, arguments))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let whole = self.scene.get(py)?;
        let joints = match whole.scene.joints() {
            Joints::Skeleton { joints, clips } => format!(", {joints} joints, {clips} animations"),
            Joints::Skin { joints } => format!(", {joints} joints"),
            _ => String::new(),
        };
        Ok(format!(
            "<meshmap.Scene of {}: {} shapes{joints}>",
            self.format(),
            whole.scene.shapes().len()
        ))
    }
}
