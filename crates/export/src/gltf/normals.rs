//! Normals of unit length, which glTF asks for.

use meshmap_job::Change;
use meshmap_scene::vector::{cross, dot, face_normal, unit_of_f64};

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
    let mut scaled = 0;
    let mut replaced = 0;
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
    outcome.report.change(Change::NormalsScaled, scaled);
    outcome.report.change(Change::NormalsReplaced, replaced);
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

/// The changes of tangents.
#[derive(Default)]
pub(super) struct MadeTangents {
    /// The number of tangents that have another length.
    pub(super) scaled: u64,
    /// The indices of tangents without a length or a sign.
    pub(super) replaced: Vec<usize>,
}

/// Normalizes tangents that do not have unit length. Tangents without a length or a sign become a direction that is upright on the normal.
pub(super) fn make_unit_tangents(tangents: &mut [[f32; 4]], normals: &[[f32; 3]]) -> MadeTangents {
    let mut made = MadeTangents::default();
    for (index, tangent) in tangents.iter_mut().enumerate() {
        let [x, y, z, sign] = *tangent;
        match unit([x, y, z]) {
            Unit::Is if sign.abs() == 1.0 => {}
            Unit::Becomes([x, y, z]) if sign.abs() == 1.0 => {
                *tangent = [x, y, z, sign];
                made.scaled += 1;
            }
            _ => {
                let normal = normals.get(index).copied().unwrap_or([0.0, 0.0, 1.0]);
                let [x, y, z] = along_surface(normal);
                *tangent = [x, y, z, 1.0];
                made.replaced.push(index);
            }
        }
    }
    made
}

/// A direction of unit length that is upright on a normal.
fn along_surface(normal: [f32; 3]) -> [f32; 3] {
    let normal = normal.map(f64::from);
    // The axis that is farthest from the normal.
    let axis = if normal[0].abs() < 0.6 {
        [1.0, 0.0, 0.0]
    } else {
        [0.0, 1.0, 0.0]
    };
    unit_of_f64(cross(normal, axis)).unwrap_or([1.0, 0.0, 0.0])
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
