//! USD: shapes, those with keys as time samples, and joints.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use meshmap::{Charge, Role, Scratch};
use meshmap_export::{Result, Target};
use meshmap_scene::{Buffer, Parts, Shape};

use super::materials::{Bound, Looks};
use super::{root, skeletons};
use crate::expected::Expected;
use crate::mesh::{Materials, Mesh, Stream, Weights, compare, points};
use crate::rules::Rules;
use crate::tally::{Read, Tally};
use crate::usdc::{self, Array, Prim, Stage};

pub(crate) fn check(rules: &Rules<'_>, path: &Path, tally: &mut Tally) -> Result<()> {
    // A missing file is reported as a difference.
    let length = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let mut charge = rules.meter.take(length, "the written file")?;
    let bytes = std::fs::read(path).map_err(|error| error.to_string());
    let Some(bytes) = tally.read(bytes) else {
        return Ok(());
    };
    let mut range = Some(0..bytes.len());
    if rules.convert.target == Target::Usdz {
        range = tally.read(usdc::range_in_package(&bytes));
    }
    let Some(bytes) = range.and_then(|range| bytes.get(range)) else {
        return Ok(());
    };
    let Some(stage) = stage(bytes, &mut charge, tally)? else {
        return Ok(());
    };
    root::check_usd(rules, &stage, tally);
    let is_mesh = |prim: &&Prim<'_>| matches!(prim.kind.as_str(), "Mesh" | "Points");
    let prims: Vec<&Prim<'_>> = stage.prims.iter().filter(is_mesh).collect();
    let mut shapes = Vec::new();
    for shape in rules.scene.shapes() {
        if is_written(rules, shape)? {
            shapes.push(shape);
        }
    }
    // Levels of detail are in variants: what is drawn, then the coarser ones, one level after another.
    let order = |shape: &Shape| match shape.role() {
        Role::Lod(level) if shape.is_coarser() => level + 2,
        Role::Lod(_) => 1,
        _ => 0,
    };
    shapes.sort_by_key(|shape| order(shape));
    if prims.len() != shapes.len() {
        let found = prims.len();
        let count = shapes.len();
        tally.differs(|| format!("{found} meshes, where the file has {count}"));
        return Ok(());
    }
    let looks = Looks::of(&stage);
    let order = rules.skeleton.as_ref().map(skeletons::order_of);
    let mut are_followed = false;
    let has_levels = rules.scene.shapes().iter().any(Shape::is_coarser);
    for (shape, prim) in shapes.into_iter().zip(prims) {
        check_times(rules, shape, &stage, tally);
        if has_levels {
            check_level(shape, prim, &stage, tally);
        }
        let Some(materials) = tally.read(looks.bound(prim)) else {
            return Ok(());
        };
        let mut checker = ShapeChecker {
            rules,
            shape,
            prim,
            materials,
            joints: order.as_deref().unwrap_or_default(),
            are_followed: false,
            tally,
        };
        checker.check()?;
        are_followed |= checker.are_followed;
    }
    skeletons::check(rules, are_followed, &stage, tally)
}

/// Checks that a level of detail is in the variant that is chosen, unless it is a coarser one.
fn check_level(shape: &Shape, prim: &Prim<'_>, stage: &Stage<'_>, tally: &mut Tally) {
    let chosen = stage.prims.iter().find_map(|prim| prim.variant.as_deref());
    let is_chosen = chosen.is_some_and(|chosen| prim.path.contains(&format!("/{chosen}/")));
    let is_in_variant = prim.path.contains('{');
    let is_level = matches!(shape.role(), Role::Lod(_));
    if is_in_variant == is_level && is_chosen == (is_level && !shape.is_coarser()) {
        tally.equal("levels of detail");
    } else {
        let path = &prim.path;
        tally.differs(|| format!("{path} is shown with another level of detail"));
    }
}

