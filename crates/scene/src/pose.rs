//! Transforms of vertices: the joints of an IQM model in a frame, and the bind shape of a Second Life mesh.

use meshmap::iqm::{Matrix, Model, Trs};
use meshmap::slmesh::BindShape;
use meshmap::{Influences, MeshView, Semantic};

use crate::error::{Error, Result};
use crate::options::PosedFrame;
use crate::vector::{cross, dot, unit_of_f64};

/// The way in which a pose transforms an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VectorKind {
    /// A place.
    Point,
    /// Upright on its surface, and of length 1 afterwards.
    Normal,
    /// Along its surface, and of length 1 afterwards.
    Direction,
}

impl VectorKind {
    /// The kind of an attribute; `None` for one that does not move.
    #[must_use]
    pub fn of(semantic: &Semantic) -> Option<Self> {
        match semantic {
            Semantic::Position => Some(Self::Point),
            Semantic::Normal => Some(Self::Normal),
            Semantic::Tangent => Some(Self::Direction),
            _ => None,
        }
    }
}

/// The transform of the vertices that follow joints, from the positions that are stored.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Pose {
    /// From the bind pose into a frame: a matrix for each joint.
    Frame(Vec<Matrix>),
    /// Into the bind pose: one matrix for all vertices of shapes with weights; other shapes stay. Joints move a vertex from there. Without
    /// it, an avatar is as small as the domain of its positions.
    BindShape(BindShape),
}

impl Pose {
    /// The pose of a frame.
    pub(crate) fn of_frame(file: &Model, frame: &PosedFrame) -> Result<Self> {
        let model = frame.model.as_ref().unwrap_or(file);
        let frames = model.frames();
        let Some(skeleton) = model.skeleton() else {
            return Err(Error::NoJoints);
        };
        let joints = model.joints().len();
        let poses = frames.pose_count();
        if poses != joints {
            return Err(Error::PoseCount { poses, joints });
        }
        let mut pose = vec![Trs::default(); joints];
        frames.read_frame_into(frame.index, &mut pose)?;
        Ok(Self::Frame(skeleton.skinning_matrices(&pose)?))
    }

    /// Returns `true` if vertices stand where the joints of a frame have moved them.
    #[must_use]
    pub fn is_frame(&self) -> bool {
        matches!(self, Self::Frame(_))
    }

    /// The joints that the vertices of a mesh follow; `None` if they follow none. They are empty, and not read, if the pose does not depend
    /// on them.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`MeshView::influences`].
    pub fn influences(&self, view: &MeshView) -> Result<Option<Influences>> {
        let Self::Frame(matrices) = self else {
            let follow = view.has(&Semantic::Joints(0)) && view.has(&Semantic::Weights(0));
            return Ok(follow.then(Influences::default));
        };
        Ok(view.influences(u16::try_from(matrices.len()).unwrap_or(u16::MAX))?)
    }

    /// Moves the values of an attribute of a mesh, if its vertices follow joints.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`influences`](Self::influences).
    pub fn apply_to<const N: usize>(
        &self,
        view: &MeshView,
        kind: VectorKind,
        values: &mut [[f32; N]],
    ) -> Result<()> {
        if let Some(influences) = self.influences(view)? {
            self.apply(kind, &influences, |place| place, values);
        }
        Ok(())
    }

    /// Moves the values of some vertices, whose indices `index_of` returns.
    pub fn apply<const N: usize>(
        &self,
        kind: VectorKind,
        influences: &Influences,
        index_of: impl Fn(usize) -> usize,
        values: &mut [[f32; N]],
    ) {
        match self {
            Self::Frame(matrices) => {
                for (place, value) in values.iter_mut().enumerate() {
                    if let Some(matrix) = blend(matrices, influences, index_of(place)) {
                        apply_matrix(&of_kind(kind, &matrix), kind, value);
                    }
                }
            }
            Self::BindShape(shape) => {
                let matrix = of_kind(kind, shape.rows());
                for value in values {
                    apply_matrix(&matrix, kind, value);
                }
            }
        }
    }
}

/// The matrix of a kind of attribute, where this one moves points. Normals are turned by the cofactors, so that scales of three sizes do not
/// tilt them.
fn of_kind(kind: VectorKind, matrix: &[[f64; 4]; 3]) -> [[f64; 4]; 3] {
    if kind != VectorKind::Normal {
        return *matrix;
    }
    let [a, b, c] = matrix.map(|[x, y, z, _]| [x, y, z]);
    [cross(b, c), cross(c, a), cross(a, b)].map(|[x, y, z]| [x, y, z, 0.0])
}

/// Moves a value of an attribute by the matrix of its kind.
fn apply_matrix<const N: usize>(matrix: &[[f64; 4]; 3], kind: VectorKind, value: &mut [f32; N]) {
    let Some(value) = value.first_chunk_mut() else {
        return;
    };
    let from: [f64; 3] = value.map(f64::from);
    let along = matrix.map(|[x, y, z, _]| dot([x, y, z], from));
    *value = match kind {
        VectorKind::Point => {
            let [[.., x], [.., y], [.., z]] = *matrix;
            let [along_x, along_y, along_z] = along;
            #[expect(clippy::cast_possible_truncation, reason = "the nearest will do")]
            [along_x + x, along_y + y, along_z + z].map(|number| number as f32)
        }
        VectorKind::Normal | VectorKind::Direction => unit_of_f64(along).unwrap_or([0.0; 3]),
    };
}

/// The mean of the matrices of a vertex by its weights; `None` for a vertex that rests.
fn blend(matrices: &[Matrix], influences: &Influences, vertex: usize) -> Option<[[f64; 4]; 3]> {
    let joints = influences.joints.get(vertex)?;
    let weights = influences.weights.get(vertex)?;
    let mut blended = [[0.0; 4]; 3];
    let mut sum = 0.0;
    for (joint, weight) in joints
        .iter()
        .zip(weights)
        .filter(|(_, weight)| **weight > 0.0)
    {
        let matrix = matrices.get(usize::from(*joint))?;
        let weight = f64::from(*weight);
        sum += weight;
        for (out, number) in blended.iter_mut().flatten().zip(matrix.iter().flatten()) {
            *out += f64::from(*number) * weight;
        }
    }
    Some(blended.map(|row| row.map(|number| number / sum)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normals_stay_upright_under_scales_of_three_sizes() {
        // A plane through (1, 0, 0) and (0, 1, 0) is x + y = 1; doubled along x it is x / 2 + y = 1.
        let matrix = [
            [2.0, 0.0, 0.0, 5.0],
            [0.0, 1.0, 0.0, 0.0],
            [0.0, 0.0, 1.0, 0.0],
        ];
        let normals = of_kind(VectorKind::Normal, &matrix);
        let turned = normals.map(|[x, y, z, _]| dot([x, y, z], [1.0, 1.0, 0.0]));
        assert_eq!(turned, [1.0, 2.0, 0.0]);
    }
}
