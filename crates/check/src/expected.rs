//! The shapes of a scene as a target has them, corner by corner.

use std::collections::BTreeMap;
use std::rc::Rc;

use meshmap::{Semantic, VertexFormat, colors_to_linear};
use meshmap_export::{Result, Target};
use meshmap_scene::{Buffer, Pose, Shape, Stream, VectorKind};

use crate::mesh::{self, Materials, Mesh, Weights, points};
use crate::rules::Rules;

/// A shape at a key, as a target has it.
pub(crate) struct Expected<'a> {
    rules: &'a Rules<'a>,
    shape: &'a Shape,
    buffer: &'a Buffer,
    /// `true` for positions as the integers that are stored, which the matrix of a node moves.
    are_integers: bool,
    /// The indices of the triangles that are written.
    kept: Vec<usize>,
}

impl<'a> Expected<'a> {
    /// A shape at the key that has been read into a buffer.
    ///
    /// # Errors
    ///
    /// Fails if the comparison takes more work than it may.
    pub(crate) fn new(rules: &'a Rules<'a>, shape: &'a Shape, buffer: &'a Buffer) -> Result<Self> {
        // Each array is compared, also one with few elements.
        let work = 1024 * buffer.streams().len() as u64;
        rules.meter.work(work, "comparison of snapshots")?;
        let mut kept = Vec::new();
        if let Some(corners) = buffer.position_corners() {
            for (index, corners) in corners.triangles().enumerate() {
                if rules.keeps(corners) {
                    kept.push(index);
                }
            }
        }
        Ok(Self {
            rules,
            shape,
            buffer,
            are_integers: false,
            kept,
        })
    }

    /// Expects positions as the integers that are stored, if the written file has such positions.
    pub(crate) fn with_integers(mut self, are_integers: bool) -> Self {
        self.are_integers = are_integers;
        self
    }

    /// All triangles, in the order of the file.
    pub(crate) fn mesh(&self) -> Result<Mesh> {
        let rules = self.rules;
        let are_points = rules.scene.are_points();
        let positions = self.positions()?;
        let corners = if are_points {
            points(positions.len())
        } else {
            self.corners(0)
        };
        let mut mesh = Mesh {
            positions: Rc::new(positions),
            corners,
            weights: self.weights()?,
            materials: self.materials(),
            ..Mesh::default()
        };
        // Only triangles refer to the other arrays of a snapshot.
        if are_points && !self.buffer.has_one_index() {
            return Ok(mesh);
        }
        mesh.normals = self.normals()?;
        self.add_coordinates(&mut mesh)?;
        self.add_colors(&mut mesh)?;
        Ok(mesh)
    }

    /// The triangles in the order of their materials: a part for each, or one for all that are merged. None if nothing is written.
    pub(crate) fn parts(&self) -> Result<Vec<Mesh>> {
        let whole = self.mesh()?;
        if whole.corners.is_empty() {
            return Ok(Vec::new());
        }
        let is_one = self.rules.scene.are_points()
            || self.rules.merges_materials
            || self.shape.material().is_some();
        let ids = self.buffer.material_ids().filter(|_| !is_one);
        let Some(ids) = ids else {
            return Ok(vec![whole]);
        };
        let ids: Vec<u32> = ids.collect();
        let mut triangles: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (place, index) in self.kept.iter().enumerate() {
            let id = ids.get(*index).copied().unwrap_or_default();
            triangles.entry(id).or_default().push(place);
        }
        let mut parts = Vec::with_capacity(triangles.len());
        for triangles in triangles.values() {
            parts.push(part(&whole, triangles));
        }
        Ok(parts)
    }

    /// The corners that a list has of the triangles that are written.
    fn corners(&self, list: usize) -> Vec<[u32; 3]> {
        let Some(corners) = self.buffer.corners().get(list) else {
            return Vec::new();
        };
        let corners: Vec<[u32; 3]> = corners.triangles().collect();
        let mut written = Vec::with_capacity(self.kept.len());
        for index in &self.kept {
            if let Some(corners) = corners.get(*index) {
                written.push(self.rules.ordered(*corners));
            }
        }
        written
    }

    /// A stream of the mesh, of these values of a stream of the buffer.
    fn stream<const N: usize>(&self, stream: &Stream, values: Vec<[f32; N]>) -> mesh::Stream<N> {
        let list = stream.corners().filter(|list| *list > 0);
        mesh::Stream {
            values: Rc::new(values),
            corners: list.map(|list| self.corners(list)),
        }
    }

