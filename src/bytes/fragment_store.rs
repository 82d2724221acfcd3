use std::collections::{BTreeMap, btree_map};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::num::{Span, as_u64, as_usize};
use crate::report::Result;

/// The store that a [`Source`] of fragments reads from.
pub(super) struct FragmentStore {
    pub(super) state: Mutex<State>,
}

pub(super) struct State {
    pub(super) len: Option<u64>,
    /// The pieces that were fetched, by offset; never empty, never overlapping.
    pub(super) pieces: BTreeMap<u64, Bytes>,
    /// The sum of their lengths.
    pub(super) held: u64,
    /// The ranges that the job of this step missed.
    pub(super) wanted: Vec<Range<u64>>,
    /// The number of times that a walk has doubled its window.
    pub(super) widened: u32,
    /// The number of steps of a walk that were too far to double the window.
    pub(super) far_steps: u64,
}

impl FragmentStore {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn len(&self) -> Option<u64> {
        self.lock().len
    }

    pub(super) fn has(&self, range: &Range<u64>) -> bool {
        self.lock().gaps(range).is_empty()
    }

    /// The bytes of a range. If it has gaps, all of them are noted as wanted, and the first one is returned as the error.
    pub(super) fn get(&self, range: &Range<u64>) -> Result<Bytes, Range<u64>> {
        let mut state = self.lock();
        match state.want(range) {
            Some(gap) => Err(gap),
            None => Ok(state.join(range)),
        }
    }

    /// Notes every gap in these ranges as wanted, and returns the first one.
    pub(super) fn want_all(&self, ranges: &[Range<u64>]) -> Option<Range<u64>> {
        let mut state = self.lock();
        let mut first = None;
        for range in ranges {
            let gap = state.want(range);
            first = first.or(gap);
        }
        first
    }

    /// Returns the number of bytes to request at once.
    pub(super) fn window(&self, first: u64) -> u64 {
        const MAX_DOUBLINGS: u32 = 24;
        first << self.lock().widened.min(MAX_DOUBLINGS)
    }

    pub(super) fn far_steps(&self) -> u64 {
        self.lock().far_steps
    }

    /// Makes the window twice as long after a step of a walk that was near; counts one that was not.
    pub(super) fn count_step(&self, is_near: bool) {
        let mut state = self.lock();
        if is_near {
            state.widened = state.widened.saturating_add(1);
        } else {
            state.far_steps = state.far_steps.saturating_add(1);
        }
    }
}

impl State {
    /// Notes the gaps in a range as wanted, and returns the first one.
    fn want(&mut self, range: &Range<u64>) -> Option<Range<u64>> {
        let end = self.len.unwrap_or(u64::MAX).min(range.end);
        let gaps = self.gaps(&(range.start..end));
        let first = gaps.first().cloned();
        self.wanted.extend(gaps);
        first
    }

    /// The parts of a range that no piece holds.
    pub(super) fn gaps(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let mut gaps = Vec::new();
        if range.is_empty() {
            return gaps;
        }
        let mut at = range.start;
        for (start, bytes) in self.touching(range) {
            if *start > at {
                gaps.push(at..*start);
            }
            at = at.max(piece_range(*start, bytes).end);
        }
        if at < range.end {
            gaps.push(at..range.end);
        }
        gaps
    }

    /// The key of the first piece that reaches into the range.
    fn first_touching(&self, range: &Range<u64>) -> u64 {
        match self.pieces.range(..=range.start).next_back() {
            Some((start, bytes)) if piece_range(*start, bytes).end > range.start => *start,
            _ => range.start,
        }
    }

    /// Adds the bytes at an offset. Bytes that a piece holds already are left out.
    pub(super) fn insert(&mut self, offset: u64, bytes: &Bytes) {
        for gap in self.gaps(&piece_range(offset, bytes)) {
            self.insert_part(&gap, offset, bytes);
        }
    }

    /// Adds the part of a piece that lies in a range.
    fn insert_part(&mut self, range: &Range<u64>, offset: u64, bytes: &Bytes) {
        let part = bytes.slice(indices_in(range, offset, bytes));
        // A small part must not hold the memory of the whole piece.
        let part = if part.len() < bytes.len() / 2 {
            Bytes::copy_from_slice(&part)
        } else {
            part
        };
        self.held = self.held.saturating_add(as_u64(part.len()));
        self.pieces.insert(range.start, part);
    }

    pub(super) fn remove(&mut self, range: &Range<u64>) {
        if range.is_empty() {
            return;
        }
        for start in self.starts_touching(range) {
            let Some(bytes) = self.pieces.remove(&start) else {
                continue;
            };
            let piece = piece_range(start, &bytes);
            self.held = self.held.saturating_sub(piece.length());
            for rest in [piece.start..range.start, range.end..piece.end] {
                if !rest.is_empty() {
                    self.insert_part(&rest, start, &bytes);
                }
            }
        }
    }

    /// The pieces that reach into the range.
    fn touching(&self, range: &Range<u64>) -> btree_map::Range<'_, u64, Bytes> {
        self.pieces.range(self.first_touching(range)..range.end)
    }

    /// The offsets of the pieces that reach into the range.
    fn starts_touching(&self, range: &Range<u64>) -> Vec<u64> {
        self.touching(range).map(|(start, _)| *start).collect()
    }

    /// The bytes of a range without gaps. At most twice as many bytes as the range has are copied.
    ///
    /// If the range is the larger part of its pieces, these are merged, so that ranges in them are not joined again.
    fn join(&mut self, range: &Range<u64>) -> Bytes {
        let mut pieces = self.touching(range);
        if let (Some((start, bytes)), None) = (pieces.next(), pieces.next()) {
            return bytes.slice(indices_in(range, *start, bytes));
        }

        let mut length = 0_usize;
        for (_, bytes) in self.touching(range) {
            length = length.saturating_add(bytes.len());
        }
        let is_larger_part = as_u64(length) <= range.length().saturating_mul(2);
        let mut joined = Vec::new();
        for (start, bytes) in self.touching(range) {
            if is_larger_part {
                joined.extend_from_slice(bytes);
            } else {
                joined.extend_from_slice(&bytes.slice(indices_in(range, *start, bytes)));
            }
        }
        let joined = Bytes::from(joined);
        if !is_larger_part {
            return joined;
        }
        let first = self.first_touching(range);
        for start in self.starts_touching(range) {
            self.pieces.remove(&start);
        }
        self.pieces.insert(first, joined.clone());
        joined.slice(indices_in(range, first, &joined))
    }
}

pub(super) fn piece_range(start: u64, bytes: &Bytes) -> Range<u64> {
    start..start.saturating_add(as_u64(bytes.len()))
}

/// The indices of the bytes of a piece that lie in a range.
fn indices_in(range: &Range<u64>, start: u64, bytes: &Bytes) -> Range<usize> {
    let index = |offset: u64| as_usize(offset.saturating_sub(start)).min(bytes.len());
    index(range.start)..index(range.end)
}
