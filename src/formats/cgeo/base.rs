//! The mesh of the first snapshot, which differences are added to: decoded part by part, as far as it is needed, and once for all
//! calls. May read snapshots; knows nothing of the calls that need it.

use std::sync::Arc;

use bytes::Bytes;

use super::arrays::MeshForm;
use super::file::{File, StoredSnapshot};
use super::first_mesh::{BaseArray, BaseMesh, Head, WholeOrParts};
use super::layout::snapshot_address;
use super::mesh::{Mesh, MeshBuffer, SameTriangles, TopologyId};
use super::parts::{MeshArray, Parts};
use super::read::{first_snapshot, head_alone, head_before_arrays};
use super::rules::FILE;
use super::stream::Stream;
use super::triangle_hash::TriangleHash;
use super::triangles::Triangles;
use crate::bytes::Array;
use crate::decode::{Context, Scratch, Slot};
use crate::limits::{Meter, job};
use crate::num::as_u64;
use crate::report::{ErrorKind, Result};

/// The whole mesh. Decoded once.
pub(super) fn whole(file: &Arc<File>) -> Result<Arc<Mesh>> {
    let base = &file.first_mesh;
    if let Some(whole) = base.whole.get() {
        return whole.clone();
    }
    let first = first_snapshot(file)?;
    let keep = |mesh: &Arc<Mesh>| base.admits_whole(mesh);
    let mesh = make_once(&first, &base.whole, MeshArray::Triangles, keep, |stream| {
        let id = file.topology(SameTriangles::First);
        let mut buffer = MeshBuffer::default();
        stream.complete_mesh(&mut buffer, id)?;
        let mesh = buffer.into_mesh(id);
        Ok(Arc::new(base.with_shared_arrays(mesh)))
    });
    if mesh.is_ok() {
        base.drop_loaded();
    }
    mesh
}

/// Parts of the mesh. Their memory counts for the call that adds a difference to them.
pub(super) fn parts(file: &Arc<File>, parts: Parts, meter: &Meter) -> Result<BaseMesh> {
    // The length of each map channel is stored before its elements: they are found by decoding all of them.
    if parts.contains(Parts::TEXCOORDS) || file.first_mesh.whole.get().is_some() {
        let whole = whole(file)?;
        count(file, whole.memory(), meter)?;
        return Ok(BaseMesh {
            counts: whole.counts(),
            mesh: WholeOrParts::Whole(whole),
        });
    }
    let head = head_before_arrays(file)?;
    let mut mesh = Mesh {
        positions: Array::new(Bytes::new()),
        normals: Array::new(Bytes::new()),
        texcoords: Vec::new(),
        triangles: Triangles::default(),
        topology: head.topology,
        is_complete: true,
        parts,
    };
    if parts.contains(Parts::POSITIONS) {
        mesh.positions = array(file, &head, MeshArray::Positions, meter)?.array;
    }
    if parts.contains(Parts::NORMALS) {
        mesh.normals = array(file, &head, MeshArray::Normals, meter)?.array;
    }
    if parts.contains(Parts::TRIANGLES) {
        mesh.triangles = triangles(file)?;
        count(file, as_u64(mesh.triangles.as_bytes().len()), meter)?;
    }
    Ok(BaseMesh {
        counts: head.counts,
        mesh: WholeOrParts::Parts(mesh),
    })
}

/// An array that the mesh has. Its memory counts for the call.
pub(super) fn array(
    file: &Arc<File>,
    head: &Head,
    part: MeshArray,
    meter: &Meter,
) -> Result<BaseArray> {
    let array = find_array(file, head, part)?;
    count(file, array.memory, meter)?;
    Ok(array)
}

