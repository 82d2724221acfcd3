//! CGeo: snapshots as morph targets, which hold the differences that the file stores.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use meshmap::cgeo::{Mesh as Stored, Parts, TopologyId};
use meshmap::{Array, Scratch, VertexRemap};

use super::attributes::POINTS;
use super::document::{
    Animation, Channel, ChannelTarget, Index, Mesh, Node, Primitive, Sampler, Target,
};
use super::file::{Gltf, OF_MESH, OF_TARGET, TARGET, Use};
use super::normals::make_unit;
use super::scene::{Rules, add_node, finish_scene, material};
use crate::error::{Error, Result};
use crate::outcome::Outcome;
use crate::scene::cgeo::Snapshots;
use crate::scene::check::{finite, turned, usable};
use crate::scene::{Scene, assume};
use crate::settings::Job;

/// The most morph targets that WebGL 2 can hold.
const MOST_TARGETS: usize = 256;

/// Maximum number of materials with separate vertices; more materials share them, because the JSON would outgrow the numbers.
const MOST_SEPARATE: usize = 64;

/// Size of the JSON of each further primitive for each snapshot, if primitives share their vertices.
const JSON_OF_SHARED: u64 = 32;

pub(super) fn write(
    scene: &Scene,
    snapshots: &Snapshots,
    job: &Job<'_>,
    gltf: &mut Gltf,
    outcome: &mut Outcome,
) -> Result<()> {
    let rules = Rules::of(scene, job, outcome);
    let count = snapshots.indices.len();
    if count > MOST_TARGETS + 1 {
        return Err(Error::NotHeld {
            target: TARGET,
            what: format!(
                "{count} snapshots are more than the {} that viewers can hold: write each {}th of them, or a PC2",
                MOST_TARGETS + 1,
                snapshots.stored_count().div_ceil(MOST_TARGETS)
            ),
        });
    }
    if count > 65 {
        outcome.note("more than 64 morph targets, which is the most that Bevy can hold");
    }
    let times = times(snapshots, job, outcome)?;
    let object = snapshots.name();
    let name = job.name_of(&object);
    let mut writer = Writer {
        snapshots,
        job,
        rules: &rules,
        gltf,
        outcome,
        scratch: Scratch::default(),
    };
    let mut runs: Vec<Run> = Vec::new();
    let mut rest = snapshots.indices.as_slice();
    while let Some((first, others)) = rest.split_first() {
        let _scope = job.budget.scope();
        let (run, used) = writer.run(*first, others, name, count - rest.len())?;
        runs.extend(run);
        rest = rest.get(1 + used..).unwrap_or_default();
    }
    let metres = assume::metres(scene, job, outcome);
    animate(gltf, &runs, &times, count)?;
    let children = runs.into_iter().map(|run| run.node).collect();
    finish_scene(
        gltf,
        scene.root_name(job),
        &rules,
        metres,
        children,
        Vec::new(),
    )
}

/// The times of the snapshots that are written, in seconds from the first.
fn times(snapshots: &Snapshots, job: &Job<'_>, outcome: &mut Outcome) -> Result<Vec<f32>> {
    let step = assume::step(snapshots, job, outcome);
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "the nearest is written"
    )]
    let times: Vec<f32> = {
        let first = snapshots.indices.first().copied().unwrap_or_default();
        snapshots
            .indices
            .iter()
            .map(|index| ((index - first) as f64 * step) as f32)
            .collect()
    };
    if step > 0.0 && step.is_finite() && times.is_sorted_by(|a, b| a < b) {
        return Ok(times);
    }
    Err(Error::NotHeld {
        target: TARGET,
        what: format!("snapshots of {step} seconds, whose times do not ascend"),
    })
}

type Normals = Vec<[f32; 3]>;

/// Snapshots with the same triangles: a mesh with a target for each but the first.
struct Run {
    node: Index,
    /// Index of the first one in the list of written snapshots.
    first: usize,
    targets: usize,
}

