//! The joints of a file, and the skins of glTF.

use meshmap::{Dequant, MeshFile, Text};

use super::frame::Frame;
use super::gltf::{Gltf, index};
use super::place::{
    Columns, ORIGIN, Place, are_near, columns, largest, of_columns, of_node, of_trs, product, within,
};
use crate::budget::Budget;
use crate::error::{Error, Result};

/// The joints that vertices follow.
pub(super) struct Skeleton {
    joints: Vec<Joint>,
    /// The bind shape, which stored integers do not have yet.
    shape: Columns,
}

struct Joint {
    name: String,
    /// In the space of the mesh; `None` if a matrix is sheared or singular, so that no joint can be there.
    place: Option<Place>,
    /// The matrix that transforms vertices into the space of the joint.
    inverse: Columns,
}

/// The name of the joint that has the vertices without weights.
const REST: &str = "meshmap_rest";

impl Skeleton {
    /// `None` for files whose vertices follow no joints.
    pub(super) fn of(file: &MeshFile, budget: &Budget) -> Result<Option<Self>> {
        let name = |name: &Text| {
            // A byte outside of UTF-8 becomes three.
            budget.keep((name.as_bytes().len() as u64).saturating_mul(3), "names of joints")?;
            Ok::<_, Error>(name.to_string_lossy().into_owned())
        };
        if let Some(model) = file.as_iqm() {
            // With the two matrices of the library.
            budget.charge_for::<(Joint, [[f32; 12]; 2])>(model.joints().len(), "joints")?;
            let skeleton = model.skeleton();
            let mut joints: Vec<Joint> = Vec::with_capacity(model.joints().len());
            let inverse = skeleton.as_ref().map_or(&[][..], |skeleton| skeleton.inverse_bind_matrices());
            for (joint, inverse) in model.joints().zip(inverse) {
                let own = of_trs(&joint.trs);
                let parent = joint.parent.and_then(|parent| joints.get(parent as usize)?.place);
                joints.push(Joint {
                    name: name(&joint.name)?,
                    place: Some(parent.map_or(own, |parent| within(&parent, &own))),
                    inverse: columns(&inverse.map(|row| row.map(f64::from))),
                });
            }
            let shape = columns(&ORIGIN);
            return Ok(Some(Self { joints, shape }).filter(|this| this.len() > 0));
        }
        // A skin that cannot be decoded is left out.
        let Some(Ok(Some(skin))) = file.as_slmesh().map(|asset| asset.skin()) else { return Ok(None) };
        let (Some(names), Some(inverse)) = (&skin.joint_names, &skin.inverse_bind_matrices) else {
            return Ok(None);
        };
        let shape = match Frame::bind_shape(file) {
            Some(Frame::BindShape(rows)) => columns(&rows.map(|row| row.map(f64::from))),
            _ => columns(&ORIGIN),
        };
        budget.charge_for::<Joint>(names.len(), "joints")?;
        let mut joints = Vec::with_capacity(names.len());
        for (joint, inverse) in names.iter().zip(inverse.iter()) {
            let bound = inverse.map(f64::from);
            joints.push(Joint { name: name(joint)?, place: inverted(&of_columns(&bound)), inverse: bound });
        }
        Ok(Some(Self { joints, shape }).filter(|this| this.len() > 0))
    }

    pub(super) fn len(&self) -> usize {
        self.joints.len()
    }

