//! The snapshots of a file that are written.

use std::fmt;
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::str::FromStr;

use meshmap_job::{ParseError, as_text};

/// An inclusive range of the snapshots of a CGeo file, and the step from one to the next.
///
/// As a text, one snapshot is `7`, a range is `0..39`, and every second snapshot of it is `0..39:2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshots {
    pub(crate) range: RangeInclusive<usize>,
    pub(crate) every: Option<NonZero<usize>>,
}

impl From<RangeInclusive<usize>> for Snapshots {
    fn from(range: RangeInclusive<usize>) -> Self {
        Self { range, every: None }
    }
}

impl fmt::Display for Snapshots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.range.start(), self.range.end())?;
        self.every.map_or(Ok(()), |every| write!(f, ":{every}"))
    }
}

impl FromStr for Snapshots {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (range, every) = match text.split_once(':') {
            Some((range, every)) => (range, every.parse().ok().map(Some)),
            None => (text, Some(None)),
        };
        let number = |text: &str, otherwise| {
            if text.is_empty() {
                Some(otherwise)
            } else {
                text.parse().ok()
            }
        };
        let ends = match range.split_once("..") {
            Some((first, last)) => number(first, 0).zip(number(last, usize::MAX)),
            None => range.parse().ok().map(|one| (one, one)),
        };
        match ends.zip(every) {
            Some(((first, last), every)) if first <= last => Ok(Self {
                range: first..=last,
                every,
            }),
            _ => Err(ParseError::new(&[
                "a number such as 7, or a range such as 0..39",
                "0..39:2",
            ])),
        }
    }
}

as_text!(Snapshots);
