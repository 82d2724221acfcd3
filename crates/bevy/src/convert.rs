//! One group of a mesh view as a Bevy mesh.

use bevy_mesh::{Indices, Mesh, PrimitiveTopology, VertexAttributeValues};
use meshmap::{Attribute, Conventions, Format, MeshView, Semantic, VOrigin};

use crate::error::MeshmapError;
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

/// Converts a view whose triangles have one material, or that has only points, with the joints of the file.
pub(crate) fn convert(
    view: &MeshView,
    settings: &MeshmapSettings,
    skeleton: &Joints,
) -> Result<Converted, MeshmapError> {
    let MeshParts { normals, tangents, texcoords, colors, skin } = settings.parts;
    let is_cloud = view.triangle_count() == 0;
    let kind = if is_cloud { PrimitiveTopology::PointList } else { PrimitiveTopology::TriangleList };
    let mut mesh = Mesh::new(kind, settings.usages);
    let mut damaged = Vec::new();
    // Without positions there is nothing to draw, so that their error is the error of the mesh.
    let positions = view.attribute(&Semantic::Position)?;
    let positions = positions.map(|positions| positions.to_f32::<3>()).unwrap_or_default();
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
    for (set, attribute) in [Mesh::ATTRIBUTE_UV_0, Mesh::ATTRIBUTE_UV_1].into_iter().enumerate() {
        if let Some(values) = part(texcoords, Semantic::TexCoord(set as u32)) {
            mesh.insert_attribute(attribute, values.to_f32::<2>());
        }
    }
    if let Some(values) = part(colors, Semantic::Color(0)) {
        mesh.insert_attribute(Mesh::ATTRIBUTE_COLOR, values.to_f32::<4>());
    }
    let mut rests = false;
    let skin = skin && skeleton.len() > 0;
    if let Some((joints, weights)) = part(skin, Semantic::Joints(0)).zip(part(skin, Semantic::Weights(0))) {
        match skin_of(&joints, &weights, skeleton) {
            Ok(skin) => {
                rests = skin.rests;
                let joints = VertexAttributeValues::Uint16x4(skin.joints);
                mesh.insert_attribute(Mesh::ATTRIBUTE_JOINT_INDEX, joints);
                mesh.insert_attribute(Mesh::ATTRIBUTE_JOINT_WEIGHT, skin.weights);
            }
            Err(error) => damaged.push(error),
        }
    }
    Ok(Converted { mesh, rests, damaged })
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
    values.iter_f32::<4>().map(|[x, y, z, w]| [x, y, z, sign(w)]).collect()
}

/// The joint indices and weights of a mesh.
struct Skin {
    joints: Vec<[u16; 4]>,
    weights: Vec<[f32; 4]>,
    /// `true` if there are vertices without weights.
    rests: bool,
}

/// Joint indices and weights. Indices without a weight become 0, because files have anything there. Vertices without weights follow
/// the joint after the last one, because a sum of no matrices would draw them all at one point.
fn skin_of(joints: &Attribute, weights: &Attribute, skeleton: &Joints) -> Result<Skin, MeshmapError> {
    let joint_count = skeleton.len();
    let mut weights = weights.to_f32::<4>();
    let mut out = Vec::with_capacity(weights.len());
    let mut rests = false;
    for (joints, weights) in joints.to_uint::<4>()?.into_iter().zip(&mut weights) {
        let mut vertex = [0; 4];
        if !weights.iter().any(|weight| *weight > 0.0) {
            vertex[0] = u16::try_from(joint_count).map_err(|_| {
                MeshmapError::Unusable(format!(
                    "vertices without weights: expected less than 65536 joints, found {joint_count}"
                ))
            })?;
            *weights = [1.0, 0.0, 0.0, 0.0];
            rests = true;
            out.push(vertex);
            continue;
        }
        for ((out, joint), weight) in vertex.iter_mut().zip(joints).zip(weights.iter()) {
            if *weight == 0.0 {
                continue;
            }
            *out = u16::try_from(joint).ok().filter(|joint| usize::from(*joint) < joint_count).ok_or_else(
                || {
                    MeshmapError::Unusable(format!(
                        "joint indices: expected less than {joint_count}, found {joint}"
                    ))
                },
            )?;
        }
        if skeleton.normalizes {
            let sum: f32 = weights.iter().sum();
            *weights = weights.map(|weight| weight / sum);
        }
        out.push(vertex);
    }
    Ok(Skin { joints: out, weights, rests })
}
