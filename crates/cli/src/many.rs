//! Many files, worked on by several threads, and told about in order.

use std::io::{self, Write};
use std::num::NonZero;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::progress::Progress;
use crate::{interrupt, pool};

/// Runs `work` on the items, and writes what `told` makes of each result, in order; returns how many were told.
///
/// Ends early where the user interrupts it, and where nothing can be written.
pub(crate) fn each<I, T>(
    items: &Arc<Vec<I>>,
    bytes: impl Fn(&I) -> u64,
    (progress, threads): (&Progress, Option<NonZero<usize>>),
    work: impl Fn(&I) -> T + Send + Sync + 'static,
    mut told: impl FnMut(&I, T) -> Vec<u8>,
    out: &mut impl Write,
) -> io::Result<usize>
where
    I: Send + Sync + 'static,
    T: Send + 'static,
{
    let threads = threads.unwrap_or_else(pool::usual_threads);
    let mut outcome = Ok(());
    let handed = pool::in_order(items, threads, interrupt::watch(), work, |index, result| {
        let Some(item) = items.get(index) else { return ControlFlow::Break(()) };
        outcome = progress.write(out, &told(item, result));
        progress.done(index + 1, items.len(), bytes(item));
        if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    progress.finish();
    outcome.map(|()| handed)
}
