//! USD: meshes, and the snapshots of CGeo files as time samples.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use meshmap::cgeo::Parts;

use super::charge;
use super::expected::Expected;
use super::root;
use super::shape::{Materials, Shape, Stream, compare, points};
use super::skeletons;
use super::tally::{Read, Tally};
use super::usdc::{self, Prim, Stage};
use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::outcome::Outcome;
use crate::scene::cgeo::Snapshots;
use crate::scene::{Mesh, assume};
use crate::settings::Job;

pub(super) fn check_snapshots(
    snapshots: &Snapshots,
    expected: &Expected<'_>,
    path: &Path,
    tally: &mut Tally,
) -> Result<()> {
    let job = expected.job;
    let Some(bytes) = read(path, &job.budget, tally)? else {
        return Ok(());
    };
    let Some(stage) = stage(&bytes, &job.budget, tally)? else {
        return Ok(());
    };
    root::check_usd(expected.scene, job, &stage, tally);
    let meshes = meshes(&stage);
    let [mesh] = meshes.as_slice() else {
        tally.differs(|| format!("{} meshes, where one is meant", meshes.len()));
        return Ok(());
    };
    let first = snapshots.indices.first().copied().unwrap_or_default();
    check_times(snapshots, job, &stage, tally);
    let looks = Looks::of(&stage);
    let lacks_ids = |index: usize| {
        let triangles = snapshots.at(index)?.mesh(Parts::TRIANGLES)?.triangles;
        Ok::<_, Error>(!triangles.is_empty() && triangles.material_ids().is_none())
    };
    // Materials that not every snapshot has are left out.
    let has_materials = !looks.subsets(mesh).is_empty() || mesh.targets.contains_key(BINDING);
    let mut are_left_out = false;
    for index in snapshots.indices.iter().filter(|_| !has_materials) {
        are_left_out |= lacks_ids(*index)?;
    }
    for index in snapshots.indices.iter().copied() {
        #[expect(
            clippy::cast_precision_loss,
            reason = "there are fewer snapshots than that"
        )]
        let time = (index - first) as f64;
        let mut shape = expected.snapshot(&snapshots.at(index)?.mesh(Parts::ALL)?)?;
        if are_left_out {
            shape.materials = Materials::default();
        }
        let name = format!("snapshots[{index}]");
        let Some(found) = tally.read(looks.mesh(mesh, time, job.merges_materials())) else {
            return Ok(());
        };
        if *found.positions != *shape.positions {
            tally.differs(|| format!("{name} has other positions"));
        }
        compare(&name, &shape, &found, tally);
    }
    Ok(())
}

pub(super) fn check_meshes(
    drawn: &[&Mesh],
    expected: &Expected<'_>,
    path: &Path,
    tally: &mut Tally,
) -> Result<()> {
    let job = expected.job;
    let Some(bytes) = read(path, &job.budget, tally)? else {
        return Ok(());
    };
    let Some(stage) = stage(&bytes, &job.budget, tally)? else {
        return Ok(());
    };
    root::check_usd(expected.scene, job, &stage, tally);
    if let Some(rig) = expected.scene.rig_alone() {
        skeletons::check(rig, job, &stage, tally)?;
    }
    let meshes = meshes(&stage);
    if meshes.len() != drawn.len() {
        tally.differs(|| {
            format!(
                "{} meshes, where the file has {}",
                meshes.len(),
                drawn.len()
            )
        });
        return Ok(());
    }
    let looks = Looks::of(&stage);
    for (mesh, prim) in drawn.iter().zip(meshes) {
        let _scope = job.budget.scope();
        let is_merged = job.merges_materials() && mesh.view.material_ids().is_some();
        let Some(mut found) = tally.read(looks.mesh(prim, 0.0, is_merged)) else {
            return Ok(());
        };
        let Some(colors) = tally.read(colors(prim, found.positions.len())) else {
            return Ok(());
        };
        found.colors = colors;
        compare(
            &mesh.view.address().to_string(),
            &expected.mesh(mesh, false)?,
            &found,
            tally,
        );
    }
    Ok(())
}

/// The relationship of a mesh or a subset to its material.
const BINDING: &str = "material:binding";

