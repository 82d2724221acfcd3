//! glTF 2.0, written in one pass: GLB, or JSON with the numbers in files beside it.
//!
//! The numbers of vertices are the file's. One root node has the rotation that turns the format's up axis to Y, and the
//! scale of its unit.

mod attributes;
mod avatar;
mod cgeo;
mod document;
mod file;
mod iqm;
mod normals;
mod plain;
mod slmesh;
mod weights;

use std::path::Path;

use meshmap::{Axis, Format, MeshFile, Role, VOrigin};

use self::document::{Index, Material, Mesh, Node, Primitive, Scene};
use self::file::Gltf;
use crate::assume;
use crate::convert::{Convert, Target};
use crate::error::Result;
use crate::outcome::Outcome;

pub(crate) fn write(file: &MeshFile, convert: &Convert, path: &Path, outcome: &mut Outcome) -> Result<()> {
    let mut reserved = guess(file)?;
    loop {
        let mut own = Outcome::default();
        let mut gltf = match convert.target {
            Target::Gltf => Gltf::parts(path),
            _ => Gltf::binary(path, reserved)?,
        };
        if !convert.animations.is_empty() && file.as_iqm().is_none() {
            own.leave_out(format!(
                "the animations of other files, which {} files do not take",
                file.format()
            ));
        }
        match file {
            MeshFile::CGeo(proxy) if convert.meshes.is_empty() => {
                cgeo::write(proxy, convert, &mut gltf, &mut own)?
            }
            MeshFile::Iqm(model) if !convert.is_still() => {
                iqm::write(file, model, convert, &mut gltf, &mut own)?
            }
            MeshFile::SlMesh(asset) => slmesh::write(file, asset, convert, &mut gltf, &mut own)?,
            _ => plain::write(file, convert, &mut gltf, &mut own)?,
        }
        match gltf.finish(&mut own)? {
            Ok(()) => {
                *outcome = own;
                return Ok(());
            }
            // All is written again, with the room that was wanting.
            Err(needed) => reserved = needed,
        }
    }
}

/// How much JSON a file will take, more or less.
fn guess(file: &MeshFile) -> Result<u64> {
    const BASE: u64 = 8 << 10;
    /// Of a mesh with its attributes, or a joint with its channels.
    const PART: u64 = 2 << 10;
    let parts = match file {
        // More is known when the first snapshot is decoded.
        MeshFile::CGeo(_) => 0,
        MeshFile::Iqm(model) => {
            let joints = model.joint_count() as u64;
            model.len() as u64 + joints * (1 + model.anims().len() as u64)
        }
        _ => file.meshes_where(Role::is_drawn_by_default)?.count() as u64,
    };
    Ok(BASE + PART * parts)
}

/// How the numbers of a file become those of glTF.
struct Rules {
    /// Whether triangles are turned around.
    turns: bool,
    /// Whether the texture coordinate V is written as 1 - V.
    flips_v: bool,
    up: Axis,
}

impl Rules {
    fn of(format: Format, convert: &Convert, outcome: &mut Outcome) -> Self {
        let conventions = format.conventions();
        let up = assume::up(format, convert.up, |note| outcome.note(note));
        // Where a format does not say it, programs write V as in OBJ, from the bottom.
        let flips_v = conventions.v_origin != Some(VOrigin::Top);
        Self { turns: convert.turns(format), flips_v, up }
    }
}

/// The scene: a root with the rotation and the scale, and `beside` it what may not be below it.
fn finish_scene(gltf: &mut Gltf, rules: &Rules, metres: f64, children: Vec<Index>, beside: Vec<Index>) {
    let half = std::f32::consts::FRAC_1_SQRT_2;
    let rotation = match rules.up {
        Axis::X => Some([0.0, 0.0, half, half]),
        Axis::Z => Some([-half, 0.0, 0.0, half]),
        _ => None,
    };
    #[expect(clippy::cast_possible_truncation, reason = "the nearest is what is written")]
    let scale = (metres != 1.0).then_some([metres as f32; 3]);
    gltf.document.nodes.push(Node {
        name: "meshmap_root".to_owned(),
        rotation,
        scale,
        children,
        ..Node::default()
    });
    let mut nodes = vec![gltf.document.nodes.len() - 1];
    nodes.extend(beside);
    gltf.document.scenes.push(Scene { nodes });
    gltf.document.scene = Some(0);
}

/// A mesh of one primitive and a node for it, which has no place of its own.
fn add_mesh(gltf: &mut Gltf, name: String, primitive: Primitive, skin: Option<Index>) -> Index {
    let mesh = Mesh { name: name.clone(), primitives: vec![primitive], weights: Vec::new() };
    gltf.document.meshes.push(mesh);
    let mesh = Some(gltf.document.meshes.len() - 1);
    add_node(gltf, Node { name, mesh, skin, ..Node::default() })
}

/// A node without a place of its own.
fn add_node(gltf: &mut Gltf, node: Node) -> Index {
    gltf.document.nodes.push(node);
    gltf.document.nodes.len() - 1
}

/// The material of this name, which is added where it is new.
fn material(gltf: &mut Gltf, name: &str) -> Index {
    if let Some(index) = gltf.materials.get(name) {
        return *index;
    }
    let index = gltf.document.materials.len();
    gltf.document.materials.push(Material { name: name.to_owned(), double_sided: true });
    gltf.materials.insert(name.to_owned(), index);
    index
}
