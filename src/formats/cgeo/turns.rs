//! The turns of snapshots that are played, and the memory for them.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::mesh::MeshBuffer;

/// The indices of the snapshots, in the order in which they are played.
#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) range: Range<usize>,
    pub(super) stride: usize,
    pub(super) is_backwards: bool,
}

impl Order {
    pub(super) fn len(&self) -> usize {
        self.range.len().div_ceil(self.stride)
    }

    /// The index of the snapshot that is played after `turn` others.
    pub(super) fn at(&self, turn: usize) -> usize {
        let distance = turn.saturating_mul(self.stride);
        if self.is_backwards {
            self.range.end.saturating_sub(1).saturating_sub(distance)
        } else {
            self.range.start.saturating_add(distance)
        }
    }
}

/// Memory for a snapshot.
#[derive(Default)]
pub(super) struct Slot {
    pub(super) mesh: MeshBuffer,
    /// The bytes that are counted for it.
    #[cfg(feature = "rayon")]
    pub(super) held: u64,
}

/// Memory of snapshots that have been played.
#[derive(Clone, Default)]
pub(super) struct Free(Arc<Mutex<Vec<Slot>>>);

impl Free {
    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
