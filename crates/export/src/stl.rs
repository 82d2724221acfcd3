//! STL: triangles with their normals, and nothing else.

use std::io::Write;

use meshmap_job::{Change, Error, Result};
use meshmap_outputs::Place;
use meshmap_scene::vector::{face_normal, unit_of_f64};
use meshmap_scene::{FactKind, Parts};

use crate::ledger::Decision;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::read;

pub(crate) fn write(plan: &Plan<'_>, place: &Place, outcome: &mut Outcome) -> Result<()> {
    let job = plan.job;
    let all = plan.vertices(Parts::POSITIONS | Parts::TRIANGLES)?;
    let count: usize = all.iter().map(|buffer| plan.triangle_count(buffer)).sum();
    let count = u32::try_from(count).map_err(|_| Error::NotHeld {
        target: "stl",
        what: format!("{count} triangles, where 4,294,967,295 are the most"),
    })?;
    if plan.scene.are_points() {
        let what = "a cloud of points, without triangles: use ply, obj, glb or usdc".to_owned();
        return Err(Error::NotHeld {
            target: "stl",
            what,
        });
    }
    let mut output = job.budget.output(place)?;
    let out = &mut output;
    // Files whose header begins with "solid" are taken for the other kind, which is text.
    let mut header = [b' '; 80];
    let unit = plan.unit_comment().map(|unit| format!("meshmap, {unit}"));
    // The unit of a damaged file may be longer than the header.
    let text = unit
        .filter(|text| text.len() <= header.len())
        .unwrap_or_else(|| "meshmap".to_owned());
    header
        .iter_mut()
        .zip(text.bytes())
        .for_each(|(place, byte)| *place = byte);
    out.write_all(&header)?;
    out.write_all(&count.to_le_bytes())?;
    for buffer in &all {
        let _scope = job.budget.scope();
        let mut positions = Vec::new();
        if let Some(stream) = buffer.positions() {
            positions = read::positions(stream, plan, outcome)?;
        }
        plan.count_degenerate(buffer, outcome);
        let Some(corners) = buffer.position_corners() else {
            continue;
        };
        let triangles = plan.triangles(corners);
        outcome.wrote(positions.len(), triangles.len());
        for corners in triangles {
            let corners =
                corners.map(|corner| positions.get(corner as usize).copied().unwrap_or_default());
            // A triangle without area has none; readers compute normals of zeros themselves.
            let unit = unit_of_f64(face_normal(corners)).unwrap_or([0.0; 3]);
            let mut bytes = [0; 50];
            let numbers = unit.iter().chain(corners.as_flattened());
            for (place, number) in bytes.chunks_exact_mut(4).zip(numbers) {
                place.copy_from_slice(&number.to_le_bytes());
            }
            out.write_all(&bytes)?;
        }
    }
    plan.check_written(outcome)?;
    plan.images.finish(vec![output], job, outcome)
}

/// The decision about a kind of data in STL.
pub(crate) fn decide(kind: FactKind, plan: &Plan<'_>) -> Decision {
    match kind {
        FactKind::Unit if plan.job.raw => Decision::Drops,
        FactKind::Shapes | FactKind::Integers | FactKind::Levels | FactKind::Snapshots => {
            Decision::Keeps
        }
        FactKind::BindShape => Decision::Changes(Change::BindShapeApplied),
        // Numbers are in the unit of the target.
        FactKind::Unit => Decision::Keeps,
        FactKind::Names
        | FactKind::Normals
        | FactKind::Tangents
        | FactKind::TexCoords
        | FactKind::FurtherTexCoords
        | FactKind::ThirdTexCoords
        | FactKind::TexCoordNames
        | FactKind::Colors
        | FactKind::Opacity
        | FactKind::FurtherColors
        | FactKind::Influences
        | FactKind::FurtherInfluences
        | FactKind::CustomAttributes
        | FactKind::CustomData
        | FactKind::MaterialIds
        | FactKind::EdgeVisibility
        | FactKind::Materials
        | FactKind::Images
        | FactKind::FurtherImages
        | FactKind::OtherLevels
        | FactKind::OtherSnapshots
        | FactKind::StartTime
        | FactKind::Samples
        | FactKind::Joints
        | FactKind::SkinJoints
        | FactKind::JointOffsets
        | FactKind::PelvisOffset
        | FactKind::LockedScales
        | FactKind::Clips
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
