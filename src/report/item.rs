use std::ops::Range;

use crate::report::Address;

/// A part of a file, as a listing shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Item {
    /// Where it stands.
    pub address: Address,
    /// How many of what, in the words of the format's specification.
    pub counts: Vec<(&'static str, u64)>,
    /// Its size in the file, in bytes.
    pub stored: u64,
    /// Its size when decoded, in bytes, where that is known without decoding.
    pub decoded: Option<u64>,
    /// Its bytes, from the beginning of the source.
    pub range: Range<u64>,
}
