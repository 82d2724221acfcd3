//! 64 threads over one cache. `.ci/slow threads` also runs this under ThreadSanitizer.
#![allow(unsafe_code, reason = "C functions are called")]

mod support;

use std::ptr::null_mut;
use std::sync::Barrier;

use meshmap::cgeo::Dialect;
use meshmap_capi::*;
use meshmap_testing::fixtures;
use support::*;

const THREADS: usize = 64;
const SNAPSHOTS: usize = 24;

/// A handle that goes to other threads.
struct Shared<T>(*mut T);

// SAFETY: a number; the header says which handles every thread may use.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn get(&self) -> *mut T {
        self.0
    }
}

#[test]
fn many_threads_over_one_cache_decode_each_snapshot_once() {
    let (meshes, snapshots) = fixtures::cgeo::animation(50, SNAPSHOTS);
    let file = Shared(memory(
        fixtures::cgeo::file(&snapshots, Dialect::default()),
        None,
    ));
    let cache = Shared(cache(1 << 30));
    let (barrier, meshes, file, cache) = (Barrier::new(THREADS), &meshes, &file, &cache);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let barrier = &barrier;
            scope.spawn(move || {
                let (place, scratch) = (place(), scratch());
                let mut own = null_mut();
                // SAFETY: a place for it.
                assert_eq!(unsafe { mm_file_ref(file.get(), &raw mut own) }, MM_OK);
                barrier.wait();
                for step in 0..SNAPSHOTS {
                    let index = (thread * 5 + step) % SNAPSHOTS;
                    assert_eq!(
                        // SAFETY: handles that are open.
                        unsafe { mm_cache_get(cache.get(), own, index, MM_PARTS_ALL, place) },
                        MM_OK
                    );
                    let (mut shown, name) = (sized::<mm_array_info>(), c"positions".as_ptr());
                    // SAFETY: a place for it.
                    let status =
                        unsafe { mm_snapshot_view(place, name, null_mut(), &raw mut shown) };
                    assert_eq!(status, MM_OK);
                    // SAFETY: the place is not filled meanwhile.
                    let found = unsafe {
                        std::slice::from_raw_parts(
                            shown.data.cast::<[f32; 3]>(),
                            shown.byte_length / 12,
                        )
                    };
                    let expected = &meshes[index].positions;
                    assert_eq!(found.len(), expected.len());
                    assert!(
                        found
                            .iter()
                            .zip(expected)
                            .all(|(a, b)| (a[2] - b[2]).abs() < 1e-4)
                    );
                    let (times, mut moving, mut count) =
                        ([0.05, 0.11], vec![[0.0_f32; 4]; 5000], 0);
                    // SAFETY: memory that is large enough.
                    let status = unsafe {
                        mm_cgeo_positions_at(
                            own,
                            std::ptr::null(),
                            times.as_ptr(),
                            2,
                            MM_WRAP_LOOP,
                            cache.get(),
                            scratch,
                            moving.as_mut_ptr().cast(),
                            16,
                            5000,
                            &raw mut count,
                        )
                    };
                    assert_eq!((status, count), (MM_OK, 5000));
                }
                // One that fails, and its own text.
                // SAFETY: handles that are open.
                let status =
                    unsafe { mm_cache_get(cache.get(), own, 1000 + thread, MM_PARTS_ALL, place) };
                assert_eq!(status, MM_ERROR_OUT_OF_RANGE);
                assert!(text(last_error().text).contains(&format!("1,{thread:03}")));
                assert_eq!(
                    (
                        mm_snapshot_free(place),
                        mm_scratch_free(scratch),
                        mm_close(own)
                    ),
                    (MM_OK, MM_OK, MM_OK)
                );
            });
        }
    });
    let mut stats = sized::<mm_cache_stats>();
    assert_eq!(
        // SAFETY: a place for it.
        unsafe { mm_cache_get_stats(cache.get(), &raw mut stats) },
        MM_OK
    );
    // Two times need four snapshots. The other parts of these are decoded later, if their positions were asked for first.
    let decodes = SNAPSHOTS as u64..=SNAPSHOTS as u64 + 4;
    assert!(
        decodes.contains(&stats.decodes) && stats.repeated_decodes == 0,
        "{}",
        stats.decodes
    );
    assert_eq!(
        (mm_cache_free(cache.get()), mm_close(file.get())),
        (MM_OK, MM_OK)
    );
    assert_eq!(mm_handle_count(), 0);
}
