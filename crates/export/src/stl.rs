//! STL: triangles with their normals, and nothing else.

use std::io::Write;

use meshmap::Semantic;
use meshmap_outputs::Place;

use crate::error::{Error, Result};
use crate::outcome::Outcome;
use crate::scene::check::{kept_count, triangles};
use crate::scene::{Mesh, Scene, read};
use crate::settings::Job;
use crate::vector::{face_normal, unit_of_f64};

pub(crate) fn write(
    scene: &Scene,
    job: &Job<'_>,
    place: &Place,
    outcome: &mut Outcome,
) -> Result<()> {
    let meshes = scene.meshes(&job.budget, outcome)?;
    let count: usize = meshes.iter().map(|mesh| kept_count(&mesh.view, job)).sum();
    let count = u32::try_from(count).map_err(|_| Error::NotHeld {
        target: "stl",
        what: format!("{count} triangles, where 4,294,967,295 are the most"),
    })?;
    if scene.are_points {
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
    let unit = scene.unit.comment().map(|unit| format!("meshmap, {unit}"));
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
    let turns = job.turns(scene.format);
    for Mesh { view, .. } in meshes.iter() {
        let _scope = job.budget.scope();
        for info in view.attributes() {
            if info.semantic != Semantic::Position {
                outcome.leave_out(info.semantic.to_string());
            }
        }
        let positions = read::positions(view, scene.pose.as_ref(), job, outcome)?;
        let corners = triangles(view, job, turns);
        outcome.wrote(positions.len(), corners.len());
        outcome.count_degenerate(view.indices().triangles(), job.drops_degenerate());
        for corners in corners {
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
    scene.check_written(outcome)?;
    job.finish(vec![output], outcome)
}
