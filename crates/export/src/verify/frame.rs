//! The effect of one frame of an animation on a mesh, computed in another way than by the writer.

use std::rc::Rc;

use meshmap::iqm::{Matrix, Model, Trs};
use meshmap::{MeshFile, MeshView, Semantic};

use super::motion::{has_other_parents, pose_parents};
use super::place::{ORIGIN, chained, of_columns, of_trs, within};
use super::shape::Shape;
use crate::error::Result;

/// Matrices of the joints, from the bind pose into the frame, or one matrix for all vertices that follow joints.
pub(super) enum Frame {
    Joints(Vec<Matrix>),
    BindShape(Matrix),
}

impl Frame {
    pub(super) fn new(model: &Model, frame: u32) -> Result<Option<Self>> {
        let Some(skeleton) = model.skeleton() else { return Ok(None) };
        let mut pose = vec![Trs::default(); model.joints().len()];
        model.frames().read_frame_into(frame, &mut pose)?;
        let pose: Vec<Trs> = pose.into_iter().map(Trs::normalized).collect();
        if !has_other_parents(model) {
            return Ok(Some(Self::Joints(skeleton.skinning_matrices(&pose)?)));
        }
        // Poses are relative to their own parents, not to the joints' parents.
        let places = chained(pose.iter().map(of_trs).zip(pose_parents(model)));
        let inverse = skeleton.inverse_bind_matrices().iter().map(|rows| rows.map(|row| row.map(f64::from)));
        let moves = places.iter().zip(inverse).map(|(place, inverse)| within(place, &inverse));
        Ok(Some(Self::Joints(moves.map(|rows| rows.map(|row| row.map(|number| number as f32))).collect())))
    }

    /// The bind shape of a Second Life mesh, if it has one that moves vertices.
    pub(super) fn bind_shape(file: &MeshFile) -> Option<Self> {
        let columns = file.as_slmesh()?.skin().ok()??.bind_shape_matrix?;
        let rows = of_columns(&columns.map(f64::from)).map(|row| row.map(|number| number as f32));
        let moves = of_columns(&super::place::columns(&ORIGIN)) != rows.map(|row| row.map(f64::from));
        (moves && rows.as_flattened().iter().all(|number| number.is_finite()))
            .then_some(Self::BindShape(rows))
    }

    /// Moves a shape: each point by each of its joints, then to the mean of these places.
    pub(super) fn move_shape(&self, view: &MeshView, shape: &mut Shape) -> Result<()> {
        /// Tolerance relative to the largest coordinate; normals change with the rounding of matrices that may nearly cancel each other.
        const POSITIONS: f64 = 1e-5;
        const NORMALS: f64 = 1e-3;
        let joints = view.attribute(&Semantic::Joints(0))?.map(|joints| joints.to_f32::<4>());
        let weights = view.attribute(&Semantic::Weights(0))?.map(|weights| weights.to_f32::<4>());
        let (Some(joints), Some(weights)) = (joints, weights) else { return Ok(()) };
        let influences: Vec<Vec<(&Matrix, f64)>> = joints
            .iter()
            .zip(&weights)
            .map(|(joints, weights)| {
                let matrices = match self {
                    Self::Joints(matrices) => matrices,
                    Self::BindShape(matrix) => return vec![(matrix, 1.0)],
                };
                let pairs = joints.iter().zip(weights).filter(|(_, weight)| **weight > 0.0);
                pairs
                    .filter_map(|(j, weight)| Some((matrices.get(*j as usize)?, f64::from(*weight))))
                    .collect()
            })
            .collect();
        let mut largest = 0.0_f64;
        for (position, influences) in Rc::make_mut(&mut shape.positions).iter_mut().zip(&influences) {
            let [x, y, z] = position.map(f64::from);
            let sum: f64 = influences.iter().map(|(_, weight)| weight).sum();
            if sum > 0.0 {
                let mut place = [0.0; 3];
                for (matrix, weight) in influences {
                    for (number, row) in place.iter_mut().zip(matrix.map(|row| row.map(f64::from))) {
                        *number += (row[0] * x + row[1] * y + row[2] * z + row[3]) * weight / sum;
                    }
                }
                *position = place.map(|number| number as f32);
            }
            largest = position.iter().fold(largest, |most, number| most.max(f64::from(number.abs())));
        }
        if let Some(normals) = &mut shape.normals {
            for (normal, influences) in Rc::make_mut(&mut normals.values).iter_mut().zip(&influences) {
                if influences.is_empty() {
                    continue;
                }
                // A plane stays one: the normal is what is upright on the images of two directions along it.
                let [x, y, z] = normal.map(f64::from);
                let along = if x.abs() > y.abs() { [-z, 0.0, x] } else { [0.0, z, -y] };
                let across = cross([x, y, z], along);
                let [u, v] = [along, across].map(|direction| image(influences, direction));
                let upright = cross(u, v);
                let length = upright.iter().map(|number| number * number).sum::<f64>().sqrt();
                *normal = upright.map(|number| (number / length) as f32);
            }
        }
        shape.tolerance = Some([largest * POSITIONS, NORMALS]);
        Ok(())
    }
}

/// The image of a direction under the joints.
fn image(influences: &[(&Matrix, f64)], [x, y, z]: [f64; 3]) -> [f64; 3] {
    let mut image = [0.0; 3];
    for (matrix, weight) in influences {
        for (number, row) in image.iter_mut().zip(matrix.map(|row| row.map(f64::from))) {
            *number += (row[0] * x + row[1] * y + row[2] * z) * weight;
        }
    }
    image
}

fn cross(u: [f64; 3], v: [f64; 3]) -> [f64; 3] {
    [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
}
