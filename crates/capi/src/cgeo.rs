//! Proxies of Corona Renderer: their snapshots, array by array.

use std::collections::hash_map::DefaultHasher;
use std::ffi::{c_char, c_void};
use std::hash::{Hash, Hasher};

use meshmap::cgeo::{Counts, Snapshot, TopologyId, Triangles, UnitEvidence};
use meshmap::{Codec, Scratch};

use crate::fail::{Fail, Result, guard, mm_status, status};
use crate::file::{File, mm_file};
use crate::handle;
use crate::memory::{First, Target, put, put_sized, put_text, text};
use crate::mesh::mm_bounds;
use crate::options::{dialect_numbers, mm_cgeo_dialect, unknown};
use crate::scratch::{Working, mm_scratch, with};

/// The header of a box has no unit (mm_cgeo_info.unit_evidence).
pub const MM_UNIT_UNKNOWN: u32 = 0;
/// The unit is from the two box sizes of the header, with which its scale agrees.
pub const MM_UNIT_BOX_SIZES: u32 = 1;
/// From the box sizes; the scale is the reciprocal of their ratio, as in the published sample.
pub const MM_UNIT_BOX_SIZES_SCALE_IS_RECIPROCAL: u32 = 2;
/// From the box sizes, which the scale contradicts.
pub const MM_UNIT_BOX_SIZES_SCALE_DIFFERS: u32 = 3;
/// From only the scale.
pub const MM_UNIT_SCALE: u32 = 4;

/// The indices of the corners of triangles: MM_CORNERS_*; MM_CORNERS_MAP_CHANNEL + 1 is map channel 1.
pub type mm_corners = u32;
/// Indices of positions.
pub const MM_CORNERS_POSITIONS: mm_corners = 0;
/// Indices of normals.
pub const MM_CORNERS_NORMALS: mm_corners = 1;
/// Indices of map channel 0.
pub const MM_CORNERS_MAP_CHANNEL: mm_corners = 2;

/// The description of an open proxy.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_cgeo_info {
    /// sizeof(mm_cgeo_info), set by the caller.
    pub size: usize,
    /// The number of snapshots.
    pub snapshot_count: usize,
    /// The version of the format; 0 if the header has no whole number.
    pub version: i64,
    /// The flags before the offset table.
    pub flags: u32,
    /// The evidence for unit_millimeters: MM_UNIT_*.
    pub unit_evidence: u32,
    /// Millimetres per unit; 0 if unknown.
    pub unit_millimeters: f64,
    /// "Scale" as stored; 0 if the header has no scale.
    pub scale: f64,
    /// The choices for reading the file that the published text leaves open.
    pub dialect: mm_cgeo_dialect,
    /// `true` if the dialect was found in the file, rather than given in mm_options.
    pub dialect_is_found: bool,
    /// `true` if the file stores times (mm_cgeo_timing).
    pub has_timing: bool,
}

// SAFETY: `repr(C)`, begins with its size, and is never read.
unsafe impl First for mm_cgeo_info {}

/// The numbers of elements of a snapshot.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct mm_cgeo_counts {
    /// Positions.
    pub vertices: u32,
    /// Normals.
    pub normals: u32,
    /// Map channels.
    pub map_channels: u32,
    /// Triangles.
    pub triangles: u32,
}

impl From<Counts> for mm_cgeo_counts {
    fn from(counts: Counts) -> Self {
        let Counts { vertices, normals, texcoord_sets: map_channels, triangles, .. } = counts;
        Self { vertices, normals, map_channels, triangles }
    }
}

/// Identifies the triangles of a snapshot: equal values identify the very same triangles, so that data made from them (an
/// acceleration structure) can be kept and refitted. Valid for the lifetime of the process.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct mm_topology {
    /// One half.
    pub high: u64,
    /// The other half.
    pub low: u64,
}

impl From<TopologyId> for mm_topology {
    fn from(id: TopologyId) -> Self {
        let half = |number: u8| {
            let mut hasher = DefaultHasher::new();
            (number, id).hash(&mut hasher);
            hasher.finish()
        };
        Self { high: half(0), low: half(1) }
    }
}

