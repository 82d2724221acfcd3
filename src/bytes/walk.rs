use std::ops::Range;

use bytes::Bytes;
use zerocopy::FromBytes;

use super::source::{Backing, Source};
use crate::num::{Span, size_u64, span};
use crate::report::Result;

impl Source {
    /// Reads a chain of small structures.
    pub(crate) fn walk(&self) -> Walk {
        let window = match &self.backing {
            Backing::Fragments(store) => store.window(Walk::FIRST_WINDOW),
            _ => Walk::FIRST_WINDOW,
        };
        Walk {
            before: self.clone(),
            source: self.clone(),
            retained: 0,
            window,
            end: 0,
            far_steps: 0,
        }
    }
}

/// Reads a chain of structures, each of which contains the position of the next one.
///
/// The window that is read ahead doubles with every step out of it, up to 4 MiB, and is aligned to its size: a chain
/// through a whole file costs few reads. Far steps do not double it, because reading ahead would read everything in
/// between, until there have been enough far steps that reading the whole file would have cost less.
///
/// A reader's windows are retained while they are few; for a large file, only the last one is retained.
pub(crate) struct Walk {
    /// The source without windows.
    before: Source,
    /// The source, with the windows that are retained.
    source: Source,
    /// The size of these windows in bytes.
    retained: u64,
    /// The size of the next window, if the next step is not far.
    window: u64,
    /// The end of the last structure.
    end: u64,
    far_steps: u64,
}

impl Walk {
    const FIRST_WINDOW: u64 = 4 << 10;
    /// A longer step is far.
    const NEAR: u64 = 64 << 10;
    /// Bytes that can be read for the cost of a far step.
    const FAR_STEP: u64 = 128 << 10;
    /// The maximum size of a window: longer ones cost more memory than they save time.
    const MAX_WINDOW: u64 = 4 << 20;
    /// The maximum size of all windows that are retained.
    const MAX_RETAINED: u64 = 1 << 20;

    pub(crate) fn read_struct<T>(&mut self, offset: u64, what: &'static str) -> Result<T>
    where
        T: FromBytes,
    {
        self.read_ahead(&span(offset, size_u64::<T>()), what)?;
        self.source.read_struct(offset, what)
    }

    /// The bytes of a range. They are copied out of a window, which they would keep alive.
    pub(crate) fn get(&mut self, range: Range<u64>, what: &'static str) -> Result<Bytes> {
        self.read_ahead(&range, what)?;
        let bytes = self.source.get(range, what)?;
        Ok(match self.source.backing {
            Backing::Reader(_) => Bytes::copy_from_slice(&bytes),
            Backing::Memory(_) | Backing::Fragments(_) => bytes,
        })
    }

    /// Makes the bytes of a structure available, with a window around them. A range beyond the end of the file is left to
    /// the read that uses it.
    fn read_ahead(&mut self, range: &Range<u64>, what: &'static str) -> Result<()> {
        let len = self.source.len()?;
        let is_inside = range.end <= len.unwrap_or(u64::MAX);
        if is_inside && !self.source.is_cached(range) {
            self.read_window(range, len, what)?;
        }
        self.end = range.end;
        Ok(())
    }

    /// Reads the window around a range. `len` is the length of the source, if it is known.
    fn read_window(
        &mut self,
        range: &Range<u64>,
        len: Option<u64>,
        what: &'static str,
    ) -> Result<()> {
        let step = range.start.abs_diff(self.end);
        let whole = len.unwrap_or(range.end);
        // Far steps that cost as much as the whole file would are treated as near.
        let cost_of_far_steps = self.far_steps().saturating_mul(Self::FAR_STEP);
        let is_near = step <= self.window.max(Self::NEAR) || cost_of_far_steps >= whole;
        let size = if is_near {
            self.window
        } else {
            Self::FIRST_WINDOW
        };
        self.count(is_near);

        // A size is a power of two: rounding down to a multiple of it clears the lower bits.
        let start = range.start & !size.saturating_sub(1);
        let end = start.saturating_add(size).max(range.end);
        let window = start..end.min(len.unwrap_or(u64::MAX));
        let length = window.length();
        if self.retained.saturating_add(length) > Self::MAX_RETAINED {
            self.source = self.before.clone();
            self.retained = 0;
        }
        self.source = match &self.source.backing {
            Backing::Fragments(_) => self.source.need(range, window, what)?,
            _ => self.source.fetch(&[window], what)?,
        };
        self.retained = self.retained.saturating_add(length);
        Ok(())
    }

    fn far_steps(&self) -> u64 {
        match &self.source.backing {
            Backing::Fragments(store) => store.far_steps(),
            _ => self.far_steps,
        }
    }

    /// Counts a far step, or doubles the next window. For fragments, they count for the walk that begins again when the
    /// bytes are there.
    fn count(&mut self, is_near: bool) {
        match &self.source.backing {
            Backing::Fragments(store) => store.count_step(is_near),
            _ if is_near => self.window = self.window.saturating_mul(2).min(Self::MAX_WINDOW),
            _ => self.far_steps = self.far_steps.saturating_add(1),
        }
    }

    /// The source as it was before the walk.
    pub(crate) fn without_windows(&self) -> &Source {
        &self.before
    }

    /// The source, with the retained windows, if they are few.
    pub(crate) fn source(&self) -> Source {
        if self.retained > Self::MAX_RETAINED {
            self.before.clone()
        } else {
            self.source.clone()
        }
    }
}
