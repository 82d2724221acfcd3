//! The commands: each takes its arguments, writes to `out`, and returns how it ended.

use std::fmt::Display;
use std::io::{self, Write};

pub(crate) use crate::screen::print_stderr;

mod bytes;
pub(crate) mod catalog;
pub(crate) mod convert;
pub(crate) mod diff;
pub(crate) mod digest;
pub(crate) mod dump;
mod groups;
pub(crate) mod info;
mod making;
mod outputs;
mod pictures;
pub(crate) mod render;
mod report;
mod sheet;
pub(crate) mod verify;
pub(crate) mod view;

/// The outcome of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Good,
    /// A file is bad, or files differ.
    Bad,
    /// The arguments do not fit the file.
    Usage,
    Interrupted,
}

impl Outcome {
    pub(crate) fn good_if(good: bool) -> Self {
        if good { Self::Good } else { Self::Bad }
    }
}

/// Ends a command whose arguments do not fit the files, with a line about the reason.
fn usage(why: impl Display) -> io::Result<Outcome> {
    print_stderr(why);
    Ok(Outcome::Usage)
}

/// Ends a command whose only file or output is bad, with a line about the reason.
fn bad(why: impl Display) -> io::Result<Outcome> {
    print_stderr(why);
    Ok(Outcome::Bad)
}

/// The reporting options of a command.
#[derive(Clone, Copy)]
pub(crate) struct Reporting {
    /// Only problems are reported.
    pub(crate) quiet: bool,
    /// Standard output has JSON objects and nothing else.
    pub(crate) json: bool,
}

impl Reporting {
    /// Writes the summary of a command: to standard error if standard output has JSON objects, and not at all if only problems
    /// are reported, unless the command was interrupted.
    fn conclude(self, summary: &str, is_done: bool, out: &mut impl Write) -> io::Result<()> {
        match self {
            Self { quiet: true, .. } if is_done => Ok(()),
            Self { json: false, .. } => writeln!(out, "{summary}"),
            Self { json: true, .. } => {
                out.flush()?;
                print_stderr(summary);
                Ok(())
            }
        }
    }
}

/// Lets the value of an option be a negative number, so that an error about it does not take it for an option.
fn taking_negative_numbers(argument: clap::Arg) -> clap::Arg {
    // `-0` is an option, which may follow a list of paths.
    let has_one_value = argument.get_long().is_some_and(|name| name != "with")
        && argument.get_action().takes_values();
    argument.allow_negative_numbers(has_one_value)
}
