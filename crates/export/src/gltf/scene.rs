//! The scene of a glTF file, and what its nodes and meshes have in common.

use meshmap::Axis;

use super::document::{Index, Material, Mesh, Node, Primitive, Roots, Surface};
use super::file::{Gltf, OF_LIST_ITEM, OF_MESH, OF_NODE};
use crate::error::Result;
use crate::outcome::Outcome;
use crate::scene::{Scene, assume};
use crate::settings::{Job, ROUGHNESS};

/// The conversion of a file's numbers to glTF.
pub(super) struct Rules {
    /// `true` if the winding is reversed.
    pub(super) turns: bool,
    /// `true` if the texture coordinate V is written as 1 - V.
    pub(super) flips_v: bool,
    pub(super) up: Axis,
}

impl Rules {
    pub(super) fn of(scene: &Scene, job: &Job<'_>, outcome: &mut Outcome) -> Self {
        let up = assume::up(scene.format, job.up, |note| outcome.note(note));
        Self { turns: job.turns(scene.format), flips_v: job.flips_v(scene.format), up }
    }
}

/// Writes the scene: a root with the rotation and the scale, and the additional nodes that may not be its children.
pub(super) fn finish_scene(
    gltf: &mut Gltf,
    name: String,
    rules: &Rules,
    metres: f64,
    mut children: Vec<Index>,
    beside: Vec<Index>,
) -> Result<()> {
    children.extend(gltf.rest);
    let half = std::f32::consts::FRAC_1_SQRT_2;
    let rotation = match rules.up {
        Axis::X => Some([0.0, 0.0, half, half]),
        Axis::Z => Some([-half, 0.0, 0.0, half]),
        Axis::NegX => Some([0.0, 0.0, -half, half]),
        Axis::NegY => Some([1.0, 0.0, 0.0, 0.0]),
        Axis::NegZ => Some([half, 0.0, 0.0, half]),
        _ => None,
    };
    #[expect(clippy::cast_possible_truncation, reason = "the nearest is what is written")]
    let scale = (metres != 1.0).then_some([metres as f32; 3]);
    gltf.charge(children.len() + beside.len(), OF_LIST_ITEM)?;
    let root = Node { name, rotation, scale, children, ..Node::default() };
    let mut nodes = vec![add_node(gltf, root)?];
    nodes.extend(beside);
    gltf.document.scenes.push(Roots { nodes });
    gltf.document.scene = Some(0);
    Ok(())
}

/// Adds a mesh of one primitive and a node for it, without a transform.
pub(super) fn add_mesh(
    gltf: &mut Gltf,
    name: String,
    primitive: Primitive,
    skin: Option<Index>,
) -> Result<Index> {
    gltf.charge_named(OF_MESH, &name)?;
    let mesh = Mesh { name: name.clone(), primitives: vec![primitive], weights: Vec::new() };
    gltf.document.meshes.push(mesh);
    let mesh = Some(gltf.document.meshes.len() - 1);
    add_node(gltf, Node { name, mesh, skin, ..Node::default() })
}

/// The joint for vertices that follow no other, if a mesh has some: a child of the root that no animation moves.
pub(super) fn rest_joint(is_needed: bool, gltf: &mut Gltf) -> Result<Option<Index>> {
    if is_needed && gltf.rest.is_none() {
        let node = Node { name: "meshmap_rest".to_owned(), ..Node::default() };
        gltf.rest = Some(add_node(gltf, node)?);
    }
    Ok(gltf.rest.filter(|_| is_needed))
}

/// Adds a node without a transform.
pub(super) fn add_node(gltf: &mut Gltf, node: Node) -> Result<Index> {
    gltf.charge_named(OF_NODE, &node.name)?;
    gltf.document.nodes.push(node);
    Ok(gltf.document.nodes.len() - 1)
}

/// The material of this name, which is added if it is new; the empty name is for meshes without a material.
///
/// Without a material or factors, glTF has a metal with a roughness of 1, which is black unless an environment is reflected.
pub(super) fn material(gltf: &mut Gltf, name: &str) -> Result<Index> {
    if let Some(index) = gltf.materials.get(name) {
        return Ok(*index);
    }
    gltf.charge_named(OF_NODE, name)?;
    let index = gltf.document.materials.len();
    gltf.document.materials.push(Material {
        name: name.to_owned(),
        double_sided: true,
        pbr_metallic_roughness: Surface { metallic_factor: 0.0, roughness_factor: ROUGHNESS },
    });
    gltf.materials.insert(name.to_owned(), index);
    Ok(index)
}
