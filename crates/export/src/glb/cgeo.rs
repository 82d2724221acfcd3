//! CGeo: snapshots as morph targets, which hold the differences that the file stores.

use std::collections::BTreeMap;
use std::io::{Seek, Write};

use meshmap::cgeo::{Mesh as Stored, Proxy, TopologyId};
use meshmap::{Format, Scratch, VertexRemap};

use super::document::{Animation, Channel, ChannelTarget, Index, Mesh, Node, Primitive, Sampler};
use super::file::{GlbFile, Use};
use super::normals::make_unit;
use super::{Rules, add_node, finish_scene, material};
use crate::check::{finite, turned, winding};
use crate::convert::Convert;
use crate::error::{Error, Result};
use crate::outcome::Outcome;

/// The most morph targets that WebGL 2 can hold.
const MOST_TARGETS: usize = 256;

/// Up to as many materials, each has vertices of its own; more share them, for the JSON would outgrow the numbers.
const MOST_SEPARATE: usize = 64;

pub(super) fn write<W: Write + Seek>(
    proxy: &Proxy,
    convert: &Convert,
    glb: &mut GlbFile<'_, W>,
    outcome: &mut Outcome,
) -> Result<()> {
    let rules = Rules::of(Format::CGeo, convert, outcome);
    let snapshots: Vec<usize> = (0..proxy.len()).step_by(convert.every).collect();
    if snapshots.len() > MOST_TARGETS + 1 {
        return Err(Error::NotHeld {
            target: "glb",
            what: format!(
                "{} snapshots are more than the {} that viewers can hold: write each {}th of them, or a PC2",
                snapshots.len(),
                MOST_TARGETS + 1,
                proxy.len().div_ceil(MOST_TARGETS)
            ),
        });
    }
    if snapshots.len() > 65 {
        outcome.note("more than 64 morph targets, which is the most that Bevy can hold");
    }
    let times = times(proxy, &snapshots, convert, outcome)?;
    let name = proxy.object_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let mut writer = Writer { proxy, convert, rules: &rules, glb, outcome, scratch: Scratch::default() };
    let mut runs: Vec<Run> = Vec::new();
    let mut rest = snapshots.as_slice();
    while let Some((first, others)) = rest.split_first() {
        let (run, used) = writer.run(*first, others, &name, snapshots.len() - rest.len())?;
        runs.extend(run);
        rest = rest.get(1 + used..).unwrap_or_default();
    }
    let metres = proxy.unit_length().map_or(1.0, |unit| unit.millimeters / 1000.0);
    if proxy.unit_length().is_none() {
        outcome.note("the file does not say what a length of 1 is: taken for a metre");
    }
    animate(glb, &runs, &times, snapshots.len())?;
    let children = runs.into_iter().map(|run| run.node).collect();
    finish_scene(glb, &rules, metres, children, Vec::new());
    Ok(())
}

/// The times of the snapshots that are written, in seconds from the first.
fn times(proxy: &Proxy, snapshots: &[usize], convert: &Convert, outcome: &mut Outcome) -> Result<Vec<f32>> {
    let stored = proxy.timing().map(|timing| timing.step()).filter(|step| *step > 0.0);
    let step = match (convert.rate, stored) {
        (Some(rate), _) => 1.0 / rate,
        (None, Some(step)) => step,
        (None, None) => {
            if snapshots.len() > 1 {
                outcome.note("the file does not say how long a snapshot takes: taken for 24 a second");
            }
            1.0 / 24.0
        }
    };
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "the nearest is written"
    )]
    let times: Vec<f32> = snapshots.iter().map(|index| (*index as f64 * step) as f32).collect();
    if step > 0.0 && step.is_finite() && times.is_sorted_by(|a, b| a < b) {
        return Ok(times);
    }
    Err(Error::NotHeld {
        target: "glb",
        what: format!("snapshots of {step} seconds, whose times do not ascend"),
    })
}

/// Snapshots with the same triangles: a mesh with a target for each but the first.
struct Run {
    node: Index,
    /// Place of the first one among those that are written.
    first: usize,
    targets: usize,
}

struct Writer<'a, 'b, W> {
    proxy: &'a Proxy,
    convert: &'a Convert,
    rules: &'a Rules,
    glb: &'a mut GlbFile<'b, W>,
    outcome: &'a mut Outcome,
    scratch: Scratch,
}

