//! The materials of triangles that have numbers for them.

use meshmap_job::{Change, Result};

use crate::outcome::Outcome;
use crate::settings::{Job, WITH_MATERIALS};

/// The decision that each number of a material becomes a material, or that all become one: by the first mesh that has numbers.
#[derive(Default)]
pub(crate) struct MaterialIds {
    /// `true` if that mesh has more than the target should have.
    are_too_many: Option<bool>,
}

impl MaterialIds {
    /// Counts the material IDs of a mesh, if it is the first that has some: many become one material, which is reported.
    pub(crate) fn count(
        &mut self,
        ids: Option<impl ExactSizeIterator<Item = u32>>,
        job: &Job<'_>,
        outcome: &mut Outcome,
    ) -> Result<()> {
        /// More materials make programs hang, or run out of memory.
        const MOST: usize = 1000;
        let is_said = job.merge_materials || job.keep_materials;
        if is_said || self.are_too_many.is_some() || !WITH_MATERIALS.contains(&job.target) {
            return Ok(());
        }
        let Some(ids) = ids else {
            return Ok(());
        };
        let _scope = job.budget.scope();
        let mut ids = job.budget.collect(ids, "material IDs")?;
        ids.sort_unstable();
        ids.dedup();
        let are_too_many = ids.len() > MOST;
        self.are_too_many = Some(are_too_many);
        if are_too_many {
            let count = ids.len() as u64;
            outcome.report.change(Change::MaterialsMerged, count);
        }
        Ok(())
    }

    /// `true` if all material IDs are written as one material.
    pub(crate) fn are_merged(&self, job: &Job<'_>) -> bool {
        job.merge_materials || self.are_too_many == Some(true)
    }

    /// The name of the material for a material ID.
    pub(crate) fn name(&self, id: u32, job: &Job<'_>) -> String {
        if self.are_merged(job) {
            "material".to_owned()
        } else {
            format!("material_{id}")
        }
    }
}
