//! USD: meshes, and the snapshots of CGeo files as time samples.

use std::path::Path;
use std::rc::Rc;

use meshmap::cgeo::Proxy;
use meshmap::{Format, MeshView};

use super::charge;
use super::expected::{self, Origin, Rules};
use super::shape::{Shape, Stream, compare};
use super::tally::Tally;
use super::usdc::{self, Prim, Stage};
use crate::budget::Budget;
use crate::error::Result;
use crate::settings::Job;

type Read<T> = std::result::Result<T, String>;

pub(super) fn check_cgeo(proxy: &Proxy, job: &Job<'_>, path: &Path, tally: &mut Tally) -> Result<()> {
    let rules = Rules::of(Format::CGeo, job);
    let Some(bytes) = read(path, &job.budget, tally)? else { return Ok(()) };
    let Some(stage) = stage(&bytes, &job.budget, tally)? else { return Ok(()) };
    let snapshots = job.snapshots(proxy)?;
    let meshes = meshes(&stage);
    let [mesh] = meshes.as_slice() else {
        tally.differs(|| format!("{} meshes, where one is meant", meshes.len()));
        return Ok(());
    };
    let first = snapshots.first().copied().unwrap_or_default();
    for index in snapshots {
        #[expect(clippy::cast_precision_loss, reason = "there are fewer snapshots than that")]
        let time = (index - first) as f64;
        let expected = expected::snapshot(&proxy.snapshot(index)?.mesh()?, rules);
        let name = format!("snapshots[{index}]");
        let Some(found) = tally.read(shape(mesh, time)) else { return Ok(()) };
        if *found.positions != *expected.positions {
            tally.differs(|| format!("{name} has other positions"));
        }
        compare(&name, &expected, &found, tally);
    }
    Ok(())
}

pub(super) fn check_views(
    views: &[&MeshView],
    origin: &Origin,
    path: &Path,
    budget: &Budget,
    tally: &mut Tally,
) -> Result<()> {
    let Some(bytes) = read(path, budget, tally)? else { return Ok(()) };
    let Some(stage) = stage(&bytes, budget, tally)? else { return Ok(()) };
    let meshes = meshes(&stage);
    if meshes.len() != views.len() {
        tally.differs(|| format!("{} meshes, where the file has {}", meshes.len(), views.len()));
        return Ok(());
    }
    for (view, mesh) in views.iter().zip(meshes) {
        let Some(found) = tally.read(shape(mesh, 0.0)) else { return Ok(()) };
        compare(&view.address().to_string(), &origin.shape(view, false)?, &found, tally);
    }
    Ok(())
}

/// The bytes of a file, `None` where it cannot be read.
fn read(path: &Path, budget: &Budget, tally: &mut Tally) -> Result<Option<Vec<u8>>> {
    budget.charge(charge::length(path), "the written file")?;
    Ok(tally.read(std::fs::read(path).map_err(|error| error.to_string())))
}

/// What a file holds, of which one mesh at one time is made into a shape.
fn stage<'a>(bytes: &'a [u8], budget: &Budget, tally: &mut Tally) -> Result<Option<Stage<'a>>> {
    const OF_TABLE_BYTE: u64 = 24;
    let tables = usdc::table_bytes(bytes).unwrap_or_default();
    budget.charge(tables.saturating_mul(OF_TABLE_BYTE), "names and paths of the written file")?;
    let stage = tally.read(usdc::read(bytes));
    let prims = stage.iter().flat_map(|stage| &stage.prims);
    charge::numbers(prims.map(Prim::largest_bytes).max().unwrap_or_default(), budget)?;
    Ok(stage)
}

fn meshes<'a, 'b>(stage: &'b Stage<'a>) -> Vec<&'b Prim<'a>> {
    stage.prims.iter().filter(|prim| prim.kind == "Mesh").collect()
}

/// A mesh at a time.
fn shape(mesh: &Prim<'_>, time: f64) -> Read<Shape> {
    let counts = mesh.arrays.get("faceVertexCounts").and_then(|counts| counts.at(time));
    if counts.into_iter().flat_map(usdc::Array::ints).any(|count| count != 3) {
        return Err(format!("{} has faces that are no triangles", mesh.path));
    }
    let positions = elements(mesh, "points", time)?.ok_or_else(|| format!("{} has no points", mesh.path))?;
    let mut shape = Shape { positions: Rc::new(positions), ..Shape::default() };
    shape.corners = corners(mesh, "faceVertexIndices", time)?.unwrap_or_default();
    shape.normals = match stream(mesh, "primvars:normals", time)? {
        Some(normals) => Some(normals),
        None => stream(mesh, "normals", time)?,
    };
    for set in 0.. {
        let name = if set == 0 { "primvars:st".to_owned() } else { format!("primvars:st{set}") };
        match stream(mesh, &name, time)? {
            Some(coords) => shape.coords.push(coords),
            None => break,
        }
    }
    Ok(shape)
}

fn stream<const N: usize>(mesh: &Prim<'_>, name: &str, time: f64) -> Read<Option<Stream<N>>> {
    let corners = corners(mesh, &format!("{name}:indices"), time)?;
    Ok(elements(mesh, name, time)?.map(|values| Stream { values: Rc::new(values), corners }))
}

fn elements<const N: usize>(mesh: &Prim<'_>, name: &str, time: f64) -> Read<Option<Vec<[f32; N]>>> {
    let Some(array) = mesh.arrays.get(name).and_then(|samples| samples.at(time)) else { return Ok(None) };
    let numbers: Vec<f32> = array.floats().collect();
    match numbers.as_chunks::<N>() {
        (elements, []) => Ok(Some(elements.to_vec())),
        _ => Err(format!("{}.{name} has {} numbers, which are no elements of {N}", mesh.path, numbers.len())),
    }
}

fn corners(mesh: &Prim<'_>, name: &str, time: f64) -> Read<Option<Vec<[u32; 3]>>> {
    let Some(array) = mesh.arrays.get(name).and_then(|samples| samples.at(time)) else { return Ok(None) };
    let numbers: Read<Vec<u32>> =
        array.ints().map(|index| index.try_into().map_err(|_| format!("the index {index}"))).collect();
    match numbers?.as_chunks::<3>() {
        (corners, []) => Ok(Some(corners.to_vec())),
        _ => Err(format!("{}.{name} has corners that are of no triangle", mesh.path)),
    }
}
