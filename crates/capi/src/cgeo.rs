//! Proxies of Corona Renderer: their snapshots, array by array.

use std::collections::hash_map::DefaultHasher;
use std::ffi::c_char;
use std::hash::{Hash, Hasher};

use meshmap::cgeo::{Counts, Snapshot, TopologyId, UnitEvidence};

use crate::fail::{Fail, Result, guard, mm_status};
use crate::file::{File, mm_file};
use crate::format::number;
use crate::handle;
use crate::memory::{First, put, put_sized, put_text, text};
use crate::scratch::{Working, mm_scratch, with};

/// The evidence for the unit of a CGeo file.
pub type mm_cgeo_unit = u32;
/// The header has no unit.
pub const MM_CGEO_UNIT_UNKNOWN: mm_cgeo_unit = 0;
/// The unit is from the two box sizes of the header, with which its scale agrees.
pub const MM_CGEO_UNIT_BOX_SIZES: mm_cgeo_unit = 1;
/// From the box sizes; the scale is the reciprocal of their ratio, as in the published sample.
pub const MM_CGEO_UNIT_BOX_SIZES_SCALE_IS_RECIPROCAL: mm_cgeo_unit = 2;
/// From the box sizes, which the scale contradicts.
pub const MM_CGEO_UNIT_BOX_SIZES_SCALE_DIFFERS: mm_cgeo_unit = 3;
/// From only the scale.
pub const MM_CGEO_UNIT_SCALE: mm_cgeo_unit = 4;

const UNITS: [(mm_cgeo_unit, UnitEvidence); 4] = [
    (MM_CGEO_UNIT_SCALE, UnitEvidence::Scale),
    (MM_CGEO_UNIT_BOX_SIZES, UnitEvidence::BoxSizes),
    (
        MM_CGEO_UNIT_BOX_SIZES_SCALE_IS_RECIPROCAL,
        UnitEvidence::BoxSizesScaleIsReciprocal,
    ),
    (
        MM_CGEO_UNIT_BOX_SIZES_SCALE_DIFFERS,
        UnitEvidence::BoxSizesScaleDiffers,
    ),
];

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
    /// The evidence for unit_millimeters.
    pub unit_evidence: mm_cgeo_unit,
    /// Millimetres per unit; 0 if unknown.
    pub unit_millimeters: f64,
    /// "Scale" as stored; 0 if the header has no scale.
    pub scale: f64,
    /// `true` if the dialect (meshmap_cgeo.h) was found in the file, rather than given in mm_options.
    pub dialect_is_found: bool,
    /// `true` if the file stores times (mm_cgeo_timing).
    pub has_timing: bool,
}

// SAFETY: `repr(C)`, begins with its size, and is never read.
unsafe impl First for mm_cgeo_info {}

/// The numbers of elements of a snapshot.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_cgeo_counts {
    /// sizeof(mm_cgeo_counts), set by the caller.
    pub size: usize,
    /// Positions.
    pub vertices: u32,
    /// Normals.
    pub normals: u32,
    /// Sets of texture coordinates.
    pub texcoord_sets: u32,
    /// Triangles.
    pub triangles: u32,
}

// SAFETY: `repr(C)`, begins with its size, and is never read.
unsafe impl First for mm_cgeo_counts {}

/// Identifies the triangles of a snapshot: equal values identify equal triangles, so that data made from them (an acceleration
/// structure) can be kept and refitted. Snapshots that store the same triangles again have the same value, except for a mesh that is stored
/// complete and was read without MM_PARTS_TRIANGLES. Valid for the lifetime of the process.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct mm_topology {
    /// One half.
    pub high: u64,
    /// The other half.
    pub low: u64,
}

impl From<Option<TopologyId>> for mm_topology {
    fn from(id: Option<TopologyId>) -> Self {
        id.map(Self::from).unwrap_or_default()
    }
}

