//! The attributes of meshes: as stored, converted, and interleaved into vertices.

use std::ffi::{c_char, c_void};

use meshmap::{AttributeInfo, Semantic, VertexFormat, VertexLayout};

use crate::fail::{Fail, Result, guard, mm_status};
use crate::format::unknown;
use crate::handle;
use crate::memory::{ByteTarget, First, Places, elements, put, put_sized, text};
use crate::mesh::{Mesh, mm_mesh};
use crate::scalar::{mm_scalar, scalar, scalar_number};
use crate::view::{Elements, mm_array_info};

/// The meaning of an attribute.
pub type mm_semantic = u32;
/// Positions.
pub const MM_SEMANTIC_POSITION: mm_semantic = 1;
/// Normals.
pub const MM_SEMANTIC_NORMAL: mm_semantic = 2;
/// Tangents; a fourth component is the sign of the bitangent.
pub const MM_SEMANTIC_TANGENT: mm_semantic = 3;
/// Texture coordinates, of a set.
pub const MM_SEMANTIC_TEXCOORD: mm_semantic = 4;
/// Colours, of a set.
pub const MM_SEMANTIC_COLOR: mm_semantic = 5;
/// Joint indices, of a set.
pub const MM_SEMANTIC_JOINTS: mm_semantic = 6;
/// Joint weights, of a set.
pub const MM_SEMANTIC_WEIGHTS: mm_semantic = 7;
/// Anything else, by its name in the file.
pub const MM_SEMANTIC_CUSTOM: mm_semantic = 8;

/// An attribute of a mesh, as it is stored.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_attribute_info {
    /// sizeof(mm_attribute_info), set by the caller.
    pub size: usize,
    /// The meaning.
    pub semantic: mm_semantic,
    /// The index of the set, for attributes that may have several.
    pub set: u32,
    /// The name, such as `texcoord[1]`, or the custom name for MM_SEMANTIC_CUSTOM.
    pub name: *const c_char,
    /// The type of each component.
    pub scalar: mm_scalar,
    /// The number of components.
    pub components: u32,
    /// `true` if integers stand for 0..1, or -1..1.
    pub normalized: bool,
}

// SAFETY: `repr(C)`, begins with its size, and is never read.
unsafe impl First for mm_attribute_info {}

/// An attribute of a vertex layout.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_layout_attribute {
    /// sizeof(mm_layout_attribute), set by the caller in each element of an array.
    pub size: usize,
    /// The meaning.
    pub semantic: mm_semantic,
    /// The index of the set, for attributes that may have several.
    pub set: u32,
    /// The name of MM_SEMANTIC_CUSTOM; else NULL.
    pub name: *const c_char,
    /// The type of each component that is written.
    pub scalar: mm_scalar,
    /// The number of components that are written.
    pub components: u32,
    /// 1 if integers stand for 0..1, or -1..1; else 0.
    pub normalized: u32,
    /// 1 if a mesh without the attribute gets `default_value`; 0 if it is an error.
    pub has_default: u32,
    /// The value that is written for a mesh without the attribute.
    pub default_value: [f32; 4],
    /// The byte offset of the attribute in each vertex; SIZE_MAX to place it after the previous ones, as graphics APIs require.
    pub offset: usize,
}

fn semantic_numbers(semantic: &Semantic) -> (mm_semantic, u32) {
    match semantic {
        Semantic::Position => (MM_SEMANTIC_POSITION, 0),
        Semantic::Normal => (MM_SEMANTIC_NORMAL, 0),
        Semantic::Tangent => (MM_SEMANTIC_TANGENT, 0),
        Semantic::TexCoord(set) => (MM_SEMANTIC_TEXCOORD, *set),
        Semantic::Color(set) => (MM_SEMANTIC_COLOR, *set),
        Semantic::Joints(set) => (MM_SEMANTIC_JOINTS, *set),
        Semantic::Weights(set) => (MM_SEMANTIC_WEIGHTS, *set),
        _ => (MM_SEMANTIC_CUSTOM, 0),
    }
}

