//! Times of snapshots, and what moves between them.

use meshmap::Scratch;
use meshmap::cgeo::{Counts, Proxy, SnapshotCache, Timing, Wrap};

use crate::cache::{Shared, mm_cache};
use crate::fail::{Fail, Result, guard, mm_status};
use crate::file::{File, mm_file};
use crate::format::{unknown, value};
use crate::handle;
use crate::memory::{First, Places, elements, put, put_sized, take_sized};
use crate::scratch::{Working, mm_scratch, with};

/// The behaviour before the first snapshot and after the last.
pub type mm_wrap = u32;
/// The first and the last snapshot stay.
pub const MM_WRAP_CLAMP: mm_wrap = 0;
/// The first snapshot follows the last, one step later.
pub const MM_WRAP_LOOP: mm_wrap = 1;
/// Snapshots run back to the first, then forth again.
pub const MM_WRAP_PING_PONG: mm_wrap = 2;

/// The source of the times of snapshots.
pub type mm_clock = u32;
/// The times of the file.
pub const MM_CLOCK_FILE: mm_clock = 0;
/// Times that begin at `start`, `step` seconds apart.
pub const MM_CLOCK_STEP: mm_clock = 1;
/// Times that begin at `start`, `rate` of them per second.
pub const MM_CLOCK_RATE: mm_clock = 2;

/// The times of snapshots. Functions that take one use the times of the file if it is NULL.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct mm_timing {
    /// sizeof(mm_timing), set by the caller.
    pub size: usize,
    /// The source of the times.
    pub clock: mm_clock,
    /// 0.
    pub reserved: u32,
    /// The number of snapshots; 0 for all of the file.
    pub count: usize,
    /// The time of snapshot 0 in seconds.
    pub start: f64,
    /// From one snapshot to the next, in seconds; 0 if no time passes.
    pub step: f64,
    /// Snapshots per second, of MM_CLOCK_RATE.
    pub rate: f64,
}

// SAFETY: `repr(C)`, begins with its size, and has only numbers.
unsafe impl First for mm_timing {}

/// A time between two snapshots.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct mm_cgeo_key {
    /// The snapshot at or before the time.
    pub from: usize,
    /// The snapshot after it.
    pub to: usize,
    /// The fraction from `from` (0) to `to` (1).
    pub fraction: f32,
}

pub(crate) fn wrap(number: mm_wrap) -> Result<Wrap> {
    const WRAPS: [(mm_wrap, Wrap); 3] = [
        (MM_WRAP_CLAMP, Wrap::Clamp),
        (MM_WRAP_LOOP, Wrap::Loop),
        (MM_WRAP_PING_PONG, Wrap::PingPong),
    ];
    value("mm_wrap", &WRAPS, number)
}

/// The times that are meant.
pub(crate) unsafe fn timing(proxy: &Proxy, from: *const mm_timing) -> Result<Timing> {
    // SAFETY: the caller's, as the header says.
    let from = unsafe { take_sized(from, mm_timing::default()) }?;
    let count = if from.count == 0 {
        proxy.snapshot_count()
    } else {
        from.count
    };
    match from.clock {
        MM_CLOCK_FILE => {
            let none =
                || Fail::argument("the file has no times: expected a timing with a step or a rate");
            proxy.timing().ok_or_else(none)
        }
        MM_CLOCK_STEP => Ok(Timing::new(from.start, from.step, count)),
        MM_CLOCK_RATE => Ok(Timing::new(from.start, 0.0, count).with_rate(from.rate)),
        other => Err(unknown("clock", other)),
    }
}

/// The times that a file stores. MM_ABSENT if the file stores no times.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_timing(file: *const mm_file, out: *mut mm_timing) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        let timing = file.cgeo()?.timing().ok_or(Fail::Absent)?;
        let start = timing.start();
        let step = timing.step();
        let count = timing.count();
        let rate = if step == 0.0 { 0.0 } else { 1.0 / step };
        let times = mm_timing {
            count,
            start,
            step,
            rate,
            ..mm_timing::default()
        };
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, times) }
    })
}

