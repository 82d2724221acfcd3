//! Files of meshes in which one index serves all attributes of a vertex.

use std::collections::BTreeMap;
use std::path::Path;

use meshmap::Semantic;

use super::expected::Expected;
use super::shape::{Materials, Shape, compare};
use super::skins::{self, WrittenJoints};
use super::tally::Tally;
use super::{charge, gltf, obj, ply, root, stl, usd};
use crate::error::Result;
use crate::outcome::Outcome;
use crate::scene::{Mesh, Scene};
use crate::settings::{Job, Target};

pub(super) fn check(scene: &Scene, job: &Job<'_>, path: &Path, tally: &mut Tally) -> Result<()> {
    let is_gltf = matches!(job.target, Target::Glb | Target::Gltf);
    let skeleton = match scene.rig.as_ref().filter(|_| is_gltf) {
        Some(rig) => rig.skeleton(job, &mut Outcome::default())?,
        None => None,
    };
    let expected = Expected {
        scene,
        job,
        target: job.target,
        skeleton: skeleton.as_ref(),
    };
    let meshes = scene.meshes(&job.budget, &mut Outcome::default())?;
    if !is_gltf && job.target != Target::Usdc {
        charge::file(path, job.target, &job.budget)?;
    }
    match job.target {
        Target::Obj => {
            let Some(found) = tally.read(obj::read(path)) else {
                return Ok(());
            };
            check_each(&meshes, &expected, found, tally)
        }
        Target::Ply => {
            let Some(found) = tally.read(ply::read(path)) else {
                return Ok(());
            };
            check_joined(&meshes, &expected, &found, tally)
        }
        Target::Stl => {
            let Some(found) = tally.read(stl::read(path)) else {
                return Ok(());
            };
            check_joined(&meshes, &expected, &found, tally)
        }
        Target::Usdc => usd::check_meshes(&drawn(&meshes, job), &expected, path, tally),
        Target::Glb | Target::Gltf => check_gltf(&drawn(&meshes, job), &expected, path, tally),
        // Written of whole CGeo files only: see `snapshots::check_pc2`.
        Target::Pc2 => {
            tally.differs(|| {
                "a point cache is compared with all snapshots of a CGeo file".to_owned()
            });
            Ok(())
        }
    }
}

/// The meshes that have triangles to write.
fn drawn<'a>(meshes: &'a [Mesh], job: &Job<'_>) -> Vec<&'a Mesh> {
    let has_triangles = |mesh: &Mesh| {
        mesh.view
            .indices()
            .triangles()
            .any(|corners| job.keeps(corners))
    };
    let is_drawn = |mesh: &&Mesh| job.are_points.get() || has_triangles(mesh);
    meshes.iter().filter(is_drawn).collect()
}

fn check_gltf(
    drawn: &[&Mesh],
    expected: &Expected<'_>,
    path: &Path,
    tally: &mut Tally,
) -> Result<()> {
    let Some(mut gltf) = gltf::open(path, &expected.job.budget, tally)? else {
        return Ok(());
    };
    root::check_gltf(expected.scene, expected.job, &gltf, tally);
    if drawn.len() != gltf.mesh_count() {
        let (found, expected) = (gltf.mesh_count(), drawn.len());
        tally.differs(|| format!("{found} meshes, where the file has {expected}"));
        return Ok(());
    }
    let joints = expected
        .skeleton
        .and_then(|skeleton| tally.read(WrittenJoints::of(skeleton, &gltf)));
    for (at, mesh) in drawn.iter().enumerate() {
        let _scope = expected.job.budget.scope();
        let are_integers = gltf.has_integers(at);
        let shape = expected.mesh(mesh, are_integers)?;
        let name = mesh.view.address().to_string();
        if let Some(found) = tally.read(gltf.shape(at, 0)) {
            compare(&name, &shape, &found, tally);
        }
        if let Some(joints) = joints.as_ref().filter(|_| shape.influences.is_some()) {
            if let Some(why) = joints.compare(at, &mut gltf).err() {
                tally.differs(|| format!("{name}: {why}"));
            } else {
                tally.equal("skins: joints, their places and inverse bind matrices");
            }
        }
    }
    skins::check_levels(drawn, &gltf, tally);
    match &expected.scene.rig {
        Some(rig) => skins::check_clips(
            rig.as_ref(),
            joints.as_ref(),
            expected.job,
            &mut gltf,
            tally,
        ),
        None => Ok(()),
    }
}

