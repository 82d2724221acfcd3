//! The content of a mesh file, as the library reads it.

use std::collections::BTreeMap;
use std::rc::Rc;

use meshmap::cgeo::Mesh;
use meshmap::{Format, MeshView, Semantic, VOrigin, Winding};

use super::frame::Frame;
use super::shape::{Influences, Materials, Shape, Stream};
use crate::error::Result;
use crate::settings::{Convert, Target};

/// The conversion of a format's numbers to a target.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    turns: bool,
    flips_v: bool,
    zeroes: bool,
    normals: bool,
    coords: usize,
    drops: bool,
    merges: bool,
    target: Target,
}

impl Rules {
    pub(super) fn of(format: Format, convert: &Convert) -> Self {
        let conventions = format.conventions();
        let is_from_top = conventions.v_origin == Some(VOrigin::Top);
        // V is counted from the top in glTF, and from the bottom in the other targets.
        let (flips_v, coords, normals) = match convert.target {
            Target::Glb | Target::Gltf => (!is_from_top, usize::MAX, true),
            Target::Usdc => (is_from_top, usize::MAX, true),
            Target::Obj | Target::Ply => (is_from_top, 1, true),
            Target::Stl | Target::Pc2 => (false, 0, false),
        };
        Self {
            turns: (conventions.front_face == Some(Winding::Clockwise)) != convert.flip,
            flips_v,
            zeroes: convert.zero_non_finite,
            normals,
            coords,
            drops: convert.drop_degenerate,
            merges: convert.merge_materials,
            target: convert.target,
        }
    }

    /// The rules of the OBJ, which is also written next to a point cache.
    pub(super) fn of_obj(self) -> Self {
        Self { normals: true, coords: 1, target: Target::Obj, ..self }
    }

    fn turned(self, [a, b, c]: [u32; 3]) -> [u32; 3] {
        if self.turns { [a, c, b] } else { [a, b, c] }
    }

    /// `true` if the target has no triangle with these corners.
    pub(super) fn lacks(self, [a, b, c]: [u32; 3]) -> bool {
        self.drops && (a == b || b == c || a == c)
    }

    /// The material of triangles with this ID. Merged ones are compared by the attribute that has the IDs.
    fn material(self, id: u32) -> String {
        match (self.merges, self.target) {
            (true, Target::Obj | Target::Pc2) => "material".to_owned(),
            (true, _) | (_, Target::Ply) => id.to_string(),
            _ => format!("material_{id}"),
        }
    }

    /// `true` if the triangles of the target can have a material ID.
    pub(super) fn has_ids(self) -> bool {
        self.target == Target::Ply
    }

    pub(super) fn merges(self) -> bool {
        self.merges
    }

    /// Values of an attribute without which a mesh is complete; `None` if one is not finite, so that the mesh lacks it.
    fn optional<const N: usize>(self, values: Vec<[f32; N]>) -> Option<Vec<[f32; N]>> {
        Some(self.finite(values))
            .filter(|values| values.as_flattened().iter().all(|number| number.is_finite()))
    }

    pub(super) fn finite<const N: usize>(self, mut values: Vec<[f32; N]>) -> Vec<[f32; N]> {
        if self.zeroes {
            values
                .as_flattened_mut()
                .iter_mut()
                .filter(|number| !number.is_finite())
                .for_each(|number| *number = 0.0);
        }
        values
    }

    fn coords(self, values: Vec<[f32; 2]>) -> Option<Vec<[f32; 2]>> {
        let mut values = self.optional(values)?;
        if self.flips_v {
            values.iter_mut().for_each(|[_, v]| *v = 1.0 - *v);
        }
        Some(values)
    }

    /// Colours as the target has them, of which the file stores this many components.
    fn colors(self, values: Vec<[f32; 4]>, components: u32) -> Option<Vec<[f32; 4]>> {
        let is_gltf = matches!(self.target, Target::Glb | Target::Gltf);
        let mut values = self.optional(values)?;
        if components < 4 && !is_gltf || self.target == Target::Obj {
            values.iter_mut().for_each(|[.., alpha]| *alpha = 1.0);
        }
        if self.target == Target::Ply {
            for number in values.as_flattened_mut() {
                // The nearest of 256 levels.
                *number = (f64::from(number.clamp(0.0, 1.0)) * 255.0).round() as f32 / 255.0;
            }
        }
        Some(values)
    }
}

/// The expected content of a file's meshes.
pub(super) struct Origin {
    pub(super) rules: Rules,
    pub(super) frame: Option<Frame>,
    /// The bind shape of a rigged Second Life mesh.
    pub(super) bind_shape: Option<Frame>,
    /// The number of joints that are written with the meshes.
    pub(super) joints: usize,
    /// `true` if the last joint is in the place of joints that are not there.
    pub(super) clamps: bool,
}