/// The first snapshot of a run, without targets.
struct Base {
    primitives: Vec<Primitive>,
    /// The normals that were written.
    normals: Option<Normals>,
    parts: Vec<Part>,
    /// The vertices of triangles; `None` for points, whose vertices are the positions.
    remap: Option<VertexRemap>,
}

struct Writer<'a> {
    snapshots: &'a Snapshots,
    job: &'a Job<'a>,
    rules: &'a Rules,
    gltf: &'a mut Gltf,
    outcome: &'a mut Outcome,
    scratch: Scratch,
}

impl Writer<'_> {
    /// Writes a snapshot, and as many after it as have its triangles; returns how many those are.
    fn run(
        &mut self,
        first: usize,
        others: &[usize],
        name: &str,
        place: usize,
    ) -> Result<(Option<Run>, usize)> {
        let budget = &self.job.budget;
        let mut origin = self.snapshots.at(first)?.mesh(Parts::ALL)?;
        let (points, triangles) = (origin.positions.len(), origin.triangles.len());
        budget.read_geometry(points as u64, triangles as u64)?;
        budget.charge(held_by(&origin), "mesh of a snapshot")?;
        let are_points = self.job.are_points.get();
        let (count, what) = if are_points {
            (points, "points")
        } else {
            (triangles, "triangles")
        };
        let nothing = format!("snapshots[{first}], which has no {what}");
        if count == 0 {
            self.outcome.leave_out(nothing);
            return Ok((None, 0));
        }
        // Positions, and differences from them.
        budget.charge_for::<[[f32; 3]; 2]>(points, "positions of snapshots")?;
        let mut positions = origin.positions.to_vec();
        let is_stored = first == 0 || self.are_first(&positions)?;
        finite(
            &mut positions,
            || format!("snapshots[{first}].positions"),
            self.job,
            self.outcome,
        )?;
        let base = if are_points {
            Some(self.points(&origin, &positions)?)
        } else {
            self.surface(&mut origin, &positions, first)?
        };
        let Some(Base {
            mut primitives,
            normals,
            parts,
            remap,
        }) = base
        else {
            self.outcome.leave_out(nothing);
            return Ok((None, 0));
        };
        let normals = normals
            .filter(|_| self.job.morph_normals)
            .zip(remap.as_ref());
        drop(origin.texcoords);
        let topology = self.snapshots.at(first)?.topology(&mut self.scratch)?;
        let mut used = 0;
        let mut differences = Vec::new();
        // Primitives that share vertices share what moves them.
        let mut targets = vec![
            Vec::new();
            if share_vertices(&parts) {
                1
            } else {
                parts.len()
            }
        ];
        for index in others {
            self.job.budget.read_geometry(points as u64, 0)?;
            if !self.differences(*index, topology, &positions, is_stored, &mut differences)? {
                break;
            }
            let turned = match &normals {
                Some((normals, remap)) => {
                    let mut now = positions.clone();
                    for (position, difference) in now
                        .as_flattened_mut()
                        .iter_mut()
                        .zip(differences.as_flattened())
                    {
                        *position += difference;
                    }
                    Some(self.normal_differences(*index, normals, remap, &parts, &now)?)
                }
                None => None,
            };
            targets
                .iter_mut()
                .for_each(|targets| targets.push(BTreeMap::new()));
            self.gltf.charge(targets.len(), OF_TARGET)?;
            // Their text.
            self.gltf.charge(primitives.len(), JSON_OF_SHARED)?;
            let sources = remap.as_ref().and_then(|remap| remap.sources(0));
            self.add_targets("POSITION", &differences, sources, &mut targets, &parts)?;
            if let Some(turned) = turned {
                self.add_targets("NORMAL", &turned, None, &mut targets, &parts)?;
            }
            used += 1;
        }
        let mut targets = targets.into_iter().map(Rc::new);
        let mut of_part = targets.next();
        for primitive in &mut primitives {
            primitive.targets = of_part.clone().unwrap_or_default();
            of_part = targets.next().or(of_part);
        }
        self.outcome.snapshots += 1 + used as u64;
        if used > 0 && !are_points {
            let what = if normals.is_some() {
                "texture"
            } else {
                "normals and texture"
            };
            self.outcome
                .leave_out(format!("{what} coordinates of all snapshots but one"));
        }
        let name = if others.is_empty() || used == others.len() && place == 0 {
            name.to_owned()
        } else {
            format!("{name}_{first}")
        };
        self.gltf.charge_named(OF_MESH, &name)?;
        self.gltf.document.meshes.push(Mesh {
            name: name.clone(),
            primitives,
            weights: vec![0.0; used],
        });
        let mesh = Some(self.gltf.document.meshes.len() - 1);
        let node = add_node(
            self.gltf,
            Node {
                name,
                mesh,
                ..Node::default()
            },
        )?;
        Ok((
            Some(Run {
                node,
                first: place,
                targets: used,
            }),
            used,
        ))
    }

    /// The points of a snapshot of which no triangle is written, as one primitive.
    fn points(&mut self, origin: &Stored, positions: &[[f32; 3]]) -> Result<Base> {
        self.outcome
            .count_degenerate(origin.triangles.positions().into_iter(), true);
        self.gltf.charge(1, OF_MESH)?;
        let accessor = self.gltf.floats(positions, Use::Vertices, true)?;
        let attributes = BTreeMap::from([("POSITION".to_owned(), accessor)]);
        let material = Some(material(self.gltf, "", None)?);
        self.outcome.wrote(positions.len(), 0);
        Ok(Base {
            primitives: vec![Primitive {
                attributes,
                indices: None,
                mode: Some(POINTS),
                material,
                targets: Rc::default(),
            }],
            normals: None,
            parts: vec![Part {
                material: 0,
                vertices: 0..positions.len(),
                triangles: Vec::new(),
            }],
            remap: None,
        })
    }

    /// The triangles of a snapshot, as a primitive for each material; `None` if none is written.
    fn surface(
        &mut self,
        origin: &mut Stored,
        positions: &[[f32; 3]],
        index: usize,
    ) -> Result<Option<Base>> {
        let (budget, triangles) = (&self.job.budget, origin.triangles.len());
        if origin.triangles.edge_visibility().is_some() {
            self.outcome.leave_out("visibility of edges");
        }
        self.leave_out_non_finite(origin, index)?;
        // Corners of the remap and of the parts, and the elements of each vertex, of which there are at most as many.
        self.job
            .count_materials(origin.triangles.material_ids(), self.outcome)?;
        let ids = origin
            .triangles
            .material_ids()
            .filter(|_| self.job.merges_materials());
        let ids = ids.map(|ids| Ids::new(ids.collect()));
        let streams = origin
            .texcoords
            .len()
            .saturating_add(2 + usize::from(ids.is_some()));
        budget.charge_for::<[u32; 3]>(
            triangles.saturating_mul(streams.saturating_add(4)),
            "vertices of a mesh",
        )?;
        let remap = match &ids {
            Some(ids) => ids.remap(origin)?,
            None => origin.vertex_remap_by_material()?,
        };
        // The numbers that are written for each vertex.
        budget.charge_for::<[[f32; 3]; 2]>(
            remap.vertex_count().saturating_mul(streams),
            "vertices of a mesh",
        )?;
        let all = remap.indices().as_chunks::<3>().0;
        let of_positions = |corners: &[u32; 3]| {
            let sources = remap.sources(0).unwrap_or_default();
            corners.map(|corner| sources.get(corner as usize).copied().unwrap_or(corner))
        };
        let keeps = |corners: &[u32; 3]| self.job.keeps(of_positions(corners));
        self.outcome
            .count_degenerate(all.iter().map(of_positions), self.job.drops_degenerate());
        let parts = parts(&remap, self.rules.turns, ids.is_some(), keeps);
        if parts.is_empty() {
            return Ok(None);
        }
        let (primitives, normals) =
            self.primitives(origin, positions, (&remap, ids.as_ref()), &parts)?;
        self.outcome.wrote(
            remap.vertex_count(),
            parts.iter().map(|part| part.triangles.len()).sum(),
        );
        Ok(Some(Base {
            primitives,
            normals,
            parts,
            remap: Some(remap),
        }))
    }

    /// Replaces values that are not finite with 0, or removes the normals and map channels that have such values.
    fn leave_out_non_finite(&mut self, origin: &mut Stored, index: usize) -> Result<()> {
        let channels = origin.texcoords.iter_mut().enumerate();
        let channels =
            channels.map(|(channel, values)| (format!("map_channels[{channel}]"), values));
        for (name, array) in
            std::iter::once(("normals".to_owned(), &mut origin.normals)).chain(channels)
        {
            if array.iter().flatten().all(f32::is_finite) {
                continue;
            }
            let mut values = array.to_vec();
            let address = || format!("snapshots[{index}].{name}");
            let is_usable = usable(&mut values, address, self.job, self.outcome)?;
            *array = Array::from_vec(if is_usable { values } else { Vec::new() });
        }
        Ok(())
    }

    /// A target of each part: a difference for each vertex, or for the one that `sources` says.
    fn add_targets(
        &mut self,
        name: &'static str,
        differences: &[[f32; 3]],
        sources: Option<&[u32]>,
        targets: &mut [Vec<Target>],
        parts: &[Part],
    ) -> Result<()> {
        for (targets, part) in targets.iter_mut().zip(parts) {
            let (range, is_dense) = (part.vertices.clone(), self.job.dense);
            let accessor = match sources {
                Some(sources) => {
                    let of = |source: &u32| {
                        differences
                            .get(*source as usize)
                            .copied()
                            .unwrap_or_default()
                    };
                    let sources = sources.get(range.clone()).unwrap_or_default();
                    self.gltf.sparse(sources.iter().map(of), is_dense)?
                }
                None => {
                    let part = differences.get(range.clone()).unwrap_or_default();
                    self.gltf.sparse(part.iter().copied(), is_dense)?
                }
            };
            if let Some(target) = targets.last_mut() {
                target.insert(name, accessor);
            }
        }
        Ok(())
    }

    /// Differences that convert the origin's normals, which are of unit length, to the normals of another snapshot.
    fn normal_differences(
        &mut self,
        index: usize,
        origin: &[[f32; 3]],
        remap: &VertexRemap,
        parts: &[Part],
        positions: &[[f32; 3]],
    ) -> Result<Vec<[f32; 3]>> {
        let mut normals = Vec::new();
        self.snapshots
            .at(index)?
            .normals_into(&mut normals, &mut self.scratch)?;
        let address = || format!("snapshots[{index}].normals");
        if !usable(&mut normals, address, self.job, self.outcome)? {
            return Ok(vec![[0.0; 3]; origin.len()]);
        }
        let mut normals = remap.gather(1, &normals)?;
        let corners: Vec<[u32; 3]> = parts.iter().flat_map(|part| part.corners(0)).collect();
        make_unit(
            &mut normals,
            &remap.gather(0, positions)?,
            &corners,
            self.outcome,
        );
        for (normal, from) in normals
            .as_flattened_mut()
            .iter_mut()
            .zip(origin.as_flattened())
        {
            *normal -= from;
        }
        self.outcome.change(
            "normals of morph targets, now differences",
            normals.len() as u64,
        );
        Ok(normals)
    }

    /// Returns `true` if these are the positions of the file's first snapshot, on which stored differences are based.
    fn are_first(&self, positions: &[[f32; 3]]) -> Result<bool> {
        let first = self.snapshots.at(0)?.positions()?;
        let bits = |positions: &[f32; 3]| positions.map(f32::to_bits);
        Ok(first.len() == positions.len()
            && first
                .iter()
                .zip(positions)
                .all(|(a, b)| bits(&a) == bits(b)))
    }

    /// Differences that convert the origin's positions to the positions of another snapshot; `false` if it needs a separate mesh.
    fn differences(
        &mut self,
        index: usize,
        topology: TopologyId,
        origin: &[[f32; 3]],
        is_stored: bool,
        differences: &mut Vec<[f32; 3]>,
    ) -> Result<bool> {
        let snapshot = self.snapshots.at(index)?;
        if snapshot.topology(&mut self.scratch)? != topology {
            return Ok(false);
        }
        let address = || format!("snapshots[{index}].positions");
        if is_stored && snapshot.position_differences_into(differences, &mut self.scratch)? {
            finite(differences, address, self.job, self.outcome)?;
            return Ok(true);
        }
        snapshot.positions_into(&mut *differences, &mut self.scratch)?;
        finite(differences, address, self.job, self.outcome)?;
        let mut is_exact = differences.len() == origin.len();
        for (position, from) in differences
            .as_flattened_mut()
            .iter_mut()
            .zip(origin.as_flattened())
        {
            let difference = *position - from;
            is_exact &= from + difference == *position;
            *position = difference;
        }
        Ok(is_exact)
    }

    /// A primitive for each part, without targets; and the normals that were written.
    fn primitives(
        &mut self,
        origin: &Stored,
        positions: &[[f32; 3]],
        (remap, ids): (&VertexRemap, Option<&Ids>),
        parts: &[Part],
    ) -> Result<(Vec<Primitive>, Option<Normals>)> {
        let corners: Vec<[u32; 3]> = parts.iter().flat_map(|part| part.corners(0)).collect();
        let vertices = remap.gather(0, positions)?;
        let mut stream = 1;
        let normals = if origin.triangles.has_normals() && !origin.normals.is_empty() {
            let mut normals = remap.gather(stream, &origin.normals.to_vec())?;
            stream += 1;
            make_unit(&mut normals, &vertices, &corners, self.outcome);
            Some(normals)
        } else {
            None
        };
        let mut channels = Vec::new();
        for values in origin.texcoords.iter().filter(|values| !values.is_empty()) {
            let values = remap.gather(stream, &values.to_vec())?;
            stream += 1;
            let coords: Vec<[f32; 2]> = values.iter().map(|[u, v, _]| [*u, 1.0 - v]).collect();
            self.outcome.leave_out("the third texture coordinate");
            self.outcome
                .change("texture coordinates v, now 1 - v", coords.len() as u64);
            channels.push(coords);
        }
        let has_ids = origin.triangles.material_ids().is_some();
        let ids = match ids {
            Some(ids) => ids.of_vertices(remap, stream, self.outcome)?,
            None => None,
        };
        let mut primitives = Vec::new();
        let mut shared: Option<BTreeMap<String, Index>> = None;
        for part in parts {
            let range = part.vertices.clone();
            let is_whole = range == (0..vertices.len());
            let attributes = match shared.as_ref().filter(|_| is_whole) {
                Some(attributes) => attributes.clone(),
                None => {
                    let mut attributes = BTreeMap::new();
                    let part = vertices.get(range.clone()).unwrap_or_default();
                    attributes.insert(
                        "POSITION".to_owned(),
                        self.gltf.floats(part, Use::Vertices, true)?,
                    );
                    if let Some(normals) = normals
                        .as_ref()
                        .and_then(|normals| normals.get(range.clone()))
                    {
                        attributes.insert(
                            "NORMAL".to_owned(),
                            self.gltf.floats(normals, Use::Vertices, false)?,
                        );
                    }
                    for (set, coords) in channels.iter().enumerate() {
                        let coords = coords.get(range.clone()).unwrap_or_default();
                        let accessor = self.gltf.floats(coords, Use::Vertices, false)?;
                        attributes.insert(format!("TEXCOORD_{set}"), accessor);
                    }
                    if let Some(ids) = ids.as_ref().and_then(|ids| ids.get(range.clone())) {
                        let accessor = self.gltf.floats(ids, Use::Vertices, false)?;
                        attributes.insert("_MATERIAL_ID".to_owned(), accessor);
                    }
                    attributes
                }
            };
            let first = u32::try_from(range.start).unwrap_or(u32::MAX);
            let corners: Vec<[u32; 3]> = part.corners(first).collect();
            let indices = self.gltf.indices(corners.as_flattened(), range.len())?;
            if is_whole {
                shared = Some(attributes.clone());
            }
            let name = if has_ids {
                self.job.material_of(part.material)
            } else {
                String::new()
            };
            let material = Some(material(self.gltf, &name, None)?);
            self.gltf.charge(1, OF_MESH)?;
            let indices = Some(indices);
            primitives.push(Primitive {
                attributes,
                indices,
                mode: None,
                material,
                targets: Rc::default(),
            });
        }
        Ok((primitives, normals))
    }
}

