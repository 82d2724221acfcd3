//! The names of a file: offsets into its text, each checked before it is used.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;

use crate::bytes::{Source, Text};
use crate::limits::{Budget, Limits};
use crate::num::{Span, as_u64, as_usize};
use crate::report::{ErrorKind, Place, Result};

/// The text of a file: names, each followed by a 0 byte.
#[derive(Debug)]
pub(crate) struct FileText {
    section: Range<u64>,
    /// All of the text, if it is in memory, short, or mostly names.
    whole: Option<Bytes>,
    /// Otherwise the names that were checked, by their offsets.
    names: BTreeMap<u32, Bytes>,
}

impl FileText {
    /// A longer text is not held, unless it is in memory.
    const SHORT: u64 = 1 << 20;

    /// The part of the file that is to be read with the tables.
    pub(crate) fn to_be_read(source: &Source, section: &Range<u64>) -> Range<u64> {
        if source.is_in_memory() || section.length() <= Self::SHORT { section.clone() } else { 0..0 }
    }

    pub(crate) fn new(source: &Source, section: &Range<u64>) -> Result<Self> {
        let is_whole = Self::to_be_read(source, section) == *section;
        let whole = is_whole.then(|| source.get(section.clone(), "text")).transpose()?;
        Ok(Self { section: section.clone(), whole, names: BTreeMap::new() })
    }

    /// The name at an offset that was checked.
    pub(crate) fn at(&self, offset: u32) -> Text {
        let Some(whole) = &self.whole else {
            return self.names.get(&offset).cloned().map(Text::new).unwrap_or_default();
        };
        let rest = whole.slice(as_usize(offset).min(whole.len())..);
        Text::new(rest.slice(..end_of_name(&rest)))
    }

    /// Returns `true` if the name at an offset is `name`, without searching for its end first.
    pub(crate) fn is_at(&self, offset: u32, name: &[u8]) -> bool {
        let Some(whole) = &self.whole else {
            return self.names.get(&offset).is_some_and(|found| found == name);
        };
        let rest = whole.get(as_usize(offset)..).and_then(|rest| rest.strip_prefix(name));
        rest.is_some_and(|rest| rest.first() == Some(&0))
    }

    /// Calls `each` with all of the text, part by part.
    pub(crate) fn parts(&self, source: &Source, mut each: impl FnMut(&[u8])) -> Result<()> {
        const PART: u64 = 1 << 20;
        if let Some(whole) = &self.whole {
            each(whole);
            return Ok(());
        }
        let mut start = self.section.start;
        while start < self.section.end {
            let part = start..start.saturating_add(PART).min(self.section.end);
            each(&source.get(part.clone(), "text")?);
            start = part.end;
        }
        Ok(())
    }

    /// The blocks of a text that is not held in which names at these offsets lie, in order.
    fn blocks(&self, offsets: impl Iterator<Item = u32>) -> Vec<u64> {
        /// The first length that is read of a name. The rest of longer names is read when they are found.
        const NAME: u64 = 64;
        let count = self.section.length().div_ceil(1 << BLOCK_BITS);
        let mut is_needed = vec![false; as_usize(count)];
        for offset in offsets {
            for at in [offset.into(), u64::from(offset).saturating_add(NAME)] {
                if let Some(is_needed) = is_needed.get_mut(as_usize(at >> BLOCK_BITS)) {
                    *is_needed = true;
                }
            }
        }
        (0..).zip(is_needed).filter_map(|(block, is_needed)| is_needed.then_some(block)).collect()
    }

    /// Blocks of a text that is not held, as many as there are.
    fn range_of(&self, blocks: Range<u64>) -> Range<u64> {
        let at = |block: u64| self.section.start.saturating_add(block << BLOCK_BITS).min(self.section.end);
        at(blocks.start)..at(blocks.end)
    }

    /// The name at an offset of a text that is not held: up to a 0 byte, the end of the text, or `most` bytes; and
    /// whether a 0 byte ends it. `last` are the blocks that were read last: of a long name, twice as many each time.
    fn read(
        &self,
        source: &Source,
        last: &mut Option<(Range<u64>, Bytes)>,
        offset: u32,
        most: u64,
    ) -> Result<(Bytes, bool)> {
        let mut name = Vec::new();
        let mut at = u64::from(offset);
        let end = at.saturating_add(most).min(self.section.length());
        while at < end {
            let block = at >> BLOCK_BITS;
            let found = match last.take().filter(|(blocks, _)| blocks.contains(&block)) {
                Some(found) => found,
                None => {
                    let more = as_u64(name.len()) >> BLOCK_BITS;
                    let blocks = block..block.saturating_add(more.max(1));
                    (blocks.clone(), source.get(self.range_of(blocks), "text")?)
                }
            };
            let (blocks, bytes) = last.insert(found);
            let start = at.saturating_sub(blocks.start << BLOCK_BITS);
            let rest = bytes.get(as_usize(start)..).unwrap_or_default();
            let rest = rest.get(..as_usize(end.saturating_sub(at))).unwrap_or(rest);
            let length = end_of_name(rest);
            name.extend_from_slice(rest.get(..length).unwrap_or_default());
            if length < rest.len() {
                return Ok((name.into(), true));
            }
            at = blocks.end << BLOCK_BITS;
        }
        Ok((name.into(), false))
    }
}

/// A text that is not held is read in blocks of 4 KiB.
const BLOCK_BITS: u32 = 12;

/// The length of the name at the beginning of these bytes.
fn end_of_name(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len())
}

