//! The shapes of a scene, and their materials.

use std::ffi::c_char;
use std::sync::Arc;

use meshmap::{Role, colors_to_linear, texture_paths};

use crate::fail::{Fail, guard, mm_status};
use crate::handle;
use crate::memory::{First, put_if_any, put_sized, put_text, text};
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
    /// The seconds from one snapshot of the file to the next: as stored, 1/24 if the file stores none, or 1/30 and the like if whole
    /// microseconds are the rounded step of such a rate. mm_scene_key_at finds the keys at a time.
    pub seconds_per_key: f64,
    /// The level of detail, 0 the finest; -1 if the shape is not one.
    pub level: i64,
    /// The number of the object, for faces of a Second Life mesh: its levels of detail have the same; -1 for others.
    pub object: i64,
    /// `true` for a level of detail that is drawn in place of a finer one of the scene, and not with it.
    pub is_coarser: bool,
    /// `true` for an object through time, which may have only one key.
    pub has_keys: bool,
}

// SAFETY: `repr(C)`, begins with its size, and is never read.
unsafe impl First for mm_shape {}

/// The surface of triangles. Their colour is the image, if it is found, or else `color`, multiplied by the colours of vertices. Pixels of
/// images are sRGB, and repeat. Files do not say how alpha is meant.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_material {
    /// sizeof(mm_material), set by the caller.
    pub size: usize,
    /// The name; empty if the file stores none.
    pub name: *const c_char,
    /// The name of the image of the first texture coordinates, as the file stores it; empty without one. Many names, such as `skin`, are of
    /// no image: mm_image_path has the paths at which there may be one.
    pub image: *const c_char,
    /// The colour without an image, as linear light: red, green, blue and alpha. No format stores it: white for a shape with colours of
    /// vertices, else a colour of a palette, by which materials differ.
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
        let known = drawing.known_shape(index)?;
        let info = mm_shape {
            size: 0,
            name: known.name.as_ptr(),
            address: known.address.as_ptr(),
            key_count: shape.key_count(),
            seconds_per_key: shape.step(),
            level,
            object: object.transpose().unwrap_or_default().unwrap_or(-1),
            is_coarser: shape.is_coarser(),
            has_keys: shape.has_keys(),
        };
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, info) }
    })
}

/// The material of triangles of a shape. `material_id` is mm_group.material of these triangles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_scene_get_material(
    scene: *const mm_scene,
    shape: usize,
    material_id: u32,
    out: *mut mm_material,
) -> mm_status {
    guard(|| {
        let drawing = handle::get::<Drawing>(scene)?;
        let known = drawing.known_shape(shape)?;
        let mut color = [[1.0; 4]];
        if !known.has_colors {
            let [red, green, blue] = drawing.tints.color(shape, Some(material_id));
            let channel = |byte: u8| f32::from(byte) / 255.0;
            color = [[channel(red), channel(green), channel(blue), 1.0]];
            colors_to_linear(&mut color);
        }
        let [color] = color;
        let info = mm_material {
            size: 0,
            name: known.material.as_ptr(),
            image: known.image.as_ptr(),
            color,
        };
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, info) }
    })
}

/// The keys before and after a time of a shape in seconds from its first key, and the fraction between them. Before the first key and
/// after the last one, a shape stands still. Keys with equal indices have the same vertices, between which positions may be interpolated;
/// other keys are drawn one after the other. Each place may be NULL. MM_ERROR_ARGUMENT for a time that is not finite.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_scene_key_at(
    scene: *const mm_scene,
    shape: usize,
    seconds: f64,
    from: *mut usize,
    to: *mut usize,
    fraction: *mut f32,
) -> mm_status {
    guard(|| {
        let drawing = handle::get::<Drawing>(scene)?;
        let shape = drawing.shape(shape)?;
        if !seconds.is_finite() {
            return Err(Fail::argument(format!("expected a time, found {seconds}")));
        }
        let (before, after, between) = shape.keys_at(seconds);
        // SAFETY: the caller's, as the header says.
        unsafe {
            put_if_any(from, before);
            put_if_any(to, after);
            put_if_any(fraction, between);
        }
        Ok(())
    })
}

/// Decodes a shape at a key, to be drawn: a mesh whose vertices are in the bind pose (or in mm_scene_options.frame), in the axes and the unit
/// of the file; whose triangles run counter-clockwise around the front; and with these attributes, as far as the file has them, which
/// mm_mesh_read_attribute or mm_mesh_write_interleaved convert as needed:
///
/// MM_SEMANTIC_POSITION always; NORMAL as stored, also of length 0; TANGENT; TEXCOORD sets, whose V begins where mm_scene_options.v_origin
/// says; COLOR sets, linear light, 4 floats, while numbers outside of 0 to 1 are other data and get MM_SEMANTIC_CUSTOM; JOINTS, 4 uint16_t,
/// and WEIGHTS, 4 floats whose sum is 1, of set 0, if the scene has joints. A vertex that no joint moves has the joint joint_count, for which
/// mm_scene_pose has a matrix.
///
/// mm_mesh_by_material puts the triangles of one material together. MM_ERROR_OUT_OF_RANGE if the shape or the key does not exist.
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

/// A path at which the image of a material may be, with `/`, relative to the folder of the file. Try index 0, 1 and so on until a file is
/// there, or the status is MM_ABSENT: the name itself comes first if it has the ending of an image, then the same name with the endings png,
/// jpg, jpeg, tga, webp, dds, bmp, and all of them without folders. The image at the beginning of a name such as
/// `crate.pngMaterial.001` is among them. Names are written on other computers, and by strangers: the paths stay
/// below the folder. `length` does not count the byte 0 at the end.
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
