//! CGeo: all snapshots of what was written.

use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use meshmap::Scratch;
use meshmap::cgeo::Parts;

use super::expected::Expected;
use super::gltf::{self, Channel, Gltf};
use super::pc2::PointCache;
use super::shape::{Materials, Shape, compare, same};
use super::tally::Tally;
use super::{charge, obj, root};
use crate::error::Result;
use crate::outcome::Outcome;
use crate::scene::assume;
use crate::scene::cgeo::Snapshots;
use crate::settings::{Job, Target};

pub(super) fn check_gltf(
    snapshots: &Snapshots,
    expected: &Expected<'_>,
    path: &Path,
    tally: &mut Tally,
) -> Result<()> {
    let job = expected.job;
    let Some(mut gltf) = gltf::open(path, &job.budget, tally)? else {
        return Ok(());
    };
    root::check_gltf(expected.scene, job, &gltf, tally);
    let parts_of = |index| expected.by_material(&snapshots.at(index)?.mesh(Parts::ALL)?);
    let count = snapshots.indices.len();
    let mut rest = snapshots.indices.iter().copied();
    let mut runs = Vec::new();
    for mesh in 0..gltf.mesh_count() {
        // A snapshot without triangles is not written.
        let (first, parts) = loop {
            let Some(index) = rest.next() else {
                tally.differs(|| format!("meshes[{mesh}] is of no snapshot"));
                return Ok(());
            };
            let parts = parts_of(index)?;
            if !parts.is_empty() {
                break (index, parts);
            }
        };
        if parts.len() != gltf.primitive_count(mesh) {
            let found = gltf.primitive_count(mesh);
            tally.differs(|| {
                format!(
                    "meshes[{mesh}] has {found} parts, where the file has {} materials",
                    parts.len()
                )
            });
            return Ok(());
        }
        let mut shapes = Vec::new();
        for (primitive, shape) in parts.into_iter().enumerate() {
            let name = format!("snapshots[{first}], primitive {primitive}");
            let Some(mut found) = tally.read(gltf.shape(mesh, primitive)) else {
                return Ok(());
            };
            // If they are merged, the vertices have the IDs, unless these are too large.
            if job.merges_materials() && !shape.materials.of.is_empty() {
                if gltf.material(mesh, primitive) != Some("material") {
                    tally.differs(|| format!("{name} does not have the one material"));
                }
                match tally.read(gltf.ids(mesh, primitive)) {
                    Some(Some(ids)) => {
                        let corners = found.corners.iter();
                        let of = |[corner, ..]: &[u32; 3]| {
                            ids.get(*corner as usize).copied().unwrap_or(u32::MAX)
                        };
                        found.materials = Materials::by_id(corners.map(of), |id| id.to_string());
                    }
                    // IDs that are too large for floats are left out.
                    Some(None)
                        if shape
                            .materials
                            .names
                            .iter()
                            .any(|id| id.len() >= "16777217".len()) =>
                    {
                        found.materials = shape.materials.clone();
                    }
                    _ => tally.differs(|| format!("{name} has no material IDs")),
                }
            }
            compare(&name, &shape, &found, tally);
            shapes.push((shape, found));
        }
        runs.push((mesh, count - rest.len() - 1, gltf.target_count(mesh)));
        for target in 0..gltf.target_count(mesh) {
            let Some(index) = rest.next() else {
                tally.differs(|| {
                    format!("meshes[{mesh}] has the target {target}, which is of no snapshot")
                });
                return Ok(());
            };
            let mut positions = Vec::new();
            snapshots
                .at(index)?
                .positions_into(&mut positions, &mut Scratch::default())?;
            let positions = expected.finite(positions);
            check_target(
                (index, &positions),
                (mesh, target),
                &shapes,
                &mut gltf,
                tally,
            );
        }
    }
    for index in rest {
        if !parts_of(index)?.is_empty() {
            tally.differs(|| format!("snapshots[{index}] was not written"));
        }
    }
    check_times(snapshots, job, &mut gltf, tally);
    check_channels(&runs, count, &mut gltf, tally);
    Ok(())
}

/// Each snapshot is shown at its time: by the weights of targets, and by the scale of nodes if there are several meshes.
///
/// A run is a mesh, the place of its first snapshot, and the number of its targets.
fn check_channels(
    runs: &[(usize, usize, usize)],
    snapshots: usize,
    gltf: &mut Gltf,
    tally: &mut Tally,
) {
    if snapshots < 2 || runs.is_empty() {
        return;
    }
    let Some(channels) = tally.read(gltf.channels(0)) else {
        return;
    };
    let mut values = HashMap::new();
    for Channel {
        node,
        path,
        values: numbers,
        ..
    } in &channels
    {
        values.entry((*node, path.as_str())).or_insert(numbers);
    }
    for (at, (mesh, first, targets)) in runs.iter().enumerate() {
        let end = runs.get(at + 1).map_or(snapshots, |(_, next, _)| *next);
        let node = gltf.node_of(*mesh);
        let find = |path| {
            values
                .get(&(node, path))
                .map(|numbers: &&Vec<f64>| numbers.as_slice())
        };
        let (all_weights, all_scales) = (find("weights"), find("scale"));
        let shown = |key: usize| (*first..end).contains(&key);
        let mut key_differs = |key: usize, is_same: bool| {
            if is_same {
                tally.equal("weights and scales that show snapshots");
            } else {
                tally.differs(|| {
                    format!("meshes[{mesh}] is not shown as the snapshot of key {key}")
                });
            }
        };
        for key in (0..snapshots).filter(|key| *targets > 0 && shown(*key)) {
            let weights = all_weights.and_then(|all| all.get(key * targets..(key + 1) * targets));
            // The first snapshot has no target; after the last one, it stays.
            let target = (key - first).min(*targets).checked_sub(1);
            let is_one =
                |(at, weight): (usize, &f64)| *weight == f64::from(u8::from(Some(at) == target));
            key_differs(
                key,
                weights.is_some_and(|weights| weights.iter().enumerate().all(is_one)),
            );
        }
        for key in (0..snapshots).filter(|_| runs.len() > 1) {
            let scale = all_scales.and_then(|all| all.get(key * 3..key * 3 + 3));
            key_differs(key, scale == Some(&[f64::from(u8::from(shown(key))); 3]));
        }
    }
}

