//! Scenes: what a file looks like, for programs that draw it without knowing its format.

use std::collections::HashSet;
use std::ffi::{CStr, CString, c_char};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use meshmap::{Address, Axis, Charge, MeshFile, VOrigin};
use meshmap_scene::{
    Clip, DrawOptions, Levels, PosedFrame, Remark, Scene, SceneOptions, Shape, Skeleton, Tints,
    matrix,
};

use crate::fail::{Fail, Result, guard, mm_status, status};
use crate::file::{File, mm_file};
use crate::format::{number, unknown, value};
use crate::handle::{self, Kind};
use crate::list::no_such;
use crate::memory::{First, c_string, put, put_sized, take_sized, text};

/// A file as it is drawn: shapes, materials, a skeleton and its clips.
pub struct mm_scene {
    _opaque: [u8; 0],
}

/// Levels of detail.
pub type mm_levels = u32;
/// The finest that the file has.
pub const MM_LEVELS_FINEST: mm_levels = 0;
/// All of them, of which one is drawn at a time: mm_shape.is_coarser is `false` for the finest.
pub const MM_LEVELS_ALL: mm_levels = 1;
/// The level of mm_scene_options.level.
pub const MM_LEVELS_ONE: mm_levels = 2;

/// An axis that points up.
pub type mm_axis = u32;
/// The axis of the file's format, or of the programs that usually write it.
pub const MM_AXIS_OF_FILE: mm_axis = 0;
/// The first coordinate.
pub const MM_AXIS_X: mm_axis = 1;
/// The second coordinate.
pub const MM_AXIS_Y: mm_axis = 2;
/// The third coordinate.
pub const MM_AXIS_Z: mm_axis = 3;
/// Against the first coordinate.
pub const MM_AXIS_NEGATIVE_X: mm_axis = 4;
/// Against the second coordinate.
pub const MM_AXIS_NEGATIVE_Y: mm_axis = 5;
/// Against the third coordinate.
pub const MM_AXIS_NEGATIVE_Z: mm_axis = 6;

/// The place of V = 0 in images.
pub type mm_v_origin = u32;
/// The first row of pixels, as Vulkan, Metal, Direct3D and glTF have it, and OpenGL if rows are uploaded from the top.
pub const MM_V_ORIGIN_TOP: mm_v_origin = 0;
/// The last row of pixels.
pub const MM_V_ORIGIN_BOTTOM: mm_v_origin = 1;

const AXES: [(u32, Axis); 6] = [
    (MM_AXIS_X, Axis::X),
    (MM_AXIS_Y, Axis::Y),
    (MM_AXIS_Z, Axis::Z),
    (MM_AXIS_NEGATIVE_X, Axis::NegX),
    (MM_AXIS_NEGATIVE_Y, Axis::NegY),
    (MM_AXIS_NEGATIVE_Z, Axis::NegZ),
];

const V_ORIGINS: [(u32, VOrigin); 2] = [
    (MM_V_ORIGIN_TOP, VOrigin::Top),
    (MM_V_ORIGIN_BOTTOM, VOrigin::Bottom),
];

/// The parts of a file that a scene has. MM_INIT makes the defaults; an option for another format has no effect.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_scene_options {
    /// sizeof(mm_scene_options), set by the caller.
    pub size: usize,
    /// The address of a mesh, or of a part that contains meshes, such as `high_lod` or `physics_convex`, each of which is a shape; NULL for all
    /// that viewers draw.
    pub mesh: *const c_char,
    /// An IQM file whose animations are added to the ones of an IQM file; MM_ERROR_FORMAT for a file of another format. NULL for none.
    pub animations: *const mm_file,
    /// The levels of detail of a Second Life mesh. The finest.
    pub levels: mm_levels,
    /// The level of MM_LEVELS_ONE; 0 is the finest that the format has.
    pub level: u32,
    /// The axis that points up in the file. The axis of the format.
    pub up: mm_axis,
    /// The place of V = 0 in images that mm_scene_mesh makes texture coordinates for. The top.
    pub v_origin: mm_v_origin,
    /// The length of 1 in millimetres; 0 for the unit that the file stores.
    pub unit_millimeters: f64,
    /// 1 if the vertices of an IQM file stand in a frame, and have no joints and weights; 0 if they are in the bind pose.
    pub has_frame: u32,
    /// That frame, counted over all animations.
    pub frame: u32,
    /// 1 to leave out meshes that cannot be read, which become remarks; 0 to fail with the error of the first one.
    pub skip_unreadable: u32,
    /// 1 if the program draws no triangles with two equal corners: a file of nothing but these, at most 1,024 of a mesh, is points then
    /// (mm_scene_info.are_points); else 0.
    pub drop_degenerate: u32,
}

