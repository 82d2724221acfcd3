//! Hostile files cost no call of the interface more than the library allows: the bound is the library's, so it needs no program around it.
#![allow(unsafe_code, unused_unsafe, reason = "C functions are called")]

#[macro_use]
mod support;

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};
use std::time::Duration;

use cpu_time::ProcessTime;
use meshmap_capi::*;
use meshmap_testing::allocator::{self, Counting};
use meshmap_testing::data;
use support::*;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The longest that a call may be busy on a small file, in an optimized build.
const LONGEST: Duration = Duration::from_secs(4);
const MOST_MEMORY: i64 = 1300 << 20;
/// The first items of a list. Each is a call with its own bound, and a loop over all of them is the caller's.
const FEW: usize = 8;

/// A call, by its name.
type Call = (&'static str, fn(*mut mm_file));

const CALLS: &[Call] = &[
    ("mm_findings", findings),
    ("mm_validate", validate),
    ("mm_meshes", meshes),
    ("mm_arrays", arrays),
    ("mm_texts", texts),
    ("mm_mesh_at", mesh_at),
    ("mm_mesh_by_material", by_material),
    ("mm_mesh_get_counts", counts),
    ("mm_scene_new", scene),
    ("mm_scene_mesh", scene_meshes),
    ("mm_rig_new", rig),
    ("mm_cgeo_get_info", cgeo_info),
    ("mm_cgeo_topology", topology),
    ("mm_cgeo_keys", keys),
    ("mm_snapshot_read", snapshot),
];

/// Files named in MESHMAP_HOSTILE, a list of paths with `:` between them, are tried as well.
#[test]
#[ignore = "takes seconds for each file in an optimized build, and minutes in others: .ci/slow memory runs it"]
fn no_call_is_busy_with_a_hostile_file() {
    let mut files = data::files(&data::root().with_file_name("attack"));
    if let Some(more) = std::env::var_os("MESHMAP_HOSTILE") {
        files.extend(std::env::split_paths(&more));
    }
    let mut faults = Vec::new();
    for path in files {
        for (name, call) in CALLS {
            faults.extend(measure(&path, name, *call));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

/// Makes a call on a newly opened file. Prints what takes long, and returns what takes too long.
fn measure(path: &Path, name: &str, call: fn(*mut mm_file)) -> Option<String> {
    let mut file = null_mut();
    let c_path = c_path(path);
    // SAFETY: places and text that are there.
    if unsafe { mm_open(c_path.as_ptr(), null(), &raw mut file) } != MM_OK {
        return None;
    }
    let start = ProcessTime::now();
    let ((), count) = allocator::counted_in_process(|| call(file));
    let time = start.elapsed();
    mm_close(file);
    let mebibytes = count.peak >> 20;
    let line = format!("{}: {name}: {time:.1?}, {mebibytes} MiB", path.display());
    if time > LONGEST / 8 || mebibytes > 256 {
        println!("{line}");
    }
    (time > LONGEST || count.peak > MOST_MEMORY).then_some(line)
}

fn findings(file: *mut mm_file) {
    let mut list = null_mut();
    status!(mm_findings(file, &raw mut list));
    mm_finding_list_free(list);
}

fn validate(file: *mut mm_file) {
    let mut list = null_mut();
    status!(mm_validate(file, &raw mut list));
    mm_finding_list_free(list);
}

fn meshes(file: *mut mm_file) {
    let mut list = null_mut();
    status!(mm_meshes(file, &raw mut list));
    mm_mesh_list_free(list);
}

unsafe extern "C" fn each_array(_: *mut c_void, _: *const mm_array_info) -> c_int {
    0
}

fn arrays(file: *mut mm_file) {
    status!(mm_arrays(file, Some(each_array), null_mut()));
}

unsafe extern "C" fn each_text(
    _: *mut c_void,
    _: *const c_char,
    _: *const c_char,
    _: usize,
) -> c_int {
    0
}

fn texts(file: *mut mm_file) {
    status!(mm_texts(file, Some(each_text), null_mut()));
}

/// The addresses of the first meshes.
fn addresses(file: *mut mm_file) -> Vec<CString> {
    let (mut list, mut count) = (null_mut(), 0);
    status!(mm_meshes(file, &raw mut list));
    if list.is_null() {
        return Vec::new();
    }
    status!(mm_mesh_list_count(list, &raw mut count));
    let mut addresses = Vec::new();
    for index in 0..count.min(FEW) {
        let mut entry = sized::<mm_mesh_entry>();
        status!(mm_mesh_list_get(list, index, &raw mut entry));
        addresses.push(CString::new(text(entry.address)).expect("no byte 0"));
    }
    mm_mesh_list_free(list);
    addresses
}

/// The first mesh, whose caller frees it.
fn first_mesh(file: *mut mm_file) -> *mut mm_mesh {
    let mut mesh = null_mut();
    if let Some(address) = addresses(file).first() {
        status!(mm_mesh_at(file, address.as_ptr(), &raw mut mesh));
    }
    mesh
}

fn mesh_at(file: *mut mm_file) {
    let mesh = first_mesh(file);
    attributes(mesh);
    let (mut bounds, mut list) = (sized::<mm_bounds>(), null_mut());
    status!(mm_mesh_bounds(mesh, &raw mut bounds));
    status!(mm_mesh_findings(mesh, &raw mut list));
    mm_finding_list_free(list);
    mm_mesh_free(mesh);
}

/// Shows the first attributes of a mesh.
fn attributes(mesh: *mut mm_mesh) {
    let mut info = sized::<mm_mesh_info>();
    if status!(mm_mesh_get_info(mesh, &raw mut info)) != MM_OK {
        return;
    }
    for index in 0..info.attribute_count.min(FEW) {
        let mut array = sized::<mm_array_info>();
        status!(mm_mesh_attribute_view(mesh, index, &raw mut array));
    }
}

fn by_material(file: *mut mm_file) {
    let mesh = first_mesh(file);
    let mut grouped = null_mut();
    status!(mm_mesh_by_material(mesh, &raw mut grouped));
    let mut count = 0;
    status!(mm_mesh_groups(grouped, null_mut(), 0, 0, &raw mut count));
    mm_mesh_free(grouped);
    mm_mesh_free(mesh);
}

fn counts(file: *mut mm_file) {
    for address in addresses(file) {
        let mut counts = sized::<mm_mesh_counts>();
        status!(mm_mesh_get_counts(file, address.as_ptr(), &raw mut counts));
    }
}

fn scene(file: *mut mm_file) {
    let mut scene = null_mut();
    status!(mm_scene_new(file, null(), &raw mut scene));
    let mut info = sized::<mm_scene_info>();
    status!(mm_scene_get_info(scene, &raw mut info));
    for index in 0..info.shape_count {
        let mut shape = sized::<mm_shape>();
        status!(mm_scene_get_shape(scene, index, &raw mut shape));
    }
    for index in 0..info.joint_count {
        let mut joint = sized::<mm_scene_joint>();
        status!(mm_scene_get_joint(scene, index, &raw mut joint));
    }
    for index in 0..info.clip_count {
        let mut clip = sized::<mm_clip>();
        status!(mm_scene_get_clip(scene, index, &raw mut clip));
    }
    mm_scene_free(scene);
}

fn scene_meshes(file: *mut mm_file) {
    let mut scene = null_mut();
    status!(mm_scene_new(file, null(), &raw mut scene));
    let mut mesh = null_mut();
    if status!(mm_scene_mesh(scene, 0, 0, &raw mut mesh)) == MM_OK {
        attributes(mesh);
        mm_mesh_free(mesh);
    }
    mm_scene_free(scene);
}

fn rig(file: *mut mm_file) {
    let mut rig = null_mut();
    if status!(mm_rig_new(file, null(), &raw mut rig)) != MM_OK {
        return;
    }
    let mut count = 0;
    status!(mm_rig_pose(
        rig,
        0,
        null_mut(),
        null_mut(),
        0,
        0,
        &raw mut count
    ));
    let mut anim = sized::<mm_anim>();
    status!(mm_rig_anim(rig, 0, &raw mut anim));
    mm_rig_free(rig);
}

fn cgeo_info(file: *mut mm_file) {
    let mut info = sized::<mm_cgeo_info>();
    status!(mm_cgeo_get_info(file, &raw mut info));
    for snapshot in 0..FEW {
        let mut counts = sized::<mm_cgeo_counts>();
        status!(mm_cgeo_get_counts(
            file,
            snapshot,
            null_mut(),
            &raw mut counts
        ));
    }
}

fn topology(file: *mut mm_file) {
    for snapshot in 0..FEW {
        let mut topology = sized::<mm_topology>();
        status!(mm_cgeo_topology(
            file,
            snapshot,
            null_mut(),
            &raw mut topology
        ));
        let (mut is_complete, mut samples) = (0, 0);
        status!(mm_cgeo_storage(
            file,
            snapshot,
            null_mut(),
            &raw mut is_complete,
            &raw mut samples
        ));
    }
}

fn keys(file: *mut mm_file) {
    let mut timing = sized::<mm_timing>();
    if status!(mm_cgeo_timing(file, &raw mut timing)) != MM_OK {
        return;
    }
    let mut count = 0;
    status!(mm_cgeo_keys(
        file,
        &raw const timing,
        0.0,
        1e9,
        MM_WRAP_CLAMP,
        null_mut(),
        null_mut(),
        0,
        0,
        &raw mut count
    ));
}

fn snapshot(file: *mut mm_file) {
    let mut snapshot = null_mut();
    status!(mm_snapshot_new(&raw mut snapshot));
    status!(mm_snapshot_read(
        file,
        0,
        0,
        MM_PARTS_ALL,
        null_mut(),
        snapshot
    ));
    mm_snapshot_free(snapshot);
}
