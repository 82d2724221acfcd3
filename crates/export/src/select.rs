//! Which meshes of a file are written.

use meshmap::{Address, MeshFile, MeshView, Role, Semantic};

use crate::convert::Convert;
use crate::error::{Error, Result};
use crate::outcome::Outcome;

/// The meshes that are written, in the file's order.
pub(crate) fn meshes(file: &MeshFile, convert: &Convert, outcome: &mut Outcome) -> Result<Vec<MeshView>> {
    let mut views = Vec::new();
    let addresses: Vec<Address> = if convert.meshes.is_empty() {
        let entries: Vec<_> = file.meshes()?.collect();
        let mut taken = Vec::new();
        let finest = entries.iter().filter_map(|entry| match entry.role {
            Role::Lod(level) => Some(level),
            _ => None,
        });
        // An asset without its finest level has another one, which is better than none.
        let finest = finest.min();
        for entry in entries {
            let is_taken = match entry.role {
                Role::Lod(level) => Some(level) == finest,
                role => role.is_drawn_by_default(),
            };
            match entry.role {
                _ if is_taken => taken.push(entry.address),
                Role::Physics => outcome.leave_out("geometry for physics"),
                Role::Lod(_) => outcome.leave_out("coarser levels of detail"),
                Role::Snapshot { .. } => outcome.leave_out("snapshots after the first"),
                _ => outcome.leave_out(format!("{}", entry.address)),
            }
        }
        taken
    } else {
        convert.meshes.clone()
    };
    for address in addresses {
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
