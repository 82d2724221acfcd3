//! CGeo: all snapshots of what was written.

use std::path::Path;
use std::rc::Rc;

use meshmap::cgeo::Proxy;
use meshmap::{Format, Scratch};

use super::expected::{self, Rules};
use super::gltf::{self, Gltf};
use super::pc2::PointCache;
use super::shape::{Shape, compare, same};
use super::tally::Tally;
use super::{charge, obj};
use crate::error::Result;
use crate::settings::Job;

pub(super) fn check_gltf(proxy: &Proxy, job: &Job<'_>, path: &Path, tally: &mut Tally) -> Result<()> {
    let rules = Rules::of(Format::CGeo, job);
    let Some(mut gltf) = gltf::open(path, &job.budget, tally)? else { return Ok(()) };
    let snapshots = job.snapshots(proxy)?;
    let mut rest = snapshots.iter().copied();
    for mesh in 0..gltf.mesh_count() {
        // A snapshot without triangles is not written.
        let first = loop {
            let Some(index) = rest.next() else {
                tally.differs(|| format!("meshes[{mesh}] is of no snapshot"));
                return Ok(());
            };
            if proxy.snapshot(index)?.counts()?.triangles > 0 {
                break index;
            }
        };
        let parts = expected::by_material(&proxy.snapshot(first)?.mesh()?, rules);
        if parts.len() != gltf.primitive_count(mesh) {
            let found = gltf.primitive_count(mesh);
            tally.differs(|| {
                format!("meshes[{mesh}] has {found} parts, where the file has {} materials", parts.len())
            });
            return Ok(());
        }
        let mut shapes = Vec::new();
        for (primitive, (id, expected)) in parts.into_iter().enumerate() {
            let name = format!("snapshots[{first}], material {id}");
            let material = gltf.material(mesh, primitive).map(str::to_owned);
            if material.is_some_and(|material| material != format!("material_{id}")) {
                tally.differs(|| format!("{name} is of another material"));
            }
            let Some(found) = tally.read(gltf.shape(mesh, primitive)) else { return Ok(()) };
            compare(&name, &expected, &found, tally);
            shapes.push((expected, found));
        }
        for target in 0..gltf.target_count(mesh) {
            let Some(index) = rest.next() else {
                tally.differs(|| format!("meshes[{mesh}] has the target {target}, which is of no snapshot"));
                return Ok(());
            };
            check_target(proxy, index, (mesh, target), &shapes, rules, &mut gltf, tally)?;
        }
    }
    for index in rest {
        if proxy.snapshot(index)?.counts()?.triangles > 0 {
            tally.differs(|| format!("snapshots[{index}] was not written"));
        }
    }
    check_times(proxy, job, &snapshots, &mut gltf, tally);
    Ok(())
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
    let step = job.rate.map(|rate| 1.0 / rate).or(stored).unwrap_or(1.0 / 24.0);
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
    let expected = expected::snapshot(&proxy.snapshot(first)?.mesh()?, Rules::of(Format::CGeo, job).of_obj());
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
