//! Which meshes of a file are written.

use meshmap::slmesh::{Asset, Lod};
use meshmap::{Address, MeshFile, MeshView, Role, Semantic};

use crate::convert::{Convert, Lods};
use crate::error::{Error, Result};
use crate::outcome::Outcome;
use crate::pose::Pose;

/// What is written of a file.
pub(crate) struct Meshes {
    /// In the file's order.
    pub(crate) views: Vec<MeshView>,
    /// What moves their vertices, where they are written in one frame of an animation.
    pub(crate) pose: Option<Pose>,
}

pub(crate) fn meshes(file: &MeshFile, convert: &Convert, outcome: &mut Outcome) -> Result<Meshes> {
    let pose = convert.still(file)?.pose(convert.target.name())?;
    if pose.is_some() {
        outcome.leave_out("the skeleton and animations");
    }
    let mut snapshot = 0;
    if let Some(proxy) = file.as_cgeo().filter(|_| convert.meshes.is_empty()) {
        snapshot = convert.snapshots(proxy)?.first().copied().unwrap_or_default();
        if proxy.len() > 1 {
            outcome.leave_out("all snapshots but one");
        }
    }
    let mut views = Vec::new();
    for view in drawn(file, &convert.meshes, convert.lods, snapshot, &mut |what| outcome.leave_out(what))? {
        if view.has(&Semantic::Position) {
            views.push(view);
        } else {
            outcome.leave_out(format!("{}, which has no positions", view.address()));
        }
    }
    if views.is_empty() {
        let what = "the file has no mesh to write".to_owned();
        return Err(Error::NotHeld { target: convert.target.name(), what });
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
    leave_out: &mut impl FnMut(String),
) -> Result<Vec<MeshView>> {
    if !addresses.is_empty() {
        return addresses.iter().map(|address| Ok(file.mesh(address)?)).collect();
    }
    let lods = match file {
        MeshFile::CGeo(proxy) => return Ok(vec![proxy.snapshot(snapshot)?.view()?]),
        MeshFile::SlMesh(asset) => levels(asset, lods, leave_out),
        _ => lods,
    };
    let wanted = move |role| match role {
        Role::Geometry => true,
        Role::Lod(level) => lods == Lods::All || lods == Lods::Only(level),
        _ => false,
    };
    file.meshes_where(wanted)?.map(|entry| Ok(file.mesh(&entry.address)?)).collect()
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
