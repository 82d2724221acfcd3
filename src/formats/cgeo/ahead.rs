//! Snapshots in order, which the threads of a pool decode ahead, in bounded memory.

use std::collections::VecDeque;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rayon::ThreadPool;

use super::mesh::MeshBuffer;
use super::parts::Parts;
use super::proxy::Proxy;
use super::turns::{Free, Order, Slot};
use crate::decode::{Scratch, may_wait_for, wait_at_work};
use crate::limits::{Budget, Limits};
use crate::report::Result;

/// Snapshots for each thread. More gain nothing and take fresh memory.
const AHEAD_OF_EACH: usize = 2;

/// The outcome of decoding a snapshot: its error, or the panic of a reader.
type Outcome = std::thread::Result<Result<()>>;

/// The snapshots that are played, as the thread that plays them knows them. A snapshot is named by its turn.
pub(super) struct Queue<'a> {
    ahead: Arc<Ahead>,
    pool: Option<&'a ThreadPool>,
    /// Turns that have not been added yet.
    left: Range<usize>,
    /// The maximum number of snapshots that may be decoded ahead.
    most: usize,
    /// About how many bytes the next one takes, if that is known.
    size: Option<u64>,
    /// Memory of snapshots that have been played.
    free: Free,
}

impl<'a> Queue<'a> {
    pub(super) fn new(
        proxy: &Proxy,
        order: Order,
        parts: Parts,
        capacity: u64,
        pool: Option<&'a ThreadPool>,
        free: Free,
    ) -> Self {
        let threads = pool.map_or_else(rayon::current_num_threads, ThreadPool::current_num_threads);
        let worker = pool.map_or_else(rayon::current_thread_index, ThreadPool::current_thread_index);
        let others = threads.saturating_sub(worker.is_some().into());
        let threads = if others == 0 { 0 } else { threads };
        let left = 0..order.len();
        let size = first_size(proxy, &order, parts);
        let ahead = Ahead::new(proxy, order, parts, capacity, others);
        Self { ahead, pool, left, most: threads.saturating_mul(AHEAD_OF_EACH).max(1), size, free }
    }

    /// Returns the snapshot of this turn, which is the next one to be played. Threads go on with the snapshots after it.
    pub(super) fn next(&mut self, turn: usize, scratch: &mut Scratch) -> (Slot, Result<()>) {
        let (slot, outcome) = self.decoded(turn, scratch);
        let outcome = outcome.unwrap_or_else(|payload| resume_unwind(payload));
        if outcome.is_ok() {
            self.size = Some(slot.held);
        }
        (slot, outcome)
    }

    /// Decodes the next snapshot, and lets threads decode the following ones.
    fn decoded(&mut self, turn: usize, scratch: &mut Scratch) -> (Slot, Outcome) {
        let mut slots = self.slots(turn);
        if self.left.start == turn && slots.len() < 2 {
            return self.alone(turn, slots.pop().unwrap_or_default(), scratch);
        }
        for slot in slots {
            let Some(turn) = self.left.next() else { break };
            self.ahead.add(turn, slot, self.pool);
        }
        let slot = match self.ahead.take(turn, scratch) {
            (slot, Some(outcome)) => return (slot, outcome),
            (slot, None) => slot,
        };
        self.free.lock().drain(..).for_each(|slot| self.ahead.release(slot));
        let slot = match self.ahead.decode(turn, slot, scratch) {
            (slot, Some(outcome)) => return (slot, outcome),
            (slot, None) => slot,
        };
        // Nothing fits next to it. What comes after it is decoded once more.
        self.ahead.clear();
        self.alone(turn, slot, scratch)
    }

    /// Memory for as many snapshots as may be added now.
    fn slots(&mut self, turn: usize) -> Vec<Slot> {
        let begun = self.left.start.saturating_sub(turn);
        let wanted = self.most.saturating_sub(begun).min(self.left.len());
        let mut free = self.free.lock();
        let slot = |_| free.pop().or_else(|| self.ahead.slot(self.size?));
        (0..wanted).map_while(slot).collect()
    }

    /// Decodes a snapshot which none is decoded ahead of.
    fn alone(&mut self, turn: usize, slot: Slot, scratch: &mut Scratch) -> (Slot, Outcome) {
        self.left.start = turn.saturating_add(1);
        self.ahead.decode_alone(turn, slot, scratch)
    }
}

impl Drop for Queue<'_> {
    /// Leaves nothing to threads that come when playing has ended, in whatever way.
    fn drop(&mut self) {
        self.ahead.clear();
    }
}

/// Returns the approximate size of a snapshot in bytes, if the second one that is played is a difference from the first one of the
/// file: the size of the arrays of the first snapshot. The size of complete snapshots is unknown, and the first one of the file may
/// not be needed.
fn first_size(proxy: &Proxy, order: &Order, parts: Parts) -> Option<u64> {
    let second = (order.len() > 1).then(|| order.at(1))?;
    let is_complete = proxy.snapshot(second).and_then(|snapshot| snapshot.is_complete()).ok()?;
    let base = || proxy.base_within(parts, &Budget::new(&proxy.options().limits)).ok();
    if is_complete { None } else { base().map(|base| base.mesh().size_of(parts)) }
}

