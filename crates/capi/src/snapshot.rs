//! Whole snapshots, decoded: read into memory that is used again, or taken from a cache.

use std::sync::{Arc, RwLock, RwLockReadGuard, TryLockError};

use meshmap::Array;
use meshmap::cgeo::{Mesh, MeshBuffer, Parts, TopologyId, Triangles};
use zerocopy::IntoBytes;

use crate::cgeo::{mm_cgeo_counts, mm_corners, mm_topology, write_corners, write_edges, write_material_ids};
use crate::fail::{Fail, Result, guard, mm_status, status};
use crate::file::{File, mm_file};
use crate::handle::{self, Kind};
use crate::memory::{First, Target, put, put_sized};
use crate::options::unknown;
use crate::scratch::{mm_scratch, with};
use crate::view::mm_view;

/// A place for a decoded snapshot of a CGeo file, which is filled again and again. One for each thread that fills; others may
/// look at what is there.
pub struct mm_snapshot {
    _opaque: [u8; 0],
}

/// An array of a snapshot: MM_CGEO_ARRAY_*; MM_CGEO_ARRAY_MAP_CHANNEL + 1 is map channel 1.
pub type mm_cgeo_array = u32;
/// Positions.
pub const MM_CGEO_ARRAY_POSITIONS: mm_cgeo_array = 0;
/// Normals.
pub const MM_CGEO_ARRAY_NORMALS: mm_cgeo_array = 1;
/// Texture coordinates u, v, w of map channel 0.
pub const MM_CGEO_ARRAY_MAP_CHANNEL: mm_cgeo_array = 2;

/// The description of a decoded snapshot.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_snapshot_info {
    /// sizeof(mm_snapshot_info), set by the caller.
    pub size: usize,
    /// The numbers of elements.
    pub counts: mm_cgeo_counts,
    /// Identifies the triangles.
    pub topology: mm_topology,
    /// `true` if it is stored complete, and not as a difference from the first one.
    pub is_complete: bool,
    /// The parts that are there: MM_PARTS_*, joined by |.
    pub parts: mm_parts,
}

// SAFETY: `repr(C)`, begins with its size, and is never read.
unsafe impl First for mm_snapshot_info {}

/// The contents of an `mm_snapshot`.
#[derive(Default)]
pub(crate) enum Filled {
    #[default]
    Nothing,
    /// The buffer.
    Own,
    /// A mesh of a cache's.
    Shared(Arc<Mesh>),
}

#[derive(Default)]
pub(crate) struct Decoded {
    pub(crate) filled: Filled,
    pub(crate) buffer: MeshBuffer,
}

pub(crate) struct Place(RwLock<Decoded>);

impl Kind for Place {
    type Opaque = mm_snapshot;
    const NAME: &'static str = "mm_snapshot";
}

impl Place {
    /// Fills it; after an error there is nothing in it.
    pub(crate) fn fill(&self, job: impl FnOnce(&mut MeshBuffer) -> Result<Filled>) -> Result<()> {
        let mut decoded = match self.0.try_write() {
            Ok(decoded) => decoded,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(busy()),
        };
        decoded.filled = Filled::Nothing;
        decoded.filled = job(&mut decoded.buffer)?;
        Ok(())
    }

    fn look(&self) -> Result<RwLockReadGuard<'_, Decoded>> {
        match self.0.try_read() {
            Ok(decoded) => Ok(decoded),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(busy()),
        }
    }
}

fn busy() -> Fail {
    Fail::new(status::MM_ERROR_BUSY, "another call is filling this snapshot")
}

impl Decoded {
    fn triangles(&self) -> Result<&Triangles> {
        match &self.filled {
            Filled::Nothing => Err(Fail::Absent),
            Filled::Own => Ok(&self.buffer.triangles),
            Filled::Shared(mesh) => Ok(&mesh.triangles),
        }
    }

    fn topology(&self) -> Option<TopologyId> {
        match &self.filled {
            Filled::Nothing => None,
            Filled::Own => self.buffer.topology,
            Filled::Shared(mesh) => Some(mesh.topology),
        }
    }

    fn counts(&self) -> [usize; 3] {
        match &self.filled {
            Filled::Nothing => [0; 3],
            Filled::Own => {
                let MeshBuffer { positions, normals, texcoords: map_channels, .. } = &self.buffer;
                [positions.len(), normals.len(), map_channels.len()]
            }
            Filled::Shared(mesh) => [mesh.positions.len(), mesh.normals.len(), mesh.texcoords.len()],
        }
    }

    fn parts(&self) -> Parts {
        match &self.filled {
            Filled::Nothing => Parts::NONE,
            Filled::Own => self.buffer.parts,
            Filled::Shared(mesh) => mesh.parts,
        }
    }