impl From<TopologyId> for mm_topology {
    fn from(id: TopologyId) -> Self {
        let half = |number: u8| {
            let mut hasher = DefaultHasher::new();
            (number, id).hash(&mut hasher);
            hasher.finish()
        };
        Self {
            high: half(0),
            low: half(1),
        }
    }
}

/// The description of a proxy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_get_info(
    file: *const mm_file,
    out: *mut mm_cgeo_info,
) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        let proxy = file.cgeo()?;
        let unit = proxy.unit_length();
        let info = mm_cgeo_info {
            size: 0,
            snapshot_count: proxy.snapshot_count(),
            version: proxy.version().unwrap_or(0),
            flags: proxy.flags(),
            unit_evidence: unit.map_or(MM_CGEO_UNIT_UNKNOWN, |unit| number(&UNITS, unit.evidence)),
            unit_millimeters: unit.map_or(0.0, |unit| unit.millimeters),
            scale: proxy.scale().unwrap_or(0.0),
            dialect_is_found: proxy.dialect_is_found(),
            has_timing: proxy.timing().is_some(),
        };
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, info) }
    })
}

/// A property of the header by its name, such as "Original object name", without regard to case; or the whole header, where
/// `name` is NULL. `*length` does not count the byte 0 after the text. MM_ABSENT if the header has no such property.
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
pub(crate) fn on<T>(
    file: *const mm_file,
    index: usize,
    scratch: *mut mm_scratch,
    job: impl FnOnce(&File, &Snapshot, &mut Working) -> Result<T>,
) -> Result<T> {
    let file = handle::get::<File>(file)?;
    let snapshot = file.cgeo()?.snapshot(index)?;
    with(scratch, |working| job(&file, &snapshot, working))
}

/// The numbers of elements of a snapshot. Decodes 17 bytes. MM_ERROR_MALFORMED if the snapshot has no mesh.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_get_counts(
    file: *const mm_file,
    snapshot: usize,
    scratch: *mut mm_scratch,
    out: *mut mm_cgeo_counts,
) -> mm_status {
    guard(|| {
        let counts = on(file, snapshot, scratch, |_, snapshot, w| {
            Ok(snapshot.counts(&mut w.scratch)?)
        })?;
        let Counts {
            vertices,
            normals,
            texcoord_sets,
            triangles,
            ..
        } = counts;
        // SAFETY: the caller's, as the header says.
        unsafe {
            put_sized(
                out,
                mm_cgeo_counts {
                    size: 0,
                    vertices,
                    normals,
                    texcoord_sets,
                    triangles,
                },
            )
        }
    })
}

/// Identifies the triangles of a snapshot. Decodes one byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_topology(
    file: *const mm_file,
    snapshot: usize,
    scratch: *mut mm_scratch,
    out: *mut mm_topology,
) -> mm_status {
    guard(|| {
        let topology = on(file, snapshot, scratch, |_, snapshot, w| {
            Ok(snapshot.topology(&mut w.scratch)?)
        })?;
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, topology.into()) }
    })
}

/// Stores 1 in `is_complete` if a snapshot is stored complete, or 0 if it is a difference from the first; and in `sample_count` the
/// number of its meshes, samples between it and the next one, which is 1 in most files (mm_snapshot_read reads any). Each place may
/// be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_storage(
    file: *const mm_file,
    snapshot: usize,
    scratch: *mut mm_scratch,
    is_complete: *mut u32,
    sample_count: *mut usize,
) -> mm_status {
    guard(|| {
        let (complete, samples) = on(file, snapshot, scratch, |_, snapshot, w| {
            let complete = if is_complete.is_null() {
                false
            } else {
                snapshot.is_complete(&mut w.scratch)?
            };
            let samples = if sample_count.is_null() {
                0
            } else {
                snapshot.samples(&mut w.scratch)?
            };
            Ok((complete, samples))
        })?;
        // SAFETY: the caller's, as the header says.
        unsafe {
            crate::memory::put_if_any(is_complete, complete.into());
            crate::memory::put_if_any(sample_count, samples);
        }
        Ok(())
    })
}
