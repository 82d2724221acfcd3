//! glTF 2.0, written in one pass: GLB, or JSON with the numbers in files next to it.
//!
//! The numbers of vertices are the file's. One root node has the rotation that turns the format's up axis to Y, and the
//! scale of its unit.

mod animations;
mod attributes;
mod document;
mod file;
mod meshes;
mod normals;
mod scene;
mod skins;
mod snapshots;
mod weights;

use meshmap::Format;
use meshmap_outputs::Place;

use self::file::Gltf;
use crate::error::Result;
use crate::outcome::Outcome;
use crate::scene::Scene;
use crate::settings::{Job, Target};

pub(crate) fn write(
    scene: &Scene,
    job: &Job<'_>,
    place: &Place,
    outcome: &mut Outcome,
) -> Result<()> {
    let mut gltf = match job.target {
        Target::Gltf => Gltf::parts(place, &job.budget),
        _ => Gltf::binary(place, &job.budget)?,
    };
    if !job.animations.is_empty() && scene.format != Format::Iqm {
        outcome.leave_out(format!(
            "the animations of other files, which {} files do not take",
            scene.format
        ));
    }
    match &scene.snapshots {
        Some(snapshots) => snapshots::write(scene, snapshots, job, &mut gltf, outcome)?,
        None => meshes::write(scene, job, &mut gltf, outcome)?,
    }
    scene.check_written(outcome)?;
    gltf.finish(job, outcome)
}
