//! The calls of a render thread allocate nothing once its scratch is large enough, and never more than the library.
#![allow(unsafe_code, reason = "C functions are called")]

mod support;

use std::ffi::{CStr, CString};
use std::path::Path;
use std::ptr::{null, null_mut};

use meshmap::cgeo::{Dialect, MeshBuffer, Parts, Proxy, SnapshotCache, Wrap};
use meshmap::iqm::{IDENTITY, Model, Trs};
use meshmap::{Codec, Options, Scratch, Source};
use meshmap_capi::*;
use meshmap_testing::allocator::{Counting, counted};
use meshmap_testing::{data, fixtures};
use support::*;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// 60,025 vertices.
const SIDE: u32 = 245;
const SNAPSHOTS: usize = 4;

/// Runs a job for all snapshots, and again for all differences; returns what the second time took.
fn again(mut job: impl FnMut(usize)) -> i64 {
    (0..SNAPSHOTS).for_each(&mut job);
    counted(|| (1..SNAPSHOTS).for_each(&mut job)).1.total
}

fn write(folder: &Path) -> std::path::PathBuf {
    let (_, snapshots) = fixtures::cgeo::animation(SIDE, SNAPSHOTS);
    let path = folder.join("animation.cgeo");
    std::fs::write(&path, fixtures::cgeo::file(&snapshots, Dialect::default())).unwrap();
    path
}

