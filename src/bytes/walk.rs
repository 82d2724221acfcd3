use std::ops::Range;

use bytes::Bytes;
use zerocopy::FromBytes;

use super::source::{Backing, Source};
use crate::num::as_u64;
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
            kept: 0,
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
    /// The source, with the windows that are kept.
    source: Source,
    /// Bytes of these windows.
    kept: u64,
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
    /// The longest window: longer ones cost more memory than they save time.
    const MOST_WINDOW: u64 = 4 << 20;
    /// The most bytes of windows that are kept.
    const MOST_KEPT: u64 = 1 << 20;

    pub(crate) fn read_struct<T>(&mut self, offset: u64, what: &'static str) -> Result<T>
    where
        T: FromBytes,
    {
        self.read_ahead(
            &(offset..offset.saturating_add(as_u64(size_of::<T>()))),
            what,
        )?;
        self.source.read_struct(offset, what)
    }

    /// The bytes of a range, which do not keep a window alive.
    pub(crate) fn get(&mut self, range: Range<u64>, what: &'static str) -> Result<Bytes> {
        self.read_ahead(&range, what)?;
        let bytes = self.source.get(range, what)?;
        Ok(match self.source.backing {
            Backing::Reader(_) => Bytes::copy_from_slice(&bytes),
            Backing::Memory(_) | Backing::Fragments(_) => bytes,
        })
    }

    fn read_ahead(&mut self, range: &Range<u64>, what: &'static str) -> Result<()> {
        let len = self.source.len()?.unwrap_or(u64::MAX);
        if range.end <= len && !self.source.is_cached(range) {
            let step = range.start.abs_diff(self.end);
            let whole = self.source.len()?.unwrap_or(range.end);
            let is_near = step <= self.window.max(Self::NEAR)
                || self.far_steps().saturating_mul(Self::FAR_STEP) >= whole;
            let window = if is_near {
                self.window
            } else {
                Self::FIRST_WINDOW
            };
            let start = range.start & !window.saturating_sub(1);
            let end = start.saturating_add(window).max(range.end).min(len);
            self.count(is_near);
            let length = end.saturating_sub(start);
            if self.kept.saturating_add(length) > Self::MOST_KEPT {
                (self.source, self.kept) = (self.before.clone(), 0);
            }
            self.source = match &self.source.backing {
                Backing::Fragments(_) => self.source.need(range, start..end, what)?,
                _ => self
                    .source
                    .fetch(std::slice::from_ref(&(start..end)), what)?,
            };
            self.kept = self.kept.saturating_add(length);
        }
        self.end = range.end;
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
            _ if is_near => self.window = self.window.saturating_mul(2).min(Self::MOST_WINDOW),
            _ => self.far_steps = self.far_steps.saturating_add(1),
        }
    }

    /// The source as it was before the walk.
    pub(crate) fn without_windows(&self) -> &Source {
        &self.before
    }

    /// The source, with the retained windows, if they are few.
    pub(crate) fn source(&self) -> Source {
        if self.kept > Self::MOST_KEPT {
            self.before.clone()
        } else {
            self.source.clone()
        }
    }
}
