//! Meshes of any format, as a renderer sees them.
//!
//! One file because all of it is the handle `mm_mesh`: its structs, and the functions that take it.

use std::ffi::{CString, c_char, c_void};
use std::sync::{Arc, OnceLock};

use meshmap::{Address, Attribute, IndexFormat, MeshView, Scalar, Semantic, VertexFormat, VertexLayout};

use crate::fail::{Fail, Result, guard, mm_status, status};
use crate::file::{File, again, mm_file};
use crate::handle::{self, Kind};
use crate::list::{findings, mm_finding_list, mm_role, no_such, role_numbers};
use crate::memory::{ByteTarget, First, Target, c_string, elements, put, put_if_any, put_sized, text};
use crate::options::{
    MM_INDEX_NARROWEST, MM_INDEX_U16, MM_INDEX_U32, index_number, mm_index_format, mm_scalar, scalar,
    scalar_number, unknown,
};
use crate::view::mm_view;

/// A mesh of a file of any format: one vertex buffer and one index buffer. Every thread may use it.
pub struct mm_mesh {
    _opaque: [u8; 0],
}

/// The meaning of an attribute: MM_SEMANTIC_*.
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

/// A box around points.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct mm_bounds {
    /// The least x, y and z.
    pub min: [f32; 3],
    /// The greatest x, y and z.
    pub max: [f32; 3],
}

/// The description of a mesh, without its attributes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_mesh_info {
    /// sizeof(mm_mesh_info), set by the caller.
    pub size: usize,
    /// Elements of every attribute.
    pub vertex_count: usize,
    /// Three for each triangle.
    pub index_count: usize,
    /// Attributes that are stored.
    pub attribute_count: usize,
    /// The address of the mesh in its file.
    pub address: *const c_char,
    /// The name of the mesh; empty if it has no name.
    pub name: *const c_char,
    /// The name of the material; empty if the mesh has none.
    pub material: *const c_char,
    /// The purpose of the mesh: MM_ROLE_*.
    pub role: mm_role,
    /// The stored format of indices: MM_INDEX_U16 or MM_INDEX_U32.
    pub index_format: mm_index_format,
    /// `true` if each triangle has a material ID (mm_mesh_material_ids).
    pub has_material_ids: bool,
    /// `true` if `seconds` is valid.
    pub has_seconds: bool,
    /// The index of the level of detail or snapshot.
    pub role_index: u64,
    /// The time of the snapshot.
    pub seconds: f64,
}

// SAFETY: `repr(C)`, begins with its size, and is never read.
unsafe impl First for mm_mesh_info {}

/// An attribute of a mesh, as it is stored.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_attribute_info {
    /// sizeof(mm_attribute_info), set by the caller.
    pub size: usize,
    /// MM_SEMANTIC_*.
    pub semantic: mm_semantic,
    /// The index of the set, for attributes that may have several.
    pub set: u32,
    /// The name, such as `texcoord[1]`, or the custom name for MM_SEMANTIC_CUSTOM.
    pub name: *const c_char,
    /// The type of each component: MM_SCALAR_*.
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
    /// MM_SEMANTIC_*.
    pub semantic: mm_semantic,
    /// The index of the set, for attributes that may have several.
    pub set: u32,
    /// The name of MM_SEMANTIC_CUSTOM; else NULL.
    pub name: *const c_char,
    /// The type of each component that is written: MM_SCALAR_*.
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

/// Triangles of one material: one draw call.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, zerocopy::IntoBytes, zerocopy::Immutable)]
pub struct mm_group {
    /// The material, as a number of the file's.
    pub material: u32,
    /// A range of vertices that has all that the triangles use begins here.
    pub first_vertex: u32,
    /// Its length.
    pub vertex_count: u32,
    /// 0.
    pub reserved: u32,
    /// The first triangle.
    pub first_triangle: u64,
    /// The number of triangles.
    pub triangle_count: u64,
}

/// The object behind an `mm_mesh`.
struct Mesh {
    view: MeshView,
    address: CString,
    name: CString,
    material: CString,
    /// Each with its name, and what was read of it to be shown.
    attributes: Vec<(CString, OnceLock<Attribute>)>,
}

impl Kind for Mesh {
    type Opaque = mm_mesh;
    const NAME: &'static str = "mm_mesh";
}

