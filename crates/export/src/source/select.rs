//! Selection of the meshes of a file that are written.

use meshmap::slmesh::{Asset, Lod};
use meshmap::{Address, ErrorKind, MeshCounts, MeshFile, MeshView, Role, Semantic};

use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::outcome::Outcome;
use crate::pose::Pose;
use crate::settings::{Job, Lods};

/// The meshes of a file that are written.
pub(crate) struct Meshes {
    /// In the file's order.
    pub(crate) views: Vec<MeshView>,
    /// The transform of their vertices: into one frame of an animation, or into the bind pose.
    pub(crate) pose: Option<Pose>,
}

pub(crate) fn meshes(file: &MeshFile, job: &Job<'_>, outcome: &mut Outcome) -> Result<Meshes> {
    let pose = match job.still(file)?.pose(&job.budget, job.target.name())? {
        Some(pose) => {
            outcome.leave_out("the skeleton and animations");
            Some(pose)
        }
        None => Pose::bind_shape(file, |what| outcome.leave_out(what))?,
    };
    if pose.as_ref().is_some_and(Pose::mirrors) {
        outcome.note("the bind shape of the skin is a mirror image: triangles may look inside out");
    }
    let mut snapshot = 0;
    if let Some(proxy) = file.as_cgeo().filter(|_| job.meshes.is_empty()) {
        snapshot = job.snapshots(proxy)?.first().copied().unwrap_or_default();
        if proxy.snapshot_count() > 1 {
            outcome.leave_out("all snapshots but one");
        }
    }
    let mut views = Vec::new();
    let leave_out = &mut |what| outcome.leave_out(what);
    for view in drawn(file, &job.meshes, job.lod, snapshot, &job.budget, leave_out)? {
        if view.has(&Semantic::Position) {
            views.push(view);
        } else {
            outcome.leave_out(format!("{}, which has no positions", view.address()));
        }
    }
    if views.is_empty() {
        outcome.check_any(Some(file))?;
    }
    Ok(Meshes { views, pose })
}

/// The meshes at these addresses or, without any, what is drawn by default, with these levels of detail and this
/// snapshot.
pub(crate) fn drawn(
    file: &MeshFile,
    addresses: &[Address],
    lods: Lods,
    snapshot: usize,
    budget: &Budget,
    leave_out: &mut impl FnMut(String),
) -> Result<Vec<MeshView>> {
    if !addresses.is_empty() {
        let mut views = Vec::new();
        for address in addresses {
            views.extend(views_at(file, address, budget)?);
        }
        return Ok(views);
    }
    if let Some(proxy) = file.as_cgeo() {
        let view = proxy.snapshot(snapshot)?.view()?;
        budget.read_geometry(view.vertex_count() as u64, view.triangle_count() as u64)?;
        return Ok(vec![view]);
    }
    let lods = file.as_slmesh().map_or(lods, |asset| levels(asset, lods, leave_out));
    let wanted = move |role| match role {
        Role::Geometry => true,
        Role::Lod(level) => lods == Lods::All || lods == Lods::Only(level),
        _ => false,
    };
    file.meshes_where(wanted)?.map(|entry| view(file, &entry.address, entry.counts, budget)).collect()
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
            let views: Result<Vec<_>> =
                entries.map(|entry| view(file, &entry.address, entry.counts, budget)).collect();
            match views {
                Ok(views) if views.is_empty() => Err(Error::Read(error)),
                views => views,
            }
        }
        view => Ok(vec![view?]),
    }
}

/// A mesh, whose triangles are charged before they are read if their number is known.
fn view(file: &MeshFile, address: &Address, counts: Option<MeshCounts>, budget: &Budget) -> Result<MeshView> {
    /// A view without what it shares with the file.
    const OWN: u64 = 1 << 10;
    let listed = counts.map(|counts| counts.triangles);
    budget.read_geometry(0, listed.unwrap_or_default())?;
    let view = file.mesh(address)?;
    let (vertices, triangles) = (view.vertex_count() as u64, view.triangle_count() as u64);
    budget.read_geometry(vertices, if listed.is_some() { 0 } else { triangles })?;
    let names = view.name().len() + view.material().map_or(0, str::len);
    budget.keep(OWN + names as u64 + triangles.saturating_mul(12), "views of all meshes")?;
    Ok(view)
}

/// The levels of detail that are written: an asset without its finest level has another one, which is better than none.
fn levels(asset: &Asset, wanted: Lods, leave_out: &mut impl FnMut(String)) -> Lods {
    let is_there = |level: &(u32, Lod)| matches!(asset.lod_range(level.1), Ok(Some(_)));
    let levels: Vec<(u32, Lod)> = (0..).zip(Lod::ALL).filter(is_there).collect();
    let finest = levels.first().map_or(0, |(level, _)| *level);
    let taken = if wanted == Lods::Finest { Lods::Only(finest) } else { wanted };
    for (level, lod) in levels {
        if taken != Lods::All && taken != Lods::Only(level) {
            leave_out(format!("the level of detail {}", lod.name()));
        }
    }
    let is_physics = |name: &str| name.starts_with("physics");
    if asset
        .entries()
        .any(|entry| is_physics(&entry.name().to_string_lossy()) && matches!(entry.range(), Ok(Some(_))))
    {
        leave_out("geometry for physics".to_owned());
    }
    taken
}