impl Origin {
    /// `are_integers`: positions as the integers that are stored.
    pub(super) fn shape(&self, view: &MeshView, are_integers: bool) -> Result<Shape> {
        let mut shape = stored(view, self.rules, are_integers)?;
        shape.influences = self.influences(view)?;
        // Integers have the bind shape by the matrices of the skin.
        let bind_shape = self.bind_shape.as_ref().filter(|_| !are_integers);
        if let Some(frame) = self.frame.as_ref().or(bind_shape) {
            frame.move_shape(view, &mut shape)?;
        }
        Ok(shape)
    }
}

impl Origin {
    /// The joints and weights that are written: none if a used joint is not there.
    fn influences(&self, view: &MeshView) -> Result<Option<Influences>> {
        let is_ply = self.rules.target == Target::Ply;
        if self.frame.is_some() || self.joints == 0 && !is_ply {
            return Ok(None);
        }
        let joints = view.attribute(&Semantic::Joints(0))?.map(|joints| joints.to_f32::<4>());
        let weights = view.attribute(&Semantic::Weights(0))?.map(|weights| weights.to_f32::<4>());
        let (Some(mut joints), Some(weights)) = (joints, weights) else { return Ok(None) };
        if is_ply && self.rules.optional(weights.clone()).is_none() {
            return Ok(None);
        }
        let is_used = |weight: f32| weight > 0.0 && weight.is_finite();
        let is_beyond = |(joint, weight): (&f32, &f32)| is_used(*weight) && *joint as usize >= self.joints;
        let pairs = joints.as_flattened_mut().iter_mut().zip(weights.as_flattened());
        for (joint, weight) in pairs.filter(|_| !is_ply) {
            match is_beyond((joint, weight)) {
                // The viewer of Second Life uses the last joint.
                true if self.clamps => *joint = (self.joints - 1) as f32,
                true => return Ok(None),
                false => {}
            }
        }
        let rest = (!is_ply).then_some(self.joints as f32);
        Ok(Some(Influences { joints: Rc::new(joints), weights: Rc::new(weights), rest }))
    }
}

/// A mesh of any format. `are_integers`: positions as the integers that are stored.
fn stored(view: &MeshView, rules: Rules, are_integers: bool) -> Result<Shape> {
    let (mut shape, mut scale) = (Shape::default(), None);
    if let Some(attribute) = view.attribute(&Semantic::Position)? {
        scale = attribute.dequant().filter(|_| are_integers).map(|dequant| dequant.scale);
        shape.positions = Rc::new(match attribute.array::<[u16; 3]>().filter(|_| are_integers) {
            Some(integers) => integers.iter().map(|integers| integers.map(f32::from)).collect(),
            None => rules.finite(attribute.to_f32::<3>()),
        });
    }
    let is_written = |corners: &[u32; 3]| !rules.lacks(*corners);
    shape.corners =
        view.indices().triangles().filter(is_written).map(|corners| rules.turned(corners)).collect();
    shape.materials = match view.material_ids() {
        Some(ids) => {
            let kept = view.indices().triangles().enumerate().filter(|(_, corners)| is_written(corners));
            Materials::by_id(kept.map(|(at, _)| ids.get(at).unwrap_or_default()), |id| rules.material(id))
        }
        None => Materials::one(view.material()),
    };
    for info in view.attributes() {
        let is_held = match (rules.target, &info.semantic) {
            (Target::Glb | Target::Gltf | Target::Usdc, Semantic::Color(_)) => true,
            (target, Semantic::Color(0)) => matches!(target, Target::Ply | Target::Obj),
            _ => false,
        };
        if let (Semantic::Color(set), true) = (&info.semantic, is_held)
            && let Some(colors) = view.attribute(&info.semantic)?
        {
            let values = rules.colors(colors.to_f32::<4>(), colors.format().components);
            shape.colors.extend(values.map(|values| (*set, Rc::new(values))));
        }
    }
    // Normals are read only if the target stores them: they may be damaged.
    let normals = if rules.normals { view.attribute(&Semantic::Normal)? } else { None };
    if let Some(mut values) = normals.and_then(|normals| rules.optional(normals.to_f32::<3>())) {
        // The scale of a node turns normals, which are written so that they are right then.
        for (number, scale) in
            values.iter_mut().flat_map(|normal| normal.iter_mut().zip(scale.unwrap_or([1.0; 4])))
        {
            *number *= scale;
        }
        shape.normals = Some(Stream { values: Rc::new(values), corners: None });
    }
    for info in view.attributes() {
        let Semantic::TexCoord(set) = info.semantic else { continue };
        if shape.coords.len() >= rules.coords || set as usize != shape.coords.len() {
            continue;
        }
        if let Some(coords) = view.attribute(&info.semantic)? {
            let values = rules.coords(coords.to_f32::<2>());
            shape.coords.extend(values.map(|values| Stream { values: Rc::new(values), corners: None }));
        }
    }
    Ok(shape)
}

