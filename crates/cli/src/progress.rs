//! Work on many files by several threads: results in order, and one progress bar on standard error.

#[cfg(unix)]
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
#[cfg(unix)]
use std::os::fd::AsFd;
#[cfg(unix)]
use std::os::unix::fs::FileTypeExt;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use meshmap_catalog::Skipped;

use crate::inputs::{Choice, Input};
use crate::interrupt;
use crate::pool::{self, Pool, Waits};

/// A bar that shows files, bytes and the remaining time.
///
/// There is none if standard error is not a terminal, or if standard output is a pipe: what reads it, such as `head` or `less`, may write to
/// the same terminal at any time, and pieces of the bar would stay between its lines.
struct Progress {
    bar: ProgressBar,
}

impl Progress {
    fn of(sizes: impl ExactSizeIterator<Item = u64>, quiet: bool) -> Self {
        if quiet || sizes.len() < 2 || !io::stderr().is_terminal() || is_pipe(&io::stdout()) {
            return Self {
                bar: ProgressBar::hidden(),
            };
        }
        let bar = ProgressBar::new(sizes.fold(0, u64::saturating_add));
        let style =
            ProgressStyle::with_template("{bar:20} {bytes}/{total_bytes} {msg} files, {eta} left");
        let bar = style
            .map(|style| bar.clone().with_style(style))
            .unwrap_or(bar);
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar }
    }

    /// A file is done.
    fn done(&self, files: usize, of: usize, bytes: u64) {
        if !self.bar.is_hidden() {
            self.bar.set_message(format!("{files}/{of}"));
            self.bar.inc(bytes);
        }
    }

    /// Writes below what was written before, with the bar out of the way.
    fn write(&self, out: &mut impl Write, printed: &Printed) -> io::Result<()> {
        match printed {
            Printed { results, problems } if results.is_empty() && problems.is_empty() => Ok(()),
            _ if self.bar.is_hidden() => printed.write(out),
            _ => self.bar.suspend(|| {
                printed.write(out)?;
                out.flush()
            }),
        }
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(unix)]
fn is_pipe(output: &impl AsFd) -> bool {
    let handle = output.as_fd().try_clone_to_owned().map(File::from);
    let metadata = handle.and_then(|file| file.metadata());
    metadata.is_ok_and(|metadata| metadata.file_type().is_fifo())
}

/// Other systems do not say what standard output is unless it is a terminal.
#[cfg(not(unix))]
fn is_pipe(output: &impl IsTerminal) -> bool {
    !output.is_terminal()
}

/// The lines about a file.
#[derive(Default)]
pub(crate) struct Printed {
    /// For standard output.
    pub(crate) results: Vec<u8>,
    /// For standard error.
    pub(crate) problems: Vec<u8>,
}

impl Printed {
    pub(crate) fn result(results: Vec<u8>) -> Self {
        Self {
            results,
            problems: Vec::new(),
        }
    }

    pub(crate) fn problem(problems: Vec<u8>) -> Self {
        Self {
            results: Vec::new(),
            problems,
        }
    }

    /// Writes the results, then the problems, so that a terminal shows both in order.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.results)?;
        if !self.problems.is_empty() {
            out.flush()?;
            // If the error stream is closed, the exit status has to do.
            drop(io::stderr().write_all(&self.problems));
        }
        Ok(())
    }
}

impl Waits for Printed {
    fn held_bytes(&self) -> u64 {
        (self.results.len() + self.problems.len()) as u64
    }
}

/// The lines about one of many files, and the facts that a command adds up.
pub(crate) struct Reported<T> {
    pub(crate) printed: Printed,
    pub(crate) facts: T,
}

impl<T> Waits for Reported<T> {
    fn held_bytes(&self) -> u64 {
        self.printed.held_bytes()
    }
}

/// Like [`each`], for a command that reports on files. `work` returns `None` for a file that holds no mesh, which is counted as skipped. `add`
/// adds up the facts of a file, and returns `true` if it has a problem: with `--quiet`, only these files are printed.
pub(crate) fn each_mesh_file<T: Send + 'static>(
    inputs: &Arc<Vec<Input>>,
    choice: &Choice,
    skipped: &mut Skipped,
    work: impl Fn(&Input) -> Option<Reported<T>> + Send + Sync + 'static,
    mut add: impl FnMut(T) -> bool,
    out: &mut impl Write,
) -> io::Result<usize> {
    let report = |_: &Input, reported: Option<Reported<T>>| {
        let Some(Reported { printed, facts }) = reported else {
            skipped.others += 1;
            return Printed::default();
        };
        let has_problem = add(facts);
        if choice.quiet && !has_problem {
            Printed::default()
        } else {
            printed
        }
    };
    let pool = choice.pool(0);
    each(inputs, |input| input, choice, pool, work, report, out)
}

/// Runs `work` on the items, each in one job, and writes the lines about each result, in order; returns the number of results that were
/// reported. `input` returns the file of an item, for the progress bar. `pool` is [`Choice::pool`].
///
/// Ends early where the user interrupts it, and where nothing can be written.
pub(crate) fn each<I, T>(
    items: &Arc<Vec<I>>,
    input: impl Fn(&I) -> &Input,
    choice: &Choice,
    pool: Pool,
    work: impl Fn(&I) -> T + Send + Sync + 'static,
    mut report: impl FnMut(&I, T) -> Printed,
    out: &mut impl Write,
) -> io::Result<usize>
where
    I: Send + Sync + 'static,
    T: Waits + Send + 'static,
{
    let memory = choice.memory;
    let bytes = |item| input(item).bytes;
    let progress = Progress::of(items.iter().map(bytes), choice.quiet);
    let mut outcome = Ok(());
    let work = move |item: &I| memory.job(|| work(item));
    let handed = pool::in_order(items, pool, interrupt::watch(), work, |index, result| {
        let Some(item) = items.get(index) else {
            return ControlFlow::Break(());
        };
        outcome = progress.write(out, &report(item, result));
        progress.done(index + 1, items.len(), bytes(item));
        if outcome.is_ok() {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    progress.finish();
    outcome.map(|()| handed)
}