impl<W: Write + Seek> Writer<'_, '_, W> {
    /// Writes a snapshot, and as many after it as have its triangles; returns how many those are.
    fn run(
        &mut self,
        first: usize,
        others: &[usize],
        name: &str,
        place: usize,
    ) -> Result<(Option<Run>, usize)> {
        let mut origin = self.proxy.snapshot(first)?.mesh()?;
        if origin.triangles.edge_visibility().is_some() {
            self.outcome.leave_out("visibility of edges");
        }
        if origin.triangles.is_empty() {
            self.outcome.leave_out(format!("snapshots[{first}], which has no triangles"));
            return Ok((None, 0));
        }
        let mut positions = origin.positions.to_vec();
        let is_stored = self.is_base(&positions)?;
        finite(&mut positions, || format!("snapshots[{first}].positions"), self.convert, self.outcome)?;
        let remap = origin.vertex_remap_by_material()?;
        let parts = parts(&remap, self.rules.turns);
        let mut primitives = self.primitives(&mut origin, first, &positions, &remap, &parts)?;
        drop(origin.map_channels);
        let (topology, sources) = (origin.topology, remap.sources(0).unwrap_or_default().to_vec());
        drop(remap);
        let (mut used, mut moved) = (0, vec![[0.0; 3]; sources.len()]);
        for index in others {
            let Some(differences) = self.differences(*index, topology, &positions, is_stored)? else { break };
            for (vertex, source) in moved.iter_mut().zip(&sources) {
                *vertex = differences.get(*source as usize).copied().unwrap_or_default();
            }
            let mut shared = None;
            for (primitive, part) in primitives.iter_mut().zip(&parts) {
                let accessor = match shared {
                    Some(accessor) => accessor,
                    None => {
                        let part = moved.get(part.vertices.clone()).unwrap_or_default();
                        self.glb.sparse(part, self.convert.dense)?
                    }
                };
                if part.vertices == (0..moved.len()) {
                    shared = Some(accessor);
                }
                primitive.targets.push(BTreeMap::from([("POSITION", accessor)]));
            }
            used += 1;
        }
        if used > 0 {
            self.outcome.leave_out("normals and texture coordinates of snapshots after the first");
        }
        let name = if others.is_empty() || used == others.len() && place == 0 {
            name.to_owned()
        } else {
            format!("{name}_{first}")
        };
        self.glb.document.meshes.push(Mesh { name: name.clone(), primitives, weights: vec![0.0; used] });
        let mesh = Some(self.glb.document.meshes.len() - 1);
        let node = add_node(self.glb, Node { name, mesh, ..Node::default() });
        Ok((Some(Run { node, first: place, targets: used }), used))
    }

    /// Whether stored differences are those to these positions.
    fn is_base(&self, positions: &[[f32; 3]]) -> Result<bool> {
        let base = self.proxy.base()?;
        let bits = |positions: &[f32; 3]| positions.map(f32::to_bits);
        Ok(base.positions.len() == positions.len()
            && base.positions.iter().zip(positions).all(|(a, b)| bits(&a) == bits(b)))
    }

    /// What moves the positions of the origin to those of another snapshot; `None` where it needs a mesh of its own.
    fn differences(
        &mut self,
        index: usize,
        topology: TopologyId,
        origin: &[[f32; 3]],
        is_stored: bool,
    ) -> Result<Option<Vec<[f32; 3]>>> {
        let snapshot = self.proxy.snapshot(index)?;
        if snapshot.topology()? != topology {
            return Ok(None);
        }
        let mut differences = Vec::new();
        let address = || format!("snapshots[{index}].positions");
        if is_stored && snapshot.position_differences_into(&mut differences, &mut self.scratch)? {
            finite(&mut differences, address, self.convert, self.outcome)?;
            return Ok(Some(differences));
        }
        snapshot.positions_into(&mut differences, &mut self.scratch)?;
        finite(&mut differences, address, self.convert, self.outcome)?;
        let mut is_exact = differences.len() == origin.len();
        for (position, from) in differences.as_flattened_mut().iter_mut().zip(origin.as_flattened()) {
            let difference = *position - from;
            is_exact &= from + difference == *position;
            *position = difference;
        }
        Ok(is_exact.then_some(differences))
    }

