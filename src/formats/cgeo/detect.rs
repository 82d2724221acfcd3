//! Whether a source is a CGeo file.

use super::layout::MAX_HEADER;
use super::raw::{MAGIC, TAG_ANIM_TABLE_START};
use crate::bytes::Source;
use crate::num::span;
use crate::report::{ErrorKind, Result};

/// Whether a source that begins with `head` is a CGeo file.
///
/// Other files share the first byte, so the start tag of the offset table, after the text header, decides. A file that
/// ends before that tag is one where what is there of the header is text: opening it tells that it is cut off.
pub(crate) fn detect(source: &Source, head: &[u8]) -> Result<bool> {
    let Some((&[MAGIC, a, b, c, d], text)) = head.split_first_chunk() else { return Ok(false) };
    let header_size = u32::from_le_bytes([a, b, c, d]);
    let tag = span(9_u64.saturating_add(header_size.into()), 4);
    if header_size > MAX_HEADER {
        return Ok(false);
    }
    if source.len()?.is_some_and(|len| tag.end > len) {
        return Ok(is_text(text));
    }
    match source.get(tag, "signature") {
        Ok(bytes) => Ok(bytes[..] == TAG_ANIM_TABLE_START.to_le_bytes()),
        // The length was not known: the file ends before the tag of a CGeo file.
        Err(error) if error.kind() == ErrorKind::Truncated => Ok(is_text(text)),
        Err(error) => Err(error),
    }
}

/// Whether a header may begin like this: with lines of text, and the name of a property.
fn is_text(head: &[u8]) -> bool {
    let name = head.split(|byte| *byte == b':').next().unwrap_or_default();
    !head.is_empty() && name.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\r' | b'\n' | b'\t'))
}
