//! Meshes that are written as the library's views have them.

use std::collections::BTreeMap;
use std::path::Path;

use meshmap::{MeshFile, MeshView, Semantic};

use super::expected::{self, Origin, Rules};
use super::frame::Frame;
use super::gltf::Gltf;
use super::shape::{Materials, Shape, compare};
use super::skeleton::Skeleton;
use super::tally::Tally;
use super::{charge, gltf, levels, motion, obj, ply, stl, usd};
use crate::error::Result;
use crate::moment::{Moment, Still};
use crate::outcome::Outcome;
use crate::scene::{Mesh, Scene};
use crate::settings::{Job, Target};

pub(super) fn check(file: &MeshFile, job: &Job<'_>, path: &Path, tally: &mut Tally) -> Result<()> {
    let still = job.still(file)?;
    let scene = Scene::of_job(file, job, &still, &mut Outcome::default())?;
    let meshes = scene.meshes(&job.budget, &mut Outcome::default())?;
    let views: Vec<&MeshView> = meshes.iter().map(|mesh| &mesh.view).collect();
    let Still { named, model, .. } = still;
    let frame = match (named.moment, &model) {
        (Moment::Frame(frame), Some(model)) => Frame::new(model, frame)?,
        _ => None,
    };
    let is_gltf = matches!(job.target, Target::Glb | Target::Gltf) && frame.is_none();
    let skeleton = if is_gltf { Skeleton::of(file, &job.budget)? } else { None };
    let joints = skeleton.as_ref().map_or(0, Skeleton::len);
    let (bind_shape, clamps) = (Frame::bind_shape(file), file.as_slmesh().is_some());
    let origin = Origin { rules: Rules::of(file.format(), job), frame, bind_shape, joints, clamps };
    match job.target {
        Target::Obj => {
            charge::file(path, &job.budget)?;
            let Some(found) = tally.read(obj::read(path)) else { return Ok(()) };
            check_each(&meshes, &origin, found, tally)
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
            let drawn = drawn(&views, &origin);
            usd::check_views(&drawn, &origin, path, &job.budget, tally)
        }
        Target::Glb | Target::Gltf => {
            let Some(mut gltf) = gltf::open(path, &job.budget, tally)? else { return Ok(()) };
            check_gltf(&drawn(&views, &origin), &origin, skeleton.as_ref(), &mut gltf, tally)?;
            match file.as_iqm().filter(|_| is_gltf) {
                Some(model) => motion::check(model, job, &mut gltf, tally),
                None => Ok(()),
            }
        }
        // Written of whole CGeo files only: see `cgeo::check_pc2`.
        Target::Pc2 => {
            tally.differs(|| "a point cache is compared with all snapshots of a CGeo file".to_owned());
            Ok(())
        }
    }
}

/// The meshes that have triangles to write.
fn drawn<'a>(views: &[&'a MeshView], origin: &Origin) -> Vec<&'a MeshView> {
    let is_drawn = |view: &&MeshView| view.indices().triangles().any(|corners| !origin.rules.lacks(corners));
    views.iter().copied().filter(is_drawn).collect()
}

fn check_gltf(
    drawn: &[&MeshView],
    origin: &Origin,
    skeleton: Option<&Skeleton>,
    gltf: &mut Gltf,
    tally: &mut Tally,
) -> Result<()> {
    if drawn.len() != gltf.mesh_count() {
        let (found, expected) = (gltf.mesh_count(), drawn.len());
        tally.differs(|| format!("{found} meshes, where the file has {expected}"));
        return Ok(());
    }
    for (mesh, view) in drawn.iter().enumerate() {
        let are_integers = gltf.has_integers(mesh);
        let mut expected = origin.shape(view, are_integers)?;
        if let Some(face) = expected::face(view) {
            expected.materials = Materials::one(Some(&face));
        } else if view.material_ids().is_some() {
            // One mesh of several snapshots is written without materials.
            expected.materials = Materials::default();
        }
        let name = view.address().to_string();
        if let Some(found) = tally.read(gltf.shape(mesh, 0)) {
            compare(&name, &expected, &found, tally);
        }
        if let Some(skeleton) = skeleton.filter(|_| expected.influences.is_some()) {
            let positions = view.attribute(&Semantic::Position)?;
            let dequant = positions.and_then(|positions| positions.dequant()).filter(|_| are_integers);
            if let Some(why) = skeleton.compare(mesh, dequant, gltf).err() {
                tally.differs(|| format!("{name}: {why}"));
            } else {
                tally.equal("skins: joints, their places and inverse bind matrices");
            }
        }
    }
    levels::check(drawn, gltf, tally);
    Ok(())
}