/// The material IDs of triangles that are written with one material.
struct Ids {
    /// The different IDs, in ascending order.
    known: Vec<u32>,
    /// The place of each triangle's ID among them, for each corner.
    corners: Vec<u32>,
}

impl Ids {
    fn new(of_triangles: Vec<u32>) -> Self {
        let known: Vec<u32> = of_triangles
            .iter()
            .copied()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        let place = |id: u32| known.partition_point(|other| *other < id);
        let corners = of_triangles
            .iter()
            .flat_map(|id| [u32::try_from(place(*id)).unwrap_or(u32::MAX); 3]);
        Self {
            corners: corners.collect(),
            known,
        }
    }

    /// Vertices that differ if their material IDs do. The IDs are the last attribute.
    fn remap(&self, origin: &Stored) -> Result<VertexRemap> {
        let triangles = &origin.triangles;
        let mut streams = vec![(triangles.positions(), origin.positions.len())];
        if let Some(normals) = triangles.normals().filter(|_| !origin.normals.is_empty()) {
            streams.push((normals, origin.normals.len()));
        }
        for (channel, values) in origin
            .texcoords
            .iter()
            .enumerate()
            .filter(|(_, values)| !values.is_empty())
        {
            streams.push((
                triangles.texcoords(channel).unwrap_or_default(),
                values.len(),
            ));
        }
        let corners = streams.iter().map(|(corners, _)| corners.as_flattened());
        let corners: Vec<&[u32]> = corners.chain([self.corners.as_slice()]).collect();
        let counts = streams.iter().map(|(_, count)| *count);
        let counts: Vec<usize> = counts.chain([self.known.len()]).collect();
        Ok(VertexRemap::new(&corners, &counts)?)
    }

