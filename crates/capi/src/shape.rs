//! The shapes of a scene, and their materials.

use std::ffi::c_char;
use std::sync::Arc;

use meshmap::{Role, Semantic, colors_to_linear, texture_paths};

use crate::fail::{Fail, guard, mm_status};
use crate::handle;
use crate::memory::{First, put_sized, put_text, text};
use crate::mesh::{Mesh, mm_mesh};
use crate::scene::{Drawing, mm_scene};

/// Something that is drawn: a mesh, a face of a level of detail, or one object through time.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_shape {
    /// sizeof(mm_shape), set by the caller.
    pub size: usize,
    /// The name; empty if the file stores none.
    pub name: *const c_char,
    /// The address of the mesh, or of the first snapshot.
    pub address: *const c_char,
    /// The number of keys: the snapshots of an object through time; 1 for a shape that stands still.
    pub key_count: usize,
    /// The seconds from one key to the next; 0 if the file stores none.
    pub seconds_per_key: f64,
    /// The level of detail, 0 the finest; -1 if the shape is not one.
    pub level: i64,
    /// The number of the object that the shape is a level of detail of; -1 for others.
    pub object: i64,
    /// `true` for a level of detail that is drawn in place of a finer one of the scene, and not with it.
    pub is_coarser: bool,
    /// `true` for an object through time, which may have only one key.
    pub has_keys: bool,
}

// SAFETY: `repr(C)`, begins with its size, and is never read.
unsafe impl First for mm_shape {}

/// The surface of triangles. Where several are there, the image, the colours of vertices and `color` are multiplied.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_material {
    /// sizeof(mm_material), set by the caller.
    pub size: usize,
    /// The name; empty if the file stores none.
    pub name: *const c_char,
    /// The name of the image of the first texture coordinates, as the file stores it; empty without one. mm_image_path has the paths at
    /// which it may be.
    pub image: *const c_char,
    /// The base colour as linear light: red, green, blue and alpha. White for a shape with colours of vertices, else a colour by which
    /// materials differ. Draw in white if the image is used.
    pub color: [f32; 4],
}

// SAFETY: `repr(C)`, begins with its size, and is never read.
unsafe impl First for mm_material {}

/// A shape of a scene.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_scene_get_shape(
    scene: *const mm_scene,
    index: usize,
    out: *mut mm_shape,
) -> mm_status {
    guard(|| {
        let drawing = handle::get::<Drawing>(scene)?;
        let shape = drawing.shape(index)?;
        let level = match shape.role() {
            Role::Lod(level) => level.into(),
            _ => -1,
        };
        let object = shape.object().map(i64::try_from);
        let info = mm_shape {
            size: 0,
            name: drawing.text(shape.name())?,
            address: drawing.text(&shape.address().to_string())?,
            key_count: shape.key_count(),
            seconds_per_key: shape.stored_step().unwrap_or(0.0),
            level,
            object: object.transpose().unwrap_or_default().unwrap_or(-1),
            is_coarser: shape.is_coarser(),
            has_keys: shape.has_keys(),
        };
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, info) }
    })
}

/// The material of triangles of a shape. `material_id` is mm_group.material of these triangles if their mesh has material IDs, else -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_scene_get_material(
    scene: *const mm_scene,
    shape: usize,
    material_id: i64,
    out: *mut mm_material,
) -> mm_status {
    guard(|| {
        let drawing = handle::get::<Drawing>(scene)?;
        let found = drawing.shape(shape)?;
        let material = found.material();
        let mut color = [[1.0; 4]];
        let mut attributes = found.attributes().iter();
        if !attributes.any(|info| info.semantic == Semantic::Color(0)) {
            let id = u32::try_from(material_id).ok();
            let [red, green, blue] = drawing.tints.color(shape, id);
            let channel = |byte: u8| f32::from(byte) / 255.0;
            color = [[channel(red), channel(green), channel(blue), 1.0]];
            colors_to_linear(&mut color);
        }
        let [color] = color;
        let image = material.and_then(|material| material.image);
        let info = mm_material {
            size: 0,
            name: drawing.text(material.map_or("", |material| material.name))?,
            image: drawing.text(image.unwrap_or_default())?,
            color,
        };
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, info) }
    })
}

/// Decodes a shape at a key, to be drawn: vertices in the pose of the scene, in the axes and the unit of the file; triangles
/// counter-clockwise around the front; V from the origin of mm_scene_options; colours as linear light, 4 floats; four joints (uint16_t)
/// and weights (float, the sum is 1) of a vertex. A vertex that no joint moves has the joint joint_count, which mm_scene_pose has as well.
/// Colours with numbers outside of 0 to 1 are other data, with MM_SEMANTIC_CUSTOM. All attributes are in memory then.
/// MM_ERROR_OUT_OF_RANGE if the shape or the key does not exist.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_scene_mesh(
    scene: *const mm_scene,
    shape: usize,
    key: usize,
    out: *mut *mut mm_mesh,
) -> mm_status {
    let mesh = || {
        let drawing = handle::get::<Drawing>(scene)?;
        let options = drawing.draw_options();
        let drawn = drawing.scene.draw(shape, key, &options)?;
        Ok(Arc::new(Mesh::new(drawn.mesh)))
    };
    // SAFETY: the caller's, as the header says.
    unsafe { handle::make(out, mesh) }
}

/// A path at which the image of a material may be, relative to the folder of the file: 0 is the best. Names are written on other computers,
/// and by strangers: the paths stay below the folder. MM_ABSENT if there are no further ones. `length` does not count the byte 0 at the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_image_path(
    image: *const c_char,
    index: usize,
    out: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> mm_status {
    guard(|| {
        // SAFETY: the caller's, as the header says.
        let paths = texture_paths(unsafe { text(image) }?);
        let path = paths.get(index).ok_or(Fail::Absent)?;
        // SAFETY: the caller's, as the header says.
        unsafe { put_text(path, out, capacity, length) }
    })
}