/// The description of a proxy. `out->size` is set before.
///
/// Ownership: nothing is transferred. Threads: any. Errors: MM_ERROR_FORMAT of other formats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_get_info(file: *const mm_file, out: *mut mm_cgeo_info) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        let proxy = file.cgeo()?;
        let unit = proxy.unit_length();
        let info = mm_cgeo_info {
            size: 0,
            snapshot_count: proxy.snapshot_count(),
            version: proxy.version().unwrap_or(0),
            flags: proxy.flags(),
            unit_evidence: match unit.map(|unit| unit.evidence) {
                None => MM_UNIT_UNKNOWN,
                Some(UnitEvidence::BoxSizes) => MM_UNIT_BOX_SIZES,
                Some(UnitEvidence::BoxSizesScaleIsReciprocal) => MM_UNIT_BOX_SIZES_SCALE_IS_RECIPROCAL,
                Some(UnitEvidence::BoxSizesScaleDiffers) => MM_UNIT_BOX_SIZES_SCALE_DIFFERS,
                Some(_) => MM_UNIT_SCALE,
            },
            unit_millimeters: unit.map_or(0.0, |unit| unit.millimeters),
            scale: proxy.scale().unwrap_or(0.0),
            dialect: dialect_numbers(proxy.dialect()),
            dialect_is_found: proxy.dialect_is_found(),
            has_timing: proxy.timing().is_some(),
        };
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, info) }
    })
}

/// A property of the header by its name, such as "Original object name", without regard to case; or the whole header, where
/// `name` is NULL. `*length` does not count the byte 0 after the text. `out` NULL asks for the length.
///
/// Ownership: `out` stays the caller's. Threads: any. Errors: MM_ABSENT if the header has no such property; MM_ERROR_BUFFER if
/// `capacity` bytes are too few.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_property(
    file: *const mm_file,
    name: *const c_char,
    out: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        let properties = file.cgeo()?.properties();
        let value = if name.is_null() {
            properties.text()
        } else {
            // SAFETY: the caller's, as the header says.
            properties.get(unsafe { text(name) }?).ok_or(Fail::Absent)?
        };
        // SAFETY: the caller's, as the header says.
        unsafe { put_text(&value.to_string_lossy(), out, capacity, length) }
    })
}

/// Runs a job on a snapshot.
fn on<T>(
    file: *const mm_file,
    index: usize,
    scratch: *mut mm_scratch,
    job: impl FnOnce(&File, &Snapshot, &mut Working) -> Result<T>,
) -> Result<T> {
    let file = handle::get::<File>(file)?;
    let snapshot = file.cgeo()?.snapshot(index)?;
    with(scratch, |working| job(&file, &snapshot, working))
}

/// The numbers of elements of a snapshot. Decodes 17 bytes.
///
/// Ownership: nothing is transferred. Threads: any, each with its own scratch. Errors: MM_ERROR_OUT_OF_RANGE if the file has no
/// such snapshot; MM_ERROR_MALFORMED if the snapshot has no mesh; errors of reading.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_get_counts(
    file: *const mm_file,
    snapshot: usize,
    scratch: *mut mm_scratch,
    out: *mut mm_cgeo_counts,
) -> mm_status {
    guard(|| {
        let counts =
            on(file, snapshot, scratch, |_, snapshot, w| Ok(snapshot.counts_reusing(&mut w.scratch)?))?;
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, counts.into()) }
    })
}

/// The bounding box of a snapshot, as stored.
///
/// Ownership: nothing is transferred. Threads: any, each with its own scratch. Errors: MM_ABSENT if the snapshot has no bounding
/// box; errors of reading.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_bounds(
    file: *const mm_file,
    snapshot: usize,
    scratch: *mut mm_scratch,
    out: *mut mm_bounds,
) -> mm_status {
    guard(|| {
        let bounds =
            on(file, snapshot, scratch, |_, snapshot, w| Ok(snapshot.bounding_box_reusing(&mut w.scratch)?))?;
        let bounds = bounds.ok_or(Fail::Absent)?;
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, mm_bounds { min: bounds.min, max: bounds.max }) }
    })
}

/// Identifies the triangles of a snapshot. Decodes one byte.
///
/// Ownership: nothing is transferred. Threads: any. Errors: as of mm_cgeo_get_counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_topology(
    file: *const mm_file,
    snapshot: usize,
    out: *mut mm_topology,
) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        let topology = file.cgeo()?.snapshot(snapshot)?.topology()?;
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, topology.into()) }
    })
}

