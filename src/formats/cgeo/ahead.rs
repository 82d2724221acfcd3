//! Snapshots in order, which the threads of a pool decode ahead, in bounded memory.

use std::collections::VecDeque;
use std::ops::{ControlFlow, Range};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::mesh::MeshBuffer;
use super::proxy::Proxy;
use crate::decode::{Scratch, may_wait_for};
use crate::limits::{Budget, Limits};
use crate::report::Result;

/// Snapshots for each thread. More gain nothing and take fresh memory.
const AHEAD_OF_EACH: usize = 2;

/// What came of decoding a snapshot: its error, or the panic of a reader.
type Outcome = std::thread::Result<Result<()>>;

/// Plays snapshots as [`Proxy::play`] says.
pub(super) fn play(
    proxy: &Proxy,
    snapshots: Range<usize>,
    capacity: u64,
    mut each: impl FnMut(usize, Result<&MeshBuffer>) -> ControlFlow<()>,
) {
    let ahead = Ahead::new(proxy, capacity);
    let threads = if ahead.others == 0 { 0 } else { rayon::current_num_threads() };
    let mut player = Player {
        left: snapshots.clone(),
        most: threads.saturating_mul(AHEAD_OF_EACH).max(1),
        size: first_size(proxy, &snapshots),
        free: Vec::new(),
        scratch: Scratch::default(),
        ahead,
    };
    for index in snapshots {
        let (slot, outcome) = player.next(index);
        let outcome = outcome.unwrap_or_else(|payload| resume_unwind(payload));
        if outcome.is_ok() {
            player.size = Some(slot.held);
        }
        if each(index, outcome.map(|()| &slot.mesh)).is_break() {
            return;
        }
        player.free.push(slot);
    }
}

/// What the thread that plays knows.
struct Player {
    ahead: Arc<Ahead>,
    /// Snapshots that have not been added yet.
    left: Range<usize>,
    /// How many may be decoded ahead.
    most: usize,
    /// About how many bytes the next one takes, if that is known.
    size: Option<u64>,
    /// Memory of those that have been played.
    free: Vec<Slot>,
    scratch: Scratch,
}

impl Player {
    /// Decodes the next snapshot, and lets threads decode those that come after it.
    fn next(&mut self, index: usize) -> (Slot, Outcome) {
        let mut slots = self.slots(index);
        if self.left.start == index && slots.len() < 2 {
            return self.alone(index, slots.pop().unwrap_or_default());
        }
        for slot in slots {
            let Some(index) = self.left.next() else { break };
            self.ahead.add(index, slot);
        }
        let slot = match self.ahead.take(index, &mut self.scratch) {
            (slot, Some(outcome)) => return (slot, outcome),
            (slot, None) => slot,
        };
        self.free.drain(..).for_each(|slot| self.ahead.release(slot));
        let slot = match self.ahead.decode(index, slot, &mut self.scratch) {
            (slot, Some(outcome)) => return (slot, outcome),
            (slot, None) => slot,
        };
        // Nothing fits beside it. What comes after it is decoded once more.
        self.ahead.clear();
        self.alone(index, slot)
    }

    /// Memory for as many snapshots as may be added now.
    fn slots(&mut self, index: usize) -> Vec<Slot> {
        let begun = self.left.start.saturating_sub(index);
        let wanted = self.most.saturating_sub(begun).min(self.left.len());
        let slot = |_| self.free.pop().or_else(|| self.ahead.slot(self.size?));
        (0..wanted).map_while(slot).collect()
    }

    /// Decodes a snapshot which none is decoded ahead of.
    fn alone(&mut self, index: usize, slot: Slot) -> (Slot, Outcome) {
        self.left.start = index.saturating_add(1);
        self.ahead.decode_alone(index, slot, &mut self.scratch)
    }
}

impl Drop for Player {
    /// Leaves nothing to threads that come when playing has ended, in whatever way.
    fn drop(&mut self) {
        self.ahead.clear();
    }
}

/// About how many bytes a snapshot takes, where the second one of the range is a difference from the first one of the file:
/// as many as the arrays of that one. Of complete ones nothing is known, and the first one of the file may not be needed.
fn first_size(proxy: &Proxy, snapshots: &Range<usize>) -> Option<u64> {
    let second = snapshots.clone().nth(1)?;
    let is_complete = proxy.snapshot(second).and_then(|snapshot| snapshot.is_complete()).ok()?;
    if is_complete { None } else { proxy.base().ok().map(|base| base.arrays_size()) }
}

/// Snapshots that are decoded ahead of the thread that plays them.
///
/// That thread waits only for what another one is decoding, which waits for nothing that began before it. What no thread has
/// begun it decodes itself. A worker does other work of its pool meanwhile where the snapshots come from a reader of the
/// caller's, which may need that worker.
struct Ahead {
    proxy: Proxy,
    limits: Limits,
    /// What all slots hold.
    held: Arc<Budget>,
    /// Threads that may be asked for help.
    others: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Snapshots that no thread has begun, in order.
    waiting: VecDeque<(usize, Slot)>,
    /// Without an outcome where it does not fit beside what others hold.
    decoded: Vec<(usize, Slot, Option<Outcome>)>,
    /// Threads that have been asked for help and have not ended.
    asked: usize,
    /// Snapshots that threads which help are decoding.
    running: usize,
    scratches: Vec<Scratch>,
}

