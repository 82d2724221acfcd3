//! The names of a file: offsets into its text, each checked before it is used.

use std::cell::Cell;

use bytes::Bytes;

use crate::num::{as_u64, as_usize, decimal};
use crate::report::{ErrorKind, Place, Result};

/// How much text the names of a file may have together.
///
/// Names may share text. A small file in which thousands of long ones do would take much time and memory of whoever
/// looks at each.
pub(crate) struct TextBudget {
    text: Bytes,
    max: u64,
    left: Cell<u64>,
}

impl TextBudget {
    /// Eight times the size of the file, and 1 MiB.
    pub(crate) fn new(text: Bytes, filesize: u32) -> Self {
        let max = u64::from(filesize).saturating_mul(8).saturating_add(1 << 20);
        Self { text, max, left: Cell::new(max) }
    }

    /// Counts the name at an offset, which must be within the text.
    ///
    /// `place` is the field that has the offset.
    pub(crate) fn spend(&self, offset: u32, what: &'static str, place: impl FnOnce() -> Place) -> Result<()> {
        let Some(rest) = self.text.get(as_usize(offset)..).filter(|rest| !rest.is_empty()) else {
            let expected = format!("an offset below {:#x} (num_text)", self.text.len());
            return Err(place().malformed(what).expected(expected).found(format_args!("{offset:#x}")));
        };
        let rest = rest.get(..as_usize(self.left.get())).unwrap_or(rest);
        let length = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
        self.left.set(self.left.get().saturating_sub(as_u64(length)));
        if self.left.get() > 0 {
            return Ok(());
        }
        let error = place().error(ErrorKind::LimitExceeded, what);
        let expected = format!("less than {} bytes of all names together", decimal(self.max));
        Err(error.expected(expected).found("names that share their text many times"))
    }
}

/// The names that opening checks: those that a 0 byte follows within the text.
pub(crate) struct Names {
    budget: TextBudget,
    /// One more than the offset of the last 0 byte.
    end: u64,
}

impl Names {
    pub(crate) fn new(text: Bytes, filesize: u32) -> Self {
        let last = text.iter().rposition(|byte| *byte == 0);
        let end = last.map_or(0, |last| as_u64(last).saturating_add(1));
        Self { budget: TextBudget::new(text, filesize), end }
    }

    /// Checks the name at an offset; `place` is the field that has the offset.
    pub(crate) fn check(&self, offset: u32, what: &'static str, place: impl Fn() -> Place) -> Result<()> {
        if (self.end..as_u64(self.budget.text.len())).contains(&offset.into()) {
            let error = place().malformed(what).expected("an offset of text that a 0 byte ends");
            return Err(error.found(format_args!("{offset:#x}")));
        }
        self.budget.spend(offset, what, place)
    }
}
