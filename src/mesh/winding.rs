//! The side of triangles that normals are on.

use super::semantic::Semantic;
use super::view::MeshView;
use crate::conventions::Winding;
use crate::num::{as_u64, as_usize};
use crate::report::Result;

/// About the most triangles of a mesh that are looked at.
const MOST: usize = 4096;

impl MeshView {
    /// Returns `true` if the normals of most triangles point away from their fronts, which this order of corners defines: the one of
    /// [`Format::conventions`](crate::Format::conventions) or, without one, counter-clockwise.
    ///
    /// Programs that draw both sides of a triangle turn its normals to the viewer on its back: such a mesh is dark or black there. They
    /// draw it right if all its triangles are turned. A sample of about 4,096 triangles is looked at. `false` without normals.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`attribute`](Self::attribute), and [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if the limits leave no
    /// memory.
    pub fn runs_against_normals(&self, front_face: Winding) -> Result<bool> {
        let (positions, normals) = (
            self.attribute(&Semantic::Position)?,
            self.attribute(&Semantic::Normal)?,
        );
        let (Some(positions), Some(normals)) = (positions, normals) else {
            return Ok(false);
        };
        let memory = as_u64(self.vertex_count()).saturating_mul(24);
        let taken = self
            .meter()
            .take(memory, "positions and normals of a mesh")
            .map(drop);
        taken.map_err(|error| self.place().locate(error))?;
        let (positions, normals) = (positions.to_f32::<3>(), normals.to_f32::<3>());
        let at = |array: &[[f32; 3]], index: u32| array.get(as_usize(index)).copied();
        let corners = |triangle: [u32; 3], array: &[[f32; 3]]| {
            let [a, b, c] = triangle.map(|index| at(array, index));
            Some([a?, b?, c?])
        };
        let triangles = self.triangle_count();
        let sample = self.indices().triangles().step_by(step(triangles));
        let against = is_against(sample.filter_map(|triangle| {
            Some((corners(triangle, &positions)?, corners(triangle, &normals)?))
        }));
        Ok(against.is_some_and(|against| against != (front_face == Winding::Clockwise)))
    }
}

/// The distance of triangles in a sample of these.
pub(crate) fn step(triangles: usize) -> usize {
    triangles.div_ceil(MOST).max(1)
}

/// Returns `true` if most normals are on the side from which triangles run clockwise; `None` if they are on neither side.
pub(crate) fn is_against(
    triangles: impl Iterator<Item = ([[f32; 3]; 3], [[f32; 3]; 3])>,
) -> Option<bool> {
    let mut votes = 0_i64;
    for ([a, b, c], normals) in triangles {
        let edge = |[x, y, z]: [f32; 3]| {
            let [p, q, r] = a.map(f64::from);
            [f64::from(x) - p, f64::from(y) - q, f64::from(z) - r]
        };
        let ([p, q, r], [x, y, z]) = (edge(b), edge(c));
        let front = [q * z - r * y, r * x - p * z, p * y - q * x];
        for normal in normals {
            let along: f64 = front
                .iter()
                .zip(normal)
                .map(|(front, normal)| front * f64::from(normal))
                .sum();
            let vote = i64::from(along > 0.0).saturating_sub(i64::from(along < 0.0));
            votes = votes.saturating_add(vote);
        }
    }
    (votes != 0).then_some(votes < 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normals_vote_for_the_side_that_they_are_on() {
        let flat = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let up = [[0.0, 0.0, 1.0]; 3];
        let down = [[0.0, 0.0, -1.0]; 3];
        assert_eq!(is_against([(flat, up)].into_iter()), Some(false));
        assert_eq!(
            is_against([(flat, down), (flat, down), (flat, up)].into_iter()),
            Some(true)
        );
        assert_eq!(
            is_against([(flat, [[f32::NAN; 3]; 3]), (flat, [[1.0, 0.0, 0.0]; 3])].into_iter()),
            None
        );
        assert_eq!(is_against(std::iter::empty()), None);
        assert_eq!((step(0), step(4096), step(4097)), (1, 1, 2));
    }
}