#[test]
fn snapshots_take_the_memory_that_the_library_takes_and_none_after_warm_up_where_mapped() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path());
    let ours = Options::default();
    for is_mapped in [true, false] {
        let file = if is_mapped {
            map(&path, None)
        } else {
            let (mut file, path) = (null_mut(), c_path(&path));
            assert_eq!(
                // SAFETY: places and text that are there.
                unsafe { mm_open(path.as_ptr(), null(), &raw mut file) },
                MM_OK
            );
            file
        };
        let source = if is_mapped {
            // SAFETY: nobody changes the file.
            unsafe { Source::map(&path) }
        } else {
            Source::open(&path)
        };
        let proxy = Proxy::from_source(source.unwrap(), &ours).unwrap();
        let (scratch, place) = (scratch(), place());
        let (mut own, mut mesh, mut vertices) =
            (Scratch::default(), MeshBuffer::default(), Vec::new());
        let mut memory = vec![0.0_f32; (SIDE * SIDE * 4) as usize];
        let capacity = (SIDE * SIDE) as usize;
        let mut count = 0;

        let library = again(|i| {
            proxy
                .snapshot(i)
                .unwrap()
                .positions_into(&mut vertices, &mut own)
                .unwrap()
        });
        let mut shown: Vec<usize> = Vec::with_capacity(4 * SNAPSHOTS);
        let c = again(|i| {
            let (status, view) = show_positions(file, i, scratch);
            assert_eq!((status, view.shape[0]), (MM_OK, capacity as u64));
            shown.push(view.data as usize);
        });
        assert_eq!(c, library);
        // Nothing is copied: what is shown is where it was decoded, each time.
        assert!(shown[1..].iter().all(|place| *place == shown[1]));
        let c_too = again(|i| {
            let out = memory.as_mut_ptr();
            let status = read_positions(file, i, scratch, (out, 16, capacity), &raw mut count);
            assert_eq!((status, count), (MM_OK, capacity));
        });
        assert_eq!(c_too, library);

        // Every address of the snapshots, resolved in each call.
        const NAMES: [&CStr; 7] = [
            c"bounding_box",
            c"normals",
            c"map_channels[0]",
            c"triangles.positions",
            c"triangles.normals",
            c"triangles.map_channels[0]",
            c"triangles.material_ids",
        ];
        let addresses: Vec<Vec<CString>> = (0..SNAPSHOTS)
            .map(|i| {
                let address = |name: &&CStr| format!("snapshots[{i}].{}", name.to_str().unwrap());
                NAMES
                    .iter()
                    .map(|name| CString::new(address(name)).unwrap())
                    .collect()
            })
            .collect();
        let c = again(|i| {
            for address in &addresses[i] {
                // SAFETY: a text, and a place for the result.
                let status = unsafe { mm_array(file, address.as_ptr(), scratch, &mut sized()) };
                assert_eq!(status, MM_OK, "{address:?}");
            }
        });
        if is_mapped {
            assert_eq!(c, 0);
        }

        let library_whole = again(|i| {
            proxy
                .snapshot(i)
                .unwrap()
                .mesh_into(Parts::ALL, &mut mesh, &mut own)
                .unwrap()
        });
        let c_whole = again(|i| {
            assert_eq!(
                // SAFETY: handles that are open.
                unsafe { mm_snapshot_read(file, i, 0, MM_PARTS_ALL, scratch, place) },
                MM_OK
            );
            let (out, mut shown) = (memory.as_mut_ptr(), sized::<mm_array_info>());
            let (positions, normals) = (c"positions".as_ptr(), c"normals".as_ptr());
            let (f32, none, count) = (MM_SCALAR_F32, null_mut(), &raw mut count);
            // SAFETY: memory that is large enough.
            let status = unsafe {
                mm_snapshot_view(place, normals, none, &raw mut shown)
                    + mm_snapshot_copy(
                        place,
                        positions,
                        f32,
                        3,
                        none,
                        out.cast(),
                        16,
                        capacity,
                        count,
                    )
                    + mm_cgeo_get_counts(file, i, scratch, &mut sized())
                    + mm_cgeo_topology(file, i, scratch, &mut mm_topology::default())
                    + mm_cgeo_storage(file, i, scratch, &mut 0, &mut 0)
            };
            assert_eq!(status, MM_OK);
        });
        if is_mapped {
            assert_eq!((library, library_whole, c_whole), (0, 0, 0));
        }
        assert!(
            c_whole <= 3 * library_whole,
            "each call reads what it needs of a file that is not mapped"
        );

        // A shutter.
        let timing = proxy.timing().unwrap();
        let (mut keys, mut moving) = (Vec::new(), Vec::new());
        let library = again(|i| {
            let open = timing.time_of(i);
            timing
                .keys_into(open, open + 0.05, Wrap::Loop, &mut keys)
                .unwrap();
            proxy
                .positions_at(&timing, &keys, Wrap::Loop, &mut moving, &mut own)
                .unwrap();
        });
        let (mut times, mut memory) = ([0.0_f64; 8], vec![0.0_f32; capacity * 8 * 4]);
        let c = again(|i| {
            let open = timing.time_of(i);
            let (times, out, room, wrap) = (
                times.as_mut_ptr(),
                memory.as_mut_ptr(),
                capacity * 8,
                MM_WRAP_LOOP,
            );
            // SAFETY: memory that is large enough.
            let keys = unsafe {
                mm_cgeo_keys(
                    file,
                    null(),
                    open,
                    open + 0.05,
                    wrap,
                    scratch,
                    times,
                    0,
                    8,
                    &raw mut count,
                )
            };
            let (own, none, many, count) = (null(), null(), count, &raw mut count);
            // SAFETY: memory that is large enough.
            let status = unsafe {
                mm_cgeo_positions_at(
                    file, own, times, many, wrap, none, scratch, out, 16, room, count,
                )
            };
            assert_eq!((keys, status), (MM_OK, MM_OK));
        });
        assert_eq!(c, library);
        if is_mapped {
            assert_eq!(c, 0);
        }

        // Vertices in a buffer, and normals between snapshots.
        let layout = [MM_SEMANTIC_POSITION, MM_SEMANTIC_NORMAL]
            .map(|semantic| attribute(semantic, MM_SCALAR_F32, 3, 0));
        let mut writer = null_mut();
        assert_eq!(
            // SAFETY: places that are there.
            unsafe { mm_vertex_writer_new(layout.as_ptr(), 2, 0, &raw mut writer) },
            MM_OK
        );
        let mut vertices = vec![0_u8; capacity * 24];
        let c = again(|i| {
            let (out, room, at) = (
                vertices.as_mut_ptr().cast(),
                vertices.len(),
                timing.time_of(i) + 0.01,
            );
            let (own, wrap, none, id, cache) =
                (null(), MM_WRAP_LOOP, null_mut(), null_mut(), null());
            let (first, normals, found) = (&raw const at, memory.as_mut_ptr(), &raw mut count);
            // SAFETY: memory that is large enough.
            let status = unsafe {
                mm_vertex_writer_write(writer, file, i, out, room, none, id)
                    + mm_vertex_writer_write_at(writer, file, own, at, wrap, out, room, none, id)
                    + mm_cgeo_normals_at(
                        file, own, first, 1, wrap, cache, scratch, normals, 0, capacity, found,
                    )
            };
            assert_eq!((status, count), (MM_OK, capacity));
        });
        if is_mapped {
            assert_eq!(c, 0);
        }
        assert_eq!(mm_vertex_writer_free(writer), MM_OK);

        // A snapshot that is in the cache.
        let (cache, library_cache) = (cache(1 << 30), SnapshotCache::new(1 << 30));
        let library = again(|i| drop(library_cache.get(&proxy, i, Parts::ALL).unwrap()));
        let c = again(|i| {
            assert_eq!(
                // SAFETY: handles that are open.
                unsafe { mm_cache_get(cache, file, i, MM_PARTS_ALL, place) },
                MM_OK
            );
        });
        assert_eq!((library, c), (0, 0));
        assert_eq!(
            (mm_cache_free(cache), mm_snapshot_free(place)),
            (MM_OK, MM_OK)
        );
        assert_eq!((mm_scratch_free(scratch), mm_close(file)), (MM_OK, MM_OK));
    }
}