/// Stores 1 in `is_complete` if a snapshot is stored complete, or 0 if it is a difference from the first; and in `sample_count` the
/// number of its meshes, samples between it and the next one, which is 1 in most files (mm_snapshot_read reads any). Each place may
/// be NULL.
///
/// Ownership: nothing is transferred. Threads: any. Errors: as of mm_cgeo_get_counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_storage(
    file: *const mm_file,
    snapshot: usize,
    is_complete: *mut u32,
    sample_count: *mut usize,
) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        let snapshot = file.cgeo()?.snapshot(snapshot)?;
        let complete = if is_complete.is_null() { false } else { snapshot.is_complete()? };
        let samples = if sample_count.is_null() { 0 } else { snapshot.samples()? };
        // SAFETY: the caller's, as the header says.
        unsafe {
            crate::memory::put_if_any(is_complete, complete.into());
            crate::memory::put_if_any(sample_count, samples);
        }
        Ok(())
    })
}

/// An array of triples of floats, by how many there are and how they are decoded.
unsafe fn triples(
    (file, index, scratch): (*const mm_file, usize, *mut mm_scratch),
    (out, stride, capacity, count): (*mut f32, usize, usize, *mut usize),
    how_many: impl FnOnce(&Snapshot, &mut Scratch) -> Result<Option<usize>>,
    decode: impl FnOnce(&Snapshot, &mut Vec<[f32; 3]>, &mut Scratch) -> Result<bool>,
) -> Result<()> {
    on(file, index, scratch, |_, snapshot, working| {
        // SAFETY: the caller's, as the header says.
        let mut target = unsafe { Target::<[f32; 3]>::new(out.cast::<c_void>(), stride, capacity, count) }?;
        if target.is_count_alone()
            && let Some(count) = how_many(snapshot, &mut working.scratch)?
        {
            return target.begin(count);
        }
        if !decode(snapshot, &mut working.triples, &mut working.scratch)? {
            return Err(Fail::Absent);
        }
        target.write(&working.triples)
    })
}

fn vertices(snapshot: &Snapshot, scratch: &mut Scratch) -> Result<Option<usize>> {
    Ok(usize::try_from(snapshot.counts_reusing(scratch)?.vertices).ok())
}

fn normals(snapshot: &Snapshot, scratch: &mut Scratch) -> Result<Option<usize>> {
    Ok(usize::try_from(snapshot.counts_reusing(scratch)?.normals).ok())
}

/// The positions of a snapshot: three floats each, `stride` bytes apart (0: packed; 16 is Embree's layout, whose fourth float is
/// left as it is). The stream is decoded no further. `out` NULL asks for the count, and decodes 17 bytes. If the file is mapped or
/// in memory, nothing is allocated once the scratch is large enough.
///
/// Ownership: `out` stays the caller's. Threads: any, each with its own scratch. Errors: MM_ERROR_BUFFER if `capacity` positions
/// are too few; MM_ERROR_OUT_OF_RANGE if the file has no such snapshot; MM_ERROR_CANCELLED; errors of reading.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_positions(
    file: *const mm_file,
    snapshot: usize,
    scratch: *mut mm_scratch,
    out: *mut f32,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    // SAFETY: the caller's, as the header says.
    guard(|| unsafe {
        triples((file, snapshot, scratch), (out, stride, capacity, count), vertices, |snapshot, out, s| {
            Ok(snapshot.positions_into(out, s).map(|()| true)?)
        })
    })
}

