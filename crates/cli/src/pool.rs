//! Work on many items by several threads, with results in the order of the items.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The interval at which a waiting caller checks whether it was interrupted.
const LOOK: Duration = Duration::from_millis(50);

/// Maximum number of waiting results per thread: lines of small files while a large one is processed.
const AHEAD: usize = 256;

/// As many threads as the machine runs at once.
pub(crate) fn usual_threads() -> NonZero<usize> {
    thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN)
}

/// Runs `work` on the items, and `hand_on` with each result, in order, on the calling thread.
///
/// Results wait while an earlier one is worked on, but no more than [`AHEAD`] for each thread. Ends where `hand_on` breaks,
/// `interrupted` is set or `work` panics, without waiting for what is being worked on; returns how many results were handed on.
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
    let (tasks, taken) = mpsc::channel::<usize>();
    let (done, results) = mpsc::channel();
    let (taken, work) = (Arc::new(Mutex::new(taken)), Arc::new(work));
    for _ in 0..threads {
        let (taken, done) = (Arc::clone(&taken), done.clone());
        let (items, work) = (Arc::clone(items), Arc::clone(&work));
        let take = move || {
            taken
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .recv()
                .ok()
        };
        // Not joined: an interrupted command does not wait for a file that takes an hour. The channels end the thread.
        drop(thread::spawn(move || {
            while let Some((index, item)) =
                take().and_then(|index| Some((index, items.get(index)?)))
            {
                let result = catch_unwind(AssertUnwindSafe(|| work(item)));
                if done.send((index, result)).is_err() {
                    return;
                }
            }
        }));
    }
    let (mut sent, mut handed) = (0, 0);
    let mut waiting = BTreeMap::new();
    while handed < items.len() && !interrupted.load(Ordering::Relaxed) {
        while sent < items.len().min(handed + threads * AHEAD) && tasks.send(sent).is_ok() {
            sent += 1;
        }
        if let Some(result) = waiting.remove(&handed) {
            handed += 1;
            if hand_on(handed - 1, result).is_break() {
                break;
            }
            continue;
        }
        match results.recv_timeout(LOOK) {
            Ok((index, Ok(result))) => drop(waiting.insert(index, result)),
            Err(RecvTimeoutError::Timeout) => {}
            Ok((_, Err(_))) | Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    handed
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
            let handed = in_order(
                &items,
                threads,
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
        in_order(
            &items,
            NonZero::new(2).unwrap(),
            &AtomicBool::new(false),
            work,
            |_, made| {
                first.get_or_insert(made);
                ControlFlow::Continue(())
            },
        );
        assert!(first.unwrap() <= 2 * AHEAD, "{first:?}");
    }
}
