//! Something that one thread makes while others wait for it.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::bytes::{Source, is_in_reader, is_rayon_worker};
use crate::decode::{may_wait_for, wait_at_work};

/// A value that one thread is making. A thread that waits on a worker of a rayon pool runs other jobs of its pool meanwhile.
///
/// A thread that is making something waits for nothing, and neither does code that runs inside a caller's reader. Such a reader may
/// still wait for a pool, and there for a job that waits for this value. So a worker waits for a caller's reader only for a limited
/// time, and then makes the value itself.
pub(super) struct Flight<T> {
    state: Mutex<State<T>>,
    landed: Condvar,
}

enum State<T> {
    InFlight,
    /// Without a value if making it panicked.
    Landed(Option<T>),
}

/// The outcome of waiting.
pub(super) enum Waited<T> {
    Landed(T),
    /// Making the value panicked.
    InVain,
    /// This thread must not wait, or not any longer: perhaps the value is made by a thread that waits for this one.
    NoLonger,
}

thread_local! {
    /// The number of values that this thread is making.
    static MAKING: Cell<usize> = const { Cell::new(0) };
    /// The number of waits of this thread that run another job.
    static WAITING: Cell<usize> = const { Cell::new(0) };
}

/// Jobs that run inside a wait may also wait. This bounds the depth of the stack.
const MOST_WAITS: usize = 16;

impl<T: Clone> Flight<T> {
    pub(super) fn new() -> Self {
        Self { state: Mutex::new(State::InFlight), landed: Condvar::new() }
    }

    /// Makes the value. Those who wait get a copy, or nothing if this panics.
    pub(super) fn fly(&self, make: impl FnOnce() -> T) -> T {
        /// Ends the flight, in whatever way.
        struct Landing<'a, T>(&'a Flight<T>, Option<T>);
        impl<T> Drop for Landing<'_, T> {
            fn drop(&mut self) {
                *self.0.lock() = State::Landed(self.1.take());
                self.0.landed.notify_all();
            }
        }
        let mut landing = Landing(self, None);
        let value = {
            let _making = Count::up(&MAKING);
            make()
        };
        landing.1 = Some(value.clone());
        value
    }

    /// Waits for the value, which is made from this source.
    pub(super) fn wait(&self, source: &Source) -> Waited<T> {
        /// The time that a worker waits for a caller's reader.
        const PATIENCE: Duration = Duration::from_millis(100);
        let is_patient = may_wait_for(source);
        let is_deep = is_rayon_worker() && WAITING.get() >= MOST_WAITS;
        if MAKING.get() > 0 || is_in_reader() || (is_deep && !is_patient) {
            return Waited::NoLonger;
        }
        let start = Instant::now();
        let mut state = self.lock();
        loop {
            if let State::Landed(value) = &*state {
                return value.clone().map_or(Waited::InVain, Waited::Landed);
            }
            if !is_patient && start.elapsed() > PATIENCE {
                return Waited::NoLonger;
            }
            state = if is_rayon_worker() && !is_deep {
                drop(state);
                let _waiting = Count::up(&WAITING);
                wait_at_work(&self.state, &self.landed)
            } else {
                self.landed.wait(state).unwrap_or_else(PoisonError::into_inner)
            };
        }
    }
}

impl<T> Flight<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts up while it lives.
struct Count(&'static std::thread::LocalKey<Cell<usize>>);

impl Count {
    fn up(key: &'static std::thread::LocalKey<Cell<usize>>) -> Self {
        key.set(key.get().saturating_add(1));
        Self(key)
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}
