//! The arrays of a snapshot: what each contains, and reading one without the rest of the snapshot.

use std::ffi::c_void;

use meshmap::cgeo::{Parts, Snapshot, Triangles};
use meshmap::{Codec, Scalar};
use zerocopy::IntoBytes;

use crate::allocator::{Allocated, mm_allocator};
use crate::cgeo::on;
use crate::fail::{Fail, Result, guard, mm_status, status};
use crate::file::{File, mm_file};
use crate::format::unknown;
use crate::memory::{Places, put, put_if_any, put_sized};
use crate::scratch::{Working, mm_scratch};
use crate::view::mm_view;

/// An array of a snapshot of a CGeo file.
pub type mm_cgeo_array = u32;
/// Positions: three floats per vertex.
pub const MM_CGEO_POSITIONS: mm_cgeo_array = 0;
/// Normals: three floats each.
pub const MM_CGEO_NORMALS: mm_cgeo_array = 1;
/// Texture coordinates u, v, w of a set: three floats each.
pub const MM_CGEO_TEXCOORDS: mm_cgeo_array = 2;
/// Indices of positions: three uint32_t per triangle. A difference has the triangles of the first snapshot.
pub const MM_CGEO_POSITION_INDICES: mm_cgeo_array = 3;
/// Indices of normals: three uint32_t per triangle. Absent if triangles have no normals.
pub const MM_CGEO_NORMAL_INDICES: mm_cgeo_array = 4;
/// Indices of the texture coordinates of a set: three uint32_t per triangle.
pub const MM_CGEO_TEXCOORD_INDICES: mm_cgeo_array = 5;
/// Material IDs, as stored: one uint32_t per triangle. Absent if triangles have none.
pub const MM_CGEO_MATERIAL_IDS: mm_cgeo_array = 6;
/// Visible edges: one uint8_t per triangle, whose bits 0, 1 and 2 are set if the edges AB, BC and CA are visible. Absent if
/// triangles have none.
pub const MM_CGEO_EDGE_VISIBILITY: mm_cgeo_array = 7;
/// The points that viewports draw: three floats each. Only mm_cgeo_read and mm_cgeo_view; absent if the snapshot has none.
pub const MM_CGEO_POINT_CLOUD: mm_cgeo_array = 8;
/// Differences from the positions of the first snapshot, as stored: three floats each. Only mm_cgeo_read and mm_cgeo_view;
/// absent if the snapshot is stored complete.
pub const MM_CGEO_POSITION_DIFFERENCES: mm_cgeo_array = 9;

/// An array of a snapshot, and the set of texture coordinates for arrays that have one.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    array: mm_cgeo_array,
    set: usize,
}

impl Wanted {
    pub(crate) fn new(array: mm_cgeo_array, set: u32) -> Result<Self> {
        if array > MM_CGEO_POSITION_DIFFERENCES {
            return Err(unknown("mm_cgeo_array", array));
        }
        if set != 0 && !matches!(array, MM_CGEO_TEXCOORDS | MM_CGEO_TEXCOORD_INDICES) {
            let text = format!("expected set 0 for an array other than texture coordinates, found {set}");
            return Err(Fail::argument(text));
        }
        Ok(Self { array, set: usize::try_from(set).unwrap_or(usize::MAX) })
    }

    /// The type of each number, and the numbers of an element.
    fn element(self) -> (Scalar, u32) {
        match self.array {
            MM_CGEO_POSITION_INDICES | MM_CGEO_NORMAL_INDICES | MM_CGEO_TEXCOORD_INDICES => (Scalar::U32, 3),
            MM_CGEO_MATERIAL_IDS => (Scalar::U32, 1),
            MM_CGEO_EDGE_VISIBILITY => (Scalar::U8, 1),
            _ => (Scalar::F32, 3),
        }
    }

    /// The part of a mesh that contains the array.
    pub(crate) fn part(self) -> Result<Parts> {
        match self.array {
            MM_CGEO_POSITIONS => Ok(Parts::POSITIONS),
            MM_CGEO_NORMALS => Ok(Parts::NORMALS),
            MM_CGEO_TEXCOORDS => Ok(Parts::TEXCOORDS),
            MM_CGEO_POINT_CLOUD | MM_CGEO_POSITION_DIFFERENCES => {
                let text = "a decoded snapshot does not contain this array: mm_cgeo_read reads it";
                Err(Fail::new(status::MM_ERROR_UNSUPPORTED, text))
            }
            _ => Ok(Parts::TRIANGLES),
        }
    }