    /// The ID of each vertex as a float; `None` if one is too large for that.
    fn of_vertices(
        &self,
        remap: &VertexRemap,
        stream: usize,
        outcome: &mut Outcome,
    ) -> Result<Option<Vec<[f32; 1]>>> {
        /// Integers are exact up to here.
        const MOST: u32 = 1 << 24;
        if self.known.last().is_some_and(|id| *id > MOST) {
            outcome.leave_out("material IDs, which are too large for floats");
            return Ok(None);
        }
        #[expect(clippy::cast_precision_loss, reason = "exact up to the limit above")]
        let known: Vec<[f32; 1]> = self.known.iter().map(|id| [*id as f32]).collect();
        Ok(Some(remap.gather(stream, &known)?))
    }
}

/// The memory that a mesh takes.
fn held_by(mesh: &Stored) -> u64 {
    let elements = [&mesh.positions, &mesh.normals]
        .into_iter()
        .chain(&mesh.texcoords);
    let elements: usize = elements.map(|elements| elements.as_bytes().len()).sum();
    (elements + mesh.triangles.as_bytes().len()) as u64
}

/// The triangles of one material, and the range of vertices that they are written with.
struct Part {
    material: u32,
    vertices: std::ops::Range<usize>,
    triangles: Vec<[u32; 3]>,
}

