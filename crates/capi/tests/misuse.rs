//! A mistake of a caller is a status, and nothing else happens.
#![allow(unsafe_code, unused_unsafe, reason = "C functions are called")]

mod support;

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};

use meshmap_capi::*;
use meshmap_testing::data;
use support::*;

macro_rules! gives {
    ($status:expr, $call:expr) => {
        // SAFETY: what is wrong is what the interface finds out.
        assert_eq!(unsafe { $call }, $status, stringify!($call))
    };
}

#[test]
fn null_is_refused_or_passed_over() {
    let file = open(&data::valid("cgeo", "anim_a.cgeo"));
    gives!(MM_ERROR_ARGUMENT, mm_open(null(), null(), &mut null_mut()));
    gives!(
        MM_ERROR_ARGUMENT,
        mm_open(c"x".as_ptr(), null(), null_mut())
    );
    gives!(
        MM_ERROR_ARGUMENT,
        mm_open_map(null(), null(), &mut null_mut())
    );
    gives!(
        MM_ERROR_ARGUMENT,
        mm_open_memory(null(), 3, None, null_mut(), null(), &mut null_mut())
    );
    gives!(
        MM_ERROR_UNKNOWN_FORMAT,
        mm_open_memory(null(), 0, None, null_mut(), null(), &mut null_mut())
    );
    gives!(
        MM_ERROR_ARGUMENT,
        mm_open_reader(null(), null(), &mut null_mut())
    );
    gives!(MM_ERROR_HANDLE, mm_file_format(null(), &mut 0));
    gives!(MM_ERROR_ARGUMENT, mm_file_format(file, null_mut()));
    gives!(MM_ERROR_ARGUMENT, mm_mesh_at(file, null(), &mut null_mut()));
    gives!(MM_ERROR_ARGUMENT, mm_meshes(file, null_mut()));
    gives!(MM_ERROR_ARGUMENT, mm_arrays(file, None, null_mut()));
    gives!(MM_ERROR_ARGUMENT, mm_texts(file, None, null_mut()));
    gives!(
        MM_ERROR_ARGUMENT,
        read_positions(file, 0, null_mut(), (null_mut(), 0, 0), null_mut())
    );
    gives!(MM_ERROR_HANDLE, show_positions(file, 0, null_mut()).0);
    gives!(
        MM_ERROR_ARGUMENT,
        mm_array(file, null(), null_mut(), &mut sized())
    );
    gives!(
        MM_ERROR_ARGUMENT,
        mm_read_into(file, null(), 1, 1, null_mut(), null_mut(), 0, 0, &mut 0)
    );
    gives!(MM_ERROR_ARGUMENT, mm_last_error(null_mut()));
    gives!(MM_ERROR_ARGUMENT, mm_options_init(null_mut(), 0));
    gives!(
        MM_ERROR_ARGUMENT,
        mm_cache_prefetch(cache(1), file, null(), 3, MM_PARTS_ALL)
    );
    gives!(MM_OK, mm_close(null_mut()));
    gives!(MM_OK, mm_mesh_free(null_mut()));
    gives!(MM_OK, mm_scratch_free(null_mut()));
    gives!(MM_OK, mm_close(file));
}