// SAFETY: `repr(C)`, begins with its size, and has only integers, floats and pointers.
unsafe impl First for mm_scene_options {}

const DEFAULTS: mm_scene_options = mm_scene_options {
    size: size_of::<mm_scene_options>(),
    mesh: std::ptr::null(),
    animations: std::ptr::null(),
    levels: MM_LEVELS_FINEST,
    level: 0,
    up: MM_AXIS_OF_FILE,
    v_origin: MM_V_ORIGIN_TOP,
    unit_millimeters: 0.0,
    has_frame: 0,
    frame: 0,
    skip_unreadable: 0,
    drop_degenerate: 0,
};

/// The conventions of a scene, and the numbers of its parts.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_scene_info {
    /// sizeof(mm_scene_info), set by the caller.
    pub size: usize,
    /// The matrix that takes positions of the scene into a right-handed space in metres with Y up, column by column: the model matrix, a
    /// rotation and one scale. A file that does not know its unit keeps its size. No format says which way is the front.
    pub upright: [f32; 16],
    /// The length of 1 in metres; 0 if the file does not know its unit.
    pub metres_per_unit: f64,
    /// The axis that points up.
    pub up: mm_axis,
    /// `true` if the file's format or the options say which axis points up.
    pub knows_up: bool,
    /// `true` if all vertices are points, which are drawn without light, in the colours of vertices: no triangle is drawn.
    pub are_points: bool,
    /// `true` if the format does not define which side of a triangle is its front: draw both. `false` if back sides may be culled.
    pub is_double_sided: bool,
    /// The number of shapes.
    pub shape_count: usize,
    /// The number of joints; 0 without a skeleton.
    pub joint_count: usize,
    /// The number of clips.
    pub clip_count: usize,
    /// The number of remarks: parts that cannot be used as they are stored, one text each.
    pub remark_count: usize,
}

// SAFETY: `repr(C)`, begins with its size, and is never read.
unsafe impl First for mm_scene_info {}

/// The object behind an `mm_scene`.
pub(crate) struct Drawing {
    pub(crate) scene: Scene,
    pub(crate) skeleton: Option<Skeleton>,
    pub(crate) clips: Vec<Clip>,
    pub(crate) tints: Tints,
    pub(crate) v_origin: VOrigin,
    remarks: Vec<CString>,
    texts: Mutex<Texts>,
    /// The answers about each shape, once it is asked for: programs ask for the material of each triangle.
    known_shapes: Vec<OnceLock<KnownShape>>,
}

/// Texts that callers have asked for. Equal ones are one text.
struct Texts {
    known: HashSet<Arc<CStr>>,
    charge: Charge<'static>,
}

/// The texts of a shape and of its material, and whether its vertices have colours.
pub(crate) struct KnownShape {
    pub(crate) name: Arc<CStr>,
    pub(crate) address: Arc<CStr>,
    pub(crate) material: Arc<CStr>,
    pub(crate) image: Arc<CStr>,
    pub(crate) has_colors: bool,
}

impl Kind for Drawing {
    type Opaque = mm_scene;
    const NAME: &'static str = "mm_scene";
}

impl From<meshmap_scene::Error> for Fail {
    fn from(error: meshmap_scene::Error) -> Self {
        let status = match error {
            meshmap_scene::Error::Read(error) => return error.into(),
            meshmap_scene::Error::OtherJoints { .. } | meshmap_scene::Error::PoseCount { .. } => {
                status::MM_ERROR_MISMATCH
            }
            meshmap_scene::Error::Sheared { .. } => status::MM_ERROR_UNSUPPORTED,
            _ => status::MM_ERROR_OUT_OF_RANGE,
        };
        Self::new(status, error.to_string())
    }
}

