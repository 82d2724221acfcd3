//! PLY and STL, in which all shapes are one mesh.

use std::path::Path;
use std::rc::Rc;

use meshmap::{Scratch, Semantic};
use meshmap_export::{Result, Target};
use meshmap_scene::{Buffer, Parts, Shape};

use crate::expected::Expected;
use crate::mesh::{Materials, Mesh, compare};
use crate::rules::Rules;
use crate::tally::Tally;
use crate::{ply, stl};

/// Compares a PLY or an STL with the first keys of all shapes.
pub(crate) fn check(rules: &Rules<'_>, path: &Path, tally: &mut Tally) -> Result<()> {
    let is_ply = rules.target == Target::Ply;
    let memory = if is_ply {
        ply::memory(path)
    } else {
        stl::memory(path)
    };
    let _charge = rules.meter.take(memory, "numbers of the written file")?;
    let found = if is_ply {
        ply::read(path)
    } else {
        stl::read(path)
    };
    let Some(found) = tally.read(found) else {
        return Ok(());
    };
    let common = Common::of(rules)?;
    let has_ids = !found.materials.of.is_empty();
    if is_ply && common.needs_ids && !has_ids {
        tally.differs(|| "the triangles have no material IDs".to_owned());
    }
    let mut first = 0;
    for (index, shape) in rules.scene.shapes().iter().enumerate() {
        let buffer = read(shape, rules)?;
        let _charge = rules.charge_mesh(&buffer)?;
        let mut expected = Expected::new(rules, shape, &buffer)?.mesh()?;
        if !common.have_colors {
            expected.colors.clear();
        }
        if !common.have_weights {
            expected.weights = None;
        }
        expected.materials = if has_ids {
            materials(index, &buffer, &expected)
        } else {
            Materials::default()
        };
        let end = first + expected.corners.len();
        let Some(part) = part(&found, first, end) else {
            let count = found.corners.len();
            tally.differs(|| format!("{count} triangles, where the file has more"));
            return Ok(());
        };
        compare(&shape.address().to_string(), &expected, &part, tally);
        first = end;
    }
    let count = found.corners.len();
    if first != count {
        tally.differs(|| format!("{count} triangles, where the file has {first}"));
    }
    Ok(())
}

/// A shape with one index for all attributes; the points of a snapshot are its positions, because nothing refers to the others.
fn read(shape: &Shape, rules: &Rules<'_>) -> Result<Buffer> {
    let mut buffer = Buffer::default();
    if rules.scene.are_points() && shape.has_keys() {
        let parts = Parts::POSITIONS | Parts::TRIANGLES;
        shape.read(0, parts, &mut buffer, &mut Scratch::default())?;
    } else {
        shape.read_vertices(0, Parts::ALL, &mut buffer)?;
    }
    Ok(buffer)
}

/// The attributes that all shapes have: the others are left out.
struct Common {
    have_colors: bool,
    have_weights: bool,
    /// `true` if triangles have several materials.
    needs_ids: bool,
}

impl Common {
    fn of(rules: &Rules<'_>) -> Result<Self> {
        let mut common = Self {
            have_colors: true,
            have_weights: true,
            needs_ids: false,
        };
        let mut first_id = None;
        for (index, shape) in rules.scene.shapes().iter().enumerate() {
            let buffer = read(shape, rules)?;
            let _charge = rules.charge_mesh(&buffer)?;
            let expected = Expected::new(rules, shape, &buffer)?.mesh()?;
            common.have_colors &= expected.colors.contains_key(&0);
            common.have_weights &= expected.weights.is_some() && has_four_weights(shape);
            if buffer.triangle_count() == 0 || expected.corners.is_empty() {
                continue;
            }
            let ids = materials(index, &buffer, &expected);
            for id in ids.names.iter() {
                let first_id = first_id.get_or_insert_with(|| id.clone());
                common.needs_ids |= first_id != id;
            }
        }
        Ok(common)
    }
}

/// `true` if vertices have four joints and four weights.
fn has_four_weights(shape: &Shape) -> bool {
    let has_four = |semantic| {
        let mut attributes = shape.attributes().iter();
        attributes.any(|info| info.semantic == semantic && info.format.components == 4)
    };
    has_four(Semantic::Joints(0)) && has_four(Semantic::Weights(0))
}

/// The material IDs of triangles. A shape without IDs has one, its number.
fn materials(index: usize, buffer: &Buffer, expected: &Mesh) -> Materials {
    match buffer.material_ids() {
        Some(_) => expected.materials.clone(),
        None => Materials::one(Some(&index.to_string())),
    }
}

/// Some triangles of a mesh; `None` if it has fewer.
fn part(found: &Mesh, first: usize, end: usize) -> Option<Mesh> {
    let of = found.materials.of.get(first..end);
    Some(Mesh {
        positions: Rc::clone(&found.positions),
        corners: found.corners.get(first..end)?.to_vec(),
        normals: found.normals.clone(),
        coords: found.coords.clone(),
        colors: found.colors.clone(),
        weights: found.weights.clone(),
        materials: Materials {
            names: Rc::clone(&found.materials.names),
            of: of.unwrap_or_default().to_vec(),
        },
    })
}
