//! Translation, rotation and scale, and matrices made of them.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A 3x4 matrix as three rows: rotation times scale, and translation in column 4.
///
/// A point (x, y, z) becomes `row[0]*x + row[1]*y + row[2]*z + row[3]` of each row, as in the IQM SDK. [`to_columns`] makes
/// the 4 x 4 matrix that a GPU takes. `mint::RowMatrix3x4::from` takes a `Matrix`, for glam, nalgebra and others.
pub type Matrix = [[f32; 4]; 3];

/// A 4x4 matrix as four columns, for GPUs: `mat4x4<f32>` in WGSL, `mat4` in GLSL.
pub type Columns = [[f32; 4]; 4];

/// The columns of a matrix, as shaders, glTF and `glam::Mat4::from_cols_array_2d` take them. The fourth row, which a [`Matrix`] does
/// not store, is 0, 0, 0, 1.
///
/// # Examples
///
/// ```
/// use meshmap::iqm;
///
/// let moved = [[1.0, 0.0, 0.0, 5.0], [0.0, 1.0, 0.0, 6.0], [0.0, 0.0, 1.0, 7.0]];
/// assert_eq!(iqm::to_columns(&moved)[3], [5.0, 6.0, 7.0, 1.0]);
/// ```
#[must_use]
#[doc(alias = "to_cols_array_2d")]
pub fn to_columns(matrix: &Matrix) -> Columns {
    let [[a, b, c, d], [e, f, g, h], [i, j, k, l]] = *matrix;
    [
        [a, e, i, 0.0],
        [b, f, j, 0.0],
        [c, g, k, 0.0],
        [d, h, l, 1.0],
    ]
}

/// The matrix that changes nothing.
pub const IDENTITY: Matrix = [
    [1.0, 0.0, 0.0, 0.0],
    [0.0, 1.0, 0.0, 0.0],
    [0.0, 0.0, 1.0, 0.0],
];

/// A joint's translation, rotation and scale, relative to its parent.
///
/// `output = (input * scale) * rotation + translation`. Ten numbers in this order, without padding.
#[derive(Clone, Copy, Debug, PartialEq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
#[non_exhaustive]
#[repr(C)]
pub struct Trs {
    /// Translation x, y, z, in the units of the file.
    pub translate: [f32; 3],
    /// Rotation, a quaternion x, y, z, w as stored; its length may differ from 1.
    pub rotate: [f32; 4],
    /// Scale along x, y, z.
    pub scale: [f32; 3],
}
const _: () = assert!(size_of::<Trs>() == 40);

impl Default for Trs {
    fn default() -> Self {
        Self {
            translate: [0.0; 3],
            rotate: [0.0, 0.0, 0.0, -1.0],
            scale: [1.0; 3],
        }
    }
}

impl Trs {
    /// This transformation with its rotation scaled to length 1.
    ///
    /// A quaternion of length 0 becomes (0, 0, 0, -1), which rotates nothing, as in ioquake3.
    #[must_use]
    pub fn normalized(self) -> Self {
        Self {
            rotate: normalize(self.rotate),
            ..self
        }
    }

    /// A translation x, y, z, a rotation x, y, z, w, and a scale x, y, z.
    #[must_use]
    pub const fn new(translate: [f32; 3], rotate: [f32; 4], scale: [f32; 3]) -> Self {
        Self {
            translate,
            rotate,
            scale,
        }
    }

    /// Translation, rotation and scale, in this order.
    #[must_use]
    pub fn to_array(self) -> [f32; 10] {
        let [tx, ty, tz] = self.translate;
        let [x, y, z, w] = self.rotate;
        let [sx, sy, sz] = self.scale;
        [tx, ty, tz, x, y, z, w, sx, sy, sz]
    }