/// `true` if a prim is written for a shape: for all that have keys, and for the others if something of them is drawn.
fn is_written(rules: &Rules<'_>, shape: &Shape) -> Result<bool> {
    if shape.has_keys() || rules.scene.are_points() {
        return Ok(true);
    }
    let mut buffer = Buffer::default();
    shape.read(0, Parts::TRIANGLES, &mut buffer, &mut Scratch::default())?;
    let Some(corners) = buffer.position_corners() else {
        return Ok(false);
    };
    let mut triangles = corners.triangles();
    Ok(triangles.any(|corners| rules.keeps(corners)))
}

/// Compares the mesh of a shape.
struct ShapeChecker<'a, 'b, 'c> {
    rules: &'a Rules<'a>,
    shape: &'a Shape,
    prim: &'b Prim<'c>,
    materials: Bound<'b, 'c>,
    /// The joints in the order in which they are written.
    joints: &'a [usize],
    /// `true` if some vertices follow joints.
    are_followed: bool,
    tally: &'a mut Tally,
}

impl ShapeChecker<'_, '_, '_> {
    fn check(&mut self) -> Result<()> {
        const OF_MATERIAL: u64 = 256;
        let of_key = self.materials.count() as u64 * OF_MATERIAL;
        let lacks_materials = self.lacks_materials()?;
        let mut buffer = Buffer::default();
        let mut scratch = Scratch::default();
        for key in 0..self.shape.key_count() {
            self.shape
                .read(key, Parts::ALL, &mut buffer, &mut scratch)?;
            let _charge = self.rules.charge_mesh(&buffer)?;
            self.rules.meter.work(of_key, "comparison of materials")?;
            let mut expected = Expected::new(self.rules, self.shape, &buffer)?.mesh()?;
            if lacks_materials {
                expected.materials = Materials::default();
            }
            self.are_followed |= expected.weights.is_some();
            let are_merged = self.rules.merges_materials && buffer.material_ids().is_some();
            let found = self.found(time_of(self.shape, key), are_merged);
            let Some(found) = self.tally.read(found) else {
                return Ok(());
            };
            let address = self.shape.address_at(key);
            if self.shape.has_keys() && *found.positions != *expected.positions {
                self.tally
                    .differs(|| format!("{address} has other positions"));
            }
            compare(&address.to_string(), &expected, &found, self.tally);
        }
        Ok(())
    }

    /// The mesh at a time.
    fn found(&self, time: f64, are_merged: bool) -> Read<Mesh> {
        let mut mesh = mesh(self.prim, time)?;
        let triangles = mesh.corners.len();
        mesh.materials = self.materials.at(time, triangles, are_merged)?;
        mesh.colors = colors(self.prim, mesh.positions.len(), time)?;
        mesh.weights = self.weights(mesh.positions.len())?;
        Ok(mesh)
    }

    /// The joints and weights of vertices, with the numbers that joints have in the file.
    fn weights(&self, vertices: usize) -> Read<Option<Weights>> {
        let find = |name: &str| array_at(self.prim, name, 0.0);
        let joints = find("primvars:skel:jointIndices");
        let weights = find("primvars:skel:jointWeights");
        let (Some(joints), Some(weights)) = (joints, weights) else {
            return Ok(None);
        };
        if !self.prim.targets.contains_key("skel:skeleton") {
            return Err(format!("{} is not bound to a skeleton", self.prim.path));
        }
        let joints: Vec<i32> = joints.ints().collect();
        let weights: Vec<f32> = weights.floats().collect();
        let each = weights.len() / vertices.max(1);
        if !(1..=4).contains(&each) || [joints.len(), weights.len()] != [each * vertices; 2] {
            let path = &self.prim.path;
            return Err(format!("{path} has {each} joints of each vertex"));
        }
        // The joint that rests comes after the others.
        let number_of = |place: i32| {
            let joint = usize::try_from(place).ok();
            let joint = joint.and_then(|place| self.joints.get(place));
            joint.map_or(place as f32, |joint| *joint as f32)
        };
        let mut found = Weights {
            joints: Rc::default(),
            weights: Rc::default(),
            rest: Some(self.joints.len() as f32),
        };
        for (joints, weights) in joints.chunks_exact(each).zip(weights.chunks_exact(each)) {
            let mut four = ([0.0; 4], [0.0; 4]);
            for (place, (joint, weight)) in joints.iter().zip(weights).enumerate() {
                four.0[place] = number_of(*joint);
                four.1[place] = *weight;
            }
            Rc::make_mut(&mut found.joints).push(four.0);
            Rc::make_mut(&mut found.weights).push(four.1);
        }
        Ok(Some(found))
    }

    /// `true` if materials are left out, because not every key has them.
    fn lacks_materials(&self) -> Result<bool> {
        if self.materials.count() > 0 {
            return Ok(false);
        }
        let mut buffer = Buffer::default();
        let mut scratch = Scratch::default();
        for key in 0..self.shape.key_count() {
            self.shape
                .read(key, Parts::TRIANGLES, &mut buffer, &mut scratch)?;
            if buffer.triangle_count() > 0 && buffer.material_ids().is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The time code of a key.
fn time_of(shape: &Shape, key: usize) -> f64 {
    shape.steps_of(key) - shape.steps_of(0)
}

/// Compares the times of a stage with a shape that has several keys.
fn check_times(rules: &Rules<'_>, shape: &Shape, stage: &Stage<'_>, tally: &mut Tally) {
    let count = shape.key_count();
    if count < 2 {
        return;
    }
    let rate = rules.snapshot_rate(shape);
    for (name, expected) in [
        ("startTimeCode", 0.0),
        ("endTimeCode", time_of(shape, count - 1)),
        ("timeCodesPerSecond", rate),
    ] {
        let found = stage.numbers.get(name);
        if found == Some(&expected) {
            tally.equal("times");
        } else {
            tally.differs(|| format!("{name} is {found:?}, where {expected} is meant"));
        }
    }
}

/// The content of a file. Its tables, its samples and the numbers of one mesh are charged.
fn stage<'a>(
    bytes: &'a [u8],
    charge: &mut Charge<'_>,
    tally: &mut Tally,
) -> Result<Option<Stage<'a>>> {
    const OF_TABLE_BYTE: u64 = 24;
    /// The numbers, as they are converted.
    const OF_NUMBER_BYTE: u64 = 4;
    let tables = usdc::table_bytes(bytes).unwrap_or_default();
    let tables = tables.saturating_mul(OF_TABLE_BYTE);
    charge.grow(tables, "names and paths of the written file")?;
    let Some(tables) = tally.read(usdc::Tables::read(bytes)) else {
        return Ok(None);
    };
    let Some(samples) = tally.read(tables.sample_bytes()) else {
        return Ok(None);
    };
    charge.grow(samples, "samples of the written file")?;
    let Some(stage) = tally.read(usdc::stage(&tables)) else {
        return Ok(None);
    };
    let largest = stage.prims.iter().map(Prim::largest_bytes).max();
    let largest = largest.unwrap_or_default().saturating_mul(OF_NUMBER_BYTE);
    charge.grow(largest, "numbers of the written file")?;
    Ok(Some(stage))
}

