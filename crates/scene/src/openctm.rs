//! OpenCTM: what a file has besides shapes.

use meshmap::openctm::Container;

use crate::fact::{FactKind, Facts, beginning_of_text};

/// Counts what a file has besides shapes that somebody could miss.
pub(crate) fn add_facts(bodies: &Container, facts: &mut Facts) {
    for mesh in bodies.meshes() {
        if let Ok(comment) = mesh.comment()
            && !comment.as_bytes().is_empty()
        {
            facts.add(FactKind::Comments, || beginning_of_text(&comment));
        }
        for (set, map) in mesh.uv_maps().enumerate() {
            let name = map.name();
            if !name.as_bytes().is_empty() {
                facts.add(FactKind::TexCoordNames, || beginning_of_text(&name));
            }
            let image = map.file();
            if set > 0 && !image.as_bytes().is_empty() {
                facts.add(FactKind::FurtherImages, || beginning_of_text(&image));
            }
        }
    }
}
