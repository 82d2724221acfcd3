//! The meshes of a file that are drawn and exported by default.

use meshmap::cgeo::Parts;
use meshmap::{MeshFile, MeshView, Role, Semantic, Winding};

/// The meshes that are drawn by default and have something to draw; of levels of detail, the finest one.
///
/// # Panics
///
/// Panics if a mesh cannot be read.
pub fn drawn(file: &MeshFile) -> Vec<MeshView> {
    let entries: Vec<_> = file.meshes().unwrap().collect();
    let level = |role| {
        if let Role::Lod(level) = role {
            Some(level)
        } else {
            None
        }
    };
    let finest = entries.iter().filter_map(|entry| level(entry.role)).min();
    let is_drawn = |role: Role| match role {
        Role::Lod(level) => Some(level) == finest,
        role => role.is_drawn_by_default(),
    };
    let entries = entries.iter().filter(|entry| is_drawn(entry.role));
    let views = entries.map(|entry| file.mesh(&entry.address).unwrap());
    views.filter(|view| !view.is_empty()).collect()
}

/// `true` for a Second Life mesh whose faces with weights have their places by a matrix: the bind shape, which writers apply.
pub fn has_bind_shape(file: &MeshFile) -> bool {
    let skin = file
        .as_slmesh()
        .and_then(|asset| asset.skin().ok().flatten());
    let shape = skin.and_then(|skin| skin.bind_shape_matrix);
    shape.is_some_and(|shape| shape != std::array::from_fn(|at| f32::from(u8::from(at % 5 == 0))))
}

/// `true` if the normals of the first mesh that has some point away from the fronts: writers turn all triangles then.
pub fn runs_against_normals(file: &MeshFile) -> bool {
    if let Some(proxy) = file.as_cgeo() {
        let mesh = proxy
            .snapshot(0)
            .and_then(|snapshot| snapshot.mesh(Parts::ALL));
        return mesh.is_ok_and(|mesh| mesh.runs_against_normals());
    }
    let fronts = file
        .format()
        .conventions()
        .front_face
        .unwrap_or(Winding::CounterClockwise);
    let views = drawn(file);
    let first = views
        .iter()
        .find(|view| view.triangle_count() > 0 && view.has(&Semantic::Normal));
    first.is_some_and(|view| view.runs_against_normals(fronts).unwrap_or(false))
}
