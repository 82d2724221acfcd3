//! PC2: positions of every snapshot of a CGeo file, for the object in the OBJ next to it.
//!
//! One snapshot is in memory at a time.

use std::io::Write;

use meshmap::{Format, Scratch};
use meshmap_outputs::Place;

use crate::error::{Error, Result};
use crate::obj;
use crate::outcome::Outcome;
use crate::scene::Scene;
use crate::scene::check::finite;
use crate::settings::Job;

/// The error for files without snapshots, and for meshes that are not whole snapshots.
pub(crate) fn refusal(format: Format) -> Error {
    not_held(match format {
        Format::CGeo => {
            "a point cache has whole snapshots: select a range of them, not meshes by their addresses"
                .to_owned()
        }
        _ => "only snapshots of CGeo files are point caches".to_owned(),
    })
}

fn not_held(what: String) -> Error {
    Error::NotHeld {
        target: "pc2",
        what,
    }
}

pub(crate) fn write(
    scene: &Scene,
    job: &Job<'_>,
    place: &Place,
    outcome: &mut Outcome,
) -> Result<()> {
    let Some(snapshots) = &scene.snapshots else {
        return Err(refusal(scene.format));
    };
    let first = snapshots.first()?;
    let mut scratch = Scratch::default();
    let (first_index, points) = (first.index(), first.counts(&mut scratch)?.vertices);
    let topology = first.topology(&mut scratch)?;
    let mut output = job.budget.output(place)?;
    let out = &mut output;
    let number =
        |count: usize| i32::try_from(count).map_err(|_| not_held(format!("{count} of something")));
    out.write_all(b"POINTCACHE2\0")?;
    out.write_all(&1_i32.to_le_bytes())?;
    out.write_all(&number(points as usize)?.to_le_bytes())?;
    out.write_all(&0_f32.to_le_bytes())?;
    out.write_all(&1_f32.to_le_bytes())?;
    out.write_all(&number(snapshots.indices.len())?.to_le_bytes())?;
    job.budget
        .charge_for::<[[f32; 3]; 2]>(points as usize, "positions of a snapshot")?;
    let (mut positions, mut bytes) = (Vec::new(), Vec::new());
    for index in snapshots.indices.iter().copied() {
        let snapshot = snapshots.at(index)?;
        if snapshot.topology(&mut scratch)? != topology {
            return Err(not_held(format!(
                "snapshot {index} has other triangles than snapshot {}",
                first_index
            )));
        }
        job.budget.read_geometry(points.into(), 0)?;
        snapshot.positions_into(&mut positions, &mut scratch)?;
        finite(
            &mut positions,
            || format!("snapshots[{index}].positions"),
            job,
            outcome,
        )?;
        job.turn_numbers(&mut positions);
        bytes.clear();
        bytes.extend(
            positions
                .as_flattened()
                .iter()
                .flat_map(|number| number.to_le_bytes()),
        );
        out.write_all(&bytes)?;
        outcome.snapshots += 1;
    }
    outcome
        .note("in Blender: import the OBJ with forward Y and up Z; Mesh Cache with axes +Y and +Z, frame 0");
    let object = place.with_extension("obj")?;
    let mut outputs = obj::write_snapshot(scene, snapshots, job, &object, outcome)?;
    outputs.push(output);
    job.finish(outputs, outcome)
}
