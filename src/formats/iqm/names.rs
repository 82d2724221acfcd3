//! The names of a file: offsets into its text, each checked before it is used.

use std::ffi::CStr;

use bytes::Bytes;

use super::tables::Field;
use crate::bytes::Text;
use crate::limits::{Limits, Meter};
use crate::num::{as_u64, as_usize, span};
use crate::report::{ErrorKind, Result};

/// The text of a file: names, each followed by a 0 byte.
#[derive(Debug)]
pub(crate) struct FileText(pub(super) Bytes);

impl FileText {
    /// The name at an offset that was checked.
    pub(crate) fn at(&self, offset: u32) -> Text {
        let rest = self.0.slice(as_usize(offset).min(self.0.len())..);
        Text::new(rest.slice(..end_of_name(&rest)))
    }

    /// Returns `true` if the name at an offset is `name`, without searching for its end first.
    pub(crate) fn is_at(&self, offset: u32, name: &[u8]) -> bool {
        let Some(text) = self.0.get(as_usize(offset)..) else {
            return false;
        };
        match text.strip_prefix(name) {
            Some(rest) => rest.first() == Some(&0),
            None => false,
        }
    }
}

/// The length of the name at the beginning of these bytes.
fn end_of_name(bytes: &[u8]) -> usize {
    // Searches a word at a time: names may be long, and are asked for again and again.
    match CStr::from_bytes_until_nul(bytes) {
        Ok(name) => name.count_bytes(),
        Err(_) => bytes.len(),
    }
}

/// Checks names, and limits the length of all names together.
///
/// Names may share text. A small file in which thousands of long names do would take much time and
/// memory of callers that read each.
pub(crate) struct Names<'a> {
    text: &'a Bytes,
    /// The maximum length of all names together.
    max: u64,
    left: u64,
    /// The end of the last name that a 0 byte terminates. Searched once.
    terminated: Option<u64>,
}

impl<'a> Names<'a> {
    /// Eight times the size of the file, and 1 MiB, as far as the limits allow.
    pub(crate) fn new(text: &'a FileText, filesize: u32, limits: &Limits) -> Self {
        let allowed = Meter::of_part(limits, &span(0, as_u64(text.0.len()))).left();
        let max = u64::from(filesize)
            .saturating_mul(8)
            .saturating_add(1 << 20)
            .min(allowed);
        Self {
            text: &text.0,
            max,
            left: max,
            terminated: None,
        }
    }

    /// Checks a name: its offset must be within the text, and before a 0 byte.
    pub(crate) fn check(&mut self, offset: Field) -> Result<()> {
        self.check_inside(offset)?;
        if u64::from(offset.value) >= self.terminated() {
            let error = offset.malformed();
            let error = error.expected("an offset of text that a 0 byte ends");
            return Err(error.found(format_args!("{:#x}", offset.value)));
        }
        self.spend(offset)?;
        Ok(())
    }

    /// The end of the last name that a 0 byte terminates: 0 if there is none.
    fn terminated(&mut self) -> u64 {
        if let Some(end) = self.terminated {
            return end;
        }
        let end = match self.text.iter().rposition(|byte| *byte == 0) {
            Some(last) => as_u64(last).saturating_add(1),
            None => 0,
        };
        self.terminated = Some(end);
        end
    }

    /// The name at an offset, which must be within the text.
    pub(crate) fn look(&mut self, offset: Field) -> Result<Text> {
        self.check_inside(offset)?;
        let start = as_usize(offset.value);
        let end = start.saturating_add(self.spend(offset)?);
        Ok(Text::new(self.text.slice(start..end)))
    }

    fn check_inside(&self, offset: Field) -> Result<()> {
        let len = as_u64(self.text.len());
        if u64::from(offset.value) < len {
            return Ok(());
        }
        let expected = format!("an offset below {len:#x} (num_text)");
        let error = offset.malformed().expected(expected);
        Err(error.found(format_args!("{:#x}", offset.value)))
    }

    /// Returns the length of the name at an offset, and counts it.
    fn spend(&mut self, offset: Field) -> Result<usize> {
        let rest = self.text.get(as_usize(offset.value)..).unwrap_or_default();
        let length = end_of_name(rest.get(..as_usize(self.left)).unwrap_or(rest));
        self.left = self.left.saturating_sub(as_u64(length));
        if self.left > 0 {
            return Ok(length);
        }
        let error = offset.error(ErrorKind::LimitExceeded);
        Err(error.above(self.max, "bytes of all names together", None))
    }
}
