//! Whether a source is an IQM file.

use super::raw::MAGIC;
use crate::bytes::Source;
use crate::report::Result;

/// Whether a source that begins with `head` is an IQM file.
///
/// The last byte of the magic is not compared: a file that is damaged there is left to the reader, which names it.
pub(crate) fn detect(_: &Source, head: &[u8]) -> Result<bool> {
    Ok(MAGIC.get(..15).is_some_and(|magic| head.starts_with(magic)))
}