impl Mesh {
    fn new(view: MeshView) -> Self {
        let attribute = |semantic: &Semantic| match semantic {
            Semantic::Custom(name) => c_string(name),
            other => c_string(&other.to_string()),
        };
        Self {
            address: c_string(&view.address().to_string()),
            name: c_string(view.name()),
            material: c_string(view.material().unwrap_or_default()),
            attributes: view
                .attributes()
                .iter()
                .map(|info| (attribute(&info.semantic), OnceLock::new()))
                .collect(),
            view,
        }
    }

    fn semantic(&self, index: usize) -> Result<&Semantic> {
        let attributes = self.view.attributes();
        let info = attributes.get(index).ok_or_else(|| no_such("attribute", index, attributes.len()))?;
        Ok(&info.semantic)
    }

    /// An attribute, read.
    fn attribute(&self, index: usize) -> Result<Attribute> {
        let semantic = self.semantic(index)?;
        if let Some(kept) = self.attributes.get(index).and_then(|(_, kept)| kept.get()) {
            return Ok(kept.clone());
        }
        self.view.attribute(semantic)?.ok_or(Fail::Absent)
    }

    /// An attribute, read and kept.
    fn kept(&self, index: usize) -> Result<&Attribute> {
        let attribute = self.attribute(index)?;
        let (_, kept) = self.attributes.get(index).ok_or(Fail::Absent)?;
        Ok(kept.get_or_init(|| attribute))
    }
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
        return Err(Fail::argument("expected 1 to 16 components, normalized (1) or not (0)"));
    }
    let mut format = VertexFormat::FLOAT32;
    format.scalar = scalar(number)?;
    format.components = components;
    format.normalized = normalized == 1;
    Ok(format)
}

/// The mesh at an address, such as `meshes[0]`, `snapshots[12]`, `high_lod.faces[0]` or `meshes["Body"]`. Its indices are read
/// and checked.
///
/// Ownership: `*out` is the caller's, for mm_mesh_free; it lives without the file. Threads: any. Errors:
/// MM_ERROR_OUT_OF_RANGE if the file has no such mesh, and errors of reading.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_at(
    file: *const mm_file,
    address: *const c_char,
    out: *mut *mut mm_mesh,
) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        // SAFETY: the caller's, as the header says.
        let address = unsafe {
            put(out, std::ptr::null_mut())?;
            text(address)?
        };
        let address: Address = address.parse().map_err(meshmap::Error::from)?;
        let mesh = handle::new(Arc::new(Mesh::new(file.file.mesh(&address)?)))?;
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, mesh) }
    })
}

/// Makes another handle of a mesh, to be freed on its own.
///
/// Ownership: `*out` is the caller's, for mm_mesh_free. Threads: any. Errors: MM_ERROR_HANDLE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_ref(mesh: *const mm_mesh, out: *mut *mut mm_mesh) -> mm_status {
    // SAFETY: the caller's, as the header says.
    guard(|| unsafe { again::<Mesh>(mesh, out) })
}

/// Frees a mesh, and what is shown of it. NULL is passed over.
///
/// Ownership: takes the handle. Threads: any. Errors: MM_ERROR_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn mm_mesh_free(mesh: *mut mm_mesh) -> mm_status {
    guard(|| handle::close::<Mesh>(mesh))
}

/// A mesh with its triangles ordered by material, so that mm_mesh_groups has one for each. Vertices stay as they are.
///
/// Ownership: `*out` is the caller's, for mm_mesh_free. Threads: any. Errors: MM_ERROR_LIMIT_EXCEEDED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_by_material(mesh: *const mm_mesh, out: *mut *mut mm_mesh) -> mm_status {
    guard(|| {
        let mesh = handle::get::<Mesh>(mesh)?;
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, std::ptr::null_mut()) }?;
        let sorted = handle::new(Arc::new(Mesh::new(mesh.view.by_material()?)))?;
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, sorted) }
    })
}

/// The description of a mesh. `out->size` is set before.
///
/// Ownership: texts are the mesh's. Threads: any. Errors: MM_ERROR_HANDLE, MM_ERROR_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_get_info(mesh: *const mm_mesh, out: *mut mm_mesh_info) -> mm_status {
    guard(|| {
        let mesh = handle::get::<Mesh>(mesh)?;
        let (role, role_index, seconds) = role_numbers(mesh.view.role());
        let info = mm_mesh_info {
            size: 0,
            vertex_count: mesh.view.vertex_count(),
            index_count: mesh.view.indices().len(),
            attribute_count: mesh.view.attributes().len(),
            address: mesh.address.as_ptr(),
            name: mesh.name.as_ptr(),
            material: mesh.material.as_ptr(),
            role,
            index_format: index_number(mesh.view.indices().format()),
            has_material_ids: mesh.view.material_ids().is_some(),
            has_seconds: seconds.is_some(),
            role_index,
            seconds: seconds.unwrap_or(0.0),
        };
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, info) }
    })
}

