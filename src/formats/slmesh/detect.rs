//! Whether a source is a Second Life mesh asset.

use crate::bytes::Source;
use crate::report::Result;

/// Whether a source that begins with `head` is a Second Life mesh asset: a map of binary LLSD with at least one
/// key, with or without LLSD's line before it.
pub(crate) fn detect(_: &Source, head: &[u8]) -> Result<bool> {
    let line = head.get(..18).is_some_and(|line| line.eq_ignore_ascii_case(b"<? llsd/binary ?>\n"))
        || head.get(..16).is_some_and(|line| line.eq_ignore_ascii_case(b"<?llsd/binary?>\n"));
    Ok(line || matches!(head, [b'{', _, _, _, _, b'k' | b'"' | b'\'', ..]))
}
