//! Whole snapshots, decoded: read into memory that is used again, or taken from a cache.

use std::ffi::{c_char, c_void};
use std::sync::{Arc, RwLock, RwLockReadGuard};

use meshmap::cgeo::{Mesh, MeshBuffer, Parts};
use zerocopy::IntoBytes;

use crate::cgeo::mm_topology;
use crate::fail::{Fail, Result, free, guard, mm_status, status};
use crate::file::{File, mm_file};
use crate::format::unknown;
use crate::handle::{self, Kind};
use crate::memory::{First, Places, put_sized, text};
use crate::scalar::mm_scalar;
use crate::scratch::{self, Separated, mm_scratch, with};
use crate::snapshot_array::{SnapshotArray, floats};
use crate::view::{Element, Elements, mm_array_info};

/// A place for a decoded snapshot of a CGeo file, which is filled again and again. One for each thread that fills; others may
/// look at what is there.
pub struct mm_snapshot {
    _opaque: [u8; 0],
}

/// Parts of the mesh of a snapshot, joined by |.
pub type mm_parts = u32;
/// The positions.
pub const MM_PARTS_POSITIONS: u32 = 1;
/// The normals.
pub const MM_PARTS_NORMALS: u32 = 2;
/// The texture coordinates.
pub const MM_PARTS_TEXCOORDS: u32 = 4;
/// The triangles: indices, material IDs and visible edges, which are stored together.
pub const MM_PARTS_TRIANGLES: u32 = 8;
/// All of them.
pub const MM_PARTS_ALL: u32 = 15;

/// The description of a decoded snapshot.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_snapshot_info {
    /// sizeof(mm_snapshot_info), set by the caller.
    pub size: usize,
    /// Positions.
    pub vertices: u32,
    /// Normals.
    pub normals: u32,
    /// Sets of texture coordinates.
    pub texcoord_sets: u32,
    /// Triangles.
    pub triangles: u32,
    /// Identifies the triangles.
    pub topology: mm_topology,
    /// The parts that were decoded.
    pub parts: mm_parts,
    /// `true` if it is stored complete, and not as a difference from the first one.
    pub is_complete: bool,
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
        let mut decoded = free(self.0.try_write(), BUSY)?;
        decoded.filled = Filled::Nothing;
        decoded.filled = job(&mut decoded.buffer)?;
        Ok(())
    }

    fn look(&self) -> Result<RwLockReadGuard<'_, Decoded>> {
        free(self.0.try_read(), BUSY)
    }
}

const BUSY: &str = "another call is using this snapshot";

/// A value of the decoded mesh, whose fields have the same names in a buffer and in a cache; MM_ABSENT if the place is empty.
macro_rules! of_mesh {
    ($decoded:expr, $mesh:ident => $value:expr) => {
        match &$decoded.filled {
            Filled::Nothing => Err(Fail::Absent),
            Filled::Own => {
                let $mesh = &$decoded.buffer;
                Ok($value)
            }
            Filled::Shared($mesh) => Ok($value),
        }
    };
}

impl Decoded {
    /// An array, which is separated from others in `out` if it is an array of triangles.
    fn elements<'a>(
        &'a self,
        array: SnapshotArray,
        out: &'a mut Separated,
    ) -> Result<Elements<'a>> {
        let triples = match array {
            SnapshotArray::BoundingBox
            | SnapshotArray::PointCloud
            | SnapshotArray::PositionDifferences => {
                let text = "a decoded snapshot does not contain this array: mm_read_into reads it";
                of_mesh!(self, _mesh => ())?;
                return Err(Fail::new(status::MM_ERROR_UNSUPPORTED, text));
            }
            SnapshotArray::Positions => of_mesh!(self, mesh => Some(mesh.positions.as_bytes())),
            SnapshotArray::Normals => of_mesh!(self, mesh => Some(mesh.normals.as_bytes())),
            SnapshotArray::MapChannel(set) => {
                of_mesh!(self, mesh => mesh.texcoords.get(set).map(|set| set.as_bytes()))
            }
            _ => {
                return array
                    .of_triangles(of_mesh!(self, mesh => &mesh.triangles)?, out)
                    .ok_or_else(absent);
            }
        };
        triples?.map(floats).ok_or_else(absent)
    }

    /// Runs a job on an array; only arrays that triangles store mixed need the scratch.
    fn with<T>(
        &self,
        array: SnapshotArray,
        scratch: *mut mm_scratch,
        job: impl FnOnce(Elements<'_>) -> Result<T>,
    ) -> Result<T> {
        if array.is_mixed() {
            return with(scratch, |working| {
                job(self.elements(array, &mut working.separated)?)
            });
        }
        scratch::check(scratch)?;
        job(self.elements(array, &mut Separated::default())?)
    }
}

fn absent() -> Fail {
    Fail::new(
        status::MM_ERROR_OUT_OF_RANGE,
        "the decoded snapshot does not have this array",
    )
}

