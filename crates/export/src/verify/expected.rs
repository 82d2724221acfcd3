//! Meshes and snapshots of a scene as a target has them, corner by corner.

use std::collections::BTreeMap;
use std::rc::Rc;

use meshmap::{Format, MeshView, Semantic, VertexFormat, cgeo, colors_to_linear};

use super::shape::{Influences, Materials, Shape, Stream, points};
use crate::error::Result;
use crate::outcome::Outcome;
use crate::scene::check::{replace_non_finite, triangles, turned};
use crate::scene::pose::Pose;
use crate::scene::rig::Skeleton;
use crate::scene::{Mesh, Scene, read};
use crate::settings::{Job, Target};

/// The expected content of a written file.
pub(super) struct Expected<'a> {
    pub(super) scene: &'a Scene,
    pub(super) job: &'a Job<'a>,
    /// The target; OBJ for what is next to a point cache.
    pub(super) target: Target,
    /// The joints that are written with the meshes.
    pub(super) skeleton: Option<&'a Skeleton>,
}

impl Expected<'_> {
    pub(super) fn is_gltf(&self) -> bool {
        matches!(self.target, Target::Glb | Target::Gltf)
    }

    /// Points of OBJ have no texture coordinates, normals and materials.
    fn are_bare(&self) -> bool {
        self.target == Target::Obj && self.scene.are_points
    }

    fn has_normals(&self) -> bool {
        self.target != Target::Stl && !self.are_bare()
    }

    fn coord_sets(&self) -> usize {
        match self.target {
            _ if self.are_bare() => 0,
            Target::Stl => 0,
            Target::Obj | Target::Ply => 1,
            _ => usize::MAX,
        }
    }

    fn has_colors(&self, set: u32) -> bool {
        match self.target {
            Target::Glb | Target::Gltf | Target::Usdc => true,
            Target::Ply | Target::Obj => set == 0,
            _ => false,
        }
    }

    fn turned(&self, corners: [u32; 3]) -> [u32; 3] {
        turned(corners, self.job.turns(self.scene.format))
    }

    /// The material of triangles with this ID. Merged ones are compared by the attribute that has the IDs.
    fn material(&self, id: u32) -> String {
        match (self.job.merges_materials(), self.target) {
            (true, Target::Obj) => "material".to_owned(),
            (true, _) | (_, Target::Ply) => id.to_string(),
            _ => format!("material_{id}"),
        }
    }

    pub(super) fn finite<const N: usize>(&self, mut values: Vec<[f32; N]>) -> Vec<[f32; N]> {
        if self.job.zero_non_finite {
            // All are replaced, and none is an error.
            drop(replace_non_finite(&mut values, |_| String::new(), true));
        }
        values
    }

    /// Values of an attribute without which a mesh is complete; `None` if one is not finite, so that the mesh lacks it.
    fn optional<const N: usize>(&self, values: Vec<[f32; N]>) -> Option<Vec<[f32; N]>> {
        let values = self.finite(values);
        values
            .as_flattened()
            .iter()
            .all(|number| number.is_finite())
            .then_some(values)
    }

    fn coords(&self, mut values: Vec<[f32; 2]>) -> Vec<[f32; 2]> {
        if self.job.flips_v(self.scene.format) {
            values.iter_mut().for_each(|[_, v]| *v = 1.0 - *v);
        }
        values
    }

    /// Colours as the target has them, which the file stores in this format.
    fn colors(&self, mut values: Vec<[f32; 4]>, format: VertexFormat) -> Vec<[f32; 4]> {
        if (self.is_gltf() || self.target == Target::Usdc)
            && colors_to_linear(&mut values)
            && self.is_gltf()
            && format == VertexFormat::UNORM8X4
        {
            for number in values.as_flattened_mut() {
                // The nearest of 65,536 levels.
                *number = ((f64::from(*number) * 65535.0).round() / 65535.0) as f32;
            }
        }
        if format.components < 4 && !self.is_gltf() || self.target == Target::Obj {
            values.iter_mut().for_each(|[.., alpha]| *alpha = 1.0);
        }
        if self.target == Target::Ply {
            for number in values.as_flattened_mut() {
                // The nearest of 256 levels.
                *number = (f64::from(number.clamp(0.0, 1.0)) * 255.0).round() as f32 / 255.0;
            }
        }
        values
    }

    /// Points or directions of a snapshot, as they are written.
    pub(super) fn placed(&self, values: Vec<[f32; 3]>) -> Vec<[f32; 3]> {
        let mut values = self.finite(values);
        self.job.turn_numbers(&mut values);
        values
    }

    fn read<const N: usize>(
        &self,
        (view, pose): (&MeshView, Option<&Pose>),
        semantic: &Semantic,
    ) -> Result<Option<Vec<[f32; N]>>> {
        let Some(attribute) = view.attribute(semantic)? else {
            return Ok(None);
        };
        read::optional(view, &attribute, pose, self.job, &mut Outcome::default())
    }

    /// A mesh. `are_integers`: positions as the integers that are stored, which the matrix of the node moves.
    pub(super) fn mesh(&self, mesh: &Mesh, are_integers: bool) -> Result<Shape> {
        let (view, job) = (&mesh.view, self.job);
        let pose = self.scene.pose.as_ref().filter(|_| !are_integers);
        let mut shape = Shape {
            corners: triangles(view, job, job.turns(self.scene.format)).collect(),
            influences: self.influences(view)?,
            ..Shape::default()
        };
        if self.scene.are_points {
            shape.corners = points(view.vertex_count());
        }
        let mut scale = [1.0; 4];
        let attribute = view
            .attribute(&Semantic::Position)?
            .filter(|_| are_integers);
        shape.positions = Rc::new(
            match attribute.and_then(|of| Some((of.array::<[u16; 3]>()?, of.dequant()?))) {
                Some((integers, dequant)) => {
                    scale = dequant.scale;
                    integers
                        .iter()
                        .map(|integers| integers.map(f32::from))
                        .collect()
                }
                None => read::positions(view, pose, job, &mut Outcome::default())?,
            },
        );
        shape.materials = match (&mesh.material, view.material_ids()) {
            _ if self.are_bare() => Materials::default(),
            (Some(name), _) => Materials::one(Some(name)),
            // One mesh of several snapshots is written without materials.
            (None, Some(_)) if self.is_gltf() => Materials::default(),
            (None, Some(ids)) => {
                let kept = view
                    .indices()
                    .triangles()
                    .enumerate()
                    .filter(|(_, corners)| job.keeps(*corners));
                Materials::by_id(kept.map(|(at, _)| ids.get(at).unwrap_or_default()), |id| {
                    self.material(id)
                })
            }
            (None, None) => Materials::default(),
        };
        // Normals are read only if the target stores them: they may be damaged.
        if self.has_normals()
            && let Some(mut values) = self.read::<3>((view, pose), &Semantic::Normal)?
        {
            // The scale of a node turns normals, which are written so that they are right then.
            for (number, scale) in values
                .iter_mut()
                .flat_map(|normal| normal.iter_mut().zip(scale))
            {
                *number *= scale;
            }
            shape.normals = Some(Stream {
                values: Rc::new(values),
                corners: None,
            });
        }
        for info in view.attributes() {
            match &info.semantic {
                Semantic::Color(set) if self.has_colors(*set) => {
                    let values = self.read::<4>((view, pose), &info.semantic)?;
                    let values = values.map(|values| self.colors(values, info.format));
                    shape
                        .colors
                        .extend(values.map(|values| (*set, Rc::new(values))));
                }
                Semantic::TexCoord(set)
                    if shape.coords.len() < self.coord_sets()
                        && *set as usize == shape.coords.len() =>
                {
                    let values = self
                        .read::<2>((view, pose), &info.semantic)?
                        .map(|values| self.coords(values));
                    shape.coords.extend(values.map(|values| Stream {
                        values: Rc::new(values),
                        corners: None,
                    }));
                }
                _ => {}
            }
        }
        Ok(shape)
    }

    /// The joints and weights that are written. Joints that do not exist have no weights, or the last joint has them.
    fn influences(&self, view: &MeshView) -> Result<Option<Influences>> {
        let is_ply = self.target == Target::Ply;
        let is_posed = self.scene.pose.as_ref().is_some_and(|pose| pose.is_frame());
        if is_posed || self.skeleton.is_none() && !is_ply {
            return Ok(None);
        }
        let joints = view
            .attribute(&Semantic::Joints(0))?
            .map(|joints| joints.to_f32::<4>());
        let weights = view
            .attribute(&Semantic::Weights(0))?
            .map(|weights| weights.to_f32::<4>());
        let (Some(mut joints), Some(mut weights)) = (joints, weights) else {
            return Ok(None);
        };
        let Some(skeleton) = self.skeleton.filter(|_| !is_ply) else {
            let are_finite = self.optional(weights.clone()).is_some();
            let [joints, weights] = [joints, weights].map(Rc::new);
            return Ok(are_finite.then_some(Influences {
                joints,
                weights,
                rest: None,
            }));
        };
        let count = skeleton.joints.len();
        let is_used = |weight: f32| weight > 0.0 && weight.is_finite();
        for (joint, weight) in joints
            .as_flattened_mut()
            .iter_mut()
            .zip(weights.as_flattened_mut())
        {
            match is_used(*weight) && *joint as usize >= count {
                true if self.scene.format == Format::SlMesh => *joint = (count - 1) as f32,
                true => *weight = 0.0,
                false => {}
            }
        }
        let (joints, weights) = (Rc::new(joints), Rc::new(weights));
        Ok(Some(Influences {
            joints,
            weights,
            rest: Some(count as f32),
        }))
    }

    /// The parts of a snapshot, in the order of their materials: a part for each, or one for all that are merged.
    pub(super) fn by_material(&self, mesh: &cgeo::Mesh) -> Result<Vec<Shape>> {
        let whole = self.snapshot(mesh)?;
        if self.scene.are_points {
            return Ok(if whole.corners.is_empty() {
                Vec::new()
            } else {
                vec![whole]
            });
        }
        let mut triangles: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        let ids = mesh
            .triangles
            .material_ids()
            .map(Iterator::collect::<Vec<_>>);
        let kept = self.kept(mesh);
        for (at, index) in kept.iter().enumerate() {
            let id = ids
                .as_ref()
                .and_then(|ids| ids.get(*index))
                .copied()
                .unwrap_or_default();
            triangles.entry(id).or_default().push(at);
        }
        let of = |indices: &[usize]| {
            let pick = |corners: &[[u32; 3]]| {
                indices
                    .iter()
                    .filter_map(|index| corners.get(*index).copied())
                    .collect()
            };
            Shape {
                positions: Rc::clone(&whole.positions),
                corners: pick(&whole.corners),
                normals: whole.normals.as_ref().map(|normals| picked(normals, pick)),
                coords: whole
                    .coords
                    .iter()
                    .map(|coords| picked(coords, pick))
                    .collect(),
                materials: Materials {
                    names: whole.materials.names.clone(),
                    of: indices
                        .iter()
                        .filter_map(|index| whole.materials.of.get(*index).copied())
                        .collect(),
                },
                ..Shape::default()
            }
        };
        if self.job.merges_materials() {
            let all: Vec<usize> = (0..kept.len()).collect();
            return Ok(if all.is_empty() {
                Vec::new()
            } else {
                vec![of(&all)]
            });
        }
        Ok(triangles.values().map(|indices| of(indices)).collect())
    }

    /// The numbers of the triangles of a snapshot that are written.
    fn kept(&self, mesh: &cgeo::Mesh) -> Vec<usize> {
        let corners = mesh.triangles.positions();
        (0..)
            .zip(&corners)
            .filter(|(_, corners)| self.job.keeps(**corners))
            .map(|(index, _)| index)
            .collect()
    }

    /// All triangles of a snapshot, in the order of the file.
    pub(super) fn snapshot(&self, mesh: &cgeo::Mesh) -> Result<Shape> {
        // Each array is compared, also one without elements.
        self.job.budget.work(
            1024 * mesh.texcoords.len() as u64,
            "comparison of snapshots",
        )?;
        if self.scene.are_points {
            let positions = Rc::new(self.placed(mesh.positions.to_vec()));
            return Ok(Shape {
                corners: points(positions.len()),
                positions,
                ..Shape::default()
            });
        }
        let kept = self.kept(mesh);
        let turned = |corners: Vec<[u32; 3]>| {
            let kept = kept.iter().filter_map(|index| corners.get(*index));
            kept.map(|corners| self.turned(*corners))
                .collect::<Vec<_>>()
        };
        let mut shape = Shape {
            positions: Rc::new(self.placed(mesh.positions.to_vec())),
            corners: turned(mesh.triangles.positions().to_vec()),
            ..Shape::default()
        };
        if let Some(ids) = mesh
            .triangles
            .material_ids()
            .map(Iterator::collect::<Vec<_>>)
        {
            let ids = kept.iter().filter_map(|index| ids.get(*index).copied());
            shape.materials = Materials::by_id(ids, |id| self.material(id));
        }
        let normals = mesh
            .triangles
            .normals()
            .filter(|_| self.has_normals() && !mesh.normals.is_empty());
        if let Some((corners, values)) = normals.zip(self.optional(mesh.normals.to_vec())) {
            shape.normals = Some(Stream {
                values: Rc::new(self.placed(values)),
                corners: Some(turned(corners)),
            });
        }
        for (channel, values) in mesh.texcoords.iter().enumerate().take(self.coord_sets()) {
            let Some(corners) = mesh
                .triangles
                .texcoords(channel)
                .filter(|_| !values.is_empty())
            else {
                continue;
            };
            // Only what is written counts, but one number of three costs the whole channel.
            let Some(_) = self.optional(values.to_vec()) else {
                continue;
            };
            let coords = self.coords(self.finite(values.iter().map(|[u, v, _]| [u, v]).collect()));
            shape.coords.push(Stream {
                values: Rc::new(coords),
                corners: Some(turned(corners)),
            });
        }
        Ok(shape)
    }
}

fn picked<const N: usize>(
    stream: &Stream<N>,
    pick: impl Fn(&[[u32; 3]]) -> Vec<[u32; 3]>,
) -> Stream<N> {
    Stream {
        values: Rc::clone(&stream.values),
        corners: stream.corners.as_deref().map(pick),
    }
}