    /// Compares the skin of a mesh. An error says what differs.
    pub(super) fn compare(
        &self,
        mesh: usize,
        dequant: Option<Dequant>,
        gltf: &mut Gltf,
    ) -> std::result::Result<(), String> {
        let skin = gltf.node_of(mesh).and_then(|node| index(&gltf.nodes().get(node)?["skin"]));
        let skin = skin.ok_or("its node has no skin")?;
        let (mut nodes, mut inverse) = (gltf.joints(skin), gltf.inverse_bind(skin)?);
        let integers = dequant.map(|Dequant { scale, offset, .. }| {
            let [s, o] = [scale, offset].map(|numbers| numbers.map(f64::from));
            columns(&[[s[0], 0.0, 0.0, o[0]], [0.0, s[1], 0.0, o[1]], [0.0, 0.0, s[2], o[2]]])
        });
        let stored = integers.map_or(columns(&ORIGIN), |integers| product(&self.shape, &integers));
        let name_of = |node: Option<&usize>, gltf: &Gltf| {
            node.and_then(|node| gltf.nodes().get(*node)?["name"].as_str()).unwrap_or_default().to_owned()
        };
        if nodes.len() == self.len() + 1 && name_of(nodes.last(), gltf) == REST {
            let (node, found) = (nodes.pop().unwrap_or_default(), inverse.pop().unwrap_or_default());
            let is_at_origin = places(&[node], gltf) == [ORIGIN];
            let expected = of_columns(&stored);
            if !is_at_origin || !are_near(&expected, &of_columns(&found), largest([expected].iter())) {
                return Err("the joint that rests moves vertices".to_owned());
            }
        }
        if nodes.len() != self.len() || inverse.len() != self.len() {
            return Err(format!("{} joints, where the file has {}", nodes.len(), self.len()));
        }
        let places = places(&nodes, gltf);
        let size = largest(self.joints.iter().filter_map(|joint| joint.place.as_ref()));
        for (at, (joint, found)) in self.joints.iter().zip(&inverse).enumerate() {
            let name = name_of(nodes.get(at), gltf);
            if name != joint.name {
                return Err(format!("joint {at} is {name:?}, where the file has {:?}", joint.name));
            }
            let expected = of_columns(&product(&joint.inverse, &stored));
            if !are_near(&expected, &of_columns(found), largest([expected].iter())) {
                return Err(format!(
                    "the inverse bind matrix of joint {at} is {found:?}, where {expected:?} is meant"
                ));
            }
            let place = places.get(at).copied().unwrap_or(ORIGIN);
            if joint.place.is_some_and(|expected| !are_near(&expected, &place, size)) {
                return Err(format!("joint {at} is at {place:?}, where the file has {:?}", joint.place));
            }
        }
        Ok(())
    }
}

/// The places of joints in the space of their mesh: below other joints, but not below further nodes.
fn places(nodes: &[usize], gltf: &Gltf) -> Vec<Place> {
    let all = gltf.nodes();
    let parent_of = parents(gltf);
    let place = |node: &usize| {
        let (mut place, mut at) = (all.get(*node).map_or(ORIGIN, of_node), *node);
        // As long as a chain of all nodes.
        for _ in 0..all.len() {
            let Some(parent) = parent_of.get(at).copied().flatten().filter(|parent| nodes.contains(parent))
            else {
                break;
            };
            place = within(&all.get(parent).map_or(ORIGIN, of_node), &place);
            at = parent;
        }
        place
    };
    nodes.iter().map(place).collect()
}

/// The parent of each node.
pub(super) fn parents(gltf: &Gltf) -> Vec<Option<usize>> {
    let mut parents = vec![None; gltf.nodes().len()];
    for (parent, node) in gltf.nodes().iter().enumerate() {
        for child in super::gltf::list(node, "children").iter().filter_map(index) {
            if let Some(place) = parents.get_mut(child) {
                *place = Some(parent);
            }
        }
    }
    parents
}

/// The inverse of a place whose axes are upright on each other; `None` of others, and of those without a size.
fn inverted(place: &Place) -> Option<Place> {
    let axis = |column: usize| [0, 1, 2].map(|row| place[row][column]);
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let solve = |m: [[f64; 3]; 3]| {
        let minor = |r: usize, c: usize| {
            let (r1, r2, c1, c2) = ((r + 1) % 3, (r + 2) % 3, (c + 1) % 3, (c + 2) % 3);
            m[r1][c1] * m[r2][c2] - m[r1][c2] * m[r2][c1]
        };
        let determinant = (0..3).map(|c| m[0][c] * minor(0, c)).sum::<f64>();
        [0, 1, 2].map(|r| [0, 1, 2].map(|c| minor(c, r) / determinant))
    };
    let inverse = solve(place.map(|[x, y, z, _]| [x, y, z]));
    let far = axis(3);
    let inverse = inverse.map(|row| [row[0], row[1], row[2], -dot(row, far)]);
    let axes = [0, 1, 2].map(|column| [0, 1, 2].map(|row| inverse[row][column]));
    let are_upright = [(0, 1), (0, 2), (1, 2)].into_iter().all(|(a, b)| {
        let lengths = dot(axes[a], axes[a]) * dot(axes[b], axes[b]);
        dot(axes[a], axes[b]).abs() <= 1e-5 * lengths.sqrt()
    });
    let is_finite = inverse.as_flattened().iter().all(|number| number.is_finite());
    Some(inverse).filter(|_| are_upright && is_finite)
}
