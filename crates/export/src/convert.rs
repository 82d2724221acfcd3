//! Writes a mesh file as a file of another format.
//!
//! 1. `meshmap_scene::Scene` is the meaning of the file: shapes, joints, clips, unit, axes. No writer decides about these.
//! 2. `Plan` has the rules by which the target writes the scene: whether corners and V are turned, which triangles are left out, and the
//!    axes and the unit of numbers (`Frame`) in targets that have no root to turn and scale everything.
//! 3. `Images` finds the images that materials name, and decides which of them become PNG.
//! 4. `ledger` reports the facts that the target drops. Each target has one `match` of all kinds of facts, so that a new kind does not
//!    compile until every target has decided about it; `tests/ledger.rs` has files with and without each kind.
//! 5. The writer reads one `Shape` after another into a `Buffer`: streams of numbers, and the lists of corners that refer to them. A CGeo
//!    file has a list for each stream, other formats one for all. OBJ, and USD for shapes with keys, write the lists as they are. glTF
//!    makes vertices of them (`gltf/vertices`). PLY, STL and other shapes in USD ask for one list (`Shape::read_vertices`). A shape with
//!    several keys is read key by key into one buffer: glTF writes morph targets (`gltf/morphs`), USD time samples (`usd/keys`), PC2
//!    positions; targets without time take the first key.
//! 6. `read` moves numbers by the `Pose` and checks that they are finite; `rig` has joints and clips for glTF and USD.
//! 7. `Outcome::report` has kinds and numbers of what is left out, changed or assumed; `meshmap_job` has all words for them, which take
//!    the names of options from the program. `Images::finish` moves complete files to their paths.

use std::path::Path;

use meshmap::{MeshFile, Role};
use meshmap_job::{Change, Error, Lods, Result, Warning, keep_without_effect};
use meshmap_outputs::Place;
use meshmap_scene::{FactKind, Scene};

use crate::files::level_name;
use crate::images::Images;
use crate::ledger::{self, Decision};
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::settings::{Convert, Job, Target};
use crate::{gltf, obj, pc2, ply, stl, usd};

impl Convert {
    /// Writes a file at this path, and the related files next to it. Each appears when it is complete.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`write`](Self::write).
    pub fn write_file(&self, file: &MeshFile, path: impl AsRef<Path>) -> Result<Outcome> {
        self.write(file, &Place::at(path)?)
    }

    /// Writes a file at this place in a folder of outputs, and the related files next to it: see [`names`](Self::names).
    ///
    /// # Errors
    ///
    /// [`Read`](crate::Error::Read) and [`Write`](crate::Error::Write) where that fails,
    /// [`NotHeld`](crate::Error::NotHeld) where the target cannot hold the mesh, [`Unused`](crate::Error::Unused) for a setting
    /// that the target has no use for,
    /// [`NonFinite`](crate::Error::NonFinite) for such a number, and [`LimitExceeded`](crate::Error::LimitExceeded) if the
    /// conversion needs more memory or output than it may take.
    pub fn write(&self, file: &MeshFile, place: &Place) -> Result<Outcome> {
        if !self.has_level_files() {
            return self.write_one(file, place);
        }
        let levels = levels_of(&self.scene(file)?);
        if levels.is_empty() {
            return self.write_one(file, place);
        }
        self.write_levels(&levels, file, place)
    }

    /// Writes a file for each level of detail, the finest at this place.
    fn write_levels(&self, levels: &[u32], file: &MeshFile, place: &Place) -> Result<Outcome> {
        let mut all = Outcome::default();
        for level in levels {
            let lod = Lods::Only(*level);
            let is_finest = Some(level) == levels.first();
            let own = if is_finest {
                place.clone()
            } else {
                place.outputs().place(level_name(place.below(), lod)?)?
            };
            let convert = Self {
                lod,
                ..self.clone()
            };
            all.add(convert.write_one(file, &own)?);
        }
        Ok(all)
    }

    fn write_one(&self, file: &MeshFile, place: &Place) -> Result<Outcome> {
        let job = &self.job(file);
        job.budget.run(|| self.write_within(file, job, place))
    }

