//! Which meshes of a file are written.

use meshmap::slmesh::{Asset, Lod};
use meshmap::{Address, MeshFile, MeshView, Role, Semantic};

use crate::convert::{Convert, Lods};
use crate::error::{Error, Result};
use crate::outcome::Outcome;

/// The meshes that are written, in the file's order.
pub(crate) fn meshes(file: &MeshFile, convert: &Convert, outcome: &mut Outcome) -> Result<Vec<MeshView>> {
    let mut views = Vec::new();
    for address in addresses(file, convert, outcome)? {
        let view = file.mesh(&address)?;
        if view.has(&Semantic::Position) {
            views.push(view);
        } else {
            outcome.leave_out(format!("{address}, which has no positions"));
        }
    }
    if views.is_empty() {
        let what = "the file has no mesh to write".to_owned();
        return Err(Error::NotHeld { target: convert.target.name(), what });
    }
    Ok(views)
}

fn addresses(file: &MeshFile, convert: &Convert, outcome: &mut Outcome) -> Result<Vec<Address>> {
    if !convert.meshes.is_empty() {
        return Ok(convert.meshes.clone());
    }
    let (mut snapshot, mut lods) = (0, convert.lods);
    match file {
        MeshFile::CGeo(proxy) => {
            snapshot = convert.snapshots(proxy.len())?.first().copied().unwrap_or_default() as u64;
            if proxy.len() > 1 {
                outcome.leave_out("all snapshots but one");
            }
        }
        MeshFile::SlMesh(asset) => lods = levels(asset, lods, outcome),
        _ => {}
    }
    let wanted = move |role| match role {
        Role::Geometry => true,
        Role::Lod(level) => lods == Lods::All || lods == Lods::Only(level),
        Role::Snapshot { index, .. } => index == snapshot,
        _ => false,
    };
    Ok(file.meshes_where(wanted)?.map(|entry| entry.address).collect())
}

/// The levels of detail that are written: an asset without its finest level has another one, which is better than none.
fn levels(asset: &Asset, wanted: Lods, outcome: &mut Outcome) -> Lods {
    let is_there = |level: &(u32, Lod)| matches!(asset.lod_range(level.1), Ok(Some(_)));
    let levels: Vec<(u32, Lod)> = (0..).zip(Lod::ALL).filter(is_there).collect();
    let finest = levels.first().map_or(0, |(level, _)| *level);
    let taken = if wanted == Lods::Finest { Lods::Only(finest) } else { wanted };
    for (level, lod) in levels {
        if taken != Lods::All && taken != Lods::Only(level) {
            outcome.leave_out(format!("the level of detail {}", lod.name()));
        }
    }
    let is_physics = |name: &str| name.starts_with("physics");
    if asset
        .entries()
        .any(|entry| is_physics(&entry.name().to_string_lossy()) && matches!(entry.range(), Ok(Some(_))))
    {
        outcome.leave_out("geometry for physics");
    }
    taken
}
