//! PLY: vertices with any properties, and triangles.

use std::collections::{HashMap, HashSet};
use std::io::Write;

use meshmap::{MeshView, Semantic};
use meshmap_outputs::Place;

use crate::error::{Error, Result};
use crate::outcome::{Outcome, Report};
use crate::scene::check::{kept, kept_count, replace_non_finite, turned};
use crate::scene::names::free;
use crate::scene::pose::Pose;
use crate::scene::{Scene, read};
use crate::settings::Job;

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

pub(crate) fn write(
    scene: &Scene,
    job: &Job<'_>,
    place: &Place,
    outcome: &mut Outcome,
) -> Result<()> {
    let meshes = scene.meshes(&job.budget, outcome)?;
    let views: Vec<&MeshView> = meshes.iter().map(|mesh| &mesh.view).collect();
    let pose = scene.pose.as_ref();
    let columns = columns((&views, pose), job, outcome)?;
    let vertices: usize = views.iter().map(|view| view.vertex_count()).sum();
    let faces: usize = views.iter().map(|view| kept_count(view, job)).sum();
    if u32::try_from(vertices).is_err() {
        let what = format!("{vertices} vertices, where 4,294,967,295 are the most");
        return Err(Error::NotHeld {
            target: "ply",
            what,
        });
    }
    outcome.wrote(vertices, faces);
    let materials = has_materials(&views);
    let mut output = job.budget.output(place)?;
    let out = &mut output;
    write!(
        out,
        "ply\nformat binary_little_endian 1.0\ncomment meshmap\n"
    )?;
    // MeshLab's comment, which names one image for all vertices.
    let mut images = meshes
        .iter()
        .map(|mesh| Some(scene.texture(mesh.material.as_deref()?)?.path()));
    let image = images
        .next()
        .flatten()
        .filter(|image| images.all(|other| other.as_ref() == Some(image)));
    match image {
        Some(image) => writeln!(out, "comment TextureFile {image}")?,
        None if outcome.textures.found().next().is_some() => {
            outcome.leave_out("textures, which differ");
            job.copies.take();
            outcome
                .textures
                .images
                .iter_mut()
                .filter_map(|(_, found)| found.as_mut())
                .for_each(|found| found.is_used = false);
        }
        None => {}
    }
    if let Some(unit) = scene.unit.comment() {
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
    if materials {
        writeln!(out, "property int material_index")?;
    }
    writeln!(out, "end_header")?;
    let flips_v = job.flips_v(scene.format);
    for view in &views {
        write_vertices((view, pose), flips_v, &columns, job, out, outcome)?;
    }
    let turns = job.turns(scene.format);
    let (mut first, mut mesh) = (0_u32, 0_i32);
    for view in &views {
        let ids = view.material_ids();
        outcome.count_degenerate(view.indices().triangles(), job.drops_degenerate());
        for (index, corners) in kept(view, job) {
            out.write_all(&[3])?;
            for corner in turned(corners, turns) {
                out.write_all(&corner.wrapping_add(first).to_le_bytes())?;
            }
            if materials {
                let id = ids
                    .and_then(|ids| ids.get(index))
                    .map_or(mesh, u32::cast_signed);
                out.write_all(&id.to_le_bytes())?;
            }
        }
        first = first.wrapping_add(u32::try_from(view.vertex_count()).unwrap_or(u32::MAX));
        mesh += 1;
    }
    scene.check_written(outcome)?;
    job.finish(vec![output], outcome)
}

/// Returns `true` if triangles have several materials.
fn has_materials(views: &[&MeshView]) -> bool {
    let mut groups = views.iter().enumerate().flat_map(|(mesh, view)| {
        let has_ids = view.material_ids().is_some();
        let of = move |material| if has_ids { (0, material) } else { (mesh, 0) };
        view.groups().map(move |group| of(group.material))
    });
    let first = groups.next();
    groups.any(|group| Some(group) != first)
}

/// The attributes that all meshes have, in the order of the first mesh.
fn columns(
    (views, pose): (&[&MeshView], Option<&Pose>),
    job: &Job<'_>,
    outcome: &mut Outcome,
) -> Result<Vec<Column>> {
    /// A column and its array, and one of its names, in lists and tables that have grown.
    const OF_COLUMN: u64 = 128;
    const OF_NAME: u64 = 112;
    let budget = &job.budget;
    let are_posed = pose.is_some_and(Pose::is_frame);
    let mut columns: Vec<Column> = Vec::new();
    let (mut seen, mut taken) = (HashSet::new(), HashMap::<String, usize>::new());
    let infos = views.iter().flat_map(|view| view.attributes());
    for info in infos {
        let semantic = &info.semantic;
        if !seen.insert(semantic) {
            continue;
        }
        if are_posed && matches!(semantic, Semantic::Joints(_) | Semantic::Weights(_)) {
            outcome.leave_out(format!(
                "{semantic}, by which the vertices are moved already"
            ));
            continue;
        }
        if !views.iter().all(|view| view.has(semantic)) {
            outcome.leave_out(format!("{semantic}, which not every mesh has"));
            continue;
        }
        if *semantic != Semantic::Position && !are_finite(views, semantic, job, outcome)? {
            continue;
        }
        let components = usize::try_from(info.format.components).unwrap_or(4).min(4);
        let mut names = names(semantic, components);
        for name in &names {
            budget.keep(OF_NAME + 3 * name.len() as u64, "names of attributes")?;
        }
        budget.keep(OF_COLUMN, "attributes of all meshes")?;
        names
            .iter_mut()
            .for_each(|name| *name = free(name, &mut taken));
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
        outcome.leave_out(format!("{semantic}, which have no weights"));
        columns.retain(|column| column.semantic != semantic);
    }
    // Positions come first, because readers look for them there, even if other attributes are stored before them.
    columns.sort_by_key(|column| column.semantic != Semantic::Position);
    Ok(columns)
}

/// Returns `true` if an attribute can be written of every mesh: otherwise it is reported as left out.
fn are_finite(
    views: &[&MeshView],
    semantic: &Semantic,
    job: &Job<'_>,
    outcome: &mut Outcome,
) -> Result<bool> {
    if job.zero_non_finite {
        return Ok(true);
    }
    for view in views {
        let _scope = job.budget.scope();
        let Some(attribute) = view.attribute(semantic)? else {
            continue;
        };
        job.budget
            .charge_for::<[f32; 4]>(attribute.len(), "numbers of an attribute")?;
        let mut values = attribute.to_f32::<4>();
        let address_of = |index| format!("{}.{semantic}[{index}]", view.address());
        match replace_non_finite(&mut values, address_of, job.zero_non_finite) {
            Err(Error::NonFinite { address, value }) => {
                outcome.lacks(format!("{semantic}, because {address} is {value}"));
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

fn write_vertices(
    (view, pose): (&MeshView, Option<&Pose>),
    flips_v: bool,
    columns: &[Column],
    job: &Job<'_>,
    out: &mut impl Write,
    outcome: &mut Outcome,
) -> Result<()> {
    let _scope = job.budget.scope();
    let positions = read::positions(view, pose, job, outcome)?;
    let mut arrays = Vec::new();
    for column in columns
        .iter()
        .filter(|column| column.semantic != Semantic::Position)
    {
        let Some(attribute) = view.attribute(&column.semantic)? else {
            continue;
        };
        let values = read::optional::<4>(view, &attribute, pose, job, outcome)?;
        drop(attribute);
        let mut values = values.unwrap_or_default();
        if flips_v && matches!(column.semantic, Semantic::TexCoord(_)) {
            values.iter_mut().for_each(|[_, v, ..]| *v = 1.0 - *v);
            outcome.change("texture coordinates v, now 1 - v", values.len() as u64);
        }
        arrays.push((values, column));
    }
    let (mut rounded, mut clamped) = (0, 0);
    for vertex in 0..view.vertex_count() {
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
    outcome.change("colours, rounded to 8 bits", rounded);
    outcome.change(
        "colours outside of 0 to 1, which 8 bits cannot hold",
        clamped,
    );
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
