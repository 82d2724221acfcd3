//! One group of a shape as a Bevy mesh.

use bevy_mesh::{Indices, Mesh, PrimitiveTopology, VertexAttributeValues};
use meshmap::{Attribute, Bounds, MeshView, Semantic, colors_to_linear};
use meshmap_scene::{Pose, VectorKind};

use crate::error::MeshmapError;
use crate::hidden::Hidden;
use crate::settings::{MeshParts, MeshmapSettings};

/// The answers of a scene that hold for all of its vertices.
#[derive(Clone, Copy)]
pub(crate) struct Meaning<'a> {
    pub(crate) are_points: bool,
    /// `true` if corners of triangles are reversed, so that fronts are counter-clockwise.
    pub(crate) turns_triangles: bool,
    /// `true` if V counts from the lower edge of images.
    pub(crate) is_from_below: bool,
    /// The transform of vertices with weights into the bind pose.
    pub(crate) pose: Option<&'a Pose>,
    /// The number of joints that vertices may follow; `None` if they follow none.
    pub(crate) joint_count: Option<u16>,
}

/// A mesh, and the error of each attribute that cannot be decoded.
pub(crate) struct Converted {
    pub(crate) mesh: Mesh,
    /// The box around the positions.
    pub(crate) bounds: Option<Bounds>,
    /// `true` if vertices follow the joint that [`Joints::add_rest`](crate::skeleton::Joints::add_rest) adds.
    pub(crate) rests: bool,
    pub(crate) damaged: Vec<MeshmapError>,
}

/// Converts a view whose triangles have one material.
pub(crate) fn convert(
    view: &MeshView,
    meaning: Meaning<'_>,
    settings: &MeshmapSettings,
    hidden: &mut Hidden,
) -> Result<Converted, MeshmapError> {
    let MeshParts {
        normals,
        tangents,
        texcoords,
        colors,
        skin,
    } = settings.parts;
    let kind = if meaning.are_points {
        PrimitiveTopology::PointList
    } else {
        PrimitiveTopology::TriangleList
    };
    let mut mesh = Mesh::new(kind, settings.usages);
    let mut damaged = Vec::new();
    // Without positions there is nothing to draw, so that their error is the error of the mesh.
    let positions = view.attribute(&Semantic::Position)?;
    let mut positions = positions
        .map(|positions| positions.to_f32::<3>())
        .unwrap_or_default();
    pose(view, meaning, VectorKind::Point, &mut positions)?;
    let bounds = Bounds::around(positions.iter().copied());
    mesh.insert_attribute(Mesh::ATTRIBUTE_POSITION, positions);
    if !meaning.are_points {
        mesh.insert_indices(indices(view, meaning.turns_triangles)?);
    }

    let mut part = |wanted: bool, semantic: Semantic| -> Option<Attribute> {
        if !wanted {
            return None;
        }
        view.attribute(&semantic).unwrap_or_else(|error| {
            damaged.push(error.into());
            None
        })
    };
    if let Some(values) = part(normals, Semantic::Normal) {
        let mut values = values.to_f32::<3>();
        pose(view, meaning, VectorKind::Normal, &mut values)?;
        mesh.insert_attribute(Mesh::ATTRIBUTE_NORMAL, values);
    } else if normals && !meaning.are_points {
        mesh.compute_smooth_normals();
    }
    if let Some(values) = part(tangents, Semantic::Tangent) {
        let mut values = tangents_of(&values);
        pose(view, meaning, VectorKind::Direction, &mut values)?;
        mesh.insert_attribute(Mesh::ATTRIBUTE_TANGENT, values);
    }
    for (set, attribute) in [Mesh::ATTRIBUTE_UV_0, Mesh::ATTRIBUTE_UV_1]
        .into_iter()
        .enumerate()
    {
        if let Some(values) = part(texcoords, Semantic::TexCoord(set as u32)) {
            let mut values = values.to_f32::<2>();
            if meaning.is_from_below {
                turn_upside_down(&mut values);
            }
            mesh.insert_attribute(attribute, values);
        }
    }
    if let Some(values) = part(colors, Semantic::Color(0)) {
        let mut values = values.to_f32::<4>();
        if colors_to_linear(&mut values) {
            mesh.insert_attribute(Mesh::ATTRIBUTE_COLOR, values);
        } else {
            hidden.data_colors();
        }
    }
    let mut rests = false;
    if let Some(joint_count) = meaning.joint_count.filter(|_| skin) {
        match view.influences(joint_count) {
            Ok(Some(influences)) => {
                rests = influences.resting > 0;
                hidden.weights(&influences);
                let joints = VertexAttributeValues::Uint16x4(influences.joints);
                mesh.insert_attribute(Mesh::ATTRIBUTE_JOINT_INDEX, joints);
                mesh.insert_attribute(Mesh::ATTRIBUTE_JOINT_WEIGHT, influences.weights);
            }
            Ok(None) => {}
            Err(error) => damaged.push(error.into()),
        }
    }
    Ok(Converted {
        mesh,
        bounds,
        rests,
        damaged,
    })
}

/// Moves the values of an attribute into the bind pose.
fn pose<const N: usize>(
    view: &MeshView,
    meaning: Meaning<'_>,
    kind: VectorKind,
    values: &mut [[f32; N]],
) -> Result<(), MeshmapError> {
    if let Some(pose) = meaning.pose {
        pose.apply_to(view, kind, values)?;
    }
    Ok(())
}

/// Lets V count from the upper edge of images, as in Bevy, where it counts from the lower one.
pub(crate) fn turn_upside_down(texcoords: &mut [[f32; 2]]) {
    for [_, v] in texcoords {
        *v = 1.0 - *v;
    }
}

fn indices(view: &MeshView, turns_triangles: bool) -> Result<Indices, MeshmapError> {
    let count = view.vertex_count();
    let indices = view.indices().to_vec();
    // Bevy's functions index vertices without a check.
    if let Some(last) = indices.iter().max()
        && *last as usize >= count
    {
        return Err(MeshmapError::Damaged(format!(
            "{}: expected vertex indices less than {count}, found {last}; run `meshmap verify` on the file",
            view.address()
        )));
    }
    Ok(indices_of(indices, count, turns_triangles))
}

/// Indices of a number of vertices, in 16 bits where these suffice. `turns_triangles`: corners are reversed.
pub(crate) fn indices_of(mut indices: Vec<u32>, vertices: usize, turns_triangles: bool) -> Indices {
    if turns_triangles {
        let (triangles, _) = indices.as_chunks_mut();
        for [_, b, c] in triangles {
            std::mem::swap(b, c);
        }
    }
    match u16::try_from(vertices) {
        Ok(_) => Indices::U16(indices.into_iter().map(|index| index as u16).collect()),
        Err(_) => Indices::U32(indices),
    }
}

/// Tangents of 4 components. The sign of the bitangent is 1 if the file does not store it.
fn tangents_of(values: &Attribute) -> Vec<[f32; 4]> {
    let sign = |w: f32| if w == 0.0 { 1.0 } else { w };
    values
        .iter_f32::<4>()
        .map(|[x, y, z, w]| [x, y, z, sign(w)])
        .collect()
}
