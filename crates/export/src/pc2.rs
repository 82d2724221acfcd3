//! PC2: the positions of every key of a shape, for the object in the OBJ next to it.
//!
//! The positions of one key are in memory at a time.

use std::io::Write;

use meshmap::Scratch;
use meshmap_job::{Error, Result};
use meshmap_outputs::Place;
use meshmap_scene::{Buffer, FactKind, Parts};

use crate::check::finite;
use crate::ledger::Decision;
use crate::obj;
use crate::outcome::Outcome;
use crate::plan::Plan;

fn not_held(what: String) -> Error {
    Error::NotHeld {
        target: "pc2",
        what,
    }
}

pub(crate) fn write(plan: &Plan<'_>, place: &Place, outcome: &mut Outcome) -> Result<()> {
    let job = plan.job;
    let [shape] = plan.scene.shapes() else {
        let count = plan.scene.shapes().len();
        return Err(not_held(format!("{count} objects, where one is moved")));
    };
    let mut scratch = Scratch::default();
    let points = shape.counts(0, &mut scratch)?.positions;
    let topology = shape.topology(0, &mut scratch)?;
    let mut output = job.budget.output(place)?;
    let out = &mut output;
    let number =
        |count: usize| i32::try_from(count).map_err(|_| not_held(format!("{count} of something")));
    out.write_all(b"POINTCACHE2\0")?;
    out.write_all(&1_i32.to_le_bytes())?;
    out.write_all(&number(points)?.to_le_bytes())?;
    out.write_all(&0_f32.to_le_bytes())?;
    out.write_all(&1_f32.to_le_bytes())?;
    out.write_all(&number(shape.key_count())?.to_le_bytes())?;
    job.budget
        .charge_for::<[[f32; 3]; 2]>(points, "positions of a snapshot")?;
    let mut buffer = Buffer::default();
    let mut bytes = Vec::new();
    for key in 0..shape.key_count() {
        if shape.topology(key, &mut scratch)? != topology {
            return Err(not_held(format!(
                "snapshot {} has other triangles than snapshot {}",
                shape.number_of(key),
                shape.number_of(0)
            )));
        }
        job.budget.read_geometry(points as u64, 0)?;
        shape.read(key, Parts::POSITIONS, &mut buffer, &mut scratch)?;
        let address = shape.address_at(key).then("positions").to_string();
        let positions = buffer.streams_mut().first_mut();
        let Some(positions) = positions.and_then(|stream| stream.floats_mut()) else {
            return Err(not_held("a shape that stands still".to_owned()));
        };
        finite(positions, || address.clone(), job, outcome)?;
        plan.place(positions, || address.clone(), outcome)?;
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
    let object = place.with_extension("obj")?;
    let mut outputs = obj::write_files(plan, &object, outcome)?;
    outputs.push(output);
    plan.images.finish(outputs, job, outcome)
}

/// The decision about a kind of data in a point cache and its OBJ.
pub(crate) fn decide(kind: FactKind, plan: &Plan<'_>) -> Decision {
    match kind {
        FactKind::Images => Decision::Drops,
        kind => obj::decide(kind, plan),
    }
}