#[test]
fn handles_that_were_closed_or_are_of_another_kind_are_refused() {
    let file = open(&data::valid("cgeo", "anim_a.cgeo"));
    let (scratch, place, cache) = (scratch(), place(), cache(1 << 20));
    gives!(MM_OK, mm_close(file));
    gives!(MM_ERROR_HANDLE, mm_close(file));
    gives!(MM_ERROR_HANDLE, mm_file_format(file, &mut 0));
    gives!(MM_ERROR_HANDLE, mm_file_ref(file, &mut null_mut()));
    // Another one takes its place in the table.
    let others: Vec<_> = (0..64)
        .map(|_| open(&data::valid("cgeo", "anim_a.cgeo")))
        .collect();
    gives!(MM_ERROR_HANDLE, mm_file_format(file, &mut 0));
    gives!(MM_ERROR_HANDLE, mm_close(file));

    gives!(MM_ERROR_HANDLE, mm_close(scratch.cast()));
    gives!(MM_ERROR_HANDLE, mm_file_format(cache.cast(), &mut 0));
    gives!(
        MM_ERROR_HANDLE,
        mm_cache_get(others[0].cast(), others[0], 0, MM_PARTS_ALL, place)
    );
    gives!(
        MM_ERROR_HANDLE,
        mm_cache_get(cache, others[0], 0, MM_PARTS_ALL, scratch.cast())
    );
    gives!(
        MM_ERROR_ARGUMENT,
        mm_cache_get(cache, others[0], 0, 16, place)
    );
    gives!(
        MM_ERROR_ARGUMENT,
        mm_snapshot_read(others[0], 0, 0, 1 << 31, scratch, place)
    );
    gives!(
        MM_ERROR_HANDLE,
        mm_cgeo_get_counts(others[0], 0, place.cast(), &mut sized())
    );
    let text = text(last_error().text);
    assert_eq!(
        text,
        "expected a handle of mm_scratch, found one of something else"
    );
    // Nothing of the scratch is needed, and it is looked at all the same: the place is empty, positions are floats.
    for array in [c"positions", c"triangles.positions"] {
        let (array, wrong, mut count) = (array.as_ptr(), place.cast(), 0);
        gives!(
            MM_ERROR_HANDLE,
            mm_snapshot_copy(
                place,
                array,
                MM_SCALAR_F32,
                3,
                wrong,
                null_mut(),
                0,
                0,
                &mut count
            )
        );
        gives!(
            MM_ABSENT,
            mm_snapshot_view(place, array, scratch, &mut sized())
        );
    }
    gives!(
        MM_ERROR_OUT_OF_RANGE,
        mm_snapshot_view(place, c"nothing".as_ptr(), scratch, &mut sized())
    );
    gives!(
        MM_ERROR_ARGUMENT,
        mm_snapshot_view(place, null(), scratch, &mut sized())
    );
    // Pointers to the caller's memory.
    let mut own = [0_u64; 64];
    gives!(MM_ERROR_HANDLE, mm_close(own.as_mut_ptr().cast()));
    gives!(MM_ERROR_HANDLE, mm_mesh_free(usize::MAX as *mut mm_mesh));

    for other in others {
        gives!(MM_OK, mm_close(other));
    }
    gives!(MM_OK, mm_scratch_free(scratch));
    gives!(MM_ERROR_HANDLE, mm_scratch_free(scratch));
    gives!(MM_OK, mm_snapshot_free(place));
    gives!(MM_OK, mm_cache_free(cache));
    gives!(MM_ERROR_HANDLE, mm_cache_clear(cache));
}

