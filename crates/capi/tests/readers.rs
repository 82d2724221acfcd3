//! Readers that store a few bytes at a time, and readers that use the file that they read.
#![allow(unsafe_code, reason = "C functions are called")]

mod support;

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};
use std::time::Duration;

use meshmap::cgeo::Dialect;
use meshmap_capi::*;
use meshmap_testing::{data, fixtures, with_watchdog};
use support::*;

/// A call that a reader makes once, before it stores bytes.
type Inside = fn(*const mm_file, *const mm_cache) -> mm_status;

/// A reader of memory.
struct Memory {
    bytes: Vec<u8>,
    /// The most bytes that one call stores.
    most: usize,
    calls: usize,
    file: *const mm_file,
    cache: *const mm_cache,
    inside: Option<Inside>,
    status: Option<mm_status>,
}

impl Memory {
    fn new(bytes: Vec<u8>, most: usize) -> Self {
        Self {
            bytes,
            most,
            calls: 0,
            file: null(),
            cache: null(),
            inside: None,
            status: None,
        }
    }

    /// Opens a file over this, which has to outlive it.
    fn open(&mut self, with_length: bool, options: &mm_options) -> *mut mm_file {
        let reader = mm_reader {
            user: (&raw mut *self).cast(),
            length: with_length.then_some(length as _),
            read: Some(read),
            ..sized()
        };
        let mut file = null_mut();
        // SAFETY: callbacks as the header wants them.
        let status = unsafe { mm_open_reader(&raw const reader, options, &raw mut file) };
        assert_eq!(status, MM_OK, "{}", text(last_error().text));
        file
    }
}

unsafe extern "C" fn length(user: *mut c_void, out: *mut u64) -> c_int {
    // SAFETY: what `Memory::open` passes, and what the library passes.
    unsafe { *out = (*user.cast::<Memory>()).bytes.len() as u64 };
    0
}

unsafe extern "C" fn read(
    user: *mut c_void,
    offset: u64,
    buffer: *mut c_void,
    length: usize,
    stored: *mut usize,
) -> c_int {
    let memory = user.cast::<Memory>();
    // SAFETY: what `Memory::open` passes; the reader is called on one thread, and nothing of it is borrowed across `inside`.
    unsafe {
        (*memory).calls += 1;
        if let Some(inside) = (*memory).inside.take() {
            let status = inside((*memory).file, (*memory).cache);
            (*memory).status = Some(status);
        }
        let memory = &*memory;
        let rest = memory
            .bytes
            .get(usize::try_from(offset).unwrap()..)
            .unwrap_or_default();
        let count = rest.len().min(length).min(memory.most);
        rest.as_ptr().copy_to_nonoverlapping(buffer.cast(), count);
        *stored = count;
    }
    0
}

/// The bytes of all positions of a file.
fn positions(file: *mut mm_file) -> Vec<[f32; 3]> {
    let (mut mesh, mut list) = (null_mut(), null_mut());
    let (mut count, mut all) = (0, Vec::new());
    // SAFETY: places and handles that are there.
    unsafe {
        assert_eq!(mm_meshes(file, &raw mut list), MM_OK);
        assert_eq!(mm_mesh_list_count(list, &raw mut count), MM_OK);
        for index in 0..count {
            let mut entry = sized::<mm_mesh_entry>();
            assert_eq!(mm_mesh_list_get(list, index, &raw mut entry), MM_OK);
            assert_eq!(mm_mesh_at(file, entry.address, &raw mut mesh), MM_OK);
            let mut info = sized::<mm_mesh_info>();
            assert_eq!(mm_mesh_get_info(mesh, &raw mut info), MM_OK);
            let mut out = vec![[0.0_f32; 3]; info.vertex_count];
            let (start, mut found) = (out.as_mut_ptr().cast(), 0);
            let status = mm_mesh_read_attribute(
                mesh,
                0,
                MM_SCALAR_F32,
                3,
                0,
                start,
                0,
                out.len(),
                &raw mut found,
            );
            assert_eq!(status, MM_OK, "{}", text(last_error().text));
            all.append(&mut out);
            assert_eq!(mm_mesh_free(mesh), MM_OK);
        }
        assert_eq!(mm_mesh_list_free(list), MM_OK);
    }
    assert!(!all.is_empty());
    all
}

#[test]
fn short_reads_are_continued_until_the_file_ends() {
    let files = [
        ("cgeo", "anim_a.cgeo"),
        ("iqm", "skin_multi_anim.iqm"),
        ("slmesh", "gen_08_server_header.slmesh"),
        ("tmf", "v021_shared_b_mask3.tmf"),
    ];
    for (format, name) in files {
        let bytes = std::fs::read(data::valid(format, name)).unwrap();
        let whole = memory(bytes.clone(), None);
        let expected = positions(whole);
        for most in [1, 7, 4095] {
            for with_length in [true, false] {
                let mut reader = Memory::new(bytes.clone(), most);
                let file = reader.open(with_length, &options(MM_PARALLELISM_OFF));
                assert_eq!(positions(file), expected, "{name}, {most} bytes at a time");
                assert_eq!(mm_close(file), MM_OK);
                assert!(reader.calls >= expected.len().min(bytes.len() / most));
            }
        }
        assert_eq!(mm_close(whole), MM_OK);
    }
}