    /// The pose in which vertices are written.
    fn pose(&self) -> Option<&'a Pose> {
        if self.are_integers {
            return None;
        }
        self.rules.scene.pose()
    }

    /// Points of OBJ have no texture coordinates, normals and materials.
    fn are_bare(&self) -> bool {
        self.rules.target == Target::Obj && self.rules.scene.are_points()
    }

    fn positions(&self) -> Result<Vec<[f32; 3]>> {
        let Some(stream) = self.buffer.positions() else {
            return Ok(Vec::new());
        };
        if self.are_integers
            && let Some(attribute) = stream.attribute()?
            && let Some(integers) = attribute.array::<[u16; 3]>()
        {
            let of_vertices = integers.iter();
            return Ok(of_vertices.map(|three| three.map(f32::from)).collect());
        }
        let mut values = stream.to_f32()?;
        self.rules.replace_non_finite(values.as_flattened_mut());
        if let Some(pose) = self.pose()
            && let Some(view) = stream.view()
        {
            pose.apply_to(view, VectorKind::Point, &mut values)?;
            self.rules.replace_non_finite(values.as_flattened_mut());
        }
        self.rules.place(&mut values);
        Ok(values)
    }

    /// The values of an attribute without which a mesh is complete; `None` if one is not finite, so that the mesh lacks it.
    fn values<const N: usize>(&self, stream: &Stream) -> Result<Option<Vec<[f32; N]>>> {
        let mut values = stream.to_f32()?;
        self.rules.replace_non_finite(values.as_flattened_mut());
        let mut numbers = values.as_flattened().iter();
        if !numbers.all(|number| number.is_finite()) {
            return Ok(None);
        }
        if let Some(kind) = VectorKind::of(stream.semantic()) {
            if let Some(pose) = self.pose()
                && let Some(view) = stream.view()
            {
                pose.apply_to(view, kind, &mut values)?;
            }
            self.rules.turn(&mut values);
        }
        Ok(Some(values))
    }

    /// Normals are read only if the target stores them: they may be damaged.
    fn normals(&self) -> Result<Option<mesh::Stream<3>>> {
        let has_normals = self.rules.target != Target::Stl && !self.are_bare();
        let stream = self.buffer.stream(&Semantic::Normal);
        let stream = stream.filter(|stream| has_normals && stream.corners().is_some());
        let Some(stream) = stream else {
            return Ok(None);
        };
        let Some(mut values) = self.values::<3>(stream)? else {
            return Ok(None);
        };
        // The scale of a node turns normals, which are written so that they are right then.
        if let Some(scale) = self.scale()? {
            for normal in &mut values {
                for (number, scale) in normal.iter_mut().zip(scale) {
                    *number *= scale;
                }
            }
        }
        Ok(Some(self.stream(stream, values)))
    }

    /// The scale of the node of positions that are written as integers.
    fn scale(&self) -> Result<Option<[f32; 4]>> {
        let positions = self.buffer.positions().filter(|_| self.are_integers);
        let Some(positions) = positions else {
            return Ok(None);
        };
        let attribute = positions.attribute()?;
        let dequant = attribute.and_then(|attribute| attribute.dequant());
        Ok(dequant.map(|dequant| dequant.scale))
    }

    fn add_coordinates(&self, mesh: &mut Mesh) -> Result<()> {
        let target = self.rules.target;
        if target == Target::Stl || self.are_bare() {
            return Ok(());
        }
        let mut sets = Vec::new();
        for stream in self.buffer.streams() {
            let Semantic::TexCoord(set) = stream.semantic() else {
                continue;
            };
            let is_only_one = matches!(target, Target::Obj | Target::Ply);
            if stream.corners().is_none() || is_only_one && *set > 0 {
                continue;
            }
            sets.push((*set, stream));
        }
        // glTF numbers the sets in the order of the file, and USD has the numbers of the file.
        if target == Target::Usdc {
            sets.sort_by_key(|(set, _)| *set);
        }
        for (_, stream) in sets {
            if let Some(values) = self.coordinates(stream)? {
                let values = self.rules.coordinates(values);
                mesh.coords.push(self.stream(stream, values));
            }
        }
        Ok(())
    }

    fn coordinates(&self, stream: &Stream) -> Result<Option<Vec<[f32; 2]>>> {
        // Two numbers are written, but one of three costs a whole set of a snapshot.
        let replaces = self.rules.convert.zero_non_finite;
        if let Some(floats) = stream.floats().filter(|_| !replaces) {
            let mut numbers = floats.as_flattened().iter();
            if !numbers.all(|number| number.is_finite()) {
                return Ok(None);
            }
        }
        self.values(stream)
    }

    fn add_colors(&self, mesh: &mut Mesh) -> Result<()> {
        for stream in self.buffer.streams() {
            let Semantic::Color(set) = stream.semantic() else {
                continue;
            };
            let has_set = match self.rules.target {
                Target::Glb | Target::Gltf | Target::Usdc => true,
                Target::Ply | Target::Obj => *set == 0,
                _ => false,
            };
            if !has_set {
                continue;
            }
            if let Some(values) = self.values(stream)? {
                let colors = self.colors(values, stream.format());
                mesh.colors.insert(*set, Rc::new(colors));
            }
        }
        Ok(())
    }

    /// Colours as the target has them, which the file stores in this format.
    fn colors(&self, mut colors: Vec<[f32; 4]>, format: VertexFormat) -> Vec<[f32; 4]> {
        let target = self.rules.target;
        let is_gltf = self.rules.is_gltf();
        if is_gltf || target == Target::Usdc {
            let is_linear = colors_to_linear(&mut colors);
            if is_linear && is_gltf && format == VertexFormat::UNORM8X4 {
                round_to(colors.as_flattened_mut(), u16::MAX.into());
            }
        }
        let has_alpha = is_gltf || format.components >= 4 && target != Target::Obj;
        if !has_alpha {
            for [.., alpha] in &mut colors {
                *alpha = 1.0;
            }
        }
        if target == Target::Ply {
            for number in colors.as_flattened_mut() {
                *number = number.clamp(0.0, 1.0);
            }
            round_to(colors.as_flattened_mut(), u8::MAX.into());
        }
        colors
    }

    fn materials(&self) -> Materials {
        if self.are_bare() {
            return Materials::default();
        }
        if let Some(material) = self.shape.material() {
            return Materials::one(Some(material.name));
        }
        let are_points = self.rules.scene.are_points();
        let ids = self.buffer.material_ids().filter(|_| !are_points);
        let Some(ids) = ids else {
            return Materials::default();
        };
        let ids: Vec<u32> = ids.collect();
        let kept = self.kept.iter();
        let kept = kept.map(|index| ids.get(*index).copied().unwrap_or_default());
        Materials::by_id(kept, |id| self.rules.material_name(id))
    }

    /// The joints and weights that are written: in glTF and USD as they are drawn, in PLY as they are stored.
    fn weights(&self) -> Result<Option<Weights>> {
        let joints = self.buffer.stream(&Semantic::Joints(0));
        let weights = self.buffer.stream(&Semantic::Weights(0));
        let (Some(joints), Some(weights)) = (joints, weights) else {
            return Ok(None);
        };
        if let Some(skeleton) = &self.rules.skeleton {
            return self.drawn_weights(joints, weights, skeleton.joints.len());
        }
        let are_moved = self.rules.scene.pose().is_some_and(Pose::is_frame);
        if self.rules.target != Target::Ply || are_moved {
            return Ok(None);
        }
        let Some(weights) = self.values(weights)? else {
            return Ok(None);
        };
        Ok(Some(Weights {
            joints: Rc::new(joints.to_f32()?),
            weights: Rc::new(weights),
            rest: None,
        }))
    }

    /// The joints and weights for a skeleton of `count` joints. Joints that do not exist have no weights, or the last joint has them.
    fn drawn_weights(
        &self,
        joints: &Stream,
        weights: &Stream,
        count: usize,
    ) -> Result<Option<Weights>> {
        // More joints than integers of 16 bits number have no weights.
        let Ok(count) = u16::try_from(count) else {
            return Ok(None);
        };
        let Some(influences) = self.shape.influences(count)? else {
            return Ok(None);
        };
        let has_last_joint = influences.clamped > 0;
        drop(influences);
        let rest = f32::from(count);
        let mut joints: Vec<[f32; 4]> = joints.to_f32()?;
        let mut weights: Vec<[f32; 4]> = weights.to_f32()?;
        let numbers = joints.as_flattened_mut().iter_mut();
        for (joint, weight) in numbers.zip(weights.as_flattened_mut()) {
            if *joint < rest {
                continue;
            }
            if has_last_joint {
                *joint = rest - 1.0;
            } else {
                *weight = 0.0;
            }
        }
        Ok(Some(Weights {
            joints: Rc::new(joints),
            weights: Rc::new(weights),
            rest: Some(rest),
        }))
    }
}