#[test]
fn numbers_and_sizes_that_are_wrong_are_refused() {
    let file = open(&data::valid("cgeo", "anim_a.cgeo"));
    let path = c_path(&data::valid("cgeo", "anim_a.cgeo"));
    let mut opened = null_mut();
    const WITHOUT_SIZE: mm_cgeo_dialect = mm_cgeo_dialect {
        size: 0,
        codec: 0,
        prefix: 0,
        section_size: 0,
        offset: 0,
    };
    const WRONG: mm_cgeo_dialect = mm_cgeo_dialect {
        size: size_of::<mm_cgeo_dialect>(),
        codec: 9,
        ..WITHOUT_SIZE
    };
    for change in [
        |options: &mut mm_options| options.strictness = 2,
        |options: &mut mm_options| options.parallelism = 77,
        |options: &mut mm_options| options.decoder = u32::MAX,
        |options: &mut mm_options| options.checksums = 5,
        |options: &mut mm_options| options.cgeo_dialect = &WRONG,
        |options: &mut mm_options| options.cgeo_dialect = &WITHOUT_SIZE,
        |options: &mut mm_options| options.reserved = 1,
        |options: &mut mm_options| options.size = 0,
        |options: &mut mm_options| options.size = usize::MAX,
    ] {
        let mut options = options(0);
        change(&mut options);
        gives!(
            MM_ERROR_ARGUMENT,
            mm_open(path.as_ptr(), &raw const options, &raw mut opened)
        );
        assert!(opened.is_null());
    }
    // A caller of a later version, whose struct is longer: fine, unless it sets what is not known here.
    #[repr(C)]
    struct Later(mm_options, u64);
    let mut later = Later(options(0), 0);
    later.0.size = size_of::<Later>();
    gives!(
        MM_OK,
        mm_open(path.as_ptr(), (&raw const later).cast(), &raw mut opened)
    );
    gives!(MM_OK, mm_close(opened));
    later.1 = 1;
    gives!(
        MM_ERROR_ARGUMENT,
        mm_open(path.as_ptr(), (&raw const later).cast(), &raw mut opened)
    );

    let (mut count, mut out) = (0, [0.0_f32; 3 * 4096]);
    let start = out.as_mut_ptr();
    for (expected, snapshot, stride, capacity) in [
        (MM_ERROR_OUT_OF_RANGE, 999, 0, 4096),
        (MM_ERROR_ARGUMENT, 0, 11, 4096),
        (MM_ERROR_ARGUMENT, 0, usize::MAX, 3),
        (MM_ERROR_ARGUMENT, 0, 16, usize::MAX),
        (MM_ERROR_BUFFER, 0, 0, 3),
    ] {
        gives!(
            expected,
            read_positions(
                file,
                snapshot,
                null_mut(),
                (start, stride, capacity),
                &raw mut count
            )
        );
        gives!(
            expected,
            read_positions(
                file,
                snapshot,
                null_mut(),
                (start, stride, capacity),
                null_mut()
            )
        );
    }
    assert!(out.iter().all(|number| *number == 0.0));
    let positions = c"snapshots[0].positions".as_ptr();
    for (scalar, components) in [(99, 3), (MM_SCALAR_F32, 0)] {
        gives!(
            MM_ERROR_ARGUMENT,
            mm_read_into(
                file,
                positions,
                scalar,
                components,
                null_mut(),
                null_mut(),
                0,
                0,
                &raw mut count
            )
        );
    }
    let (mut times, nan) = ([0.0_f64; 8], f64::NAN);
    gives!(
        MM_ERROR_ARGUMENT,
        mm_cgeo_keys(
            file,
            null(),
            0.0,
            1.0,
            9,
            null_mut(),
            times.as_mut_ptr(),
            0,
            8,
            &raw mut count
        )
    );
    gives!(
        MM_ERROR_OUT_OF_RANGE,
        mm_cgeo_keys(
            file,
            null(),
            nan,
            1.0,
            0,
            null_mut(),
            times.as_mut_ptr(),
            0,
            8,
            &raw mut count
        )
    );
    gives!(
        MM_ABSENT,
        mm_cgeo_key_at(file, null(), nan, 0, &mut mm_cgeo_key::default())
    );
    let wrong = mm_timing {
        clock: 3,
        ..sized()
    };
    gives!(
        MM_ERROR_ARGUMENT,
        mm_cgeo_time_of(file, &raw const wrong, 0, &raw mut times[0])
    );
    gives!(MM_ERROR_FORMAT, mm_rig_new(file, null(), &mut null_mut()));
    gives!(
        MM_ERROR_FORMAT,
        mm_slmesh_lod(file, c"high_lod".as_ptr(), &mut null_mut())
    );
    gives!(
        MM_ERROR_OUT_OF_RANGE,
        mm_mesh_at(file, c"meshes[".as_ptr(), &mut null_mut())
    );
    gives!(
        MM_ERROR_ARGUMENT,
        mm_mesh_at(file, c"\xff\xfe".as_ptr(), &mut null_mut())
    );

    let (mut mesh, mut room) = (null_mut(), [0_usize; 8]);
    gives!(
        MM_OK,
        mm_mesh_at(file, c"snapshots[0]".as_ptr(), &raw mut mesh)
    );
    let start: *mut c_void = start.cast();
    gives!(
        MM_ERROR_OUT_OF_RANGE,
        mm_mesh_attribute(mesh, 99, &mut sized())
    );
    gives!(
        MM_ERROR_ARGUMENT,
        mm_mesh_attribute(mesh, 0, (&raw mut room).cast())
    );
    for (expected, scalar, components, normalized, stride) in [
        (MM_ERROR_ARGUMENT, 99, 3, 0, 0),
        (MM_ERROR_ARGUMENT, MM_SCALAR_F32, 0, 0, 0),
        (MM_ERROR_ARGUMENT, MM_SCALAR_F32, 3, 2, 0),
        (MM_ERROR_ARGUMENT, MM_SCALAR_F32, 3, 0, 2),
        (MM_ERROR_BUFFER, MM_SCALAR_F32, 3, 0, 0),
    ] {
        gives!(
            expected,
            mm_mesh_read_attribute(
                mesh,
                0,
                scalar,
                components,
                normalized,
                start,
                stride,
                9,
                &raw mut count
            )
        );
    }
    // A stride is also checked when only the count is asked for.
    let float = MM_SCALAR_F32;
    gives!(
        MM_ERROR_ARGUMENT,
        mm_mesh_read_attribute(mesh, 0, float, 3, 0, null_mut(), 2, 0, &raw mut count)
    );
    gives!(
        MM_ERROR_ARGUMENT,
        mm_mesh_triangles(mesh, null_mut(), 2, 0, &raw mut count)
    );
    gives!(
        MM_OK,
        mm_mesh_triangles(mesh, null_mut(), 0, 0, &raw mut count)
    );
    gives!(
        MM_ERROR_ARGUMENT,
        mm_mesh_write_indices(mesh, 3, null_mut(), 0, &raw mut count, null_mut())
    );
    gives!(
        MM_ERROR_ARGUMENT,
        mm_mesh_write_interleaved(mesh, null(), 3, 0, null_mut(), 0, &raw mut count)
    );
    gives!(
        MM_ERROR_ARGUMENT,
        mm_layout_resolve(null_mut(), 1, &raw mut count)
    );
    let attribute = mm_layout_attribute {
        semantic: 99,
        ..sized()
    };
    gives!(
        MM_ERROR_ARGUMENT,
        mm_mesh_write_interleaved(
            mesh,
            &raw const attribute,
            1,
            0,
            null_mut(),
            0,
            &raw mut count
        )
    );
    let absent = mm_layout_attribute {
        semantic: MM_SEMANTIC_JOINTS,
        scalar: MM_SCALAR_U8,
        components: 4,
        offset: usize::MAX,
        ..sized()
    };
    gives!(
        MM_ERROR_MISMATCH,
        mm_mesh_write_interleaved(
            mesh,
            &raw const absent,
            1,
            0,
            start,
            1 << 14,
            &raw mut count
        )
    );
    gives!(MM_OK, mm_mesh_free(mesh));
    gives!(MM_OK, mm_close(file));
}

