//! The meshes of a file: what its headers say, or all.

use std::collections::HashMap;

use meshmap::cgeo::{Proxy, Snapshot};
use meshmap::iqm::{Model, VertexArrayType};
use meshmap::openctm::Bodies;
use meshmap::slmesh::{self, Asset, Lod};
use meshmap::tmf::Document;
use meshmap::{Array, Bounds, MeshFile, Result, Scratch};

use super::row::Row;
use crate::inspect::tmf;

/// A file that lists more has one row that says so.
const MOST: usize = 1_000_000;

/// The rows of an open file. `file_row` is what all of them say.
pub(super) fn meshes(file: &MeshFile, file_row: &Row, full: bool) -> Vec<Row> {
    let count = match file {
        MeshFile::CGeo(proxy) => proxy.len(),
        MeshFile::Iqm(model) => model.len(),
        MeshFile::OpenCtm(bodies) => bodies.len(),
        MeshFile::Tmf(document) => document.len(),
        _ => 0,
    };
    if count > MOST {
        let error = Some(format!("{count} meshes, and at most {MOST} of a file are listed"));
        return vec![Row { error_kind: Some("limit_exceeded"), error, ..file_row.clone() }];
    }
    let rows = match file {
        MeshFile::CGeo(proxy) => cgeo(proxy, file_row, full),
        MeshFile::Iqm(model) => iqm(model, file_row, full),
        MeshFile::OpenCtm(bodies) => openctm(bodies, file_row, full),
        MeshFile::SlMesh(asset) => slmesh(asset, file_row, full),
        MeshFile::Tmf(document) => documents(document, file_row, full),
        _ => Vec::new(),
    };
    // A file without meshes is not lost.
    if rows.is_empty() { vec![file_row.clone()] } else { rows }
}

fn number(value: impl TryInto<i64>) -> Option<i64> {
    value.try_into().ok()
}

fn length(range: &std::ops::Range<u64>) -> Option<i64> {
    number(range.end.saturating_sub(range.start))
}

fn corners(bounds: Bounds) -> [[f32; 3]; 2] {
    [bounds.min, bounds.max]
}

fn around(points: &Array<[f32; 3]>) -> Option<[[f32; 3]; 2]> {
    Bounds::around(points.iter()).map(corners)
}

fn named(text: &meshmap::Text) -> Option<String> {
    (!text.is_empty()).then(|| text.to_string_lossy().into_owned())
}

fn cgeo(proxy: &Proxy, file_row: &Row, full: bool) -> Vec<Row> {
    /// Vertices, triangles and the box.
    type Seen = (Option<i64>, Option<i64>, Option<[[f32; 3]; 2]>);
    let (name, material) =
        (proxy.object_name().as_ref().and_then(named), proxy.material_name().as_ref().and_then(named));
    let said = |name: &str| {
        proxy.properties().get(name)?.to_str()?.trim().parse::<i64>().ok().filter(|count| *count >= 0)
    };
    let mut scratch = Scratch::default();
    let mut points = Vec::new();
    let mut look = |snapshot: &Snapshot| -> Result<Seen> {
        snapshot.positions_into(&mut points, &mut scratch)?;
        let triangles = snapshot.triangles()?.len();
        let bounds = Bounds::around(points.iter().copied()).map(corners);
        Ok((number(points.len()), number(triangles), bounds))
    };
    // Entries of the table that name the same snapshot are looked at once.
    let mut seen: HashMap<u64, Result<Seen>> = HashMap::new();
    let row = |index: usize| {
        let row = Row {
            address: Some(format!("snapshots[{index}]")),
            name: name.clone(),
            material: material.clone(),
            role: Some("snapshot"),
            ..file_row.clone()
        };
        let snapshot = match proxy.snapshot(index) {
            Ok(snapshot) => snapshot,
            Err(error) => return row.failed(&error),
        };
        let row = Row { seconds: snapshot.time(), mesh_bytes: length(&snapshot.range()), ..row };
        if !full {
            // What the header says, it says of the first snapshot.
            let [vertices, triangles] =
                ["Number of vertices", "Number of faces"].map(|name| said(name).filter(|_| index == 0));
            return Row { vertices, triangles, ..row };
        }
        match seen.entry(snapshot.range().start).or_insert_with(|| look(&snapshot)) {
            Ok((vertices, triangles, bounds)) => {
                Row { vertices: *vertices, triangles: *triangles, bounds: *bounds, ..row }
            }
            Err(error) => row.failed(error),
        }
    };
    (0..proxy.len()).map(row).collect()
}

