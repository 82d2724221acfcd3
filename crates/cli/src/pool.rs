//! Work on many items by several threads, with results in the order of the items.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use meshmap_catalog::rows::Row;

/// The interval at which a waiting caller checks whether it was interrupted.
const LOOK: Duration = Duration::from_millis(50);

/// Maximum number of waiting results per thread: lines of small files while a large one is processed.
const AHEAD: usize = 256;

/// As many threads as the machine runs at once.
pub(crate) fn usual_threads() -> NonZero<usize> {
    thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN)
}

/// The result for one item, which may have to wait for the results of the items before it.
pub(crate) trait Waits {
    /// The memory that it holds, without the result itself.
    fn held_bytes(&self) -> u64;
}

impl<T: Waits> Waits for Option<T> {
    fn held_bytes(&self) -> u64 {
        self.as_ref().map_or(0, T::held_bytes)
    }
}

impl Waits for Vec<Row> {
    fn held_bytes(&self) -> u64 {
        self.iter().map(Row::byte_len).sum()
    }
}

/// The number of results that are made at once, and the memory for results that wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pool {
    pub(crate) threads: NonZero<usize>,
    /// The most bytes of results that wait for their turn. The thread that has made a result beyond it waits.
    pub(crate) waiting_bytes: u64,
}

impl Pool {
    /// As many of the threads as fit into the memory if each takes `making_bytes` for a result, but at least one. Results that wait have the rest.
    pub(crate) fn within(memory: u64, threads: NonZero<usize>, making_bytes: u64) -> Self {
        let fitting = memory.checked_div(making_bytes).unwrap_or(u64::MAX);
        let fitting = usize::try_from(fitting).unwrap_or(usize::MAX);
        let threads =
            NonZero::new(fitting).map_or(NonZero::<usize>::MIN, |fitting| fitting.min(threads));
        let made = making_bytes.saturating_mul(threads.get() as u64);
        Self {
            threads,
            waiting_bytes: memory.saturating_sub(made),
        }
    }
}

