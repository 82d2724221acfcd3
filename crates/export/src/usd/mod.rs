//! USD: crate files of version 0.8.0, written in one pass.
//!
//! Values are written as they are made; only their locations are kept until the end. The numbers of vertices are the file's. Joints are
//! written of files without meshes, and skins are not.

mod compress;
mod crate_file;
mod keys;
mod materials;
mod meshes;
mod prim;
mod samples;
mod skeleton;
mod tables;
mod values;

use meshmap::Axis;
use meshmap_job::{Change, Error, Result, Turn, up_of};
use meshmap_outputs::Place;
use meshmap_scene::FactKind;

use self::crate_file::CrateFile;
use self::materials::{MATERIALS, Materials};
use self::prim::{Prim, Property, Token, Value};
use self::tables::Tables;
use crate::assume;
use crate::ledger::Decision;
use crate::material_ids::MaterialIds;
use crate::names::Names;
use crate::outcome::Outcome;
use crate::plan::Plan;

/// A prim that moves, and the fields of the stage with its times.
struct Written {
    prim: Prim,
    times: Vec<(&'static str, Value)>,
}

pub(crate) fn write(plan: &Plan<'_>, place: &Place, outcome: &mut Outcome) -> Result<()> {
    let job = plan.job;
    let mut output = job.budget.output(place)?;
    let mut out = CrateFile::begin(&mut output, &job.budget)?;
    let shown = plan.root_name();
    let root_name = Names::default().add(&shown, "");
    let (mut materials, mut names) = (Materials::below(&root_name), Names::with(&[MATERIALS]));
    let up = up_of(plan.scene, &mut outcome.report);
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
            Value::Double(assume::metres(plan.scene, outcome)),
        ),
        (
            "upAxis",
            Value::Token(if up == Axis::Z { "Z" } else { "Y" }.into()),
        ),
    ];
    if plan.scene.has_only_joints() {
        if let Some(written) = skeleton::write(plan, &root_name, &mut out, outcome)? {
            fields.extend(written.times);
            root.children.push(written.prim);
        }
    } else {
        let mut ids = MaterialIds::default();
        for shape in plan.scene.shapes() {
            let prims = (&mut materials, &mut names);
            if shape.has_keys() {
                let written = keys::write(shape, plan, &mut ids, &mut out, prims, outcome)?;
                fields.extend(written.times);
                root.children.push(written.prim);
            } else {
                let mut prim = meshes::write(shape, plan, &mut out, prims, outcome)?;
                if let Some(prim) = prim.as_mut().filter(|_| shape.is_coarser()) {
                    let invisible = Value::Token("invisible".into());
                    let hidden = Property::attribute("visibility", "token");
                    prim.properties.push(hidden.field("default", invisible));
                }
                root.children.extend(prim);
            }
        }
    }
    plan.check_written(outcome)?;
    root.children.extend(materials.scope());
    let stage = Prim {
        name: String::new(),
        fields,
        properties: Vec::new(),
        children: vec![root],
    };
    let tables = Tables::of(&stage, &mut out)?;
    out.finish(tables.sections())?;
    plan.images.finish(vec![output], job, outcome)
}

fn not_held(what: String) -> Error {
    Error::NotHeld {
        target: "usdc",
        what,
    }
}

/// The decision about a kind of data in USD.
pub(crate) fn decide(kind: FactKind, plan: &Plan<'_>) -> Decision {
    match kind {
        FactKind::Normals | FactKind::TexCoords | FactKind::FurtherTexCoords
            if plan.has_bare_points() =>
        {
            Decision::Drops
        }
        FactKind::Joints | FactKind::Clips if !plan.scene.has_only_joints() => Decision::Drops,
        FactKind::Shapes
        | FactKind::Integers
        | FactKind::Levels
        | FactKind::Names
        | FactKind::Normals
        | FactKind::Tangents
        | FactKind::TexCoords
        | FactKind::FurtherTexCoords
        | FactKind::Colors
        | FactKind::Opacity
        | FactKind::FurtherColors
        | FactKind::CustomAttributes
        | FactKind::MaterialIds
        | FactKind::Materials
        | FactKind::Images
        | FactKind::Snapshots
        | FactKind::Joints
        | FactKind::Unit => Decision::Keeps,
        FactKind::Clips => Decision::Changes(Change::ScalesRounded),
        FactKind::ThirdTexCoords => Decision::Changes(Change::ThirdTexCoordLost),
        FactKind::BindShape => Decision::Changes(Change::BindShapeApplied),
        FactKind::TexCoordNames
        | FactKind::Influences
        | FactKind::FurtherInfluences
        | FactKind::CustomData
        | FactKind::EdgeVisibility
        | FactKind::FurtherImages
        | FactKind::OtherLevels
        | FactKind::OtherSnapshots
        | FactKind::StartTime
        | FactKind::Samples
        | FactKind::SkinJoints
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
