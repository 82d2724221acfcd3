//! Snapshots in order, decoded ahead by several threads, in bounded memory.

use std::ops::{ControlFlow, Range};

use super::mesh::MeshBuffer;
use super::proxy::Proxy;
use crate::decode::Scratch;
use crate::report::Result;

impl Proxy {
    /// Calls `each` with the snapshots of a range, in order. They are decoded ahead of time.
    ///
    /// As many are decoded at a time as fit `capacity_bytes`, but at least one, and at most four for each thread of the
    /// caller's rayon pool (see [`Parallelism`](crate::Parallelism)). `each` is called on this thread; [`ControlFlow::Break`] ends playing. A
    /// snapshot that cannot be decoded is passed as its error, and the next ones follow. The result does not depend on the
    /// number of threads.
    pub fn play(
        &self,
        snapshots: Range<usize>,
        capacity_bytes: u64,
        mut each: impl FnMut(usize, Result<&MeshBuffer>) -> ControlFlow<()>,
    ) {
        #[cfg(feature = "rayon")]
        if self.options().parallelism == crate::options::Parallelism::Rayon {
            return ahead::play(self, snapshots, capacity_bytes, each);
        }
        let _ = capacity_bytes;
        let (mut mesh, mut scratch) = (MeshBuffer::default(), Scratch::default());
        for index in snapshots {
            let outcome =
                self.snapshot(index).and_then(|snapshot| snapshot.mesh_into(&mut mesh, &mut scratch));
            if each(index, outcome.map(|()| &mesh)).is_break() {
                return;
            }
        }
    }
}

/// Decoding ahead.
#[cfg(feature = "rayon")]
mod ahead {
    use std::ops::{ControlFlow, Range};
    use std::sync::{Arc, Mutex, PoisonError};

    use rayon::prelude::*;

    use crate::decode::Scratch;
    use crate::formats::cgeo::mesh::MeshBuffer;
    use crate::formats::cgeo::proxy::Proxy;
    use crate::limits::{Budget, Limits};
    use crate::report::Result;

    /// More at a time for each thread gains nothing, takes fresh memory, and delays the first one.
    const AHEAD_OF_EACH: usize = 4;
    const MOST_AHEAD: usize = 64;
    /// After so many times that all fitted, one more is tried.
    const PATIENCE: usize = 4;

    /// A snapshot that is decoded ahead.
    #[derive(Default)]
    struct Slot {
        mesh: MeshBuffer,
        /// `None` where it does not fit beside the others.
        outcome: Option<Result<()>>,
    }

    pub(super) fn play(
        proxy: &Proxy,
        snapshots: Range<usize>,
        capacity: u64,
        mut each: impl FnMut(usize, Result<&MeshBuffer>) -> ControlFlow<()>,
    ) {
        let mut slots: Vec<Slot> = Vec::new();
        let scratches = Mutex::new(Vec::new());
        let mut count = first_count(proxy, &snapshots, capacity);
        // As many as have been seen to fit, once some did not, and how often they have.
        let (mut most, mut times) = (usize::MAX, 0_usize);
        let mut next = snapshots.start;
        while next < snapshots.end {
            slots.resize_with(count.min(snapshots.end.saturating_sub(next)), Slot::default);
            decode(proxy, next, &mut slots, capacity, &scratches);
            let mut done = 0_usize;
            for (index, slot) in (next..).zip(&mut slots) {
                let Some(outcome) = slot.outcome.take() else { break };
                if each(index, outcome.map(|()| &slot.mesh)).is_break() {
                    return;
                }
                done = done.saturating_add(1);
            }
            next = next.saturating_add(done);
            if done < slots.len() {
                // The next one did not fit beside these, and was decoded for nothing.
                (most, times) = (done.max(1), 0);
            } else {
                times = times.saturating_add(1);
                most = most.saturating_add(usize::from(times.is_multiple_of(PATIENCE)));
            }
            let largest = slots.iter().map(|slot| slot.mesh.memory()).max().unwrap_or(0);
            count = count.saturating_mul(2).min(most_ahead(capacity, largest)).min(most);
        }
    }

    /// Decodes as many snapshots as there are slots, from `first` on: one in any case, several as far as they fit.
    fn decode(
        proxy: &Proxy,
        first: usize,
        slots: &mut [Slot],
        capacity: u64,
        scratches: &Mutex<Vec<Scratch>>,
    ) {
        let limits = proxy.options().limits;
        if let [slot] = slots {
            return fill(proxy, first, slot, &Budget::new(&limits), scratches);
        }
        let own = Limits::default().with_max_block_bytes(u64::MAX).with_max_total_bytes(capacity);
        let shared = Arc::new(Budget::new(&own.with_free_ratio(0)));
        let kept = slots.iter().fold(0, |sum: u64, slot| sum.saturating_add(slot.mesh.memory()));
        if !shared.try_spend(kept) {
            // Smaller meshes take the place of larger ones.
            slots.iter_mut().for_each(|slot| slot.mesh = MeshBuffer::default());
        }
        slots.par_iter_mut().enumerate().for_each(|(index, slot)| {
            let budget = Budget::sharing(&limits, &shared, slot.mesh.memory());
            fill(proxy, first.saturating_add(index), slot, &budget, scratches);
            if budget.is_refused() {
                *slot = Slot::default();
            }
        });
    }

    fn fill(proxy: &Proxy, index: usize, slot: &mut Slot, budget: &Budget, scratches: &Mutex<Vec<Scratch>>) {
        let lock = || scratches.lock().unwrap_or_else(PoisonError::into_inner);
        let mut scratch = lock().pop().unwrap_or_default();
        let outcome = proxy
            .snapshot(index)
            .and_then(|snapshot| snapshot.mesh_into_within(budget, &mut slot.mesh, &mut scratch));
        lock().push(scratch);
        slot.outcome = Some(outcome.map(drop));
    }

    /// How many snapshots may fit, by the size of the first one of the file and of the second of the range.
    fn first_count(proxy: &Proxy, snapshots: &Range<usize>, capacity: u64) -> usize {
        // Without the first snapshot only complete ones can be read, one at a time.
        let Ok(base) = proxy.base() else { return 1 };
        let second = proxy.snapshot(snapshots.start.saturating_add(1).min(snapshots.end.saturating_sub(1)));
        let is_complete = second.and_then(|snapshot| snapshot.is_complete()).unwrap_or(true);
        let size = if is_complete { base.memory() } else { base.arrays_size() };
        most_ahead(capacity, size)
    }

    /// How many snapshots of a size to decode at a time.
    fn most_ahead(capacity: u64, size: u64) -> usize {
        let fits = capacity.checked_div(size).and_then(|fits| usize::try_from(fits).ok());
        let most = rayon::current_num_threads().saturating_mul(AHEAD_OF_EACH).min(MOST_AHEAD);
        fits.unwrap_or(most).clamp(1, most)
    }
}
