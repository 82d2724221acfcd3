//! The commands: each takes wishes, writes to `out`, and returns how it ended.

use std::fmt::Display;
use std::io::{self, Write};

pub(crate) mod catalog;
pub(crate) mod convert;
pub(crate) mod diff;
pub(crate) mod digest;
pub(crate) mod dump;
mod groups;
mod index;
pub(crate) mod info;
mod outputs;
pub(crate) mod render;
pub(crate) mod verify;

/// How a command ended.
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

/// Tells an error on standard error. Where that is full or closed, the exit status has to do.
pub(crate) fn tell(line: impl Display) {
    drop(writeln!(io::stderr(), "{line}"));
}
