//! OpenCTM, TMF, IQM in one frame, and single meshes of any format: geometry alone.

use meshmap::MeshFile;

use super::attributes::Geometry;
use super::file::Gltf;
use super::{Rules, add_mesh, attributes, finish_scene, material};
use crate::assume;
use crate::convert::Convert;
use crate::error::Result;
use crate::outcome::Outcome;
use crate::select::{self, Meshes};

pub(super) fn write(
    file: &MeshFile,
    convert: &Convert,
    gltf: &mut Gltf,
    outcome: &mut Outcome,
) -> Result<()> {
    let rules = Rules::of(file.format(), convert, outcome);
    let mut children = Vec::new();
    let Meshes { views, pose } = select::meshes(file, convert, outcome)?;
    for view in views {
        let geometry = attributes::primitive(gltf, (&view, pose.as_ref()), None, &rules, convert, outcome)?;
        let Some(Geometry { mut primitive, .. }) = geometry else { continue };
        primitive.material = view.material().map(|name| material(gltf, name));
        children.push(add_mesh(gltf, view.name().to_owned(), primitive, None));
    }
    let metres = assume::metres(file, convert, outcome);
    finish_scene(gltf, &rules, metres, children, Vec::new());
    Ok(())
}
