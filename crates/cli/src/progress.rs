//! Work on many files by several threads: results in order, and one progress bar on standard error.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::inputs::{Choice, Found};
use crate::{interrupt, pool};

/// A bar that shows files, bytes and the remaining time; nothing if standard error is not a terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    pub(crate) fn of(found: &Found, quiet: bool) -> Self {
        if quiet || found.files.len() < 2 || !io::stderr().is_terminal() {
            return Self { bar: ProgressBar::hidden() };
        }
        let bytes = found.files.iter().map(|input| input.bytes).fold(0, u64::saturating_add);
        let bar = ProgressBar::new(bytes);
        let style = ProgressStyle::with_template("{bar:20} {bytes}/{total_bytes} {msg} files, {eta} left");
        let bar = style.map(|style| bar.clone().with_style(style)).unwrap_or(bar);
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar }
    }

    /// A file is done.
    pub(crate) fn done(&self, files: usize, of: usize, bytes: u64) {
        if !self.bar.is_hidden() {
            self.bar.set_message(format!("{files}/{of}"));
            self.bar.inc(bytes);
        }
    }

    /// Writes below what was written before, with the bar out of the way.
    pub(crate) fn write(&self, out: &mut impl Write, text: &[u8]) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        if self.bar.is_hidden() {
            return out.write_all(text);
        }
        self.bar.suspend(|| {
            out.write_all(text)?;
            out.flush()
        })
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Runs `work` on the items, each in one job, and writes the text of each result, in order; returns the number of results with a text.
///
/// Ends early where the user interrupts it, and where nothing can be written.
pub(crate) fn each<I, T>(
    items: &Arc<Vec<I>>,
    bytes: impl Fn(&I) -> u64,
    (progress, choice): (&Progress, &Choice),
    work: impl Fn(&I) -> T + Send + Sync + 'static,
    mut report: impl FnMut(&I, T) -> Vec<u8>,
    out: &mut impl Write,
) -> io::Result<usize>
where
    I: Send + Sync + 'static,
    T: Send + 'static,
{
    let (memory, threads) = (choice.memory, choice.threads.unwrap_or_else(pool::usual_threads));
    let mut outcome = Ok(());
    let work = move |item: &I| memory.job(|| work(item));
    let handed = pool::in_order(items, threads, interrupt::watch(), work, |index, result| {
        let Some(item) = items.get(index) else { return ControlFlow::Break(()) };
        outcome = progress.write(out, &report(item, result));
        progress.done(index + 1, items.len(), bytes(item));
        if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    progress.finish();
    outcome.map(|()| handed)
}
