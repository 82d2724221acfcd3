//! Lists: the meshes of a file, and its findings.

use std::ffi::{CString, c_char};
use std::sync::Arc;

use meshmap::{Finding, MeshEntry, Role};

use crate::fail::{Fail, Result, guard, mm_status, status};
use crate::file::{File, mm_file};
use crate::handle::{self, Kind};
use crate::memory::{First, c_string, put, put_sized};
use crate::options::{mm_severity, severity_number};

/// The meshes of a file. Every thread may use it.
pub struct mm_mesh_list {
    _opaque: [u8; 0],
}

/// The findings of a file. Every thread may use it.
pub struct mm_finding_list {
    _opaque: [u8; 0],
}

/// The purpose of a mesh: MM_ROLE_*.
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
    /// The purpose of the mesh: MM_ROLE_*.
    pub role: mm_role,
    /// `true` if `seconds` is valid.
    pub has_seconds: bool,
    /// `true` if a viewer draws it by default: all geometry, the finest level of detail, the first snapshot; but no mesh that
    /// is known to have no triangles or no positions.
    pub is_drawn_by_default: bool,
    /// The index of the level of detail or snapshot.
    pub role_index: u64,
    /// The time of the snapshot.
    pub seconds: f64,
}

// SAFETY: `repr(C)`, begins with its size, and is never read.
unsafe impl First for mm_mesh_entry {}

/// A rule that a file breaks, and the location.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_finding {
    /// sizeof(mm_finding), set by the caller.
    pub size: usize,
    /// The rule's identifier, which never changes, such as "index_range".
    pub rule: *const c_char,
    /// All of it as one line.
    pub text: *const c_char,
    /// The part of the file; empty if the finding is not about a part.
    pub address: *const c_char,
    /// MM_SEVERITY_*.
    pub severity: mm_severity,
    /// `true` if byte_begin and byte_end are valid.
    pub has_byte_range: bool,
    /// The number of places at which the rule is broken; the other fields describe the first one.
    pub count: u64,
    /// The bytes, from the start of the file.
    pub byte_begin: u64,
    /// Their end.
    pub byte_end: u64,
}

// SAFETY: `repr(C)`, begins with its size, and is never read.
unsafe impl First for mm_finding {}

/// A mesh of a list, as C text.
struct Entry {
    address: CString,
    name: CString,
    role: Role,
    is_drawn_by_default: bool,
}

struct Meshes(Vec<Entry>);

impl Kind for Meshes {
    type Opaque = mm_mesh_list;
    const NAME: &'static str = "mm_mesh_list";
}

struct Findings(Vec<(Finding, [CString; 3])>);

impl Kind for Findings {
    type Opaque = mm_finding_list;
    const NAME: &'static str = "mm_finding_list";
}

/// A handle of a list of meshes.
pub(crate) fn meshes(entries: impl Iterator<Item = MeshEntry>) -> Result<*mut mm_mesh_list> {
    let entry = |entry: MeshEntry| Entry {
        address: c_string(&entry.address.to_string()),
        name: c_string(&entry.name),
        role: entry.role,
        is_drawn_by_default: entry.is_drawn_by_default(),
    };
    handle::new(Arc::new(Meshes(entries.map(entry).collect())))
}

/// A handle of a list of findings.
pub(crate) fn findings(findings: &[Finding]) -> Result<*mut mm_finding_list> {
    let texts = |finding: &Finding| {
        let address = finding.address.as_ref().map(|address| c_string(&address.to_string()));
        [c_string(finding.rule.id), c_string(&finding.to_string()), address.unwrap_or_default()]
    };
    let list = findings.iter().map(|finding| (finding.clone(), texts(finding))).collect();
    handle::new(Arc::new(Findings(list)))
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
///
/// Ownership: `*out` is the caller's, for mm_mesh_list_free. Threads: any. Errors: errors of reading.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_meshes(file: *const mm_file, out: *mut *mut mm_mesh_list) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, std::ptr::null_mut()) }?;
        let list = meshes(file.file.meshes()?)?;
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, list) }
    })
}