/// Snapshots that are decoded ahead of the thread that plays them.
///
/// That thread waits only for what another one is decoding, which waits for nothing that began before it. What no thread has
/// begun it decodes itself. A worker does other work of its pool meanwhile where the snapshots come from a reader of the
/// caller's, which may need that worker.
struct Ahead {
    proxy: Proxy,
    order: Order,
    parts: Parts,
    limits: Limits,
    /// The budget of everything that all slots hold.
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
    /// The decoded snapshots; without an outcome if the snapshot does not fit next to what others hold.
    decoded: Vec<(usize, Slot, Option<Outcome>)>,
    /// Threads that have been asked for help and have not ended.
    asked: usize,
    /// Snapshots that threads which help are decoding.
    running: usize,
    scratches: Vec<Scratch>,
}

impl Ahead {
    fn new(proxy: &Proxy, order: Order, parts: Parts, capacity: u64, others: usize) -> Arc<Self> {
        let limits = Limits::default().with_max_block_bytes(u64::MAX).with_max_total_bytes(capacity);
        Arc::new(Self {
            proxy: proxy.clone(),
            order,
            parts,
            limits: proxy.options().limits,
            held: Arc::new(Budget::new(&limits.with_free_ratio(0))),
            others,
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a slot for a snapshot of about this size, if one fits.
    fn slot(&self, size: u64) -> Option<Slot> {
        self.held.try_spend(size).then(|| Slot { mesh: MeshBuffer::default(), held: size })
    }

    /// Gives its memory back.
    fn release(&self, slot: Slot) {
        self.held.give_back(slot.held);
    }

    /// Lets a thread decode a snapshot.
    fn add(self: &Arc<Self>, turn: usize, slot: Slot, pool: Option<&ThreadPool>) {
        let mut state = self.state();
        state.waiting.push_back((turn, slot));
        if state.asked < self.others {
            state.asked = state.asked.saturating_add(1);
            let this = Arc::clone(self);
            let help = move || this.help();
            match pool {
                Some(pool) => pool.spawn(help),
                None => rayon::spawn(help),
            }
        }
    }

    /// Decodes snapshots as long as there are some to begin, and lets other jobs of the pool run between them.
    fn help(&self) {
        let mut state = self.state();
        let mut scratch = state.scratches.pop().unwrap_or_default();
        while let Some((turn, slot)) = state.waiting.pop_front() {
            state.running = state.running.saturating_add(1);
            drop(state);
            let (slot, outcome) = self.decode(turn, slot, &mut scratch);
            state = self.state();
            state.running = state.running.saturating_sub(1);
            state.decoded.push((turn, slot, outcome));
            self.changed.notify_all();
            drop(state);
            while rayon::yield_now() == Some(rayon::Yield::Executed) {}
            state = self.state();
        }
        state.scratches.push(scratch);
        state.asked = state.asked.saturating_sub(1);
    }

    /// Takes a snapshot that was added. Decodes others as long as it is not decoded.
    fn take(&self, turn: usize, scratch: &mut Scratch) -> (Slot, Option<Outcome>) {
        let mut state = self.state();
        loop {
            if let Some(place) = state.decoded.iter().position(|(found, ..)| *found == turn) {
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
        if may_wait_for(self.proxy.source()) {
            return self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        wait_at_work(&self.state, &self.changed)
    }

    /// Decodes a snapshot, if it fits next to what others hold.
    fn decode(&self, turn: usize, slot: Slot, scratch: &mut Scratch) -> (Slot, Option<Outcome>) {
        let budget = Budget::sharing(&self.limits, &self.held, slot.held);
        let (mut mesh, outcome) = self.decode_within(&budget, turn, slot.mesh, scratch);
        let is_refused = budget.is_refused();
        if is_refused {
            mesh = MeshBuffer::default();
        }
        let held = mesh.memory();
        self.held.replace(budget.counted(), held);
        (Slot { mesh, held }, (!is_refused).then_some(outcome))
    }

    /// Decodes a snapshot whether it fits or not. Threads that are idle help.
    fn decode_alone(&self, turn: usize, slot: Slot, scratch: &mut Scratch) -> (Slot, Outcome) {
        let (mesh, outcome) = self.decode_within(&Budget::new(&self.limits), turn, slot.mesh, scratch);
        let held = mesh.memory();
        self.held.replace(slot.held, held);
        (Slot { mesh, held }, outcome)
    }

    fn decode_within(
        &self,
        budget: &Budget,
        turn: usize,
        mut mesh: MeshBuffer,
        scratch: &mut Scratch,
    ) -> (MeshBuffer, Outcome) {
        let decode = || {
            let snapshot = self.proxy.snapshot(self.order.at(turn))?;
            if snapshot.copy_first(self.parts, budget, &mut mesh) {
                return Ok(());
            }
            snapshot.mesh_into_within(self.parts, budget, &mut mesh, scratch).map(drop)
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
