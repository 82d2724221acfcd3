//! USD: meshes, and the snapshots of CGeo files as time samples.

use std::path::Path;
use std::rc::Rc;

use meshmap::cgeo::Proxy;
use meshmap::{Format, MeshView};

use super::expected::{self, Origin, Rules};
use super::shape::{Shape, Stream, compare};
use super::tally::Tally;
use super::usdc::{self, Prim, Stage};
use crate::error::Result;
use crate::settings::Convert;

type Read<T> = std::result::Result<T, String>;

pub(super) fn check_cgeo(proxy: &Proxy, convert: &Convert, path: &Path, tally: &mut Tally) -> Result<()> {
    let rules = Rules::of(Format::CGeo, convert);
    let Some(bytes) = tally.read(std::fs::read(path).map_err(|error| error.to_string())) else {
        return Ok(());
    };
    let Some(stage) = tally.read(usdc::read(&bytes)) else { return Ok(()) };
    let snapshots = convert.snapshots(proxy)?;
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
    tally: &mut Tally,
) -> Result<()> {
    let Some(bytes) = tally.read(std::fs::read(path).map_err(|error| error.to_string())) else {
        return Ok(());
    };
    let Some(stage) = tally.read(usdc::read(&bytes)) else { return Ok(()) };
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