/// A reader that lies in a way that `user` says.
unsafe extern "C" fn length(user: *mut c_void, out: *mut u64) -> c_int {
    // SAFETY: what the library passes.
    unsafe {
        *out = match user as usize {
            1 => u64::MAX,
            2 => return 5,
            3 => 1 << 40,
            _ => 1000,
        }
    };
    0
}

unsafe extern "C" fn read(
    user: *mut c_void,
    _: u64,
    buffer: *mut c_void,
    length: usize,
    stored: *mut usize,
) -> c_int {
    // SAFETY: what the library passes.
    unsafe {
        buffer.cast::<u8>().write_bytes(b'I', length);
        *stored = match user as usize {
            4 => length + 1,
            5 => usize::MAX,
            6 => 0,
            7 => return -3,
            8 => length / 2,
            _ => length,
        };
    }
    0
}

#[test]
fn readers_that_fail_or_lie_are_errors() {
    for lie in 0..9_usize {
        let reader = mm_reader {
            user: lie as *mut c_void,
            length: Some(length),
            read: Some(read),
            ..sized()
        };
        let mut file = null_mut();
        // SAFETY: callbacks as the header requires, except for the numbers that they return.
        let status = unsafe { mm_open_reader(&raw const reader, null(), &raw mut file) };
        let expected = match lie {
            2 | 4 | 5 | 7 => [MM_ERROR_IO; 2],
            _ => [MM_ERROR_UNKNOWN_FORMAT, MM_ERROR_TRUNCATED],
        };
        assert!(
            expected.contains(&status) && file.is_null(),
            "{lie}: {status}"
        );
    }
    let reader = mm_reader {
        length: Some(length),
        ..sized()
    };
    gives!(
        MM_ERROR_ARGUMENT,
        mm_open_reader(&raw const reader, null(), &mut null_mut())
    );
    let mut short = reader;
    short.size = 8;
    gives!(
        MM_ERROR_ARGUMENT,
        mm_open_reader(&raw const short, null(), &mut null_mut())
    );
}

#[test]
fn two_threads_with_one_scratch_are_told_so_or_wait_for_nothing() {
    let file = open(&data::valid("cgeo", "anim_a.cgeo")) as usize;
    let scratch = scratch() as usize;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(move || {
                for index in 0..200 {
                    let (file, scratch) = (file as *mut mm_file, scratch as *mut mm_scratch);
                    let (mut out, mut count) = (vec![[0.0_f32; 3]; 4096], 0);
                    let start = out.as_mut_ptr().cast();
                    let status =
                        read_positions(file, index % 12, scratch, (start, 0, 4096), &raw mut count);
                    assert!(
                        status == MM_OK && count > 0 || status == MM_ERROR_BUSY,
                        "{status}"
                    );
                }
            });
        }
    });
    gives!(MM_OK, mm_scratch_free(scratch as *mut mm_scratch));
    gives!(MM_OK, mm_close(file as *mut mm_file));
}