    /// The matrix of this transformation.
    ///
    /// The rotation is used as it is: see [`normalized`](Self::normalized).
    #[must_use]
    pub fn to_matrix(self) -> Matrix {
        let [x, y, z, w] = self.rotate;
        let [tx, ty, tz] = [2.0 * x, 2.0 * y, 2.0 * z];
        let [txx, tyy, tzz] = [tx * x, ty * y, tz * z];
        let [txy, txz, tyz] = [tx * y, tx * z, ty * z];
        let [twx, twy, twz] = [w * tx, w * ty, w * tz];
        let rotation = [
            [1.0 - (tyy + tzz), txy - twz, txz + twy],
            [txy + twz, 1.0 - (txx + tzz), tyz - twx],
            [txz - twy, tyz + twx, 1.0 - (txx + tyy)],
        ];
        let [sx, sy, sz] = self.scale;
        let [x, y, z] = self.translate;
        let [[a, b, c], [d, e, f], [g, h, i]] = rotation;
        [
            [a * sx, b * sy, c * sz, x],
            [d * sx, e * sy, f * sz, y],
            [g * sx, h * sy, i * sz, z],
        ]
    }

    /// Interpolates between two poses of a joint: 0 is `self`, 1 is `other`.
    ///
    /// Translation and scale are interpolated linearly, the rotation along the shorter arc (slerp); it has length 1. The result has
    /// the same bits on every processor. Fractions outside 0 to 1 continue the arc.
    #[must_use]
    #[inline]
    pub fn interpolate(self, other: Self, fraction: f32) -> Self {
        Self {
            translate: lerp(self.translate, other.translate, fraction),
            rotate: slerp(normalize(self.rotate), normalize(other.rotate), fraction),
            scale: lerp(self.scale, other.scale, fraction),
        }
    }
}

/// The joints whose rotations are interpolated together.
const LANES: usize = 8;

/// Interpolates all poses from `from` to `to`, which are as many: the results of [`Trs::interpolate`], five times as fast.
#[inline(always)]
pub(super) fn interpolate_all(from: &mut [Trs], to: &[Trs], fraction: f32) {
    let (from_blocks, from_rest) = from.as_chunks_mut::<LANES>();
    let (to_blocks, to_rest) = to.as_chunks::<LANES>();
    for (from, to) in from_blocks.iter_mut().zip(to_blocks) {
        interpolate_block(from, to, fraction);
    }
    for (from, to) in from_rest.iter_mut().zip(to_rest) {
        *from = from.interpolate(*to, fraction);
    }
}

/// Interpolates eight poses.
///
/// The rotations are rearranged, all x, then all y, z and w, so that the loop over joints is compiled to instructions for eight
/// joints. From the poses as they are, compilers make such instructions for some spellings of [`slerp`], but not for others.
#[inline(always)]
#[expect(
    clippy::indexing_slicing,
    reason = "lanes are less than LANES, and a rotation has four components"
)]
fn interpolate_block(from: &mut [Trs; LANES], to: &[Trs; LANES], fraction: f32) {
    let [ax, ay, az, aw] = rotations_by_component(from);
    let [bx, by, bz, bw] = rotations_by_component(to);
    let mut rotations = [[0.0; LANES]; 4];
    for lane in 0..LANES {
        let a = normalize([ax[lane], ay[lane], az[lane], aw[lane]]);
        let b = normalize([bx[lane], by[lane], bz[lane], bw[lane]]);
        let [x, y, z, w] = slerp(a, b, fraction);
        rotations[0][lane] = x;
        rotations[1][lane] = y;
        rotations[2][lane] = z;
        rotations[3][lane] = w;
    }
    let [x, y, z, w] = rotations;
    for (lane, (from, to)) in from.iter_mut().zip(to).enumerate() {
        *from = Trs {
            translate: lerp(from.translate, to.translate, fraction),
            rotate: [x[lane], y[lane], z[lane], w[lane]],
            scale: lerp(from.scale, to.scale, fraction),
        };
    }
}

