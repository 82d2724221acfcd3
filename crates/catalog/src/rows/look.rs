//! The meshes of a file: what its headers say, or all.

use std::collections::HashMap;
use std::ops::ControlFlow;

use meshmap::cgeo::{Proxy, Snapshot};
use meshmap::slmesh::{self, Asset, Lod};
use meshmap::{Bounds, Error, MeshEntry, MeshFile, Result, Scratch};

use super::limited::Limited;
use super::row::{Row, name_of};
use crate::input::{memory_for, remedy_for_memory};
use crate::inspect::ByAddress;

/// The parts of a file that cannot be used; `None` if only headers are read.
type Known<'a> = Option<&'a ByAddress<'a>>;

/// Takes rows until a limit is exceeded.
type Push<'a> = &'a mut dyn FnMut(Row) -> ControlFlow<()>;

/// Adds the rows of an open file. `file_row` is what all of them share.
pub(super) fn meshes(file: &MeshFile, file_row: &Row, known: Known<'_>, rows: &mut Limited) {
    let format = file.format();
    let mut is_empty = true;
    let mut push = |row: Row| {
        is_empty = false;
        rows.push(
            match row.address.as_ref().and_then(|address| known?.at(address)) {
                Some(part) => row.damaged(part, format),
                None => row,
            },
        )
    };
    let added = if let Some(proxy) = file.as_cgeo() {
        match too_many(file, proxy.snapshot_count(), file_row) {
            None => cgeo(proxy, file_row, known, &mut push),
            Some(row) => push(row),
        }
    } else if let Some(asset) = file.as_slmesh() {
        slmesh(asset, file_row, known)
            .into_iter()
            .try_for_each(&mut push)
    } else {
        match file.meshes() {
            Ok(entries) => match too_many(file, entries.len(), file_row) {
                None => geometry(file, entries, file_row, known, &mut push),
                Some(row) => push(row),
            },
            Err(error) => push(file_row.clone().failed(&error)),
        }
    };
    // A file without meshes is not lost.
    if added.is_continue() && is_empty {
        let _ = rows.push(file_row.clone());
    }
}

/// The row of a file that lists `count` meshes, if their rows take more memory than the limits allow.
pub(super) fn too_many(file: &MeshFile, count: usize, file_row: &Row) -> Option<Row> {
    /// The texts of a mesh: its address, its name and its material.
    const OWN_TEXTS: usize = 128;
    let texts = [
        Some(&file_row.path),
        file_row.identity.as_ref(),
        file_row.hash.as_ref(),
    ]
    .into_iter()
    .flatten();
    let row = size_of::<Row>() + OWN_TEXTS + texts.map(|text| text.len()).sum::<usize>();
    let stored = file_row.file_bytes.map_or(0, i64::unsigned_abs);
    let most = memory_for(file.limits(), stored) / row as u64;
    if count as u64 <= most {
        return None;
    }
    let remedy = remedy_for_memory(file.limits());
    let error = Some(format!(
        "{count} meshes, and the limit of memory is enough for {most} rows{remedy}"
    ));
    Some(Row {
        error_kind: Some("limit_exceeded"),
        error,
        ..file_row.clone()
    })
}

/// Adds a row for each mesh of a format whose meshes are all geometry.
fn geometry(
    file: &MeshFile,
    entries: impl Iterator<Item = MeshEntry>,
    file_row: &Row,
    known: Known<'_>,
    push: Push<'_>,
) -> ControlFlow<()> {
    // The triangles of IQM meshes are one array.
    let checked = file
        .as_iqm()
        .filter(|_| known.is_some())
        .map_or(Ok(()), |model| model.triangles().map(drop));
    // The part that cannot be used may belong to no mesh, as those triangles do.
    let failed =
        |row: Row, error: &Error| match error.address().and_then(|at| known?.at(&at.to_string())) {
            Some(part) => row.damaged(part, file.format()),
            None => row.failed(error),
        };
    // Meshes may share vertices; files in which thousands share all would take hours.
    let mut may_look = file_row.file_bytes.map_or(u64::MAX, i64::unsigned_abs);
    let mut row = |(index, entry): (usize, MeshEntry)| {
        let counts = entry.counts.map_or_else(|| file.counts(&entry.address), Ok);
        let row = Row {
            address: Some(entry.address.to_string()),
            name: name_of(&entry),
            role: Some("geometry"),
            ..own_facts(file, index, file_row)
        };
        let counts = match (&checked, counts) {
            (Err(error), _) => return failed(row, error),
            (Ok(()), Err(error)) => return failed(row, &error),
            (Ok(()), Ok(counts)) => counts,
        };
        let row = Row {
            vertices: number(counts.vertices),
            triangles: number(counts.triangles),
            ..row
        };
        let is_worth = may_look >= counts.vertices;
        may_look = may_look.saturating_sub(counts.vertices);
        if known.is_none() || !is_worth {
            return row;
        }
        match check_indices(file, index).and_then(|()| file.bounds(&entry.address)) {
            Ok(bounds) => Row {
                bounds: bounds.map(corners),
                ..row
            },
            Err(error) => failed(row, &error),
        }
    };
    entries.enumerate().try_for_each(|entry| push(row(entry)))
}