impl Drawing {
    fn new(file: &MeshFile, options: &SceneOptions, v_origin: VOrigin) -> Result<Self> {
        let scene = Scene::new(file, options)?;
        let mut remarks = scene.remarks().to_vec();
        let skeleton = scene.skeleton(&mut remarks)?;
        let clips = match &skeleton {
            Some(skeleton) => scene.clips(skeleton.joints.len(), &mut remarks),
            None => Vec::new(),
        };
        let mut lines: Vec<String> = remarks.iter().map(Remark::to_string).collect();
        lines.extend(scene.unreadable().iter().map(ToString::to_string));
        for clip in &clips {
            let Err(error) = clip.event_count() else {
                continue;
            };
            if !error.is_of_a_part() {
                return Err(error.into());
            }
            // All clips of a file have the events of one table.
            let line = format!("events are left out: {error}");
            if lines.last() != Some(&line) {
                lines.push(line);
            }
        }
        let joints = skeleton.as_ref().map_or(0, |it| it.joints.len());
        if u16::try_from(joints).is_err() {
            lines.push(format!(
                "vertices follow no joints: there are {joints}, and vertices have indices up to {}",
                u16::MAX
            ));
        }
        let texts = Texts {
            known: HashSet::new(),
            charge: Charge::shared(scene.meter()),
        };
        Ok(Self {
            tints: scene.tints(),
            known_shapes: scene.shapes().iter().map(|_| OnceLock::new()).collect(),
            scene,
            skeleton,
            clips,
            v_origin,
            remarks: lines.iter().map(|line| c_string(line)).collect(),
            texts: Mutex::new(texts),
        })
    }

    /// A text for a caller, which lives as long as the scene.
    pub(crate) fn text(&self, text: &str) -> Result<Arc<CStr>> {
        let text = c_string(text);
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = texts.known.get(text.as_c_str()) {
            return Ok(Arc::clone(known));
        }
        let bytes = text.as_bytes().len().saturating_add(size_of::<Arc<CStr>>());
        texts.charge.grow(bytes as u64, "names of a scene")?;
        let text: Arc<CStr> = text.into();
        texts.known.insert(Arc::clone(&text));
        Ok(text)
    }

    pub(crate) fn known_shape(&self, index: usize) -> Result<&KnownShape> {
        let shapes = self.known_shapes.len();
        let place = self.known_shapes.get(index);
        let place = place.ok_or_else(|| no_such("shape", index, shapes))?;
        if let Some(known) = place.get() {
            return Ok(known);
        }
        let shape = self.shape(index)?;
        let material = shape.material();
        let image = material.and_then(|material| material.image);
        let made = KnownShape {
            name: self.text(shape.name())?,
            address: self.text(&shape.address().to_string())?,
            material: self.text(material.map_or("", |material| material.name))?,
            image: self.text(image.unwrap_or_default())?,
            has_colors: shape.has_colors()?,
        };
        Ok(place.get_or_init(|| made))
    }

    pub(crate) fn shape(&self, index: usize) -> Result<&Shape> {
        let shapes = self.scene.shapes();
        let shape = shapes.get(index);
        shape.ok_or_else(|| no_such("shape", index, shapes.len()))
    }

    pub(crate) fn joint_count(&self) -> usize {
        self.skeleton.as_ref().map_or(0, |it| it.joints.len())
    }

    pub(crate) fn draw_options(&self) -> DrawOptions<'static> {
        let mut options = DrawOptions::default();
        options.v_origin = self.v_origin;
        if self.skeleton.is_some() {
            // More joints than a vertex can name are a remark.
            options.joint_count = u16::try_from(self.joint_count()).ok();
        }
        options
    }
}

/// `true` for 1, `false` for 0.
fn flag(what: &str, number: u32) -> Result<bool> {
    match number {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(unknown(what, other)),
    }
}

