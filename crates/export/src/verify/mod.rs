//! Reads written files, and compares them with the scene of the mesh file. The readers share nothing with the writers.

mod charge;
mod expected;
mod gltf;
mod meshes;
mod obj;
mod pc2;
mod ply;
mod root;
mod shape;
mod skeletons;
mod skins;
mod snapshots;
mod stl;
mod tally;
mod usd;
mod usdc;

use std::path::Path;

use meshmap::MeshFile;
use meshmap::cgeo::Parts;

pub use self::tally::Checked;

use self::expected::Expected;
use self::tally::Tally;
use crate::error::Result;
use crate::outcome::Outcome;
use crate::scene::Scene;
use crate::settings::{Convert, Job, Target};

impl Convert {
    /// Reads what [`write_file`](Self::write_file) wrote of this file at this path, and compares it with the file.
    ///
    /// The readers share no code with the writers; the joints, the pose and the conventions of the mesh file come from the same place as
    /// in writing. Compared are, as far as the target has them:
    ///
    /// * the corners of all triangles with their positions, normals, texture coordinates, colours, joints and weights
    /// * materials, and the surface of each in USD
    /// * skins: joints, their places, and inverse bind matrices
    /// * animations: all channels of all keys, and their times; in USD, of joints without meshes
    /// * the up axis, the turn about it and the unit, of glTF and USD
    /// * snapshots: positions, times, and what shows each at its time
    /// * levels of detail: the meshes, and how the finest one leads to the others
    ///
    /// # Errors
    ///
    /// Returns the errors of reading the mesh file, [`NotHeld`](crate::Error::NotHeld) where the target cannot hold it, and
    /// [`LimitExceeded`](crate::Error::LimitExceeded) if the written file needs more memory than the call may use. Problems of the written file are in [`Checked::differs`].
    pub fn check_file(&self, file: &MeshFile, path: impl AsRef<Path>) -> Result<Checked> {
        let job = self.job(file);
        job.budget.run(|| self.check(file, &job, path.as_ref()))
    }

    fn check(&self, file: &MeshFile, job: &Job<'_>, path: &Path) -> Result<Checked> {
        self.check_format(file)?;
        let mut tally = Tally::default();
        let scene = Scene::of_job(file, job, &self.still(file)?, &mut Outcome::default())?;
        let Some(snapshots) = &scene.snapshots else {
            meshes::check(&scene, job, path, &mut tally)?;
            return Ok(tally.into_checked());
        };
        if let Some(first) = snapshots.indices.first() {
            let triangles = snapshots.at(*first)?.mesh(Parts::TRIANGLES)?.triangles;
            job.count_materials(triangles.material_ids(), &mut Outcome::default())?;
        }
        // An OBJ is next to a point cache.
        let target = if self.target == Target::Pc2 {
            Target::Obj
        } else {
            self.target
        };
        let expected = &Expected {
            scene: &scene,
            job,
            target,
            skeleton: None,
        };
        match self.target {
            Target::Glb | Target::Gltf => {
                snapshots::check_gltf(snapshots, expected, path, &mut tally)?
            }
            Target::Pc2 => snapshots::check_pc2(snapshots, expected, path, &mut tally)?,
            Target::Usdc => usd::check_snapshots(snapshots, expected, path, &mut tally)?,
            Target::Obj => snapshots::check_obj(snapshots, expected, path, &mut tally)?,
            Target::Ply | Target::Stl => meshes::check(&scene, job, path, &mut tally)?,
        }
        Ok(tally.into_checked())
    }
}
