//! A shape through its keys: a mesh for each run of keys with the same triangles, and a morph target for each further key of a run. Targets
//! are the differences that the file stores.

use std::collections::BTreeMap;
use std::rc::Rc;

use meshmap::{Influences, Scratch, Semantic};
use meshmap_job::{Change, Error, Result, Warning, Why};
use meshmap_scene::{Buffer, FactKind, Parts, Shape, Stream};

use super::attributes::{Attributes, Writer};
use super::document::{Mesh, Node, Primitive, Target};
use super::file::{Gltf, OF_MESH, OF_TARGET, TARGET};
use super::normals::make_unit;
use super::scene::{add_node, material};
use super::skins::{Joints, Skins};
use super::timeline::Run;
use super::vertices::Vertices;
use crate::check::{finite, usable};
use crate::material_ids::MaterialIds;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::{read, rig};

/// The mode of a primitive whose vertices are points.
const POINTS: u32 = 0;

/// The most morph targets that WebGL 2 can hold.
const MOST_TARGETS: usize = 256;

/// Size of the JSON of each further primitive for each key, if primitives share their vertices.
const JSON_OF_SHARED: u64 = 32;

/// Fails for a shape with more keys than viewers can hold.
pub(super) fn check_key_count(shape: &Shape, outcome: &mut Outcome) -> Result<()> {
    let count = shape.key_count();
    if count > MOST_TARGETS + 1 {
        return Err(Error::NotHeld {
            target: TARGET,
            what: format!(
                "{count} snapshots are more than the {} that viewers can hold: write each {}th of them, or a PC2",
                MOST_TARGETS + 1,
                shape.stored_key_count().div_ceil(MOST_TARGETS)
            ),
        });
    }
    if count > 65 {
        outcome
            .report
            .warn(Warning::ManyMorphTargets, count as u64 - 1);
    }
    Ok(())
}

/// Writes a shape.
pub(super) struct ShapeWriter<'a> {
    pub(super) shape: &'a Shape,
    pub(super) plan: &'a Plan<'a>,
    pub(super) joints: Option<&'a Joints>,
    pub(super) skins: &'a mut Skins,
    pub(super) ids: &'a mut MaterialIds,
    pub(super) gltf: &'a mut Gltf,
    pub(super) outcome: &'a mut Outcome,
    pub(super) scratch: Scratch,
}

/// The first key of a run, without targets.
struct Base {
    node: Node,
    primitives: Vec<Primitive>,
    /// The positions of the elements of the position stream, if there are further keys.
    positions: Vec<[f32; 3]>,
    /// The normals that were written.
    normals: Option<Vec<[f32; 3]>>,
    vertices: Vertices,
    normal_list: Option<usize>,
    has_coordinates: bool,
    /// `true` if the differences that the file stores are from these positions.
    stores_differences: bool,
    is_skinned: bool,
}