/// Base and target together are the positions of the snapshot.
fn check_target(
    (index, positions): (usize, &[[f32; 3]]),
    (mesh, target): (usize, usize),
    shapes: &[(Shape, Shape)],
    gltf: &mut Gltf,
    tally: &mut Tally,
) {
    // Primitives of many materials share their vertices, and what moves them.
    let (mut before, mut moved_to) = (None, Vec::new());
    for (primitive, (expected, found)) in shapes.iter().enumerate() {
        let Some(accessor) = tally.read(gltf.target(mesh, primitive, target)) else {
            return;
        };
        let this = Some((accessor, Rc::as_ptr(&found.positions)));
        if this != before {
            let Some(moved) = tally.read(gltf.triples(accessor)) else {
                return;
            };
            moved_to = found.positions.to_vec();
            for (number, difference) in moved_to
                .as_flattened_mut()
                .iter_mut()
                .zip(moved.as_flattened())
            {
                *number += difference;
            }
            before = this;
        }
        for (from, to) in expected
            .corners
            .as_flattened()
            .iter()
            .zip(found.corners.as_flattened())
        {
            let [a, b] = [(positions, from), (moved_to.as_slice(), to)]
                .map(|(all, index)| all.get(*index as usize).copied());
            same(
                "positions of corners in other snapshots",
                a,
                b,
                || format!("snapshots[{index}]"),
                tally,
            );
        }
    }
}

fn check_times(snapshots: &Snapshots, job: &Job<'_>, gltf: &mut Gltf, tally: &mut Tally) {
    let Some(Some(times)) = tally.read(gltf.times()) else {
        return;
    };
    let step = assume::step(snapshots, job, &mut Outcome::default());
    let snapshots = &snapshots.indices;
    let first = snapshots.first().copied().unwrap_or_default();
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "the nearest is meant"
    )]
    let expected: Vec<f32> = snapshots
        .iter()
        .map(|index| ((index - first) as f64 * step) as f32)
        .collect();
    if times == expected {
        times.iter().for_each(|_| tally.equal("times"));
    } else {
        tally.differs(|| "the times of the snapshots are others".to_owned());
    }
}

pub(super) fn check_pc2(
    snapshots: &Snapshots,
    expected: &Expected<'_>,
    path: &Path,
    tally: &mut Tally,
) -> Result<()> {
    let Some(mut cache) = tally.read(PointCache::open(path)) else {
        return Ok(());
    };
    charge::numbers(cache.sample_bytes(), &expected.job.budget)?;
    if cache.samples != snapshots.indices.len() {
        let count = snapshots.indices.len();
        tally.differs(|| format!("{} samples of {count} snapshots", cache.samples));
        return Ok(());
    }
    let (mut positions, mut scratch) = (Vec::new(), Scratch::default());
    for index in snapshots.indices.iter().copied() {
        snapshots
            .at(index)?
            .positions_into(&mut positions, &mut scratch)?;
        positions = expected.placed(positions);
        let Some(found) = tally.read(cache.sample()) else {
            return Ok(());
        };
        if found.len() != positions.len() {
            let (stored, found) = (positions.len(), found.len());
            tally.differs(|| {
                format!("snapshots[{index}] has {stored} points, where {found} were written")
            });
        }
        for (from, to) in positions.iter().zip(found) {
            same(
                "positions",
                Some(*from),
                Some(to),
                || format!("snapshots[{index}]"),
                tally,
            );
        }
    }
    check_obj(snapshots, expected, &path.with_extension("obj"), tally)
}

pub(super) fn check_obj(
    snapshots: &Snapshots,
    expected: &Expected<'_>,
    path: &Path,
    tally: &mut Tally,
) -> Result<()> {
    let shape = expected.snapshot(&snapshots.first()?.mesh(Parts::ALL)?)?;
    charge::file(path, Target::Obj, &expected.job.budget)?;
    match tally.read(obj::read(path)).as_deref() {
        Some([found]) => {
            compare("the object", &shape, found, tally);
            if found.positions != shape.positions {
                tally.differs(|| {
                    "the positions of the object are not in the order of the file".to_owned()
                });
            }
        }
        Some(objects) => tally.differs(|| format!("{} objects, where one is meant", objects.len())),
        None => {}
    }
    Ok(())
}
