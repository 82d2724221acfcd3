//! An allocator that counts what the calling thread takes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts, for each thread on its own, and passes on to the system.
pub struct Counting;

thread_local! {
    static COUNT: Cell<Count> = const { Cell::new(Count { live: 0, peak: 0, total: 0 }) };
}

/// Bytes taken by a job.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// Taken and not given back.
    pub live: i64,
    /// The most that was live at once.
    pub peak: i64,
    /// Taken in all.
    pub total: i64,
}

fn count(taken: i64, given: i64) {
    // While a thread ends its counters may be gone.
    let _ = COUNT.try_with(|cell| {
        let mut count = cell.get();
        count.live += taken - given;
        count.peak = count.peak.max(count.live);
        count.total += taken;
        cell.set(count);
    });
}

#[allow(unsafe_code, reason = "allocators cannot be written safely")]
// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64, 0);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, layout.size() as i64);
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64, 0);
        // SAFETY: as the caller promised.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size as i64, layout.size() as i64);
        // SAFETY: as the caller promised.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

/// What a job takes on this thread, in a program whose global allocator is [`Counting`].
pub fn counted<T>(job: impl FnOnce() -> T) -> (T, Count) {
    COUNT.with(|cell| cell.set(Count { live: 0, peak: 0, total: 0 }));
    let result = job();
    (result, COUNT.with(Cell::get))
}
