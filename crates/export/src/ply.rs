//! PLY: vertices with any properties, and triangles.

use std::collections::{HashMap, HashSet};
use std::io::Write;

use meshmap::Semantic;
use meshmap_job::{Change, Error, Result, Why};
use meshmap_outputs::{Output, Place};
use meshmap_scene::{Buffer, FactKind, Parts};

use crate::ledger::Decision;
use crate::names::free;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::read;
use meshmap_job::replace_non_finite;

/// An attribute, and the names of the properties that hold it.
struct Column {
    semantic: Semantic,
    names: Vec<String>,
}

impl Column {
    /// The colours that other programs know are bytes; all else are floats.
    fn are_bytes(&self) -> bool {
        self.semantic == Semantic::Color(0)
    }
}

pub(crate) fn write(plan: &Plan<'_>, place: &Place, outcome: &mut Outcome) -> Result<()> {
    let job = plan.job;
    let all = plan.vertices(Parts::ALL)?;
    let columns = columns(&all, plan, outcome)?;
    let vertices: usize = all.iter().map(Buffer::position_count).sum();
    let faces: usize = all.iter().map(|buffer| plan.triangle_count(buffer)).sum();
    if u32::try_from(vertices).is_err() {
        let what = format!("{vertices} vertices, where 4,294,967,295 are the most");
        return Err(Error::NotHeld {
            target: "ply",
            what,
        });
    }
    outcome.wrote(vertices, faces);
    let has_materials = has_materials(&all);
    let mut output = job.budget.output(place)?;
    let out = &mut output;
    write!(
        out,
        "ply\nformat binary_little_endian 1.0\ncomment meshmap\n"
    )?;
    let image = image_of_all(plan);
    if let Some(image) = &image {
        writeln!(out, "comment TextureFile {image}")?;
    } else if outcome.textures.found().next().is_some() {
        let count = outcome.textures.found().count() as u64;
        outcome
            .report
            .leave_out_many(FactKind::Images, Why::Different, count);
        outcome.textures.use_none();
    }
    if let Some(unit) = plan.unit_comment() {
        writeln!(out, "comment {unit}")?;
    }
    writeln!(out, "element vertex {vertices}")?;
    for column in &columns {
        let kind = if column.are_bytes() { "uchar" } else { "float" };
        for name in &column.names {
            writeln!(out, "property {kind} {name}")?;
        }
    }
    write!(
        out,
        "element face {faces}\nproperty list uchar uint vertex_indices\n"
    )?;
    if has_materials {
        writeln!(out, "property int material_index")?;
    }
    writeln!(out, "end_header")?;
    for buffer in &all {
        write_vertices(buffer, &columns, plan, out, outcome)?;
    }
    let mut first = 0_u32;
    for (mesh, buffer) in (0_i32..).zip(&all) {
        plan.count_degenerate(buffer, outcome);
        let default_material = has_materials.then_some(mesh);
        write_faces(buffer, first, default_material, plan, out)?;
        first = first.wrapping_add(u32::try_from(buffer.position_count()).unwrap_or(u32::MAX));
    }
    plan.check_written(outcome)?;
    if image.is_some() {
        plan.images.finish(vec![output], job, outcome)
    } else {
        plan.images.finish_without(vec![output], job, outcome)
    }
}

/// The image of all shapes, which a comment of MeshLab's names; `None` if they have none, or several.
fn image_of_all(plan: &Plan<'_>) -> Option<String> {
    let shapes = plan.scene.shapes().iter();
    let mut images = shapes.map(|shape| Some(plan.images.of(shape.material())?.path()));
    let first = images.next()??;
    images
        .all(|other| other.as_ref() == Some(&first))
        .then_some(first)
}

/// Returns `true` if triangles have several materials: a mesh without numbers of materials has its own one.
fn has_materials(all: &[Buffer]) -> bool {
    let mut first = None;
    for (mesh, buffer) in all.iter().enumerate() {
        if buffer.triangle_count() == 0 {
            continue;
        }
        let Some(ids) = buffer.material_ids() else {
            if *first.get_or_insert((mesh, 0)) != (mesh, 0) {
                return true;
            }
            continue;
        };
        for id in ids {
            if *first.get_or_insert((0, id)) != (0, id) {
                return true;
            }
        }
    }
    false
}

