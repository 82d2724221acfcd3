//! Work on many items by several threads, with results in the order of the items.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The interval at which a waiting caller checks whether it was interrupted.
const LOOK: Duration = Duration::from_millis(50);

/// Maximum number of waiting results per thread: lines of small files while a large one is processed.
const AHEAD: usize = 256;

struct Shared<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    /// The item that is taken next.
    next: usize,
    /// Items whose results have been handed on.
    handed: usize,
    done: BTreeMap<usize, T>,
    stopped: bool,
}

/// As many threads as the machine runs at once.
pub(crate) fn usual_threads() -> NonZero<usize> {
    thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN)
}

/// Runs `work` on the items, and `hand_on` with each result, in order, on the calling thread.
///
/// Results wait while an earlier one is worked on, but no more than [`AHEAD`] for each thread. Ends where `hand_on` breaks or
/// `interrupted` is set, without waiting for what is being worked on; returns how many results were handed on.
pub(crate) fn in_order<I, T, W>(
    items: &Arc<Vec<I>>,
    threads: NonZero<usize>,
    interrupted: &AtomicBool,
    work: W,
    mut hand_on: impl FnMut(usize, T) -> ControlFlow<()>,
) -> usize
where
    I: Send + Sync + 'static,
    T: Send + 'static,
    W: Fn(&I) -> T + Send + Sync + 'static,
{
    let threads = threads.get().min(items.len());
    let ahead = threads * AHEAD;
    let state = State { next: 0, handed: 0, done: BTreeMap::new(), stopped: false };
    let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
    let work = Arc::new(work);
    for _ in 0..threads {
        let (shared, items, work) = (Arc::clone(&shared), Arc::clone(items), Arc::clone(&work));
        // Not joined: an interrupted command does not wait for a file that takes an hour.
        drop(thread::spawn(move || run(&shared, &items, &*work, ahead)));
    }
    let mut handed = 0;
    let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
    while handed < items.len() && !state.stopped && !interrupted.load(Ordering::Relaxed) {
        let Some(result) = state.done.remove(&handed) else {
            let waited = shared.changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            continue;
        };
        drop(state);
        let flow = hand_on(handed, result);
        handed += 1;
        state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.handed = handed;
        shared.changed.notify_all();
        if flow.is_break() {
            break;
        }
    }
    state.stopped = true;
    shared.changed.notify_all();
    handed
}

/// Ends the whole where a worker panics: its result would never come.
struct Guard<'a, T>(&'a Shared<T>);

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.state.lock().unwrap_or_else(PoisonError::into_inner).stopped = true;
            self.0.changed.notify_all();
        }
    }
}

fn run<I, T>(shared: &Shared<T>, items: &[I], work: &impl Fn(&I) -> T, ahead: usize) {
    let _guard = Guard(shared);
    loop {
        let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        while !state.stopped && state.next < items.len() && state.next >= state.handed + ahead {
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let index = state.next;
        let Some(item) = items.get(index).filter(|_| !state.stopped) else { return };
        state.next += 1;
        drop(state);
        let result = work(item);
        let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.done.insert(index, result);
        shared.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn results_come_in_order_whatever_takes_how_long() {
        let items = Arc::new((0..200_u64).collect::<Vec<_>>());
        for threads in [1, 2, 7] {
            let mut seen = Vec::new();
            let work = |item: &u64| {
                thread::sleep(Duration::from_micros(item * 7919 % 300));
                item * 2
            };
            let threads = NonZero::new(threads).unwrap();
            let handed = in_order(&items, threads, &AtomicBool::new(false), work, |index, result| {
                seen.push((index as u64, result));
                ControlFlow::Continue(())
            });
            assert_eq!(handed, 200);
            assert!(seen.iter().enumerate().all(|(place, seen)| *seen == (place as u64, place as u64 * 2)));
        }
    }

    #[test]
    fn an_interruption_ends_it_though_work_goes_on() {
        let items = Arc::new(vec![Duration::ZERO, Duration::from_secs(600)]);
        let interrupted = AtomicBool::new(false);
        let handed = in_order(
            &items,
            NonZero::new(2).unwrap(),
            &interrupted,
            |time| thread::sleep(*time),
            |_, ()| {
                interrupted.store(true, Ordering::Relaxed);
                ControlFlow::Continue(())
            },
        );
        assert_eq!(handed, 1);
    }

    #[test]
    fn a_slow_first_item_does_not_let_results_pile_up() {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let items = Arc::new((0..1000_usize).collect::<Vec<_>>());
        let work = |item: &usize| {
            if *item == 0 {
                thread::sleep(Duration::from_millis(100));
                return MADE.load(Ordering::Relaxed);
            }
            MADE.fetch_add(1, Ordering::Relaxed)
        };
        let mut first = None;
        in_order(&items, NonZero::new(2).unwrap(), &AtomicBool::new(false), work, |_, made| {
            first.get_or_insert(made);
            ControlFlow::Continue(())
        });
        assert!(first.unwrap() <= 2 * AHEAD, "{first:?}");
    }
}
