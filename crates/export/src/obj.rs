//! OBJ, and the MTL with its materials. Numbers are the shortest decimals that give the same bits.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;

use meshmap::cgeo::{self, Parts};
use meshmap::{MeshView, Semantic};
use meshmap_outputs::{Output, Place};

use crate::error::Result;
use crate::outcome::Outcome;
use crate::scene::cgeo::Snapshots;
use crate::scene::check::{finite, kept_count, turned, usable};
use crate::scene::names::free;
use crate::scene::pose::Pose;
use crate::scene::textures::Texture;
use crate::scene::{Mesh, Scene, read};
use crate::settings::Job;

pub(crate) fn write(
    scene: &Scene,
    job: &Job<'_>,
    place: &Place,
    outcome: &mut Outcome,
) -> Result<()> {
    match &scene.snapshots {
        Some(snapshots) => {
            snapshots.report_others(outcome);
            let outputs = write_snapshot(scene, snapshots, job, place, outcome)?;
            job.finish(outputs, outcome)
        }
        None => write_meshes(scene, job, place, outcome),
    }
}

/// The first of the snapshots that are written, with the indices of each stream as they are stored.
pub(crate) fn write_snapshot(
    scene: &Scene,
    snapshots: &Snapshots,
    job: &Job<'_>,
    place: &Place,
    outcome: &mut Outcome,
) -> Result<Vec<Output>> {
    let first = snapshots.first()?;
    let snapshot = first.index();
    let _scope = job.budget.scope();
    let mesh = first.mesh(Parts::ALL)?;
    let triangles = mesh.triangles.len();
    job.budget
        .read_geometry(mesh.positions.len() as u64, triangles as u64)?;
    // The arrays, and the ones that are written; the triangles as they are stored, and the corners of three streams.
    let elements = mesh.positions.len()
        + mesh.normals.len()
        + mesh
            .texcoords
            .iter()
            .map(|channel| channel.len())
            .sum::<usize>();
    job.budget
        .charge_for::<[[f32; 3]; 2]>(elements, "mesh of a snapshot")?;
    job.budget
        .charge_for::<[[u32; 3]; 3]>(triangles, "triangles of a snapshot")?;
    job.budget.charge(
        mesh.triangles.as_bytes().len() as u64,
        "triangles of a snapshot",
    )?;
    let cgeo::Mesh {
        positions,
        normals,
        texcoords,
        triangles,
        ..
    } = &mesh;
    // Without triangles, nothing has indices for the others.
    let (normals, map_channels) = if scene.are_points {
        (Vec::new(), &[][..])
    } else {
        (normals.to_vec(), texcoords.as_slice())
    };
    let mut materials = BTreeMap::new();
    let mut output = job.budget.output(place)?;
    let out = &mut output;
    begin(scene, place, out)?;
    writeln!(out, "o {}", token(job.name_of(&snapshots.name()), "mesh"))?;
    let mut positions = positions.to_vec();
    finite(
        &mut positions,
        || format!("snapshots[{snapshot}].positions"),
        job,
        outcome,
    )?;
    let mut checked = |mut values: Vec<[f32; 3]>, what: &str| -> Result<Vec<[f32; 3]>> {
        let is_usable = usable(
            &mut values,
            || format!("snapshots[{snapshot}].{what}"),
            job,
            outcome,
        )?;
        Ok(if is_usable { values } else { Vec::new() })
    };
    let mut normals = checked(normals, "normals")?;
    let coords = match map_channels.first() {
        Some(channel) => checked(channel.to_vec(), "map_channels[0]")?,
        None => Vec::new(),
    };
    job.turn_numbers(&mut positions);
    job.turn_numbers(&mut normals);
    lines(out, "v", &positions)?;
    for [u, v, _] in &coords {
        writeln!(out, "vt {u} {v}")?;
    }
    lines(out, "vn", &normals)?;
    if !coords.is_empty() {
        outcome.leave_out("the third texture coordinate");
    }
    if map_channels.len() > 1 {
        outcome.leave_out("map channels after the first");
    }
    if triangles.edge_visibility().is_some() && !scene.are_points {
        outcome.leave_out("visibility of edges");
    }
    let corners = triangles.positions();
    let corner_normals = triangles.normals().filter(|_| !normals.is_empty());
    let corner_coords = triangles.texcoords(0).filter(|_| !coords.is_empty());
    let is_beyond = |(corners, count): (Option<&Vec<[u32; 3]>>, usize)| {
        corners.is_some_and(|corners| {
            corners
                .as_flattened()
                .iter()
                .any(|index| *index as usize >= count)
        })
    };
    let streams = [
        (Some(&corners), positions.len()),
        (corner_normals.as_ref(), normals.len()),
        (corner_coords.as_ref(), coords.len()),
    ];
    if streams.into_iter().any(is_beyond) {
        // Fails, and says where.
        mesh.vertex_remap()?;
    }
    let kept = corners
        .iter()
        .filter(|corners| job.keeps(**corners))
        .count();
    outcome.wrote(positions.len(), kept);
    outcome.count_degenerate(corners.iter().copied(), job.drops_degenerate());
    let ids = triangles.material_ids().map(Iterator::collect::<Vec<_>>);
    job.count_materials(ids.as_ref().map(|ids| ids.iter().copied()), outcome)?;
    if job.merges_materials() && ids.is_some() {
        outcome.leave_out("material IDs");
    }
    let turns = job.turns(scene.format);
    let mut current = None;
    for (index, triangle) in corners
        .iter()
        .enumerate()
        .filter(|(_, corners)| job.keeps(**corners))
    {
        let id = ids.as_ref().and_then(|ids| ids.get(index));
        let id = id.map(|id| if job.merges_materials() { 0 } else { *id });
        if let Some(id) = id.filter(|_| id != current) {
            current = Some(id);
            let name = job.material_of(id);
            writeln!(out, "usemtl {name}")?;
            materials.insert(name, None);
        }
        let at = |stream: &Option<Vec<[u32; 3]>>| {
            stream
                .as_ref()
                .and_then(|stream| stream.get(index))
                .map(|triangle| turned(*triangle, turns))
        };
        face(
            out,
            turned(*triangle, turns),
            at(&corner_coords),
            at(&corner_normals),
            [1; 3],
        )?;
    }
    if scene.are_points {
        points(out, 1, positions.len())?;
    }
    scene.check_written(outcome)?;
    Ok(vec![write_materials(&materials, place, job)?, output])
}