/// The array of this name in a decoded snapshot.
unsafe fn named(name: *const c_char) -> Result<SnapshotArray> {
    // SAFETY: the caller's, as the header says.
    let name = unsafe { text(name) }?;
    let unknown = || {
        let text =
            format!("expected an array of a snapshot, such as \"positions\", found {name:?}");
        Fail::new(status::MM_ERROR_OUT_OF_RANGE, text)
    };
    SnapshotArray::named(name).ok_or_else(unknown)
}

/// Makes a place for a snapshot, with nothing in it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_snapshot_new(out: *mut *mut mm_snapshot) -> mm_status {
    // SAFETY: the caller's, as the header says.
    unsafe { handle::make(out, || Ok(Arc::new(Place(RwLock::default())))) }
}

/// Frees a place and what is in it; what a cache has stays there.
#[unsafe(no_mangle)]
pub extern "C" fn mm_snapshot_free(snapshot: *mut mm_snapshot) -> mm_status {
    guard(|| handle::close::<Place>(snapshot))
}

/// The parts that a number stands for.
pub(crate) fn parts(number: mm_parts) -> Result<Parts> {
    let parts = u8::try_from(number).ok().and_then(Parts::from_bits);
    parts.ok_or_else(|| unknown("mm_parts", number))
}

/// Decodes parts of a snapshot into a place: of its mesh `sample`, which is 0 in most files. Arrays of other parts have
/// no elements, and are MM_ERROR_OUT_OF_RANGE if they are one of several, such as `map_channels[0]`. The stream is decoded no further than the last part, so positions cost the least; damage behind it is
/// not noticed. If the file is mapped or in memory, nothing is allocated once place and scratch are large enough. Views
/// of the place's previous contents are no longer valid. MM_ERROR_ARGUMENT if `parts` has another bit. After an error,
/// the place is empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_snapshot_read(
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
        let snapshot = if sample == 0 {
            snapshot
        } else {
            snapshot.sample(sample)
        };
        with(scratch, |working| {
            place.fill(|buffer| {
                snapshot.mesh_into(parts, buffer, &mut working.scratch)?;
                Ok(Filled::Own)
            })
        })
    })
}

/// The contents of a place. MM_ABSENT if the place is empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_snapshot_get_info(
    snapshot: *const mm_snapshot,
    out: *mut mm_snapshot_info,
) -> mm_status {
    guard(|| {
        let place = handle::get::<Place>(snapshot)?;
        let decoded = place.look()?;
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let info = of_mesh!(decoded, mesh => mm_snapshot_info {
            size: 0,
            vertices: count(mesh.positions.len()),
            normals: count(mesh.normals.len()),
            texcoord_sets: count(mesh.texcoords.len()),
            triangles: count(mesh.triangles.len()),
            topology: mesh.topology.into(),
            is_complete: mesh.is_complete,
            parts: mesh.parts.bits().into(),
        })?;
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, info) }
    })
}

/// Exposes an array of a decoded snapshot by its name, which is the end of its address: `positions`, `normals`, `map_channels[0]`,
/// `triangles.positions`, `triangles.normals`, `triangles.map_channels[0]`, `triangles.material_ids` or `triangles.edge_visibility`.
/// Vertices are shown in the place, and valid until it is filled again or freed. Arrays of triangles, which are stored mixed, are
/// separated in the scratch, and valid until it is used again or freed; others need no scratch. MM_ABSENT if the place is empty.
/// MM_ERROR_UNSUPPORTED for arrays that only mm_array and mm_read_into read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_snapshot_view(
    snapshot: *const mm_snapshot,
    name: *const c_char,
    scratch: *mut mm_scratch,
    out: *mut mm_array_info,
) -> mm_status {
    guard(|| {
        let place = handle::get::<Place>(snapshot)?;
        // SAFETY: the caller's, as the header says.
        let array = unsafe { named(name) }?;
        let decoded = place.look()?;
        if array.is_mixed() {
            scratch::needed(scratch)?;
        }
        let info = decoded.with(array, scratch, |elements| Ok(elements.info(name)))?;
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, info) }
    })
}

/// Copies an array of a decoded snapshot, named as in mm_snapshot_view and with elements as in mm_read_into. MM_ABSENT if the place is
/// empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_snapshot_copy(
    snapshot: *const mm_snapshot,
    name: *const c_char,
    scalar: mm_scalar,
    components: u32,
    scratch: *mut mm_scratch,
    out: *mut c_void,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    guard(|| {
        let place = handle::get::<Place>(snapshot)?;
        let element = Element::new(scalar, components)?;
        // SAFETY: the caller's, as the header says.
        let (array, mut places) = unsafe {
            (
                named(name)?,
                Places::new(element.size(), out, stride, capacity, count)?,
            )
        };
        let decoded = place.look()?;
        decoded.with(array, scratch, |elements| {
            elements.write(element, &mut places)
        })
    })
}