/// The number of meshes in a list.
///
/// Ownership: nothing is transferred. Threads: any. Errors: MM_ERROR_HANDLE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_list_count(list: *const mm_mesh_list, out: *mut usize) -> mm_status {
    guard(|| {
        let list = handle::get::<Meshes>(list)?;
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, list.0.len()) }
    })
}

/// A mesh of a list. `out->size` is set before.
///
/// Ownership: texts are the list's. Threads: any. Errors: MM_ERROR_OUT_OF_RANGE if the list has no such mesh.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_mesh_list_get(
    list: *const mm_mesh_list,
    index: usize,
    out: *mut mm_mesh_entry,
) -> mm_status {
    guard(|| {
        let list = handle::get::<Meshes>(list)?;
        let Entry { address, name, role, is_drawn_by_default } =
            list.0.get(index).ok_or_else(|| no_such("mesh", index, list.0.len()))?;
        let (number, role_index, seconds) = role_numbers(*role);
        let entry = mm_mesh_entry {
            size: 0,
            address: address.as_ptr(),
            name: name.as_ptr(),
            role: number,
            has_seconds: seconds.is_some(),
            is_drawn_by_default: *is_drawn_by_default,
            role_index,
            seconds: seconds.unwrap_or(0.0),
        };
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, entry) }
    })
}

/// Frees a list and its texts. NULL is passed over.
///
/// Ownership: takes the handle. Threads: any. Errors: MM_ERROR_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn mm_mesh_list_free(list: *mut mm_mesh_list) -> mm_status {
    guard(|| handle::close::<Meshes>(list))
}

/// The rules that a file breaks, as far as opening detects them. Reads nothing.
///
/// Ownership: `*out` is the caller's, for mm_finding_list_free. Threads: any. Errors: MM_ERROR_HANDLE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_findings(file: *const mm_file, out: *mut *mut mm_finding_list) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, std::ptr::null_mut()) }?;
        let list = findings(file.file.findings())?;
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, list) }
    })
}

/// Checks every value of a file, and lists all rules that it breaks. Wrong values are findings of MM_SEVERITY_UNUSABLE.
///
/// Ownership: `*out` is the caller's, for mm_finding_list_free. Threads: any. Errors: errors of reading and decoding.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_validate(file: *const mm_file, out: *mut *mut mm_finding_list) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, std::ptr::null_mut()) }?;
        let list = findings(&file.file.validate()?)?;
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, list) }
    })
}

/// The number of findings in a list.
///
/// Ownership: nothing is transferred. Threads: any. Errors: MM_ERROR_HANDLE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_finding_list_count(list: *const mm_finding_list, out: *mut usize) -> mm_status {
    guard(|| {
        let list = handle::get::<Findings>(list)?;
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, list.0.len()) }
    })
}

/// A finding of a list. `out->size` is set before.
///
/// Ownership: texts are the list's. Threads: any. Errors: MM_ERROR_OUT_OF_RANGE if the list has no such
/// finding.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_finding_list_get(
    list: *const mm_finding_list,
    index: usize,
    out: *mut mm_finding,
) -> mm_status {
    guard(|| {
        let list = handle::get::<Findings>(list)?;
        let (finding, [rule, text, address]) =
            list.0.get(index).ok_or_else(|| no_such("finding", index, list.0.len()))?;
        let bytes = finding.byte_range.clone().unwrap_or_default();
        let entry = mm_finding {
            size: 0,
            rule: rule.as_ptr(),
            text: text.as_ptr(),
            address: address.as_ptr(),
            severity: severity_number(finding.severity()),
            has_byte_range: finding.byte_range.is_some(),
            count: finding.count,
            byte_begin: bytes.start,
            byte_end: bytes.end,
        };
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, entry) }
    })
}

/// Frees a list and its texts. NULL is passed over.
///
/// Ownership: takes the handle. Threads: any. Errors: MM_ERROR_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn mm_finding_list_free(list: *mut mm_finding_list) -> mm_status {
    guard(|| handle::close::<Findings>(list))
}
