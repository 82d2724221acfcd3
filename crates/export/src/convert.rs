//! Writes a mesh file as a file of another format.

use std::path::Path;

use meshmap::MeshFile;
use meshmap_outputs::Place;

use crate::error::Result;
use crate::outcome::Outcome;
use crate::scene::{Scene, Unit};
use crate::settings::{Convert, Job, Target, WITH_UNITS};
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
        let job = &self.job(file);
        job.budget.run(|| self.write_within(file, job, place))
    }

    fn write_within(&self, file: &MeshFile, job: &Job<'_>, place: &Place) -> Result<Outcome> {
        let mut outcome = Outcome::default();
        // Refused before anything is written.
        self.check_settings()?;
        let still = self.still(file)?;
        self.check_format(file)?;
        let mut scene = Scene::of_job(file, job, &still, &mut outcome)?;
        scene.add_textures(file, job, place, &mut outcome)?;
        if let Unit::Millimeters(unit) = scene.unit
            && !WITH_UNITS.contains(&self.target)
        {
            outcome.leave_out(format!("the unit, {unit} mm, except in a comment"));
        }
        let is_gltf = matches!(self.target, Target::Glb | Target::Gltf);
        let has_joints = is_gltf || self.target == Target::Usdc && scene.rig_alone().is_some();
        if let Some(rig) = scene.rig.as_ref().filter(|_| !has_joints) {
            for part in rig.parts() {
                outcome.leave_out(part);
            }
        }
        if !self.animations.is_empty() && !has_joints && !self.is_still() {
            outcome.leave_out("the animations of other files");
        }
        if scene.is_empty() && (scene.bones.is_empty() || !has_joints) {
            scene.check_written(&mut outcome)?;
        }
        match self.target {
            Target::Glb | Target::Gltf => gltf::write(&scene, job, place, &mut outcome)?,
            Target::Obj => obj::write(&scene, job, place, &mut outcome)?,
            Target::Ply => ply::write(&scene, job, place, &mut outcome)?,
            Target::Stl => stl::write(&scene, job, place, &mut outcome)?,
            Target::Pc2 => pc2::write(&scene, job, place, &mut outcome)?,
            Target::Usdc => usd::write(&scene, job, place, &mut outcome)?,
        }
        let moment = still.named.to_text();
        if !moment.is_empty() {
            outcome.note(format!("written as in {moment}"));
        }
        Ok(outcome)
    }

    /// Refuses files that the target has no form for, without reading their meshes.
    pub(crate) fn check_format(&self, file: &MeshFile) -> Result<()> {
        if self.target == Target::Pc2 && (file.as_cgeo().is_none() || !self.meshes.is_empty()) {
            return Err(pc2::refusal(file.format()));
        }
        Ok(())
    }
}
