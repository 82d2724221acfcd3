//! Reads what was written, and compares it with the mesh file. Nothing here is shared with what writes.

mod cgeo;
mod charge;
mod expected;
mod frame;
mod gltf;
mod levels;
mod motion;
mod obj;
mod pc2;
mod place;
mod ply;
mod shape;
mod skeleton;
mod stl;
mod tally;
mod usd;
mod usdc;
mod views;

use std::path::Path;

use meshmap::MeshFile;

pub use self::tally::Checked;
use self::tally::Tally;
use crate::error::Result;
use crate::settings::{Convert, Job, Target};

impl Convert {
    /// Reads what [`write_file`](Self::write_file) wrote of this file at this path, and compares it with the file.
    ///
    /// The readers share no code with the writers. Compared are, as far as the target has them:
    ///
    /// * the corners of all triangles with their positions, normals, texture coordinates, colours, joints and weights
    /// * materials, and the surface of each in USD
    /// * skins: joints, their places, and inverse bind matrices
    /// * animations: all channels of all keys, and their times
    /// * snapshots: positions, times, and what shows each at its time
    /// * levels of detail: the meshes, and how the finest one leads to the others
    ///
    /// # Errors
    ///
    /// Returns the errors of reading the mesh file, and [`LimitExceeded`](crate::Error::LimitExceeded) if the written file needs more memory
    /// than the call may use. Problems of the written file are in [`Checked::differs`].
    pub fn check_file(&self, file: &MeshFile, path: impl AsRef<Path>) -> Result<Checked> {
        let job = self.job(file);
        job.budget.run(|| self.check(file, &job, path.as_ref()))
    }

    fn check(&self, file: &MeshFile, job: &Job<'_>, path: &Path) -> Result<Checked> {
        let mut tally = Tally::default();
        match (self.target, file.as_cgeo().filter(|_| self.meshes.is_empty())) {
            (Target::Glb | Target::Gltf, Some(proxy)) => cgeo::check_gltf(proxy, job, path, &mut tally)?,
            (Target::Pc2, Some(proxy)) => cgeo::check_pc2(proxy, job, path, &mut tally)?,
            (Target::Usdc, Some(proxy)) => usd::check_cgeo(proxy, job, path, &mut tally)?,
            (Target::Obj, Some(proxy)) => cgeo::check_obj(proxy, job, path, &mut tally)?,
            _ => views::check(file, job, path, &mut tally)?,
        }
        Ok(tally.into_checked())
    }
}
