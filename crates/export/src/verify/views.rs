//! Meshes that are written as the library's views have them.

use std::path::Path;

use meshmap::{MeshFile, MeshView};

use super::expected::{Origin, Rules};
use super::frame::Frame;
use super::shape::{Shape, compare};
use super::tally::Tally;
use super::{charge, gltf, obj, ply, stl, usd};
use crate::budget::Budget;
use crate::error::Result;
use crate::moment::{Moment, Still};
use crate::outcome::Outcome;
use crate::settings::{Job, Target};
use crate::source::select;

pub(super) fn check(file: &MeshFile, job: &Job<'_>, path: &Path, tally: &mut Tally) -> Result<()> {
    let has_only_animations = file.as_iqm().is_some_and(|model| model.mesh_count() == 0);
    let views = if has_only_animations && job.meshes.is_empty() {
        Vec::new()
    } else {
        select::meshes(file, job, &mut Outcome::default())?.views
    };
    let Still { named, model, .. } = job.still(file)?;
    let frame = match (named.moment, &model) {
        (Moment::Frame(frame), Some(model)) => Frame::new(model, frame)?,
        _ => None,
    };
    let origin = Origin { rules: Rules::of(file.format(), job), frame };
    match job.target {
        Target::Obj => {
            charge::file(path, &job.budget)?;
            let Some(found) = tally.read(obj::read(path)) else { return Ok(()) };
            check_each(&views, &origin, found, tally)
        }
        Target::Ply => {
            charge::file(path, &job.budget)?;
            let Some(found) = tally.read(ply::read(path)) else { return Ok(()) };
            check_joined(&views, &origin, &found, tally)
        }
        Target::Stl => {
            charge::file(path, &job.budget)?;
            let Some(found) = tally.read(stl::read(path)) else { return Ok(()) };
            check_joined(&views, &origin, &found, tally)
        }
        Target::Usdc => {
            let drawn: Vec<&MeshView> = views.iter().filter(|view| view.triangle_count() > 0).collect();
            usd::check_views(&drawn, &origin, path, &job.budget, tally)
        }
        Target::Glb | Target::Gltf => check_gltf(&views, &origin, path, &job.budget, tally),
        // Written from the snapshots of a CGeo file, whatever meshes are asked for: see `cgeo::check_pc2`.
        Target::Pc2 => {
            tally.differs(|| "a point cache is compared with all snapshots of a CGeo file".to_owned());
            Ok(())
        }
    }
}

fn check_gltf(
    views: &[MeshView],
    origin: &Origin,
    path: &Path,
    budget: &Budget,
    tally: &mut Tally,
) -> Result<()> {
    let Some(mut gltf) = gltf::open(path, budget, tally)? else { return Ok(()) };
    let drawn: Vec<&MeshView> = views.iter().filter(|view| view.triangle_count() > 0).collect();
    if drawn.len() != gltf.mesh_count() {
        let (found, expected) = (gltf.mesh_count(), drawn.len());
        tally.differs(|| format!("{found} meshes, where the file has {expected}"));
        return Ok(());
    }
    for (mesh, view) in drawn.into_iter().enumerate() {
        let expected = origin.shape(view, gltf.has_integers(mesh))?;
        if let Some(found) = tally.read(gltf.shape(mesh, 0)) {
            compare(&view.address().to_string(), &expected, &found, tally);
        }
    }
    Ok(())
}

/// Each mesh is an object of its own.
fn check_each(views: &[MeshView], origin: &Origin, found: Vec<Shape>, tally: &mut Tally) -> Result<()> {
    if views.len() != found.len() {
        tally.differs(|| format!("{} objects, where the file has {}", found.len(), views.len()));
        return Ok(());
    }
    for (view, found) in views.iter().zip(found) {
        compare(&view.address().to_string(), &origin.shape(view, false)?, &found, tally);
    }
    Ok(())
}

/// All meshes are one.
fn check_joined(views: &[MeshView], origin: &Origin, found: &Shape, tally: &mut Tally) -> Result<()> {
    let mut begin = 0;
    for view in views {
        let expected = origin.shape(view, false)?;
        let end = begin + expected.corners.len();
        let Some(corners) = found.corners.get(begin..end) else {
            tally.differs(|| format!("{} triangles, where the file has more", found.corners.len()));
            return Ok(());
        };
        let part = Shape {
            positions: found.positions.clone(),
            corners: corners.to_vec(),
            normals: found.normals.clone(),
            coords: found.coords.clone(),
            ..Shape::default()
        };
        compare(&view.address().to_string(), &expected, &part, tally);
        begin = end;
    }
    if begin != found.corners.len() {
        tally.differs(|| format!("{} triangles, where the file has {begin}", found.corners.len()));
    }
    Ok(())
}
