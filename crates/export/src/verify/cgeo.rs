//! CGeo: all snapshots of what was written.

use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use meshmap::cgeo::Parts;
use meshmap::cgeo::Proxy;
use meshmap::{Format, Scratch};

use super::expected::{self, Rules};
use super::gltf::{self, Channel, Gltf};
use super::pc2::PointCache;
use super::shape::{Materials, Shape, compare, same};
use super::tally::Tally;
use super::{charge, obj};
use crate::error::Result;
use crate::settings::Job;

pub(super) fn check_gltf(proxy: &Proxy, job: &Job<'_>, path: &Path, tally: &mut Tally) -> Result<()> {
    let rules = Rules::of(Format::CGeo, job);
    let Some(mut gltf) = gltf::open(path, &job.budget, tally)? else { return Ok(()) };
    let snapshots = job.snapshots(proxy)?;
    let mut rest = snapshots.iter().copied();
    let mut runs = Vec::new();
    for mesh in 0..gltf.mesh_count() {
        // A snapshot without triangles is not written.
        let first = loop {
            let Some(index) = rest.next() else {
                tally.differs(|| format!("meshes[{mesh}] is of no snapshot"));
                return Ok(());
            };
            if !expected::by_material(&proxy.snapshot(index)?.mesh(Parts::ALL)?, rules).is_empty() {
                break index;
            }
        };
        let parts = expected::by_material(&proxy.snapshot(first)?.mesh(Parts::ALL)?, rules);
        if parts.len() != gltf.primitive_count(mesh) {
            let found = gltf.primitive_count(mesh);
            tally.differs(|| {
                format!("meshes[{mesh}] has {found} parts, where the file has {} materials", parts.len())
            });
            return Ok(());
        }
        let mut shapes = Vec::new();
        for (primitive, expected) in parts.into_iter().enumerate() {
            let name = format!("snapshots[{first}], primitive {primitive}");
            let Some(mut found) = tally.read(gltf.shape(mesh, primitive)) else { return Ok(()) };
            // If they are merged, the vertices have the IDs, unless these are too large.
            if rules.merges() && !expected.materials.of.is_empty() {
                if gltf.material(mesh, primitive) != Some("material") {
                    tally.differs(|| format!("{name} does not have the one material"));
                }
                match tally.read(gltf.ids(mesh, primitive)) {
                    Some(Some(ids)) => {
                        let corners = found.corners.iter();
                        let of =
                            |[corner, ..]: &[u32; 3]| ids.get(*corner as usize).copied().unwrap_or(u32::MAX);
                        found.materials = Materials::by_id(corners.map(of), |id| id.to_string());
                    }
                    // IDs that are too large for floats are left out.
                    Some(None) if expected.materials.names.iter().any(|id| id.len() >= "16777217".len()) => {
                        found.materials = expected.materials.clone();
                    }
                    _ => tally.differs(|| format!("{name} has no material IDs")),
                }
            }
            compare(&name, &expected, &found, tally);
            shapes.push((expected, found));
        }
        runs.push((mesh, snapshots.len() - rest.len() - 1, gltf.target_count(mesh)));
        for target in 0..gltf.target_count(mesh) {
            let Some(index) = rest.next() else {
                tally.differs(|| format!("meshes[{mesh}] has the target {target}, which is of no snapshot"));
                return Ok(());
            };
            check_target(proxy, index, (mesh, target), &shapes, rules, &mut gltf, tally)?;
        }
    }
    for index in rest {
        if !expected::by_material(&proxy.snapshot(index)?.mesh(Parts::ALL)?, rules).is_empty() {
            tally.differs(|| format!("snapshots[{index}] was not written"));
        }
    }
    check_times(proxy, job, &snapshots, &mut gltf, tally);
    check_channels(&runs, snapshots.len(), &mut gltf, tally);
    Ok(())
}

/// Each snapshot is shown at its time: by the weights of targets, and by the scale of nodes if there are several meshes.
///
/// A run is a mesh, the place of its first snapshot, and the number of its targets.
fn check_channels(runs: &[(usize, usize, usize)], snapshots: usize, gltf: &mut Gltf, tally: &mut Tally) {
    if snapshots < 2 || runs.is_empty() {
        return;
    }
    let Some(channels) = tally.read(gltf.channels(0)) else { return };
    let mut values = HashMap::new();
    for Channel { node, path, values: numbers, .. } in &channels {
        values.entry((*node, path.as_str())).or_insert(numbers);
    }
    for (at, (mesh, first, targets)) in runs.iter().enumerate() {
        let end = runs.get(at + 1).map_or(snapshots, |(_, next, _)| *next);
        let node = gltf.node_of(*mesh);
        let find = |path| values.get(&(node, path)).map(|numbers: &&Vec<f64>| numbers.as_slice());
        let (all_weights, all_scales) = (find("weights"), find("scale"));
        let shown = |key: usize| (*first..end).contains(&key);
        let mut key_differs = |key: usize, is_same: bool| {
            if is_same {
                tally.equal("weights and scales that show snapshots");
            } else {
                tally.differs(|| format!("meshes[{mesh}] is not shown as the snapshot of key {key}"));
            }
        };
        for key in (0..snapshots).filter(|key| *targets > 0 && shown(*key)) {
            let weights = all_weights.and_then(|all| all.get(key * targets..(key + 1) * targets));
            // The first snapshot has no target; after the last one, it stays.
            let target = (key - first).min(*targets).checked_sub(1);
            let is_one = |(at, weight): (usize, &f64)| *weight == f64::from(u8::from(Some(at) == target));
            key_differs(key, weights.is_some_and(|weights| weights.iter().enumerate().all(is_one)));
        }
        for key in (0..snapshots).filter(|_| runs.len() > 1) {
            let scale = all_scales.and_then(|all| all.get(key * 3..key * 3 + 3));
            key_differs(key, scale == Some(&[f64::from(u8::from(shown(key))); 3]));
        }
    }
}