fn write_meshes(scene: &Scene, job: &Job<'_>, place: &Place, outcome: &mut Outcome) -> Result<()> {
    let (turns, flips_v) = (job.turns(scene.format), job.flips_v(scene.format));
    let pose = scene.pose.as_ref();
    let (mut materials, mut taken) = (BTreeMap::new(), HashMap::new());
    // Materials of different names stay different: each name of the file has one in the output.
    let (mut written, mut taken_materials) = (HashMap::new(), HashMap::new());
    let mut output = job.budget.output(place)?;
    let out = &mut output;
    begin(scene, place, out)?;
    // Numbers of OBJ count from 1, and through all objects.
    let mut first = [1_u64; 3];
    for mesh in scene.meshes(&job.budget, outcome)?.iter() {
        let name = mesh.name();
        let Mesh { view, material, .. } = mesh;
        let _scope = job.budget.scope();
        let address = view.address().to_string();
        let name = if name.is_empty() && !job.name.is_empty() {
            free(&job.name, &mut taken)
        } else {
            name.to_owned()
        };
        writeln!(out, "o {}", token(&name, &address))?;
        for info in view.attributes() {
            let is_held = match info.semantic {
                Semantic::Position | Semantic::Color(0) => true,
                Semantic::Normal | Semantic::TexCoord(0) => !scene.are_points,
                _ => false,
            };
            if !is_held {
                outcome.leave_out(info.semantic.to_string());
            }
        }
        let positions = read::positions(view, pose, job, outcome)?;
        let (mut coords, mut normals) = (None, None);
        if !scene.are_points {
            coords = array::<2>((view, pose), &Semantic::TexCoord(0), job, outcome)?;
            normals = array::<3>((view, pose), &Semantic::Normal, job, outcome)?;
        }
        let colors = array::<4>((view, pose), &Semantic::Color(0), job, outcome)?;
        match &colors {
            Some(colors) => colored_lines(out, &positions, colors)?,
            None => lines(out, "v", &positions)?,
        }
        if colors.iter().flatten().any(|[.., alpha]| *alpha != 1.0) {
            outcome.leave_out("the opacity of colours");
        }
        for [u, v] in coords.iter().flatten() {
            writeln!(out, "vt {u} {}", if flips_v { 1.0 - v } else { *v })?;
        }
        if flips_v {
            outcome.change(
                "texture coordinates v, now 1 - v",
                coords.iter().flatten().count() as u64,
            );
        }
        lines(out, "vn", normals.as_deref().unwrap_or_default())?;
        let corners = view
            .indices()
            .triangles()
            .map(|corners| turned(corners, turns));
        let corners = job.budget.collect(corners, "triangles of a mesh")?;
        outcome.wrote(positions.len(), kept_count(view, job));
        outcome.count_degenerate(corners.iter().copied(), job.drops_degenerate());
        job.count_materials(view.material_ids().map(|ids| ids.iter()), outcome)?;
        if job.merges_materials() && view.material_ids().is_some() {
            outcome.leave_out("material IDs");
        }
        let mut current = None;
        for group in view.groups().filter(|_| !scene.are_points) {
            let image = material.as_deref().filter(|_| coords.is_some());
            let image = image
                .and_then(|name| scene.texture(name))
                .map(Texture::path);
            let material = match (material.as_deref(), view.material_ids()) {
                (Some(name), _) => Some(match written.get(name) {
                    Some(known) => String::clone(known),
                    None => {
                        job.budget.keep(4 * name.len() as u64 + 256, "materials")?;
                        let free = free(&token(name, "material"), &mut taken_materials);
                        written.insert(name.to_owned(), free.clone());
                        free
                    }
                }),
                (None, Some(_)) => Some(job.material_of(group.material)),
                (None, None) => None,
            };
            if let Some(material) = &material
                && current.as_ref() != Some(material)
            {
                writeln!(out, "usemtl {material}")?;
                if materials
                    .get(material)
                    .is_none_or(|known: &Option<String>| known.is_none() && image.is_some())
                {
                    let bytes = material.len() + image.as_ref().map_or(0, String::len);
                    job.budget.keep(2 * bytes as u64 + 96, "materials")?;
                    materials.insert(material.clone(), image);
                }
            }
            current = material;
            let triangles = corners
                .get(group.triangles)
                .unwrap_or_default()
                .iter()
                .copied();
            for triangle in triangles.filter(|corners| job.keeps(*corners)) {
                let same = |is_there: bool| is_there.then_some(triangle);
                face(
                    out,
                    triangle,
                    same(coords.is_some()),
                    same(normals.is_some()),
                    first,
                )?;
            }
        }
        if scene.are_points {
            if material.is_some() {
                outcome.leave_out("materials of points");
            }
            points(out, first[0], positions.len())?;
        }
        let counts = [
            positions.len(),
            coords.map_or(0, |coords| coords.len()),
            normals.map_or(0, |normals| normals.len()),
        ];
        for (first, count) in first.iter_mut().zip(counts) {
            *first += count as u64;
        }
    }
    scene.check_written(outcome)?;
    job.finish(
        vec![write_materials(&materials, place, job)?, output],
        outcome,
    )
}

