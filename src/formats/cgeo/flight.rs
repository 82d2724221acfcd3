//! Something that one thread makes while others wait for it.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::bytes::{Source, is_in_reader, is_rayon_worker};

/// A value that one thread is making. A thread that waits on a worker of a rayon pool runs other jobs of its pool meanwhile.
///
/// A thread that is making something waits for nothing, and neither does what runs inside of a reader of the caller's. Such a reader
/// may still wait for a pool, and there for a job that waits for this value. So a worker loses its patience with a reader of the
/// caller's, and makes the value itself.
pub(super) struct Flight<T> {
    state: Mutex<State<T>>,
    landed: Condvar,
}

enum State<T> {
    InFlight,
    /// Without a value if making it panicked.
    Landed(Option<T>),
}

/// What came of waiting.
pub(super) enum Waited<T> {
    Landed(T),
    /// Making the value panicked.
    InVain,
    /// The value is still being made, perhaps by a thread that waits for this one.
    TooLong,
}

thread_local! {
    /// How many values this thread is making.
    static MAKING: Cell<usize> = const { Cell::new(0) };
    /// How many waits of this thread run another job.
    static WAITING: Cell<usize> = const { Cell::new(0) };
}

/// Jobs that run inside of a wait may wait, too. This bounds the depth of the stack.
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
        /// How long a worker waits for a reader of the caller's.
        const PATIENCE: Duration = Duration::from_millis(100);
        let is_patient = !(is_rayon_worker() && source.has_own_reader());
        let start = Instant::now();
        let mut state = self.lock();
        loop {
            if let State::Landed(value) = &*state {
                return value.clone().map_or(Waited::InVain, Waited::Landed);
            }
            if !is_patient && start.elapsed() > PATIENCE {
                return Waited::TooLong;
            }
            state = if is_rayon_worker() && WAITING.get() < MOST_WAITS {
                drop(state);
                self.wait_at_work()
            } else {
                self.landed.wait(state).unwrap_or_else(PoisonError::into_inner)
            };
        }
    }

    /// Runs another job of the pool or, where there is none, waits for a moment.
    fn wait_at_work(&self) -> MutexGuard<'_, State<T>> {
        #[cfg(feature = "rayon")]
        {
            /// How often to look for work of the pool.
            const PAUSE: Duration = Duration::from_micros(100);
            let has_worked = {
                let _waiting = Count::up(&WAITING);
                rayon::yield_now() == Some(rayon::Yield::Executed)
            };
            let state = self.lock();
            if !has_worked && matches!(*state, State::InFlight) {
                return self.landed.wait_timeout(state, PAUSE).unwrap_or_else(PoisonError::into_inner).0;
            }
            state
        }
        #[cfg(not(feature = "rayon"))]
        self.lock()
    }
}

impl<T> Flight<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether this thread may wait for another one that reads from a source.
pub(super) fn may_wait_for(source: &Source) -> bool {
    let is_deep = is_rayon_worker() && WAITING.get() >= MOST_WAITS;
    MAKING.get() == 0 && !is_in_reader() && !(is_deep && source.has_own_reader())
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
