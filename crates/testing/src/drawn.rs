//! The meshes of a file that are drawn and exported by default.

use meshmap::{MeshFile, MeshView, Role};

/// The meshes that are drawn by default and have something to draw; of levels of detail, the finest one.
///
/// # Panics
///
/// Panics if a mesh cannot be read.
pub fn drawn(file: &MeshFile) -> Vec<MeshView> {
    let entries: Vec<_> = file.meshes().unwrap().collect();
    let level = |role| if let Role::Lod(level) = role { Some(level) } else { None };
    let finest = entries.iter().filter_map(|entry| level(entry.role)).min();
    let is_drawn = |role: Role| match role {
        Role::Lod(level) => Some(level) == finest,
        role => role.is_drawn_by_default(),
    };
    let entries = entries.iter().filter(|entry| is_drawn(entry.role));
    let views = entries.map(|entry| file.mesh(&entry.address).unwrap());
    views.filter(|view| !view.is_empty()).collect()
}