/// The parts that a caller asks for.
unsafe fn parts(options: &mm_scene_options) -> Result<SceneOptions> {
    let mut parts = SceneOptions::default();
    if !options.mesh.is_null() {
        // SAFETY: the caller's, as the header says.
        let address = unsafe { text(options.mesh) }?;
        let address: Address = address.parse().map_err(meshmap::Error::from)?;
        parts.meshes.push(address);
    }
    if let Some(file) = handle::get_if_any::<File>(options.animations)? {
        let model = file.iqm()?;
        parts
            .animations
            .push(("the other file".to_owned(), model.clone()));
    }
    parts.levels = match options.levels {
        MM_LEVELS_FINEST => Levels::Finest,
        MM_LEVELS_ALL => Levels::All,
        MM_LEVELS_ONE => Levels::Only(options.level),
        other => return Err(unknown("mm_levels", other)),
    };
    if options.up != MM_AXIS_OF_FILE {
        parts.up = Some(value("mm_axis", &AXES, options.up)?);
    }
    let unit = options.unit_millimeters;
    if unit != 0.0 {
        let metres = unit / 1000.0;
        if unit < 0.0 || !(f64::from(f32::MIN_POSITIVE)..1e30).contains(&metres) {
            return Err(Fail::argument(format!(
                "expected unit_millimeters greater than 0, or 0 for the unit of the file, found {unit}"
            )));
        }
        parts.unit_millimeters = Some(unit);
    }
    if flag("has_frame", options.has_frame)? {
        parts.frame = Some(PosedFrame::new(options.frame));
    }
    parts.skips_unreadable = flag("skip_unreadable", options.skip_unreadable)?;
    parts.drops_degenerate = flag("drop_degenerate", options.drop_degenerate)?;
    Ok(parts)
}

/// Makes the scene of a file. Reads headers, tables and the indices of meshes; mm_scene_mesh decodes a shape.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_scene_new(
    file: *const mm_file,
    options: *const mm_scene_options,
    out: *mut *mut mm_scene,
) -> mm_status {
    let scene = || {
        let file = handle::get::<File>(file)?;
        // SAFETY: the caller's, as the header says.
        let options = unsafe { take_sized(options, DEFAULTS) }?;
        let v_origin = value("mm_v_origin", &V_ORIGINS, options.v_origin)?;
        // SAFETY: the caller's, as the header says.
        let parts = unsafe { parts(&options) }?;
        Ok(Arc::new(Drawing::new(&file.file, &parts, v_origin)?))
    };
    // SAFETY: the caller's, as the header says.
    unsafe { handle::make(out, scene) }
}

/// Frees a scene and its texts. Meshes of it stay valid.
#[unsafe(no_mangle)]
pub extern "C" fn mm_scene_free(scene: *mut mm_scene) -> mm_status {
    guard(|| handle::close::<Drawing>(scene))
}

/// The conventions of a scene, and the numbers of its parts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_scene_get_info(
    scene: *const mm_scene,
    out: *mut mm_scene_info,
) -> mm_status {
    guard(|| {
        let drawing = handle::get::<Drawing>(scene)?;
        let scene = &drawing.scene;
        let info = mm_scene_info {
            size: 0,
            upright: matrix::rounded(&scene.upright()),
            metres_per_unit: scene.unit().metres().unwrap_or(0.0),
            up: number(&AXES, scene.up()),
            knows_up: scene.knows_up(),
            are_points: scene.are_points(),
            is_double_sided: scene.conventions().front_face.is_none(),
            shape_count: scene.shapes().len(),
            joint_count: drawing.joint_count(),
            clip_count: drawing.clips.len(),
            remark_count: drawing.remarks.len(),
        };
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, info) }
    })
}

/// A remark about a scene: one line for people about a part that cannot be used as it is stored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_scene_remark(
    scene: *const mm_scene,
    index: usize,
    out: *mut *const c_char,
) -> mm_status {
    guard(|| {
        let drawing = handle::get::<Drawing>(scene)?;
        let remark = drawing.remarks.get(index);
        let remark = remark.ok_or_else(|| no_such("remark", index, drawing.remarks.len()))?;
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, remark.as_ptr()) }
    })
}
