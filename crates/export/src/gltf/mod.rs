//! glTF 2.0, written in one pass: GLB, or JSON with the numbers in files next to it.
//!
//! The numbers of vertices are the file's. One root node has the rotation that turns the format's up axis to Y, and the
//! scale of its unit.

mod attributes;
mod cgeo;
mod document;
mod file;
mod iqm;
mod normals;
mod scene;
mod slmesh;
mod weights;

use std::path::Path;

use meshmap::MeshFile;

use self::attributes::Geometry;
use self::file::Gltf;
use self::scene::{Rules, add_mesh, finish_scene, material};
use crate::error::Result;
use crate::outcome::Outcome;
use crate::settings::{Job, Target};
use crate::source::assume;
use crate::source::select::{self, Meshes};

pub(crate) fn write(file: &MeshFile, job: &Job<'_>, path: &Path, outcome: &mut Outcome) -> Result<()> {
    let mut gltf = match job.target {
        Target::Gltf => Gltf::parts(path, &job.budget),
        _ => Gltf::binary(path, &job.budget)?,
    };
    if !job.animations.is_empty() && file.as_iqm().is_none() {
        outcome
            .leave_out(format!("the animations of other files, which {} files do not take", file.format()));
    }
    if let Some(proxy) = file.as_cgeo().filter(|_| job.meshes.is_empty()) {
        cgeo::write(proxy, job, &mut gltf, outcome)?;
    } else if let Some(model) = file.as_iqm().filter(|_| !job.is_still()) {
        iqm::write(file, model, job, &mut gltf, outcome)?;
    } else if let Some(asset) = file.as_slmesh() {
        slmesh::write(file, asset, job, &mut gltf, outcome)?;
    } else {
        write_plain(file, job, &mut gltf, outcome)?;
    }
    outcome.check_any(Some(file))?;
    gltf.finish(outcome)
}

/// Writes OpenCTM, TMF, IQM in one frame, and single meshes of any format: only geometry.
fn write_plain(file: &MeshFile, job: &Job<'_>, gltf: &mut Gltf, outcome: &mut Outcome) -> Result<()> {
    let rules = Rules::of(file.format(), job, outcome);
    let mut children = Vec::new();
    let Meshes { views, pose } = select::meshes(file, job, outcome)?;
    for view in views {
        let geometry = attributes::primitive(gltf, (&view, pose.as_ref()), None, &rules, job, outcome)?;
        let Some(Geometry { mut primitive, .. }) = geometry else { continue };
        primitive.material = Some(material(gltf, view.material().unwrap_or_default())?);
        children.push(add_mesh(gltf, job.name_of(view.name()).to_owned(), primitive, None)?);
    }
    let metres = assume::metres(file, job, outcome);
    finish_scene(gltf, &rules, metres, children, Vec::new())
}
