//! Snapshots with the same triangles, also if these are stored several times.

use meshmap::Scratch;
use meshmap::cgeo::{MeshBuffer, Parts, Snapshot, TopologyId, Triangles};

use crate::budget::Budget;
use crate::error::Result;

/// The triangles of a snapshot, for comparison with the triangles of other snapshots.
pub(crate) struct Topology {
    snapshot: Snapshot,
    id: TopologyId,
    /// Other triangles with the same content: the triangles that were compared last.
    copy: Option<TopologyId>,
    /// The triangles, once they were needed.
    triangles: Option<Triangles>,
}

impl Topology {
    pub(crate) fn of(snapshot: Snapshot) -> Result<Self> {
        let id = snapshot.topology()?;
        Ok(Self { snapshot, id, copy: None, triangles: None })
    }

    /// `true` if a snapshot has as many positions and the same triangles. They are decoded only if they are stored elsewhere.
    pub(crate) fn is_of(&mut self, other: &Snapshot, scratch: &mut Scratch, budget: &Budget) -> Result<bool> {
        let id = other.topology()?;
        if id == self.id || Some(id) == self.copy {
            return Ok(true);
        }
        let (counts, own) =
            (other.counts(&mut Scratch::default())?, self.snapshot.counts(&mut Scratch::default())?);
        if (counts.vertices, counts.triangles) != (own.vertices, own.triangles) {
            return Ok(false);
        }
        let mut buffer = MeshBuffer::default();
        let triangles = match &self.triangles {
            Some(triangles) => triangles,
            None => {
                self.snapshot.mesh_into(Parts::TRIANGLES, &mut buffer, scratch)?;
                let triangles = std::mem::take(&mut buffer.triangles);
                // These triangles, and the triangles that they are compared with.
                budget.charge_for::<[u8; 2]>(triangles.as_bytes().len(), "triangles of a snapshot")?;
                self.triangles.insert(triangles)
            }
        };
        other.mesh_into(Parts::TRIANGLES, &mut buffer, scratch)?;
        let is_same = are_same(triangles, &buffer.triangles);
        if is_same {
            self.copy = Some(id);
        }
        Ok(is_same)
    }
}

/// `true` if triangles have the same indices, material IDs and visible edges.
pub(crate) fn are_same(a: &Triangles, b: &Triangles) -> bool {
    let shape = |triangles: &Triangles| {
        (triangles.len(), triangles.texcoord_sets(), triangles.has_normals(), triangles.tail_len())
    };
    shape(a) == shape(b) && a.as_bytes() == b.as_bytes()
}