/// The x of all rotations, then all y, z and w.
#[inline(always)]
fn rotations_by_component(poses: &[Trs; LANES]) -> [[f32; LANES]; 4] {
    let x = poses.map(|pose| pose.rotate[0]);
    let y = poses.map(|pose| pose.rotate[1]);
    let z = poses.map(|pose| pose.rotate[2]);
    let w = poses.map(|pose| pose.rotate[3]);
    [x, y, z, w]
}

/// The matrix that applies `inner`, such as a joint, then `outer`, its parent.
#[must_use]
pub fn multiply(outer: &Matrix, inner: &Matrix) -> Matrix {
    let [a, b, c] = *inner;
    outer.map(|[x, y, z, w]| {
        let mut row: [f32; 4] = std::array::from_fn(|i| at(a, i) * x + at(b, i) * y + at(c, i) * z);
        row[3] += w;
        row
    })
}

/// The inverse of a matrix of rotation, scale and translation.
///
/// As the SDK computes it, except that a scale of 0 along an axis, which has no inverse, becomes 0.
#[must_use]
pub fn invert(matrix: &Matrix) -> Matrix {
    let [a, b, c] = *matrix;
    // Each row of the inverse is a column of the rotation, divided by the square of its length,
    // which is the scale.
    [
        inverse_row([a[0], b[0], c[0]], [a[3], b[3], c[3]]),
        inverse_row([a[1], b[1], c[1]], [a[3], b[3], c[3]]),
        inverse_row([a[2], b[2], c[2]], [a[3], b[3], c[3]]),
    ]
}

/// A row of an inverse matrix, from a column of the matrix and its translation.
fn inverse_row(column: [f32; 3], translate: [f32; 3]) -> [f32; 4] {
    let [x, y, z] = column;
    let squared = x * x + y * y + z * z;
    let [x, y, z] = if squared > 0.0 {
        [x / squared, y / squared, z / squared]
    } else {
        [0.0; 3]
    };
    let [tx, ty, tz] = translate;
    [x, y, z, -(x * tx + y * ty + z * tz)]
}

/// The w that version 1 does not store.
///
/// The quaternion has length 1, and w is not positive.
///
/// In the order of operations of the SDK's `upgrade`.
pub(crate) fn synthesised_w([x, y, z]: [f32; 3]) -> f32 {
    let squared = ((x * x) + (y * y)) + (z * z);
    let rest = 1.0 - squared;
    -(if rest > 0.0 { rest } else { 0.0 }).sqrt()
}

/// Computes both results and selects one, as [`slerp`] does: a loop over joints must not branch.
#[inline(always)]
fn normalize(q: [f32; 4]) -> [f32; 4] {
    let length = dot(q, q).sqrt();
    let [x, y, z, w] = q.map(|component| component / length);
    if length > 0.0 {
        [x, y, z, w]
    } else {
        [0.0, 0.0, 0.0, -1.0]
    }
}

#[inline(always)]
fn dot(a: [f32; 4], b: [f32; 4]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
}

/// Linear interpolation.
#[inline(always)]
fn lerp<const N: usize>(a: [f32; N], b: [f32; N], fraction: f32) -> [f32; N] {
    std::array::from_fn(|i| at(a, i) * (1.0 - fraction) + at(b, i) * fraction)
}

/// Spherical linear interpolation between two quaternions of length 1, along the shorter arc
/// (Shoemake, "Animating Rotation with Quaternion Curves", 1985).
#[inline(always)]
fn slerp(a: [f32; 4], b: [f32; 4], fraction: f32) -> [f32; 4] {
    /// The cosine of an angle so small that its sine has lost most of its digits: linear
    /// interpolation is then as good.
    const NEARLY_EQUAL: f32 = 0.9995;
    let cosine = dot(a, b);
    let is_near = cosine.abs() > NEARLY_EQUAL;
    let angle = arc_cosine(cosine.abs());
    // Not divided by the sine of the angle: the result is normalised.
    let from_weight = if is_near {
        1.0 - fraction
    } else {
        sine((1.0 - fraction) * angle)
    };
    let to_weight = if is_near {
        fraction
    } else {
        sine(fraction * angle)
    };
    // A quaternion and its negative are the same rotation; the nearer one gives the shorter arc.
    let to_weight = if cosine < 0.0 { -to_weight } else { to_weight };
    normalize(std::array::from_fn(|i| {
        at(a, i) * from_weight + at(b, i) * to_weight
    }))
}

