//! The list of the meshes of a file.

use std::ffi::{CStr, CString, c_char};
use std::sync::Arc;

use meshmap::{Address, MeshCounts, MeshEntry, MeshFile, Meter, Role, Text};

use crate::fail::{Fail, Result, guard, mm_status, status};
use crate::file::{File, mm_file};
use crate::handle::{self, Kind};
use crate::memory::{First, c_string, put, put_sized, text};

/// The meshes of a file.
pub struct mm_mesh_list {
    _opaque: [u8; 0],
}

/// The purpose of a mesh.
pub type mm_role = u32;
/// Geometry that is drawn.
pub const MM_ROLE_GEOMETRY: mm_role = 1;
/// A level of detail; its index 0 is the finest.
pub const MM_ROLE_LOD: mm_role = 2;
/// Geometry for physics, which is not drawn.
pub const MM_ROLE_PHYSICS: mm_role = 3;
/// A snapshot of an animation.
pub const MM_ROLE_SNAPSHOT: mm_role = 4;

/// A mesh in the list of a file.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_mesh_entry {
    /// sizeof(mm_mesh_entry), set by the caller.
    pub size: usize,
    /// The address in the file, as accepted by mm_mesh_at.
    pub address: *const c_char,
    /// The name of the mesh; empty if it has no name.
    pub name: *const c_char,
    /// The purpose of the mesh.
    pub role: mm_role,
    /// `true` if `seconds` is valid.
    pub has_seconds: bool,
    /// `true` if a viewer draws it by default: all geometry, the finest level of detail, the first snapshot; but no mesh that
    /// is known to have no triangles or no positions.
    pub is_drawn_by_default: bool,
    /// `true` if the counts and has_positions are valid: in all formats except CGeo, whose counts mm_mesh_get_counts reads.
    pub has_counts: bool,
    /// `true` if the mesh stores positions. A mesh without them, as in IQM files that contain only animations, has nothing to
    /// draw.
    pub has_positions: bool,
    /// The index of the level of detail or snapshot.
    pub role_index: u64,
    /// The time of the snapshot.
    pub seconds: f64,
    /// Stored positions. A mesh of CGeo or TMF may have more vertices, one for each combination of indices.
    pub vertex_count: u64,
    /// Triangles.
    pub triangle_count: u64,
}

// SAFETY: `repr(C)`, begins with its size, and is never read.
unsafe impl First for mm_mesh_entry {}

/// The numbers of elements of a mesh.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_mesh_counts {
    /// sizeof(mm_mesh_counts), set by the caller.
    pub size: usize,
    /// Stored positions. A mesh of CGeo or TMF may have more vertices, one for each combination of indices.
    pub vertex_count: u64,
    /// Triangles.
    pub triangle_count: u64,
    /// `true` if the mesh stores positions.
    pub has_positions: bool,
}

// SAFETY: `repr(C)`, begins with its size, and is never read.
unsafe impl First for mm_mesh_counts {}

/// A mesh of a list, as C text.
struct Entry {
    address: CString,
    name: Arc<CStr>,
    role: Role,
    is_drawn_by_default: bool,
    counts: Option<MeshCounts>,
}

pub(crate) struct Meshes(Vec<Entry>);

impl Kind for Meshes {
    type Opaque = mm_mesh_list;
    const NAME: &'static str = "mm_mesh_list";
}

/// A list of meshes of a file.
pub(crate) fn meshes(
    file: &MeshFile,
    entries: impl Iterator<Item = MeshEntry>,
) -> Result<Arc<Meshes>> {
    let mut names = Names::new(file);
    let mut list = Vec::new();
    for entry in entries {
        list.push(Entry {
            address: c_string(&entry.address.to_string()),
            name: names.copy(&entry.name)?,
            role: entry.role,
            is_drawn_by_default: entry.is_drawn_by_default(),
            counts: entry.counts,
        });
    }
    Ok(Arc::new(Meshes(list)))
}

/// Copies names for C, which needs a byte 0 at the end.
///
/// All snapshots of a CGeo file have one name, which is copied once. The names of an IQM file may be anywhere in one long text, each to its
/// end, so that a small file has any number of bytes of names: these are charged as one call.
pub(crate) struct Names {
    meter: Meter<'static>,
    /// The last name, as it is stored and as C text.
    last: Option<(Text, Arc<CStr>)>,
}