/// Base and target together are the positions of the snapshot.
fn check_target(
    proxy: &Proxy,
    index: usize,
    (mesh, target): (usize, usize),
    shapes: &[(Shape, Shape)],
    rules: Rules,
    gltf: &mut Gltf,
    tally: &mut Tally,
) -> Result<()> {
    let mut positions = Vec::new();
    proxy.snapshot(index)?.positions_into(&mut positions, &mut Scratch::default())?;
    let positions = rules.finite(positions);
    // Primitives of many materials share their vertices, and what moves them.
    let (mut before, mut moved_to) = (None, Vec::new());
    for (primitive, (expected, found)) in shapes.iter().enumerate() {
        let Some(accessor) = tally.read(gltf.target(mesh, primitive, target)) else { return Ok(()) };
        let this = Some((accessor, Rc::as_ptr(&found.positions)));
        if this != before {
            let Some(moved) = tally.read(gltf.triples(accessor)) else { return Ok(()) };
            moved_to = found.positions.to_vec();
            for (number, difference) in moved_to.as_flattened_mut().iter_mut().zip(moved.as_flattened()) {
                *number += difference;
            }
            before = this;
        }
        for (from, to) in expected.corners.as_flattened().iter().zip(found.corners.as_flattened()) {
            let [a, b] =
                [(&positions, from), (&moved_to, to)].map(|(all, index)| all.get(*index as usize).copied());
            same("positions of corners in other snapshots", a, b, || format!("snapshots[{index}]"), tally);
        }
    }
    Ok(())
}

fn check_times(proxy: &Proxy, job: &Job<'_>, snapshots: &[usize], gltf: &mut Gltf, tally: &mut Tally) {
    let Some(Some(times)) = tally.read(gltf.times()) else { return };
    let stored = proxy.timing().map(|timing| timing.step()).filter(|step| *step > 0.0);
    let step = job.fps.map(|rate| 1.0 / rate).or(stored).unwrap_or(1.0 / 24.0);
    let first = snapshots.first().copied().unwrap_or_default();
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "the nearest is meant")]
    let expected: Vec<f32> = snapshots.iter().map(|index| ((index - first) as f64 * step) as f32).collect();
    if times == expected {
        times.iter().for_each(|_| tally.equal("times"));
    } else {
        tally.differs(|| "the times of the snapshots are others".to_owned());
    }
}

pub(super) fn check_pc2(proxy: &Proxy, job: &Job<'_>, path: &Path, tally: &mut Tally) -> Result<()> {
    let rules = Rules::of(Format::CGeo, job);
    let Some(mut cache) = tally.read(PointCache::open(path)) else { return Ok(()) };
    charge::numbers(cache.sample_bytes(), &job.budget)?;
    let snapshots = job.snapshots(proxy)?;
    if cache.samples != snapshots.len() {
        tally.differs(|| format!("{} samples of {} snapshots", cache.samples, snapshots.len()));
        return Ok(());
    }
    let (mut positions, mut scratch) = (Vec::new(), Scratch::default());
    for index in snapshots {
        proxy.snapshot(index)?.positions_into(&mut positions, &mut scratch)?;
        positions = rules.finite(positions);
        let Some(found) = tally.read(cache.sample()) else { return Ok(()) };
        if found.len() != positions.len() {
            tally.differs(|| {
                format!(
                    "snapshots[{index}] has {} points, where {} were written",
                    positions.len(),
                    found.len()
                )
            });
        }
        for (from, to) in positions.iter().zip(found) {
            same("positions", Some(*from), Some(to), || format!("snapshots[{index}]"), tally);
        }
    }
    check_obj(proxy, job, &path.with_extension("obj"), tally)
}

pub(super) fn check_obj(proxy: &Proxy, job: &Job<'_>, path: &Path, tally: &mut Tally) -> Result<()> {
    let first = job.snapshots(proxy)?.first().copied().unwrap_or_default();
    let expected =
        expected::snapshot(&proxy.snapshot(first)?.mesh(Parts::ALL)?, Rules::of(Format::CGeo, job).of_obj());
    charge::file(path, &job.budget)?;
    match tally.read(obj::read(path)).as_deref() {
        Some([found]) => {
            compare("the object", &expected, found, tally);
            if found.positions != Rc::clone(&expected.positions) {
                tally.differs(|| "the positions of the object are not in the order of the file".to_owned());
            }
        }
        Some(objects) => tally.differs(|| format!("{} objects, where one is meant", objects.len())),
        None => {}
    }
    Ok(())
}
