//! The parts of a stream that are decoded ahead, and the threads that do it.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::credit::Credit;
use super::finder::find;
use super::part::{Control, DecodedPart, Marked, Memory, Piece};
use crate::bits::Position;
use crate::decoder::Deflate;

/// The input of a stream, owned by several threads.
pub(crate) type Shared = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A part is not begun further than this from the one before it, in bytes of the input.
const FURTHEST: usize = 2 << 20;

/// The number of bytes of the input after which the thread in front checks again for work for other threads.
const OFTEN: usize = 16 << 10;

/// Parts of a stream, which other threads decode while one decodes from its beginning.
///
/// Only the thread in front waits, and only for a part that another one is decoding, which waits for nothing. What no thread
/// has begun is never waited for.
pub(super) struct Queue {
    input: Shared,
    /// The number of threads, including the one in front.
    threads: usize,
    /// The memory that pieces may take, in bytes.
    most: u64,
    /// A part is not begun nearer than this to the one before it, in bytes of the input.
    nearest: usize,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    is_closed: bool,
    /// In the order of the input.
    parts: VecDeque<Entry>,
    /// The last known position of the thread in front.
    front: usize,
    /// The last position in the input at which a part may begin.
    end: usize,
    /// From where on no part was found.
    nothing_from: usize,
    /// Threads that have been asked to help and have not ended.
    asked: usize,
    /// Threads that are helping.
    helping: usize,
    /// Memory of all pieces.
    held: u64,
    spare: Spare,
    credit: Credit,
}

/// Memory that is not in use.
#[derive(Default)]
pub(crate) struct Spare {
    decoders: Vec<Deflate>,
    marked: Vec<Vec<Marked>>,
    known: Vec<Vec<u8>>,
}

struct Entry {
    control: Arc<Control>,
    /// The position from which it is searched for.
    from: usize,
    /// The start of the part.
    start: Option<Position>,
    /// The outcome, once it is known.
    part: Option<Option<DecodedPart>>,
}

/// A part that is to be decoded.
struct Task {
    control: Arc<Control>,
    from: usize,
    until: usize,
    /// The time that this may take.
    lent: Duration,
}

impl Queue {
    pub(super) fn new(
        input: Shared,
        (most, nearest): (u64, usize),
        front: usize,
        spare: Spare,
        credit: Credit,
    ) -> Arc<Self> {
        let threads = rayon::current_num_threads();
        let state = State {
            is_closed: false,
            parts: VecDeque::new(),
            front,
            end: (*input).as_ref().len(),
            nothing_from: usize::MAX,
            asked: 0,
            helping: 0,
            held: spare.size(),
            spare,
            credit,
        };
        Arc::new(Self {
            input,
            threads,
            most,
            nearest,
            state: Mutex::new(state),
            changed: Condvar::new(),
        })
    }

