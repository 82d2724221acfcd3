//! Snapshots that are decoded straight into vertex buffers.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Mutex};

use meshmap::cgeo::{Snapshot, TopologyId, VertexWriter};

use crate::cgeo::mm_topology;
use crate::fail::{Fail, Result, free, guard, mm_status};
use crate::file::{File, mm_file};
use crate::handle::{self, Kind};
use crate::memory::{ByteTarget, Places, elements, put_if_any};
use crate::motion::{mm_timing, mm_wrap, timing, wrap};
use crate::vertices::{layout, mm_layout_attribute};

/// Decodes snapshots of CGeo files straight into vertex buffers of one layout. It keeps the vertices of a topology and two decoded
/// snapshots: one for each thread and each file. Two threads that use one at the same time get MM_ERROR_BUSY.
pub struct mm_vertex_writer {
    _opaque: [u8; 0],
}

/// The object behind an `mm_vertex_writer`.
struct Held {
    stride: usize,
    writer: Mutex<VertexWriter>,
}

impl Kind for Held {
    type Opaque = mm_vertex_writer;
    const NAME: &'static str = "mm_vertex_writer";
}

/// Runs a job with the writer of a handle, and its stride.
fn with<T>(
    writer: *mut mm_vertex_writer,
    job: impl FnOnce(&mut VertexWriter, usize) -> Result<T>,
) -> Result<T> {
    let held = handle::get::<Held>(writer)?;
    let mut writer = free(held.writer.try_lock(), "another call is using this writer")?;
    job(&mut writer, held.stride)
}

/// Makes a writer of vertices in a layout: positions, normals, texture coordinates and, for mm_vertex_writer_write_at,
/// velocities, the custom attribute `velocity`. `stride` 0 is the stride of mm_layout_resolve. MM_ERROR_OUT_OF_RANGE for
/// attributes that overlap or are longer than the stride.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_vertex_writer_new(
    attributes: *const mm_layout_attribute,
    attribute_count: usize,
    stride: usize,
    out: *mut *mut mm_vertex_writer,
) -> mm_status {
    let writer = || {
        // SAFETY: the caller's, as the header says.
        let layout = unsafe { layout(attributes, attribute_count, stride) }?;
        let stride = layout.stride();
        Ok(Arc::new(Held {
            stride,
            writer: Mutex::new(VertexWriter::new(layout)?),
        }))
    };
    // SAFETY: the caller's, as the header says.
    unsafe { handle::make(out, writer) }
}

/// Frees a writer.
#[unsafe(no_mangle)]
pub extern "C" fn mm_vertex_writer_free(writer: *mut mm_vertex_writer) -> mm_status {
    guard(|| handle::close::<Held>(writer))
}

/// The index buffer of a snapshot: three indices for each triangle, and in `vertex_count`, which may be NULL, the number of its
/// vertices. It is the same for all snapshots of a topology (mm_cgeo_topology).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_vertex_writer_indices(
    writer: *mut mm_vertex_writer,
    file: *const mm_file,
    snapshot: usize,
    out: *mut u32,
    stride: usize,
    capacity: usize,
    count: *mut usize,
    vertex_count: *mut usize,
) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        // SAFETY: the caller's, as the header says.
        let mut target = unsafe { Places::of::<u32>(out.cast(), stride, capacity, count) }?;
        with(writer, |writer, _| {
            let remap = writer.remap(&file.cgeo()?.snapshot(snapshot)?)?;
            // SAFETY: the caller's, as the header says.
            unsafe { put_if_any(vertex_count, remap.vertex_count()) };
            target.write(remap.indices())
        })
    })
}

/// Returns the bytes of all vertices of a snapshot.
fn byte_count(writer: &mut VertexWriter, snapshot: &Snapshot, stride: usize) -> Result<usize> {
    let vertices = writer.remap(snapshot)?.vertex_count();
    vertices
        .checked_mul(stride)
        .ok_or_else(|| Fail::argument("expected a stride that all vertices have room for"))
}

/// Writes vertices into the caller's memory, as many as a snapshot has.
///
/// # Safety
///
/// The pointers are the pointers of the entry point.
unsafe fn write(
    writer: *mut mm_vertex_writer,
    snapshot: &Snapshot,
    (out, capacity, bytes): (*mut c_void, usize, *mut usize),
    topology: *mut mm_topology,
    write: impl FnOnce(&mut VertexWriter, &mut [u8]) -> meshmap::Result<TopologyId>,
) -> Result<()> {
    with(writer, |writer, stride| {
        let needed = byte_count(writer, snapshot, stride)?;
        // SAFETY: the caller's, as the header says.
        let Some(mut target) = (unsafe { ByteTarget::new(out, capacity, needed, bytes) })? else {
            return Ok(());
        };
        let id = write(writer, target.first(needed))?;
        // SAFETY: the caller's, as the header says.
        unsafe { put_if_any(topology, id.into()) };
        Ok(())
    })
}