/// Memory for a snapshot.
#[derive(Default)]
struct Slot {
    mesh: MeshBuffer,
    /// What is counted for it.
    held: u64,
}

impl Ahead {
    fn new(proxy: &Proxy, capacity: u64) -> Arc<Self> {
        let limits = Limits::default().with_max_block_bytes(u64::MAX).with_max_total_bytes(capacity);
        let is_worker = rayon::current_thread_index().is_some();
        Arc::new(Self {
            proxy: proxy.clone(),
            limits: proxy.options().limits,
            held: Arc::new(Budget::new(&limits.with_free_ratio(0))),
            others: rayon::current_num_threads().saturating_sub(is_worker.into()),
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Room for a snapshot of about this size, where there is any.
    fn slot(&self, size: u64) -> Option<Slot> {
        self.held.try_spend(size).then(|| Slot { mesh: MeshBuffer::default(), held: size })
    }

    /// Gives its memory back.
    fn release(&self, slot: Slot) {
        self.held.give_back(slot.held);
    }

    /// Lets a thread decode a snapshot.
    fn add(self: &Arc<Self>, index: usize, slot: Slot) {
        let mut state = self.state();
        state.waiting.push_back((index, slot));
        if state.asked < self.others {
            state.asked = state.asked.saturating_add(1);
            let this = Arc::clone(self);
            rayon::spawn(move || this.help());
        }
    }

    /// Decodes snapshots as long as there are some to begin.
    fn help(&self) {
        let mut state = self.state();
        let mut scratch = state.scratches.pop().unwrap_or_default();
        while let Some((index, slot)) = state.waiting.pop_front() {
            state.running = state.running.saturating_add(1);
            drop(state);
            let (slot, outcome) = self.decode(index, slot, &mut scratch);
            state = self.state();
            state.running = state.running.saturating_sub(1);
            state.decoded.push((index, slot, outcome));
            self.changed.notify_all();
        }
        state.scratches.push(scratch);
        state.asked = state.asked.saturating_sub(1);
    }

    /// Takes a snapshot that was added. Decodes others as long as it is not decoded.
    fn take(&self, index: usize, scratch: &mut Scratch) -> (Slot, Option<Outcome>) {
        let mut state = self.state();
        loop {
            if let Some(place) = state.decoded.iter().position(|(found, ..)| *found == index) {
                let (_, slot, outcome) = state.decoded.swap_remove(place);
                return (slot, outcome);
            }
            if let Some((found, slot)) = state.waiting.pop_front() {
                drop(state);
                let (slot, outcome) = self.decode(found, slot, scratch);
                state = self.state();
                state.decoded.push((found, slot, outcome));
            } else {
                state = self.wait(state);
            }
        }
    }

    /// Waits until another thread has decoded a snapshot, or less long.
    fn wait<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        /// How often to look for work of the pool.
        const PAUSE: Duration = Duration::from_micros(100);
        if may_wait_for(self.proxy.source()) {
            return self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        if rayon::yield_now() == Some(rayon::Yield::Executed) {
            return self.state();
        }
        self.changed.wait_timeout(self.state(), PAUSE).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Decodes a snapshot, if it fits beside what others hold.
    fn decode(&self, index: usize, slot: Slot, scratch: &mut Scratch) -> (Slot, Option<Outcome>) {
        let budget = Budget::sharing(&self.limits, &self.held, slot.held);
        let (mut mesh, outcome) = self.decode_within(&budget, index, slot.mesh, scratch);
        let is_refused = budget.is_refused();
        if is_refused {
            mesh = MeshBuffer::default();
        }
        let held = mesh.memory();
        self.held.replace(budget.counted(), held);
        (Slot { mesh, held }, (!is_refused).then_some(outcome))
    }

    /// Decodes a snapshot whether it fits or not. Threads that are idle help.
    fn decode_alone(&self, index: usize, slot: Slot, scratch: &mut Scratch) -> (Slot, Outcome) {
        let (mesh, outcome) = self.decode_within(&Budget::new(&self.limits), index, slot.mesh, scratch);
        let held = mesh.memory();
        self.held.replace(slot.held, held);
        (Slot { mesh, held }, outcome)
    }

    fn decode_within(
        &self,
        budget: &Budget,
        index: usize,
        mut mesh: MeshBuffer,
        scratch: &mut Scratch,
    ) -> (MeshBuffer, Outcome) {
        let decode = || {
            let snapshot = self.proxy.snapshot(index)?;
            if snapshot.copy_first(budget, &mut mesh) {
                return Ok(());
            }
            snapshot.mesh_into_within(budget, &mut mesh, scratch).map(drop)
        };
        // A reader that panics must not leave the thread that plays waiting.
        let outcome = catch_unwind(AssertUnwindSafe(decode));
        (mesh, outcome)
    }

    /// Drops what is decoded ahead, or is to be.
    fn clear(&self) {
        let mut state = self.state();
        let waiting = std::mem::take(&mut state.waiting);
        while state.running > 0 {
            state = self.wait(state);
        }
        let decoded = std::mem::take(&mut state.decoded).into_iter().map(|(_, slot, _)| slot);
        waiting.into_iter().map(|(_, slot)| slot).chain(decoded).for_each(|slot| self.release(slot));
    }
}
