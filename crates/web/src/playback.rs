//! Snapshots of CGeo whose triangles are those of one before: positions and normals for the vertices that are there.

use meshmap::{Array, Error, Scratch, VertexRemap, cgeo};

use crate::json::Object;
use crate::session::Reply;

/// How the vertices of the first snapshot that was played are made.
pub(crate) struct Playing {
    topology: cgeo::TopologyId,
    remap: VertexRemap,
    has_normals: bool,
    scratch: Scratch,
}

/// The reply for a snapshot, with the vertices of the view of snapshot `base`: its positions, and then its normals where it
/// has them.
///
/// Where its triangles are others, there are no arrays, and the whole mesh has to be read.
pub(crate) fn moment(
    file: &cgeo::Proxy,
    playing: &mut Option<Playing>,
    base: usize,
    index: usize,
) -> Result<Reply, Error> {
    let snapshot = file.snapshot(index)?;
    let first = file.snapshot(base)?;
    let topology = first.topology()?;
    let mut kept = playing.take().filter(|playing| playing.topology == topology);
    let is_same = snapshot.topology()? == topology;
    let mut arrays = Vec::new();
    let mut has_normals = false;
    if is_same {
        let mut now = match kept {
            Some(now) => now,
            None => Playing::new(&first, topology)?,
        };
        let positions = positions_and_normals(&snapshot, &mut now);
        has_normals = now.has_normals;
        kept = Some(now);
        // What was made stays where bytes are missing.
        match positions {
            Ok(made) => arrays = made,
            Err(error) => {
                *playing = kept;
                return Err(error);
            }
        }
    }
    *playing = kept;
    let object = Object::new().with("index", &index).float("seconds", snapshot.time());
    let object = object.with("isSame", &is_same).with("hasNormals", &has_normals);
    Ok(Reply { json: object.end(), arrays })
}

impl Playing {
    fn new(first: &cgeo::Snapshot, topology: cgeo::TopologyId) -> Result<Self, Error> {
        let mesh = first.mesh()?;
        let has_normals = mesh.triangles.has_normals() && !mesh.normals.is_empty();
        Ok(Self { topology, remap: mesh.vertex_remap()?, has_normals, scratch: Scratch::default() })
    }
}

fn positions_and_normals(snapshot: &cgeo::Snapshot, now: &mut Playing) -> Result<Vec<Vec<u8>>, Error> {
    let mut elements = Vec::new();
    snapshot.positions_into(&mut elements, &mut now.scratch)?;
    let bytes = |gathered: Vec<[f32; 3]>| Array::from_vec(gathered).as_bytes().to_vec();
    let mut arrays = vec![bytes(now.remap.gather(0, &elements)?)];
    if now.has_normals {
        snapshot.normals_into(&mut elements, &mut now.scratch)?;
        arrays.push(bytes(now.remap.gather(1, &elements)?));
    }
    Ok(arrays)
}