/// The materials of a stage, and the prims that have some, by their paths.
struct Looks<'a, 'b>(BTreeMap<&'b str, &'b Prim<'a>>);

impl<'a, 'b> Looks<'a, 'b> {
    fn of(stage: &'b Stage<'a>) -> Self {
        Self(
            stage
                .prims
                .iter()
                .map(|prim| (prim.path.as_str(), prim))
                .collect(),
        )
    }

    /// The subsets of a mesh.
    fn subsets(&self, mesh: &Prim<'a>) -> Vec<&'b Prim<'a>> {
        let below = format!("{}/", mesh.path);
        let children = self
            .0
            .range(below.as_str()..)
            .take_while(|(path, _)| path.starts_with(&below));
        children
            .map(|(_, prim)| *prim)
            .filter(|prim| prim.kind == "GeomSubset")
            .collect()
    }

    /// The name of the material that a prim is bound to. A material has a surface.
    fn bound(&self, prim: &Prim<'a>) -> Read<Option<String>> {
        let Some(targets) = prim.targets.get(BINDING) else {
            return Ok(None);
        };
        let find = |path: Option<&String>| path.and_then(|path| self.0.get(path.as_str()));
        let material = find(targets.first()).filter(|prim| prim.kind == "Material");
        let material = material.ok_or_else(|| format!("{} is bound to no material", prim.path))?;
        let surface = material
            .targets
            .get("outputs:surface")
            .and_then(|targets| targets.first());
        let shader = surface
            .and_then(|surface| surface.strip_suffix(".outputs:surface"))
            .map(str::to_owned);
        let shader = find(shader.as_ref()).filter(|prim| prim.kind == "Shader");
        if shader
            .and_then(|shader| shader.words.get("info:id"))
            .is_none_or(|id| id != "UsdPreviewSurface")
        {
            return Err(format!("{} has no surface", material.path));
        }
        let last = material.path.rsplit('/').next().unwrap_or_default();
        Ok(Some(
            material.shown.clone().unwrap_or_else(|| last.to_owned()),
        ))
    }

    /// A mesh at a time, with its materials.
    fn mesh(&self, mesh: &Prim<'a>, time: f64, is_merged: bool) -> Read<Shape> {
        let mut shape = shape(mesh, time)?;
        shape.materials = self.materials(mesh, time, shape.corners.len(), is_merged)?;
        Ok(shape)
    }

    /// The materials of the triangles of a mesh at a time.
    fn materials(
        &self,
        mesh: &Prim<'a>,
        time: f64,
        triangles: usize,
        is_merged: bool,
    ) -> Read<Materials> {
        let ids = mesh
            .arrays
            .get("primvars:material_id")
            .and_then(|ids| ids.at(time));
        if let Some(ids) = ids.filter(|_| is_merged) {
            return match self.bound(mesh)?.as_deref() {
                Some("material") if ids.ints().len() == triangles => {
                    Ok(Materials::by_id(ids.ints().map(i32::cast_unsigned), |id| {
                        id.to_string()
                    }))
                }
                _ => Err(format!(
                    "{} does not have one material, and an ID for each triangle",
                    mesh.path
                )),
            };
        }
        let subsets = self.subsets(mesh);
        if subsets.is_empty() {
            return Ok(Materials::one(self.bound(mesh)?.as_deref()));
        }
        let (mut names, mut of) = (Vec::new(), vec![u32::MAX; triangles]);
        for (number, subset) in (0_u32..).zip(subsets) {
            names.push(self.bound(subset)?.unwrap_or_default());
            let faces = subset
                .arrays
                .get("indices")
                .and_then(|indices| indices.at(time));
            for face in faces.into_iter().flat_map(usdc::Array::ints) {
                let place = usize::try_from(face).ok().and_then(|face| of.get_mut(face));
                match place {
                    Some(place) if *place == u32::MAX => *place = number,
                    _ => {
                        return Err(format!(
                            "{} has the triangle {face} twice, or beyond the end",
                            subset.path
                        ));
                    }
                }
            }
        }
        if of.contains(&u32::MAX) {
            return Err(format!("{} has triangles in no subset", mesh.path));
        }
        Ok(Materials {
            names: Rc::new(names),
            of,
        })
    }
}

/// The sets of colours of a mesh.
fn colors(mesh: &Prim<'_>, vertices: usize) -> Read<BTreeMap<u32, Rc<Vec<[f32; 4]>>>> {
    /// The most sets of colours that are looked for.
    const SETS: u32 = 16;
    let opaque = |[r, g, b]: [f32; 3]| [r, g, b, 1.0];
    let mut colors = BTreeMap::new();
    if let Some(shown) = elements::<3>(mesh, "primvars:displayColor", 0.0)? {
        let mut shown: Vec<[f32; 4]> = shown.into_iter().map(opaque).collect();
        let opacity = elements::<1>(mesh, "primvars:displayOpacity", 0.0)?.unwrap_or_default();
        shown
            .iter_mut()
            .zip(opacity)
            .for_each(|([.., alpha], [opacity])| *alpha = opacity);
        colors.insert(0, Rc::new(shown));
    }
    for set in 0..SETS {
        let name = format!("primvars:color{set}");
        let Some(array) = mesh.arrays.get(&name).and_then(|samples| samples.at(0.0)) else {
            continue;
        };
        let values = match array.floats().len() {
            count if count == vertices * 4 => elements::<4>(mesh, &name, 0.0)?,
            _ => elements::<3>(mesh, &name, 0.0)?
                .map(|values| values.into_iter().map(opaque).collect()),
        };
        colors
            .entry(set)
            .or_insert_with(|| Rc::new(values.unwrap_or_default()));
    }
    Ok(colors)
}

/// The times of a stage with several snapshots.
fn check_times(snapshots: &Snapshots, job: &Job<'_>, stage: &Stage<'_>, tally: &mut Tally) {
    let (Some(first), Some(last)) = (snapshots.indices.first(), snapshots.indices.last()) else {
        return;
    };
    if first == last {
        return;
    }
    let rate = job
        .fps
        .unwrap_or_else(|| 1.0 / assume::step(snapshots, job, &mut Outcome::default()));
    #[expect(
        clippy::cast_precision_loss,
        reason = "there are fewer snapshots than that"
    )]
    let end = (last - first) as f64;
    for (name, expected) in [
        ("startTimeCode", 0.0),
        ("endTimeCode", end),
        ("timeCodesPerSecond", rate),
    ] {
        match stage.numbers.get(name) {
            Some(found) if *found == expected => tally.equal("times"),
            found => tally.differs(|| format!("{name} is {found:?}, where {expected} is meant")),
        }
    }
}