/// The sets of colours of a mesh at a time.
fn colors(prim: &Prim<'_>, vertices: usize, time: f64) -> Read<BTreeMap<u32, Rc<Vec<[f32; 4]>>>> {
    /// The most sets of colours that are looked for.
    const SETS: u32 = 16;
    let mut colors = BTreeMap::new();
    if let Some(shown) = elements::<3>(prim, "primvars:displayColor", time)? {
        let mut shown: Vec<[f32; 4]> = shown.into_iter().map(opaque).collect();
        let opacity = elements::<1>(prim, "primvars:displayOpacity", time)?;
        for ([.., alpha], [opacity]) in shown.iter_mut().zip(opacity.unwrap_or_default()) {
            *alpha = opacity;
        }
        colors.insert(0, Rc::new(shown));
    }
    for set in 0..SETS {
        let name = format!("primvars:color{set}");
        let Some(array) = array_at(prim, &name, time) else {
            continue;
        };
        let values = if array.floats().len() == vertices * 4 {
            elements::<4>(prim, &name, time)?.unwrap_or_default()
        } else {
            let values = elements::<3>(prim, &name, time)?.unwrap_or_default();
            values.into_iter().map(opaque).collect()
        };
        colors.entry(set).or_insert_with(|| Rc::new(values));
    }
    Ok(colors)
}

