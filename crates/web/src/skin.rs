//! The skin of a Second Life mesh.

use meshmap::{Array, slmesh};

use crate::json::{Object, list, text};
use crate::reply::{Job, Reply};

/// The skin: the arrays are the inverse bind matrices and the alternative ones, sixteen f32 each, as stored.
pub(crate) fn read(file: &slmesh::Asset) -> Job<Reply> {
    let Some(skin) = file.skin()? else {
        return Ok(Ok(Reply::from(Object::new().with("hasSkin", &false).end())));
    };
    let names: Vec<_> = skin.joint_names.iter().flatten().map(|name| name.to_string_lossy()).collect();
    let parent = |parent: Option<usize>| parent.map_or("null".to_owned(), |parent| parent.to_string());
    let parents = slmesh::joint_parents(&names).into_iter().map(parent);
    let object = Object::new()
        .with("hasSkin", &true)
        .with("jointNames", &list(names.iter().map(|name| text(name))))
        .with("jointParents", &list(parents));
    let object = match &skin.bind_shape_matrix {
        Some(matrix) => object.floats("bindShapeMatrix", matrix),
        None => object.with("bindShapeMatrix", &"null"),
    };
    let json = object
        .with("lockScaleIfJointPosition", &skin.lock_scale_if_joint_position)
        .float("pelvisOffset", skin.pelvis_offset.map(f64::from))
        .with("hasInverse", &skin.inverse_bind_matrices.is_some())
        .with("hasAlternative", &skin.alt_inverse_bind_matrices.is_some())
        .end();
    let matrices = [&skin.inverse_bind_matrices, &skin.alt_inverse_bind_matrices];
    let bytes = |matrices: &Option<Array<[f32; 16]>>| {
        matrices.as_ref().map(|matrices| matrices.as_bytes().to_vec()).unwrap_or_default()
    };
    Ok(Ok(Reply { json, arrays: matrices.into_iter().map(bytes).collect() }))
}