/// The name of a face of a Second Life mesh, and of its material.
pub(super) fn face(view: &MeshView) -> Option<String> {
    let address = view.address().to_string();
    let (_, number) = address.rsplit_once(".faces[")?;
    Some(format!("face_{}", number.strip_suffix(']')?))
}

/// The parts of a snapshot, in the order of their materials: a part for each, or one for all that are merged.
pub(super) fn by_material(mesh: &Mesh, rules: Rules) -> Vec<Shape> {
    let whole = snapshot(mesh, rules);
    let mut triangles: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    let ids = mesh.triangles.material_ids().map(Iterator::collect::<Vec<_>>);
    let kept = kept(mesh, rules);
    for (at, index) in kept.iter().enumerate() {
        let id = ids.as_ref().and_then(|ids| ids.get(*index)).copied().unwrap_or_default();
        triangles.entry(id).or_default().push(at);
    }
    let of = |indices: &[usize]| {
        let pick =
            |corners: &[[u32; 3]]| indices.iter().filter_map(|index| corners.get(*index).copied()).collect();
        Shape {
            positions: Rc::clone(&whole.positions),
            corners: pick(&whole.corners),
            normals: whole.normals.as_ref().map(|normals| picked(normals, pick)),
            coords: whole.coords.iter().map(|coords| picked(coords, pick)).collect(),
            materials: Materials {
                names: whole.materials.names.clone(),
                of: indices.iter().filter_map(|index| whole.materials.of.get(*index).copied()).collect(),
            },
            ..Shape::default()
        }
    };
    if rules.merges {
        let all: Vec<usize> = (0..kept.len()).collect();
        return if all.is_empty() { Vec::new() } else { vec![of(&all)] };
    }
    triangles.values().map(|indices| of(indices)).collect()
}

/// The numbers of the triangles of a snapshot that are written.
fn kept(mesh: &Mesh, rules: Rules) -> Vec<usize> {
    let corners = mesh.triangles.positions();
    (0..).zip(&corners).filter(|(_, corners)| !rules.lacks(**corners)).map(|(index, _)| index).collect()
}

fn picked<const N: usize>(stream: &Stream<N>, pick: impl Fn(&[[u32; 3]]) -> Vec<[u32; 3]>) -> Stream<N> {
    Stream { values: Rc::clone(&stream.values), corners: stream.corners.as_deref().map(pick) }
}

/// All triangles of a snapshot, in the order of the file.
pub(super) fn snapshot(mesh: &Mesh, rules: Rules) -> Shape {
    let kept = kept(mesh, rules);
    let turned = |corners: Vec<[u32; 3]>| {
        let kept = kept.iter().filter_map(|index| corners.get(*index));
        kept.map(|corners| rules.turned(*corners)).collect::<Vec<_>>()
    };
    let mut shape = Shape {
        positions: Rc::new(rules.finite(mesh.positions.to_vec())),
        corners: turned(mesh.triangles.positions().to_vec()),
        ..Shape::default()
    };
    if let Some(ids) = mesh.triangles.material_ids().map(Iterator::collect::<Vec<_>>) {
        let ids = kept.iter().filter_map(|index| ids.get(*index).copied());
        shape.materials = Materials::by_id(ids, |id| rules.material(id));
    }
    let normals = mesh.triangles.normals().filter(|_| rules.normals && !mesh.normals.is_empty());
    if let Some((corners, values)) = normals.zip(rules.optional(mesh.normals.to_vec())) {
        shape.normals = Some(Stream { values: Rc::new(values), corners: Some(turned(corners)) });
    }
    for (channel, values) in mesh.texcoords.iter().enumerate().take(rules.coords) {
        let Some(corners) = mesh.triangles.texcoords(channel).filter(|_| !values.is_empty()) else {
            continue;
        };
        // Only what is written counts, but one number of three costs the whole channel.
        let Some(_) = rules.optional(values.to_vec()) else { continue };
        let coords = rules.coords(values.iter().map(|[u, v, _]| [u, v]).collect()).unwrap_or_default();
        shape.coords.push(Stream { values: Rc::new(coords), corners: Some(turned(corners)) });
    }
    shape
}
