//! Selection of the meshes of a file.

use meshmap::{Address, ErrorKind, MeshCounts, MeshFile, MeshView, Role};

use super::{Selection, slmesh};
use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::outcome::Report;
use crate::settings::Lods;

/// The meshes at the addresses or, without any, what is drawn by default, in the order of the file.
pub(super) fn views(
    file: &MeshFile,
    wanted: &Selection<'_>,
    report: &mut impl Report,
) -> Result<Vec<MeshView>> {
    if !wanted.meshes.is_empty() {
        let mut views = Vec::new();
        for address in wanted.meshes {
            views.extend(views_at(file, address, wanted.budget)?);
        }
        return Ok(views);
    }
    let lods = file.as_slmesh().map_or(wanted.lods, |asset| {
        slmesh::levels(asset, wanted.lods, report)
    });
    let is_wanted = move |role| match role {
        Role::Geometry => true,
        Role::Lod(level) => lods == Lods::All || lods == Lods::Only(level),
        _ => false,
    };
    let entries = file.meshes_where(is_wanted)?;
    entries
        .map(|entry| view(file, &entry.address, entry.counts, wanted.budget))
        .collect()
}

/// The mesh at an address, the meshes that a part contains, or the mesh that a part belongs to.
fn views_at(file: &MeshFile, address: &Address, budget: &Budget) -> Result<Vec<MeshView>> {
    match view(file, address, None, budget) {
        Err(Error::Read(error)) if error.kind() == ErrorKind::OutOfRange => {
            let is_meant = |mesh: &Address| {
                let (mesh, part) = (mesh.segments(), address.segments());
                mesh.starts_with(part) || part.starts_with(mesh)
            };
            let entries = file.meshes()?.filter(|entry| is_meant(&entry.address));
            let views: Result<Vec<_>> = entries
                .map(|entry| view(file, &entry.address, entry.counts, budget))
                .collect();
            match views {
                Ok(views) if views.is_empty() => Err(Error::Read(error)),
                views => views,
            }
        }
        view => Ok(vec![view?]),
    }
}

/// A mesh, whose triangles are charged before they are read if their number is known.
fn view(
    file: &MeshFile,
    address: &Address,
    counts: Option<MeshCounts>,
    budget: &Budget,
) -> Result<MeshView> {
    /// A view without what it shares with the file.
    const OWN: u64 = 1 << 10;
    let listed = counts.map(|counts| counts.triangles);
    budget.read_geometry(0, listed.unwrap_or_default())?;
    let view = file.mesh(address)?;
    let (vertices, triangles) = (view.vertex_count() as u64, view.triangle_count() as u64);
    budget.read_geometry(vertices, if listed.is_some() { 0 } else { triangles })?;
    let names = view.name().len() + view.material().map_or(0, str::len);
    budget.keep(
        OWN + names as u64 + triangles.saturating_mul(12),
        "views of all meshes",
    )?;
    Ok(view)
}
