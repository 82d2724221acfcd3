//! USD: crate files of version 0.8.0, written in one pass.
//!
//! Values are written as they are made; only their locations are kept until the end. The numbers of vertices are the file's. Joints are
//! written of files without meshes, and skins are not.

mod compress;
mod crate_file;
mod materials;
mod meshes;
mod prim;
mod samples;
mod skeleton;
mod snapshots;
mod tables;
mod values;

use meshmap::Axis;
use meshmap_outputs::Place;

use self::crate_file::CrateFile;
use self::materials::{MATERIALS, Materials};
use self::prim::{Prim, Property, Token, Value};
use self::snapshots::Written;
use self::tables::Tables;
use crate::error::Result;
use crate::outcome::Outcome;
use crate::scene::names::Names;
use crate::scene::{Scene, assume};
use crate::settings::Job;
use crate::turn::Turn;

pub(crate) fn write(
    scene: &Scene,
    job: &Job<'_>,
    place: &Place,
    outcome: &mut Outcome,
) -> Result<()> {
    let mut output = job.budget.output(place)?;
    let mut out = CrateFile::begin(&mut output, &job.budget)?;
    let shown = scene.root_name(job);
    let root_name = Names::default().add(&shown, "");
    let (mut materials, mut names) = (Materials::below(&root_name), Names::with(&[MATERIALS]));
    let up = assume::up(scene.format, job.up, |note| outcome.note(note));
    // Stages have Y up, or Z.
    let upright = match up {
        Axis::X => Some(("xformOp:rotateZ", 90.0)),
        Axis::NegX => Some(("xformOp:rotateZ", -90.0)),
        Axis::NegY => Some(("xformOp:rotateX", 180.0)),
        Axis::NegZ => Some(("xformOp:rotateX", 90.0)),
        _ => None,
    };
    let about = if up == Axis::Z {
        "xformOp:rotateZ"
    } else {
        "xformOp:rotateY"
    };
    let turn = (job.turn != Turn::None).then(|| (about, 90.0 * f32::from(job.turn.quarters())));
    let mut root = Prim::new("Xform", root_name.clone()).displayed(&shown);
    // The last of them comes first.
    let rotations: Vec<(&str, f32)> = turn.into_iter().chain(upright).collect();
    for (name, degrees) in &rotations {
        root =
            root.with(Property::attribute(*name, "float").field("default", Value::Float(*degrees)));
    }
    if !rotations.is_empty() {
        let order = Value::Tokens(
            rotations
                .iter()
                .map(|(name, _)| Token::from(*name))
                .collect(),
        );
        root = root.with(Property::uniform("xformOpOrder", "token[]", order));
    }
    root.fields.push(("kind", Value::Token("component".into())));
    let mut fields = vec![
        ("defaultPrim", Value::Token(root_name.clone().into())),
        (
            "metersPerUnit",
            Value::Double(assume::metres(scene, job, outcome)),
        ),
        (
            "upAxis",
            Value::Token(if up == Axis::Z { "Z" } else { "Y" }.into()),
        ),
    ];
    let prims = (&mut materials, &mut names);
    let moving = match (&scene.snapshots, scene.rig_alone()) {
        (Some(snapshots), _) => Some(snapshots::write(snapshots, job, &mut out, prims, outcome)?),
        (None, Some(rig)) => skeleton::write(rig, &root_name, job, &mut out, outcome)?,
        (None, None) => {
            root.children = meshes::write(scene, job, &mut out, prims, outcome)?;
            None
        }
    };
    if let Some(Written { prim, times }) = moving {
        fields.extend(times);
        root.children.push(prim);
    }
    scene.check_written(outcome)?;
    root.children.extend(materials.scope());
    let stage = Prim {
        name: String::new(),
        fields,
        properties: Vec::new(),
        children: vec![root],
    };
    let tables = Tables::of(&stage, &mut out)?;
    out.finish(tables.sections())?;
    job.finish(vec![output], outcome)
}