    /// A primitive for each part, without targets.
    fn primitives(
        &mut self,
        origin: &mut Stored,
        index: usize,
        positions: &[[f32; 3]],
        remap: &VertexRemap,
        parts: &[Part],
    ) -> Result<Vec<Primitive>> {
        let corners: Vec<[u32; 3]> = parts.iter().flat_map(|part| part.corners(0)).collect();
        let vertices = remap.gather(0, positions)?;
        let mut stream = 1;
        let normals = if origin.triangles.has_normals() && !origin.normals.is_empty() {
            let mut normals = origin.normals.to_vec();
            finite(&mut normals, || format!("snapshots[{index}].normals"), self.convert, self.outcome)?;
            let mut normals = remap.gather(stream, &normals)?;
            stream += 1;
            let normal_of = |triangle: usize, corner: usize| {
                normals.get(*corners.get(triangle)?.get(corner)? as usize).copied()
            };
            winding(corners.iter().copied(), &vertices, normal_of, self.outcome);
            make_unit(&mut normals, &vertices, &corners, self.outcome);
            Some(normals)
        } else {
            None
        };
        let mut channels = Vec::new();
        for (channel, values) in origin.map_channels.iter().enumerate() {
            if values.is_empty() {
                continue;
            }
            let mut values = values.to_vec();
            let address = || format!("snapshots[{index}].map_channels[{channel}]");
            finite(&mut values, address, self.convert, self.outcome)?;
            let values = remap.gather(stream, &values)?;
            stream += 1;
            let coords: Vec<[f32; 2]> = values.iter().map(|[u, v, _]| [*u, 1.0 - v]).collect();
            self.outcome.leave_out("the third texture coordinate");
            self.outcome.change("texture coordinates v, now 1 - v", coords.len() as u64);
            channels.push(coords);
        }
        let mut primitives = Vec::new();
        let mut shared: Option<BTreeMap<String, Index>> = None;
        for part in parts {
            let range = part.vertices.clone();
            let attributes = match &shared {
                Some(attributes) => attributes.clone(),
                None => {
                    let mut attributes = BTreeMap::new();
                    let part = vertices.get(range.clone()).unwrap_or_default();
                    attributes.insert("POSITION".to_owned(), self.glb.floats(part, Use::Vertices, true)?);
                    if let Some(normals) = normals.as_ref().and_then(|normals| normals.get(range.clone())) {
                        attributes
                            .insert("NORMAL".to_owned(), self.glb.floats(normals, Use::Vertices, false)?);
                    }
                    for (set, coords) in channels.iter().enumerate() {
                        let coords = coords.get(range.clone()).unwrap_or_default();
                        let accessor = self.glb.floats(coords, Use::Vertices, false)?;
                        attributes.insert(format!("TEXCOORD_{set}"), accessor);
                    }
                    attributes
                }
            };
            let first = u32::try_from(range.start).unwrap_or(u32::MAX);
            let corners: Vec<[u32; 3]> = part.corners(first).collect();
            let indices = self.glb.indices(corners.as_flattened(), range.len())?;
            if range == (0..vertices.len()) {
                shared = Some(attributes.clone());
            }
            let has_ids = origin.triangles.material_ids().is_some();
            let material = has_ids.then(|| material(self.glb, &format!("material_{}", part.material)));
            primitives.push(Primitive { attributes, indices, material, targets: Vec::new() });
        }
        Ok(primitives)
    }
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
        self.triangles.iter().map(move |corners| corners.map(|corner| corner - first))
    }
}

fn parts(remap: &VertexRemap, turns: bool) -> Vec<Part> {
    let groups = remap.groups();
    let (all, count) = (remap.indices().as_chunks::<3>().0, remap.vertex_count());
    let are_separate = groups.len() <= MOST_SEPARATE;
    let parts = groups.iter().map(|group| Part {
        material: group.material,
        vertices: if are_separate {
            group.vertices.start as usize..group.vertices.end as usize
        } else {
            0..count
        },
        triangles: all
            .get(group.triangles.clone())
            .unwrap_or_default()
            .iter()
            .map(|triangle| turned(*triangle, turns))
            .collect(),
    });
    parts.collect()
}

/// The animation that shows each snapshot at its time.
fn animate<W: Write + Seek>(
    glb: &mut GlbFile<'_, W>,
    runs: &[Run],
    times: &[f32],
    snapshots: usize,
) -> Result<()> {
    if snapshots < 2 || runs.is_empty() {
        return Ok(());
    }
    let keys: Vec<[f32; 1]> = times.iter().map(|time| [*time]).collect();
    let input = glb.floats(&keys, Use::Other, true)?;
    let (mut channels, mut samplers) = (Vec::new(), Vec::new());
    let mut add = |output, node, path, interpolation| {
        samplers.push(Sampler { input, output, interpolation });
        channels.push(Channel { sampler: samplers.len() - 1, target: ChannelTarget { node, path } });
    };
    for (run, next) in runs.iter().zip(runs.iter().skip(1).map(Some).chain([None])) {
        let end = next.map_or(snapshots, |next| next.first);
        if run.targets > 0 {
            let mut weights = vec![[0.0_f32]; snapshots * run.targets];
            for key in 0..snapshots {
                // Before the run its first snapshot, and after it its last, which are not seen.
                let shown = key.clamp(run.first, end - 1).min(run.first + run.targets) - run.first;
                if let Some(weight) =
                    shown.checked_sub(1).and_then(|target| weights.get_mut(key * run.targets + target))
                {
                    *weight = [1.0];
                }
            }
            add(glb.floats(&weights, Use::Other, false)?, run.node, "weights", "LINEAR");
        }
        if runs.len() > 1 {
            let shown = |key: usize| if (run.first..end).contains(&key) { [1.0; 3] } else { [0.0; 3] };
            let scales: Vec<[f32; 3]> = (0..snapshots).map(shown).collect();
            add(glb.floats(&scales, Use::Other, false)?, run.node, "scale", "STEP");
        }
    }
    if !channels.is_empty() {
        glb.document.animations.push(Animation { name: "snapshots".to_owned(), channels, samplers });
    }
    Ok(())
}
