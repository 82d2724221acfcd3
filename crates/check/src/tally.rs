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
pub(crate) type Read<T> = Result<T, String>;

/// The comparisons so far.
#[derive(Default)]
pub(crate) struct Tally {
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
    /// The maximum number of lines about differences.
    const MOST: usize = 20;

    pub(crate) fn equal(&mut self, what: &'static str) {
        self.counts.entry(what).or_default().equal += 1;
    }

    pub(crate) fn rounded(&mut self, what: &'static str, difference: f64) {
        let counts = self.counts.entry(what).or_default();
        counts.rounded += 1;
        counts.largest = counts.largest.max(difference);
    }

    pub(crate) fn differs(&mut self, what: impl FnOnce() -> String) {
        if self.differs.len() < Self::MOST {
            self.differs.push(what());
        }
    }

    /// The value that was read from a part of the written file; an error counts as a difference.
    pub(crate) fn read<T>(&mut self, read: Read<T>) -> Option<T> {
        match read {
            Ok(value) => Some(value),
            Err(why) => {
                self.differs(|| why);
                None
            }
        }
    }

    pub(crate) fn into_checked(self) -> Checked {
        let mut lines = Vec::with_capacity(self.counts.len());
        for (what, counts) in self.counts {
            let Counts {
                equal,
                rounded,
                largest,
            } = counts;
            lines.push(if rounded == 0 {
                format!("{what}: all {equal} equal bit for bit")
            } else {
                format!("{what}: {equal} equal bit for bit, {rounded} within {largest:.1e}")
            });
        }
        Checked {
            lines,
            differs: self.differs,
        }
    }
}