/// The time of a snapshot in seconds. MM_ERROR_ARGUMENT if `timing` is NULL and the file has no times.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_time_of(
    file: *const mm_file,
    timing: *const mm_timing,
    snapshot: usize,
    seconds: *mut f64,
) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        // SAFETY: the caller's, as the header says.
        unsafe {
            put(
                seconds,
                self::timing(file.cgeo()?, timing)?.time_of(snapshot),
            )
        }
    })
}

/// The snapshots around a time in seconds. The fraction is 0 at the time of a snapshot. MM_ABSENT if there are no
/// snapshots, or the time is NaN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_key_at(
    file: *const mm_file,
    timing: *const mm_timing,
    seconds: f64,
    wrap: mm_wrap,
    out: *mut mm_cgeo_key,
) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        // SAFETY: the caller's, as the header says.
        let timing = unsafe { self::timing(file.cgeo()?, timing) }?;
        let key = timing
            .index_at(seconds, self::wrap(wrap)?)
            .ok_or(Fail::Absent)?;
        // SAFETY: the caller's, as the header says.
        unsafe {
            put(
                out,
                mm_cgeo_key {
                    from: key.from,
                    to: key.to,
                    fraction: key.fraction,
                },
            )
        }
    })
}

/// The times in seconds that a shutter needs, ascending: its opening and closing, and each snapshot that is passed between
/// them. Vertices move in straight lines between neighbours. Takes no memory once the scratch is large enough.
/// MM_ERROR_OUT_OF_RANGE for a shutter that closes before it opens, or more than 65,536 times.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_keys(
    file: *const mm_file,
    timing: *const mm_timing,
    open: f64,
    close: f64,
    wrap: mm_wrap,
    scratch: *mut mm_scratch,
    out: *mut f64,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        // SAFETY: the caller's, as the header says.
        let (timing, mut target) = unsafe {
            let target = Places::of::<f64>(out.cast(), stride, capacity, count)?;
            (self::timing(file.cgeo()?, timing)?, target)
        };
        with(scratch, |working| {
            timing.keys_into(open, close, self::wrap(wrap)?, &mut working.times)?;
            target.write(&working.times)
        })
    })
}

/// Positions or normals at several times into memory, or only their count, by the counts of a snapshot. The library decodes them with
/// a cache or without one.
///
/// # Safety
///
/// The pointers are the pointers of the entry point.
unsafe fn write_at(
    file: *const mm_file,
    (timing, seconds, time_count, wrap): (*const mm_timing, *const f64, usize, mm_wrap),
    (cache, scratch): (*const mm_cache, *mut mm_scratch),
    (out, stride, capacity, count): (*mut f32, usize, usize, *mut usize),
    count_of: impl FnOnce(Counts) -> u32,
    decode: impl FnOnce(
        &Proxy,
        &Timing,
        &[f64],
        Wrap,
        &mut Vec<[f32; 3]>,
        &mut Scratch,
    ) -> meshmap::Result<()>,
    cached: impl FnOnce(
        &SnapshotCache,
        &Proxy,
        &Timing,
        &[f64],
        Wrap,
        &mut Vec<[f32; 3]>,
    ) -> meshmap::Result<()>,
) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        let cache = handle::get_if_any::<Shared>(cache)?;
        let proxy = file.cgeo()?;
        // SAFETY: the caller's, as the header says.
        let (mut target, timing, seconds) = unsafe {
            let target = Places::of::<[f32; 3]>(out.cast(), stride, capacity, count)?;
            (
                target,
                self::timing(proxy, timing)?,
                elements(seconds, time_count)?,
            )
        };
        let wrap = self::wrap(wrap)?;
        with(
            scratch,
            |Working {
                 scratch, triples, ..
             }| {
                if target.is_count_alone() {
                    let Some(first) = seconds.first() else {
                        return target.begin(0);
                    };
                    let key = timing.index_at(*first, wrap);
                    let key = key.ok_or_else(|| {
                        Fail::argument("expected times that are numbers, and snapshots")
                    })?;
                    let counts = proxy.snapshot(key.from)?.counts(scratch)?;
                    let each = usize::try_from(count_of(counts)).unwrap_or(usize::MAX);
                    return target.begin(each.saturating_mul(seconds.len()));
                }
                match cache {
                    Some(cache) => cached(&cache.0, proxy, &timing, seconds, wrap, triples)?,
                    None => decode(proxy, &timing, seconds, wrap, triples, scratch)?,
                }
                target.write(triples)
            },
        )
    })
}