    fn input(&self) -> &[u8] {
        (*self.input).as_ref()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn is_closed(&self) -> bool {
        self.state().is_closed
    }

    /// Asks as many threads to help as there is work for. They come when they have nothing else to do, or never.
    pub(super) fn ask(self: &Arc<Self>, front: usize, end: usize) {
        let mut state = self.state();
        (state.front, state.end) = (front, end.min(self.input().len()));
        while state.asked < self.threads.saturating_sub(1) && self.next(&state).is_some() {
            state.asked = state.asked.saturating_add(1);
            let queue = Arc::clone(self);
            rayon::spawn(move || queue.help());
        }
    }

    /// Returns the position at which the thread in front, which is at this byte, has to check for the next part, or ask for help.
    pub(super) fn stop(&self, front: usize) -> Position {
        let often = Position {
            byte: front.saturating_add(OFTEN),
            bit: 0,
        };
        let state = self.state();
        let Some(next) = state.parts.front() else {
            return often;
        };
        let searched_from = Position {
            byte: next.from,
            bit: 0,
        };
        next.start.unwrap_or(searched_from).min(often)
    }

    /// Records that the thread in front has decoded `bytes` bytes of the input in this time.
    pub(super) fn decoded(&self, bytes: usize, time: Duration) {
        self.state().credit.decoded(bytes, time);
    }

    /// Returns the part that begins here, if there is one. Parts that the thread in front has passed are dropped.
    pub(super) fn part(&self, position: Position) -> Option<DecodedPart> {
        let mut state = self.state();
        state.front = position.byte;
        loop {
            let first = state.parts.front_mut()?;
            let is_ahead = match first.start {
                Some(start) => start > position,
                None => first.from > position.byte,
            };
            if is_ahead {
                return None;
            }
            if first.start != Some(position) {
                first.control.is_dropped.store(true, Ordering::Relaxed);
                let dropped = state.parts.pop_front();
                state.drop_part(dropped.and_then(|entry| entry.part).flatten());
                continue;
            }
            if let Some(part) = first.part.take() {
                state.parts.pop_front();
                let time = part.as_ref().map_or(Duration::ZERO, |part| part.time);
                state.credit.prove(time);
                return part;
            }
            first.control.is_awaited.store(true, Ordering::Relaxed);
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes back the memory of a part.
    pub(super) fn recycle(&self, part: DecodedPart) {
        self.state().recycle(Some(part));
    }

    /// Ends the work of other threads, and returns the memory and what is left of the credit.
    pub(super) fn close(&self) -> (Spare, Credit) {
        let mut state = self.state();
        state.is_closed = true;
        for entry in &state.parts {
            entry.control.is_dropped.store(true, Ordering::Relaxed);
        }
        while state.helping > 0 {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        while let Some(entry) = state.parts.pop_front() {
            state.drop_part(entry.part.flatten());
        }
        (std::mem::take(&mut state.spare), state.credit)
    }

    /// Decodes parts as long as there are some.
    fn help(&self) {
        let mut state = self.state();
        if state.is_closed {
            return;
        }
        state.helping = state.helping.saturating_add(1);
        let mut deflate = state.spare.decoders.pop().unwrap_or_else(Deflate::new);
        while let Some((from, lent)) = self.next(&state) {
            let task = state.begin(from, lent);
            drop(state);
            let begun = Instant::now();
            let part = self.decode(&task, &mut deflate);
            state = self.state();
            let spent = begun.elapsed();
            state.credit.settle(task.lent, spent);
            let of_use = part.as_ref().map_or(Duration::ZERO, |part| part.time);
            state.credit.lose(spent.saturating_sub(of_use));
            state.end(&task.control, part);
            self.changed.notify_all();
        }
        state.spare.decoders.push(deflate);
        state.helping = state.helping.saturating_sub(1);
        state.asked = state.asked.saturating_sub(1);
        self.changed.notify_all();
    }

    fn decode(&self, task: &Task, deflate: &mut Deflate) -> Option<DecodedPart> {
        let Task {
            control,
            from,
            until,
            ..
        } = task;
        let Some(start) = find(self.input(), *from, *until, |byte| control.is_passed(byte)) else {
            let mut state = self.state();
            if !control.is_passed(*until) {
                state.nothing_from = state.nothing_from.min(*from);
            }
            return None;
        };
        self.state().entry(control)?.start = Some(start);
        DecodedPart::decode(self.input(), start, deflate, control, self)
    }

    /// Returns the position from which to search for the next part, and the time that its search and decoding may take.
    ///
    /// The rest of the stream is divided equally among the threads that have no part yet, so that all end together; a part is not
    /// longer than `FURTHEST`, not shorter than `nearest`, and not longer than the credit pays for.
    fn next(&self, state: &State) -> Option<(usize, Duration)> {
        let is_memory =
            !state.spare.marked.is_empty() || state.allows(Piece::<Marked>::SIZE, self.most);
        if state.is_closed || !is_memory || state.parts.len() >= self.threads.saturating_mul(2) {
            return None;
        }
        let last = match state.parts.back() {
            Some(entry) => entry.from.max(state.front),
            None => state.front,
        };
        let left = state.end.min(state.nothing_from).checked_sub(last)?;
        let sharing = self.threads.saturating_sub(state.parts.len()).max(2);
        let distance = left.checked_div(sharing)?.min(FURTHEST);
        if distance < self.nearest {
            return None;
        }
        let idle = self.threads.saturating_sub(state.helping).saturating_sub(1);
        let (lent, bytes) = state.credit.share(idle, self.nearest)?;
        Some((last.saturating_add(distance.min(bytes)), lent))
    }
}

impl Memory for Queue {
    fn marked(&self) -> Option<Vec<Marked>> {
        let mut state = self.state();
        if let Some(spare) = state.spare.marked.pop() {
            return Some(spare);
        }
        let is_allowed = state.hold(Piece::<Marked>::SIZE, self.most);
        is_allowed.then(Vec::new)
    }

    fn known(&self) -> Option<Vec<u8>> {
        let mut state = self.state();
        if let Some(spare) = state.spare.known.pop() {
            return Some(spare);
        }
        let is_allowed = state.hold(Piece::<u8>::SIZE, self.most);
        is_allowed.then(Vec::new)
    }
}

impl State {
    fn begin(&mut self, from: usize, lent: Duration) -> Task {
        if let Some(before) = self.parts.back() {
            before.control.end.store(from, Ordering::Relaxed);
        }
        self.credit.lend(lent);
        let control = Arc::new(Control::new(lent));
        self.parts.push_back(Entry {
            control: Arc::clone(&control),
            from,
            start: None,
            part: None,
        });
        Task {
            control,
            from,
            until: self.end,
            lent,
        }
    }

    fn entry(&mut self, control: &Arc<Control>) -> Option<&mut Entry> {
        self.parts
            .iter_mut()
            .find(|entry| Arc::ptr_eq(&entry.control, control))
    }

    fn end(&mut self, control: &Arc<Control>, part: Option<DecodedPart>) {
        match self.entry(control) {
            Some(entry) => entry.part = Some(part),
            None => self.drop_part(part),
        }
    }

    /// Takes back the memory of a part that is of no use.
    fn drop_part(&mut self, part: Option<DecodedPart>) {
        let time = part.as_ref().map_or(Duration::ZERO, |part| part.time);
        self.credit.lose(time);
        self.recycle(part);
    }

    /// Counts the memory of a piece; returns `false` if it may not be allocated.
    fn hold(&mut self, bytes: u64, most: u64) -> bool {
        let is_allowed = self.allows(bytes, most) && !self.is_closed;
        if is_allowed {
            self.held = self.held.saturating_add(bytes);
        }
        is_allowed
    }

    fn allows(&self, bytes: u64, most: u64) -> bool {
        self.held.saturating_add(bytes) <= most
    }

    fn recycle(&mut self, part: Option<DecodedPart>) {
        let Some(part) = part else { return };
        let (marked, known) = part.into_memory();
        self.spare.marked.extend(marked);
        self.spare.known.extend(known);
    }
}

impl Spare {
    fn size(&self) -> u64 {
        let marked = size_of_all(self.marked.len(), Piece::<Marked>::SIZE);
        marked.saturating_add(size_of_all(self.known.len(), Piece::<u8>::SIZE))
    }
}

fn size_of_all(count: usize, size: u64) -> u64 {
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    count.saturating_mul(size)
}
