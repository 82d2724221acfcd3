//! The bind shape and the bind pose of a skin, as programs draw them.

use super::avatar::joint_parents;
use super::skin::Skin;
use crate::mesh::{cross, dot};

/// Three rows of a matrix for column vectors; the fourth is 0, 0, 0, 1.
type Rows = [[f64; 4]; 3];

const IDENTITY: Rows = [
    [1.0, 0.0, 0.0, 0.0],
    [0.0, 1.0, 0.0, 0.0],
    [0.0, 0.0, 1.0, 0.0],
];

/// The transform of the stored vertices of faces with weights into the bind pose. Made by [`Skin::bind_shape`].
///
/// An avatar is as small as the domain of its positions without it. Targets that move vertices by joints, but not normals by the
/// inverse transpose of a matrix, such as three.js, draw both right if the shape is applied to them first.
#[derive(Clone, Debug)]
pub struct BindShape(Rows);

impl BindShape {
    /// The three rows of its matrix for column vectors; the fourth is 0, 0, 0, 1.
    #[must_use]
    pub const fn rows(&self) -> &[[f64; 4]; 3] {
        &self.0
    }

    /// Returns `true` if it makes a mirror image, whose triangles have their fronts inside.
    #[must_use]
    pub fn mirrors(&self) -> bool {
        determinant(&self.0) < 0.0
    }

    /// A position in the bind pose.
    #[must_use]
    pub fn point(&self, position: [f32; 3]) -> [f32; 3] {
        let [x, y, z] = position.map(f64::from);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the nearest float is meant"
        )]
        self.0
            .map(|[a, b, c, d]| (a * x + b * y + c * z + d) as f32)
    }

    /// A normal of the surface in the bind pose, of length 1; 0 if it has no length.
    ///
    /// It is transformed by the cofactors of the matrix, so that scales of three sizes do not tilt it.
    #[must_use]
    pub fn normal(&self, normal: [f32; 3]) -> [f32; 3] {
        let normal = normal.map(f64::from);
        let turned = cofactors(&self.0).map(|row| dot(row, normal));
        let length = dot(turned, turned).sqrt();
        if !(length > 0.0 && length.is_finite()) {
            return [0.0; 3];
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the nearest float is meant"
        )]
        turned.map(|number| (number / length) as f32)
    }
}

/// A joint in the bind pose. Matrices are for column vectors, column by column, as glTF and GPUs take them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BoundJoint {
    /// The joint above it in the viewer's avatar.
    ///
    /// `None` if there is none, or if a translation, a rotation and a scale cannot express the place relative to it.
    pub parent: Option<usize>,
    /// From the joint to the space of the bind pose.
    pub place: [f32; 16],
    /// From the joint to its parent; like `place` if it has none.
    pub local: [f32; 16],
    /// The inverse of `place`.
    pub inverse: [f32; 16],
}

/// The joints of a skin in the bind pose, which is the pose of a mesh that nothing moves. Made by [`Skin::bind_pose`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct BindPose {
    /// All joints, in the order of the names. A parent may come after its children.
    pub joints: Vec<BoundJoint>,
    /// The joints whose stored matrix is not used as it is: see [`Skin::bind_pose`].
    pub replaced: Vec<usize>,
}

impl Skin {
    /// The transform of vertices that follow joints into the bind pose; `None` if it changes nothing.
    ///
    /// Also `None` if a number of the matrix is not finite, which [`Asset::validate`](super::Asset::validate) reports. The last column
    /// of the stored matrix has no meaning. Source: the viewer, which applies it before the joints.
    #[must_use]
    pub fn bind_shape(&self) -> Option<BindShape> {
        let rows = rows(self.bind_shape_matrix.as_ref()?);
        let is_finite = rows.as_flattened().iter().all(|number| number.is_finite());
        (is_finite && rows != IDENTITY).then_some(BindShape(rows))
    }

