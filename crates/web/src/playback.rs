//! Snapshots of CGeo with the triangles of an earlier one: positions and normals for the vertices that are there.

use meshmap::cgeo::{self, Parts};
use meshmap::{Array, Error, Scratch, VertexRemap};

use crate::json::Object;
use crate::reply::Reply;

/// The vertices that snapshots share, and how they are made.
pub(crate) struct Playing {
    /// The snapshot whose vertices they are.
    base: usize,
    topology: cgeo::TopologyId,
    remap: VertexRemap,
    has_normals: bool,
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
    let mut elements = Vec::new();
    // One request. The calls below would read the beginning of the snapshot first, and then what is missing.
    let likely = snapshot.likely_range(parts).unwrap_or_else(|| snapshot.range());
    let end = likely.end.min(file.source().len()?.unwrap_or(u64::MAX));
    file.source().read(likely.start.min(end)..end)?;
    snapshot.positions_into(&mut elements, &mut now.scratch)?;
    let is_same = snapshot.topology(&mut Scratch::default())? == now.topology;
    let mut arrays = Vec::new();
    if is_same {
        arrays.push(bytes(now.remap.gather(0, &elements)?));
        if now.has_normals && parts.contains(Parts::NORMALS) {
            snapshot.normals_into(&mut elements, &mut now.scratch)?;
            arrays.push(bytes(now.remap.gather(1, &elements)?));
        }
    }
    let object = Object::new().with("index", &index).float("seconds", snapshot.time());
    let object = object.with("isSame", &is_same).with("hasNormals", &(arrays.len() > 1));
    Ok(Reply { json: object.end(), arrays })
}

impl Playing {
    fn new(file: &cgeo::Proxy, base: usize) -> Result<Self, Error> {
        let first = file.snapshot(base)?;
        let mesh = first.mesh(Parts::ALL)?;
        let (topology, remap) = (mesh.topology, mesh.vertex_remap()?);
        // Points have none, whatever the file stores.
        let has_normals =
            !remap.indices().is_empty() && mesh.triangles.has_normals() && !mesh.normals.is_empty();
        Ok(Self { base, topology, remap, has_normals, scratch: Scratch::default() })
    }
}