/// The arc cosine of a number from 0 to 1.
///
/// A polynomial times the square root of `1 - x`, within 2e-8 before rounding (Abramowitz and Stegun, "Handbook of Mathematical
/// Functions", 4.4.46). The function of the standard library has other bits on other systems.
#[inline(always)]
fn arc_cosine(x: f32) -> f32 {
    /// The coefficients, from x to the power of 7 downwards.
    const POWERS: [f32; 7] = [
        0.006_670_09,
        -0.017_088_126,
        0.030_891_88,
        -0.050_174_305,
        0.088_978_99,
        -0.214_598_8,
        std::f32::consts::FRAC_PI_2,
    ];
    const FIRST: f32 = -0.001_262_491_1;
    // Rounding makes cosines that are a little greater than 1.
    let rest = 1.0 - x;
    let rest = if rest > 0.0 { rest } else { 0.0 };
    polynomial(FIRST, POWERS, x) * rest.sqrt()
}

/// The sine of an angle; 0 if the angle is so large that an `f32` has no digits for its fraction of a turn.
#[inline(always)]
fn sine(angle: f32) -> f32 {
    /// The Taylor series, from x to the power of 11 downwards. The first term that is left out is 6e-8 at a right angle.
    const POWERS: [f32; 5] = [
        2.755_731_9e-6,
        -1.984_127e-4,
        8.333_333e-3,
        -1.666_666_7e-1,
        1.0,
    ];
    const FIRST: f32 = -2.505_210_8e-8;
    /// Adding 1.5 * 2^23 rounds to the nearest whole number, which is then in the lowest bits.
    const TO_WHOLE: f32 = 12_582_912.0;
    /// The difference between pi and its `f32`.
    const REST_OF_PI: f32 = -8.742_278e-8;

    let half_turns_in_low_bits = angle * std::f32::consts::FRAC_1_PI + TO_WHOLE;
    let half_turns = half_turns_in_low_bits - TO_WHOLE;
    let x = angle - half_turns * std::f32::consts::PI - half_turns * REST_OF_PI;
    let x = if x.abs() < 2.0 { x } else { 0.0 };
    let sine = polynomial(FIRST, POWERS, x * x) * x;
    // The sine changes its sign with every half turn.
    let sign = half_turns_in_low_bits.to_bits() << 31;
    f32::from_bits(sine.to_bits() ^ sign)
}

/// The value of a polynomial, from the coefficient of the highest power downwards (Horner's scheme).
#[inline(always)]
fn polynomial<const N: usize>(first: f32, others: [f32; N], x: f32) -> f32 {
    let mut sum = first;
    for coefficient in &others {
        sum = sum * x + coefficient;
    }
    sum
}