/// Looks at names, which together may have so much text.
///
/// Names may share text. A small file in which thousands of long ones do would take much time and memory of whoever
/// looks at each.
pub(crate) struct Names<'a> {
    text: &'a FileText,
    source: &'a Source,
    /// All of the text, if it is held.
    whole: Option<Bytes>,
    /// The names that were checked, of a text that is not held.
    found: BTreeMap<u32, Bytes>,
    /// The blocks that were read last, of a text that is not held.
    last: Option<(Range<u64>, Bytes)>,
    most: u64,
    left: u64,
    /// The end of the offsets at which names are terminated by a 0 byte: one more than the last one. Known for text that is held.
    terminated: Option<u64>,
}

impl<'a> Names<'a> {
    /// Eight times the size of the file, and 1 MiB, as far as the limits allow.
    pub(crate) fn new(text: &'a FileText, source: &'a Source, filesize: u32, limits: &Limits) -> Self {
        let allowed = Budget::of_part(limits, &text.section).left();
        let most = u64::from(filesize).saturating_mul(8).saturating_add(1 << 20).min(allowed);
        let (whole, found) = (text.whole.clone(), BTreeMap::new());
        Self { text, source, whole, found, last: None, most, left: most, terminated: None }
    }

    /// Prepares for the names at these offsets: holds the text if they are a large part of it. Otherwise, with fragments, requests
    /// everything they need at once, as each request would be a separate step.
    pub(crate) fn want(&mut self, offsets: impl Iterator<Item = u32>) -> Result<()> {
        if self.whole.is_some() {
            return Ok(());
        }
        let blocks = self.text.blocks(offsets);
        if as_u64(blocks.len()) << BLOCK_BITS >= self.text.section.length() / 2 {
            return self.hold();
        }
        let range = |block: u64| self.text.range_of(block..block.saturating_add(1));
        self.source.want(blocks.into_iter().map(range), "text")
    }

    fn hold(&mut self) -> Result<()> {
        self.whole = Some(self.source.get(self.text.section.clone(), "text")?);
        self.found.clear();
        Ok(())
    }

    /// The text with what was found in it.
    pub(crate) fn into_text(self) -> FileText {
        FileText { section: self.text.section.clone(), whole: self.whole, names: self.found }
    }

    /// Checks the name at an offset, which must be within the text, and before a 0 byte; `place` is the field that has the
    /// offset.
    pub(crate) fn check(&mut self, offset: u32, what: &'static str, place: impl Fn() -> Place) -> Result<()> {
        self.check_inside(offset, what, &place)?;
        let unterminated = || {
            let error = place().malformed(what).expected("an offset of text that a 0 byte ends");
            Err(error.found(format_args!("{offset:#x}")))
        };
        let length = match &self.whole {
            Some(whole) => {
                let terminated = *self.terminated.get_or_insert_with(|| {
                    let last = whole.iter().rposition(|byte| *byte == 0);
                    last.map_or(0, |last| as_u64(last).saturating_add(1))
                });
                if u64::from(offset) >= terminated {
                    return unterminated();
                }
                length_at(whole, offset, self.left)
            }
            None => match self.found.get(&offset) {
                Some(name) => name.len(),
                None => {
                    let (name, is_terminated) =
                        self.text.read(self.source, &mut self.last, offset, self.left)?;
                    let length = name.len();
                    if !is_terminated && as_u64(length) < self.left {
                        return unterminated();
                    }
                    self.found.insert(offset, name);
                    length
                }
            },
        };
        self.spend(length, what, place)?;
        // Names that share text are more than all of it.
        if self.whole.is_none() && self.most.saturating_sub(self.left) > self.text.section.length() {
            self.hold()?;
        }
        Ok(())
    }

    /// The name at an offset, which must be within the text; `place` is the field that has the offset.
    pub(crate) fn look(
        &mut self,
        offset: u32,
        what: &'static str,
        place: impl Fn() -> Place,
    ) -> Result<Text> {
        self.check_inside(offset, what, &place)?;
        let name = match &self.whole {
            Some(whole) => {
                let start = as_usize(offset);
                whole.slice(start..start.saturating_add(length_at(whole, offset, self.left)))
            }
            None => match self.text.names.get(&offset) {
                Some(name) => name.clone(),
                None => self.text.read(self.source, &mut self.last, offset, self.left)?.0,
            },
        };
        self.spend(name.len(), what, place)?;
        Ok(Text::new(name))
    }

    fn check_inside(&self, offset: u32, what: &'static str, place: impl FnOnce() -> Place) -> Result<()> {
        let len = self.text.section.length();
        if u64::from(offset) < len {
            return Ok(());
        }
        let expected = format!("an offset below {len:#x} (num_text)");
        Err(place().malformed(what).expected(expected).found(format_args!("{offset:#x}")))
    }

    fn spend(&mut self, length: usize, what: &'static str, place: impl FnOnce() -> Place) -> Result<()> {
        self.left = self.left.saturating_sub(as_u64(length));
        if self.left > 0 {
            return Ok(());
        }
        let error = place().error(ErrorKind::LimitExceeded, what);
        Err(error.above(self.most, "bytes of all names together", None))
    }
}

/// The length of the name at an offset of a text, as far as `most` bytes go.
fn length_at(text: &[u8], offset: u32, most: u64) -> usize {
    let rest = text.get(as_usize(offset)..).unwrap_or_default();
    end_of_name(rest.get(..as_usize(most)).unwrap_or(rest))
}
