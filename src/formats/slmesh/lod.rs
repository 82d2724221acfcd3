//! Levels of detail: where they are, and which to show.

use std::ops::Range;

use super::asset::Asset;
use super::keys::Lod;
use crate::num::Span;
use crate::report::Result;

impl Asset {
    /// The stored bytes of a level of detail; `Ok(None)` where there is none.
    ///
    /// Reads nothing.
    ///
    /// # Errors
    ///
    /// Those of [`Entry::range`](super::Entry::range).
    pub fn lod_range(&self, lod: Lod) -> Result<Option<Range<u64>>> {
        Ok(self.present(lod.name())?.map(|(_, range)| range))
    }

    /// The level of detail that a viewer shows where it wants `wanted`.
    ///
    /// `None` where there are none. Reads nothing.
    ///
    /// It is the wanted one, or else the next lower one that is there, or else the next higher one.
    #[must_use]
    pub fn best_lod(&self, wanted: Lod) -> Option<Lod> {
        let is_there = |lod: &Lod| matches!(self.lod_range(*lod), Ok(Some(_)));
        let lower = Lod::ALL.into_iter().filter(|lod| *lod <= wanted);
        let higher = Lod::ALL.into_iter().rev().filter(|lod| *lod > wanted);
        lower.chain(higher).find(is_there)
    }

    /// An estimate of the number of triangles of a level of detail. Reads nothing.
    ///
    /// As in the viewer: 16 stored bytes each, but for the first 384. One that is absent counts as the next higher one; `None` where all
    /// of those are absent, too.
    #[must_use]
    pub fn triangle_estimate(&self, lod: Lod) -> Option<u64> {
        const OTHER_BYTES: u64 = 384;
        const TRIANGLE: u64 = 16;
        let stored = |lod: Lod| self.lod_range(lod).ok().flatten().map(|range| range.length());
        let size = Lod::ALL.into_iter().rev().filter(|other| *other >= lod).find_map(stored)?;
        Some(size.saturating_sub(OTHER_BYTES).max(TRIANGLE) / TRIANGLE)
    }
}