impl Part {
    /// The corners, counted from a vertex.
    fn corners(&self, first: u32) -> impl Iterator<Item = [u32; 3]> + '_ {
        self.triangles
            .iter()
            .map(move |corners| corners.map(|corner| corner - first))
    }
}

/// The triangles that are written, by material, or all with one material.
fn parts(
    remap: &VertexRemap,
    turns: bool,
    is_merged: bool,
    keeps: impl Fn(&[u32; 3]) -> bool,
) -> Vec<Part> {
    let (all, count) = (remap.indices().as_chunks::<3>().0, remap.vertex_count());
    let kept = |triangles: std::ops::Range<usize>| {
        let triangles = all
            .get(triangles)
            .unwrap_or_default()
            .iter()
            .filter(|triangle| keeps(triangle));
        triangles
            .map(|triangle| turned(*triangle, turns))
            .collect::<Vec<_>>()
    };
    let are_separate = remap.groups().len() <= MOST_SEPARATE;
    let mut parts = Vec::new();
    if is_merged {
        parts.push(Part {
            material: 0,
            vertices: 0..count,
            triangles: kept(0..all.len()),
        });
    } else {
        parts.extend(remap.groups().iter().map(|group| {
            let own = group.vertices.start as usize..group.vertices.end as usize;
            let vertices = if are_separate { own } else { 0..count };
            Part {
                material: group.material,
                vertices,
                triangles: kept(group.triangles.clone()),
            }
        }));
    }
    parts.retain(|part| !part.triangles.is_empty());
    parts
}