/// Facts about a mesh that single formats know without another read.
fn own_facts(file: &MeshFile, index: usize, file_row: &Row) -> Row {
    let material = file
        .as_iqm()
        .and_then(|model| model.mesh(index).ok())
        .and_then(|mesh| named(&mesh.material));
    let body = file
        .as_openctm()
        .and_then(|bodies| bodies.mesh(index).ok())
        .map(meshmap::openctm::Mesh::range);
    let mesh = file
        .as_tmf()
        .and_then(|document| document.mesh(index).ok())
        .map(|mesh| mesh.range());
    Row {
        material,
        mesh_bytes: body.or(mesh).as_ref().and_then(length),
        ..file_row.clone()
    }
}

/// Decodes the indices of a mesh.
fn check_indices(file: &MeshFile, index: usize) -> Result<()> {
    if let Some(bodies) = file.as_openctm() {
        bodies.mesh(index)?.triangles()?;
    }
    if let Some(document) = file.as_tmf() {
        document.mesh(index)?.load()?.indices()?;
    }
    Ok(())
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

fn named(text: &meshmap::Text) -> Option<String> {
    (!text.is_empty()).then(|| text.to_string_lossy().into_owned())
}

fn cgeo(proxy: &Proxy, file_row: &Row, known: Known<'_>, push: Push<'_>) -> ControlFlow<()> {
    /// Vertices, triangles and the box.
    type Seen = (Option<i64>, Option<i64>, Option<[[f32; 3]; 2]>);
    let (name, material) = (
        proxy.object_name().as_ref().and_then(named),
        proxy
            .properties()
            .get("Original material name")
            .as_ref()
            .and_then(named),
    );
    let said = |name: &str| {
        proxy
            .properties()
            .get(name)?
            .to_str()?
            .trim()
            .parse::<i64>()
            .ok()
            .filter(|count| *count >= 0)
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
    let mut row = |index: usize| {
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
        let row = Row {
            seconds: snapshot.time(),
            mesh_bytes: length(&snapshot.range()),
            ..row
        };
        if known.is_none() {
            // The header describes the first snapshot, and is not searched for the others.
            if index > 0 {
                return row;
            }
            return Row {
                vertices: said("Number of vertices"),
                triangles: said("Number of faces"),
                ..row
            };
        }
        match seen
            .entry(snapshot.range().start)
            .or_insert_with(|| look(&snapshot))
        {
            Ok((vertices, triangles, bounds)) => Row {
                vertices: *vertices,
                triangles: *triangles,
                bounds: *bounds,
                ..row
            },
            Err(error) => row.failed(error),
        }
    };
    (0..proxy.snapshot_count()).try_for_each(|index| push(row(index)))
}

/// A row for each level of detail, and for the mesh for physics.
fn slmesh(asset: &Asset, file_row: &Row, known: Known<'_>) -> Vec<Row> {
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
                rows.push(block(
                    Row {
                        mesh_bytes: length(&range),
                        ..row
                    },
                    known,
                    || asset.lod(lod),
                ));
            }
            Err(error) => rows.push(row.failed(&error)),
        }
    }
    let physics = asset
        .entries()
        .find(|entry| *entry.name() == "physics_mesh");
    if let Some(entry) = physics {
        let row = Row {
            address: Some("physics_mesh".to_owned()),
            role: Some("physics"),
            ..file_row.clone()
        };
        match entry.range() {
            Ok(None) => {}
            Ok(Some(range)) => {
                rows.push(block(
                    Row {
                        mesh_bytes: length(&range),
                        ..row
                    },
                    known,
                    || asset.physics_mesh(),
                ));
            }
            Err(error) => rows.push(row.failed(&error)),
        }
    }
    rows
}

fn block(row: Row, known: Known<'_>, decode: impl FnOnce() -> Result<Option<slmesh::Mesh>>) -> Row {
    if known.is_none() {
        return row;
    }
    let look = || -> Result<Row> {
        let Some(mesh) = decode()? else {
            return Ok(row.clone());
        };
        let mut bounds: Option<Bounds> = None;
        for face in mesh.faces().filter(slmesh::Face::has_geometry) {
            face.indices()?;
            if let Some(own) = Bounds::around(face.positions()?.iter()) {
                bounds = Some(bounds.map_or(own, |bounds| bounds.union(own)));
            }
        }
        let vertices = number(mesh.vertex_count());
        let triangles = number(mesh.triangle_count());
        Ok(Row {
            vertices,
            triangles,
            bounds: bounds.map(corners),
            ..row.clone()
        })
    };
    look().unwrap_or_else(|error| row.failed(&error))
}
