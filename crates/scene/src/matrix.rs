//! Matrices of 4 x 4 numbers, columns one after another as in glTF.

use crate::vector::{cross, dot};

/// The matrix that changes nothing.
pub const IDENTITY: [f64; 16] = [
    1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1.,
];

/// The point that a matrix moves this one to.
#[must_use]
pub fn transform_point(m: &[f64; 16], [x, y, z]: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|row| m[row] * x + m[4 + row] * y + m[8 + row] * z + m[12 + row])
}

/// The first three rows of a matrix, as the library has them.
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "the nearest")]
pub fn to_rows(m: &[f64; 16]) -> [[f32; 4]; 3] {
    std::array::from_fn(|row| std::array::from_fn(|column| m[column * 4 + row] as f32))
}

/// The matrix of three rows, and 0 0 0 1.
#[must_use]
pub fn of_rows(rows: &[[f64; 4]; 3]) -> [f64; 16] {
    std::array::from_fn(|index| match rows.get(index % 4) {
        Some(row) => row[index / 4],
        None => f64::from(u8::from(index == 15)),
    })
}

/// The nearest matrix of `f32`.
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "the nearest")]
pub fn rounded(matrix: &[f64; 16]) -> [f32; 16] {
    matrix.map(|number| number as f32)
}

/// The product `a * b`.
#[must_use]
pub fn multiply(a: &[f64; 16], b: &[f64; 16]) -> [f64; 16] {
    let mut product = [0.0; 16];
    for (index, number) in product.iter_mut().enumerate() {
        let column = index / 4;
        let row = index % 4;
        *number = (0..4).map(|k| a[k * 4 + row] * b[column * 4 + k]).sum();
    }
    product
}

/// The inverse of a matrix whose last row is 0 0 0 1; `None` of one that has none.
#[must_use]
pub fn invert(m: &[f64; 16]) -> Option<[f64; 16]> {
    let column = |c: usize| [m[c * 4], m[c * 4 + 1], m[c * 4 + 2]];
    let x = column(0);
    let y = column(1);
    let z = column(2);
    let t = column(3);
    let determinant = dot(x, cross(y, z));
    if determinant == 0.0 || !determinant.is_finite() {
        return None;
    }
    let rows =
        [cross(y, z), cross(z, x), cross(x, y)].map(|row| row.map(|number| number / determinant));
    let mut inverse = [0.0; 16];
    for (row, numbers) in rows.iter().enumerate() {
        for (column, number) in numbers.iter().enumerate() {
            inverse[column * 4 + row] = *number;
        }
        inverse[12 + row] = -dot(*numbers, t);
    }
    inverse[15] = 1.0;
    inverse
        .iter()
        .all(|number| number.is_finite())
        .then_some(inverse)
}

/// Returns `true` if a matrix makes something flat, so that it has no inverse that numbers of 64 bits hold.
#[must_use]
pub fn is_flat(m: &[f64; 16]) -> bool {
    const FLAT: f64 = 1e-12;
    let column = |c: usize| [m[c * 4], m[c * 4 + 1], m[c * 4 + 2]];
    let axes = [column(0), column(1), column(2)];
    let [x, y, z] = axes;
    let lengths = axes.map(|axis| dot(axis, axis).sqrt());
    let volume = dot(x, cross(y, z)).abs();
    // Also if a number is NaN.
    !(volume > FLAT * lengths.iter().product::<f64>() && volume.is_normal())
}

/// Returns `true` if the axes of a matrix are orthogonal, so that it is a translation, a rotation and a scale.
#[must_use]
pub fn is_orthogonal(m: &[f64; 16]) -> bool {
    let column = |c: usize| [m[c * 4], m[c * 4 + 1], m[c * 4 + 2]];
    let axes = [column(0), column(1), column(2)];
    let length = |axis: [f64; 3]| dot(axis, axis).sqrt();
    [(0, 1), (0, 2), (1, 2)]
        .into_iter()
        .all(|(a, b)| dot(axes[a], axes[b]).abs() <= 1e-4 * length(axes[a]) * length(axes[b]))
}

/// The rotation with these orthogonal axes of length 1.
#[must_use]
pub fn quaternion([[xx, xy, xz], [yx, yy, yz], [zx, zy, zz]]: [[f64; 3]; 3]) -> [f64; 4] {
    // Each is four times a product of two components; the largest square makes the smallest error.
    let squares =
        [xx - yy - zz, yy - xx - zz, zz - xx - yy, xx + yy + zz].map(|square| 1.0 + square);
    let rows = [
        [squares[0], xy + yx, xz + zx, yz - zy],
        [xy + yx, squares[1], yz + zy, zx - xz],
        [xz + zx, yz + zy, squares[2], xy - yx],
        [yz - zy, zx - xz, xy - yx, squares[3]],
    ];
    let largest = rows
        .into_iter()
        .zip(squares)
        .max_by(|(_, a), (_, b)| a.total_cmp(b));
    let (row, square) = largest.unwrap_or(([0.0, 0.0, 0.0, 1.0], 1.0));
    row.map(|number| number / (2.0 * square.sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_times_its_inverse_changes_nothing() {
        let m = [
            0., 2., 0., 0., -1., 0., 0., 0., 0., 0., 4., 0., 5., 6., 7., 1.,
        ];
        let product = multiply(&m, &invert(&m).unwrap());
        for (index, number) in product.iter().enumerate() {
            assert_eq!(*number, f64::from(u8::from(index % 5 == 0)));
        }
        assert!(is_orthogonal(&m));
        assert!(!is_flat(&m));
        let mut flat = m;
        flat[4..8].copy_from_slice(&m[..4]);
        assert!(is_flat(&flat));
        assert!(is_flat(&[0.0; 16]));
        assert_eq!(invert(&[0.0; 16]), None);
    }
}
