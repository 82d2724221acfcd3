//! Meshes that are written as the library's views have them.

use std::path::Path;

use meshmap::{MeshFile, MeshView};

use super::expected::{self, Rules};
use super::gltf::Gltf;
use super::shape::Shape;
use super::{Tally, obj, ply, stl, usd};
use crate::convert::{Convert, Target};
use crate::error::Result;
use crate::outcome::Outcome;
use crate::select;

pub(super) fn check(file: &MeshFile, convert: &Convert, path: &Path, tally: &mut Tally) -> Result<()> {
    let rules = Rules::of(file.format(), convert);
    let views = match file {
        // Files of animations alone.
        MeshFile::Iqm(model) if model.is_empty() && convert.meshes.is_empty() => Vec::new(),
        _ => select::meshes(file, convert, &mut Outcome::default())?,
    };
    match convert.target {
        Target::Obj => {
            let Some(found) = tally.read(obj::read(path)) else { return Ok(()) };
            check_each(&views, rules, found, tally)
        }
        Target::Ply => {
            let Some(found) = tally.read(ply::read(path)) else { return Ok(()) };
            check_joined(&views, rules, &found, tally)
        }
        Target::Stl => {
            let Some(found) = tally.read(stl::read(path)) else { return Ok(()) };
            check_joined(&views, rules, &found, tally)
        }
        Target::Usdc => {
            let drawn: Vec<&MeshView> = views.iter().filter(|view| view.triangle_count() > 0).collect();
            usd::check_views(&drawn, rules, path, tally)
        }
        _ => check_gltf(&views, rules, path, tally),
    }
}

fn check_gltf(views: &[MeshView], rules: Rules, path: &Path, tally: &mut Tally) -> Result<()> {
    let Some(mut gltf) = tally.read(Gltf::open(path)) else { return Ok(()) };
    let drawn: Vec<&MeshView> = views.iter().filter(|view| view.triangle_count() > 0).collect();
    if drawn.len() != gltf.mesh_count() {
        let (found, expected) = (gltf.mesh_count(), drawn.len());
        tally.differs(|| format!("{found} meshes, where the file has {expected}"));
        return Ok(());
    }
    for (mesh, view) in drawn.into_iter().enumerate() {
        let expected = expected::view(view, rules, gltf.has_integers(mesh))?;
        if let Some(found) = tally.read(gltf.shape(mesh, 0)) {
            tally.compare(&view.address().to_string(), &expected, &found);
        }
    }
    Ok(())
}

/// Each mesh is an object of its own.
fn check_each(views: &[MeshView], rules: Rules, found: Vec<Shape>, tally: &mut Tally) -> Result<()> {
    if views.len() != found.len() {
        tally.differs(|| format!("{} objects, where the file has {}", found.len(), views.len()));
        return Ok(());
    }
    for (view, found) in views.iter().zip(found) {
        tally.compare(&view.address().to_string(), &expected::view(view, rules, false)?, &found);
    }
    Ok(())
}

/// All meshes are one.
fn check_joined(views: &[MeshView], rules: Rules, found: &Shape, tally: &mut Tally) -> Result<()> {
    let mut begin = 0;
    for view in views {
        let expected = expected::view(view, rules, false)?;
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
        };
        tally.compare(&view.address().to_string(), &expected, &part);
        begin = end;
    }
    if begin != found.corners.len() {
        tally.differs(|| format!("{} triangles, where the file has {begin}", found.corners.len()));
    }
    Ok(())
}
