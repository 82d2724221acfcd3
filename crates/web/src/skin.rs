//! The skin of a Second Life mesh.

use meshmap::{Array, slmesh};

use crate::json::{Object, list, text};
use crate::reply::{Job, Reply};

/// The skin: the arrays are the inverse bind matrices and the alternative ones as stored, then the matrices from each joint to its
/// parent in the bind pose and the inverse bind matrices of that pose, sixteen f32 each.
pub(crate) fn read(file: &slmesh::Asset) -> Job<Reply> {
    let Some(skin) = file.skin()? else {
        return Ok(Ok(Reply::from(Object::new().with("hasSkin", &false).end())));
    };
    let names: Vec<_> = skin
        .joint_names
        .iter()
        .flatten()
        .map(|name| name.to_string_lossy())
        .collect();
    let pose = skin.bind_pose();
    let parents = match &pose {
        Some(pose) => pose.joints.iter().map(|joint| joint.parent).collect(),
        None => slmesh::joint_parents(&names),
    };
    let joints = pose.map_or_else(Vec::new, |pose| pose.joints);
    let index = |index: Option<usize>| index.map_or("null".to_owned(), |index| index.to_string());
    let object = Object::new()
        .with("hasSkin", &true)
        .with("jointNames", &list(names.iter().map(|name| text(name))))
        .with("jointParents", &list(parents.into_iter().map(index)));
    let object = match &skin.bind_shape_matrix {
        Some(matrix) => object.floats("bindShapeMatrix", matrix),
        None => object.with("bindShapeMatrix", &"null"),
    };
    let json = object
        .with(
            "lockScaleIfJointPosition",
            &skin.lock_scale_if_joint_position,
        )
        .float("pelvisOffset", skin.pelvis_offset.map(f64::from))
        .with("hasInverse", &skin.inverse_bind_matrices.is_some())
        .with("hasAlternative", &skin.alt_inverse_bind_matrices.is_some())
        .end();
    let matrices = [&skin.inverse_bind_matrices, &skin.alt_inverse_bind_matrices];
    let bytes = |matrices: &Option<Array<[f32; 16]>>| {
        matrices
            .as_ref()
            .map(|matrices| matrices.as_bytes().to_vec())
            .unwrap_or_default()
    };
    let mut arrays: Vec<Vec<u8>> = matrices.into_iter().map(bytes).collect();
    let (mut local, mut inverse) = (Vec::new(), Vec::new());
    for joint in &joints {
        joint
            .local
            .iter()
            .for_each(|number| local.extend_from_slice(&number.to_le_bytes()));
        joint
            .inverse
            .iter()
            .for_each(|number| inverse.extend_from_slice(&number.to_le_bytes()));
    }
    arrays.extend([local, inverse]);
    Ok(Ok(Reply { json, arrays }))
}