/// The attributes that all meshes have, in the order of the first mesh.
fn columns(all: &[Buffer], plan: &Plan<'_>, outcome: &mut Outcome) -> Result<Vec<Column>> {
    /// A column and its array, and one of its names, in lists and tables that have grown.
    const OF_COLUMN: u64 = 128;
    const OF_NAME: u64 = 112;
    let budget = &plan.job.budget;
    let mut columns: Vec<Column> = Vec::new();
    let mut seen = HashSet::new();
    let mut taken = HashMap::<String, usize>::new();
    let streams = all.iter().flat_map(|buffer| buffer.streams());
    for stream in streams {
        let semantic = stream.semantic();
        if !seen.insert(semantic) {
            continue;
        }
        if plan.is_posed() && matches!(semantic, Semantic::Joints(_) | Semantic::Weights(_)) {
            // Vertices are moved by them already.
            continue;
        }
        let has_it = |buffer: &Buffer| buffer.stream(semantic).is_some();
        if !all.iter().all(has_it) {
            let kind = read::kind_of(semantic);
            outcome
                .report
                .leave_out(kind, Why::NotEverywhere, stream.address());
            continue;
        }
        if *semantic != Semantic::Position && !are_finite(all, semantic, plan, outcome)? {
            continue;
        }
        let components = usize::try_from(stream.format().components)
            .unwrap_or(4)
            .min(4);
        let mut names = names(semantic, components);
        for name in &mut names {
            budget.keep(OF_NAME + 3 * name.len() as u64, "names of attributes")?;
            *name = free(name, &mut taken);
        }
        budget.keep(OF_COLUMN, "attributes of all meshes")?;
        columns.push(Column {
            semantic: semantic.clone(),
            names,
        });
    }
    // Joints are of no use without their weights.
    let lacks_weights = |column: &Column| match column.semantic {
        Semantic::Joints(set) => !columns
            .iter()
            .any(|column| column.semantic == Semantic::Weights(set)),
        _ => false,
    };
    let useless: Vec<Semantic> = columns
        .iter()
        .filter(|column| lacks_weights(column))
        .map(|column| column.semantic.clone())
        .collect();
    for semantic in useless {
        let name = semantic.to_string();
        outcome
            .report
            .leave_out(FactKind::Influences, Why::NoWeights, name);
        columns.retain(|column| column.semantic != semantic);
    }
    // Positions come first, because readers look for them there, even if other attributes are stored before them.
    columns.sort_by_key(|column| column.semantic != Semantic::Position);
    Ok(columns)
}

/// Returns `true` if an attribute can be written of every mesh: otherwise it is reported as left out.
fn are_finite(
    all: &[Buffer],
    semantic: &Semantic,
    plan: &Plan<'_>,
    outcome: &mut Outcome,
) -> Result<bool> {
    let job = plan.job;
    if job.zero_non_finite {
        return Ok(true);
    }
    for buffer in all {
        let _scope = job.budget.scope();
        let Some(stream) = buffer.stream(semantic) else {
            continue;
        };
        job.budget
            .charge_for::<[f32; 4]>(stream.len(), "numbers of an attribute")?;
        let mut values = stream.to_f32::<4>()?;
        let address_of = |index| format!("{}[{index}]", stream.address());
        match replace_non_finite(&mut values, address_of, job.zero_non_finite) {
            Err(Error::NonFinite { address, value }) => {
                let kind = read::kind_of(semantic);
                let element = format!("{address} is {value}");
                outcome.report.leave_out(kind, Why::NotFinite, element);
                return Ok(false);
            }
            checked => checked?,
        };
    }
    Ok(true)
}

fn names(semantic: &Semantic, components: usize) -> Vec<String> {
    let numbered = |names: &[&str], set: u32| {
        let end = if set == 0 {
            String::new()
        } else {
            set.to_string()
        };
        names.iter().map(|name| format!("{name}{end}")).collect()
    };
    match semantic {
        Semantic::Position => numbered(&["x", "y", "z"], 0),
        Semantic::Normal => numbered(&["nx", "ny", "nz"], 0),
        Semantic::TexCoord(set) => numbered(&["s", "t"], *set),
        Semantic::Color(0) => numbered(
            &["red", "green", "blue", "alpha"][..components.clamp(3, 4)],
            0,
        ),
        Semantic::Color(set) => numbered(&["r", "g", "b", "a"][..components.clamp(3, 4)], *set),
        other => {
            let name: String = other
                .to_string()
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
                .collect();
            match components {
                1 => vec![name],
                _ => (0..components)
                    .map(|component| format!("{name}_{component}"))
                    .collect(),
            }
        }
    }
}