/// Differences and complete snapshots, before the whole first mesh has been decoded and after it, in turn.
#[test]
fn no_mask_of_parts_takes_memory_after_warm_up() {
    let meshes: Vec<_> = (0..6)
        .map(|time| fixtures::cgeo::Mesh::sheet(40, 1, time as f32))
        .collect();
    let content = |(at, mesh): (usize, &fixtures::cgeo::Mesh)| match at % 3 {
        0 => fixtures::cgeo::snapshot(mesh, mesh.complete()),
        _ => fixtures::cgeo::snapshot(mesh, mesh.difference(&meshes[0])),
    };
    let snapshots: Vec<_> = meshes.iter().enumerate().map(content).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mixed.cgeo");
    std::fs::write(&path, fixtures::cgeo::file(&snapshots, Dialect::default())).unwrap();
    let twice = |mut job: Box<dyn FnMut() + '_>| {
        job();
        counted(job).1.total
    };
    for mask in 0..=MM_PARTS_ALL {
        let (file, scratch, place) = (map(&path, None), scratch(), place());
        let read = |i: usize, mask| {
            assert_eq!(
                // SAFETY: handles that are open.
                unsafe { mm_snapshot_read(file, i, 0, mask, scratch, place) },
                MM_OK
            )
        };
        for i in 0..6 {
            assert_eq!(
                twice(Box::new(|| read(i, mask))),
                0,
                "mask {mask} of snapshot {i}"
            );
        }
        let all = twice(Box::new(|| {
            for other in 0..=MM_PARTS_ALL {
                for i in 0..6 {
                    read(i, mask);
                    read((i + 1) % 6, other);
                }
            }
        }));
        assert_eq!(all, 0, "mask {mask} and others in turn");
        assert_eq!(
            (
                mm_snapshot_free(place),
                mm_scratch_free(scratch),
                mm_close(file)
            ),
            (MM_OK, MM_OK, MM_OK)
        );
    }
}

