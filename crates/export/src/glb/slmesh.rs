//! Second Life meshes: faces, and their skin.

use std::io::{Seek, Write};

use meshmap::slmesh::{Asset, Skin as Stored};
use meshmap::{Format, MeshFile};

use super::document::{Index, Node, Skin};
use super::file::{GlbFile, Use};
use super::{Rules, add_mesh, add_node, attributes, finish_scene, material, weights};
use crate::convert::Convert;
use crate::error::{Error, Result};
use crate::matrix;
use crate::outcome::Outcome;
use crate::select;

pub(super) fn write<W: Write + Seek>(
    file: &MeshFile,
    asset: &Asset,
    convert: &Convert,
    glb: &mut GlbFile<'_, W>,
    outcome: &mut Outcome,
) -> Result<()> {
    let rules = Rules::of(Format::SlMesh, convert, outcome);
    let skin = match asset.skin()? {
        Some(stored) => joints(&stored, glb, outcome)?,
        None => None,
    };
    let count = skin.as_ref().map_or(0, |skin| skin.joints.len());
    let (mut children, mut beside) = (Vec::new(), Vec::new());
    let mut added = None;
    for view in select::meshes(file, convert, outcome)? {
        let influences = match &skin {
            Some(_) => weights::of_view(&view, count, outcome)?,
            None => None,
        };
        let primitive = attributes::primitive(glb, &view, influences.as_ref(), &rules, convert, outcome)?;
        let Some(mut primitive) = primitive else { continue };
        let number = view.address().to_string();
        let number = number.rsplit_once('[').and_then(|(_, number)| number.strip_suffix(']')).unwrap_or("0");
        let name = format!("face_{number}");
        primitive.material = Some(material(glb, &name));
        match skin.as_ref().filter(|_| influences.is_some()) {
            Some(skin) => {
                let index = match added {
                    Some(index) => index,
                    None => *added.insert(skin.add(glb)?),
                };
                beside.push(add_mesh(glb, name, primitive, Some(index)));
            }
            None => children.push(add_mesh(glb, name, primitive, None)),
        }
    }
    if let Some(skin) = skin.filter(|_| added.is_some()) {
        children.extend(skin.joints);
    } else if count > 0 {
        outcome.leave_out("the skin, which no face has weights of");
    }
    finish_scene(glb, &rules, 1.0, children, beside);
    Ok(())
}

struct Joints {
    joints: Vec<Index>,
    /// What brings a vertex from the mesh into each joint.
    inverse: Vec<[f32; 16]>,
}

impl Joints {
    fn add<W: Write + Seek>(&self, glb: &mut GlbFile<'_, W>) -> Result<Index> {
        let inverse_bind_matrices = glb.floats(&self.inverse, Use::Other, false)?;
        glb.document.skins.push(Skin { inverse_bind_matrices, joints: self.joints.clone() });
        Ok(glb.document.skins.len() - 1)
    }
}

/// A node for each joint, where the mesh is bound to it; `None` without joints.
fn joints<W>(stored: &Stored, glb: &mut GlbFile<'_, W>, outcome: &mut Outcome) -> Result<Option<Joints>> {
    let (Some(names), Some(inverse)) = (&stored.joint_names, &stored.inverse_bind_matrices) else {
        outcome.leave_out("the skin, which has no joints or no matrices");
        return Ok(None);
    };
    let mut all = Joints { joints: Vec::new(), inverse: Vec::new() };
    let shape = stored.bind_shape_matrix.map(|matrix| matrix.map(f64::from));
    for (index, (name, inverse)) in names.iter().zip(inverse.iter()).enumerate() {
        let numbers = inverse.iter().chain(stored.bind_shape_matrix.iter().flatten());
        if let Some(value) = numbers.copied().find(|number| !number.is_finite()) {
            let what = format!("skin.inverse_bind_matrix[{index}] or the bind shape has the number {value}");
            return Err(Error::NotHeld { target: "glb", what });
        }
        let inverse = inverse.map(f64::from);
        let with_shape = shape.map_or(inverse, |shape| matrix::multiply(&inverse, &shape));
        #[expect(clippy::cast_possible_truncation, reason = "the nearest is what is written")]
        let mut with_shape = with_shape.map(|number| number as f32);
        for (at, number) in [(3, 0.0), (7, 0.0), (11, 0.0), (15, 1.0)] {
            with_shape[at] = number;
        }
        let bound = matrix::invert(&inverse).filter(matrix::is_orthogonal);
        if bound.is_none() {
            let name = name.to_string_lossy();
            outcome.note(format!(
                "the joint {name} has a matrix that is singular or sheared: it stands at the origin"
            ));
        }
        #[expect(clippy::cast_possible_truncation, reason = "the nearest is what is written")]
        let bound = bound.map(|matrix| matrix.map(|number| number as f32));
        let is_identity = bound.is_none_or(|matrix| {
            matrix.iter().enumerate().all(|(at, number)| *number == f32::from(u8::from(at % 5 == 0)))
        });
        let node = Node {
            name: name.to_string_lossy().into_owned(),
            matrix: bound.filter(|_| !is_identity),
            ..Node::default()
        };
        all.joints.push(add_node(glb, node));
        all.inverse.push(with_shape);
    }
    Ok(Some(all).filter(|all| !all.joints.is_empty()))
}