    fn is_complete(&self) -> bool {
        match &self.filled {
            Filled::Nothing => false,
            Filled::Own => self.buffer.is_complete,
            Filled::Shared(mesh) => mesh.is_complete,
        }
    }

    /// The elements of an array.
    fn array(&self, which: mm_cgeo_array) -> Result<&[u8]> {
        let channel =
            || usize::try_from(which.saturating_sub(MM_CGEO_ARRAY_MAP_CHANNEL)).unwrap_or(usize::MAX);
        let none = || unknown("mm_cgeo_array", which);
        match (&self.filled, which) {
            (Filled::Nothing, _) => Err(Fail::Absent),
            (Filled::Own, MM_CGEO_ARRAY_POSITIONS) => Ok(self.buffer.positions.as_bytes()),
            (Filled::Own, MM_CGEO_ARRAY_NORMALS) => Ok(self.buffer.normals.as_bytes()),
            (Filled::Own, _) => {
                self.buffer.texcoords.get(channel()).map(|array| array.as_bytes()).ok_or_else(none)
            }
            (Filled::Shared(mesh), MM_CGEO_ARRAY_POSITIONS) => Ok(mesh.positions.as_bytes()),
            (Filled::Shared(mesh), MM_CGEO_ARRAY_NORMALS) => Ok(mesh.normals.as_bytes()),
            (Filled::Shared(mesh), _) => mesh.texcoords.get(channel()).map(Array::as_bytes).ok_or_else(none),
        }
    }
}

/// Makes a place for a snapshot, with nothing in it.
///
/// Ownership: `*out` is the caller's, for mm_snapshot_free. Threads: any. Errors: MM_ERROR_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_snapshot_new(out: *mut *mut mm_snapshot) -> mm_status {
    guard(|| {
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, std::ptr::null_mut()) }?;
        let handle = handle::new(Arc::new(Place(RwLock::default())))?;
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, handle) }
    })
}

/// Frees a place and what is in it; what a cache has stays there. NULL is passed over.
///
/// Ownership: takes the handle. Threads: any. Errors: MM_ERROR_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn mm_snapshot_free(snapshot: *mut mm_snapshot) -> mm_status {
    guard(|| handle::close::<Place>(snapshot))
}

/// Parts of the mesh of a snapshot: MM_PARTS_*, joined by |.
pub type mm_parts = u32;
/// The positions.
pub const MM_PARTS_POSITIONS: mm_parts = 1;
/// The normals.
pub const MM_PARTS_NORMALS: mm_parts = 2;
/// The map channels: texture coordinates.
pub const MM_PARTS_MAP_CHANNELS: mm_parts = 4;
/// The triangles: indices, material IDs and visible edges, which are stored together.
pub const MM_PARTS_TRIANGLES: mm_parts = 8;
/// All of them.
pub const MM_PARTS_ALL: mm_parts = 15;

/// The parts that a number stands for.
pub(crate) fn parts(number: mm_parts) -> Result<Parts> {
    let parts = u8::try_from(number).ok().and_then(Parts::from_bits);
    parts.ok_or_else(|| unknown("mm_parts", number))
}

/// Decodes a whole snapshot into a place: its mesh `sample`, which is 0 in most files. If the file is mapped or in memory, nothing
/// is allocated once place and scratch are large enough.
///
/// Ownership: views of the place's previous contents are no longer valid. Threads: any, each with its own place and scratch.
/// Errors: as of mm_cgeo_positions; after one, the place is empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_snapshot_read(
    file: *const mm_file,
    index: usize,
    sample: usize,
    scratch: *mut mm_scratch,
    out: *mut mm_snapshot,
) -> mm_status {
    // SAFETY: the caller's, as the header says.
    unsafe { mm_snapshot_read_parts(file, index, sample, MM_PARTS_ALL, scratch, out) }
}

/// Like mm_snapshot_read, for some parts of the mesh (MM_PARTS_*, joined by |); arrays and triangles of others have no elements.
/// The stream is decoded no further than the last of them, so positions cost the least.
///
/// Ownership, threads: as of mm_snapshot_read. Errors: as of mm_snapshot_read; MM_ERROR_ARGUMENT if `parts` has another bit. Damage
/// behind the last part is not noticed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_snapshot_read_parts(
    file: *const mm_file,
    index: usize,
    sample: usize,
    parts: mm_parts,
    scratch: *mut mm_scratch,
    out: *mut mm_snapshot,
) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        let place = handle::get::<Place>(out)?;
        let parts = self::parts(parts)?;
        let snapshot = file.cgeo()?.snapshot(index)?;
        let snapshot = if sample == 0 { snapshot } else { snapshot.sample(sample) };
        with(scratch, |working| {
            place.fill(|buffer| {
                snapshot.mesh_parts_into(parts, buffer, &mut working.scratch)?;
                Ok(Filled::Own)
            })
        })
    })
}

