//! Meshes that are written as the library's views have them.

use std::path::Path;

use meshmap::{MeshFile, MeshView};

use super::expected::{self, Rules};
use super::frame::Frame;
use super::gltf::Gltf;
use super::shape::Shape;
use super::{Tally, obj, ply, stl, usd};
use crate::convert::{Convert, Target};
use crate::error::Result;
use crate::moment::{Moment, Still};
use crate::outcome::Outcome;
use crate::select;

pub(super) fn check(file: &MeshFile, convert: &Convert, path: &Path, tally: &mut Tally) -> Result<()> {
    let views = match file {
        // Files of animations alone.
        MeshFile::Iqm(model) if model.is_empty() && convert.meshes.is_empty() => Vec::new(),
        _ => select::meshes(file, convert, &mut Outcome::default())?.views,
    };
    let Still { named, model, .. } = convert.still(file)?;
    let frame = match (named.moment, &model) {
        (Moment::Frame(frame), Some(model)) => Frame::new(model, frame)?,
        _ => None,
    };
    let origin = Origin { rules: Rules::of(file.format(), convert), frame };
    match convert.target {
        Target::Obj => {
            let Some(found) = tally.read(obj::read(path)) else { return Ok(()) };
            check_each(&views, &origin, found, tally)
        }
        Target::Ply => {
            let Some(found) = tally.read(ply::read(path)) else { return Ok(()) };
            check_joined(&views, &origin, &found, tally)
        }
        Target::Stl => {
            let Some(found) = tally.read(stl::read(path)) else { return Ok(()) };
            check_joined(&views, &origin, &found, tally)
        }
        Target::Usdc => {
            let drawn: Vec<&MeshView> = views.iter().filter(|view| view.triangle_count() > 0).collect();
            usd::check_views(&drawn, &origin, path, tally)
        }
        _ => check_gltf(&views, &origin, path, tally),
    }
}

/// What is expected of a file's meshes.
pub(super) struct Origin {
    rules: Rules,
    frame: Option<Frame>,
}

impl Origin {
    /// `are_integers`: positions as the integers that are stored.
    pub(super) fn shape(&self, view: &MeshView, are_integers: bool) -> Result<Shape> {
        let mut shape = expected::view(view, self.rules, are_integers)?;
        if let Some(frame) = &self.frame {
            frame.move_shape(view, &mut shape)?;
        }
        Ok(shape)
    }
}

fn check_gltf(views: &[MeshView], origin: &Origin, path: &Path, tally: &mut Tally) -> Result<()> {
    let Some(mut gltf) = tally.read(Gltf::open(path)) else { return Ok(()) };
    let drawn: Vec<&MeshView> = views.iter().filter(|view| view.triangle_count() > 0).collect();
    if drawn.len() != gltf.mesh_count() {
        let (found, expected) = (gltf.mesh_count(), drawn.len());
        tally.differs(|| format!("{found} meshes, where the file has {expected}"));
        return Ok(());
    }
    for (mesh, view) in drawn.into_iter().enumerate() {
        let expected = origin.shape(view, gltf.has_integers(mesh))?;
        if let Some(found) = tally.read(gltf.shape(mesh, 0)) {
            tally.compare(&view.address().to_string(), &expected, &found);
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
        tally.compare(&view.address().to_string(), &origin.shape(view, false)?, &found);
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
        tally.compare(&view.address().to_string(), &expected, &part);
        begin = end;
    }
    if begin != found.corners.len() {
        tally.differs(|| format!("{} triangles, where the file has {begin}", found.corners.len()));
    }
    Ok(())
}
