//! Places of nodes: matrices of three rows and four columns.

use meshmap::iqm::Trs;
use serde_json::Value;

pub(super) type Place = [[f64; 4]; 3];

pub(super) const ORIGIN: Place = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];

/// The place of `inner` in what is at `outer`.
pub(super) fn within(outer: &Place, inner: &Place) -> Place {
    outer.map(|[a, b, c, d]| {
        let column = |at: usize| a * inner[0][at] + b * inner[1][at] + c * inner[2][at];
        [column(0), column(1), column(2), column(3) + d]
    })
}

/// The places of parts that are each relative to a parent, which comes before them.
pub(super) fn chained(parts: impl Iterator<Item = (Place, Option<usize>)>) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for (own, parent) in parts {
        let parent = parent.and_then(|parent| places.get(parent));
        places.push(parent.map_or(own, |parent| within(parent, &own)));
    }
    places
}

/// The place after a translation, a rotation and a scale: each axis is turned by the quaternion.
pub(super) fn placed([tx, ty, tz]: [f64; 3], [x, y, z, w]: [f64; 4], scale: [f64; 3]) -> Place {
    let turn = |v: [f64; 3]| {
        let cross = |[a, b, c]: [f64; 3], [d, e, f]: [f64; 3]| [b * f - c * e, c * d - a * f, a * e - b * d];
        let once = cross([x, y, z], v);
        let twice = cross([x, y, z], once);
        [0, 1, 2].map(|at| v[at] + 2.0 * (w * once[at] + twice[at]))
    };
    let axes = [turn([1.0, 0.0, 0.0]), turn([0.0, 1.0, 0.0]), turn([0.0, 0.0, 1.0])];
    let row = |at: usize, t: f64| [axes[0][at] * scale[0], axes[1][at] * scale[1], axes[2][at] * scale[2], t];
    [row(0, tx), row(1, ty), row(2, tz)]
}

pub(super) fn of_trs(trs: &Trs) -> Place {
    let Trs { translate, rotate, scale, .. } = trs.normalized();
    placed(translate.map(f64::from), rotate.map(f64::from), scale.map(f64::from))
}

/// Four rows and four columns, one column after another, whose last row is anything.
pub(super) type Columns = [f64; 16];

pub(super) fn columns(place: &Place) -> Columns {
    let [x, y, z] = place;
    let mut columns = [0.0; 16];
    for (at, column) in columns.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        *column = [x[at], y[at], z[at], f64::from(u8::from(at == 3))];
    }
    columns
}

/// The transform that applies `inner`, then `outer`.
pub(super) fn product(outer: &Columns, inner: &Columns) -> Columns {
    let mut product = [0.0; 16];
    for (column, factors) in product.as_chunks_mut::<4>().0.iter_mut().zip(inner.as_chunks::<4>().0) {
        for (from, factor) in outer.as_chunks::<4>().0.iter().zip(factors) {
            column.iter_mut().zip(from).for_each(|(sum, number)| *sum += number * factor);
        }
    }
    product
}

/// Rows of 16 numbers that come column by column.
pub(super) fn of_columns(columns: &[f64; 16]) -> Place {
    [0, 1, 2].map(|row| [0, 1, 2, 3].map(|column| columns[column * 4 + row]))
}

/// Numbers of a node, or their defaults.
pub(super) fn numbers<const N: usize>(node: &Value, name: &str, otherwise: [f64; N]) -> [f64; N] {
    let mut numbers = otherwise;
    let stored = node[name].as_array().into_iter().flatten().filter_map(Value::as_f64);
    // JSON has decimals of the floats that were written.
    #[expect(clippy::cast_possible_truncation, reason = "they are floats")]
    numbers.iter_mut().zip(stored).for_each(|(place, number)| *place = f64::from(number as f32));
    numbers
}

/// The place of a node in its parent.
pub(super) fn of_node(node: &Value) -> Place {
    let mut identity = [0.0; 16];
    (0..4).for_each(|at| identity[at * 5] = 1.0);
    if node["matrix"].is_array() {
        return of_columns(&numbers(node, "matrix", identity));
    }
    let rotation = numbers(node, "rotation", [0.0, 0.0, 0.0, 1.0]);
    placed(numbers(node, "translation", [0.0; 3]), rotation, numbers(node, "scale", [1.0; 3]))
}

/// Returns `true` if two places differ by rounding only, compared with `largest`: the largest axis, and the largest distance.
pub(super) fn are_near(a: &Place, b: &Place, largest: [f64; 2]) -> bool {
    /// Floats are rounded to 6e-8; a chain of joints multiplies that.
    const TOLERANCE: f64 = 2e-5;
    a.iter().zip(b).all(|(a, b)| {
        let [axes, distance] = largest.map(|largest| largest * TOLERANCE);
        let limits = [axes, axes, axes, distance];
        // Singular matrices have no inverse with finite numbers.
        let are_infinite = |a: f64, b: f64| !a.is_finite() && !b.is_finite();
        a.iter().zip(b).zip(limits).all(|((a, b), limit)| (a - b).abs() <= limit || are_infinite(*a, *b))
    })
}

/// The largest number of the axes, and of the distances from the origin.
pub(super) fn largest<'a>(places: impl Iterator<Item = &'a Place>) -> [f64; 2] {
    places.flatten().fold([0.0; 2], |[axes, distance], row| {
        [row[..3].iter().fold(axes, |most, number| most.max(number.abs())), distance.max(row[3].abs())]
    })
}
