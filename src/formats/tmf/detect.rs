//! Whether a source is a TMF file.

use super::raw::MAGIC;
use crate::bytes::Source;
use crate::report::Result;

/// Whether a source that begins with `head` is a TMF file.
pub(crate) fn detect(_: &Source, head: &[u8]) -> Result<bool> {
    Ok(head.starts_with(&MAGIC))
}