    pub(crate) fn set(self) -> usize {
        self.set
    }

    /// The error of a set that the snapshot does not have.
    pub(crate) fn no_set(self, count: usize) -> Fail {
        crate::list::no_such("texcoord set", self.set, count)
    }

    /// The caller's array for these elements.
    ///
    /// # Safety
    ///
    /// As of [`Places::new`].
    pub(crate) unsafe fn places<'a>(
        self,
        out: *mut c_void,
        stride: usize,
        capacity: usize,
        count: *mut usize,
    ) -> Result<Places<'a>> {
        // SAFETY: as the caller promised.
        unsafe { Places::new(self.size(), out, stride, capacity, count) }
    }

    /// The bytes of an element.
    fn size(self) -> usize {
        let (scalar, components) = self.element();
        scalar.size().saturating_mul(usize::try_from(components).unwrap_or(usize::MAX))
    }

    pub(crate) fn view(self, elements: &[u8]) -> mm_view {
        let (scalar, components) = self.element();
        mm_view::new(elements, scalar, components, false)
    }

    /// An array of triangles, packed into memory that is reused.
    pub(crate) fn of_triangles<'a>(
        self,
        triangles: &Triangles,
        (corners, ids, edges): (&'a mut Vec<[u32; 3]>, &'a mut Vec<u32>, &'a mut Vec<u8>),
    ) -> Result<&'a [u8]> {
        let normals = usize::from(triangles.has_normals());
        let stream = match self.array {
            MM_CGEO_POSITION_INDICES => 0,
            MM_CGEO_NORMAL_INDICES => Some(1).filter(|_| triangles.has_normals()).ok_or(Fail::Absent)?,
            MM_CGEO_TEXCOORD_INDICES => {
                let sets = triangles.texcoord_sets();
                let set = Some(self.set).filter(|set| *set < sets);
                set.ok_or_else(|| self.no_set(sets))?.saturating_add(1).saturating_add(normals)
            }
            MM_CGEO_MATERIAL_IDS => {
                ids.clear();
                ids.extend(triangles.material_ids().ok_or(Fail::Absent)?);
                return Ok(ids.as_bytes());
            }
            _ => {
                edges.clear();
                edges.extend(triangles.edge_visibility().ok_or(Fail::Absent)?);
                return Ok(edges.as_slice());
            }
        };
        triangles.stream_into(stream, corners);
        Ok(corners.as_bytes())
    }
}

/// The number of elements, if the beginning of the mesh contains it.
fn count(snapshot: &Snapshot, wanted: Wanted, working: &mut Working) -> Result<Option<usize>> {
    let mut counts = || snapshot.counts(&mut working.scratch);
    let count = match wanted.array {
        MM_CGEO_POSITIONS => counts()?.vertices,
        MM_CGEO_NORMALS => counts()?.normals,
        MM_CGEO_POSITION_INDICES => counts()?.triangles,
        _ => return Ok(None),
    };
    Ok(usize::try_from(count).ok())
}

/// Decodes an array into working memory, and no more of the stream than it needs.
fn decode<'a>(snapshot: &Snapshot, wanted: Wanted, working: &'a mut Working) -> Result<&'a [u8]> {
    let Working { scratch, triples, triangles, corners, ids, edges, .. } = working;
    let is_there = match wanted.array {
        MM_CGEO_POSITIONS => snapshot.positions_into(&mut *triples, scratch).map(|()| true)?,
        MM_CGEO_NORMALS => snapshot.normals_into(&mut *triples, scratch).map(|()| true)?,
        MM_CGEO_TEXCOORDS => snapshot.texcoords_into(wanted.set, &mut *triples, scratch).map(|()| true)?,
        MM_CGEO_POINT_CLOUD => snapshot.point_cloud_into(triples, scratch)?,
        MM_CGEO_POSITION_DIFFERENCES => snapshot.position_differences_into(triples, scratch)?,
        _ => {
            snapshot.triangles_into(triangles, scratch)?;
            return wanted.of_triangles(triangles, (corners, ids, edges));
        }
    };
    if is_there { Ok(triples.as_bytes()) } else { Err(Fail::Absent) }
}