/// The bytes of a file, `None` if it cannot be read.
fn read(path: &Path, budget: &Budget, tally: &mut Tally) -> Result<Option<Vec<u8>>> {
    budget.charge(charge::length(path), "the written file")?;
    Ok(tally.read(std::fs::read(path).map_err(|error| error.to_string())))
}

/// The content of a file; one mesh at a time is made into a shape.
fn stage<'a>(bytes: &'a [u8], budget: &Budget, tally: &mut Tally) -> Result<Option<Stage<'a>>> {
    const OF_TABLE_BYTE: u64 = 24;
    let tables = usdc::table_bytes(bytes).unwrap_or_default();
    budget.charge(
        tables.saturating_mul(OF_TABLE_BYTE),
        "names and paths of the written file",
    )?;
    let Some(tables) = tally.read(usdc::Tables::read(bytes)) else {
        return Ok(None);
    };
    let Some(samples) = tally.read(tables.sample_bytes()) else {
        return Ok(None);
    };
    budget.charge(samples, "samples of the written file")?;
    let stage = tally.read(usdc::stage(&tables));
    let prims = stage.iter().flat_map(|stage| &stage.prims);
    charge::numbers(
        prims.map(Prim::largest_bytes).max().unwrap_or_default(),
        budget,
    )?;
    Ok(stage)
}

fn meshes<'a, 'b>(stage: &'b Stage<'a>) -> Vec<&'b Prim<'a>> {
    stage
        .prims
        .iter()
        .filter(|prim| matches!(prim.kind.as_str(), "Mesh" | "Points"))
        .collect()
}

/// A mesh at a time.
fn shape(mesh: &Prim<'_>, time: f64) -> Read<Shape> {
    let counts = mesh
        .arrays
        .get("faceVertexCounts")
        .and_then(|counts| counts.at(time));
    if counts
        .into_iter()
        .flat_map(usdc::Array::ints)
        .any(|count| count != 3)
    {
        return Err(format!("{} has faces that are no triangles", mesh.path));
    }
    let positions =
        elements(mesh, "points", time)?.ok_or_else(|| format!("{} has no points", mesh.path))?;
    let mut shape = Shape {
        positions: Rc::new(positions),
        ..Shape::default()
    };
    shape.corners = match mesh.kind.as_str() {
        "Points" => points(shape.positions.len()),
        _ => corners(mesh, "faceVertexIndices", time)?.unwrap_or_default(),
    };
    shape.normals = match stream(mesh, "primvars:normals", time)? {
        Some(normals) => Some(normals),
        None => stream(mesh, "normals", time)?,
    };
    for set in 0.. {
        let name = if set == 0 {
            "primvars:st".to_owned()
        } else {
            format!("primvars:st{set}")
        };
        match stream(mesh, &name, time)? {
            Some(coords) => shape.coords.push(coords),
            None => break,
        }
    }
    Ok(shape)
}

fn stream<const N: usize>(mesh: &Prim<'_>, name: &str, time: f64) -> Read<Option<Stream<N>>> {
    let corners = corners(mesh, &format!("{name}:indices"), time)?;
    Ok(elements(mesh, name, time)?.map(|values| Stream {
        values: Rc::new(values),
        corners,
    }))
}

fn elements<const N: usize>(mesh: &Prim<'_>, name: &str, time: f64) -> Read<Option<Vec<[f32; N]>>> {
    let Some(array) = mesh.arrays.get(name).and_then(|samples| samples.at(time)) else {
        return Ok(None);
    };
    let numbers: Vec<f32> = array.floats().collect();
    match numbers.as_chunks::<N>() {
        (elements, []) => Ok(Some(elements.to_vec())),
        _ => Err(format!(
            "{}.{name} has {} numbers, which are no elements of {N}",
            mesh.path,
            numbers.len()
        )),
    }
}

fn corners(mesh: &Prim<'_>, name: &str, time: f64) -> Read<Option<Vec<[u32; 3]>>> {
    let Some(array) = mesh.arrays.get(name).and_then(|samples| samples.at(time)) else {
        return Ok(None);
    };
    let numbers: Read<Vec<u32>> = array
        .ints()
        .map(|index| index.try_into().map_err(|_| format!("the index {index}")))
        .collect();
    match numbers?.as_chunks::<3>() {
        (corners, []) => Ok(Some(corners.to_vec())),
        _ => Err(format!(
            "{}.{name} has corners that are of no triangle",
            mesh.path
        )),
    }
}