fn write_faces(
    buffer: &Buffer,
    first: u32,
    default_material: Option<i32>,
    plan: &Plan<'_>,
    out: &mut Output,
) -> Result<()> {
    let ids: Option<Vec<u32>> = match default_material {
        Some(_) => buffer.material_ids().map(Iterator::collect),
        None => None,
    };
    let Some(corners) = buffer.position_corners() else {
        return Ok(());
    };
    for (index, corners) in plan.kept(corners) {
        out.write_all(&[3])?;
        for corner in plan.turned(corners) {
            out.write_all(&corner.wrapping_add(first).to_le_bytes())?;
        }
        if let Some(mesh) = default_material {
            let id = ids.as_ref().and_then(|ids| ids.get(index).copied());
            let id = id.map_or(mesh, u32::cast_signed);
            out.write_all(&id.to_le_bytes())?;
        }
    }
    Ok(())
}

fn write_vertices(
    buffer: &Buffer,
    columns: &[Column],
    plan: &Plan<'_>,
    out: &mut Output,
    outcome: &mut Outcome,
) -> Result<()> {
    let _scope = plan.job.budget.scope();
    let mut positions = Vec::new();
    if let Some(stream) = buffer.positions() {
        positions = read::positions(stream, plan, outcome)?;
    }
    let mut arrays = Vec::new();
    for column in columns {
        if column.semantic == Semantic::Position {
            continue;
        }
        let Some(stream) = buffer.stream(&column.semantic) else {
            continue;
        };
        if matches!(column.semantic, Semantic::TexCoord(_)) {
            read::count_third_coordinates(stream, plan, outcome)?;
        }
        let mut values = read::optional::<4>(stream, plan, outcome)?.unwrap_or_default();
        if plan.flips_v && matches!(column.semantic, Semantic::TexCoord(_)) {
            for [_, v, ..] in &mut values {
                *v = 1.0 - *v;
            }
        }
        arrays.push((values, column));
    }
    let mut rounded = 0;
    let mut clamped = 0;
    for vertex in 0..buffer.position_count() {
        out.write_all(
            positions
                .get(vertex)
                .copied()
                .unwrap_or_default()
                .map(f32::to_le_bytes)
                .as_flattened(),
        )?;
        for (values, column) in &arrays {
            let element = values.get(vertex).copied().unwrap_or_default();
            let components = column.names.len();
            if column.are_bytes() {
                let bytes = element.map(byte);
                let is_exact = bytes.map(|byte| f32::from(byte) / 255.0) == element;
                let is_within = element.iter().all(|number| (0.0..=1.0).contains(number));
                rounded += u64::from(!is_exact && is_within);
                clamped += u64::from(!is_within);
                out.write_all(bytes.get(..components).unwrap_or_default())?;
                continue;
            }
            for number in element.iter().take(components) {
                out.write_all(&number.to_le_bytes())?;
            }
        }
    }
    outcome.report.change(Change::ColorsRounded, rounded);
    outcome.report.change(Change::ColorsClamped, clamped);
    Ok(())
}

/// The nearest byte to a colour from 0 to 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 0 to 255"
)]
fn byte(color: f32) -> u8 {
    (f64::from(color).clamp(0.0, 1.0) * 255.0).round() as u8
}

/// The decision about a kind of data in PLY.
pub(crate) fn decide(kind: FactKind, plan: &Plan<'_>) -> Decision {
    match kind {
        FactKind::Unit if plan.job.raw => Decision::Drops,
        FactKind::Normals | FactKind::TexCoords | FactKind::FurtherTexCoords
            if plan.has_bare_points() =>
        {
            Decision::Drops
        }
        FactKind::Influences | FactKind::FurtherInfluences if plan.is_posed() => Decision::Drops,
        FactKind::Shapes
        | FactKind::Integers
        | FactKind::Levels
        | FactKind::Snapshots
        | FactKind::Normals
        | FactKind::Tangents
        | FactKind::TexCoords
        | FactKind::FurtherTexCoords
        | FactKind::Opacity
        | FactKind::FurtherColors
        | FactKind::Influences
        | FactKind::FurtherInfluences
        | FactKind::CustomAttributes
        | FactKind::MaterialIds
        | FactKind::Images => Decision::Keeps,
        FactKind::ThirdTexCoords => Decision::Changes(Change::ThirdTexCoordLost),
        FactKind::Colors => Decision::Changes(Change::ColorsRounded),
        FactKind::BindShape => Decision::Changes(Change::BindShapeApplied),
        // Numbers are in the unit of the target.
        FactKind::Unit => Decision::Keeps,
        FactKind::Names
        | FactKind::TexCoordNames
        | FactKind::CustomData
        | FactKind::EdgeVisibility
        | FactKind::Materials
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