/// Some triangles of a mesh.
fn part(whole: &Mesh, triangles: &[usize]) -> Mesh {
    let coords = whole.coords.iter();
    Mesh {
        positions: Rc::clone(&whole.positions),
        corners: pick(&whole.corners, triangles),
        normals: whole
            .normals
            .as_ref()
            .map(|normals| part_of_stream(normals, triangles)),
        coords: coords
            .map(|coords| part_of_stream(coords, triangles))
            .collect(),
        materials: whole.materials.pick(triangles),
        ..Mesh::default()
    }
}

fn part_of_stream<const N: usize>(
    stream: &mesh::Stream<N>,
    triangles: &[usize],
) -> mesh::Stream<N> {
    let corners = stream.corners.as_ref();
    mesh::Stream {
        values: Rc::clone(&stream.values),
        corners: corners.map(|corners| pick(corners, triangles)),
    }
}

fn pick(corners: &[[u32; 3]], triangles: &[usize]) -> Vec<[u32; 3]> {
    let mut picked = Vec::with_capacity(triangles.len());
    for triangle in triangles {
        picked.extend(corners.get(*triangle));
    }
    picked
}

/// Rounds numbers from 0 to 1 to the nearest multiple of `1 / levels`.
#[expect(clippy::cast_possible_truncation, reason = "the nearest is written")]
fn round_to(numbers: &mut [f32], levels: f32) {
    for number in numbers {
        let level = (f64::from(*number) * f64::from(levels)).round();
        *number = (level / f64::from(levels)) as f32;
    }
}