/// Runs `work` on the items, and `hand_on` with each result, in order, on the calling thread.
///
/// Results wait while an earlier one is worked on, but no more than [`AHEAD`] for each thread, and no more bytes than the pool allows. Ends
/// where `hand_on` breaks, `interrupted` is set or `work` panics, without waiting for what is being worked on; returns how many
/// results were handed on.
pub(crate) fn in_order<I, T, W>(
    items: &Arc<Vec<I>>,
    pool: Pool,
    interrupted: &AtomicBool,
    work: W,
    mut hand_on: impl FnMut(usize, T) -> ControlFlow<()>,
) -> usize
where
    I: Send + Sync + 'static,
    T: Waits + Send + 'static,
    W: Fn(&I) -> T + Send + Sync + 'static,
{
    let threads = pool.threads.get().min(items.len());
    let queue = Queue::new(pool.waiting_bytes);
    let (tasks, taken) = mpsc::channel::<usize>();
    let (done, results) = mpsc::channel();
    let taken = Arc::new(Mutex::new(taken));
    let work = Arc::new(work);
    let mut started = 0;
    for _ in 0..threads {
        let taken = Arc::clone(&taken);
        let done = done.clone();
        let items = Arc::clone(items);
        let work = Arc::clone(&work);
        let turns = Arc::clone(&queue.turns);
        let take = move || {
            taken
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .recv()
                .ok()
        };
        // Not joined: an interrupted command does not wait for a file that takes an hour. The channels end the thread.
        let run = move || {
            while let Some((index, item)) =
                take().and_then(|index| Some((index, items.get(index)?)))
            {
                let result = catch_unwind(AssertUnwindSafe(|| work(item)));
                let bytes = result.as_ref().map_or(0, Waits::held_bytes);
                if !turns.enter(index, bytes) || done.send((index, bytes, result)).is_err() {
                    return;
                }
            }
        };
        // A system may allow fewer threads than were asked for.
        if thread::Builder::new().spawn(run).is_err() {
            break;
        }
        started += 1;
    }
    if started == 0 {
        return one_by_one(items, interrupted, &*work, hand_on);
    }
    let mut sent = 0;
    let mut handed = 0;
    let mut waiting = BTreeMap::new();
    while handed < items.len() && !interrupted.load(Ordering::Relaxed) {
        while sent < items.len().min(handed + started * AHEAD) && tasks.send(sent).is_ok() {
            sent += 1;
        }
        if let Some((bytes, result)) = waiting.remove(&handed) {
            handed += 1;
            if hand_on(handed - 1, result).is_break() {
                break;
            }
            queue.turns.leave(handed, bytes);
            continue;
        }
        match results.recv_timeout(LOOK) {
            Ok((index, bytes, Ok(result))) => drop(waiting.insert(index, (bytes, result))),
            Err(RecvTimeoutError::Timeout) => {}
            Ok((_, _, Err(_))) | Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    handed
}

/// Does the work on the calling thread, if the system allows no other.
fn one_by_one<I, T>(
    items: &[I],
    interrupted: &AtomicBool,
    work: impl Fn(&I) -> T,
    mut hand_on: impl FnMut(usize, T) -> ControlFlow<()>,
) -> usize {
    let mut handed = 0;
    for item in items {
        if interrupted.load(Ordering::Relaxed) {
            break;
        }
        let Ok(result) = catch_unwind(AssertUnwindSafe(|| work(item))) else {
            break;
        };
        handed += 1;
        if hand_on(handed - 1, result).is_break() {
            break;
        }
    }
    handed
}

/// The results that wait. Its end is the end of the threads that wait in it.
struct Queue {
    turns: Arc<Turns>,
}

/// Whose turn it is, and what waits for its turn.
struct Turns {
    state: Mutex<State>,
    changed: Condvar,
    most_bytes: u64,
}

struct State {
    /// The item whose result is handed on next.
    next: usize,
    bytes: u64,
    /// `true` if no result is handed on any more.
    is_over: bool,
}

impl Queue {
    fn new(most_bytes: u64) -> Self {
        let state = State {
            next: 0,
            bytes: 0,
            is_over: false,
        };
        let turns = Turns {
            state: Mutex::new(state),
            changed: Condvar::new(),
            most_bytes,
        };
        Self {
            turns: Arc::new(turns),
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.turns.lock().is_over = true;
        self.turns.changed.notify_all();
    }
}

impl Turns {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is room for a result, or until it is its turn, because all others wait for that one. `false` if it is not needed any more.
    ///
    /// Threads take the items in their order, so that a thread has always taken the item whose turn it is.
    fn enter(&self, index: usize, bytes: u64) -> bool {
        let mut state = self.lock();
        loop {
            if state.is_over {
                return false;
            }
            let sum = state.bytes.saturating_add(bytes);
            if sum <= self.most_bytes || index == state.next {
                state.bytes = sum;
                return true;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A result of `bytes` bytes was handed on, and the one of the item `next` follows.
    fn leave(&self, next: usize, bytes: u64) {
        let mut state = self.lock();
        state.bytes = state.bytes.saturating_sub(bytes);
        state.next = next;
        drop(state);
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    impl Waits for () {
        fn held_bytes(&self) -> u64 {
            0
        }
    }

    impl Waits for u64 {
        fn held_bytes(&self) -> u64 {
            0
        }
    }

    impl Waits for Vec<u8> {
        fn held_bytes(&self) -> u64 {
            self.len() as u64
        }
    }

    fn pool(threads: usize) -> Pool {
        Pool {
            threads: NonZero::new(threads).unwrap(),
            waiting_bytes: u64::MAX,
        }
    }

    #[test]
    fn results_come_in_order_whatever_takes_how_long() {
        let items = Arc::new((0..200_u64).collect::<Vec<_>>());
        for threads in [1, 2, 7] {
            let mut seen = Vec::new();
            let work = |item: &u64| {
                thread::sleep(Duration::from_micros(item * 7919 % 300));
                item * 2
            };
            let handed = in_order(
                &items,
                pool(threads),
                &AtomicBool::new(false),
                work,
                |index, result| {
                    seen.push((index as u64, result));
                    ControlFlow::Continue(())
                },
            );
            assert_eq!(handed, 200);
            assert!(
                seen.iter()
                    .enumerate()
                    .all(|(place, seen)| *seen == (place as u64, place as u64 * 2))
            );
        }
    }

    #[test]
    fn a_system_without_threads_does_one_after_the_other() {
        let mut seen = Vec::new();
        let hand_on = |index, result| {
            seen.push((index, result));
            if result == 6 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let handed = one_by_one(
            &[1, 2, 3, 4],
            &AtomicBool::new(false),
            |item| item * 2,
            hand_on,
        );
        assert_eq!(handed, 3);
        assert_eq!(seen, [(0, 2), (1, 4), (2, 6)]);
        let interrupted = AtomicBool::new(true);
        assert_eq!(
            one_by_one(
                &[1],
                &interrupted,
                |item| *item,
                |_, _| ControlFlow::Continue(())
            ),
            0
        );
    }

    #[test]
    fn an_interruption_ends_it_though_work_goes_on() {
        let items = Arc::new(vec![Duration::ZERO, Duration::from_secs(600)]);
        let interrupted = AtomicBool::new(false);
        let handed = in_order(
            &items,
            pool(2),
            &interrupted,
            |time| thread::sleep(*time),
            |_, ()| {
                interrupted.store(true, Ordering::Relaxed);
                ControlFlow::Continue(())
            },
        );
        assert_eq!(handed, 1);
    }

    /// The number of results that were made before the first one, which takes long, and the numbers of all in order.
    fn made_before_a_slow_one(pool: Pool, result_bytes: usize) -> (usize, Vec<u8>) {
        let items = Arc::new((0..1000_usize).collect::<Vec<_>>());
        let made = Arc::new(AtomicUsize::new(0));
        let before = Arc::new(AtomicUsize::new(0));
        let work = {
            let made = Arc::clone(&made);
            let before = Arc::clone(&before);
            move |item: &usize| {
                if *item == 0 {
                    thread::sleep(Duration::from_millis(100));
                    before.store(made.load(Ordering::Relaxed), Ordering::Relaxed);
                }
                made.fetch_add(1, Ordering::Relaxed);
                vec![(*item % 251) as u8; result_bytes]
            }
        };
        let mut numbers = Vec::new();
        let handed = in_order(&items, pool, &AtomicBool::new(false), work, |_, result| {
            numbers.push(result[0]);
            ControlFlow::Continue(())
        });
        assert_eq!(handed, 1000);
        (before.load(Ordering::Relaxed), numbers)
    }

    #[test]
    fn a_slow_first_item_does_not_let_results_pile_up() {
        let (before, _) = made_before_a_slow_one(pool(2), 1);
        assert!((2..=2 * AHEAD).contains(&before), "{before}");
    }

    #[test]
    fn results_wait_in_bounded_memory() {
        let waiting_bytes = 5_000;
        let pool = Pool {
            waiting_bytes,
            ..pool(4)
        };
        for result_bytes in [1_000, 10_000] {
            let (before, numbers) = made_before_a_slow_one(pool, result_bytes);
            // The results that wait, and one in each of the other threads.
            let most = waiting_bytes as usize / result_bytes + 3;
            assert!((1..=most).contains(&before), "{before}");
            let expected: Vec<u8> = (0..1000).map(|item| (item % 251) as u8).collect();
            assert_eq!(numbers, expected);
        }
    }

    #[test]
    fn threads_and_results_that_wait_share_the_memory() {
        let of = |memory, making_bytes| {
            let pool = Pool::within(memory, NonZero::new(4).unwrap(), making_bytes);
            (pool.threads.get(), pool.waiting_bytes)
        };
        assert_eq!(of(100, 0), (4, 100));
        assert_eq!(of(100, 10), (4, 60));
        assert_eq!(of(100, 30), (3, 10));
        assert_eq!(of(100, 1000), (1, 0));
        assert_eq!(of(0, 10), (1, 0));
    }

    #[test]
    fn threads_that_wait_for_their_turn_end_with_the_pool() {
        let items = Arc::new((0..9_u64).collect::<Vec<_>>());
        let ended = Arc::new(AtomicUsize::new(0));
        struct Counts(Arc<AtomicUsize>);
        impl Drop for Counts {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let interrupted = Arc::new(AtomicBool::new(false));
        let work = {
            let interrupted = Arc::clone(&interrupted);
            let counts = Counts(Arc::clone(&ended));
            move |item: &u64| {
                let _ = &counts;
                if *item == 0 {
                    thread::sleep(Duration::from_millis(50));
                    interrupted.store(true, Ordering::Relaxed);
                    thread::sleep(Duration::from_millis(100));
                }
                vec![0_u8; 10]
            }
        };
        let pool = Pool {
            waiting_bytes: 5,
            ..pool(3)
        };
        assert_eq!(
            in_order(&items, pool, &interrupted, work, |_, _| {
                ControlFlow::Continue(())
            }),
            0
        );
        // The work is dropped by the last thread.
        for _ in 0..100 {
            if ended.load(Ordering::Relaxed) == 1 {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("a thread still waits for its turn");
    }
}
