//! Meshes of any format, as a renderer sees them.

use std::ffi::{CString, c_char, c_void};
use std::sync::{Arc, OnceLock};

use meshmap::{Address, Attribute, AttributeInfo, IndexFormat, MeshView, Semantic};

use crate::fail::{Fail, Result, guard, mm_status};
use crate::file::{File, mm_file};
use crate::findings::{findings, mm_finding_list};
use crate::format::unknown;
use crate::handle::{self, Kind};
use crate::list::{mm_role, no_such, role_numbers};
use crate::memory::{ByteTarget, First, Places, c_string, put, put_if_any, put_sized, text};

/// A mesh of a file of any format: one vertex buffer and one index buffer.
pub struct mm_mesh {
    _opaque: [u8; 0],
}

/// A box around points.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct mm_bounds {
    /// The least x, y and z.
    pub min: [f32; 3],
    /// The greatest x, y and z.
    pub max: [f32; 3],
}

/// The type of an index.
pub type mm_index_format = u32;
/// The narrowest one that holds every index; 65,535 does not count as one of 16 bits.
pub const MM_INDEX_NARROWEST: mm_index_format = 0;
/// uint16_t.
pub const MM_INDEX_U16: mm_index_format = 2;
/// uint32_t.
pub const MM_INDEX_U32: mm_index_format = 4;

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
    /// The purpose of the mesh.
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
pub(crate) struct Mesh {
    pub(crate) view: MeshView,
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
    pub(crate) fn new(view: MeshView) -> Self {
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

    /// The description of an attribute, its name, and what was read of it to be shown.
    pub(crate) fn at(
        &self,
        index: usize,
    ) -> Result<(&AttributeInfo, &CString, &OnceLock<Attribute>)> {
        let found = self
            .view
            .attributes()
            .get(index)
            .zip(self.attributes.get(index));
        let (info, (name, kept)) =
            found.ok_or_else(|| no_such("attribute", index, self.attributes.len()))?;
        Ok((info, name, kept))
    }

    /// An attribute, read.
    pub(crate) fn attribute(&self, index: usize) -> Result<Attribute> {
        let (info, _, kept) = self.at(index)?;
        match kept.get() {
            Some(kept) => Ok(kept.clone()),
            None => self.view.attribute(&info.semantic)?.ok_or(Fail::Absent),
        }
    }
}

fn index_number(format: IndexFormat) -> mm_index_format {
    if format == IndexFormat::Uint16 {
        MM_INDEX_U16
    } else {
        MM_INDEX_U32
    }
}

/// The mesh at an address, such as `meshes[0]`, `snapshots[12]`, `high_lod.faces[0]` or `meshes["Body"]`. Its indices are read
/// and checked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_at(
    file: *const mm_file,
    address: *const c_char,
    out: *mut *mut mm_mesh,
) -> mm_status {
    let mesh = || {
        let file = handle::get::<File>(file)?;
        // SAFETY: the caller's, as the header says.
        let address: Address = unsafe { text(address) }?
            .parse()
            .map_err(meshmap::Error::from)?;
        Ok(Arc::new(Mesh::new(file.file.mesh(&address)?)))
    };
    // SAFETY: the caller's, as the header says.
    unsafe { handle::make(out, mesh) }
}

/// Makes another handle of a mesh, to be freed on its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_ref(mesh: *const mm_mesh, out: *mut *mut mm_mesh) -> mm_status {
    // SAFETY: the caller's, as the header says.
    unsafe { handle::make(out, || handle::get::<Mesh>(mesh)) }
}

/// Frees a mesh, and what is shown of it.
#[unsafe(no_mangle)]
pub extern "C" fn mm_mesh_free(mesh: *mut mm_mesh) -> mm_status {
    guard(|| handle::close::<Mesh>(mesh))
}

/// A mesh with its triangles ordered by material, so that mm_mesh_groups has one for each. Vertices stay as they are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_by_material(
    mesh: *const mm_mesh,
    out: *mut *mut mm_mesh,
) -> mm_status {
    // SAFETY: the caller's, as the header says.
    unsafe {
        handle::make(out, || {
            Ok(Arc::new(Mesh::new(
                handle::get::<Mesh>(mesh)?.view.by_material()?,
            )))
        })
    }
}

/// The description of a mesh.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_get_info(
    mesh: *const mm_mesh,
    out: *mut mm_mesh_info,
) -> mm_status {
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

/// The smallest box around the positions. MM_ABSENT if no position is finite.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_bounds(mesh: *const mm_mesh, out: *mut mm_bounds) -> mm_status {
    guard(|| {
        let mesh = handle::get::<Mesh>(mesh)?;
        let bounds = mesh.view.bounds()?.ok_or(Fail::Absent)?;
        // SAFETY: the caller's, as the header says.
        unsafe {
            put(
                out,
                mm_bounds {
                    min: bounds.min,
                    max: bounds.max,
                },
            )
        }
    })
}

/// The findings of a mesh: the rules of its format that it breaks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_findings(
    mesh: *const mm_mesh,
    out: *mut *mut mm_finding_list,
) -> mm_status {
    // SAFETY: the caller's, as the header says.
    unsafe {
        handle::make(out, || {
            Ok(findings(handle::get::<Mesh>(mesh)?.view.findings()))
        })
    }
}

/// Writes all indices for an index buffer, packed, each byte once. `format` is MM_INDEX_NARROWEST, MM_INDEX_U16 or
/// MM_INDEX_U32; `found`, which may be NULL, receives the format that was written. The narrowest are padded with 0 to a
/// multiple of 4 bytes. MM_ERROR_OUT_OF_RANGE for an index that the format cannot hold.
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
        let needed = if narrowest {
            indices.byte_len(format)
        } else {
            packed
        };
        // SAFETY: the caller's, as the header says.
        let target = unsafe {
            put_if_any(found, index_number(format));
            ByteTarget::new(out, capacity, needed, bytes)?
        };
        if let Some(mut target) = target {
            indices.write_chunks(format, |offset, bytes| target.write(offset, bytes))?;
            target.write(
                packed,
                [0; 2]
                    .get(..needed.saturating_sub(packed))
                    .unwrap_or_default(),
            );
        }
        Ok(())
    })
}

/// Writes the indices as three uint32_t for each triangle, as ray tracers take them.
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
        let mut target = unsafe { Places::of::<[u32; 3]>(out.cast(), stride, capacity, count) }?;
        target.write_each(mesh.view.triangle_count(), mesh.view.indices().triangles())
    })
}

/// Writes the runs of triangles of one material, in the order of the file: each a draw call.
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
        let mut target = unsafe { Places::of::<mm_group>(out.cast(), stride, capacity, count) }?;
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

/// Writes the material of each triangle. MM_ABSENT if triangles have no material IDs.
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
        let mut target = unsafe { Places::of::<u32>(out.cast(), stride, capacity, count) }?;
        let ids = mesh.view.material_ids().ok_or(Fail::Absent)?;
        target.write_each(ids.len(), ids.iter())
    })
}