unsafe fn semantic(number: mm_semantic, set: u32, name: *const c_char) -> Result<Semantic> {
    Ok(match number {
        MM_SEMANTIC_POSITION => Semantic::Position,
        MM_SEMANTIC_NORMAL => Semantic::Normal,
        MM_SEMANTIC_TANGENT => Semantic::Tangent,
        MM_SEMANTIC_TEXCOORD => Semantic::TexCoord(set),
        MM_SEMANTIC_COLOR => Semantic::Color(set),
        MM_SEMANTIC_JOINTS => Semantic::Joints(set),
        MM_SEMANTIC_WEIGHTS => Semantic::Weights(set),
        // SAFETY: the caller's, as the header says.
        MM_SEMANTIC_CUSTOM => Semantic::Custom(unsafe { text(name) }?.to_owned()),
        other => return Err(unknown("mm_semantic", other)),
    })
}

fn format(number: mm_scalar, components: u32, normalized: u32) -> Result<VertexFormat> {
    if !(1..=16).contains(&components) || normalized > 1 {
        return Err(Fail::argument(
            "expected 1 to 16 components, normalized (1) or not (0)",
        ));
    }
    let mut format = VertexFormat::FLOAT32;
    format.scalar = scalar(number)?;
    format.components = components;
    format.normalized = normalized == 1;
    Ok(format)
}

/// The stored format of an attribute, by its index. Reads nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_attribute(
    mesh: *const mm_mesh,
    index: usize,
    out: *mut mm_attribute_info,
) -> mm_status {
    guard(|| {
        let mesh = handle::get::<Mesh>(mesh)?;
        let (
            AttributeInfo {
                semantic,
                format: stored,
                ..
            },
            name,
            _,
        ) = mesh.at(index)?;
        let (number, set) = semantic_numbers(semantic);
        let info = mm_attribute_info {
            size: 0,
            semantic: number,
            set,
            name: name.as_ptr(),
            scalar: scalar_number(stored.scalar),
            components: stored.components,
            normalized: stored.normalized,
        };
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, info) }
    })
}

/// The index of an attribute by its meaning; `name` is the custom name for MM_SEMANTIC_CUSTOM, else NULL. MM_ABSENT if
/// the mesh does not have it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_find_attribute(
    mesh: *const mm_mesh,
    semantic: mm_semantic,
    set: u32,
    name: *const c_char,
    out: *mut usize,
) -> mm_status {
    guard(|| {
        let mesh = handle::get::<Mesh>(mesh)?;
        // SAFETY: the caller's, as the header says.
        let wanted = unsafe { self::semantic(semantic, set, name) }?;
        let index = mesh
            .view
            .attributes()
            .iter()
            .position(|info| info.semantic == wanted);
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, index.ok_or(Fail::Absent)?) }
    })
}

/// Exposes the stored elements of an attribute: of a file that is mapped or in memory, where they lie, if they are not
/// compressed. They are valid until the mesh is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_attribute_view(
    mesh: *const mm_mesh,
    index: usize,
    out: *mut mm_array_info,
) -> mm_status {
    guard(|| {
        let mesh = handle::get::<Mesh>(mesh)?;
        let (attribute, (_, name, kept)) = (mesh.attribute(index)?, mesh.at(index)?);
        let attribute = kept.get_or_init(|| attribute);
        let VertexFormat {
            scalar, components, ..
        } = attribute.format();
        let components = usize::try_from(components).unwrap_or(usize::MAX);
        let info = Elements::new(attribute.as_bytes(), scalar, components).info(name.as_ptr());
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, info) }
    })
}

