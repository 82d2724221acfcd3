//! glTF 2.0, written in one pass: GLB, or JSON with the numbers in files next to it.
//!
//! The numbers of vertices are the file's. One root node has the rotation that turns the scene's up axis to Y, and the scale of its unit.

mod animations;
mod attributes;
mod column;
mod document;
mod file;
mod morphs;
mod normals;
mod scene;
mod shapes;
mod skins;
mod timeline;
mod vertices;
mod weights;

use meshmap_outputs::Place;

use self::file::Gltf;
use crate::error::Result;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::settings::Target;

pub(crate) fn write(plan: &Plan<'_>, place: &Place, outcome: &mut Outcome) -> Result<()> {
    let job = plan.job;
    let mut gltf = match job.target {
        Target::Gltf => Gltf::parts(place, &job.budget),
        _ => Gltf::binary(place, &job.budget)?,
    };
    if !job.animations.is_empty() && !plan.scene.takes_animations() {
        outcome.leave_out(format!(
            "the animations of other files, which {} files do not take",
            plan.scene.format()
        ));
    }
    shapes::write(plan, &mut gltf, outcome)?;
    plan.check_written(outcome)?;
    gltf.finish(plan, outcome)
}