/// Checks files in which each mesh is a separate object.
fn check_each(
    meshes: &[Mesh],
    expected: &Expected<'_>,
    found: Vec<Shape>,
    tally: &mut Tally,
) -> Result<()> {
    if meshes.len() != found.len() {
        tally.differs(|| {
            format!(
                "{} objects, where the file has {}",
                found.len(),
                meshes.len()
            )
        });
        return Ok(());
    }
    // The name of each material in the output, and the other way round.
    let (mut written, mut own) = (BTreeMap::new(), BTreeMap::new());
    for (mesh, found) in meshes.iter().zip(found) {
        let _scope = expected.job.budget.scope();
        let (mut shape, address) = (expected.mesh(mesh, false)?, mesh.view.address());
        if let (Some(name), Some(known)) = (&mesh.material, found.materials.first()) {
            let is_known = written.entry(name).or_insert_with(|| known.to_owned()) == known;
            let is_own = *own.entry(known.to_owned()).or_insert(name) == name;
            // Two names of the file may be the same word.
            let number = known
                .strip_prefix(&word(name))
                .map(|rest| rest.strip_prefix('_').unwrap_or(rest));
            let is_word =
                number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
            if is_word {
                shape.materials = Materials::one(Some(known));
            }
            if !(is_known && is_own) {
                tally.differs(|| format!("{address}: {known:?} is not the name of one material"));
            }
        }
        compare(&address.to_string(), &shape, &found, tally);
    }
    Ok(())
}

/// A name in a line of words.
fn word(name: &str) -> String {
    let name = if name.trim().is_empty() {
        "material"
    } else {
        name
    };
    let word = name.replace(|c: char| c.is_whitespace() || c.is_control(), "_");
    if word.trim_end_matches('_').ends_with('\\') {
        word + "_"
    } else {
        word
    }
}

/// Checks files in which all meshes are one.
fn check_joined(
    meshes: &[Mesh],
    expected: &Expected<'_>,
    found: &Shape,
    tally: &mut Tally,
) -> Result<()> {
    let is_ply = expected.target == Target::Ply;
    // Attributes that not every mesh has are left out.
    let (mut colors, mut have_weights) = (true, true);
    // Meshes without IDs have one, their number.
    let ids = |number: usize, mesh: &Mesh, own: Materials| match mesh.view.material_ids() {
        Some(_) => own,
        None => Materials::one(Some(&number.to_string())),
    };
    let (mut first, mut differ) = (None, false);
    for (number, mesh) in meshes.iter().enumerate() {
        let _scope = expected.job.budget.scope();
        let shape = expected.mesh(mesh, false)?;
        if mesh.view.triangle_count() > 0 && !shape.corners.is_empty() {
            let ids = ids(number, mesh, shape.materials);
            ids.names
                .iter()
                .for_each(|id| differ |= *first.get_or_insert_with(|| id.clone()) != *id);
        }
        let has_fours = |semantic| {
            let mut infos = mesh.view.attributes().iter();
            infos.any(|info| info.semantic == semantic && info.format.components == 4)
        };
        colors &= shape.colors.contains_key(&0);
        have_weights &= shape.influences.is_some()
            && has_fours(Semantic::Joints(0))
            && has_fours(Semantic::Weights(0));
    }
    let has_ids = !found.materials.of.is_empty();
    if is_ply && differ && !has_ids {
        tally.differs(|| "the triangles have no material IDs".to_owned());
    }
    let mut begin = 0;
    for (number, mesh) in meshes.iter().enumerate() {
        let _scope = expected.job.budget.scope();
        let mut shape = expected.mesh(mesh, false)?;
        shape.colors.retain(|_, _| colors);
        shape.influences = shape.influences.filter(|_| have_weights);
        shape.materials = if has_ids {
            ids(number, mesh, shape.materials)
        } else {
            Materials::default()
        };
        let end = begin + shape.corners.len();
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
                of: found
                    .materials
                    .of
                    .get(begin..end)
                    .unwrap_or_default()
                    .to_vec(),
            },
        };
        compare(&mesh.view.address().to_string(), &shape, &part, tally);
        begin = end;
    }
    if begin != found.corners.len() {
        tally.differs(|| {
            format!(
                "{} triangles, where the file has {begin}",
                found.corners.len()
            )
        });
    }
    Ok(())
}
