//! The comparison of a file with the scene of its mesh file.

use std::path::Path;
use std::sync::Arc;

use meshmap::{MeshFile, Meter};
use meshmap_export::{Convert, Lods, Result, Target};

use crate::compare::{gltf, joined, objects, usd};
use crate::rules::Rules;
use crate::tally::{Checked, Tally};

/// Reads what [`Convert::write_file`] wrote of this file at this path, and compares it with the file.
///
/// The readers share no code with the writers; the joints, the pose and the conventions of the mesh file come from the same
/// [`Scene`](meshmap_scene::Scene) as in writing. Compared are, as far as the target has them:
///
/// * the corners of all triangles with their positions, normals, texture coordinates, colours, joints and weights
/// * materials, and the surface of each in USD
/// * skins: joints, their places, and inverse bind matrices
/// * animations: all channels of all keys, and their times; in USD, of joints without meshes
/// * the up axis, the turn about it and the unit, of glTF and USD
/// * snapshots: positions, times, and what shows each at its time
/// * levels of detail: the meshes, and how the finest one leads to the others
///
/// # Errors
///
/// Returns the errors of reading the mesh file, [`NotHeld`](meshmap_export::Error::NotHeld) where the target cannot hold it, and an error
/// if the comparison needs more memory than the [limits](MeshFile::limits) of the mesh file allow. Problems of the written file are in
/// [`Checked::differs`].
pub fn check_file(convert: &Convert, file: &MeshFile, path: impl AsRef<Path>) -> Result<Checked> {
    let stored = file.source().len().ok().flatten().unwrap_or_default();
    let meter = Arc::new(Meter::new(file.limits(), stored));
    meter.run(|| check_within(convert, file, &meter, path.as_ref()))
}

fn check_within(
    convert: &Convert,
    file: &MeshFile,
    meter: &Meter<'static>,
    path: &Path,
) -> Result<Checked> {
    let mut convert = convert.clone();
    let is_flat = matches!(convert.target, Target::Obj | Target::Ply | Target::Stl);
    if is_flat && convert.lod == Lods::All {
        // The file at the path has the finest level of detail.
        convert.lod = Lods::Finest;
    }
    let scene = convert.scene(file)?;
    let rules = &Rules::new(&scene, &convert, meter)?;
    let tally = &mut Tally::default();
    match convert.target {
        Target::Glb | Target::Gltf => gltf::check(rules, path, tally)?,
        Target::Usdc | Target::Usdz => usd::check(rules, path, tally)?,
        Target::Obj => objects::check_obj(rules, path, tally)?,
        Target::Pc2 => objects::check_pc2(rules, path, tally)?,
        Target::Ply | Target::Stl => joined::check(rules, path, tally)?,
        other => tally.differs(|| format!("no reader for {other}")),
    }
    Ok(std::mem::take(tally).into_checked())
}