/// The contents of a place. `out->size` is set before.
///
/// Ownership: nothing is transferred. Threads: any that does not fill it (MM_ERROR_BUSY). Errors: MM_ABSENT if the place is empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_snapshot_get_info(
    snapshot: *const mm_snapshot,
    out: *mut mm_snapshot_info,
) -> mm_status {
    guard(|| {
        let place = handle::get::<Place>(snapshot)?;
        let decoded = place.look()?;
        let [vertices, normals, map_channels] =
            decoded.counts().map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        let triangles = u32::try_from(decoded.triangles()?.len()).unwrap_or(u32::MAX);
        let info = mm_snapshot_info {
            size: 0,
            counts: mm_cgeo_counts { vertices, normals, map_channels, triangles },
            topology: decoded.topology().map(mm_topology::from).unwrap_or_default(),
            is_complete: decoded.is_complete(),
            parts: decoded.parts().bits().into(),
        };
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, info) }
    })
}

/// A view of an array of a snapshot (MM_CGEO_ARRAY_*): three floats per element, packed and aligned. `out->size` is set before.
///
/// Ownership: the elements are the place's, and valid until it is filled again or freed. Threads: any that does not fill it
/// (MM_ERROR_BUSY). Errors: MM_ABSENT if the place is empty; MM_ERROR_ARGUMENT if the snapshot has no such array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_snapshot_view(
    snapshot: *const mm_snapshot,
    which: mm_cgeo_array,
    out: *mut mm_view,
) -> mm_status {
    guard(|| {
        let place = handle::get::<Place>(snapshot)?;
        let view = mm_view::of_triples(place.look()?.array(which)?);
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, view) }
    })
}

/// Copies an array of a snapshot (MM_CGEO_ARRAY_*): three floats an element, `stride` bytes apart (0: packed). `out` NULL asks
/// for the count.
///
/// Ownership: `out` stays the caller's. Threads: as of mm_snapshot_view. Errors: the same; MM_ERROR_BUFFER if `capacity` elements
/// are too few.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_snapshot_array(
    snapshot: *const mm_snapshot,
    which: mm_cgeo_array,
    out: *mut f32,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    guard(|| {
        let place = handle::get::<Place>(snapshot)?;
        // SAFETY: the caller's, as the header says.
        let mut target = unsafe { Target::<[u8; 12]>::new(out.cast(), stride, capacity, count) }?;
        let decoded = place.look()?;
        let (elements, _) = decoded.array(which)?.as_chunks::<12>();
        target.write(elements)
    })
}

/// Copies the triangles of a snapshot: three indices each (MM_CORNERS_*), `stride` bytes apart (0: packed). `out` NULL asks for
/// the count. The scratch may be NULL.
///
/// Ownership, threads: as of mm_snapshot_array. Errors: the same; MM_ABSENT if triangles have no such indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_snapshot_triangles(
    snapshot: *const mm_snapshot,
    which: mm_corners,
    scratch: *mut mm_scratch,
    out: *mut u32,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    guard(|| {
        let place = handle::get::<Place>(snapshot)?;
        // SAFETY: the caller's, as the header says.
        let mut target = unsafe { Target::<[u32; 3]>::new(out.cast(), stride, capacity, count) }?;
        let decoded = place.look()?;
        with(scratch, |working| write_corners(decoded.triangles()?, which, &mut working.corners, &mut target))
    })
}

/// Copies the material of each triangle of a snapshot, `stride` bytes apart (0: packed). `out` NULL asks for the count.
///
/// Ownership, threads: as of mm_snapshot_array. Errors: the same; MM_ABSENT if triangles have none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_snapshot_material_ids(
    snapshot: *const mm_snapshot,
    out: *mut u32,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    guard(|| {
        let place = handle::get::<Place>(snapshot)?;
        // SAFETY: the caller's, as the header says.
        let mut target = unsafe { Target::<u32>::new(out.cast(), stride, capacity, count) }?;
        write_material_ids(place.look()?.triangles()?, &mut target)
    })
}

/// Copies the edge byte of each triangle of a snapshot (mm_cgeo_edge_visibility), `stride` bytes apart (0: packed). `out` NULL
/// asks for the count.
///
/// Ownership, threads: as of mm_snapshot_array. Errors: the same; MM_ABSENT if triangles have none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_snapshot_edge_visibility(
    snapshot: *const mm_snapshot,
    out: *mut u8,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    guard(|| {
        let place = handle::get::<Place>(snapshot)?;
        // SAFETY: the caller's, as the header says.
        let mut target = unsafe { Target::<u8>::new(out.cast(), stride, capacity, count) }?;
        write_edges(place.look()?.triangles()?, &mut target)
    })
}
