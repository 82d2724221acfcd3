//! Conversions of transformations to and from the types of the crate `mint`, which glam, nalgebra and others convert.

use mint::{ColumnMatrix4, Quaternion, RowMatrix3x4, Vector3};

use super::pose::{Trs, to_columns};

/// The matrix of the transformation, as `glam::Mat4::from` takes it.
impl From<Trs> for ColumnMatrix4<f32> {
    fn from(trs: Trs) -> Self {
        to_columns(&trs.to_matrix()).into()
    }
}

/// The matrix of the transformation, without its last row.
impl From<Trs> for RowMatrix3x4<f32> {
    fn from(trs: Trs) -> Self {
        trs.to_matrix().into()
    }
}

/// Translation, rotation and scale, in this order.
impl From<Trs> for (Vector3<f32>, Quaternion<f32>, Vector3<f32>) {
    fn from(trs: Trs) -> Self {
        (trs.translate.into(), trs.rotate.into(), trs.scale.into())
    }
}

/// From translation, rotation and scale, in this order.
impl From<(Vector3<f32>, Quaternion<f32>, Vector3<f32>)> for Trs {
    fn from((translate, rotate, scale): (Vector3<f32>, Quaternion<f32>, Vector3<f32>)) -> Self {
        Self::new(translate.into(), rotate.into(), scale.into())
    }
}
