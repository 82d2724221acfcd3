//! USD: crate files of version 0.8.0, written in one pass.
//!
//! Values are written as they are made; only their locations are kept until the end. The numbers of vertices are the file's.
//!
//! ```text
//! /NAME              an Xform, or a SkelRoot if there are joints
//!     /skeleton      the joints, bound to the first animation
//!         /walk      an animation
//!     /body          a mesh; levels of detail are in variants of the root
//!     /materials     their Scope
//! ```

mod animations;
mod compress;
mod crate_file;
mod error;
mod half;
mod keys;
mod levels;
mod materials;
mod meshes;
mod package;
mod prim;
mod root;
mod samples;
mod skeleton;
mod skins;
mod tables;
mod values;

use std::io::{Seek, Write};

use meshmap_job::{Change, Result};
use meshmap_outputs::Place;
use meshmap_scene::FactKind;

use self::crate_file::CrateFile;
use self::levels::{Variants, shapes_by_variant};
use self::materials::{MATERIALS, Materials};
use self::package::Package;
use self::prim::Prim;
use self::root::Root;
use self::skeleton::{Rig, SKELETON};
use self::tables::Tables;
use crate::ledger::Decision;
use crate::material_ids::MaterialIds;
use crate::names::Names;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::settings::Target;

pub(crate) fn write(plan: &Plan<'_>, place: &Place, outcome: &mut Outcome) -> Result<()> {
    let job = plan.job;
    let mut output = job.budget.output(place)?;
    if job.target == Target::Usdz {
        let mut package = Package::begin(&mut output);
        let name = Names::default().add(&job.name, "stage");
        package.add(&format!("{name}.usdc"), |file| {
            write_stage(plan, file, outcome)
        })?;
        for image in &plan.images.packed {
            package.add_image(image)?;
        }
        package.finish()?;
    } else {
        write_stage(plan, &mut output, outcome)?;
    }
    plan.images.finish(vec![output], job, outcome)
}

/// Writes a crate file.
fn write_stage<W: Write + Seek>(
    plan: &Plan<'_>,
    output: &mut W,
    outcome: &mut Outcome,
) -> Result<()> {
    let mut file = CrateFile::begin(output, &plan.job.budget)?;
    let stage = stage(plan, &mut file, outcome)?;
    let tables = Tables::of(&stage, &mut file)?;
    file.finish(tables.sections())
}

/// The prim that has all others, with the fields of the stage.
fn stage<W: Write + Seek>(
    plan: &Plan<'_>,
    file: &mut CrateFile<'_, W>,
    outcome: &mut Outcome,
) -> Result<Prim> {
    let mut root = Root::new(plan, outcome);
    let mut materials = Materials::below(root.name());
    let mut names = Names::with(&[MATERIALS]);
    let mut rig = Rig::of(plan, root.name(), outcome)?;
    if rig.is_some() {
        names.add(SKELETON, "");
    }
    let mut ids = MaterialIds::default();
    let mut variants = Variants::default();
    for (variant, shape) in shapes_by_variant(plan.scene) {
        if shape.has_keys() {
            let prims = (&mut materials, &mut names);
            let written = keys::write(shape, plan, &mut ids, file, prims, outcome)?;
            root.add(written);
            continue;
        }
        let names = match variant {
            Some(variant) => variants.names(variant, &names),
            None => &mut names,
        };
        let prims = (&mut materials, names, rig.as_mut());
        if let Some(prim) = meshes::write(shape, plan, file, prims, outcome)? {
            match variant {
                Some(variant) => variants.add(variant, prim),
                None => root.add_still(prim),
            }
        }
    }
    variants.add_to(&mut root);
    if let Some(rig) = rig
        && let Some(written) = rig.write(plan, file, outcome)?
    {
        root.add_skeleton(written);
    }
    plan.check_written(outcome)?;
    if let Some(scope) = materials.scope() {
        root.add_still(scope);
    }
    Ok(root.into_stage())
}

/// The decision about a kind of data in USD.
pub(crate) fn decide(kind: FactKind, plan: &Plan<'_>) -> Decision {
    match kind {
        FactKind::Normals | FactKind::TexCoords | FactKind::FurtherTexCoords
            if plan.has_bare_points() =>
        {
            Decision::Drops
        }
        FactKind::Samples if !plan.job.takes_samples() => Decision::Drops,
        FactKind::Influences | FactKind::Joints | FactKind::SkinJoints | FactKind::Clips
            if plan.is_posed() =>
        {
            Decision::Drops
        }
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
        | FactKind::Samples
        | FactKind::Joints
        | FactKind::SkinJoints
        | FactKind::Unit => Decision::Keeps,
        FactKind::Influences => Decision::Changes(Change::WeightsScaled),
        FactKind::Clips => Decision::Changes(Change::ScalesRounded),
        FactKind::ThirdTexCoords => Decision::Changes(Change::ThirdTexCoordLost),
        FactKind::BindShape => Decision::Changes(Change::BindShapeApplied),
        FactKind::TexCoordNames
        | FactKind::FurtherInfluences
        | FactKind::CustomData
        | FactKind::EdgeVisibility
        | FactKind::FurtherImages
        | FactKind::OtherLevels
        | FactKind::OtherSnapshots
        | FactKind::StartTime
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