/// The smallest box around the positions.
///
/// Ownership: nothing is transferred. Threads: any. Errors: MM_ABSENT if no position is finite; errors of reading.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_bounds(mesh: *const mm_mesh, out: *mut mm_bounds) -> mm_status {
    guard(|| {
        let mesh = handle::get::<Mesh>(mesh)?;
        let bounds = mesh.view.bounds()?.ok_or(Fail::Absent)?;
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, mm_bounds { min: bounds.min, max: bounds.max }) }
    })
}

/// The findings of a mesh: the rules of its format that it breaks.
///
/// Ownership: `*out` is the caller's, for mm_finding_list_free. Threads: any. Errors: MM_ERROR_HANDLE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_findings(mesh: *const mm_mesh, out: *mut *mut mm_finding_list) -> mm_status {
    guard(|| {
        let mesh = handle::get::<Mesh>(mesh)?;
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, std::ptr::null_mut()) }?;
        let list = findings(mesh.view.findings())?;
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, list) }
    })
}

/// The stored format of an attribute, by its index. `out->size` is set before. Reads nothing.
///
/// Ownership: the name is the mesh's. Threads: any. Errors: MM_ERROR_OUT_OF_RANGE if the mesh has no such
/// attribute.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_attribute(
    mesh: *const mm_mesh,
    index: usize,
    out: *mut mm_attribute_info,
) -> mm_status {
    guard(|| {
        let mesh = handle::get::<Mesh>(mesh)?;
        let (number, set) = semantic_numbers(mesh.semantic(index)?);
        let stored = mesh.view.attributes().get(index).map(|info| info.format).ok_or(Fail::Absent)?;
        let (name, _) = mesh.attributes.get(index).ok_or(Fail::Absent)?;
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

/// The index of an attribute by its meaning; `name` is the custom name for MM_SEMANTIC_CUSTOM, else NULL.
///
/// Ownership: nothing is transferred. Threads: any. Errors: MM_ABSENT if the mesh does not have it.
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
        let index = mesh.view.attributes().iter().position(|info| info.semantic == wanted);
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, index.ok_or(Fail::Absent)?) }
    })
}

/// Shows the stored elements of an attribute: of a file that is mapped or in memory, where they lie, if they are not compressed.
/// `out->size` is set before.
///
/// Ownership: the elements are the mesh's, and valid until it is freed. Threads: any. Errors: MM_ERROR_OUT_OF_RANGE if the mesh has
/// no such attribute, and errors of reading.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_attribute_view(
    mesh: *const mm_mesh,
    index: usize,
    out: *mut mm_view,
) -> mm_status {
    guard(|| {
        let mesh = handle::get::<Mesh>(mesh)?;
        let attribute = mesh.kept(index)?;
        let VertexFormat { scalar, components, normalized, .. } = attribute.format();
        let view = mm_view::new(attribute.as_bytes(), scalar, components, normalized);
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, view) }
    })
}

/// A view of the positions, if they are stored as floats and aligned for the processor: three for each of `*count` vertices.
///
/// Ownership: they are the mesh's, and valid until it is freed. Threads: any. Errors: MM_ERROR_UNSUPPORTED if they are stored
/// otherwise (mm_mesh_read_attribute converts); MM_ABSENT if the mesh has no positions; errors of reading.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_positions(
    mesh: *const mm_mesh,
    out: *mut *const f32,
    count: *mut usize,
) -> mm_status {
    guard(|| {
        let mesh = handle::get::<Mesh>(mesh)?;
        let mut attributes = mesh.view.attributes().iter();
        let index = attributes.position(|info| info.semantic == Semantic::Position).ok_or(Fail::Absent)?;
        let attribute = mesh.kept(index)?;
        let array = attribute.array::<[f32; 3]>();
        let found = array.as_ref().and_then(|array| array.as_native()).ok_or_else(|| {
            let format = attribute.format();
            let text = format!("expected positions of three aligned floats, found {format}");
            Fail::new(status::MM_ERROR_UNSUPPORTED, text)
        })?;
        // SAFETY: the caller's, as the header says.
        unsafe {
            put(out, found.as_ptr().cast())?;
            put(count, found.len())
        }
    })
}