    /// The joints in the bind pose, also relative to their parents; `None` if there is not one matrix for each name, for which the
    /// viewer drops all joints.
    ///
    /// Programs have a translation, a rotation and a scale for each joint, which cannot express every matrix:
    ///
    /// * A joint that is sheared stands at the place of the matrix, with its axes made upright on each other.
    /// * A joint whose matrix has no inverse, or a number that is not finite, stands at the origin.
    ///
    /// Both are listed in [`BindPose::replaced`]. In place of the stored matrix they have the inverse of their place, so that the mesh
    /// rests in the bind pose.
    #[must_use]
    pub fn bind_pose(&self) -> Option<BindPose> {
        let names = self.joint_names.as_ref()?;
        let stored = self.inverse_bind_matrices.as_ref()?;
        if names.is_empty() || names.len() != stored.len() {
            return None;
        }
        let names: Vec<_> = names.iter().map(|name| name.to_string_lossy()).collect();
        let mut out = BindPose::default();
        let mut placed = Vec::with_capacity(names.len());
        for (index, matrix) in stored.iter().enumerate() {
            let inverse = rows(&matrix);
            placed.push(match invert(&inverse) {
                Some(place) if is_orthogonal(&place) => PlacedJoint { place, inverse },
                place => {
                    out.replaced.push(index);
                    PlacedJoint::replacing(place.as_ref())
                }
            });
        }
        out.joints = placed
            .iter()
            .zip(joint_parents(&names))
            .map(|(joint, parent)| joint.below(parent, &placed))
            .collect();
        Some(out)
    }
}

/// A joint in the space of the bind pose.
struct PlacedJoint {
    /// From the joint to that space.
    place: Rows,
    /// The inverse of `place`.
    inverse: Rows,
}

impl PlacedJoint {
    /// The joint in place of one whose axes are not at right angles, or whose matrix has no
    /// inverse.
    fn replacing(place: Option<&Rows>) -> Self {
        let place = match place {
            Some(place) => orthogonalize(place),
            None => IDENTITY,
        };
        match invert(&place) {
            Some(inverse) => Self { place, inverse },
            None => Self {
                place: IDENTITY,
                inverse: IDENTITY,
            },
        }
    }

    /// This joint as a child of a joint of the list, or as a root if its place relative to the
    /// parent is sheared.
    fn below(&self, parent: Option<usize>, joints: &[Self]) -> BoundJoint {
        let local = match parent.and_then(|parent| joints.get(parent)) {
            Some(parent) => Some(multiply(&parent.inverse, &self.place)).filter(is_orthogonal),
            None => None,
        };
        BoundJoint {
            parent: if local.is_some() { parent } else { None },
            place: columns(&self.place),
            local: columns(&local.unwrap_or(self.place)),
            inverse: columns(&self.inverse),
        }
    }
}

/// The rows of a stored matrix, of which each column is stored after the other.
fn rows(stored: &[f32; 16]) -> Rows {
    let [[a, b, c, _], [d, e, f, _], [g, h, i, _], [j, k, l, _]] = stored.as_chunks::<4>().0 else {
        return IDENTITY;
    };
    [
        [*a, *d, *g, *j].map(f64::from),
        [*b, *e, *h, *k].map(f64::from),
        [*c, *f, *i, *l].map(f64::from),
    ]
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the nearest float is meant"
)]
fn columns(&[[a, b, c, d], [e, f, g, h], [i, j, k, l]]: &Rows) -> [f32; 16] {
    [a, e, i, 0.0, b, f, j, 0.0, c, g, k, 0.0, d, h, l, 1.0].map(|number| number as f32)
}

/// The images of the axes x, y and z.
fn axes(&[[a, b, c, _], [d, e, f, _], [g, h, i, _]]: &Rows) -> [[f64; 3]; 3] {
    [[a, d, g], [b, e, h], [c, f, i]]
}

