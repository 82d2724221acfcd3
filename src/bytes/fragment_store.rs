use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::num::{Span, as_u64};
use crate::report::Result;

/// The store that a [`Source`] of fragments reads from.
pub(super) struct FragmentStore {
    pub(super) state: Mutex<State>,
}

pub(super) struct State {
    pub(super) len: Option<u64>,
    /// By offset; never empty, never overlapping.
    pub(super) pieces: BTreeMap<u64, Bytes>,
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

    /// The bytes of a range; else the first of the gaps in it, all of which are noted as wanted.
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
        let gaps: Vec<_> = ranges
            .iter()
            .filter_map(|range| state.want(range))
            .collect();
        gaps.into_iter().next()
    }

    /// Returns the number of bytes to request at once.
    pub(super) fn window(&self, first: u64) -> u64 {
        const MOST_DOUBLINGS: u32 = 24;
        first << self.lock().widened.min(MOST_DOUBLINGS)
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
    fn want(&mut self, range: &Range<u64>) -> Option<Range<u64>> {
        let end = self.len.map_or(range.end, |len| len.min(range.end));
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
        for (start, bytes) in self.pieces.range(self.first_touching(range)..range.end) {
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
        let before = self.pieces.range(..=range.start).next_back();
        before
            .filter(|(start, bytes)| piece_range(**start, bytes).end > range.start)
            .map_or(range.start, |p| *p.0)
    }

    pub(super) fn insert(&mut self, offset: u64, bytes: &Bytes) {
        let range = piece_range(offset, bytes);
        for gap in self.gaps(&range) {
            let part = |at: u64| usize::try_from(at.saturating_sub(offset)).unwrap_or(bytes.len());
            self.pieces
                .insert(gap.start, part_of(bytes, part(gap.start)..part(gap.end)));
        }
    }

    pub(super) fn remove(&mut self, range: &Range<u64>) {
        if range.is_empty() {
            return;
        }
        let first = self.first_touching(range);
        let touching: Vec<u64> = self
            .pieces
            .range(first..range.end)
            .map(|(start, _)| *start)
            .collect();
        for start in touching {
            let Some(bytes) = self.pieces.remove(&start) else {
                continue;
            };
            let piece = piece_range(start, &bytes);
            for kept in [piece.start..range.start, range.end..piece.end] {
                let part =
                    |at: u64| usize::try_from(at.saturating_sub(start)).unwrap_or(bytes.len());
                if kept.start < kept.end {
                    self.pieces.insert(
                        kept.start,
                        part_of(&bytes, part(kept.start)..part(kept.end)),
                    );
                }
            }
        }
    }

    /// The bytes of a range without gaps. What is copied is at most twice as long as the range.
    ///
    /// Pieces of which it is the larger part are made one, so that what lies in them is not joined again.
    fn join(&mut self, range: &Range<u64>) -> Bytes {
        let first = self.first_touching(range);
        let touching = || self.pieces.range(first..range.end);
        let part = |at: u64, start: u64, bytes: &Bytes| {
            usize::try_from(at.saturating_sub(start))
                .unwrap_or(bytes.len())
                .min(bytes.len())
        };
        let within = |start: u64, bytes: &Bytes| {
            bytes.slice(part(range.start, start, bytes)..part(range.end, start, bytes))
        };
        let mut pieces = touching();
        let (Some((start, bytes)), None) = (pieces.next(), pieces.next()) else {
            let whole =
                touching().fold(0, |sum: usize, (_, bytes)| sum.saturating_add(bytes.len()));
            let is_larger_part = as_u64(whole) <= range.length().saturating_mul(2);
            let mut joined = Vec::new();
            for (start, bytes) in touching() {
                match is_larger_part {
                    true => joined.extend_from_slice(bytes),
                    false => joined.extend_from_slice(&within(*start, bytes)),
                }
            }
            let joined = Bytes::from(joined);
            if !is_larger_part {
                return joined;
            }
            let keys: Vec<u64> = touching().map(|(start, _)| *start).collect();
            keys.iter().for_each(|key| drop(self.pieces.remove(key)));
            self.pieces.insert(first, joined.clone());
            return within(first, &joined);
        };
        within(*start, bytes)
    }
}

pub(super) fn piece_range(start: u64, bytes: &Bytes) -> Range<u64> {
    start..start.saturating_add(as_u64(bytes.len()))
}

/// A part of these bytes. A small one does not hold the memory of all.
fn part_of(bytes: &Bytes, range: Range<usize>) -> Bytes {
    let part = bytes.slice(range);
    if part.len() < bytes.len() / 2 {
        Bytes::copy_from_slice(&part)
    } else {
        part
    }
}