/// The component at an index that is less than `N`.
#[inline(always)]
fn at<const N: usize>(components: [f32; N], index: usize) -> f32 {
    components.get(index).copied().unwrap_or(f32::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processor::Processor;
    use proptest::prelude::*;

    fn apply(matrix: &Matrix, [x, y, z]: [f32; 3]) -> [f32; 3] {
        matrix.map(|row| row[0] * x + row[1] * y + row[2] * z + row[3])
    }

    fn close(a: [f32; 3], b: [f32; 3]) -> bool {
        a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-3)
    }

    #[test]
    fn quarter_turn_about_z_maps_x_to_y_after_scaling() {
        let half = 0.5_f32.sqrt();
        let trs = Trs {
            translate: [10., 0., 0.],
            rotate: [0., 0., half, half],
            scale: [2., 3., 4.],
        };
        assert!(close(apply(&trs.to_matrix(), [1., 0., 0.]), [10., 2., 0.]));
        assert!(close(apply(&trs.to_matrix(), [0., 1., 0.]), [7., 0., 0.]));
    }

    #[test]
    fn rotation_of_length_zero_rotates_nothing() {
        let trs = Trs {
            rotate: [0.; 4],
            ..Trs::default()
        }
        .normalized();
        assert_eq!(trs.rotate, [0., 0., 0., -1.]);
        assert_eq!(trs.to_matrix(), IDENTITY);
    }

    #[test]
    fn synthesised_w_is_minus_zero_where_nothing_is_left() {
        assert_eq!(synthesised_w([1., 0., 0.]).to_bits(), (-0.0_f32).to_bits());
        assert_eq!(synthesised_w([1., 1., 0.]).to_bits(), (-0.0_f32).to_bits());
        assert_eq!(synthesised_w([0., 0., 0.]), -1.);
        assert_eq!(synthesised_w([0.6, 0., 0.]), -(1.0_f32 - 0.6 * 0.6).sqrt());
    }

    #[test]
    fn interpolation_takes_the_shorter_way() {
        let a = Trs {
            rotate: [0., 0., 0., 1.],
            ..Trs::default()
        };
        let b = Trs {
            rotate: [0., 0., -0.5_f32.sqrt(), -(0.5_f32.sqrt())],
            ..Trs::default()
        };
        let middle = a.interpolate(b, 0.5);
        let angle = std::f32::consts::FRAC_PI_8;
        assert!((middle.rotate[2] - angle.sin()).abs() < 1e-6, "{middle:?}");
        assert!((middle.rotate[3] - angle.cos()).abs() < 1e-6, "{middle:?}");
    }

    #[test]
    fn axis_without_extent_inverts_to_zero() {
        let flat = Trs {
            scale: [1., 0., 1.],
            ..Trs::default()
        }
        .to_matrix();
        assert!(
            invert(&flat)
                .iter()
                .flatten()
                .all(|component| component.is_finite())
        );
    }

    /// A pose of which any number may be anything.
    fn any_bits() -> impl Strategy<Value = Trs> {
        let number = prop_oneof![
            4 => -2.0..2.0_f32,
            1 => any::<u32>().prop_map(f32::from_bits),
            1 => Just(0.0),
        ];
        proptest::collection::vec(number, 10).prop_map(|numbers| {
            let rotate = [numbers[3], numbers[4], numbers[5], numbers[6]];
            let [a, b, c] = [numbers[0], numbers[1], numbers[2]];
            let [d, e, f] = [numbers[7], numbers[8], numbers[9]];
            Trs::new([a, b, c], rotate, [d, e, f])
        })
    }

    /// The bits of a pose. Which NaN an operation makes is not defined.
    fn bits(pose: &Trs) -> [u32; 10] {
        pose.to_array().map(|number| {
            if number.is_nan() {
                f32::NAN.to_bits()
            } else {
                number.to_bits()
            }
        })
    }

    /// Spherical linear interpolation with the functions of the standard library, in twice the precision.
    fn slerp_by_the_book(a: [f32; 4], b: [f32; 4], fraction: f32) -> [f64; 4] {
        let a = a.map(f64::from);
        let b = b.map(f64::from);
        let fraction = f64::from(fraction);
        let length = |q: [f64; 4]| q.iter().map(|c| c * c).sum::<f64>().sqrt();
        let a = a.map(|c| c / length(a));
        let b = b.map(|c| c / length(b));
        let cosine: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
        let b = if cosine < 0.0 { b.map(|c| -c) } else { b };
        let angle = cosine.abs().min(1.0).acos();
        let weights = [((1.0 - fraction) * angle).sin(), (fraction * angle).sin()];
        let sum: [f64; 4] = std::array::from_fn(|i| a[i] * weights[0] + b[i] * weights[1]);
        sum.map(|c| c / length(sum))
    }

    fn far_from(a: [f32; 4], b: [f64; 4]) -> f64 {
        let differences = a.iter().zip(b).map(|(a, b)| (f64::from(*a) - b).abs());
        differences.fold(0.0, f64::max)
    }

    fn any_trs() -> impl Strategy<Value = Trs> {
        let numbers = |range: std::ops::Range<f32>| proptest::array::uniform3(range);
        let rotation = proptest::array::uniform4(-1.0_f32..1.0)
            .prop_filter("no rotation", |q| dot(*q, *q) > 0.01);
        (numbers(-10.0..10.0), rotation, numbers(0.1..4.0)).prop_map(
            |(translate, rotate, scale)| {
                Trs {
                    translate,
                    rotate,
                    scale,
                }
                .normalized()
            },
        )
    }

    proptest! {
        #[test]
        fn inverse_undoes(trs in any_trs(), point in proptest::array::uniform3(-5.0_f32..5.0)) {
            let matrix = trs.to_matrix();
            let back = apply(&invert(&matrix), apply(&matrix, point));
            prop_assert!(close(back, point), "{:?} {:?}", back, point);
        }

        #[test]
        fn product_applies_the_inner_one_first(a in any_trs(), b in any_trs(), p in proptest::array::uniform3(-2.0_f32..2.0)) {
            let a = a.to_matrix();
            let b = b.to_matrix();
            prop_assert!(close(apply(&multiply(&a, &b), p), apply(&a, apply(&b, p))));
        }

        /// Eight joints at once, with all instructions of this processor, and each on its own with the instructions of every processor.
        #[test]
        fn joints_together_have_the_bits_of_each_alone(
            pairs in proptest::collection::vec((any_bits(), any_bits()), 0..20),
            fraction in prop_oneof![0.0..=1.0_f32, any::<u32>().prop_map(f32::from_bits)],
        ) {
            let (mut from, to): (Vec<Trs>, Vec<Trs>) = pairs.iter().copied().unzip();
            Processor::new().run(
                #[inline(always)]
                || interpolate_all(&mut from, &to, fraction),
            );
            for (together, (a, b)) in from.iter().zip(pairs) {
                prop_assert_eq!(bits(together), bits(&a.interpolate(b, fraction)));
            }
        }

        #[test]
        fn interpolation_is_as_in_the_book(a in any_trs(), b in any_trs(), fraction in 0.0..=1.0_f32) {
            let expected = slerp_by_the_book(a.rotate, b.rotate, fraction);
            let difference = far_from(a.interpolate(b, fraction).rotate, expected);
            // Opposite rotations have arcs of the same length in all directions: rounding decides.
            prop_assume!(dot(a.rotate, b.rotate).abs() > 1e-5);
            prop_assert!(difference < 4e-7, "{}", difference);
        }

        #[test]
        fn fractions_beyond_the_ends_continue_the_arc(a in any_trs(), b in any_trs(), fraction in -20.0..20.0_f32) {
            prop_assume!((1e-5..0.999).contains(&dot(a.rotate, b.rotate).abs()));
            let expected = slerp_by_the_book(a.rotate, b.rotate, fraction);
            let difference = far_from(a.interpolate(b, fraction).rotate, expected);
            prop_assert!(difference < 1e-4, "{}", difference);
        }

        #[test]
        fn interpolation_begins_and_ends_where_it_should(a in any_trs(), b in any_trs()) {
            for (fraction, end) in [(0.0, a), (1.0, b)] {
                let trs = a.interpolate(b, fraction);
                prop_assert!(close(trs.translate, end.translate) && close(trs.scale, end.scale));
                prop_assert!((dot(trs.rotate, end.rotate).abs() - 1.0).abs() < 1e-5);
            }
        }
    }
}