#[test]
fn cached_snapshots_take_no_memory_however_many_there_are() {
    let (_, snapshots) = fixtures::cgeo::animation(2, 1_000);
    let (file, place) = (
        memory(fixtures::cgeo::file(&snapshots, Dialect::default()), None),
        place(),
    );
    for entries in [1, 12, 1_000] {
        let cache = cache(1 << 30);
        let get = |index: usize, parts: mm_parts| {
            assert_eq!(
                // SAFETY: handles that are open.
                unsafe { mm_cache_get(cache, file, index, parts, place) },
                MM_OK
            );
        };
        let hits = || {
            let mut random = 1_u32;
            for request in 0..2_000 {
                // In turn, then at random, with masks of parts in turn.
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let index = if request < 1_000 {
                    request
                } else {
                    (random >> 8) as usize
                };
                get(
                    index % entries,
                    [MM_PARTS_POSITIONS, MM_PARTS_NORMALS, MM_PARTS_ALL][request % 3],
                );
                // SAFETY: handles that are open.
                let status =
                    unsafe { mm_cache_try_get(cache, file, index % entries, MM_PARTS_ALL, place) };
                assert_eq!(status, MM_OK);
            }
        };
        (0..entries).for_each(|index| get(index, MM_PARTS_ALL));
        hits();
        assert_eq!(counted(hits).1.total, 0, "{entries} entries");
        assert_eq!(mm_cache_free(cache), MM_OK);
    }
    assert_eq!((mm_snapshot_free(place), mm_close(file)), (MM_OK, MM_OK));
}

#[test]
fn positions_that_are_not_compressed_are_shown_where_they_lie_and_take_no_memory() {
    let meshes = (0..SNAPSHOTS).map(|time| fixtures::cgeo::Mesh::sheet(30, 1, time as f32));
    let snapshots: Vec<_> = meshes
        .map(|mesh| fixtures::cgeo::snapshot(&mesh, mesh.complete()))
        .collect();
    let dialect = Dialect::default().with_codec(Codec::Stored);
    let bytes = fixtures::cgeo::file(&snapshots, dialect);
    let lent = bytes.as_ptr_range();
    let (file, scratch) = (memory(bytes, Some(&options(MM_PARALLELISM_OFF))), scratch());
    let mut within = [false; SNAPSHOTS];
    let taken = again(|i| {
        let (status, view) = show_positions(file, i, scratch);
        assert_eq!((status, view.shape[0]), (MM_OK, 900));
        within[i] = lent.contains(&view.data.cast());
    });
    assert_eq!(taken, 0);
    // Arrays that are not aligned for floats are copied.
    assert!(within.contains(&true));
    assert_eq!((mm_scratch_free(scratch), mm_close(file)), (MM_OK, MM_OK));
}

#[test]
fn skinning_takes_no_memory_after_warm_up() {
    let path = data::valid("iqm", "skin_multi_anim.iqm");
    let (file, scratch, mut rig) = (map(&path, None), scratch(), null_mut());
    // SAFETY: places that are there.
    assert_eq!(unsafe { mm_rig_new(file, null(), &raw mut rig) }, MM_OK);
    let model = Model::open(&path).unwrap();
    let (skeleton, frames, anim) = (
        model.skeleton().unwrap(),
        model.frames(),
        model.anims().next().unwrap(),
    );
    let mut expected = vec![IDENTITY; skeleton.parents().len()];
    let mut pose = vec![Trs::default(); frames.pose_count()];
    let (mut out, mut count) = (vec![IDENTITY; skeleton.parents().len()], 0);
    let taken = again(|i| {
        let (start, room, seconds) = (out.as_mut_ptr().cast(), out.len(), i as f64 * 0.1);
        // SAFETY: memory that is large enough.
        let status = unsafe {
            mm_rig_skinning_at(
                rig,
                0,
                seconds,
                24.0,
                scratch,
                start,
                0,
                room,
                &raw mut count,
            )
        };
        assert_eq!(status, MM_OK);
    });
    assert_eq!(taken, 0);
    let (from, to, fraction) = anim.frames_at((SNAPSHOTS - 1) as f64 * 0.1, 24.0).unwrap();
    frames
        .interpolate_into(from, to, fraction, &mut pose)
        .unwrap();
    skeleton
        .skinning_matrices_into(&pose, &mut expected)
        .unwrap();
    assert_eq!(out, expected);
    assert_eq!(
        (mm_rig_free(rig), mm_scratch_free(scratch), mm_close(file)),
        (MM_OK, MM_OK, MM_OK)
    );
}