/// Converts an attribute into the caller's memory: elements of `components` numbers of type `scalar`, `stride` bytes apart (0:
/// packed). Normalized integers become 0..1 or -1..1 in floats, and the nearest in other integers. Components that are not
/// stored are 0, except for 1 in the fourth of positions and colours. `out` NULL asks for the count.
///
/// Ownership: `out` stays the caller's; bytes between elements are not written. Threads: any. Errors: MM_ERROR_BUFFER if `capacity`
/// elements are too few; MM_ERROR_OUT_OF_RANGE for a number that the type cannot hold; errors of reading.
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
        mesh.semantic(index)?;
        let vertices = mesh.view.vertex_count();
        let stride = if stride == 0 { format.size() } else { stride };
        let bytes = |elements: usize| match elements {
            0 => Some(0),
            elements => elements.saturating_sub(1).checked_mul(stride)?.checked_add(format.size()),
        };
        let too_large = || Fail::argument("expected memory of a size that there is");
        let (room, needed) = (bytes(capacity), bytes(vertices).ok_or_else(too_large)?);
        if stride < format.size() {
            let text = format!("expected a stride of at least {} bytes, found {stride}", format.size());
            return Err(Fail::argument(text));
        }
        let room = if out.is_null() { 0 } else { room.ok_or_else(too_large)? };
        let mut ignored = 0;
        // SAFETY: the caller's, as the header says.
        let target = unsafe {
            put_if_any(count, vertices);
            let needed_too = if count.is_null() { std::ptr::null_mut() } else { &raw mut ignored };
            ByteTarget::new(out, room, needed, needed_too)
        };
        if let Some(mut target) = target? {
            mesh.attribute(index)?
                .write_chunks(format, stride, |offset, bytes| target.write(offset, bytes))?;
        }
        Ok(())
    })
}

unsafe fn layout(
    attributes: *const mm_layout_attribute,
    count: usize,
    stride: usize,
) -> Result<VertexLayout> {
    /// No vertex of any API has as many.
    const MOST: usize = 1024;
    if count > MOST {
        return Err(Fail::argument(format!("expected at most {MOST} attributes, found {count}")));
    }
    // SAFETY: the caller's, as the header says.
    let attributes = unsafe { elements(attributes, count) }?;
    let mut layout = VertexLayout::new();
    for attribute in attributes {
        if attribute.size != size_of::<mm_layout_attribute>() {
            let text = format!("expected the size of a struct in its first field, found {}", attribute.size);
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
    Ok(if stride == 0 { layout } else { layout.with_stride(stride) })
}

/// Sets the offsets of a layout that are SIZE_MAX, and returns its stride.
///
/// Ownership: `attributes` stay the caller's. Threads: any. Errors: MM_ERROR_ARGUMENT.
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
/// included. Nothing is read back, so `out` may be mapped memory of a GPU. `stride` 0 is the stride of mm_layout_resolve. `out`
/// NULL asks for the bytes.
///
/// Ownership: all memory stays the caller's. Threads: any. Errors: MM_ERROR_BUFFER if `capacity` bytes are too few;
/// MM_ERROR_MISMATCH if the mesh lacks an attribute that has no default; MM_ERROR_OUT_OF_RANGE for attributes that overlap or are
/// longer than the stride, and for a number that a type cannot hold; errors of reading.
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
            let needed =
                needed.ok_or_else(|| Fail::argument("expected a stride that all vertices have room for"))?;
            ByteTarget::new(out, capacity, needed, bytes)?.map(|target| (target, layout))
        };
        if let Some((mut target, layout)) = target {
            mesh.view.write_interleaved(&layout, |offset, bytes| target.write(offset, bytes))?;
        }
        Ok(())
    })
}

