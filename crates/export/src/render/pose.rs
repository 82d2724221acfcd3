//! The joints of an IQM model in a frame, and what they do to vertices.

use meshmap::iqm::{Matrix, Model, Trs};

use crate::error::{Error, Result};

/// What brings each vertex from the bind pose into a frame, by joint.
pub(super) struct Pose {
    matrices: Vec<Matrix>,
}

impl Pose {
    pub(super) fn new(model: &Model, frame: u32) -> Result<Self> {
        let refused = |what: String| Err(Error::NotHeld { target: "png", what });
        let frames = model.frames();
        let Some(skeleton) = model.skeleton() else {
            return refused("the model has no joints that frames move".to_owned());
        };
        if frames.pose_count() != model.joint_count() {
            let (poses, joints) = (frames.pose_count(), model.joint_count());
            return refused(format!("the frames have {poses} poses, where the skeleton has {joints} joints"));
        }
        let mut pose = vec![Trs::default(); model.joint_count()];
        frames.frame_into(frame, &mut pose)?;
        pose.iter_mut().for_each(|joint| *joint = joint.normalized());
        Ok(Self { matrices: skeleton.skinning_matrices(&pose)? })
    }

    /// Moves vertices, and turns their normals, by their joints and weights.
    ///
    /// Those without weights stay where they are.
    pub(super) fn apply(
        &self,
        (joints, weights): (Vec<[f32; 4]>, Vec<[f32; 4]>),
        positions: &mut [[f32; 3]],
        mut normals: Option<&mut [[f32; 3]]>,
    ) {
        for (vertex, (position, (joints, weights))) in
            positions.iter_mut().zip(joints.into_iter().zip(weights)).enumerate()
        {
            let Some(matrix) = self.blend(joints, weights) else { continue };
            let [x, y, z] = position.map(f64::from);
            #[expect(clippy::cast_possible_truncation, reason = "the nearest will do")]
            {
                *position = matrix.map(|row| (row[0] * x + row[1] * y + row[2] * z + row[3]) as f32);
            }
            let normal = normals.as_mut().and_then(|normals| normals.get_mut(vertex));
            if let Some(normal) = normal {
                let turned = turned(&matrix, normal.map(f64::from));
                *normal = super::vector::unit_of_f64(turned).unwrap_or([0.0; 3]);
            }
        }
    }

    /// The mean of matrices by their weights; `None` without any.
    fn blend(&self, joints: [f32; 4], weights: [f32; 4]) -> Option<[[f64; 4]; 3]> {
        let (mut blended, mut sum) = ([[0.0; 4]; 3], 0.0);
        for (joint, weight) in joints.into_iter().zip(weights) {
            // Saturates, and joints that are not there move nothing.
            let Some(matrix) =
                self.matrices.get(joint as usize).filter(|_| weight > 0.0 && weight.is_finite())
            else {
                continue;
            };
            let weight = f64::from(weight);
            sum += weight;
            for (out, number) in blended.iter_mut().flatten().zip(matrix.iter().flatten()) {
                *out += f64::from(*number) * weight;
            }
        }
        (sum > 0.0).then(|| blended.map(|row| row.map(|number| number / sum)))
    }
}

/// A normal turned by what moves the points: by the cofactors, so that scales of three sizes do not tilt it.
fn turned(matrix: &[[f64; 4]; 3], [x, y, z]: [f64; 3]) -> [f64; 3] {
    let [a, b, c] = matrix.map(|[x, y, z, _]| [x, y, z]);
    let cross = |u: [f64; 3], v: [f64; 3]| {
        [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
    };
    [cross(b, c), cross(c, a), cross(a, b)].map(|row| row[0] * x + row[1] * y + row[2] * z)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normals_stay_upright_under_scales_of_three_sizes() {
        // A plane through (1, 0, 0) and (0, 1, 0) is x + y = 1; doubled along x it is x / 2 + y = 1.
        let matrix = [[2.0, 0.0, 0.0, 5.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];
        assert_eq!(turned(&matrix, [1.0, 1.0, 0.0]), [1.0, 2.0, 0.0]);
    }
}
