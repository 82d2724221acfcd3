//! The names of a file: offsets into its text, each checked before it is used.

use std::cell::Cell;

use bytes::Bytes;

use super::layout::Layout;
use super::rules::FILE;
use super::tables::Fields;
use crate::num::{Span, as_u64, as_usize, decimal};
use crate::report::{ErrorKind, Result};

/// How much text the names of a file may have together.
///
/// Names may share text, but a small file in which thousands of long ones do is made to waste time and memory in
/// whoever looks at each.
pub(crate) struct TextBudget {
    most: u64,
    left: Cell<u64>,
}

impl TextBudget {
    pub(crate) fn of(layout: &Layout) -> Self {
        let most = u64::from(layout.header.filesize.get()).saturating_mul(8).saturating_add(1 << 20);
        Self { most, left: Cell::new(most) }
    }

    /// Counts the text at an offset, and is done when that is too much.
    pub(crate) fn spend(&self, text: &[u8], offset: u32, what: &'static str) -> Result<()> {
        let from = as_usize(offset);
        let most = as_usize(self.left.get());
        let rest = text.get(from..).unwrap_or_default();
        let length = rest.iter().take(most).position(|byte| *byte == 0).unwrap_or(rest.len().min(most));
        self.left.set(self.left.get().saturating_sub(as_u64(length)));
        if self.left.get() > 0 {
            return Ok(());
        }
        let error = FILE.error(ErrorKind::LimitExceeded, what);
        let expected = format!("less than {} bytes of all names together", decimal(self.most));
        Err(error.expected(expected).found("names that share their text many times"))
    }
}

/// Which offsets are names: those that a 0 byte follows within the text.
pub(crate) struct Names {
    text: Bytes,
    num_text: u64,
    /// One more than the offset of the last 0 byte.
    ended: u64,
    budget: TextBudget,
}

impl Names {
    pub(crate) fn of(layout: &Layout) -> Self {
        let (text, range) = (layout.text.clone(), &layout.sections.text);
        let last = text.iter().rposition(|byte| *byte == 0);
        let ended = last.map_or(0, |last| as_u64(last).saturating_add(1));
        let num_text = range.length();
        Self { text, num_text, ended, budget: TextBudget::of(layout) }
    }

    pub(crate) fn check(&self, offset: u32, what: &'static str, fields: &Fields, field: u64) -> Result<()> {
        let error = || fields.malformed(what, field, 4).found(hex(offset.into()));
        match u64::from(offset) {
            offset if offset >= self.num_text => {
                Err(error().expected(format!("an offset below {:#x} (num_text)", self.num_text)))
            }
            offset if offset >= self.ended => Err(error().expected("an offset of text that a 0 byte ends")),
            _ => {
                let spent = self.budget.spend(&self.text, offset, what);
                spent.map_err(|error| fields.place(field, 4).locate(error))
            }
        }
    }
}

fn hex(number: u64) -> String {
    format!("{number:#x}")
}
