//! Joints as nodes, and the skins that bind meshes to them.

use meshmap_job::{Error, Result};
use meshmap_scene::matrix::{IDENTITY, rounded};
use meshmap_scene::{Rest, Skeleton};

use super::document::{Index, Node, Skin};
use super::file::{Gltf, OF_LIST_ITEM, TARGET, Use};
use super::scene::{add_node, rest_joint};

/// A node for each joint, where the mesh is bound to it.
pub(super) struct Joints {
    pub(super) skeleton: Skeleton,
    pub(super) nodes: Vec<Index>,
    /// The joints without a parent.
    pub(super) roots: Vec<Index>,
}

impl Joints {
    pub(super) fn add(skeleton: Skeleton, gltf: &mut Gltf) -> Result<Self> {
        let first = gltf.document.nodes.len();
        for joint in &skeleton.joints {
            let mut node = Node {
                name: joint.name().into_owned(),
                ..Node::default()
            };
            match &joint.rest {
                Rest::Matrix(matrix) => node.matrix = Some(*matrix),
                Rest::Trs(trs) => {
                    node.translation = Some(trs.translate);
                    node.rotation = Some(trs.rotate);
                    node.scale = Some(trs.scale);
                }
                // The place of the parent.
                _ => {}
            }
            add_node(gltf, node)?;
        }
        let nodes: Vec<Index> = (first..gltf.document.nodes.len()).collect();
        let mut roots = Vec::new();
        for (joint, node) in skeleton.joints.iter().zip(&nodes) {
            let parent = joint
                .parent
                .and_then(|parent| gltf.document.nodes.get_mut(first + parent));
            parent
                .map_or(&mut roots, |parent| &mut parent.children)
                .push(*node);
        }
        Ok(Self {
            skeleton,
            nodes,
            roots,
        })
    }
}

/// The skins that were written, with and without the joint that rests.
#[derive(Default)]
pub(super) struct Skins {
    added: [Option<Index>; 2],
}

impl Skins {
    pub(super) fn is_empty(&self) -> bool {
        self.added == [None; 2]
    }

    /// The skin of a mesh; `have_rest`: some vertices follow the joint that rests.
    pub(super) fn get(
        &mut self,
        joints: &Joints,
        have_rest: bool,
        gltf: &mut Gltf,
    ) -> Result<Index> {
        let added = &mut self.added[usize::from(have_rest)];
        if let Some(index) = added {
            return Ok(*index);
        }
        let rest = rest_joint(have_rest, gltf)?;
        let _scope = gltf.budget.scope();
        let inverse_bind = &joints.skeleton.inverse_bind;
        let mut matrices: Vec<[f32; 16]> = gltf
            .budget
            .vec(inverse_bind.len() + 1, "inverse bind matrices")?;
        let inverse = inverse_bind.iter().chain(rest.map(|_| &IDENTITY));
        matrices.extend(inverse.map(inverse_bind_matrix));
        if matrices
            .as_flattened()
            .iter()
            .any(|number| !number.is_finite())
        {
            let what = "an inverse bind matrix is too large".to_owned();
            return Err(Error::NotHeld {
                target: TARGET,
                what,
            });
        }
        let inverse_bind_matrices = gltf.floats(&matrices, Use::Other, false)?;
        gltf.charge(joints.nodes.len() + 1, OF_LIST_ITEM)?;
        let nodes = joints.nodes.iter().copied().chain(rest).collect();
        gltf.document.skins.push(Skin {
            inverse_bind_matrices,
            joints: nodes,
        });
        let index = gltf.document.skins.len() - 1;
        *added = Some(index);
        Ok(index)
    }
}

/// A matrix that takes positions in the bind shape into a joint.
fn inverse_bind_matrix(inverse: &[f64; 16]) -> [f32; 16] {
    let mut rounded = rounded(inverse);
    for (at, number) in [(3, 0.0), (7, 0.0), (11, 0.0), (15, 1.0)] {
        rounded[at] = number;
    }
    rounded
}
