//! Snapshots in order, decoded ahead by several threads, in bounded memory.

use std::ops::{ControlFlow, Range};

use super::mesh::MeshBuffer;
use super::proxy::Proxy;
use crate::decode::Scratch;
use crate::num::as_u64;
use crate::report::Result;

/// A snapshot that is decoded ahead.
#[derive(Default)]
struct Slot {
    mesh: MeshBuffer,
    scratch: Scratch,
    outcome: Option<Result<()>>,
}

impl Proxy {
    /// Calls `each` with the snapshots of a range, in order. Each is decoded once, ahead of time.
    ///
    /// As many are decoded at a time as fit `capacity_bytes`, but at least one, in the caller's rayon pool (see
    /// [`Parallelism`](crate::Parallelism)). `each` is called on this thread; [`ControlFlow::Break`] ends playing. A
    /// snapshot that cannot be decoded is passed as its error, and the next ones follow. The result does not depend on the
    /// number of threads.
    pub fn play(
        &self,
        snapshots: Range<usize>,
        capacity_bytes: u64,
        mut each: impl FnMut(usize, Result<&MeshBuffer>) -> ControlFlow<()>,
    ) {
        let mut slots: Vec<Slot> = Vec::new();
        slots.resize_with(self.ahead(&snapshots, capacity_bytes), Slot::default);
        let mut next = snapshots.start;
        while next < snapshots.end {
            let count = slots.len().min(snapshots.end.saturating_sub(next));
            let batch = slots.get_mut(..count).unwrap_or_default();
            self.decode(next, batch);
            for (index, slot) in (next..).zip(batch) {
                let mesh = slot.outcome.take().unwrap_or(Ok(())).map(|()| &slot.mesh);
                if each(index, mesh).is_break() {
                    return;
                }
            }
            next = next.saturating_add(count);
        }
    }

    /// Decodes as many snapshots as there are slots, from `first` on.
    fn decode(&self, first: usize, slots: &mut [Slot]) {
        let decode = |index: usize, slot: &mut Slot| {
            let outcome = self
                .snapshot(index)
                .and_then(|snapshot| snapshot.mesh_into(&mut slot.mesh, &mut slot.scratch));
            slot.outcome = Some(outcome);
        };
        #[cfg(feature = "rayon")]
        if self.options().parallelism == crate::options::Parallelism::Rayon && slots.len() > 1 {
            use rayon::prelude::*;
            slots.par_iter_mut().enumerate().for_each(|(i, slot)| decode(first.saturating_add(i), slot));
            return;
        }
        (first..).zip(slots).for_each(|(index, slot)| decode(index, slot));
    }

    /// How many snapshots the capacity holds, by the size of the first one and of the one after it.
    fn ahead(&self, snapshots: &Range<usize>, capacity_bytes: u64) -> usize {
        /// More at a time gains nothing on any machine, and delays the first one.
        const MAX_AHEAD: u64 = 64;
        // Without the first snapshot only complete ones can be read, one at a time.
        let Ok(base) = self.base() else { return 1 };
        let second = self.snapshot(snapshots.start.saturating_add(1).min(snapshots.end.saturating_sub(1)));
        let is_complete = second.and_then(|snapshot| snapshot.is_complete()).unwrap_or(true);
        let triangles = if is_complete { as_u64(base.triangles.as_bytes().len()) } else { 0 };
        let size = base.arrays_size().saturating_add(triangles);
        let fits = capacity_bytes.checked_div(size).unwrap_or(MAX_AHEAD);
        usize::try_from(fits.clamp(1, MAX_AHEAD)).unwrap_or(1)
    }
}