/// Writes all vertices of a snapshot. Nothing of `out` is read, so it may be mapped memory of a GPU. `topology`, which
/// may be NULL, identifies the triangles: if it is another one than before, so are the indices. If the file is mapped or in memory,
/// nothing is allocated after the first call. MM_ERROR_MISMATCH if the mesh lacks an attribute that has no default.
/// MM_ERROR_OUT_OF_RANGE for a number that a type cannot hold.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_vertex_writer_write(
    writer: *mut mm_vertex_writer,
    file: *const mm_file,
    snapshot: usize,
    out: *mut c_void,
    capacity: usize,
    bytes: *mut usize,
    topology: *mut mm_topology,
) -> mm_status {
    guard(|| {
        let snapshot = handle::get::<File>(file)?.cgeo()?.snapshot(snapshot)?;
        let job = |writer: &mut VertexWriter, out: &mut [u8]| writer.write(&snapshot, &mut [out]);
        // SAFETY: the caller's, as the header says.
        unsafe { write(writer, &snapshot, (out, capacity, bytes), topology, job) }
    })
}

/// Like mm_vertex_writer_write, at a time in seconds between two snapshots: positions as of mm_cgeo_positions_at, normals of length 1
/// between the normals of the snapshots, and velocities, in units per second, from one snapshot to the other: negative on the way back of
/// MM_WRAP_PING_PONG, and 0 before the first snapshot and after the last with MM_WRAP_CLAMP.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_vertex_writer_write_at(
    writer: *mut mm_vertex_writer,
    file: *const mm_file,
    timing: *const mm_timing,
    seconds: f64,
    wrap: mm_wrap,
    out: *mut c_void,
    capacity: usize,
    bytes: *mut usize,
    topology: *mut mm_topology,
) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        let proxy = file.cgeo()?;
        // SAFETY: the caller's, as the header says.
        let timing = unsafe { self::timing(proxy, timing) }?;
        let wrap = self::wrap(wrap)?;
        let key = timing.index_at(seconds, wrap);
        let key =
            key.ok_or_else(|| Fail::argument("expected a time that is a number, and snapshots"))?;
        let job = |writer: &mut VertexWriter, out: &mut [u8]| {
            writer.write_at(proxy, &timing, seconds, wrap, &mut [out])
        };
        // SAFETY: the caller's, as the header says.
        unsafe {
            write(
                writer,
                &proxy.snapshot(key.from)?,
                (out, capacity, bytes),
                topology,
                job,
            )
        }
    })
}

/// Like mm_vertex_writer_write_at, at many times, such as the times of many instances, in any order: `out` has a place for each of the
/// `time_count` times, with room for `capacity` bytes, and `bytes` is the number of bytes that each needs. The places must not overlap. Each
/// snapshot that the times lie between is decoded once. `out` may be NULL, to request `bytes`. After an error, the contents of all places are
/// undefined.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_vertex_writer_write_many_at(
    writer: *mut mm_vertex_writer,
    file: *const mm_file,
    timing: *const mm_timing,
    seconds: *const f64,
    time_count: usize,
    wrap: mm_wrap,
    out: *const *mut c_void,
    capacity: usize,
    bytes: *mut usize,
    topology: *mut mm_topology,
) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        let proxy = file.cgeo()?;
        // SAFETY: the caller's, as the header says.
        let (timing, seconds) = unsafe {
            let timing = self::timing(proxy, timing)?;
            (timing, elements(seconds, time_count)?)
        };
        let wrap = self::wrap(wrap)?;
        let first = seconds
            .first()
            .and_then(|time| timing.index_at(*time, wrap));
        let first = first
            .ok_or_else(|| Fail::argument("expected times that are numbers, and snapshots"))?;
        let snapshot = proxy.snapshot(first.from)?;
        with(writer, |writer, stride| {
            let needed = byte_count(writer, &snapshot, stride)?;
            if out.is_null() {
                // SAFETY: the caller's, as the header says.
                unsafe { ByteTarget::new(ptr::null_mut(), 0, needed, bytes) }?;
                return Ok(());
            }
            // SAFETY: the caller's, as the header says.
            let places = unsafe { elements(out, time_count) }?;
            refuse_overlaps(places, needed)?;
            let mut targets = Vec::new();
            for place in places {
                // SAFETY: the caller's, as the header says.
                let target = unsafe { ByteTarget::new(*place, capacity, needed, bytes) }?;
                let none = || Fail::argument("expected memory for each time, found NULL");
                targets.push(target.ok_or_else(none)?);
            }
            let mut buffers = Vec::new();
            for target in &mut targets {
                buffers.push([target.first(needed)]);
            }
            let mut outputs = Vec::new();
            for (time, buffer) in seconds.iter().zip(&mut buffers) {
                outputs.push((*time, &mut buffer[..]));
            }
            let id = writer.write_many_at(proxy, &timing, wrap, &mut outputs)?;
            // SAFETY: the caller's, as the header says.
            unsafe { put_if_any(topology, id.into()) };
            Ok(())
        })
    })
}

/// Returns an error if two places of `length` bytes have a byte in common.
fn refuse_overlaps(places: &[*mut c_void], length: usize) -> Result<()> {
    let mut starts = Vec::new();
    for place in places {
        starts.push(place.addr());
    }
    starts.sort_unstable();
    for neighbours in starts.windows(2) {
        if let [before, after] = neighbours
            && after.saturating_sub(*before) < length
        {
            return Err(Fail::argument("expected places that do not overlap"));
        }
    }
    Ok(())
}