/// The numbers of an attribute; `None` if the mesh has none, or none that can be written.
fn array<const N: usize>(
    (view, pose): (&MeshView, Option<&Pose>),
    semantic: &Semantic,
    job: &Job<'_>,
    outcome: &mut Outcome,
) -> Result<Option<Vec<[f32; N]>>> {
    let Some(attribute) = view.attribute(semantic)? else {
        return Ok(None);
    };
    read::optional(view, &attribute, pose, job, outcome)
}

fn begin(scene: &Scene, place: &Place, out: &mut impl Write) -> Result<()> {
    let library = materials_of(place)?;
    let library = library.name().to_string_lossy();
    // No statement of OBJ can name a file with a control character.
    let library = library.replace(char::is_control, "_");
    writeln!(out, "# meshmap")?;
    if let Some(unit) = scene.unit.comment() {
        writeln!(out, "# {unit}")?;
    }
    writeln!(out, "mtllib {library}")?;
    Ok(())
}

fn lines(out: &mut impl Write, what: &str, triples: &[[f32; 3]]) -> Result<()> {
    for [x, y, z] in triples {
        writeln!(out, "{what} {x} {y} {z}")?;
    }
    Ok(())
}

/// Positions with the colours of their vertices, which is not in the format's text, but what most programs read and write.
fn colored_lines(out: &mut impl Write, positions: &[[f32; 3]], colors: &[[f32; 4]]) -> Result<()> {
    for ([x, y, z], [r, g, b, _]) in positions.iter().zip(colors) {
        writeln!(out, "v {x} {y} {z} {r} {g} {b}")?;
    }
    Ok(())
}

