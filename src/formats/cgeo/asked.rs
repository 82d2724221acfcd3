//! Snapshots whose bytes have been asked for before they are played.

use std::collections::VecDeque;

use super::parts::Parts;
use super::proxy::Proxy;
use super::turns::Order;
use crate::num::Span;

/// The snapshots that the system has been asked to read ahead: up to [`AHEAD`] bytes, but at least the next snapshot.
pub(super) struct Asked {
    /// The next turn to ask for.
    next: usize,
    /// The bytes of each snapshot that was asked for and has not been played, and of all of them.
    lengths: VecDeque<u64>,
    bytes: u64,
}

/// Enough to keep a disk busy while a snapshot is decoded, and little memory.
const AHEAD: u64 = 16 << 20;

impl Asked {
    pub(super) fn new() -> Self {
        Self { next: 0, lengths: VecDeque::new(), bytes: 0 }
    }

    /// Asks for what comes after this turn, which is played now.
    pub(super) fn play(&mut self, turn: usize, proxy: &Proxy, order: &Order, parts: Parts) {
        let after = turn.saturating_add(1);
        self.next = self.next.max(after);
        while self.lengths.len() > self.next.saturating_sub(after) {
            let played = self.lengths.pop_front().unwrap_or(0);
            self.bytes = self.bytes.saturating_sub(played);
        }
        while self.next < order.len() && (self.lengths.is_empty() || self.bytes < AHEAD) {
            // Before a snapshot has been decoded, nothing is known of how much of the others is needed.
            let Ok(snapshot) = proxy.snapshot(order.at(self.next)) else { return };
            let Some(ranges) = snapshot.likely_ranges(parts, proxy.source().is_file()) else { return };
            let length = ranges.iter().map(Span::length).fold(0, u64::saturating_add);
            self.bytes = self.bytes.saturating_add(length);
            self.lengths.push_back(length);
            self.next = self.next.saturating_add(1);
            for range in ranges.into_iter().filter(|range| !range.is_empty()) {
                proxy.source().will_read(range);
            }
        }
    }
}
