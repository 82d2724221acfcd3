//! Levels of detail of Second Life meshes, by name.

use std::ffi::{CStr, c_char};

use meshmap::Role;
use meshmap::slmesh::Lod;

use crate::fail::{Fail, Result, guard, mm_status};
use crate::file::{File, mm_file};
use crate::handle;
use crate::list::{meshes, mm_mesh_list};
use crate::memory::{put, put_if_any, text};

unsafe fn lod(name: *const c_char) -> Result<Lod> {
    // SAFETY: the caller's, as the header says.
    Ok(unsafe { text(name) }?
        .parse()
        .map_err(meshmap::Error::from)?)
}

fn level(lod: Lod) -> u32 {
    Lod::ALL
        .into_iter()
        .position(|other| other == lod)
        .and_then(|level| u32::try_from(level).ok())
        .unwrap_or(0)
}

/// The faces of a level of detail by its name: "high_lod", "medium_lod", "low_lod" or "lowest_lod". No other block is
/// read. MM_ABSENT if the file does not have it. MM_ERROR_OUT_OF_RANGE for another name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_slmesh_lod(
    file: *const mm_file,
    name: *const c_char,
    out: *mut *mut mm_mesh_list,
) -> mm_status {
    let list = || {
        let file = handle::get::<File>(file)?;
        // SAFETY: the caller's, as the header says.
        let lod = unsafe { lod(name) }?;
        file.slmesh()?.lod_range(lod)?.ok_or(Fail::Absent)?;
        let wanted = Role::Lod(level(lod));
        let entries = file.file.meshes_where(move |role| role == wanted)?;
        meshes(&file.file, entries)
    };
    // SAFETY: the caller's, as the header says.
    unsafe { handle::make(out, list) }
}

/// The name of the level of detail that a viewer shows if it wants `wanted`: that one, or the next lower one that
/// exists, or the next higher one. Reads nothing. MM_ABSENT if the asset has no levels.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_slmesh_best_lod(
    file: *const mm_file,
    wanted: *const c_char,
    out: *mut *const c_char,
) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        // SAFETY: the caller's, as the header says.
        let wanted = unsafe { lod(wanted) }?;
        let best = file.slmesh()?.best_lod(wanted).ok_or(Fail::Absent)?;
        let name: &CStr = match best {
            Lod::High => c"high_lod",
            Lod::Medium => c"medium_lod",
            Lod::Low => c"low_lod",
            _ => c"lowest_lod",
        };
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, name.as_ptr()) }
    })
}

/// The stored bytes of a level of detail, and an estimate of its triangles as the viewer makes it. Reads nothing. Each place may
/// be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_slmesh_lod_range(
    file: *const mm_file,
    name: *const c_char,
    begin: *mut u64,
    end: *mut u64,
    triangle_estimate: *mut u64,
) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        // SAFETY: the caller's, as the header says.
        let lod = unsafe { lod(name) }?;
        let asset = file.slmesh()?;
        let range = asset.lod_range(lod)?.ok_or(Fail::Absent)?;
        // SAFETY: the caller's, as the header says.
        unsafe {
            put_if_any(begin, range.start);
            put_if_any(end, range.end);
            put_if_any(triangle_estimate, asset.triangle_estimate(lod).unwrap_or(0));
        }
        Ok(())
    })
}