impl ShapeWriter<'_> {
    /// Writes all keys: one run if triangles stay the same.
    pub(super) fn write(&mut self) -> Result<Vec<Run>> {
        let mut runs = Vec::new();
        let mut key = 0;
        while key < self.shape.key_count() {
            let _scope = self.plan.job.budget.scope();
            let targets = match self.base(key)? {
                Some(base) => {
                    let run = self.run(key, base)?;
                    let targets = run.targets;
                    runs.push(run);
                    targets
                }
                None => 0,
            };
            key += 1 + targets;
        }
        Ok(runs)
    }

    /// Writes the geometry of a key; `None` if nothing of it is drawn, which is reported.
    fn base(&mut self, key: usize) -> Result<Option<Base>> {
        let plan = self.plan;
        let mut buffer = Buffer::default();
        self.shape
            .read(key, Parts::ALL, &mut buffer, &mut self.scratch)?;
        plan.charge_read(&buffer)?;
        self.charge(&buffer)?;
        let are_points = plan.scene.are_points();
        if buffer.triangle_count() == 0 && !are_points {
            self.leave_out_shape(key);
            return Ok(None);
        }
        let mut stores_differences = false;
        if let Some(positions) = buffer.positions().and_then(Stream::floats) {
            stores_differences = self.shape.is_base(key, positions)?;
        }
        read::remove_non_finite(&mut buffer, plan, self.outcome)?;
        self.ids
            .count(buffer.material_ids(), plan.job, self.outcome)?;
        let merges_ids = self.ids.are_merged(plan.job);
        let vertices = Vertices::new(&buffer, merges_ids, plan, self.outcome)?;
        if vertices.are_empty(plan) {
            self.leave_out_shape(key);
            return Ok(None);
        }
        let influences = match self.joints {
            Some(joints) => {
                rig::influences(self.shape, &joints.skeleton, &plan.job.budget, self.outcome)?
            }
            None => None,
        };
        self.geometry(&buffer, vertices, influences, stores_differences)
            .map(Some)
    }

    /// Reports that nothing of a key is drawn.
    fn leave_out_shape(&mut self, key: usize) {
        let why = if self.plan.scene.are_points() {
            Why::NoPoints
        } else {
            Why::NoTriangles
        };
        let address = self.shape.address_at(key).to_string();
        self.outcome
            .report
            .leave_out(FactKind::Shapes, why, address);
    }

    /// Charges what a read has decoded: the arrays and the corners, the positions, and the differences from them.
    fn charge(&self, buffer: &Buffer) -> Result<()> {
        let budget = &self.plan.job.budget;
        for stream in buffer.streams() {
            if let Some(floats) = stream.floats() {
                budget.charge_for::<[f32; 3]>(floats.len(), "mesh of a snapshot")?;
            }
        }
        if let Some(floats) = buffer.positions().and_then(Stream::floats) {
            budget.charge_for::<[[f32; 3]; 2]>(floats.len(), "positions of snapshots")?;
            let corners = buffer.corners().len() * buffer.triangle_count();
            budget.charge_for::<[u32; 3]>(corners, "mesh of a snapshot")?;
        }
        Ok(())
    }

    /// Writes the attributes and the triangles, with a primitive for each material.
    fn geometry(
        &mut self,
        buffer: &Buffer,
        vertices: Vertices,
        influences: Option<Influences>,
        stores_differences: bool,
    ) -> Result<Base> {
        let is_skinned = influences.is_some();
        let mut writer = Writer::new(
            self.gltf,
            buffer,
            &vertices,
            self.plan,
            self.outcome,
            is_skinned,
        );
        writer.choose_quantization()?;
        let positions = writer.positions()?;
        let mut base_positions = Vec::new();
        if self.shape.key_count() > 1 {
            base_positions.clone_from(&positions);
        }
        writer.write(positions, influences.as_ref())?;
        let mut primitives = Vec::new();
        for part in 0..vertices.parts.len() {
            let attributes = writer.attributes_of(part)?;
            let primitive = primitive(attributes, part, &vertices, self.plan, writer.gltf)?;
            let name = match (self.shape.material(), buffer.material_ids().is_some()) {
                (Some(material), _) => material.name.to_owned(),
                (None, true) if !self.plan.scene.are_points() => {
                    let id = vertices.parts.get(part).map_or(0, |part| part.material);
                    self.ids.name(id, self.plan.job)
                }
                (None, _) => String::new(),
            };
            let image = self.plan.images.of(self.shape.material());
            let image = image.filter(|_| writer.has_coordinates);
            let material = material(writer.gltf, &name, image)?;
            writer.gltf.charge(1, OF_MESH)?;
            primitives.push(Primitive {
                material: Some(material),
                ..primitive
            });
        }
        let has_coordinates = writer.has_coordinates;
        let normals = writer.normals.take();
        let dequant = writer.dequant;
        let triangles: usize = vertices.parts.iter().map(|part| part.triangles.len()).sum();
        self.outcome.wrote(vertices.count, triangles);
        let mut node = Node::default();
        match (self.joints, influences) {
            (Some(joints), Some(influences)) => {
                let skin = self.skins.get(joints, influences.resting > 0, self.gltf)?;
                node.skin = Some(skin);
            }
            _ => {
                if let Some(dequant) = dequant {
                    let [x, y, z, _] = dequant.offset;
                    let [a, b, c, _] = dequant.scale;
                    node.translation = Some([x, y, z]);
                    node.scale = Some([a, b, c]);
                }
            }
        }
        let normal_list = buffer.stream(&Semantic::Normal).and_then(Stream::corners);
        Ok(Base {
            node,
            primitives,
            positions: base_positions,
            normals,
            vertices,
            normal_list,
            has_coordinates,
            stores_differences,
            is_skinned,
        })
    }

    /// Writes the keys after the first one that have its triangles as targets, and the mesh with its node.
    fn run(&mut self, first: usize, mut base: Base) -> Result<Run> {
        let plan = self.plan;
        let targets = self.targets(first, &mut base)?;
        let normals_move = base.normals.is_some();
        if targets > 0 && !plan.scene.are_points() {
            let report = &mut self.outcome.report;
            let count = targets as u64;
            let why = Why::OfFirstSnapshot;
            if base.normal_list.is_some() && !normals_move {
                report.leave_out_many(FactKind::Normals, why, count);
            }
            if base.has_coordinates {
                report.leave_out_many(FactKind::TexCoords, why, count);
            }
        }
        if self.shape.has_keys() {
            self.outcome.snapshots += 1 + targets as u64;
        }
        let is_last = first + 1 == self.shape.key_count();
        let is_only = first == 0 && targets + 1 == self.shape.key_count();
        let name = plan.job.name_of(self.shape.name());
        let name = if is_last || is_only {
            name.to_owned()
        } else {
            format!("{name}_{}", self.shape.number_of(first))
        };
        self.gltf.charge_named(OF_MESH, &name)?;
        self.gltf.document.meshes.push(Mesh {
            name: name.clone(),
            primitives: base.primitives,
            weights: vec![0.0; targets],
        });
        let mesh = Some(self.gltf.document.meshes.len() - 1);
        let node = Node {
            name,
            mesh,
            ..base.node
        };
        Ok(Run {
            node: add_node(self.gltf, node)?,
            first,
            targets,
            is_skinned: base.is_skinned,
        })
    }

    /// Writes the targets of a run; returns their number.
    fn targets(&mut self, first: usize, base: &mut Base) -> Result<usize> {
        if first + 1 == self.shape.key_count() {
            return Ok(0);
        }
        let topology = self.shape.topology(first, &mut self.scratch)?;
        let points = base.positions.len() as u64;
        let mut differences = Vec::new();
        // Primitives that share vertices share what moves them.
        let lists = if base.vertices.are_shared() {
            1
        } else {
            base.vertices.parts.len()
        };
        let mut targets: Vec<Vec<Target>> = vec![Vec::new(); lists];
        let mut count = 0;
        for key in first + 1..self.shape.key_count() {
            self.plan.job.budget.read_geometry(points, 0)?;
            if self.shape.topology(key, &mut self.scratch)? != topology
                || !self.differences(key, base, &mut differences)?
            {
                break;
            }
            let turned = match &base.normals {
                Some(normals) => Some(self.normal_differences(key, normals, base, &differences)?),
                None => None,
            };
            for targets in &mut targets {
                targets.push(BTreeMap::new());
            }
            self.gltf.charge(targets.len(), OF_TARGET)?;
            // Their text.
            self.gltf.charge(base.primitives.len(), JSON_OF_SHARED)?;
            let sources = base.vertices.position_sources();
            self.add_targets("POSITION", &differences, sources, &mut targets, base)?;
            if let Some(turned) = turned {
                self.add_targets("NORMAL", &turned, None, &mut targets, base)?;
            }
            count += 1;
        }
        let mut targets = targets.into_iter().map(Rc::new);
        let mut of_part = targets.next();
        for primitive in &mut base.primitives {
            primitive.targets = of_part.clone().unwrap_or_default();
            of_part = targets.next().or(of_part);
        }
        Ok(count)
    }

    /// Differences that convert the positions of the base to the positions of another key; `false` if it needs a separate mesh.
    fn differences(
        &mut self,
        key: usize,
        base: &Base,
        differences: &mut Vec<[f32; 3]>,
    ) -> Result<bool> {
        let job = self.plan.job;
        let address = self.shape.address_at(key).then("positions").to_string();
        let are_stored = base.stores_differences
            && self
                .shape
                .differences(key, differences, &mut self.scratch)?;
        if are_stored {
            finite(differences, || address.clone(), job, self.outcome)?;
            return Ok(true);
        }
        self.shape.positions(key, differences, &mut self.scratch)?;
        finite(differences, || address.clone(), job, self.outcome)?;
        let mut is_exact = differences.len() == base.positions.len();
        let now = differences.as_flattened_mut().iter_mut();
        for (number, from) in now.zip(base.positions.as_flattened()) {
            let difference = *number - from;
            is_exact &= from + difference == *number;
            *number = difference;
        }
        Ok(is_exact)
    }

    /// Differences that convert the normals of the base, which are of unit length, to the normals of another key.
    fn normal_differences(
        &mut self,
        key: usize,
        from: &[[f32; 3]],
        base: &Base,
        differences: &[[f32; 3]],
    ) -> Result<Vec<[f32; 3]>> {
        let mut positions = base.positions.clone();
        let now = positions.as_flattened_mut().iter_mut();
        for (number, difference) in now.zip(differences.as_flattened()) {
            *number += difference;
        }
        let mut normals = Vec::new();
        self.shape.normals(key, &mut normals, &mut self.scratch)?;
        let address = self.shape.address_at(key).then("normals").to_string();
        if !usable(
            &mut normals,
            FactKind::Normals,
            || address.clone(),
            self.plan.job,
            self.outcome,
        )? {
            return Ok(vec![[0.0; 3]; from.len()]);
        }
        let vertices = &base.vertices;
        let mut normals = vertices.gather(base.normal_list, normals)?;
        let positions = vertices.gather(Some(0), positions)?;
        make_unit(&mut normals, &positions, &vertices.corners(), self.outcome);
        let now = normals.as_flattened_mut().iter_mut();
        for (number, from) in now.zip(from.as_flattened()) {
            *number -= from;
        }
        let count = normals.len() as u64;
        self.outcome.report.change(Change::NormalDifferences, count);
        Ok(normals)
    }

    /// A target of each part: a difference for each vertex, or for the one that `sources` says.
    fn add_targets(
        &mut self,
        name: &'static str,
        differences: &[[f32; 3]],
        sources: Option<&[u32]>,
        targets: &mut [Vec<Target>],
        base: &Base,
    ) -> Result<()> {
        let is_dense = self.plan.job.dense;
        let of = |source: &u32| {
            let difference = differences.get(*source as usize);
            difference.copied().unwrap_or_default()
        };
        for (targets, part) in targets.iter_mut().zip(&base.vertices.parts) {
            let accessor = match sources {
                Some(sources) => {
                    let sources = sources.get(part.vertices.clone()).unwrap_or_default();
                    self.gltf.sparse(sources.iter().map(of), is_dense)?
                }
                None => {
                    let part = differences.get(part.vertices.clone());
                    let part = part.unwrap_or_default().iter().copied();
                    self.gltf.sparse(part, is_dense)?
                }
            };
            if let Some(target) = targets.last_mut() {
                target.insert(name, accessor);
            }
        }
        Ok(())
    }
}

/// A part with its triangles, or its points, without a material.
fn primitive(
    attributes: Attributes,
    part: usize,
    vertices: &Vertices,
    plan: &Plan<'_>,
    gltf: &mut Gltf,
) -> Result<Primitive> {
    let mut primitive = Primitive {
        attributes,
        indices: None,
        mode: None,
        material: None,
        targets: Rc::default(),
    };
    if plan.scene.are_points() {
        primitive.mode = Some(POINTS);
        return Ok(primitive);
    }
    if let Some(part) = vertices.parts.get(part) {
        let first = u32::try_from(part.vertices.start).unwrap_or(u32::MAX);
        let corners = part.corners(first);
        let indices = gltf.indices(corners.as_flattened(), part.vertices.len())?;
        primitive.indices = Some(indices);
    }
    Ok(primitive)
}