fn find_array(file: &Arc<File>, head: &Head, part: MeshArray) -> Result<BaseArray> {
    let base = &file.first_mesh;
    if let Some(Ok(whole)) = base.whole.get()
        && let Some(found) = BaseArray::of(whole, part)
    {
        return Ok(found);
    }
    let slot = base
        .slot(part, &head.counts)
        .ok_or_else(|| FILE.out_of_range("map channel"))?;
    if let Some(found) = slot.get() {
        return found.clone();
    }
    let first = first_snapshot(file)?;
    if let Some(found) = first.in_place(part, &first.meter(), &mut Scratch::default())? {
        return slot.get_or_set(Ok(found)).clone();
    }
    let keep = |made: &BaseArray| base.admits(made.memory);
    make_once(&first, slot, part, keep, |stream| {
        let counts = stream.in_part().complete_counts()?;
        let mut out = Vec::new();
        let form = MeshForm::Complete(&counts);
        let before = stream.array_alone(form, part, (&mut out).into())?;
        let array = Array::from_vec(out);
        Ok(BaseArray {
            memory: as_u64(array.as_bytes().len()),
            array,
            before,
        })
    })
}

/// The triangles of the mesh.
pub(super) fn triangles(file: &Arc<File>) -> Result<Triangles> {
    let base = &file.first_mesh;
    if let Some(Ok(whole)) = base.whole.get() {
        return Ok(whole.triangles.clone());
    }
    if let Some(found) = base.triangles.get() {
        return found.clone();
    }
    let first = first_snapshot(file)?;
    let keep = |made: &Triangles| base.admits(as_u64(made.as_bytes().len()));
    make_once(
        &first,
        &base.triangles,
        MeshArray::Triangles,
        keep,
        |stream| {
            let counts = stream.complete_counts()?;
            let mut out = Triangles::default();
            stream.triangles_alone(&counts, &mut out)?;
            Ok(out)
        },
    )
}

/// The hash of the triangles; `None` if they are damaged, so that no others are equal. Found once.
pub(super) fn triangle_hash(file: &Arc<File>) -> Result<Option<TriangleHash>> {
    let known = &file.first_mesh.triangle_hash;
    if let Some(hash) = known.get() {
        return Ok(*hash);
    }
    // It is found for all calls, and charged to none.
    let found = job::unmetered(|| -> Result<TriangleHash> {
        let triangles = triangles(file)?;
        let counts = head_alone(file)?.counts;
        Ok(TriangleHash::of(&counts, triangles.as_bytes()))
    });
    let hash = match found {
        Ok(hash) => Some(hash),
        // Another call may read it.
        Err(error) if matches!(error.kind(), ErrorKind::Io(_) | ErrorKind::Cancelled) => {
            return Err(error);
        }
        Err(_) => None,
    };
    Ok(*known.get_or_init(|| hash))
}

/// The topology of triangles with this hash.
pub(super) fn topology_of(file: &Arc<File>, hash: TriangleHash) -> Result<TopologyId> {
    let first = triangle_hash(file)?;
    Ok(file.topology_beside(hash, first))
}

/// Counts a part of the mesh for a call, as if the call had decoded it: no verdict depends on earlier calls.
fn count(file: &File, memory: u64, meter: &Meter) -> Result<()> {
    meter.count_read(&file.layout.extent(0)?);
    let taken = meter.take_kept(memory, "mesh of the first snapshot");
    taken.map_err(|error| FILE.of(snapshot_address(0)).locate(error))
}

/// Makes a part of the mesh, which is decoded up to an array.
fn make_once<T: Clone>(
    first: &StoredSnapshot,
    slot: &Slot<Result<T>>,
    last: MeshArray,
    keep: impl Fn(&T) -> bool,
    make: impl FnMut(&mut Stream<'_>) -> Result<T>,
) -> Result<T> {
    // Data that is kept is charged to the calls that use it.
    job::unmetered(|| {
        let mut scratch = Scratch::default();
        let begun = first.begin_mesh(Some(last), &mut scratch)?;
        let meter = first.meter();
        first.make_once(slot, begun, keep, Context::new(&meter, &mut scratch), make)
    })
}