/// `true` if all parts have the same vertices.
fn share_vertices(parts: &[Part]) -> bool {
    parts
        .windows(2)
        .all(|pair| matches!(pair, [a, b] if a.vertices == b.vertices))
}

/// The animation that shows each snapshot at its time.
fn animate(gltf: &mut Gltf, runs: &[Run], times: &[f32], snapshots: usize) -> Result<()> {
    if snapshots < 2 || runs.is_empty() {
        return Ok(());
    }
    let keys: Vec<[f32; 1]> = times.iter().map(|time| [*time]).collect();
    let input = gltf.floats(&keys, Use::Other, true)?;
    let (mut channels, mut samplers) = (Vec::new(), Vec::new());
    let mut add = |output, node, path, interpolation| {
        samplers.push(Sampler {
            input,
            output,
            interpolation,
        });
        channels.push(Channel {
            sampler: samplers.len() - 1,
            target: ChannelTarget { node, path },
        });
    };
    for (run, next) in runs.iter().zip(runs.iter().skip(1).map(Some).chain([None])) {
        let end = next.map_or(snapshots, |next| next.first);
        if run.targets > 0 {
            let mut weights = vec![[0.0_f32]; snapshots * run.targets];
            for key in 0..snapshots {
                // Before the run its first snapshot, and after it its last, which are not seen.
                let shown = key.clamp(run.first, end - 1).min(run.first + run.targets) - run.first;
                if let Some(weight) = shown
                    .checked_sub(1)
                    .and_then(|target| weights.get_mut(key * run.targets + target))
                {
                    *weight = [1.0];
                }
            }
            add(
                gltf.floats(&weights, Use::Other, false)?,
                run.node,
                "weights",
                "LINEAR",
            );
        }
        if runs.len() > 1 {
            let shown = |key: usize| {
                if (run.first..end).contains(&key) {
                    [1.0; 3]
                } else {
                    [0.0; 3]
                }
            };
            let scales: Vec<[f32; 3]> = (0..snapshots).map(shown).collect();
            add(
                gltf.floats(&scales, Use::Other, false)?,
                run.node,
                "scale",
                "STEP",
            );
        }
    }
    if !channels.is_empty() {
        gltf.document.animations.push(Animation {
            name: "snapshots".to_owned(),
            channels,
            samplers,
        });
    }
    Ok(())
}
