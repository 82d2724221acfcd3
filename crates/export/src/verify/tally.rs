//! The result of a comparison, counted as it goes.

use std::collections::BTreeMap;

/// The result of a comparison of a written file with its origin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checked {
    /// Values that are equal bit for bit or rounded, a line for each kind of number.
    pub lines: Vec<String>,
    /// Differences from the origin, a line each. Empty if there are none.
    pub differs: Vec<String>,
}

/// A part of a written file, or the reason why it cannot be read.
pub(super) type Read<T> = Result<T, String>;

/// The comparisons so far.
#[derive(Default)]
pub(super) struct Tally {
    counts: BTreeMap<&'static str, Counts>,
    differs: Vec<String>,
}

#[derive(Default)]
struct Counts {
    equal: u64,
    rounded: u64,
    /// The largest difference of a rounded value.
    largest: f64,
}

impl Tally {
    /// The most lines about what differs.
    const MOST: usize = 20;

    pub(super) fn equal(&mut self, what: &'static str) {
        self.counts.entry(what).or_default().equal += 1;
    }

    pub(super) fn rounded(&mut self, what: &'static str, difference: f64) {
        let counts = self.counts.entry(what).or_default();
        counts.rounded += 1;
        counts.largest = counts.largest.max(difference);
    }

    pub(super) fn differs(&mut self, what: impl FnOnce() -> String) {
        if self.differs.len() < Self::MOST {
            self.differs.push(what());
        }
    }

    /// The value that was read from a part of the written file; an error counts as a difference.
    pub(super) fn read<T>(&mut self, read: Read<T>) -> Option<T> {
        read.map_err(|why| self.differs(|| why)).ok()
    }

    pub(super) fn into_checked(self) -> Checked {
        let line = |(
            what,
            Counts {
                equal,
                rounded,
                largest,
            },
        ): (&str, Counts)| match rounded {
            0 => format!("{what}: all {equal} equal bit for bit"),
            _ => format!("{what}: {equal} equal bit for bit, {rounded} within {largest:.1e}"),
        };
        Checked {
            lines: self.counts.into_iter().map(line).collect(),
            differs: self.differs,
        }
    }
}