/// The rows of the inverse transpose, times the determinant.
fn cofactors(matrix: &Rows) -> [[f64; 3]; 3] {
    let [a, b, c] = matrix.map(|[x, y, z, _]| [x, y, z]);
    [cross(b, c), cross(c, a), cross(a, b)]
}

fn determinant(matrix: &Rows) -> f64 {
    let [x, y, z] = axes(matrix);
    dot(x, cross(y, z))
}

/// The product that applies `inner` first.
fn multiply(outer: &Rows, inner: &Rows) -> Rows {
    outer.map(|row| multiply_row(row, inner))
}

fn multiply_row([a, b, c, d]: [f64; 4], [p, q, r]: &Rows) -> [f64; 4] {
    [
        a * p[0] + b * q[0] + c * r[0],
        a * p[1] + b * q[1] + c * r[1],
        a * p[2] + b * q[2] + c * r[2],
        a * p[3] + b * q[3] + c * r[3] + d,
    ]
}

/// The inverse: the adjugate, divided by the determinant. `None` if there is none, or a number of
/// it is not finite.
fn invert(matrix: &Rows) -> Option<Rows> {
    let determinant = determinant(matrix);
    if determinant == 0.0 || !determinant.is_finite() {
        return None;
    }
    let translation = matrix.map(|[.., last]| last);
    let [x, y, z] = axes(matrix);
    let inverse = [
        inverse_row(cross(y, z), determinant, translation),
        inverse_row(cross(z, x), determinant, translation),
        inverse_row(cross(x, y), determinant, translation),
    ];
    let is_finite = inverse
        .as_flattened()
        .iter()
        .all(|number| number.is_finite());
    is_finite.then_some(inverse)
}

fn inverse_row(cofactors: [f64; 3], determinant: f64, translation: [f64; 3]) -> [f64; 4] {
    let row = cofactors.map(|number| number / determinant);
    let [a, b, c] = row;
    [a, b, c, -dot(row, translation)]
}

/// Returns `true` if the axes are at right angles, so that a translation, a rotation and a scale
/// express the matrix.
fn is_orthogonal(matrix: &Rows) -> bool {
    let [x, y, z] = axes(matrix);
    are_orthogonal(x, y) && are_orthogonal(x, z) && are_orthogonal(y, z)
}

fn are_orthogonal(a: [f64; 3], b: [f64; 3]) -> bool {
    const MAX_COSINE: f64 = 1e-4;
    dot(a, b).abs() <= MAX_COSINE * dot(a, a).sqrt() * dot(b, b).sqrt()
}

/// The matrix with axes at right angles, by the modified Gram-Schmidt process: each axis loses its
/// components along the axes before it.
fn orthogonalize(matrix: &Rows) -> Rows {
    let [x, y, z] = axes(matrix);
    let y = without_component(y, x);
    let z = without_component(without_component(z, x), y);
    let [[a, d, g], [b, e, h], [c, f, i]] = [x, y, z];
    let [p, q, r] = matrix.map(|[.., last]| last);
    [[a, b, c, p], [d, e, f, q], [g, h, i, r]]
}

