//! The geometry that the library reads of mesh files, for checks of written files: `geometry FOLDER FILE...` writes
//! `FOLDER/NAME.geometry` of each.
//!
//! For each sample of a snapshot of a CGeo file, and each mesh of others that is drawn: the time in steps from one snapshot to the next, in 64 bits,
//! the numbers of positions and of corners, 32 bits each, positions as floats, in the bind shape of a Second Life mesh, and corners
//! counter-clockwise, seen from where the normals of the first mesh that has some point to.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use meshmap::cgeo::Parts;
use meshmap::{MeshFile, Role, Scratch, Semantic, Winding};
use meshmap_testing::runs_against_normals;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(folder) = arguments.next() else {
        eprintln!("usage: geometry FOLDER FILE...");
        return ExitCode::from(2);
    };
    let mut status = ExitCode::SUCCESS;
    for file in arguments {
        let name = Path::new(&file)
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let output = Path::new(&folder).join(name + ".geometry");
        if let Err(error) = write(&file, &output) {
            eprintln!("{file}: {error}");
            status = ExitCode::FAILURE;
        }
    }
    status
}

fn write(file: &str, output: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let file = MeshFile::open(file)?;
    let mut out = BufWriter::new(File::create(output)?);
    let mut part = |steps: f64, positions: &[[f32; 3]], corners: &[[u32; 3]]| {
        out.write_all(&steps.to_le_bytes())?;
        out.write_all(
            &u32::try_from(positions.len())
                .unwrap_or(u32::MAX)
                .to_le_bytes(),
        )?;
        out.write_all(
            &u32::try_from(corners.len() * 3)
                .unwrap_or(u32::MAX)
                .to_le_bytes(),
        )?;
        positions
            .as_flattened()
            .iter()
            .try_for_each(|number| out.write_all(&number.to_le_bytes()))?;
        corners
            .as_flattened()
            .iter()
            .try_for_each(|index| out.write_all(&index.to_le_bytes()))
    };
    let is_clockwise = file.format().conventions().front_face == Some(Winding::Clockwise);
    let turns = is_clockwise != runs_against_normals(&file);
    if let Some(proxy) = file.as_cgeo() {
        for index in 0..proxy.snapshot_count() {
            let snapshot = proxy.snapshot(index)?;
            let samples = snapshot.samples(&mut Scratch::default())?.max(1);
            for sample in 0..samples {
                let mesh = snapshot.sample(sample).mesh(Parts::ALL)?;
                part(
                    index as f64 + sample as f64 / samples as f64,
                    &mesh.positions.to_vec(),
                    &turned(mesh.triangles.positions(), turns),
                )?;
            }
        }
        return Ok(());
    }
    // Vertices that follow joints are written in their bind shape.
    let bind_shape = file
        .as_slmesh()
        .and_then(|asset| asset.skin().ok()??.bind_shape_matrix);
    let entries: Vec<_> = file.meshes()?.collect();
    let level = |role| {
        if let Role::Lod(level) = role {
            Some(level)
        } else {
            None
        }
    };
    let finest = entries.iter().filter_map(|entry| level(entry.role)).min();
    for entry in entries {
        let is_drawn = level(entry.role).map_or_else(
            || entry.role.is_drawn_by_default(),
            |level| Some(level) == finest,
        );
        let view = file.mesh(&entry.address)?;
        let Some(positions) = view.attribute(&Semantic::Position)?.filter(|_| is_drawn) else {
            continue;
        };
        let corners = turned(view.indices().triangles().collect(), turns);
        let mut positions = positions.to_f32::<3>();
        if let Some(shape) = bind_shape.filter(|_| view.has(&Semantic::Weights(0))) {
            for position in &mut positions {
                let [x, y, z] = position.map(f64::from);
                let row = |row: usize| {
                    let [a, b, c, d] = [0, 4, 8, 12].map(|column| f64::from(shape[column + row]));
                    (a * x + b * y + c * z + d) as f32
                };
                *position = [row(0), row(1), row(2)];
            }
        }
        part(0.0, &positions, &corners)?;
    }
    Ok(())
}

fn turned(mut corners: Vec<[u32; 3]>, turns: bool) -> Vec<[u32; 3]> {
    if turns {
        corners.iter_mut().for_each(|corners| corners.swap(1, 2));
    }
    corners
}
