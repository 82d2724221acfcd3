use std::sync::atomic::{AtomicU64, Ordering};

use super::settings::Limits;

/// The decoded data that a file object caches: at most what a call may hold that reads the whole file.
#[derive(Debug)]
pub(crate) struct Kept {
    most: u64,
    bytes: AtomicU64,
}

impl Kept {
    /// Makes an empty cache count for a file of `file` bytes.
    pub(crate) fn new(limits: &Limits, file: u64) -> Self {
        Self { most: limits.total(file), bytes: AtomicU64::new(0) }
    }

    /// Returns `true` if another `bytes` bytes may be cached.
    #[cfg(feature = "rayon")]
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        self.bytes.load(Ordering::Relaxed).saturating_add(bytes) <= self.most
    }

    /// Returns `true` if another `bytes` bytes may be cached, and counts them.
    pub(crate) fn admits(&self, bytes: u64) -> bool {
        let kept = |kept: u64| kept.checked_add(bytes).filter(|kept| *kept <= self.most);
        self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, kept).is_ok()
    }

    /// Gives back bytes that are no longer kept.
    pub(crate) fn give_back(&self, bytes: u64) {
        give_back(&self.bytes, bytes);
    }
}

/// Subtracts bytes from a count, which stays at 0 at least.
pub(super) fn give_back(held: &AtomicU64, bytes: u64) {
    let _ = held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| Some(held.saturating_sub(bytes)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_objects_keep_no_more_than_the_total() {
        let kept = Kept::new(&Limits::default().with_max_total_bytes(100), 2);
        assert!(kept.admits(60) && !kept.admits(41) && kept.admits(40) && !kept.admits(1));
        kept.give_back(10);
        assert!(kept.admits(10) && !kept.admits(1));
    }

    #[test]
    #[cfg(feature = "rayon")]
    fn room_is_what_may_still_be_kept() {
        let kept = Kept::new(&Limits::default().with_max_total_bytes(100), 2);
        assert!(kept.has_room(100) && !kept.has_room(101));
        assert!(kept.admits(60) && kept.has_room(40) && !kept.has_room(41) && !kept.has_room(u64::MAX));
    }
}
