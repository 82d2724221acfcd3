use std::ops::Range;

use bytes::Bytes;

use crate::num::Span;
use crate::report::{Error, ErrorKind};

/// Merges ranges at most `gap` bytes apart, to save requests.
///
/// The result ascends. Empty ranges are left out.
pub(crate) fn coalesce(ranges: &[Range<u64>], gap: u64) -> Vec<Range<u64>> {
    let mut sorted = ranges.to_vec();
    sorted.retain(|range| !range.is_empty());
    sorted.sort_unstable_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in sorted {
        match merged.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(gap) => {
                last.end = last.end.max(range.end);
            }
            _ => merged.push(range),
        }
    }
    merged
}

/// Returns the part of `bytes`, which begin at `start`, that a range covers; `None` if `bytes` do not hold the whole range.
pub(super) fn slice(bytes: &Bytes, start: u64, range: &Range<u64>) -> Option<Bytes> {
    let from = usize::try_from(range.start.checked_sub(start)?).ok()?;
    let to = usize::try_from(range.end.checked_sub(start)?).ok()?;
    if from > to || to > bytes.len() {
        return None;
    }
    Some(bytes.slice(from..to))
}

/// The error of a source that ends inside a range.
pub(super) fn truncated(range: &Range<u64>, found: u64, what: &'static str) -> Error {
    Error::new(ErrorKind::Truncated, what)
        .at(range.clone())
        .truncated(range.length(), found)
}
