use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::budget::Budget;

/// A call's share of what several calls may hold together.
#[derive(Debug)]
pub(super) struct Share {
    all: Arc<Budget>,
    /// The bytes that `all` counts for this call.
    counted: AtomicU64,
    /// The part of `counted` that the call may still use.
    credit: AtomicU64,
    is_refused: AtomicBool,
}

impl Share {
    #[cfg(feature = "rayon")]
    pub(super) fn new(all: &Arc<Budget>, counted: u64) -> Self {
        let [counted, credit] = [counted; 2].map(AtomicU64::new);
        Self { all: Arc::clone(all), counted, credit, is_refused: AtomicBool::new(false) }
    }

    #[cfg(feature = "rayon")]
    pub(super) fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed)
    }

    #[cfg(feature = "rayon")]
    pub(super) fn counted(&self) -> u64 {
        self.counted.load(Ordering::Relaxed)
    }

    pub(super) fn give_back(&self, bytes: u64) {
        self.credit.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn try_spend(&self, bytes: u64) -> bool {
        let credit = self.credit.swap(0, Ordering::Relaxed);
        let more = bytes.saturating_sub(credit);
        let is_granted = self.all.try_spend(more);
        if is_granted {
            self.counted.fetch_add(more, Ordering::Relaxed);
            self.credit.fetch_add(credit.saturating_sub(bytes), Ordering::Relaxed);
        } else {
            self.is_refused.store(true, Ordering::Relaxed);
        }
        is_granted
    }
}