    fn write_within(&self, file: &MeshFile, job: &Job<'_>, place: &Place) -> Result<Outcome> {
        let mut outcome = Outcome::default();
        // Refused before anything is written.
        self.check_settings()?;
        let still = self.still(file)?;
        self.check_format(file)?;
        let scene = job.scene(file, &still, &mut outcome)?;
        let mut plan = Plan::new(&scene, job, &mut outcome.report)?;
        plan.images = Images::find(&scene, job, place, &mut outcome)?;
        let facts = scene.facts();
        let mut without_effect = self.about_kinds();
        keep_without_effect(&mut without_effect, &facts);
        if !self.animations.is_empty() && !scene.takes_animations() {
            without_effect.push(("animations", &[FactKind::Joints]));
        }
        outcome
            .report
            .warn_without_effect(&without_effect, self.refuses_without_effect)?;
        ledger::report(facts, &plan, decide, &mut outcome);
        if scene.is_empty() && (scene.bones().is_empty() || !plan.has_joints()) {
            plan.check_written(&mut outcome)?;
        }
        match self.target {
            Target::Glb | Target::Gltf => gltf::write(&plan, place, &mut outcome)?,
            Target::Obj => obj::write(&plan, place, &mut outcome)?,
            Target::Ply => ply::write(&plan, place, &mut outcome)?,
            Target::Stl => stl::write(&plan, place, &mut outcome)?,
            Target::Pc2 => pc2::write(&plan, place, &mut outcome)?,
            Target::Usdc | Target::Usdz => usd::write(&plan, place, &mut outcome)?,
        }
        if scene.runs_against_normals()? && !scene.are_points() && !self.flip {
            let triangles = outcome.triangles;
            outcome.report.change(Change::TrianglesTurned, triangles);
        }
        if self.target.is_usd() {
            let degenerate = outcome.degenerate;
            outcome
                .report
                .warn(Warning::DegenerateTriangles, degenerate);
        }
        outcome.moment = still.named.to_text();
        Ok(outcome)
    }

    /// The scene that is written: the shapes that the options select, and what moves them.
    ///
    /// # Errors
    ///
    /// Returns the errors of reading, [`NotHeld`](crate::Error::NotHeld) where the target cannot hold the file, and
    /// [`LimitExceeded`](crate::Error::LimitExceeded) for a file that would become more output than the conversion may write.
    pub fn scene(&self, file: &MeshFile) -> Result<Scene> {
        let job = &self.job(file);
        job.budget.run(|| {
            let still = self.still(file)?;
            self.check_format(file)?;
            job.scene(file, &still, &mut Outcome::default())
        })
    }

    /// Refuses files that the target has no form for, without reading their meshes.
    pub(crate) fn check_format(&self, file: &MeshFile) -> Result<()> {
        if self.target != Target::Pc2 {
            return Ok(());
        }
        let what = match file.as_cgeo() {
            Some(_) if self.meshes.is_empty() => return Ok(()),
            Some(_) => {
                "a point cache has whole snapshots: select a range of them, not meshes by their addresses"
            }
            None => "only snapshots of CGeo files are point caches",
        };
        Err(Error::NotHeld {
            target: "pc2",
            what: what.to_owned(),
        })
    }
}

/// The levels of detail of a scene, the finest first.
fn levels_of(scene: &Scene) -> Vec<u32> {
    let mut levels = Vec::new();
    for shape in scene.shapes() {
        if let Role::Lod(level) = shape.role() {
            levels.push(level);
        }
    }
    levels.sort_unstable();
    levels.dedup();
    levels
}

/// The decision about a kind of data in the target of a plan.
fn decide(kind: FactKind, plan: &Plan<'_>) -> Decision {
    match plan.job.target {
        Target::Glb | Target::Gltf => gltf::decide(kind, plan),
        Target::Obj => obj::decide(kind, plan),
        Target::Ply => ply::decide(kind, plan),
        Target::Stl => stl::decide(kind, plan),
        Target::Pc2 => pc2::decide(kind, plan),
        Target::Usdc | Target::Usdz => usd::decide(kind, plan),
    }
}
