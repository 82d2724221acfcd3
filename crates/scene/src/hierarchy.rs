//! Frames of IQM files whose poses have other parents than the joints.

use meshmap::iqm::{Model, Trs};

use crate::error::{Error, Result};
use crate::matrix::{invert, is_orthogonal, multiply, quaternion};

type Parents = Vec<Option<u32>>;

/// The parents of joints, and of poses, to which frames are relative.
pub(crate) struct Hierarchy {
    joints: Parents,
    poses: Parents,
}

impl Hierarchy {
    pub(crate) fn of(model: &Model) -> Self {
        Self {
            joints: model.joints().map(|joint| joint.parent).collect(),
            poses: model.poses().map(|pose| pose.parent).collect(),
        }
    }

    /// `true` if frames are not relative to the joints as they are stored.
    pub(crate) fn differs(&self) -> bool {
        self.joints != self.poses && !self.joints.is_empty()
    }

    /// The place of each joint in the model's space.
    pub(crate) fn places(&self, frame: &[Trs]) -> Vec<[f64; 16]> {
        let mut places: Vec<[f64; 16]> = Vec::with_capacity(frame.len());
        for (pose, parent) in frame.iter().zip(&self.poses) {
            let parent = parent.map(|parent| parent as usize);
            places.push(in_model_space(&matrix(pose), parent, &places));
        }
        places
    }

    /// Makes the poses of one frame relative to the parents of the joints.
    ///
    /// # Errors
    ///
    /// Fails if the result is sheared or singular, which a translation, a rotation and a scale cannot express.
    pub(crate) fn rebase(&self, frame: &mut [Trs]) -> Result<()> {
        let places = self.places(frame);
        for (joint, pose) in frame.iter_mut().enumerate() {
            let (Some(place), Some(parent)) = (places.get(joint), self.joints.get(joint)) else {
                continue;
            };
            let parent = parent.and_then(|parent| places.get(parent as usize));
            let local = match parent {
                Some(parent) => invert(parent).map(|inverse| multiply(&inverse, place)),
                None => Some(*place),
            };
            let local = local.as_ref().and_then(trs);
            *pose = local.ok_or(Error::Sheared { joint })?;
        }
        Ok(())
    }
}

/// The place of a joint in the model's space: its matrix is relative to its parent, which is one of the joints `before` it.
pub(crate) fn in_model_space(
    relative: &[f64; 16],
    parent: Option<usize>,
    before: &[[f64; 16]],
) -> [f64; 16] {
    match parent.and_then(|parent| before.get(parent)) {
        Some(parent) => multiply(parent, relative),
        None => *relative,
    }
}

/// The matrix of a transformation whose rotation has length 1, column by column.
pub(crate) fn matrix(pose: &Trs) -> [f64; 16] {
    let [x, y, z, w] = pose.rotate.map(f64::from);
    let ([sx, sy, sz], [tx, ty, tz]) = (pose.scale.map(f64::from), pose.translate.map(f64::from));
    [
        (1.0 - 2.0 * (y * y + z * z)) * sx,
        2.0 * (x * y + z * w) * sx,
        2.0 * (x * z - y * w) * sx,
        0.0,
        2.0 * (x * y - z * w) * sy,
        (1.0 - 2.0 * (x * x + z * z)) * sy,
        2.0 * (y * z + x * w) * sy,
        0.0,
        2.0 * (x * z + y * w) * sz,
        2.0 * (y * z - x * w) * sz,
        (1.0 - 2.0 * (x * x + y * y)) * sz,
        0.0,
        tx,
        ty,
        tz,
        1.0,
    ]
}

/// The translation, rotation and scale of a matrix; `None` if it is sheared or singular.
fn trs(m: &[f64; 16]) -> Option<Trs> {
    if !is_orthogonal(m) {
        return None;
    }
    let column = |c: usize| [m[c * 4], m[c * 4 + 1], m[c * 4 + 2]];
    let mut axes = [column(0), column(1), column(2)];
    let mut scale = axes.map(|axis| {
        axis.iter()
            .map(|number| number * number)
            .sum::<f64>()
            .sqrt()
    });
    let [[a, b, c], [d, e, f], [g, h, i]] = axes;
    if a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g) < 0.0 {
        scale[0] = -scale[0];
    }
    for (axis, scale) in axes.iter_mut().zip(scale) {
        if scale == 0.0 || !scale.is_finite() {
            return None;
        }
        axis.iter_mut().for_each(|number| *number /= scale);
    }
    #[expect(clippy::cast_possible_truncation, reason = "the nearest is written")]
    let [translate, scale] = [column(3), scale].map(|numbers| numbers.map(|number| number as f32));
    #[expect(clippy::cast_possible_truncation, reason = "the nearest is written")]
    let rotate = quaternion(axes).map(|number| number as f32);
    Some(Trs::new(translate, rotate, scale).normalized())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transformations_survive_a_matrix() {
        for rotate in [
            [0.5, 0.5, 0.5, 0.5],
            [0.0, 0.6, 0.0, 0.8],
            [1.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.8, -0.6],
        ] {
            let before = Trs::new([1.0, -2.0, 3.0], rotate, [2.0, 0.5, 4.0]);
            let after = trs(&matrix(&before)).unwrap();
            let pairs = before.to_array().into_iter().zip(after.to_array());
            assert!(
                pairs.clone().all(|(a, b)| (a - b).abs() < 1e-5),
                "{before:?}: {after:?}"
            );
        }
        assert_eq!(trs(&[0.0; 16]), None);
    }

    #[test]
    fn frames_become_relative_to_the_parents_of_joints() {
        let hierarchy = Hierarchy {
            joints: vec![None, Some(0), Some(1)],
            poses: vec![None, Some(0), Some(0)],
        };
        let turned = Trs::new([1.0, 0.0, 0.0], [0.0, 0.0, 0.6, 0.8], [2.0; 3]);
        let other = Trs::new([0.0, 3.0, 5.0], [0.6, 0.0, 0.0, 0.8], [0.5; 3]);
        let mut frame = [turned, turned, other];
        hierarchy.rebase(&mut frame).unwrap();
        // The third stays where it was, though the second is its parent now.
        let place = |parent: &Trs, own: &Trs| multiply(&matrix(parent), &matrix(own));
        let before = place(&turned, &other);
        let after = multiply(&place(&turned, &turned), &matrix(&frame[2]));
        assert!(
            before.iter().zip(after).all(|(a, b)| (a - b).abs() < 1e-5),
            "{before:?}: {after:?}"
        );
    }
}