/// Reads an array of a snapshot: packed elements, or `stride` bytes apart (16 is Embree's layout of positions, whose
/// fourth float is left as it is). `set` selects one of several texture coordinates and their indices, and is 0 for
/// other arrays. The stream is decoded no further than the array needs. `out` NULL asks for the count, and decodes 17
/// bytes for positions, normals and their triangles. If the file is mapped or in memory, nothing is allocated once the
/// scratch is large enough. MM_ABSENT if the snapshot has no such array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_read(
    file: *const mm_file,
    snapshot: usize,
    array: mm_cgeo_array,
    set: u32,
    scratch: *mut mm_scratch,
    out: *mut c_void,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    guard(|| {
        on(file, snapshot, scratch, |_, snapshot, working| {
            let wanted = Wanted::new(array, set)?;
            // SAFETY: the caller's, as the header says.
            let mut places = unsafe { wanted.places(out, stride, capacity, count) }?;
            if places.is_count_alone()
                && let Some(count) = self::count(snapshot, wanted, working)?
            {
                return places.begin(count);
            }
            places.write(decode(snapshot, wanted, working)?)
        })
    })
}

/// Reads an array of a snapshot as mm_cgeo_read does, packed, into memory of an allocator. The array is decoded once, also if its
/// size is not known before. No memory is allocated for an array without elements, for which `*out` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_read_new(
    file: *const mm_file,
    snapshot: usize,
    array: mm_cgeo_array,
    set: u32,
    scratch: *mut mm_scratch,
    allocator: *const mm_allocator,
    out: *mut *mut c_void,
    count: *mut usize,
) -> mm_status {
    guard(|| {
        on(file, snapshot, scratch, |_, snapshot, working| {
            let wanted = Wanted::new(array, set)?;
            // SAFETY: the caller's, as the header says.
            unsafe {
                put(out, std::ptr::null_mut())?;
                put_if_any(count, 0);
            }
            let elements = decode(snapshot, wanted, working)?;
            // SAFETY: the caller's, as the header says; the memory has as many bytes as the elements.
            unsafe {
                let memory = Allocated::new(allocator, elements.len(), out)?;
                let length = elements.len().checked_div(wanted.size()).unwrap_or(0);
                if let Some(mut places) = (length > 0)
                    .then(|| wanted.places(memory.start(), 0, length, std::ptr::null_mut()))
                    .transpose()?
                {
                    places.write(elements)?;
                }
                put_if_any(count, length);
                memory.hand_over(out)
            }
        })
    })
}

/// Decodes an array of a snapshot as mm_cgeo_read does, and exposes it in memory of the scratch, or where it lies in a
/// file that is mapped or in memory and does not compress it. Allocates nothing once the scratch is large enough.
/// `out->size` is set before. The elements are the scratch's, and valid until it is used again or freed. MM_ERROR_HANDLE
/// if no scratch is given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_view(
    file: *const mm_file,
    snapshot: usize,
    array: mm_cgeo_array,
    set: u32,
    scratch: *mut mm_scratch,
    out: *mut mm_view,
) -> mm_status {
    guard(|| {
        if scratch.is_null() {
            return Err(Fail::new(status::MM_ERROR_HANDLE, "expected a scratch, found NULL"));
        }
        let view = on(file, snapshot, scratch, |file, snapshot, working| {
            let wanted = Wanted::new(array, set)?;
            match stored_positions(file, snapshot, wanted, working)? {
                Some(view) => Ok(view),
                None => Ok(wanted.view(decode(snapshot, wanted, working)?)),
            }
        })?;
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, view) }
    })
}

/// Positions that lie in the file as they are, which the scratch keeps.
fn stored_positions(
    file: &File,
    snapshot: &Snapshot,
    wanted: Wanted,
    working: &mut Working,
) -> Result<Option<mm_view>> {
    working.shown = None;
    let is_stored = file.is_in_memory && file.cgeo()?.dialect().codec == Codec::Stored;
    if wanted.array != MM_CGEO_POSITIONS || !is_stored || !snapshot.is_complete(&mut working.scratch)? {
        return Ok(None);
    }
    let positions = working.shown.insert(snapshot.positions()?);
    Ok(positions.as_native().is_some().then(|| wanted.view(positions.as_bytes())))
}
