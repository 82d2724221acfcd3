//! The vertices of a shape as glTF has them: one index for all attributes.

use std::collections::BTreeSet;
use std::ops::Range;

use meshmap::VertexRemap;
use meshmap_job::{Result, Why};
use meshmap_scene::{Buffer, FactKind};

use crate::outcome::Outcome;
use crate::plan::Plan;

/// Maximum number of materials with separate vertices; more materials share them, because the JSON would outgrow the numbers.
const MOST_SEPARATE: usize = 64;

/// The vertices of a shape, and the triangles that are written of it.
pub(super) struct Vertices {
    pub(super) count: usize,
    pub(super) parts: Vec<Part>,
    /// The material IDs of vertices, if all triangles are written with one material.
    pub(super) ids: Option<Ids>,
    /// The elements that vertices are made of; `None` if the elements of streams are vertices.
    remap: Option<Remap>,
}

/// Vertices that are made of elements of several streams.
struct Remap {
    remap: VertexRemap,
    /// The list of corners of each stream of the remap.
    lists: Vec<usize>,
}

/// The triangles of one material, and the range of vertices that they are written with.
pub(super) struct Part {
    pub(super) material: u32,
    pub(super) vertices: Range<usize>,
    pub(super) triangles: Vec<[u32; 3]>,
}

impl Part {
    /// The corners, counted from a vertex.
    pub(super) fn corners(&self, first: u32) -> Vec<[u32; 3]> {
        let triangles = self.triangles.iter();
        triangles
            .map(|corners| corners.map(|corner| corner - first))
            .collect()
    }
}

impl Vertices {
    /// The vertices and triangles of what has been read. `merges_ids`: all triangles are written with one material.
    pub(super) fn new(
        buffer: &Buffer,
        merges_ids: bool,
        plan: &Plan<'_>,
        outcome: &mut Outcome,
    ) -> Result<Self> {
        plan.count_degenerate(buffer, outcome);
        let elements = buffer.position_count();
        if plan.scene.are_points() {
            return Ok(Self::whole(elements, Vec::new()));
        }
        if buffer.has_one_index() {
            let mut triangles = Vec::new();
            if let Some(corners) = buffer.position_corners() {
                let all = plan.triangles(corners);
                triangles = plan.job.budget.collect(all, "triangles of a mesh")?;
            }
            return Ok(Self::whole(elements, triangles));
        }
        Self::remapped(buffer, merges_ids, plan)
    }

    /// Elements that are vertices.
    fn whole(count: usize, triangles: Vec<[u32; 3]>) -> Self {
        let part = Part {
            material: 0,
            vertices: 0..count,
            triangles,
        };
        Self {
            count,
            parts: vec![part],
            ids: None,
            remap: None,
        }
    }

    /// One vertex for each combination of elements that a corner has.
    fn remapped(buffer: &Buffer, merges_ids: bool, plan: &Plan<'_>) -> Result<Self> {
        let budget = &plan.job.budget;
        let triangles = buffer.triangle_count();
        let mut lists = Vec::new();
        let mut counts = Vec::new();
        for stream in buffer.streams() {
            if let Some(list) = stream.corners().filter(|_| !stream.is_empty()) {
                lists.push(list);
                counts.push(stream.len());
            }
        }
        let streams = lists.len().saturating_add(usize::from(merges_ids));
        // Corners of the remap and of the parts, and the elements of each vertex, of which there are at most as many.
        budget.charge_for::<[u32; 3]>(
            triangles.saturating_mul(streams.saturating_add(4)),
            "vertices of a mesh",
        )?;
        let mut triples: Vec<Vec<[u32; 3]>> = Vec::new();
        for list in &lists {
            let corners = buffer.corners().get(*list);
            triples.push(corners.map_or_else(Vec::new, |corners| corners.triangles().collect()));
        }
        let mut corners: Vec<&[u32]> = triples.iter().map(|list| list.as_flattened()).collect();
        let mut ids = None;
        let remap = match buffer.material_ids() {
            Some(of_triangles) if merges_ids => {
                let merged = Ids::new(of_triangles.collect(), lists.len());
                corners.push(&merged.corners);
                counts.push(merged.known.len());
                let remap = VertexRemap::new(&corners, &counts)?;
                ids = Some(merged);
                remap
            }
            Some(of_triangles) => {
                let materials: Vec<u32> = of_triangles.collect();
                VertexRemap::by_material(&corners, &counts, &materials)?
            }
            None => VertexRemap::by_material(&corners, &counts, &vec![0; triangles])?,
        };
        // The numbers that are written for each vertex.
        budget.charge_for::<[[f32; 3]; 2]>(
            remap.vertex_count().saturating_mul(streams),
            "vertices of a mesh",
        )?;
        Ok(Self {
            count: remap.vertex_count(),
            parts: parts_of(&remap, ids.is_some(), plan),
            ids,
            remap: Some(Remap { remap, lists }),
        })
    }

