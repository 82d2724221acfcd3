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

use meshmap_job::{Change, Result};
use meshmap_outputs::Place;
use meshmap_scene::FactKind;

use self::file::Gltf;
use crate::ledger::Decision;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::settings::Target;

pub(crate) fn write(plan: &Plan<'_>, place: &Place, outcome: &mut Outcome) -> Result<()> {
    let job = plan.job;
    let mut gltf = match job.target {
        Target::Gltf => Gltf::parts(place, &job.budget),
        _ => Gltf::binary(place, &job.budget)?,
    };
    shapes::write(plan, &mut gltf, outcome)?;
    plan.check_written(outcome)?;
    gltf.finish(plan, outcome)
}

/// The decision about a kind of data in glTF.
pub(crate) fn decide(kind: FactKind, plan: &Plan<'_>) -> Decision {
    match kind {
        FactKind::Normals | FactKind::TexCoords | FactKind::FurtherTexCoords
            if plan.has_bare_points() =>
        {
            Decision::Drops
        }
        FactKind::Influences | FactKind::Joints | FactKind::SkinJoints | FactKind::Clips
            if plan.is_posed() =>
        {
            Decision::Drops
        }
        FactKind::Shapes
        | FactKind::Integers
        | FactKind::Names
        | FactKind::Normals
        | FactKind::TexCoords
        | FactKind::FurtherTexCoords
        | FactKind::Opacity
        | FactKind::CustomAttributes
        | FactKind::MaterialIds
        | FactKind::Materials
        | FactKind::Images
        | FactKind::Levels
        | FactKind::Snapshots
        | FactKind::Joints
        | FactKind::SkinJoints
        | FactKind::Clips
        | FactKind::Unit => Decision::Keeps,
        FactKind::Tangents => Decision::Changes(Change::TangentsReplaced),
        FactKind::ThirdTexCoords => Decision::Changes(Change::ThirdTexCoordLost),
        FactKind::Colors | FactKind::FurtherColors => Decision::Changes(Change::ColorsAsNumbers),
        FactKind::Influences => Decision::Changes(Change::WeightsScaled),
        FactKind::BindShape => Decision::Changes(Change::BindShapeApplied),
        FactKind::TexCoordNames
        | FactKind::FurtherInfluences
        | FactKind::CustomData
        | FactKind::EdgeVisibility
        | FactKind::FurtherImages
        | FactKind::OtherLevels
        | FactKind::OtherSnapshots
        | FactKind::StartTime
        | FactKind::Samples
        | FactKind::JointOffsets
        | FactKind::PelvisOffset
        | FactKind::LockedScales
        | FactKind::OtherClips
        | FactKind::LoopFlags
        | FactKind::Events
        | FactKind::FrameBounds
        | FactKind::Hulls
        | FactKind::PhysicsMeshes
        | FactKind::Comments
        | FactKind::Metadata
        | FactKind::Extensions => Decision::Drops,
    }
}
