//! The box around positions, without an array of all of them.

use super::packed::Packed;
use crate::limits::Budget;
use crate::mesh::Bounds;
use crate::num::{Span, as_u64};
use crate::report::Result;

/// So many positions are decoded at once: less than a mebibyte, and enough for several threads.
const PIECE: usize = 64 << 10;

impl Packed<[f32; 3]> {
    /// The box around the elements, or around those that `used` names; `Ok(None)` where an axis has no finite number.
    pub(crate) fn bounds(&self, used: Option<&[u32]>, budget: &Budget) -> Result<Option<Bounds>> {
        self.ranges().for_each(|range| budget.count_read(&range));
        let stored = self.ranges().fold(0, |sum: u64, range| sum.saturating_add(range.length()));
        let spend = |error| self.place().locate(error);
        let used = used.map(|used| {
            let mut words = budget.vec::<u64>(stored, as_u64(self.len().div_ceil(64)), "set of vertices")?;
            for element in used.iter().filter_map(|element| usize::try_from(*element).ok()) {
                if let Some(word) = words.get_mut(element >> 6) {
                    *word |= 1 << (element & 63);
                }
            }
            Ok(words)
        });
        let used = used.transpose().map_err(spend)?;
        let is_used = |element: usize| {
            let word = |words: &Vec<u64>| words.get(element >> 6).copied().unwrap_or(0);
            used.as_ref().is_none_or(|words| word(words) >> (element & 63) & 1 == 1)
        };
        let piece = as_u64(self.len().min(PIECE));
        let mut piece = budget.vec::<[f32; 3]>(stored, piece, "array of a mesh").map_err(spend)?;

        let read = self.with_bytes_read(0..self.len())?;
        let mut bounds = Bounds::default();
        for first in (0..self.len()).step_by(PIECE) {
            let end = first.saturating_add(PIECE).min(self.len());
            let elements = piece.get_mut(..end.saturating_sub(first)).unwrap_or_default();
            read.range_into(first..end, elements)?;
            let elements = (first..).zip(&*elements).filter(|(element, _)| is_used(*element));
            bounds.add(elements.map(|(_, position)| *position));
        }
        Ok((!bounds.is_empty()).then_some(bounds))
    }
}