/// Converts an attribute into the caller's memory: elements of `components` numbers of type `scalar`. Normalized integers
/// become 0..1 or -1..1 in floats, and the nearest in other integers. Components that are not stored are 0, except for 1 in the
/// fourth of positions and colours. Bytes between elements are not written. MM_ERROR_OUT_OF_RANGE for a number that the type
/// cannot hold.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_read_attribute(
    mesh: *const mm_mesh,
    index: usize,
    scalar: mm_scalar,
    components: u32,
    normalized: u32,
    out: *mut c_void,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    guard(|| {
        let mesh = handle::get::<Mesh>(mesh)?;
        let format = format(scalar, components, normalized)?;
        mesh.at(index)?;
        // SAFETY: the caller's, as the header says.
        let mut places = unsafe { Places::new(format.size(), out, stride, capacity, count) }?;
        places.begin(mesh.view.vertex_count())?;
        if !places.is_count_alone() {
            let stride = places.stride();
            mesh.attribute(index)?
                .write_chunks(format, stride, |offset, bytes| {
                    places.write_at(offset, bytes)
                })?;
        }
        Ok(())
    })
}

pub(crate) unsafe fn layout(
    attributes: *const mm_layout_attribute,
    count: usize,
    stride: usize,
) -> Result<VertexLayout> {
    /// No vertex of any API has as many.
    const MOST: usize = 1024;
    if count > MOST {
        return Err(Fail::argument(format!(
            "expected at most {MOST} attributes, found {count}"
        )));
    }
    // SAFETY: the caller's, as the header says.
    let attributes = unsafe { elements(attributes, count) }?;
    let mut layout = VertexLayout::new();
    for attribute in attributes {
        if attribute.size != size_of::<mm_layout_attribute>() {
            let text = format!(
                "expected the size of a struct in its first field, found {}",
                attribute.size
            );
            return Err(Fail::argument(text));
        }
        // SAFETY: the caller's, as the header says.
        let meaning = unsafe { semantic(attribute.semantic, attribute.set, attribute.name) }?;
        let format = format(attribute.scalar, attribute.components, attribute.normalized)?;
        layout = match attribute.has_default {
            0 => layout.with(meaning, format),
            1 => layout.with_default(meaning, format, attribute.default_value),
            other => return Err(unknown("has_default", other)),
        };
        if attribute.offset != usize::MAX {
            layout = layout.at(attribute.offset);
        }
    }
    Ok(if stride == 0 {
        layout
    } else {
        layout.with_stride(stride)
    })
}

/// Sets the offsets of a layout that are SIZE_MAX, and returns its stride.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_layout_resolve(
    attributes: *mut mm_layout_attribute,
    attribute_count: usize,
    stride: *mut usize,
) -> mm_status {
    guard(|| {
        // SAFETY: the caller's, as the header says.
        let layout = unsafe { layout(attributes, attribute_count, 0) }?;
        for (index, attribute) in layout.attributes().iter().enumerate() {
            // SAFETY: `layout` has read as many at an aligned address.
            unsafe { (*attributes.wrapping_add(index)).offset = attribute.offset };
        }
        // SAFETY: the caller's, as the header says.
        unsafe { put(stride, layout.stride()) }
    })
}

/// Writes all vertices in a layout, for a vertex buffer: each byte once, in ascending order, bytes between attributes (0)
/// included. Nothing is read back, so `out` may be mapped memory of a GPU. `stride` 0 is the stride of mm_layout_resolve.
/// MM_ERROR_MISMATCH if the mesh lacks an attribute that has no default. MM_ERROR_OUT_OF_RANGE for attributes that overlap or
/// are longer than the stride, and for a number that a type cannot hold.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_write_interleaved(
    mesh: *const mm_mesh,
    attributes: *const mm_layout_attribute,
    attribute_count: usize,
    stride: usize,
    out: *mut c_void,
    capacity: usize,
    bytes: *mut usize,
) -> mm_status {
    guard(|| {
        let mesh = handle::get::<Mesh>(mesh)?;
        // SAFETY: the caller's, as the header says.
        let target = unsafe {
            let layout = layout(attributes, attribute_count, stride)?;
            let needed = mesh.view.vertex_count().checked_mul(layout.stride());
            let needed = needed.ok_or_else(|| {
                Fail::argument("expected a stride that all vertices have room for")
            })?;
            ByteTarget::new(out, capacity, needed, bytes)?.map(|target| (target, layout))
        };
        if let Some((mut target, layout)) = target {
            mesh.view
                .write_interleaved(&layout, |offset, bytes| target.write(offset, bytes))?;
        }
        Ok(())
    })
}
