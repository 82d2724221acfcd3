//! TMF: what a file has besides shapes.

use meshmap::tmf::{CustomValues, Document};
use meshmap::{Address, Segment};

use crate::error::Result;
use crate::fact::{FactKind, Facts, beginning_of_text};

/// The index of the stored position of each vertex of a mesh; `None` if vertices are the stored ones.
pub(crate) fn position_sources(document: &Document, mesh: &Address) -> Result<Option<Vec<u32>>> {
    let [Segment::Field(_), Segment::Index(index)] = mesh.segments() else {
        return Ok(None);
    };
    let index = usize::try_from(*index).unwrap_or(usize::MAX);
    let remap = document.mesh(index)?.vertex_remap()?;
    // Positions are the first attribute of a mesh that has them.
    Ok(remap.and_then(|remap| remap.sources(0).map(<[u32]>::to_vec)))
}

/// Counts what a file has besides shapes that somebody could miss.
pub(crate) fn add_facts(document: &Document, facts: &mut Facts) {
    for mesh in document.meshes() {
        let vertices = mesh.positions().map_or(0, |positions| positions.len());
        let Ok(all) = mesh.iter_custom() else {
            continue;
        };
        for custom in all.flatten() {
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