fn iqm(model: &Model, file_row: &Row, full: bool) -> Vec<Row> {
    let positions = if full { model.vertex_array_of(&VertexArrayType::Position) } else { Ok(None) };
    let checked = if full { model.check_indices() } else { Ok(()) };
    // Meshes may share vertices; files in which thousands share all would take hours.
    let mut may_look = model.vertex_count().saturating_mul(4);
    let row = |(index, mesh): (usize, meshmap::iqm::Mesh)| {
        let row = Row {
            address: Some(format!("meshes[{index}]")),
            name: named(&mesh.name),
            material: named(&mesh.material),
            role: Some("geometry"),
            vertices: number(mesh.num_vertexes),
            triangles: number(mesh.num_triangles),
            ..file_row.clone()
        };
        if let Err(error) = &checked {
            return row.failed(error);
        }
        match &positions {
            Err(error) => row.failed(error),
            Ok(None) => row,
            Ok(Some(positions)) => {
                let first = mesh.first_vertex as usize;
                let count = mesh.num_vertexes as usize;
                let is_worth = may_look >= count;
                may_look = may_look.saturating_sub(count);
                let own = positions.slice(first..first.saturating_add(count)).filter(|_| is_worth);
                Row { bounds: own.and_then(|own| own.bounds()).map(corners), ..row }
            }
        }
    };
    model.meshes().enumerate().map(row).collect()
}

fn openctm(bodies: &Bodies, file_row: &Row, full: bool) -> Vec<Row> {
    let row = |(index, mesh): (usize, &meshmap::openctm::Mesh)| {
        let row = Row {
            address: Some(format!("bodies[{index}]")),
            role: Some("geometry"),
            mesh_bytes: length(&mesh.range()),
            vertices: number(mesh.vertex_count()),
            triangles: number(mesh.triangle_count()),
            ..file_row.clone()
        };
        if !full {
            return row;
        }
        // A mesh of its own, so that what is decoded is given back.
        let decoded = mesh.load().and_then(|mesh| {
            mesh.indices()?;
            Ok(around(&mesh.positions()?))
        });
        match decoded {
            Ok(bounds) => Row { bounds, ..row },
            Err(error) => row.failed(&error),
        }
    };
    bodies.iter().enumerate().map(row).collect()
}

/// A row for each level of detail, and for the mesh for physics.
fn slmesh(asset: &Asset, file_row: &Row, full: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    for (level, lod) in (0..).zip(Lod::ALL) {
        let row = Row {
            address: Some(lod.name().to_owned()),
            role: Some("lod"),
            level: Some(level),
            ..file_row.clone()
        };
        match asset.lod_range(lod) {
            Ok(None) => {}
            Ok(Some(range)) => {
                rows.push(block(Row { mesh_bytes: length(&range), ..row }, full, || asset.lod(lod)));
            }
            Err(error) => rows.push(row.failed(&error)),
        }
    }
    let physics = asset.entries().find(|entry| *entry.name() == "physics_mesh");
    if let Some(entry) = physics {
        let row = Row { address: Some("physics_mesh".to_owned()), role: Some("physics"), ..file_row.clone() };
        match entry.range() {
            Ok(None) => {}
            Ok(Some(range)) => {
                rows.push(block(Row { mesh_bytes: length(&range), ..row }, full, || asset.physics_mesh()));
            }
            Err(error) => rows.push(row.failed(&error)),
        }
    }
    rows
}

fn block(row: Row, full: bool, decode: impl FnOnce() -> Result<Option<slmesh::Mesh>>) -> Row {
    if !full {
        return row;
    }
    let look = || -> Result<Row> {
        let Some(mesh) = decode()? else { return Ok(row.clone()) };
        let mut bounds: Option<Bounds> = None;
        for face in mesh.faces().filter(slmesh::Face::has_geometry) {
            face.checked_indices()?;
            if let Some(own) = Bounds::around(face.positions()?.iter()) {
                bounds = Some(bounds.map_or(own, |bounds| bounds.union(own)));
            }
        }
        let (vertices, triangles) = (number(mesh.vertex_count()), number(mesh.triangle_count()));
        Ok(Row { vertices, triangles, bounds: bounds.map(corners), ..row.clone() })
    };
    look().unwrap_or_else(|error| row.failed(&error))
}

fn documents(document: &Document, file_row: &Row, full: bool) -> Vec<Row> {
    let row = |mesh: meshmap::tmf::Mesh| {
        let (vertices, triangles) = tmf::counts(&mesh);
        let row = Row {
            address: Some(mesh.address().to_string()),
            name: named(&mesh.name()),
            role: Some("geometry"),
            mesh_bytes: length(&mesh.range()),
            vertices: number(vertices),
            triangles: number(triangles),
            ..file_row.clone()
        };
        if !full {
            return row;
        }
        let bounds = mesh.vertices().map(|vertices| tmf::bounds(&vertices)).transpose();
        match bounds.and_then(|bounds| mesh.load()?.triangles().map(|_| bounds.flatten())) {
            Ok(bounds) => Row { bounds: bounds.map(corners), ..row },
            Err(error) => row.failed(&error),
        }
    };
    document.meshes().map(row).collect()
}