/// Checks files in which each mesh is a separate object.
fn check_each(meshes: &[Mesh], origin: &Origin, found: Vec<Shape>, tally: &mut Tally) -> Result<()> {
    if meshes.len() != found.len() {
        tally.differs(|| format!("{} objects, where the file has {}", found.len(), meshes.len()));
        return Ok(());
    }
    // The name of each material in the output, and the other way round.
    let (mut written, mut own) = (BTreeMap::new(), BTreeMap::new());
    for (Mesh { view, material, .. }, found) in meshes.iter().zip(found) {
        let mut expected = origin.shape(view, false)?;
        if let (Some(name), Some(known)) = (material, found.materials.first()) {
            let is_known = written.entry(name).or_insert_with(|| known.to_owned()) == known;
            let is_own = *own.entry(known.to_owned()).or_insert(name) == name;
            // Two names of the file may be the same word.
            let number = known.strip_prefix(&word(name)).map(|rest| rest.strip_prefix('_').unwrap_or(rest));
            let is_word = number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
            if is_word {
                expected.materials = Materials::one(Some(known));
            }
            if !(is_known && is_own) {
                tally.differs(|| format!("{}: {known:?} is not the name of one material", view.address()));
            }
        }
        compare(&view.address().to_string(), &expected, &found, tally);
    }
    Ok(())
}

/// A name in a line of words.
fn word(name: &str) -> String {
    let name = if name.trim().is_empty() { "material" } else { name };
    let word = name.replace(|c: char| c.is_whitespace() || c.is_control(), "_");
    if word.trim_end_matches('_').ends_with('\\') { word + "_" } else { word }
}

/// All meshes are one.
fn check_joined(views: &[&MeshView], origin: &Origin, found: &Shape, tally: &mut Tally) -> Result<()> {
    let mut begin = 0;
    // Attributes that not every mesh has are left out.
    let attributes = views.first().map_or(&[][..], |view| view.attributes()).iter();
    let mut colors: Vec<u32> = attributes
        .filter_map(|info| match info.semantic {
            Semantic::Color(set) => Some(set),
            _ => None,
        })
        .collect();
    let mut all_weights = true;
    for view in views {
        let shape = origin.shape(view, false)?;
        colors.retain(|set| shape.colors.contains_key(set));
        all_weights &= shape.influences.is_some();
    }
    let have_fours = |semantic| {
        let four = |view: &&MeshView| {
            view.attributes().iter().any(|info| info.semantic == semantic && info.format.components == 4)
        };
        views.iter().all(four)
    };
    let have_weights = have_fours(Semantic::Joints(0)) && have_fours(Semantic::Weights(0));
    let have_weights = all_weights && have_weights;
    let has_ids = !found.materials.of.is_empty();
    for (number, view) in views.iter().enumerate() {
        let mut expected = origin.shape(view, false)?;
        expected.colors.retain(|set, _| colors.contains(set));
        expected.influences = expected.influences.filter(|_| have_weights);
        if !has_ids {
            let several =
                views.len() > 1 && view.material_ids().is_none() || expected.materials.names.len() > 1;
            if several && origin.rules.has_ids() {
                tally.differs(|| "the triangles have no material IDs".to_owned());
            }
            expected.materials = Materials::default();
        } else if view.material_ids().is_none() {
            expected.materials = Materials::one(Some(&number.to_string()));
        }
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
            colors: found.colors.clone(),
            influences: found.influences.clone(),
            materials: Materials {
                names: found.materials.names.clone(),
                of: found.materials.of.get(begin..end).unwrap_or_default().to_vec(),
            },
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
