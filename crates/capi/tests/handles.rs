//! Every handle that is made reaches the caller, who can close it.
#![allow(unsafe_code, unused_unsafe, reason = "C functions are called")]

mod support;

use std::ptr::{null, null_mut};

use meshmap_capi::*;
use meshmap_testing::data;
use support::*;

/// The only test here: handles of the whole process are counted.
#[test]
fn without_a_place_for_a_handle_none_is_made() {
    let file = open(&data::valid("cgeo", "anim_a.cgeo"));
    let mut mesh = null_mut();
    assert_eq!(
        // SAFETY: a text, and a place for the handle.
        unsafe { mm_mesh_at(file, c"snapshots[0]".as_ptr(), &mut mesh) },
        MM_OK
    );
    let before = mm_handle_count();
    let refused = |name: &str, status: mm_status| {
        assert_eq!(status, MM_ERROR_ARGUMENT, "{name}");
        assert_eq!(mm_handle_count(), before, "{name}");
    };
    // SAFETY: NULL is what the interface finds out.
    unsafe {
        refused("cache", mm_cache_new(1 << 20, null_mut()));
        refused("cancel", mm_cancel_new(null_mut()));
        refused("scratch", mm_scratch_new(null_mut()));
        refused("snapshot", mm_snapshot_new(null_mut()));
        refused("file", mm_file_ref(file, null_mut()));
        refused("findings", mm_findings(file, null_mut()));
        refused("validate", mm_validate(file, null_mut()));
        refused("meshes", mm_meshes(file, null_mut()));
        refused(
            "mesh",
            mm_mesh_at(file, c"snapshots[0]".as_ptr(), null_mut()),
        );
        refused(
            "memory",
            mm_open_memory(null(), 0, None, null_mut(), null(), null_mut()),
        );
        refused("mesh again", mm_mesh_ref(mesh, null_mut()));
        refused("mesh by material", mm_mesh_by_material(mesh, null_mut()));
        refused("findings of a mesh", mm_mesh_findings(mesh, null_mut()));
    }
    assert_eq!([mm_mesh_free(mesh), mm_close(file)], [MM_OK; 2]);
    assert_eq!(mm_handle_count(), 0);
}