/// Points; `first` is the number of the first one.
fn points(out: &mut impl Write, first: u64, count: usize) -> Result<()> {
    for point in (first..).take(count) {
        writeln!(out, "p {point}")?;
    }
    Ok(())
}

/// A triangle; `first` is the number of the first position, texture coordinate and normal.
fn face(
    out: &mut impl Write,
    positions: [u32; 3],
    coords: Option<[u32; 3]>,
    normals: Option<[u32; 3]>,
    first: [u64; 3],
) -> Result<()> {
    write!(out, "f")?;
    for (corner, position) in positions.into_iter().enumerate() {
        write!(out, " {}", u64::from(position) + first[0])?;
        let coord = coords.map(|coords| u64::from(coords[corner]) + first[1]);
        let normal = normals.map(|normals| u64::from(normals[corner]) + first[2]);
        match (coord, normal) {
            (Some(coord), Some(normal)) => write!(out, "/{coord}/{normal}")?,
            (Some(coord), None) => write!(out, "/{coord}")?,
            (None, Some(normal)) => write!(out, "//{normal}")?,
            (None, None) => {}
        }
    }
    writeln!(out)?;
    Ok(())
}

/// A name without what would end it, or continue it on the next line.
fn token(name: &str, otherwise: &str) -> String {
    let name = if name.trim().is_empty() {
        otherwise
    } else {
        name
    };
    let mut token = name.replace(|c: char| c.is_whitespace() || c.is_control(), "_");
    // One more underscore if there are some, so that different names stay different.
    if token.trim_end_matches('_').ends_with('\\') {
        token.push('_');
    }
    token
}

/// The place of the materials of an OBJ.
fn materials_of(place: &Place) -> Result<Place> {
    Ok(place.with_extension("mtl")?)
}

fn write_materials(
    materials: &BTreeMap<String, Option<String>>,
    place: &Place,
    job: &Job<'_>,
) -> Result<Output> {
    let mut output = job.budget.output(&materials_of(place)?)?;
    let out = &mut output;
    writeln!(out, "# meshmap")?;
    for (material, image) in materials {
        match image {
            Some(image) => writeln!(out, "newmtl {material}\nKd 1 1 1\nmap_Kd {image}")?,
            None => writeln!(out, "newmtl {material}\nKd 0.8 0.8 0.8")?,
        }
    }
    Ok(output)
}
