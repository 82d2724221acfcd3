//! The skin of a Second Life mesh.

use meshmap::{Array, slmesh};

use crate::json::{List, Object, text};
use crate::reply::Reply;

/// The skin: the arrays are the inverse bind matrices and the alternative ones, sixteen f32 each.
pub(crate) fn read(asset: &slmesh::Asset) -> meshmap::Result<Reply> {
    let Some(skin) = asset.skin()? else {
        return Ok(Reply::from(Object::new().with("hasSkin", &false).end()));
    };
    let mut names = List::new();
    for name in skin.joint_names.iter().flatten() {
        names.push(&text(&name.to_string_lossy()));
    }
    let object = Object::new()
        .with("hasSkin", &true)
        .with("jointNames", &names.end());
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
    let arrays = vec![
        bytes_of(&skin.inverse_bind_matrices),
        bytes_of(&skin.alt_inverse_bind_matrices),
    ];
    Ok(Reply { json, arrays })
}

fn bytes_of(matrices: &Option<Array<[f32; 16]>>) -> Vec<u8> {
    match matrices {
        Some(matrices) => matrices.as_bytes().to_vec(),
        None => Vec::new(),
    }
}