/// The positions of every vertex at these times in seconds, by linear interpolation between snapshots: all vertices of
/// the first time, then all of the next; three floats each. A cache, if it is not NULL, decodes and holds the positions of each
/// snapshot; without one, nothing is allocated once the scratch is large enough, if the file is mapped or in memory.
/// MM_ERROR_MISMATCH if snapshots have different triangles. MM_ERROR_OUT_OF_RANGE for a time that is NaN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_positions_at(
    file: *const mm_file,
    timing: *const mm_timing,
    seconds: *const f64,
    time_count: usize,
    wrap: mm_wrap,
    cache: *const mm_cache,
    scratch: *mut mm_scratch,
    out: *mut f32,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    let at = (timing, seconds, time_count, wrap);
    let out = (out, stride, capacity, count);
    let own = Proxy::positions_at;
    let cached = SnapshotCache::positions_at;
    // SAFETY: the caller's, as the header says.
    unsafe {
        write_at(
            file,
            at,
            (cache, scratch),
            out,
            |counts| counts.vertices,
            own,
            cached,
        )
    }
}

/// The normals at these times in seconds, like mm_cgeo_positions_at: between the normals of the snapshots, of length 1. Triangles have
/// separate indices of normals.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_normals_at(
    file: *const mm_file,
    timing: *const mm_timing,
    seconds: *const f64,
    time_count: usize,
    wrap: mm_wrap,
    cache: *const mm_cache,
    scratch: *mut mm_scratch,
    out: *mut f32,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    let at = (timing, seconds, time_count, wrap);
    let out = (out, stride, capacity, count);
    let own = Proxy::normals_at;
    let cached = SnapshotCache::normals_at;
    // SAFETY: the caller's, as the header says.
    unsafe {
        write_at(
            file,
            at,
            (cache, scratch),
            out,
            |counts| counts.normals,
            own,
            cached,
        )
    }
}

/// The velocity of each vertex at a snapshot, in units per second, by central differences (one-sided at the ends): three
/// floats each. The cache is as in mm_cgeo_positions_at. MM_ERROR_UNSUPPORTED if no time passes between snapshots.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_velocities(
    file: *const mm_file,
    timing: *const mm_timing,
    snapshot: usize,
    cache: *const mm_cache,
    scratch: *mut mm_scratch,
    out: *mut f32,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        let cache = handle::get_if_any::<Shared>(cache)?;
        let proxy = file.cgeo()?;
        // SAFETY: the caller's, as the header says.
        let (timing, mut target) = unsafe {
            let target = Places::of::<[f32; 3]>(out.cast(), stride, capacity, count)?;
            (self::timing(proxy, timing)?, target)
        };
        with(
            scratch,
            |Working {
                 scratch, triples, ..
             }| {
                if target.is_count_alone() {
                    let vertices = proxy.snapshot(snapshot)?.counts(scratch)?.vertices;
                    return target.begin(usize::try_from(vertices).unwrap_or(usize::MAX));
                }
                match cache {
                    Some(cache) => cache.0.velocities(proxy, &timing, snapshot, triples)?,
                    None => proxy.velocities(&timing, snapshot, triples, scratch)?,
                }
                target.write(triples)
            },
        )
    })
}
