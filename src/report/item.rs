use std::ops::Range;

use crate::report::Address;

/// A part of a file, for listings.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Item {
    /// Where it is.
    pub address: Address,
    /// What it has how many of, as the format's specification names them.
    #[cfg_attr(feature = "serde", serde(serialize_with = "as_map"))]
    pub counts: Vec<(&'static str, u64)>,
    /// Its size in the file, in bytes.
    pub stored: u64,
    /// Its decoded size in bytes, where that is known without decoding.
    pub decoded: Option<u64>,
    /// Its bytes, counted from the start of the source.
    pub range: Range<u64>,
}

/// The counts by their names.
#[cfg(feature = "serde")]
fn as_map<S: serde::Serializer>(counts: &[(&'static str, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counts.iter().copied())
}
