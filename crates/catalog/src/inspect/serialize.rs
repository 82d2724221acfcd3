//! Fields in JSON: ranges as pairs, counts as objects.

use std::ops::Range;

use serde::{Serialize, Serializer};

/// A range as its start and end.
pub(super) fn pair(range: Range<u64>) -> [u64; 2] {
    [range.start, range.end]
}

pub(super) fn as_pair<S: Serializer>(range: &Range<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    pair(range.clone()).serialize(serializer)
}

pub(super) fn as_map<S: Serializer>(
    counts: &[(&str, u64)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counts.iter().copied())
}
