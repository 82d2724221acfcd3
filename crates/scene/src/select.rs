//! The meshes of a file that are asked for.

use meshmap::cgeo::Proxy;
use meshmap::{Address, ErrorKind, MeshEntry, MeshFile, MeshView, Segment};

use crate::error::Result;
use crate::options::Levels;
use crate::slmesh;

/// The field of the snapshots of a CGeo file in addresses.
const SNAPSHOTS: &str = "snapshots";

/// A mesh that is listed, without its name: thousands of meshes may have one long name.
pub(crate) struct Listed {
    pub(crate) address: Address,
    /// The number of triangles, if it is listed as well.
    pub(crate) triangles: Option<u64>,
}

/// The meshes that are drawn by default, in the order of the file.
pub(crate) fn default_meshes(file: &MeshFile, wanted: Levels) -> Result<Vec<Listed>> {
    let levels = match file.as_slmesh() {
        Some(asset) => slmesh::levels(asset, wanted),
        None => wanted,
    };
    let mut listed = Vec::new();
    for entry in file.meshes_where(move |role| levels.contains(role))? {
        listed.push(Listed {
            triangles: entry.counts.map(|counts| counts.triangles),
            address: entry.address,
        });
    }
    Ok(listed)
}

/// The numbers of the snapshots at the addresses, in the order of these.
pub(crate) fn snapshots_at(
    file: &MeshFile,
    proxy: &Proxy,
    addresses: &[Address],
) -> Result<Vec<usize>> {
    let count = proxy.snapshot_count();
    let mut numbers = Vec::new();
    for address in addresses {
        let named = match address.segments() {
            [Segment::Field(field)] if field == SNAPSHOTS => 0..count,
            [Segment::Field(field), Segment::Index(number), ..] if field == SNAPSHOTS => {
                let number = usize::try_from(*number).unwrap_or(usize::MAX);
                number..number.saturating_add(1).min(count)
            }
            _ => 0..0,
        };
        if named.is_empty() {
            // Fails, and says what there is.
            file.mesh(address)?;
        }
        numbers.extend(named);
    }
    Ok(numbers)
}

/// `true` if an address names a mesh, a part that contains it, or a part of it.
fn is_meant(entry: &MeshEntry, address: &Address) -> bool {
    let mesh = entry.address.segments();
    let part = address.segments();
    mesh.starts_with(part) || part.starts_with(mesh)
}

/// Adds the mesh at an address, the meshes that a part contains, or the mesh that a part belongs to, one after another: `add` has the mesh,
/// or the error of one that cannot be read.
pub(crate) fn add_views_at(
    file: &MeshFile,
    address: &Address,
    mut add: impl FnMut(meshmap::Result<MeshView>) -> Result<()>,
) -> Result<()> {
    let error = match file.mesh(address) {
        Err(error) if error.kind() == ErrorKind::OutOfRange => error,
        view => return add(view),
    };
    let mut has_found = false;
    for entry in file.meshes()? {
        if is_meant(&entry, address) {
            has_found = true;
            add(file.mesh(&entry.address))?;
        }
    }
    if has_found { Ok(()) } else { Err(error.into()) }
}
