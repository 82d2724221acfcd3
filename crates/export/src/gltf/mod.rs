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

use meshmap::{MeshFile, Role};

use self::attributes::Geometry;
use self::file::Gltf;
use self::scene::{Rules, add_mesh, finish_scene, material};
use crate::error::Result;
use crate::outcome::Outcome;
use crate::settings::{Job, Target};
use crate::source::assume;
use crate::source::select::{self, Meshes};

pub(crate) fn write(file: &MeshFile, job: &Job<'_>, path: &Path, outcome: &mut Outcome) -> Result<()> {
    let mut reserved = guess(file)?;
    loop {
        let mut own = Outcome::default();
        let mut gltf = match job.target {
            Target::Gltf => Gltf::parts(path, &job.budget),
            _ => Gltf::binary(path, reserved, &job.budget)?,
        };

        if !job.animations.is_empty() && file.as_iqm().is_none() {
            own.leave_out(format!(
                "the animations of other files, which {} files do not take",
                file.format()
            ));
        }
        if let Some(proxy) = file.as_cgeo().filter(|_| job.meshes.is_empty()) {
            cgeo::write(proxy, job, &mut gltf, &mut own)?;
        } else if let Some(model) = file.as_iqm().filter(|_| !job.is_still()) {
            iqm::write(file, model, job, &mut gltf, &mut own)?;
        } else if let Some(asset) = file.as_slmesh() {
            slmesh::write(file, asset, job, &mut gltf, &mut own)?;
        } else {
            write_plain(file, job, &mut gltf, &mut own)?;
        }
        own.check_any(Some(file))?;
        match gltf.finish(&mut own)? {
            Ok(()) => {
                *outcome = own;
                return Ok(());
            }
            // All is written again, with the room that was wanting.
            Err(needed) => {
                reserved = needed;
                job.budget.restart();
            }
        }
    }
}

/// Approximate size of a file's JSON.
fn guess(file: &MeshFile) -> Result<u64> {
    const BASE: u64 = 8 << 10;
    /// Size of the JSON of a mesh with its attributes, or of a joint with its channels.
    const PART: u64 = 2 << 10;
    let parts = if file.as_cgeo().is_some() {
        // More is known when the first snapshot is decoded.
        0
    } else if let Some(model) = file.as_iqm() {
        let joints = model.joint_count() as u64;
        model.mesh_count() as u64 + joints * (1 + model.anims().len() as u64)
    } else {
        file.meshes_where(Role::is_drawn_by_default)?.count() as u64
    };
    Ok(BASE + PART * parts)
}

/// Writes OpenCTM, TMF, IQM in one frame, and single meshes of any format: only geometry.
fn write_plain(file: &MeshFile, job: &Job<'_>, gltf: &mut Gltf, outcome: &mut Outcome) -> Result<()> {
    let rules = Rules::of(file.format(), job, outcome);
    let mut children = Vec::new();
    let Meshes { views, pose } = select::meshes(file, job, outcome)?;
    for view in views {
        let geometry = attributes::primitive(gltf, (&view, pose.as_ref()), None, &rules, job, outcome)?;
        let Some(Geometry { mut primitive, .. }) = geometry else { continue };
        primitive.material = view.material().map(|name| material(gltf, name)).transpose()?;
        children.push(add_mesh(gltf, job.name_of(view.name()).to_owned(), primitive, None)?);
    }
    let metres = assume::metres(file, job, outcome);
    finish_scene(gltf, &rules, metres, children, Vec::new())
}