/// Reads a snapshot in the way of a caller who has no cache.
fn snapshot(file: *const mm_file, index: usize) -> mm_status {
    let (mut out, mut count) = (vec![0.0_f32; 3 * 4096], 0);
    read_positions(
        file,
        index,
        null_mut(),
        (out.as_mut_ptr(), 0, 4096),
        &raw mut count,
    )
}

fn cached(file: *const mm_file, cache: *const mm_cache, index: usize) -> mm_status {
    let place = place();
    // SAFETY: handles that are there.
    let status = unsafe { mm_cache_get(cache, file, index, MM_PARTS_ALL, place) };
    assert_eq!(mm_snapshot_free(place), MM_OK);
    status
}

#[test]
fn a_reader_that_uses_its_own_file_gets_an_error() {
    let cases: [(&str, mm_status, Inside); 8] = [
        (
            "mm_cache_get of the same snapshot",
            MM_ERROR_IO,
            |file, cache| cached(file, cache, 5),
        ),
        (
            "mm_cache_get of another snapshot",
            MM_ERROR_IO,
            |file, cache| cached(file, cache, 6),
        ),
        (
            "mm_cache_get of a snapshot that is there",
            MM_OK,
            |file, cache| cached(file, cache, 1),
        ),
        (
            "mm_read_into of the same snapshot",
            MM_ERROR_IO,
            |file, _| snapshot(file, 5),
        ),
        (
            "mm_read_into of the first snapshot",
            MM_ERROR_IO,
            |file, _| snapshot(file, 0),
        ),
        ("mm_validate", MM_ERROR_IO, |file, _| {
            let mut list = null_mut();
            // SAFETY: a place for it.
            let status = unsafe { mm_validate(file, &raw mut list) };
            assert_eq!(mm_finding_list_free(list), MM_OK);
            status
        }),
        ("mm_cache_try_get", MM_ABSENT, |file, cache| {
            let place = place();
            // SAFETY: handles that are there.
            let status = unsafe { mm_cache_try_get(cache, file, 5, MM_PARTS_ALL, place) };
            assert_eq!(mm_snapshot_free(place), MM_OK);
            status
        }),
        ("mm_cache_clear", MM_OK, |_, cache| mm_cache_clear(cache)),
    ];
    let (_, snapshots) = fixtures::cgeo::animation(60, 16);
    let bytes = fixtures::cgeo::file(&snapshots, Dialect::default());
    for (name, expected, inside) in cases {
        // The caller reads a snapshot through the cache or without one.
        for with_cache in [true, false] {
            let mut reader = Memory::new(bytes.clone(), usize::MAX);
            let (file, cache) = (
                reader.open(true, &options(MM_PARALLELISM_OFF)),
                cache(64 << 20),
            );
            assert_eq!(cached(file, cache, 1), MM_OK);
            (reader.file, reader.cache, reader.inside) = (file, cache, Some(inside));
            let status = with_watchdog(Duration::from_secs(20), || match with_cache {
                true => cached(file, cache, 5),
                false => snapshot(file, 5),
            });
            assert_eq!(status, MM_OK, "{name}: {}", text(last_error().text));
            assert_eq!(reader.status, Some(expected), "{name}");
            if expected == MM_ERROR_IO {
                assert!(
                    text(last_error().text).contains("uses the file that it reads"),
                    "{name}"
                );
            }
            assert_eq!((mm_cache_free(cache), mm_close(file)), (MM_OK, MM_OK));
        }
    }
}

/// Counts how often a reader was given back.
unsafe extern "C" fn count_release(user: *mut c_void) {
    // SAFETY: the counter that the test passes.
    unsafe { *user.cast::<usize>() += 1 };
}

#[test]
fn readers_are_released_once_if_opening_fails() {
    unsafe extern "C" fn nothing(
        _: *mut c_void,
        _: u64,
        _: *mut c_void,
        _: usize,
        stored: *mut usize,
    ) -> c_int {
        // SAFETY: what the library passes.
        unsafe { *stored = 0 };
        0
    }
    let mut released = 0_usize;
    let user: *mut c_void = (&raw mut released).cast();
    let good = mm_reader {
        user,
        read: Some(nothing),
        release: Some(count_release),
        ..sized()
    };
    let wrong_options = mm_options { size: 0, ..sized() };
    let mut file = null_mut();
    let readers = [
        (mm_reader { size: 0, ..good }, null()),
        (
            mm_reader {
                size: 1 << 20,
                ..good
            },
            null(),
        ),
        (mm_reader { read: None, ..good }, null()),
        (good, &raw const wrong_options),
        // An empty file.
        (good, null()),
    ];
    for (times, (reader, options)) in readers.iter().enumerate() {
        // SAFETY: callbacks as the header wants them.
        let status = unsafe { mm_open_reader(reader, *options, &raw mut file) };
        assert_ne!(status, MM_OK);
        assert_eq!(
            // SAFETY: the counter lives as long as the test.
            unsafe { *user.cast::<usize>() },
            times + 1,
            "{}",
            text(last_error().text)
        );
    }
}