    /// `true` if no triangle, or no point, is written.
    pub(super) fn are_empty(&self, plan: &Plan<'_>) -> bool {
        if plan.scene.are_points() {
            return self.count == 0;
        }
        self.parts.iter().all(|part| part.triangles.is_empty())
    }

    /// The values of a stream for each vertex.
    pub(super) fn gather<T: Copy>(&self, list: Option<usize>, values: Vec<T>) -> Result<Vec<T>> {
        let Some(Remap { remap, lists }) = &self.remap else {
            return Ok(values);
        };
        let stream = lists.iter().position(|known| Some(*known) == list);
        Ok(remap.gather(stream.unwrap_or(usize::MAX), &values)?)
    }

    /// The material ID of each vertex as a float; `None` if there are none, or if one is too large for that.
    pub(super) fn material_ids(&self, outcome: &mut Outcome) -> Result<Option<Vec<[f32; 1]>>> {
        match (&self.ids, &self.remap) {
            (Some(ids), Some(Remap { remap, .. })) => ids.of_vertices(remap, outcome),
            _ => Ok(None),
        }
    }

    /// The element of the positions that each vertex has; `None` if vertices are elements.
    pub(super) fn position_sources(&self) -> Option<&[u32]> {
        self.remap.as_ref()?.remap.sources(0)
    }

    /// The corners of all triangles that are written.
    pub(super) fn corners(&self) -> Vec<[u32; 3]> {
        let mut corners = Vec::new();
        for part in &self.parts {
            corners.extend(&part.triangles);
        }
        corners
    }

    /// `true` if all parts have the same vertices.
    pub(super) fn are_shared(&self) -> bool {
        let mut pairs = self.parts.windows(2);
        pairs.all(|pair| matches!(pair, [a, b] if a.vertices == b.vertices))
    }
}

/// The triangles that are written, by material, or all with one material.
fn parts_of(remap: &VertexRemap, are_merged: bool, plan: &Plan<'_>) -> Vec<Part> {
    let (all, _) = remap.indices().as_chunks::<3>();
    let sources = remap.sources(0).unwrap_or_default();
    let source = |corner: u32| sources.get(corner as usize).copied().unwrap_or(corner);
    let kept = |triangles: Range<usize>| {
        let mut kept = Vec::with_capacity(triangles.len());
        for corners in all.get(triangles).unwrap_or_default() {
            if plan.keeps(corners.map(source)) {
                kept.push(plan.turned(*corners));
            }
        }
        kept
    };
    let count = remap.vertex_count();
    let are_separate = remap.groups().len() <= MOST_SEPARATE;
    let mut parts = Vec::new();
    if are_merged {
        parts.push(Part {
            material: 0,
            vertices: 0..count,
            triangles: kept(0..all.len()),
        });
    } else {
        for group in remap.groups() {
            let own = group.vertices.start as usize..group.vertices.end as usize;
            parts.push(Part {
                material: group.material,
                vertices: if are_separate { own } else { 0..count },
                triangles: kept(group.triangles.clone()),
            });
        }
    }
    parts.retain(|part| !part.triangles.is_empty());
    parts
}

/// The material IDs of triangles that are written with one material.
pub(super) struct Ids {
    /// The different IDs, in ascending order.
    known: Vec<u32>,
    /// The place of each triangle's ID among them, for each corner.
    corners: Vec<u32>,
    /// The place of the IDs among the streams of the remap.
    stream: usize,
}

impl Ids {
    fn new(of_triangles: Vec<u32>, stream: usize) -> Self {
        let known: BTreeSet<u32> = of_triangles.iter().copied().collect();
        let known: Vec<u32> = known.into_iter().collect();
        let mut corners = Vec::with_capacity(of_triangles.len().saturating_mul(3));
        for id in of_triangles {
            let place = known.partition_point(|other| *other < id);
            corners.extend([u32::try_from(place).unwrap_or(u32::MAX); 3]);
        }
        Self {
            known,
            corners,
            stream,
        }
    }

    fn of_vertices(
        &self,
        remap: &VertexRemap,
        outcome: &mut Outcome,
    ) -> Result<Option<Vec<[f32; 1]>>> {
        /// Integers are exact up to here.
        const MOST: u32 = 1 << 24;
        if self.known.last().is_some_and(|id| *id > MOST) {
            let kind = FactKind::MaterialIds;
            let why = Why::TooLarge;
            outcome
                .report
                .leave_out_many(kind, why, self.known.len() as u64);
            return Ok(None);
        }
        #[expect(clippy::cast_precision_loss, reason = "exact up to the limit above")]
        let known: Vec<[f32; 1]> = self.known.iter().map(|id| [*id as f32]).collect();
        Ok(Some(remap.gather(self.stream, &known)?))
    }
}
