//! The materials of triangles, and their runs.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use zerocopy::little_endian::U32;

use crate::bytes::Array;
use crate::limits::Meter;
use crate::num::{as_u64, size_u64};
use crate::report::Result;

/// The materials of triangles, as numbers.
#[derive(Clone)]
pub(super) enum Materials {
    /// All triangles have one.
    One(u32),
    /// Each has its own.
    Each {
        materials: Array<u32>,
        /// The first triangle of each run of one material.
        starts: Arc<OnceLock<Vec<usize>>>,
    },
}

impl Materials {
    pub(super) fn each(materials: Array<u32>) -> Self {
        Self::Each {
            materials,
            starts: Arc::default(),
        }
    }

    /// The material of each triangle; `None` if all have one.
    pub(super) fn of_triangles(&self) -> Option<&Array<u32>> {
        match self {
            Self::One(_) => None,
            Self::Each { materials, .. } => Some(materials),
        }
    }

    /// The run of triangles that begins at `start`, and its material; `None` if no triangle is left.
    pub(super) fn run_at(
        &self,
        start: usize,
        triangle_count: usize,
    ) -> Option<(u32, Range<usize>)> {
        if start >= triangle_count {
            return None;
        }
        match self {
            Self::One(material) => Some((*material, start..triangle_count)),
            Self::Each { materials, .. } => {
                let rest = materials.as_slice().get(start..triangle_count)?;
                let run = runs(rest).next()?;
                Some((run.first()?.get(), start..start.saturating_add(run.len())))
            }
        }
    }

    /// The first triangle of each run. The list is made once, and charged to the call that makes it.
    pub(super) fn starts(&self, triangle_count: usize, meter: &Meter) -> Result<&[usize]> {
        let (materials, starts) = match self {
            Self::One(_) if triangle_count == 0 => return Ok(&[]),
            Self::One(_) => return Ok(&[0]),
            Self::Each { materials, starts } => (materials, starts),
        };
        if let Some(starts) = starts.get() {
            return Ok(starts);
        }
        let count = runs(materials.as_slice()).count();
        let memory = as_u64(count).saturating_mul(size_u64::<usize>());
        meter.take(memory, "groups of a mesh")?.keep();
        Ok(starts.get_or_init(|| starts_of(materials.as_slice(), count)))
    }
}

/// The runs of triangles that have the same material.
fn runs(materials: &[U32]) -> impl Iterator<Item = &[U32]> {
    materials.chunk_by(|a, b| a == b)
}

/// The first triangle of each of the `count` runs.
fn starts_of(materials: &[U32], count: usize) -> Vec<usize> {
    let mut starts = Vec::with_capacity(count);
    let mut start = 0_usize;
    for run in runs(materials) {
        starts.push(start);
        start = start.saturating_add(run.len());
    }
    starts
}
