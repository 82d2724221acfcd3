//! What a mesh file has, as the library reads it.

use std::collections::BTreeMap;
use std::rc::Rc;

use meshmap::cgeo::Mesh;
use meshmap::{Format, MeshView, Semantic, VOrigin, Winding};

use super::frame::Frame;
use super::shape::{Shape, Stream};
use crate::error::Result;
use crate::settings::{Convert, NonFinite, Target};

/// How the numbers of a format become those of a target.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    turns: bool,
    flips_v: bool,
    zeroes: bool,
    normals: bool,
    coords: usize,
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
            zeroes: convert.non_finite == NonFinite::Zero,
            normals,
            coords,
        }
    }

    /// Those of the OBJ, which is written beside a point cache, too.
    pub(super) fn of_obj(self) -> Self {
        Self { normals: true, coords: 1, ..self }
    }

    fn turned(self, [a, b, c]: [u32; 3]) -> [u32; 3] {
        if self.turns { [a, c, b] } else { [a, b, c] }
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

    fn coords(self, values: Vec<[f32; 2]>) -> Vec<[f32; 2]> {
        let mut values = self.finite(values);
        if self.flips_v {
            values.iter_mut().for_each(|[_, v]| *v = 1.0 - *v);
        }
        values
    }
}

/// What is expected of a file's meshes.
pub(super) struct Origin {
    pub(super) rules: Rules,
    pub(super) frame: Option<Frame>,
}

impl Origin {
    /// `are_integers`: positions as the integers that are stored.
    pub(super) fn shape(&self, view: &MeshView, are_integers: bool) -> Result<Shape> {
        let mut shape = stored(view, self.rules, are_integers)?;
        if let Some(frame) = &self.frame {
            frame.move_shape(view, &mut shape)?;
        }
        Ok(shape)
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
    shape.corners = view.indices().triangles().map(|corners| rules.turned(corners)).collect();
    // Normals are read only if the target stores them: they may be damaged.
    let normals = if rules.normals { view.attribute(&Semantic::Normal)? } else { None };
    if let Some(normals) = normals {
        let mut values = rules.finite(normals.to_f32::<3>());
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
            shape.coords.push(Stream { values: Rc::new(rules.coords(coords.to_f32::<2>())), corners: None });
        }
    }
    Ok(shape)
}

/// The triangles of a snapshot, by the number of their material.
pub(super) fn by_material(mesh: &Mesh, rules: Rules) -> BTreeMap<u32, Shape> {
    let ids = mesh.triangles.material_ids();
    let mut triangles: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for index in 0..mesh.triangles.len() {
        let id = ids.as_ref().and_then(|ids| ids.get(index)).copied().unwrap_or_default();
        triangles.entry(id).or_default().push(index);
    }
    let whole = snapshot(mesh, rules);
    let of = |indices: &[usize]| {
        let pick =
            |corners: &[[u32; 3]]| indices.iter().filter_map(|index| corners.get(*index).copied()).collect();
        Shape {
            positions: Rc::clone(&whole.positions),
            corners: pick(&whole.corners),
            normals: whole.normals.as_ref().map(|normals| picked(normals, pick)),
            coords: whole.coords.iter().map(|coords| picked(coords, pick)).collect(),
            ..Shape::default()
        }
    };
    triangles.iter().map(|(id, indices)| (*id, of(indices))).collect()
}

fn picked<const N: usize>(stream: &Stream<N>, pick: impl Fn(&[[u32; 3]]) -> Vec<[u32; 3]>) -> Stream<N> {
    Stream { values: Rc::clone(&stream.values), corners: stream.corners.as_deref().map(pick) }
}

/// All triangles of a snapshot, in the order of the file.
pub(super) fn snapshot(mesh: &Mesh, rules: Rules) -> Shape {
    let turned =
        |corners: Vec<[u32; 3]>| corners.into_iter().map(|corners| rules.turned(corners)).collect::<Vec<_>>();
    let mut shape = Shape {
        positions: Rc::new(rules.finite(mesh.positions.to_vec())),
        corners: turned(mesh.triangles.positions().to_vec()),
        ..Shape::default()
    };
    let normals = mesh.triangles.normals().filter(|_| rules.normals && !mesh.normals.is_empty());
    if let Some(corners) = normals {
        let values = Rc::new(rules.finite(mesh.normals.to_vec()));
        shape.normals = Some(Stream { values, corners: Some(turned(corners)) });
    }
    for (channel, values) in mesh.texcoords.iter().enumerate().take(rules.coords) {
        let Some(corners) = mesh.triangles.texcoords(channel).filter(|_| !values.is_empty()) else {
            continue;
        };
        let values = Rc::new(rules.coords(values.iter().map(|[u, v, _]| [u, v]).collect()));
        shape.coords.push(Stream { values, corners: Some(turned(corners)) });
    }
    shape
}