/// Shows the positions of a snapshot: three floats for each of `*count` vertices, in memory of the scratch, or where they lie in
/// a file that is mapped or in memory and does not compress them. Takes no memory once the scratch is large enough.
///
/// Ownership: the positions are the scratch's, and valid until it is used again or freed. Threads: any, each with its own scratch.
/// Errors: as of mm_cgeo_positions; MM_ERROR_HANDLE if no scratch is given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_positions_view(
    file: *const mm_file,
    snapshot: usize,
    scratch: *mut mm_scratch,
    out: *mut *const f32,
    count: *mut usize,
) -> mm_status {
    guard(|| {
        if scratch.is_null() {
            return Err(Fail::new(status::MM_ERROR_HANDLE, "expected a scratch, found NULL"));
        }
        let (place, length) = on(file, snapshot, scratch, |file, snapshot, working| {
            let is_stored = file.is_in_memory && file.cgeo()?.dialect().codec == Codec::Stored;
            working.shown = None;
            if is_stored && snapshot.is_complete()? {
                let shown = working.shown.insert(snapshot.positions()?);
                if let Some(positions) = shown.as_native() {
                    return Ok((positions.as_ptr(), positions.len()));
                }
            }
            snapshot.positions_into(&mut working.triples, &mut working.scratch)?;
            Ok((working.triples.as_ptr(), working.triples.len()))
        })?;
        // SAFETY: the caller's, as the header says.
        unsafe {
            put(out, place.cast())?;
            put(count, length)
        }
    })
}

/// The normals of a snapshot: three floats each, `stride` bytes apart (0: packed), as mm_cgeo_positions.
///
/// Ownership, threads, errors: as of mm_cgeo_positions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_normals(
    file: *const mm_file,
    snapshot: usize,
    scratch: *mut mm_scratch,
    out: *mut f32,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    // SAFETY: the caller's, as the header says.
    guard(|| unsafe {
        triples((file, snapshot, scratch), (out, stride, capacity, count), normals, |snapshot, out, s| {
            Ok(snapshot.normals_into(out, s).map(|()| true)?)
        })
    })
}

/// The texture coordinates u, v, w of a map channel of a snapshot: three floats each, `stride` bytes apart (0: packed). Their
/// number is known when they are decoded: `out` NULL decodes them.
///
/// Ownership, threads: as of mm_cgeo_positions. Errors: the same, and MM_ERROR_OUT_OF_RANGE if the snapshot has no such channel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_map_channel(
    file: *const mm_file,
    snapshot: usize,
    channel: usize,
    scratch: *mut mm_scratch,
    out: *mut f32,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    // SAFETY: the caller's, as the header says.
    guard(|| unsafe {
        let unknown = |_: &Snapshot, _: &mut Scratch| Ok(None);
        triples((file, snapshot, scratch), (out, stride, capacity, count), unknown, |snapshot, out, s| {
            Ok(snapshot.texcoords_into(channel, out, s).map(|()| true)?)
        })
    })
}

/// The points that viewports draw: three floats each, `stride` bytes apart (0: packed). `out` NULL decodes them, and returns the
/// count.
///
/// Ownership, threads: as of mm_cgeo_positions. Errors: the same, and MM_ABSENT if the snapshot has no points.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_point_cloud(
    file: *const mm_file,
    snapshot: usize,
    scratch: *mut mm_scratch,
    out: *mut f32,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    // SAFETY: the caller's, as the header says.
    guard(|| unsafe {
        let unknown = |_: &Snapshot, _: &mut Scratch| Ok(None);
        triples((file, snapshot, scratch), (out, stride, capacity, count), unknown, |snapshot, out, s| {
            Ok(snapshot.point_cloud_into(out, s)?)
        })
    })
}

/// The differences from the positions of the first snapshot, as stored: three floats each, `stride` bytes apart (0: packed).
/// `out` NULL decodes them, and returns the count.
///
/// Ownership, threads: as of mm_cgeo_positions. Errors: the same, and MM_ABSENT if the snapshot is stored complete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_position_differences(
    file: *const mm_file,
    snapshot: usize,
    scratch: *mut mm_scratch,
    out: *mut f32,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    // SAFETY: the caller's, as the header says.
    guard(|| unsafe {
        let unknown = |_: &Snapshot, _: &mut Scratch| Ok(None);
        triples((file, snapshot, scratch), (out, stride, capacity, count), unknown, |snapshot, out, s| {
            Ok(snapshot.position_differences_into(out, s)?)
        })
    })
}

