//! One group of a mesh view as a Bevy mesh.

use bevy_mesh::{Indices, Mesh, PrimitiveTopology, VertexAttributeValues};
use meshmap::{
    Attribute, Conventions, Format, Influences, MeshView, Semantic, VOrigin, colors_to_linear,
};

use crate::error::MeshmapError;
use crate::hidden::Hidden;
use crate::settings::{MeshParts, MeshmapSettings};
use crate::skeleton::Joints;

/// The winding and texture origin of Bevy. Axes stay: see [`Axes`](crate::Axes).
pub(crate) fn conventions(format: Format) -> (Conventions, Conventions) {
    let from = format.conventions();
    let mut to = Conventions::default();
    // A convention that the format does not define stays as it is.
    if from.front_face.is_some() {
        to.front_face = Conventions::Y_UP_CCW.front_face;
    }
    if from.v_origin.is_some() {
        to.v_origin = Some(VOrigin::Top);
    }
    (from, to)
}

/// A mesh, and the error of each attribute that cannot be decoded.
pub(crate) struct Converted {
    pub(crate) mesh: Mesh,
    /// `true` if vertices follow the joint that [`Joints::add_rest`] adds.
    pub(crate) rests: bool,
    pub(crate) damaged: Vec<MeshmapError>,
}

/// Converts a view whose triangles have one material, or that is a cloud of points, with the joints of the file.
pub(crate) fn convert(
    view: &MeshView,
    is_cloud: bool,
    settings: &MeshmapSettings,
    skeleton: &Joints,
    hidden: &mut Hidden,
) -> Result<Converted, MeshmapError> {
    let MeshParts {
        normals,
        tangents,
        texcoords,
        colors,
        skin,
    } = settings.parts;
    let kind = if is_cloud {
        PrimitiveTopology::PointList
    } else {
        PrimitiveTopology::TriangleList
    };
    let mut mesh = Mesh::new(kind, settings.usages);
    let mut damaged = Vec::new();
    // Without positions there is nothing to draw, so that their error is the error of the mesh.
    let positions = view.attribute(&Semantic::Position)?;
    let positions = positions
        .map(|positions| positions.to_f32::<3>())
        .unwrap_or_default();
    mesh.insert_attribute(Mesh::ATTRIBUTE_POSITION, positions);
    if !is_cloud {
        mesh.insert_indices(indices(view)?);
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
        mesh.insert_attribute(Mesh::ATTRIBUTE_NORMAL, values.to_f32::<3>());
    } else if normals && !is_cloud {
        mesh.compute_smooth_normals();
    }
    if let Some(values) = part(tangents, Semantic::Tangent) {
        mesh.insert_attribute(Mesh::ATTRIBUTE_TANGENT, tangents_of(&values));
    }
    for (set, attribute) in [Mesh::ATTRIBUTE_UV_0, Mesh::ATTRIBUTE_UV_1]
        .into_iter()
        .enumerate()
    {
        if let Some(values) = part(texcoords, Semantic::TexCoord(set as u32)) {
            mesh.insert_attribute(attribute, values.to_f32::<2>());
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
    if skin && skeleton.are_followed() {
        match influences(view, skeleton) {
            Ok(Some(influences)) => {
                rests = influences.resting > 0;
                hidden.weights(&influences);
                let joints = VertexAttributeValues::Uint16x4(influences.joints);
                mesh.insert_attribute(Mesh::ATTRIBUTE_JOINT_INDEX, joints);
                mesh.insert_attribute(Mesh::ATTRIBUTE_JOINT_WEIGHT, influences.weights);
            }
            Ok(None) => {}
            Err(error) => damaged.push(error),
        }
    }
    Ok(Converted {
        mesh,
        rests,
        damaged,
    })
}

fn indices(view: &MeshView) -> Result<Indices, MeshmapError> {
    let count = view.vertex_count();
    // Bevy's functions index vertices without a check.
    if let Some(beyond) = view.indices().iter().find(|index| *index as usize >= count) {
        return Err(MeshmapError::Damaged(format!(
            "{}: expected vertex indices less than {count}, found {beyond}; run `meshmap verify` on the file",
            view.address()
        )));
    }
    Ok(indices_of(view.indices().iter(), count))
}

/// Indices of a number of vertices, in 16 bits where these suffice.
pub(crate) fn indices_of(indices: impl Iterator<Item = u32>, vertices: usize) -> Indices {
    match u16::try_from(vertices) {
        Ok(_) => Indices::U16(indices.map(|index| index as u16).collect()),
        Err(_) => Indices::U32(indices.collect()),
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

/// The joints of vertices, as each program draws them.
fn influences(view: &MeshView, skeleton: &Joints) -> Result<Option<Influences>, MeshmapError> {
    let joints = u16::try_from(skeleton.len()).map_err(|_| {
        MeshmapError::Unusable(format!(
            "joints: expected at most 65,535, found {}",
            skeleton.len()
        ))
    })?;
    Ok(view.influences(joints)?)
}
