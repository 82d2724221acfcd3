//! TMF: what a file has besides shapes.

use meshmap::tmf::{CustomValues, Document};

use crate::fact::{FactKind, Facts, beginning_of_text};

/// Counts what a file has besides shapes that somebody could miss.
pub(crate) fn add_facts(document: &Document, facts: &mut Facts) {
    for mesh in document.meshes() {
        let vertices = mesh.positions().map_or(0, |positions| positions.len());
        for custom in mesh.custom().unwrap_or_default() {
            // Values of vertices are attributes.
            if length_of(&custom.values) != Some(vertices) {
                facts.add(FactKind::CustomData, || beginning_of_text(&custom.name));
            }
        }
    }
}

/// The number of values; `None` of a kind that is not known here.
fn length_of(values: &CustomValues) -> Option<usize> {
    match values {
        CustomValues::Float(values) => Some(values.len()),
        CustomValues::ColorRgba(values) => Some(values.len()),
        CustomValues::Index(values) | CustomValues::Integer(values) => Some(values.len()),
        _ => None,
    }
}
