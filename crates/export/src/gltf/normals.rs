//! Normals of unit length, which glTF asks for.

use meshmap_scene::vector::{dot, face_normal, unit_of_f64};

use crate::outcome::Outcome;

/// Maximum difference from 1 of the length of a normal that is kept; validators allow a little more.
const TOLERANCE: f64 = 0.0006;

/// Normalizes normals that do not have unit length; normals of length 0 become the triangle's normal.
pub(super) fn make_unit(
    normals: &mut [[f32; 3]],
    positions: &[[f32; 3]],
    triangles: &[[u32; 3]],
    outcome: &mut Outcome,
) {
    let (mut scaled, mut replaced) = (0, 0);
    let mut missing = Vec::new();
    for (index, normal) in normals.iter_mut().enumerate() {
        match unit(*normal) {
            Unit::Is => {}
            Unit::Becomes(other) => {
                *normal = other;
                scaled += 1;
            }
            Unit::None => missing.push(index),
        }
    }
    if !missing.is_empty() {
        for index in &missing {
            if let Some(normal) = normals.get_mut(*index) {
                *normal = [0.0; 3];
            }
        }
        for triangle in triangles {
            let [Some(a), Some(b), Some(c)] =
                triangle.map(|corner| positions.get(corner as usize).copied())
            else {
                continue;
            };
            let Some(front) = unit_of_f64(face_normal([a, b, c])) else {
                continue;
            };
            for corner in triangle {
                if let Some(normal) = normals.get_mut(*corner as usize)
                    && *normal == [0.0; 3]
                {
                    *normal = front;
                }
            }
        }
        for index in missing {
            replaced += 1;
            if let Some(normal) = normals.get_mut(index)
                && *normal == [0.0; 3]
            {
                *normal = [0.0, 0.0, 1.0];
            }
        }
    }
    outcome.change("normals that were not of unit length, now are", scaled);
    outcome.change("normals of length 0, now that of a triangle", replaced);
}

/// Turns normals so that a node with this scale, which turns them back, shows them as they were.
pub(super) fn against_scale(normals: &mut [[f32; 3]], scale: [f32; 4]) {
    for normal in normals {
        let mut wide = *normal;
        for (number, scale) in wide.iter_mut().zip(scale) {
            *number *= scale;
        }
        match unit(wide) {
            Unit::Is => *normal = wide,
            Unit::Becomes(unit) => *normal = unit,
            Unit::None => {}
        }
    }
}

/// Returns `true` if all tangents have unit length, or can be normalized, and have a sign.
pub(super) fn make_unit_tangents(tangents: &mut [[f32; 4]], outcome: &mut Outcome) -> bool {
    let mut scaled = 0;
    for tangent in tangents.iter_mut() {
        let [x, y, z, sign] = *tangent;
        if sign.abs() != 1.0 {
            return false;
        }
        match unit([x, y, z]) {
            Unit::Is => {}
            Unit::Becomes([x, y, z]) => {
                *tangent = [x, y, z, sign];
                scaled += 1;
            }
            Unit::None => return false,
        }
    }
    outcome.change("tangents that were not of unit length, now are", scaled);
    true
}

enum Unit {
    Is,
    Becomes([f32; 3]),
    None,
}

fn unit(vector: [f32; 3]) -> Unit {
    let wide = vector.map(f64::from);
    let length = dot(wide, wide).sqrt();
    if (length - 1.0).abs() <= TOLERANCE {
        return Unit::Is;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the nearest is what is written"
    )]
    let scaled = wide.map(|number| (number / length) as f32);
    let is_unit = length > 0.0 && (dot(scaled, scaled) - 1.0).abs() < 1e-3;
    if is_unit {
        Unit::Becomes(scaled)
    } else {
        Unit::None
    }
}
