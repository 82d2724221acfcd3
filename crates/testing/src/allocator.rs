//! An allocator that counts what the calling thread takes, and what all threads take together.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// Counts, for each thread on its own and for the process, and passes on to the system.
pub struct Counting;

static LIVE: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);
static TOTAL: AtomicI64 = AtomicI64::new(0);
/// The maximum number of bytes that the process may have live; it ends if it asks for more.
static MOST: AtomicI64 = AtomicI64::new(i64::MAX);

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

/// A reallocation takes the new memory before it gives back the old, for the process; threads count what remains.
fn count(taken: i64, given: i64) {
    if taken > 0 {
        TOTAL.fetch_add(taken, Relaxed);
        let live = LIVE.fetch_add(taken, Relaxed) + taken;
        PEAK.fetch_max(live, Relaxed);
        if live > MOST.load(Relaxed) {
            std::process::abort();
        }
    }
    LIVE.fetch_sub(given, Relaxed);
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

/// The memory that a job takes on this thread, in a program whose global allocator is [`Counting`].
pub fn counted<T>(job: impl FnOnce() -> T) -> (T, Count) {
    COUNT.with(|cell| {
        cell.set(Count {
            live: 0,
            peak: 0,
            total: 0,
        })
    });
    let result = job();
    (result, COUNT.with(Cell::get))
}

/// The memory that a job takes on all threads, in a program whose global allocator is [`Counting`]. One job at a time.
pub fn counted_in_process<T>(job: impl FnOnce() -> T) -> (T, Count) {
    let (live, total) = (LIVE.load(Relaxed), TOTAL.load(Relaxed));
    PEAK.store(live, Relaxed);
    let result = job();
    let count = Count {
        live: LIVE.load(Relaxed) - live,
        peak: PEAK.load(Relaxed) - live,
        total: TOTAL.load(Relaxed) - total,
    };
    (result, count)
}

/// The bytes that all threads have allocated and not freed.
pub fn live() -> i64 {
    LIVE.load(Relaxed)
}

/// The most that was live since the last job that was counted, or since the program began.
pub fn peak() -> i64 {
    PEAK.load(Relaxed)
}

/// Ends the program once all threads have more than this many bytes.
pub fn abort_beyond(bytes: i64) {
    MOST.store(bytes, Relaxed);
}