/// Writes all indices for an index buffer, packed, each byte once. `format` is MM_INDEX_NARROWEST, MM_INDEX_U16 or MM_INDEX_U32;
/// `found`, which may be NULL, receives the format that was written. The narrowest are padded with 0 to a multiple of 4 bytes.
/// `out` NULL asks for the bytes.
///
/// Ownership: `out` stays the caller's. Threads: any. Errors: MM_ERROR_BUFFER if `capacity` bytes are too few;
/// MM_ERROR_OUT_OF_RANGE for an index that the format cannot hold.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_write_indices(
    mesh: *const mm_mesh,
    format: mm_index_format,
    out: *mut c_void,
    capacity: usize,
    bytes: *mut usize,
    found: *mut mm_index_format,
) -> mm_status {
    guard(|| {
        let mesh = handle::get::<Mesh>(mesh)?;
        let indices = mesh.view.indices();
        let narrowest = format == MM_INDEX_NARROWEST;
        let format = match format {
            MM_INDEX_NARROWEST => indices.narrowest(),
            MM_INDEX_U16 => IndexFormat::Uint16,
            MM_INDEX_U32 => IndexFormat::Uint32,
            other => return Err(unknown("mm_index_format", other)),
        };
        let packed = indices.len().saturating_mul(format.size());
        let needed = if narrowest { indices.byte_len(format) } else { packed };
        // SAFETY: the caller's, as the header says.
        let target = unsafe {
            put_if_any(found, index_number(format));
            ByteTarget::new(out, capacity, needed, bytes)?
        };
        if let Some(mut target) = target {
            indices.write_chunks(format, |offset, bytes| target.write(offset, bytes))?;
            target.write(packed, [0; 2].get(..needed.saturating_sub(packed)).unwrap_or_default());
        }
        Ok(())
    })
}

/// Writes the indices as three uint32_t for each triangle, `stride` bytes apart (0: packed), as ray tracers take them. `out`
/// NULL asks for the count.
///
/// Ownership: `out` stays the caller's. Threads: any. Errors: MM_ERROR_BUFFER if `capacity` triangles are too few.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_triangles(
    mesh: *const mm_mesh,
    out: *mut u32,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    guard(|| {
        let mesh = handle::get::<Mesh>(mesh)?;
        // SAFETY: the caller's, as the header says.
        let mut target = unsafe { Target::<[u32; 3]>::new(out.cast(), stride, capacity, count) }?;
        target.write_each(mesh.view.triangle_count(), mesh.view.indices().triangles())
    })
}

/// Writes the runs of triangles of one material, in the order of the file: each a draw call. `stride` 0: packed. `out` NULL asks
/// for the count.
///
/// Ownership: `out` stays the caller's. Threads: any. Errors: MM_ERROR_BUFFER if `capacity` groups are too few.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_groups(
    mesh: *const mm_mesh,
    out: *mut mm_group,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    guard(|| {
        let mesh = handle::get::<Mesh>(mesh)?;
        // SAFETY: the caller's, as the header says.
        let mut target = unsafe { Target::<mm_group>::new(out.cast(), stride, capacity, count) }?;
        let groups = mesh.view.groups().map(|group| mm_group {
            material: group.material,
            first_vertex: group.vertices.start,
            vertex_count: group.vertices.end.saturating_sub(group.vertices.start),
            reserved: 0,
            first_triangle: u64::try_from(group.triangles.start).unwrap_or(u64::MAX),
            triangle_count: u64::try_from(group.triangles.len()).unwrap_or(u64::MAX),
        });
        target.write_each(mesh.view.groups().count(), groups)
    })
}

/// Writes the material of each triangle. `stride` 0: packed. `out` NULL asks for the count.
///
/// Ownership: `out` stays the caller's. Threads: any. Errors: MM_ABSENT if triangles have no material IDs;
/// MM_ERROR_BUFFER if `capacity` numbers are too few.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_material_ids(
    mesh: *const mm_mesh,
    out: *mut u32,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    guard(|| {
        let mesh = handle::get::<Mesh>(mesh)?;
        // SAFETY: the caller's, as the header says.
        let mut target = unsafe { Target::<u32>::new(out.cast(), stride, capacity, count) }?;
        let ids = mesh.view.material_ids().ok_or(Fail::Absent)?;
        target.write_each(ids.len(), ids.iter())
    })
}

/// The bytes of a number.
///
/// Ownership: nothing is transferred. Threads: any. Errors: 0 for a value that is not an MM_SCALAR_*.
#[unsafe(no_mangle)]
pub extern "C" fn mm_scalar_size(scalar: mm_scalar) -> usize {
    self::scalar(scalar).map_or(0, Scalar::size)
}