fn opaque([r, g, b]: [f32; 3]) -> [f32; 4] {
    [r, g, b, 1.0]
}

/// A mesh at a time, without materials and colours.
fn mesh(prim: &Prim<'_>, time: f64) -> Read<Mesh> {
    let path = &prim.path;
    if let Some(counts) = array_at(prim, "faceVertexCounts", time)
        && counts.ints().any(|count| count != 3)
    {
        return Err(format!("{path} has faces that are no triangles"));
    }
    let positions = elements(prim, "points", time)?;
    let positions = positions.ok_or_else(|| format!("{path} has no points"))?;
    let corners = if prim.kind == "Points" {
        points(positions.len())
    } else {
        corners(prim, "faceVertexIndices", time)?.unwrap_or_default()
    };
    let mut normals = stream(prim, "primvars:normals", time)?;
    if normals.is_none() {
        normals = stream(prim, "normals", time)?;
    }
    let mut coords = Vec::new();
    while let Some(set) = stream(prim, &name_of_set(coords.len()), time)? {
        coords.push(set);
    }
    Ok(Mesh {
        positions: Rc::new(positions),
        corners,
        normals,
        coords,
        ..Mesh::default()
    })
}

/// The name of a set of texture coordinates.
fn name_of_set(set: usize) -> String {
    if set == 0 {
        "primvars:st".to_owned()
    } else {
        format!("primvars:st{set}")
    }
}

fn stream<const N: usize>(prim: &Prim<'_>, name: &str, time: f64) -> Read<Option<Stream<N>>> {
    let Some(values) = elements(prim, name, time)? else {
        return Ok(None);
    };
    let corners = corners(prim, &format!("{name}:indices"), time)?;
    Ok(Some(Stream {
        values: Rc::new(values),
        corners,
    }))
}

fn array_at<'a>(prim: &Prim<'a>, name: &str, time: f64) -> Option<Array<'a>> {
    prim.arrays.get(name)?.at(time)
}

fn elements<const N: usize>(prim: &Prim<'_>, name: &str, time: f64) -> Read<Option<Vec<[f32; N]>>> {
    let Some(array) = array_at(prim, name, time) else {
        return Ok(None);
    };
    let numbers: Vec<f32> = array.floats().collect();
    let (elements, rest) = numbers.as_chunks::<N>();
    if rest.is_empty() {
        return Ok(Some(elements.to_vec()));
    }
    let path = &prim.path;
    let count = numbers.len();
    Err(format!(
        "{path}.{name} has {count} numbers, which are no elements of {N}"
    ))
}

fn corners(prim: &Prim<'_>, name: &str, time: f64) -> Read<Option<Vec<[u32; 3]>>> {
    let Some(array) = array_at(prim, name, time) else {
        return Ok(None);
    };
    let mut indices = Vec::with_capacity(array.ints().len());
    for index in array.ints() {
        let index = u32::try_from(index).map_err(|_| format!("the index {index}"))?;
        indices.push(index);
    }
    let (corners, rest) = indices.as_chunks::<3>();
    if rest.is_empty() {
        return Ok(Some(corners.to_vec()));
    }
    let path = &prim.path;
    Err(format!("{path}.{name} has corners that are of no triangle"))
}