impl Names {
    pub(crate) fn new(file: &MeshFile) -> Self {
        let stored = file.source().len().ok().flatten();
        Self {
            meter: Meter::new(file.limits(), stored.unwrap_or_default()),
            last: None,
        }
    }

    pub(crate) fn copy(&mut self, name: &Text) -> Result<Arc<CStr>> {
        // The place is compared, because comparing long names takes as long as copying them.
        if let Some((last, copy)) = &self.last
            && std::ptr::eq(last.as_bytes(), name.as_bytes())
        {
            return Ok(Arc::clone(copy));
        }
        // A byte that is not UTF-8 becomes three.
        let stored = name.as_bytes().len() as u64;
        let bytes = stored.saturating_mul(3).saturating_add(1);
        self.meter.take(bytes, "names")?.keep();
        self.meter.work(bytes, "names")?;
        let copy: Arc<CStr> = c_string(&name.to_string_lossy()).into();
        self.last = Some((name.clone(), Arc::clone(&copy)));
        Ok(copy)
    }
}

/// The number of a role, and which one of its kind.
pub(crate) fn role_numbers(role: Role) -> (mm_role, u64, Option<f64>) {
    match role {
        Role::Lod(level) => (MM_ROLE_LOD, level.into(), None),
        Role::Physics => (MM_ROLE_PHYSICS, 0, None),
        Role::Snapshot { index, seconds } => (MM_ROLE_SNAPSHOT, index, seconds),
        _ => (MM_ROLE_GEOMETRY, 0, None),
    }
}

pub(crate) fn no_such(what: &str, index: usize, count: usize) -> Fail {
    Fail::new(
        status::MM_ERROR_OUT_OF_RANGE,
        format!("{what}: expected an index less than {count}, found {index}"),
    )
}

/// The meshes of a file, in its order. For a Second Life mesh asset, this reads all blocks: mm_slmesh_lod reads one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_meshes(file: *const mm_file, out: *mut *mut mm_mesh_list) -> mm_status {
    // SAFETY: the caller's, as the header says.
    unsafe {
        handle::make(out, || {
            let file = handle::get::<File>(file)?;
            meshes(&file.file, file.file.meshes()?)
        })
    }
}

/// The number of meshes in a list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_list_count(
    list: *const mm_mesh_list,
    out: *mut usize,
) -> mm_status {
    guard(|| {
        let list = handle::get::<Meshes>(list)?;
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, list.0.len()) }
    })
}

/// A mesh of a list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_list_get(
    list: *const mm_mesh_list,
    index: usize,
    out: *mut mm_mesh_entry,
) -> mm_status {
    guard(|| {
        let list = handle::get::<Meshes>(list)?;
        let Entry {
            address,
            name,
            role,
            is_drawn_by_default,
            counts,
        } = list
            .0
            .get(index)
            .ok_or_else(|| no_such("mesh", index, list.0.len()))?;
        let (number, role_index, seconds) = role_numbers(*role);
        let entry = mm_mesh_entry {
            size: 0,
            address: address.as_ptr(),
            name: name.as_ptr(),
            role: number,
            has_seconds: seconds.is_some(),
            is_drawn_by_default: *is_drawn_by_default,
            has_counts: counts.is_some(),
            has_positions: counts.is_some_and(|counts| counts.has_positions),
            role_index,
            seconds: seconds.unwrap_or(0.0),
            vertex_count: counts.map_or(0, |counts| counts.vertices),
            triangle_count: counts.map_or(0, |counts| counts.triangles),
        };
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, entry) }
    })
}

/// The numbers of elements of the mesh at an address. Reads as little as the format allows: the beginning of a snapshot of a
/// CGeo file, the block of a Second Life mesh, nothing in other formats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_get_counts(
    file: *const mm_file,
    address: *const c_char,
    out: *mut mm_mesh_counts,
) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        // SAFETY: the caller's, as the header says.
        let address: Address = unsafe { text(address) }?
            .parse()
            .map_err(meshmap::Error::from)?;
        let MeshCounts {
            vertices,
            triangles,
            has_positions,
            ..
        } = file.file.counts(&address)?;
        let counts = mm_mesh_counts {
            size: 0,
            vertex_count: vertices,
            triangle_count: triangles,
            has_positions,
        };
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, counts) }
    })
}

/// Frees a list and its texts.
#[unsafe(no_mangle)]
pub extern "C" fn mm_mesh_list_free(list: *mut mm_mesh_list) -> mm_status {
    guard(|| handle::close::<Meshes>(list))
}
