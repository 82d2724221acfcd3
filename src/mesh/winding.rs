//! Checks on which side of their triangles the normals of a mesh are.

use super::attribute::Attribute;
use super::semantic::Semantic;
use super::vector::{cross, difference, dot};
use super::view::MeshView;
use crate::conventions::Winding;
use crate::num::as_usize;
use crate::report::Result;

/// The approximate maximum number of triangles of a mesh that are inspected.
const SAMPLE_SIZE: usize = 4096;

impl MeshView {
    /// Returns `true` if the normals of most triangles point away from their fronts, which this order of corners defines:
    /// the one of [`Format::conventions`](crate::Format::conventions) or, without one, counter-clockwise.
    ///
    /// Programs that draw both sides of a triangle turn its normals to the viewer on its back: such a mesh is dark or black
    /// there. They draw it right if the winding of all its triangles is reversed. A sample of about 4,096 triangles is
    /// inspected. Returns `false` without normals.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`attribute`](Self::attribute).
    pub fn runs_against_normals(&self, front_face: Winding) -> Result<bool> {
        let positions = self.attribute(&Semantic::Position)?;
        let normals = self.attribute(&Semantic::Normal)?;
        let (Some(positions), Some(normals)) = (positions, normals) else {
            return Ok(false);
        };
        let sample = self
            .indices()
            .triangles()
            .step_by(step(self.triangle_count()));
        // Triangles with an index out of range are left out.
        let triangles = sample.filter_map(|triangle| {
            Some((corners(triangle, &positions)?, corners(triangle, &normals)?))
        });
        Ok(match is_against(triangles) {
            Some(is_against) => is_against != (front_face == Winding::Clockwise),
            None => false,
        })
    }
}

/// The elements at the corners of a triangle; `None` if an index is out of range.
fn corners(triangle: [u32; 3], attribute: &Attribute) -> Option<[[f32; 3]; 3]> {
    let [a, b, c] = triangle.map(|index| attribute.f32_at(as_usize(index)));
    Some([a?, b?, c?])
}

/// Returns the distance between the triangles of a sample, of which there are about `SAMPLE_SIZE`.
pub(crate) fn step(triangles: usize) -> usize {
    triangles.div_ceil(SAMPLE_SIZE).max(1)
}

/// Returns `true` if most normals are on the side from which triangles run clockwise; `None` if they are on neither side.
///
/// Each corner of the triangles has a vote: the sign of the dot product of its normal and the normal of the triangle, which
/// is the cross product of two edges.
pub(crate) fn is_against(
    triangles: impl Iterator<Item = ([[f32; 3]; 3], [[f32; 3]; 3])>,
) -> Option<bool> {
    let mut votes = 0_i64;
    for (positions, normals) in triangles {
        let [a, b, c] = positions.map(|corner| corner.map(f64::from));
        let front = cross(difference(b, a), difference(c, a));
        for normal in normals {
            let along = dot(front, normal.map(f64::from));
            if along > 0.0 {
                votes = votes.saturating_add(1);
            } else if along < 0.0 {
                votes = votes.saturating_sub(1);
            }
        }
    }
    match votes {
        0 => None,
        votes => Some(votes < 0),
    }
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
