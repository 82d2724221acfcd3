//! Snapshots of CGeo with the triangles of an earlier one: positions and normals for the vertices that are there.

use meshmap::cgeo::{self, MeshBuffer, Parts};
use meshmap::{Array, Error, Scratch, Source, VertexRemap};

use crate::json::Object;
use crate::reply::Reply;

/// The vertices that snapshots share, and how they are made.
pub(crate) struct Playing {
    /// The snapshot whose vertices they are.
    base: usize,
    topology: cgeo::TopologyId,
    remap: VertexRemap,
    has_normals: bool,
    mesh: MeshBuffer,
    scratch: Scratch,
}

/// The reply for a snapshot, with the vertices of the view of snapshot `base`: its positions, and then its normals, if `parts`
/// has them and the file stores them.
///
/// There are no arrays if its triangles differ from the triangles of `base`. Then the whole mesh has to be read.
pub(crate) fn moment(
    file: &cgeo::Proxy,
    playing: &mut Option<Playing>,
    base: usize,
    index: usize,
    parts: Parts,
) -> Result<Reply, Error> {
    let now = match playing.take().filter(|now| now.base == base) {
        Some(now) => now,
        None => Playing::new(file, base)?,
    };
    let now = playing.insert(now);
    let snapshot = file.snapshot(index)?;
    let bytes = |gathered: Vec<[f32; 3]>| Array::from_vec(gathered).as_bytes().to_vec();
    fetch(file.source(), &snapshot, parts)?;
    let is_same = snapshot.topology(&mut now.scratch)? == now.topology;
    let mut arrays = Vec::new();
    if is_same {
        // Positions and normals in one pass.
        let parts = if now.has_normals {
            parts
        } else {
            Parts::POSITIONS
        };
        snapshot.mesh_into(parts, &mut now.mesh, &mut now.scratch)?;
        arrays.push(bytes(now.remap.gather(0, &now.mesh.positions)?));
        if parts.contains(Parts::NORMALS) {
            arrays.push(bytes(now.remap.gather(1, &now.mesh.normals)?));
        }
    }
    let object = Object::new()
        .with("index", &index)
        .float("seconds", snapshot.time());
    let object = object
        .with("isSame", &is_same)
        .with("hasNormals", &(arrays.len() > 1));
    Ok(Reply {
        json: object.end(),
        arrays,
    })
}

/// Reads the bytes that parts of a snapshot likely need: one request. Other calls read the beginning of the snapshot first, and then what is
/// missing.
pub(crate) fn fetch(source: &Source, snapshot: &cgeo::Snapshot, parts: Parts) -> Result<(), Error> {
    let likely = snapshot.likely_range(parts).unwrap_or_else(|| {
        // The start tag may stand in the 4 bytes before.
        let range = snapshot.range();
        range.start.saturating_sub(4)..range.end
    });
    let end = likely.end.min(source.len()?.unwrap_or(u64::MAX));
    source.read(likely.start.min(end)..end)?;
    Ok(())
}

impl Playing {
    fn new(file: &cgeo::Proxy, base: usize) -> Result<Self, Error> {
        let first = file.snapshot(base)?;
        let mesh = first.mesh(Parts::ALL)?;
        let topology = mesh.topology;
        let remap = mesh.vertex_remap()?;
        // Points have none, whatever the file stores.
        let has_normals =
            !remap.indices().is_empty() && mesh.triangles.has_normals() && !mesh.normals.is_empty();
        let mesh = MeshBuffer::default();
        let scratch = Scratch::default();
        Ok(Self {
            base,
            topology,
            remap,
            has_normals,
            mesh,
            scratch,
        })
    }
}
