//! OpenCTM, TMF, and single meshes of any format: geometry alone.

use std::io::{Seek, Write};

use meshmap::MeshFile;

use super::file::GlbFile;
use super::{Rules, add_mesh, attributes, finish_scene, material};
use crate::convert::Convert;
use crate::error::Result;
use crate::outcome::Outcome;
use crate::select;

pub(super) fn write<W: Write + Seek>(
    file: &MeshFile,
    convert: &Convert,
    glb: &mut GlbFile<'_, W>,
    outcome: &mut Outcome,
) -> Result<()> {
    let rules = Rules::of(file.format(), convert, outcome);
    let mut children = Vec::new();
    for view in select::meshes(file, convert, outcome)? {
        let Some(mut primitive) = attributes::primitive(glb, &view, None, &rules, convert, outcome)? else {
            continue;
        };
        primitive.material = view.material().map(|name| material(glb, name));
        children.push(add_mesh(glb, view.name().to_owned(), primitive, None));
    }
    finish_scene(glb, &rules, 1.0, children, Vec::new());
    Ok(())
}