/// A vector without its component along another.
fn without_component(vector: [f64; 3], other: [f64; 3]) -> [f64; 3] {
    let share = dot(vector, other) / dot(other, other);
    let [a, b, c] = vector;
    let [x, y, z] = other;
    [a - share * x, b - share * y, c - share * z]
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::bytes::{Array, Text};

    fn skin(names: &[&'static str], matrices: Vec<[f32; 16]>) -> Skin {
        Skin {
            joint_names: Some(
                names
                    .iter()
                    .map(|name| Text::new(Bytes::from_static(name.as_bytes())))
                    .collect(),
            ),
            bind_shape_matrix: None,
            inverse_bind_matrices: Some(Array::from_vec(matrices)),
            alt_inverse_bind_matrices: None,
            lock_scale_if_joint_position: false,
            pelvis_offset: None,
            findings: Vec::new(),
        }
    }

    fn at(x: f32, y: f32, z: f32) -> [f32; 16] {
        [1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1., 0., x, y, z, 1.]
    }

    #[test]
    fn joints_stand_at_the_inverse_of_their_matrix_below_their_parents() {
        let pose = skin(
            &["mChest", "mPelvis"],
            vec![at(0., 0., -3.), at(0., 0., -1.)],
        )
        .bind_pose()
        .unwrap();
        assert_eq!(pose.joints[0].parent, Some(1));
        assert_eq!(
            (pose.joints[0].place, pose.joints[0].local),
            (at(0., 0., 3.), at(0., 0., 2.))
        );
        assert_eq!(
            (pose.joints[1].parent, pose.joints[1].local),
            (None, at(0., 0., 1.))
        );
        assert_eq!(pose.joints[1].inverse, at(0., 0., -1.));
        assert_eq!(pose.replaced, [0; 0]);
        assert_eq!(skin(&["mChest"], Vec::new()).bind_pose(), None);
        assert_eq!(skin(&[], Vec::new()).bind_pose(), None);
    }

    #[test]
    fn joints_that_programs_cannot_express_rest() {
        let mut sheared = at(-1., 0., 0.);
        sheared[4] = 0.5;
        let mut odd = at(0., 0., 0.);
        odd[13] = f32::NAN;
        let pose = skin(&["a", "b", "c"], vec![sheared, [0.0; 16], odd])
            .bind_pose()
            .unwrap();
        assert_eq!(pose.replaced, [0, 1, 2]);
        // The inverse takes (1, 0, 0) to the place of the origin, and has y on x: what is left of it is upright.
        assert_eq!(
            (pose.joints[0].place, pose.joints[0].inverse),
            (at(1., 0., 0.), at(-1., 0., 0.))
        );
        for joint in &pose.joints[1..] {
            assert_eq!(
                (joint.place, joint.inverse),
                (at(0., 0., 0.), at(0., 0., 0.))
            );
        }
    }

    #[test]
    fn children_whose_place_is_sheared_by_the_parent_are_roots() {
        let mut flat = at(0., 0., 0.);
        flat[5] = 0.25;
        let s = 0.5_f32.sqrt();
        let c = 0.5_f32.sqrt();
        let turned = [c, s, 0., 0., -s, c, 0., 0., 0., 0., 1., 0., 0., 0., 0., 1.];
        let pose = skin(&["mPelvis", "mChest"], vec![flat, turned])
            .bind_pose()
            .unwrap();
        assert_eq!(
            (pose.joints[1].parent, pose.joints[1].local),
            (None, pose.joints[1].place)
        );
        assert_eq!(pose.replaced, [0; 0]);
    }

    #[test]
    fn the_bind_shape_keeps_normals_upright() {
        let mut skin = skin(&[], Vec::new());
        assert!(skin.bind_shape().is_none());
        skin.bind_shape_matrix = Some(at(0., 0., 0.));
        assert!(skin.bind_shape().is_none());
        // A plane through (1, 0, 0) and (0, 1, 0) is x + y = 1; doubled along x it is x / 2 + y = 1.
        let mut matrix = at(5., 0., 0.);
        matrix[0] = 2.0;
        skin.bind_shape_matrix = Some(matrix);
        let shape = skin.bind_shape().unwrap();
        assert_eq!(shape.point([1., 2., 3.]), [7., 2., 3.]);
        let [x, y, z] = shape.normal([1., 1., 0.]);
        assert!((y - 2. * x).abs() < 1e-6 && z == 0. && (x * x + y * y - 1.).abs() < 1e-6);
        assert_eq!(shape.normal([0.; 3]), [0.; 3]);
        assert!(!shape.mirrors());
        matrix[0] = -2.0;
        skin.bind_shape_matrix = Some(matrix);
        assert!(skin.bind_shape().unwrap().mirrors());
        matrix[12] = f32::INFINITY;
        skin.bind_shape_matrix = Some(matrix);
        assert!(skin.bind_shape().is_none());
    }
}