/// Writes one kind of indices of triangles.
pub(crate) fn write_corners(
    triangles: &Triangles,
    which: mm_corners,
    corners: &mut Vec<[u32; 3]>,
    target: &mut Target<'_, [u32; 3]>,
) -> Result<()> {
    let normals = usize::from(triangles.has_normals());
    let stream = match which {
        MM_CORNERS_POSITIONS => 0,
        MM_CORNERS_NORMALS if triangles.has_normals() => 1,
        MM_CORNERS_NORMALS => return Err(Fail::Absent),
        _ => {
            let channel = usize::try_from(which.saturating_sub(MM_CORNERS_MAP_CHANNEL));
            let channel = channel.ok().filter(|channel| *channel < triangles.texcoord_sets());
            channel.ok_or_else(|| unknown("mm_corners", which))?.saturating_add(1).saturating_add(normals)
        }
    };
    target.begin(triangles.len())?;
    if target.is_count_alone() {
        return Ok(());
    }
    triangles.stream_into(stream, corners);
    target.write(corners)
}

/// Writes the material ids of triangles.
pub(crate) fn write_material_ids(triangles: &Triangles, target: &mut Target<'_, u32>) -> Result<()> {
    let has = triangles.get(0).is_none_or(|triangle| triangle.material_id.is_some());
    if !has {
        return Err(Fail::Absent);
    }
    target.write_each(triangles.len(), triangles.iter().map(|triangle| triangle.material_id.unwrap_or(0)))
}

/// Writes the edge bytes of triangles.
pub(crate) fn write_edges(triangles: &Triangles, target: &mut Target<'_, u8>) -> Result<()> {
    let has = triangles.get(0).is_none_or(|triangle| triangle.edge_visibility.is_some());
    if !has {
        return Err(Fail::Absent);
    }
    target.write_each(triangles.len(), triangles.iter().map(|triangle| triangle.edge_visibility.unwrap_or(0)))
}

/// The triangles of a snapshot: three indices each, `stride` bytes apart (0: packed), of positions, normals or a map channel
/// (MM_CORNERS_*). `out` NULL asks for the count. A difference has the triangles of the first snapshot.
///
/// Ownership, threads: as of mm_cgeo_positions. Errors: the same; MM_ABSENT if triangles have no such indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_triangles(
    file: *const mm_file,
    snapshot: usize,
    which: mm_corners,
    scratch: *mut mm_scratch,
    out: *mut u32,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    guard(|| {
        on(file, snapshot, scratch, |_, snapshot, working| {
            // SAFETY: the caller's, as the header says.
            let mut target = unsafe { Target::<[u32; 3]>::new(out.cast(), stride, capacity, count) }?;
            let Working { triangles, scratch, corners, .. } = working;
            if target.is_count_alone() && which == MM_CORNERS_POSITIONS {
                let count = snapshot.counts_reusing(scratch)?.triangles;
                return target.begin(usize::try_from(count).unwrap_or(usize::MAX));
            }
            snapshot.triangles_into(triangles, scratch)?;
            write_corners(triangles, which, corners, &mut target)
        })
    })
}

/// The material of each triangle of a snapshot, as a number of the file's, `stride` bytes apart (0: packed). `out` NULL asks for
/// the count.
///
/// Ownership, threads: as of mm_cgeo_positions. Errors: the same; MM_ABSENT if triangles have none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_material_ids(
    file: *const mm_file,
    snapshot: usize,
    scratch: *mut mm_scratch,
    out: *mut u32,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    guard(|| {
        on(file, snapshot, scratch, |_, snapshot, working| {
            // SAFETY: the caller's, as the header says.
            let mut target = unsafe { Target::<u32>::new(out.cast(), stride, capacity, count) }?;
            snapshot.triangles_into(&mut working.triangles, &mut working.scratch)?;
            write_material_ids(&working.triangles, &mut target)
        })
    })
}

/// A byte for each triangle of a snapshot, of which bits 0, 1 and 2 say that the edges AB, BC and CA are visible; `stride` bytes
/// apart (0: packed). `out` NULL asks for the count.
///
/// Ownership, threads: as of mm_cgeo_positions. Errors: the same; MM_ABSENT if triangles have none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_edge_visibility(
    file: *const mm_file,
    snapshot: usize,
    scratch: *mut mm_scratch,
    out: *mut u8,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    guard(|| {
        on(file, snapshot, scratch, |_, snapshot, working| {
            // SAFETY: the caller's, as the header says.
            let mut target = unsafe { Target::<u8>::new(out.cast(), stride, capacity, count) }?;
            snapshot.triangles_into(&mut working.triangles, &mut working.scratch)?;
            write_edges(&working.triangles, &mut target)
        })
    })
}
